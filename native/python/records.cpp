// Records as Python has them, dicts of values of any kind: their features by name.
#include "python/records.hpp"

#include "python/example.hpp"
#include "python/names.hpp"
#include "python/numbers.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Renumbers the columns of rows without those that do not occur; returns the old number of each.
std::vector<std::size_t> used_columns(BuiltRows& rows, std::size_t count) {
    std::vector<std::int32_t> numbers(count, -1);
    for (const std::int32_t column : rows.columns) numbers[static_cast<std::size_t>(column)] = 0;
    std::vector<std::size_t> used;
    for (std::size_t column = 0; column < count; ++column) {
        if (numbers[column] < 0) continue;
        numbers[column] = static_cast<std::int32_t>(used.size());
        used.push_back(column);
    }
    for (std::int32_t& column : rows.columns) column = numbers[static_cast<std::size_t>(column)];
    return used;
}

}  // namespace

RowArrays row_arrays(RowBuilder& builder) {
    BuiltRows& rows = builder.rows();
    const Columns& columns = builder.columns();
    std::vector<std::size_t> used;
    if (builder.has_unused()) used = used_columns(rows, columns.size());
    const std::size_t count = builder.has_unused() ? used.size() : columns.size();
    nb::list names;
    std::string name;
    std::vector<std::uint32_t> kept_hashes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t column = builder.has_unused() ? used[i] : i;
        if (columns.is_hashed()) kept_hashes.push_back(columns.hashes()[column]);
        if (columns.has_name(column)) {
            columns.name_of(column, name);
            names.append(string_of(name));
        } else {
            names.append(nb::none());
        }
    }
    std::optional<NewArray> hashes;
    if (columns.is_hashed()) hashes = array_of(std::move(kept_hashes));
    return {array_of(std::move(rows.values)), array_of(std::move(rows.columns)), array_of(std::move(rows.offsets)), names,
            std::move(hashes)};
}

LabelArrays label_arrays(LabelColumn& labels) {
    nb::list words;
    for (std::size_t i = 0; i < labels.words().size(); ++i) words.append(string_of(labels.words()[i].text));
    return {array_of(std::move(labels.numbers())), array_of(std::move(labels.word_numbers())), words, labels.all_bools()};
}

LabelKind label_kind(const std::string& name) {
    if (name == "any") return LabelKind::any;
    require(name == "numeric" || name == "categorical", "labels must be any, numeric or categorical");
    return name == "numeric" ? LabelKind::numbers : LabelKind::words;
}

TableArrays table_arrays(RowBuilder& builder, ParsedTable& parsed) {
    TableFaults faults{array_of(std::move(parsed.faulty_places)), {}};
    for (const PlacedFault& one : parsed.found)
        std::get<1>(faults).emplace_back(one.fault, one.place, string_of(one.key), nb::bytes(one.found.data(), one.found.size()));
    std::optional<NewArray> weights;
    if (parsed.weighted) weights = array_of(std::move(parsed.weights));
    return {row_arrays(builder), label_arrays(parsed.labels), std::move(weights), array_of(std::move(parsed.places)),
            parsed.lines,        std::move(faults)};
}

namespace {

Kind kind_named(const std::string& name) {
    static constexpr std::pair<std::string_view, Kind> kKinds[] = {
        {"auto", Kind::automatic}, {"numeric", Kind::numeric}, {"categorical", Kind::categorical},
        {"string", Kind::string},  {"text", Kind::text},       {"date", Kind::date},
        {"ignore", Kind::ignore},  {"label", Kind::label},     {"weight", Kind::weight}};
    const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return kind.first == name; });
    require(found != std::end(kKinds), "unknown kind of a key");
    return found->second;
}

FeatureSpec spec_of(const nb::dict& kinds, const std::string& others, const std::string& separator, bool lowercase, std::size_t ngram,
                    std::size_t skips, const std::tuple<std::size_t, std::size_t>& char_ngrams, std::size_t longest_word,
                    const std::string& decimal, bool nan_is_missing, std::vector<std::string> missing,
                    const std::vector<std::vector<std::string>>& interactions, std::int64_t slots) {
    FeatureSpec spec;
    for (const auto [key, kind] : kinds)
        spec.kinds.emplace(nb::cast<std::string>(key), kind_named(nb::cast<std::string>(kind)));
    spec.others = kind_named(others);
    require(decimal == "." || decimal == ",", "decimal must be a point or a comma");
    require(slots >= 0 && slots <= std::numeric_limits<std::int32_t>::max(), "slots must fit into 32 bits");
    spec.separator = separator;
    const auto [least, most] = char_ngrams;
    // Python's own tables, which need no GIL.
    const Letters letters{[](char32_t c) { return Py_UNICODE_ISALNUM(c) || c == '_'; },
                          [](char32_t c) { return static_cast<char32_t>(Py_UNICODE_TOLOWER(c)); }};
    spec.text = {lowercase, ngram, skips, least, most, longest_word, letters};
    spec.decimal = decimal[0];
    spec.nan_is_missing = nan_is_missing;
    spec.missing = std::move(missing);
    for (const std::vector<std::string>& groups : interactions) {
        std::vector<std::size_t> numbers;
        for (const std::string& group : groups) {
            const auto at = std::find(spec.groups.begin(), spec.groups.end(), group);
            numbers.push_back(static_cast<std::size_t>(at - spec.groups.begin()));
            if (at == spec.groups.end()) spec.groups.push_back(group);
        }
        spec.interactions.push_back(std::move(numbers));
    }
    require(spec.groups.size() <= kMostGroups, "too many groups of interactions");
    spec.slots = slots;
    return spec;
}

// Reads dicts by a spec. The names of features are kept from call to call, up to a limit.
class RecordReader {
public:
    RecordReader(const FeatureSpec& spec, nb::object owner) : spec_(spec), owner_(std::move(owner)) {
        require(spec.slots == 0, "records are read by name");
    }

    // Returns the values of the features by name; or the fault, the key and the value found there.
    nb::object read(const nb::dict& record) {
        // User code, of a value, may call this again.
        std::unique_ptr<Kept> kept = std::move(kept_);
        if (!kept || kept->builder.names() > kMostKeptNames || kept->builder.bytes() > kMostKeptBytes)
            kept = std::make_unique<Kept>(spec_);
        RowBuilder& builder = kept->builder;
        builder.begin_row();
        nb::object result;
        if (read_dict(builder, record, {}, 1) && builder.end_row())
            result = features_of(*kept);
        else
            result = nb::make_tuple(builder.fault().fault, string_of(builder.fault().key, "surrogatepass"),
                                    found_of(builder.fault()));
        kept_ = std::move(kept);
        return result;
    }

private:
    static constexpr std::size_t kMostKeptNames = 1 << 16, kMostKeptBytes = 1 << 22;
    static constexpr const char* kNotUnicode = "unicode";

    struct Kept {
        explicit Kept(const FeatureSpec& spec) : builder(spec) {}
        RowBuilder builder;
        std::vector<nb::object> names;  // of the columns
    };

    static nb::object features_of(Kept& kept) {
        BuiltRows& rows = kept.builder.rows();
        nb::dict features;
        std::string text;
        for (std::size_t i = 0; i < rows.values.size(); ++i) {
            const auto column = static_cast<std::size_t>(rows.columns[i]);
            if (kept.names.size() <= column) kept.names.resize(kept.builder.columns().size());
            nb::object& name = kept.names[column];
            if (!name.is_valid()) {
                kept.builder.columns().name_of(column, text);
                name = string_of(text);
                PyObject* interned = name.release().ptr();
                PyUnicode_InternInPlace(&interned);
                name = nb::steal(interned);
            }
            add_to(features, name, rows.values[i]);
        }
        rows.values.clear();
        rows.columns.clear();
        rows.offsets.assign(1, 0);
        return features;
    }

    // Two columns may have one name: "a=b" is the key a=b, and the word b of the key a.
    static void add_to(nb::dict& features, const nb::object& name, double value) {
        const nb::float_ number(value);
        PyObject* const held = PyDict_SetDefault(features.ptr(), name.ptr(), number.ptr());
        if (held == nullptr) nb::raise_python_error();
        if (held != number.ptr()) features[name] = nb::float_(PyFloat_AS_DOUBLE(held) + value);
    }

    static nb::object found_of(const RecordFault& fault) {
        // The text may be cut within a character.
        const bool has_surrogate = fault.fault == kNotUnicode;
        return string_of(fault.found, has_surrogate ? "surrogatepass" : "ignore");
    }

    bool read_dict(RowBuilder& builder, const nb::dict& record, std::string_view prefix, int depth) {
        const Py_ssize_t size = PyDict_GET_SIZE(record.ptr());
        PyObject *borrowed_key, *borrowed_value;
        for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &borrowed_key, &borrowed_value);) {
            // Kept alive, because a value of the user's class may run any code, and change the dict.
            const nb::object key = nb::borrow(borrowed_key), value = nb::borrow(borrowed_value);
            if (!read_item(builder, key, value, prefix, depth)) return false;
            if (PyDict_GET_SIZE(record.ptr()) != size) throw nb::value_error("the record changed while it was read");
        }
        return true;
    }

    bool read_item(RowBuilder& builder, const nb::object& given, const nb::object& value, std::string_view prefix,
                   int depth) {
        if (value.is_none()) return true;
        const nb::object text = key_text(given);
        if (!is_unicode(text)) {
            const std::string name = std::string(prefix) + surrogate_text(text);
            return fail_unicode(builder, name, text);
        }
        std::string joined;
        std::string_view name = utf8_of(text);
        if (!prefix.empty()) name = joined.append(prefix).append(name);
        RowBuilder::Key& key = builder.key(name);
        if (!PyDict_Check(value.ptr())) return key.kind == Kind::ignore || read_value(builder, key, value);
        if (RowBuilder::skips_object(key)) return true;
        return builder.may_nest(key, depth) &&
               read_dict(builder, nb::borrow<nb::dict>(value), std::string(name) + spec_.separator, depth + 1);
    }

    // Whether a string has UTF-8; it has none with half of a surrogate pair.
    static bool is_unicode(const nb::object& string) {
        Py_ssize_t size = 0;
        if (PyUnicode_AsUTF8AndSize(string.ptr(), &size) != nullptr) [[likely]] return true;
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) nb::raise_python_error();
        PyErr_Clear();
        return false;
    }

    static std::string surrogate_text(const nb::object& string) {
        const nb::object bytes = checked(PyUnicode_AsEncodedString(string.ptr(), "utf-8", "surrogatepass"));
        return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
    }

    // Reports a string that is not valid Unicode, with a few characters around the first invalid one.
    static bool fail_unicode(RowBuilder& builder, std::string_view name, const nb::object& string) {
        constexpr Py_ssize_t kAround = 10;
        Py_ssize_t at = 0;
        while ((PyUnicode_READ_CHAR(string.ptr(), at) & ~0x7ffu) != 0xd800) ++at;
        const nb::object part = checked(PyUnicode_Substring(string.ptr(), std::max<Py_ssize_t>(0, at - kAround), at + kAround));
        RowBuilder::Key key;
        key.name = name;
        return builder.fail(kNotUnicode, key, surrogate_text(part));
    }

    static nb::object key_text(const nb::object& key) {
        const nb::object name = spelled(key);
        if (!name.is_valid())
            refuse(PyExc_TypeError, "a record has the key %U; keys must be strings or whole numbers", shown(key));
        return PyUnicode_Check(name.ptr()) ? name : checked(PyObject_Str(name.ptr()));
    }

    static bool read_value(RowBuilder& builder, RowBuilder::Key& key, const nb::object& value) {
        PyObject* const held = value.ptr();
        if (PyFloat_CheckExact(held)) return builder.add_number(key, PyFloat_AS_DOUBLE(held));
        if (PyBool_Check(held)) return builder.add_bool(key, held == Py_True);
        if (PyUnicode_Check(held))
            return is_unicode(value) ? builder.add_string(key, utf8_of(value)) : fail_unicode(builder, key.name, value);
        if (PyList_Check(held) || PyTuple_Check(held) || PyAnySet_Check(held)) return read_list(builder, key, value);
        if (const std::optional<double> number = float_of(value)) {
            if (key.kind != Kind::categorical) return builder.add_number(key, *number);
            if (is_bool(value)) return builder.add_bool(key, *number != 0.0);
            if (!PyIndex_Check(held)) return builder.add_number(key, *number);
            return builder.add_integer(key, *number, [&value] { return digits_of(value); });
        }
        const OtherValue other = other_value(value);
        if (other.is_missing) return true;
        if (!other.iso_text.is_valid()) return builder.fail("value", key, Py_TYPE(held)->tp_name);
        const std::string_view written = utf8_of(other.iso_text);
        const std::optional<Moment> moment = DateParser(written).parse();
        return moment ? builder.add_moment(key, *moment) : builder.fail("date", key, written);
    }

    // The digits of an int, or of a number of another library that is one.
    static std::string digits_of(const nb::object& number) {
        const nb::object text = checked(PyObject_Str(checked(python_code([&] { return PyNumber_Index(number.ptr()); })).ptr()));
        return std::string(utf8_of(text));
    }

    static bool read_list(RowBuilder& builder, RowBuilder::Key& key, const nb::object& bag) {
        const nb::object list = checked(python_code([&] { return PySequence_List(bag.ptr()); }));
        // The order of a set differs between runs of Python.
        if (PyAnySet_Check(bag.ptr()) && PyList_Sort(list.ptr()) != 0) nb::raise_python_error();
        std::vector<std::string_view> words;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.ptr()); ++i) {
            const nb::object word = nb::borrow(PyList_GET_ITEM(list.ptr(), i));
            if (word.is_none()) continue;
            if (!PyUnicode_Check(word.ptr())) return builder.fail("list", key, Py_TYPE(word.ptr())->tp_name);
            if (!is_unicode(word)) return fail_unicode(builder, key.name, word);
            words.push_back(utf8_of(word));
        }
        return builder.add_list(key, words);
    }

    const FeatureSpec& spec_;
    nb::object owner_;  // of the spec
    std::unique_ptr<Kept> kept_;
};

}  // namespace

void bind_records(nb::module_& module) {
    module.attr("LONGEST_KEY") = kLongestKey;
    module.attr("LONGEST_LABEL") = kLongestLabel;
    module.attr("DEEPEST") = kDeepest;
    nb::list markers;
    for (const std::string_view marker : kMissingNumbers) markers.append(string_of(marker));
    module.attr("MISSING_NUMBERS") = nb::tuple(markers);
    module.def(
        "is_date", [](nb::str text) { return DateParser(utf8_of(text)).parse().has_value(); }, "text"_a,
        "Return whether a text is a date as date columns have it.");
    nb::class_<FeatureSpec>(module, "FeatureSpec", "How records become features, for the readers of all formats.")
        .def("__init__",
             [](FeatureSpec* self, const nb::dict& kinds, const std::string& others, const std::string& separator, bool lowercase, std::size_t ngram,
                std::size_t skips, const std::tuple<std::size_t, std::size_t>& char_ngrams, std::size_t longest_word,
                const std::string& decimal, bool nan_is_missing, std::vector<std::string> missing,
                const std::vector<std::vector<std::string>>& interactions, std::int64_t slots) {
                 new (self) FeatureSpec(spec_of(kinds, others, separator, lowercase, ngram, skips, char_ngrams, longest_word,
                                                decimal, nan_is_missing, std::move(missing), interactions, slots));
             },
             nb::kw_only(), "kinds"_a, "others"_a, "separator"_a, "lowercase"_a, "ngram"_a, "skips"_a, "char_ngrams"_a,
             "longest_word"_a, "decimal"_a, "nan_is_missing"_a, "missing"_a, "interactions"_a, "slots"_a)
        .def(
            "owner_of",
            [](const FeatureSpec& spec, nb::str name) -> std::optional<nb::str> {
                const std::optional<Owner> owner = spec.kinds.owner_of(utf8_of(name));
                return owner ? std::optional(string_of(owner->key)) : std::nullopt;
            },
            "name"_a, "Return the declared key that a name is, or of which it is a feature; None if there is none.");
    nb::class_<RecordReader>(module, "RecordReader", "Reads dicts, one at a time, by a spec.")
        // The conversion to a shared pointer is noexcept, and allocates.
        .def("__init__",
             [](RecordReader* self, const FeatureSpec& spec) { new (self) RecordReader(spec, nb::find(spec)); },
             "spec"_a)
        .def("read", &RecordReader::read, nb::sig("def read(self, record: dict, /) -> dict[str, float] | tuple[str, str, str]"),
             "Return the values of the features by name; or why the record is refused, the key and the value found there.");
}

}  // namespace scwlearn
