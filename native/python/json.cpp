// Records in JSON: parsed with the GIL released, into memory that is handed over to NumPy.
#include "parse/json.hpp"

#include <algorithm>

#include "python/records.hpp"
#include "python/text.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

JsonPart part_named(const std::string& name) {
    if (name == "lines") return JsonPart::lines;
    if (name == "array start") return JsonPart::array_start;
    require(name == "array rest" || name == "array end", "part must be lines, array start, array rest or array end");
    return name == "array rest" ? JsonPart::array_rest : JsonPart::array_end;
}

// What tables have, and the line and column of each error that is described.
using JsonArrays = std::tuple<TableArrays, std::vector<std::tuple<std::int64_t, std::int64_t>>>;

JsonArrays parse_json(const Text& text, const FeatureSpec& spec, const std::string& labels, bool labels_optional,
                      bool skip_faults, std::size_t most_found, const std::string& part, bool is_last, const Used& used) {
    const OwnText records = short_lines_of(text);
    JsonForm form{{{labels_optional, skip_faults, most_found, used.has_value()}, LabelKind::words}, labels == "categorical"};
    if (labels != "strings") form.labels = label_kind(labels);
    form.part = part_named(part);
    form.is_last = is_last;
    RowBuilder builder(spec);
    JsonParsed parsed{{LabelColumn(form.labels), {}, {}}, {}};
    {
        ReleaseGil release_gil;
        parsed = JsonParser(form, builder).parse(records.view());
    }
    report(used, parsed.table.used);
    return {table_arrays(builder, parsed.table), {parsed.fault_places.begin(), parsed.fault_places.end()}};
}

// The texts of the first records, valid or not, and where the rest starts.
std::tuple<std::vector<nb::bytes>, std::size_t> split_json(const Text& text, const std::string& part, std::size_t most) {
    const std::string_view whole = view_of(text);
    const JsonPart kind = part_named(part);
    std::vector<nb::bytes> records;
    const auto add = [&records](std::string_view record) { records.emplace_back(record.data(), record.size()); };
    if (kind == JsonPart::array_end) return {records, whole.size()};
    if (kind != JsonPart::lines) {
        const char* const rest = JsonElements::each(whole, kind == JsonPart::array_start, most, add);
        return {records, static_cast<std::size_t>(rest - whole.data())};
    }
    std::size_t at = 0;
    while (records.size() < most && at < whole.size()) {
        const std::size_t end = std::min(whole.find('\n', at), whole.size());
        add(whole.substr(at, end - at));
        at = std::min(end + 1, whole.size());
    }
    return {records, at};
}

// The number of newlines in a text, and of characters behind the last one.
std::tuple<std::int64_t, std::int64_t> text_extent(const Text& text) {
    const std::string_view whole = view_of(text);
    ReleaseGil release_gil;
    const std::int64_t lines = std::count(whole.begin(), whole.end(), '\n');
    return {lines, utf8_count(whole.substr(lines == 0 ? 0 : whole.rfind('\n') + 1))};
}

// Cuts the text of an array, which comes piece by piece, behind elements.
class JsonArrayCutter {
public:
    // Returns the end of the last whole element; the end of the text, if the array ends in it; else 0. The next text starts
    // there, and may hold what has been seen already.
    std::size_t last_end(const Text& text) {
        const std::string_view seen = view_of(text);
        require(seen.size() >= seen_, "the text must start where the last one was cut");
        const char* const begin = seen.data();
        ReleaseGil release_gil;
        const char* const last = elements_.last_end(begin + seen_, begin + seen.size());
        const auto end = static_cast<std::size_t>(last == nullptr ? 0 : last - begin);
        seen_ = seen.size() - end;
        return end;
    }

    bool is_closed() const { return elements_.is_closed(); }

private:
    JsonElements elements_;
    std::size_t seen_ = 0;
};

}  // namespace

void bind_json(nb::module_& module) {
    module.def("parse_json", &parse_json, "text"_a, "spec"_a, "labels"_a, "labels_optional"_a, "skip_faults"_a,
               "most_found"_a, "part"_a, "is_last"_a, "used"_a.none() = nb::none(),
               "Parse lines with an object each, or a piece of an array (its start, its rest or its end, which `is_last` "
               "demands). Labels are numeric, strings, categorical (numbers count as their text), or any of the first two. "
               "`used` is that of parse_csv. Return what parse_csv does, with the number of each record, its line or place in the array, in place of "
               "lines; and the line and column of each error that is described. An error after which the array cannot be "
               "read is the last one. Stops at the first error unless skip_faults.");
    module.def("split_json", &split_json, "text"_a, "part"_a, "most"_a,
               "Return the texts of the first records of a text, valid or not, and where the rest starts.");
    module.def("text_extent", &text_extent, "text"_a,
               "Return the number of newlines in a text, and of characters behind the last one.");
    nb::class_<JsonArrayCutter>(module, "JsonArrayCutter", "Cuts the text of an array behind elements.")
        .def(nb::init<>())
        .def("last_end", &JsonArrayCutter::last_end, "text"_a,
             "Return the end of the last whole element, or 0; the end of the text, if the array ends in it. The next text "
             "starts there.")
        .def_prop_ro("is_closed", &JsonArrayCutter::is_closed,
                     "Whether the array has ended, or the text is not an array.");
}

}  // namespace scwlearn
