// Reads a dict: numbers, words and bags of words become the features of an example.
#pragma once

#include <cmath>
#include <limits>

#include "core/scan.hpp"
#include "python/numbers.hpp"
#include "python/records.hpp"
#include "python/vocabulary.hpp"

namespace scwlearn {

// The position of an example of a list in messages. The only one needs no number.
inline std::int64_t number_in(const nb::tuple& rows, std::size_t place) {
    return rows.size() == 1 ? -1 : static_cast<std::int64_t>(place);
}

// The name of an example in messages: x, or an element of a list.
inline nb::object example_at(std::int64_t row) {
    if (row < 0) return checked(PyUnicode_FromString("x"));
    return checked(PyUnicode_FromFormat("examples[%lld]", static_cast<long long>(row)));
}

template <Purpose kPurpose>
class Vocabulary::Reader {
public:
    Reader(Vocabulary& vocabulary, std::int64_t room, std::int64_t row, Example& example)
        : vocabulary_(vocabulary),
          hashed_(vocabulary.hashed()),
          cache_(hashed_ ? vocabulary.slots_.cache() : vocabulary.names_.cache()),
          room_(room),
          row_(row),
          example_(example) {
        const nb::object& known = vocabulary.key_type_.is_valid() ? vocabulary.key_type_ : example.key_type;
        key_type_ = reinterpret_cast<PyTypeObject*>(known.ptr());
        if (hashed_) example.merge();
    }

    void run(const nb::dict& x) {
        read_items(x, {}, 1);
        example_.end();
    }

    // The number of features found or, to count them, of unknown ones, repeated ones included, and the sum of their absolute
    // values.
    std::int64_t met() const noexcept { return met_; }
    double total() const noexcept { return total_; }

private:
    // Reads a dict whose keys `prefix` precedes, if it is not null.
    void read_items(const nb::dict& x, const nb::object& prefix, int depth) {
        const Py_ssize_t size = PyDict_GET_SIZE(x.ptr());
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(x.ptr(), &at, &key, &value);) {
            if (!prefix.is_valid() && add_cached(key, value)) continue;
            // Kept alive, because a name or value of the user's class may run any code, and change the dict.
            example_.ran_user_code = true;
            const nb::object kept = nb::borrow(value);
            const nb::object name = prefix.is_valid() ? joined(prefix, nb::borrow(key)) : nb::borrow(key);
            if (PyDict_Check(value))
                read_nested(name, nb::borrow<nb::dict>(kept), depth);
            else
                add_any(name, kept);
            if (PyDict_GET_SIZE(x.ptr()) != size)
                refuse(PyExc_ValueError, "%U changed while it was read", example_at(row_));
        }
    }

    // An object within an object: its keys are joined to the key.
    void read_nested(const nb::object& key, const nb::dict& value, int depth) {
        if (depth == kDeepest)
            refuse(PyExc_ValueError, "%U has objects nested more than %lld deep", example_at(row_),
                   static_cast<std::int64_t>(kDeepest));
        const nb::object name = name_of(key);
        if (!Name{name, {}}.is_plain())
            refuse(PyExc_TypeError, "%U = %U; only a key that is a string or a whole number may have an object", at(name),
                   shown(value));
        check_length(name);
        // Two keys may give the same name: "a.b", and b within a.
        example_.merge();
        read_items(value, checked(PyUnicode_FromFormat("%S.", name.ptr())), depth + 1);
    }

    static nb::object joined(const nb::object& prefix, const nb::object& key) {
        const nb::object name = spelled(key);
        if (!name.is_valid())
            refuse(PyExc_TypeError, "a nested object has the key %U; keys must be strings or whole numbers", shown(key));
        return checked(PyUnicode_FromFormat("%U%S", prefix.ptr(), name.ptr()));
    }

    // The fast path of nearly all features: a cached name and a plain number. Returns whether it is one. Runs no user
    // code, which hashing a key of any other class may.
    bool add_cached(PyObject* key, PyObject* number) {
        if (Py_TYPE(key) != key_type_ || !Name{key, {}}.is_plain()) return false;
        const double value = plain_number(number);
        if (!acceptable(value)) return false;
        if (value == 0.0) return true;
        // When checking, any name may be new, but one that is hashed must have a text.
        const bool asked = kPurpose != Purpose::check || hashed_;
        const std::int64_t* found = asked ? cache_.find(key) : nullptr;
        if (asked && found == nullptr) return false;
        if (!asked && PyLong_CheckExact(key) && !has_64_bits(key)) return false;
        if constexpr (kPurpose == Purpose::check)
            count(value);
        else if constexpr (kPurpose == Purpose::count_unknown)
            return true;
        else if (hashed_)
            add_hashed({key, {}}, static_cast<std::uint32_t>(*found), value);
        else if (kPurpose == Purpose::learn || *found < room_) {
            add_to(*found, value);
            example_.plain_keys.push_back(key);
        }
        return true;
    }

    void add_any(const nb::object& key, const nb::object& value) {
        if (value.is_none()) return;
        const nb::object name = name_of(key);
        if (PyUnicode_Check(value.ptr()))
            add_word(name, value);
        else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyAnySet_Check(value.ptr()))
            add_words(name, value);
        else if (const std::optional<double> number = float_of(value))
            add({name, {}}, checked_number(name, value, *number));
        else if (!add_other(name, value))
            refuse(PyExc_TypeError, "%U must be a number, a string, None, a dict, or a list, tuple or set of strings, got %U",
                   at(name), shown(value));
    }

    // A key that is a string or an integer is the name that it spells, whatever its class.
    nb::object name_of(const nb::object& key) {
        if (is_bool(key))
            refuse(PyExc_TypeError, "%U has the key %U; a key must not be a bool", example_at(row_), shown(key));
        nb::object name = spelled(key);
        if (!name.is_valid()) {
            if (hashed_)
                refuse(PyExc_TypeError, "%U has the key %U; a key to be hashed must be a string or a whole number",
                       example_at(row_), shown(key));
            name = key;
        }
        if (key_type_ == nullptr) {
            example_.key_type = nb::borrow(name.type());
            key_type_ = Py_TYPE(name.ptr());
        } else if (Py_TYPE(name.ptr()) != key_type_) {
            refuse(PyExc_TypeError, "keys of mixed types: %U has the key %U, where all before are of type %S; use one type",
                   example_at(row_), shown(key), name_of_type(key_type_));
        }
        // Two keys may give the same name, or differ from each other but not from a known name.
        if (!name.is(key) || !Name{name, {}}.is_plain()) example_.merge();
        return name;
    }

    // Adds the features of a date, or nothing for a missing value; returns whether it is one of them.
    bool add_other(const nb::object& name, const nb::object& value) {
        const OtherValue other = other_value(value);
        if (other.is_missing) return true;
        const std::optional<Moment> moment =
            other.iso_text.is_valid() ? DateParser(utf8_of(other.iso_text)).parse() : std::nullopt;
        if (!moment) return false;
        check_length(name);
        example_.merge();
        return each_date_feature(*moment, [&](std::string_view suffix, double feature) {
            const nb::object end = string_of(suffix);
            const nb::object whole = suffix.empty() ? name : checked(PyUnicode_FromFormat("%S%U", name.ptr(), end.ptr()));
            add({whole, {}}, feature);
            return true;
        });
    }

    double checked_number(const nb::object& name, const nb::object& value, double number) const {
        if (!acceptable(number))
            refuse(PyExc_ValueError, "%U = %U; every value must be finite and at most 1e+150 in size", at(name),
                   shown(value));
        return number;
    }

    void add_word(const nb::object& name, const nb::object& word) {
        if (!Name{name, {}}.is_plain())
            refuse(PyExc_TypeError, "%U = %U; only a key that is a string or a whole number may have strings", at(name),
                   shown(word));
        if (PyUnicode_GET_LENGTH(word.ptr()) == 0) return;
        check_length(name);
        example_.merge();
        const nb::object plain = checked(PyUnicode_FromObject(word.ptr()));
        add({name, plain}, 1.0);
    }

    // A key that is repeated in the names of several features must not be long, as in other records.
    void check_length(const nb::object& name) const {
        if (!PyUnicode_Check(name.ptr()) || PyUnicode_GET_LENGTH(name.ptr()) <= kLongestKey) return;
        const nb::object start = checked(PyUnicode_Substring(name.ptr(), 0, 40));
        refuse(PyExc_ValueError,
               "%U has the key %U...; the key of several features must have at most %lld characters, with those above it",
               example_at(row_), shown(start), kLongestKey);
    }

    void add_words(const nb::object& name, const nb::object& bag) {
        const nb::object words = checked(python_code([&] { return PySequence_List(bag.ptr()); }));
        PyObject* const list = words.ptr();
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
            if (!PyUnicode_Check(PyList_GET_ITEM(list, i)) && PyList_GET_ITEM(list, i) != Py_None)
                refuse(PyExc_TypeError, "%U may hold strings only, got %U", at(name), shown(PyList_GET_ITEM(list, i)));
        // The order of a set differs between runs of Python.
        if (PyAnySet_Check(bag.ptr()) && PyList_Sort(list) != 0) nb::raise_python_error();
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
            if (PyList_GET_ITEM(list, i) != Py_None) add_word(name, nb::borrow(PyList_GET_ITEM(list, i)));
    }

    void add(const Name& name, double value) {
        if (value == 0.0) return;
        if constexpr (kPurpose == Purpose::check) {
            count(value);
            // A string or an integer may have no text.
            if (hashed_)
                vocabulary_.slots_.hash(name);
            else if (name.is_made())
                checked(name.object().release().ptr());
        } else if constexpr (kPurpose == Purpose::count_unknown) {
            if (vocabulary_.names_.find(name) < 0) ++met_;
        } else if (hashed_) {
            add_hashed(name, vocabulary_.slots_.hash(name), value);
        } else {
            std::int64_t feature = vocabulary_.names_.find(name);
            if constexpr (kPurpose == Purpose::score) {
                if (feature < 0 || feature >= room_) return;
            } else {
                if (feature < 0) feature = new_feature(name);
            }
            add_to(feature, value);
        }
    }

    void count(double value) noexcept {
        ++met_;
        total_ += std::abs(value);
    }

    void add_hashed(const Name& name, std::uint32_t hash, double value) {
        if constexpr (kPurpose == Purpose::learn)
            example_.votes.push_back({hash, nb::borrow(name.key), nb::borrow(name.word)});
        add_to(vocabulary_.slots_.slot(hash), value * Slots::sign(hash));
    }

    void add_to(std::int64_t feature, double value) {
        if (!example_.add(feature, value))
            refuse(PyExc_ValueError, "%U has values of one feature that add up to more than 1e+150 in size",
                   example_at(row_));
    }

    std::int64_t new_feature(const Name& name) {
        if (!example_.new_names.is_valid()) example_.new_names = nb::dict();
        const nb::object object = checked(name.object().release().ptr());
        const nb::int_ next(example_.known + example_.count_new());
        PyObject* feature = PyDict_SetDefault(example_.new_names.ptr(), object.ptr(), next.ptr());
        if (feature == nullptr) nb::raise_python_error();
        return PyLong_AsLongLong(feature);
    }

    // The name of a value in messages.
    nb::object at(const nb::object& key) const {
        return checked(PyUnicode_FromFormat("%U[%U]", example_at(row_).ptr(), shown(key).ptr()));
    }

    Vocabulary& vocabulary_;
    const bool hashed_;
    const NameCache& cache_;
    std::int64_t room_;
    std::int64_t row_;
    Example& example_;
    PyTypeObject* key_type_;  // null before the first key
    std::int64_t met_ = 0;
    double total_ = 0.0;
};

template <Purpose kPurpose>
std::int64_t Vocabulary::read(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example) {
    example.known = count();
    Reader<kPurpose> reader(*this, room, row, example);
    reader.run(x);
    if constexpr (kPurpose == Purpose::check) {
        // Possibly too many features, or values that add up to too much: read it again in full.
        if (is_too_many(reader.met()) || reader.total() > kLargestValue) {
            Example whole;
            read<Purpose::learn>(x, room, row, whole);
        }
    } else if (kPurpose == Purpose::learn && is_too_many(example.count())) {
        refuse(PyExc_ValueError, "%U has %lld features; an example may have max_features = %lld at most", example_at(row),
               example.count(), *most_);
    }
    return reader.met();
}

template <Purpose kPurpose>
void Vocabulary::read_sorted(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example) {
    example.known = count();
    if (!is_too_many(PyDict_GET_SIZE(x.ptr())) && last_keys_.read(x.ptr(), room, example)) return;
    read<kPurpose>(x, room, row, example);
    example.sort();
    const bool is_plain = static_cast<Py_ssize_t>(example.plain_keys.size()) == PyDict_GET_SIZE(x.ptr());
    if (is_plain && !example.ran_user_code) last_keys_.keep(x.ptr(), example);
}

inline bool Vocabulary::check(const nb::tuple& rows, std::int64_t room) {
    Example example;
    std::int64_t met = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const nb::handle x = rows[i];
        const std::int64_t row = number_in(rows, i);
        if (!PyDict_Check(x.ptr()))
            refuse(PyExc_TypeError, "%U must be a dict of named features, got %U", example_at(row), shown(x));
        met += read<Purpose::check>(nb::borrow<nb::dict>(x), 0, row, example);
    }
    // Most batches have fewer features than there is room for. If they have many, counting the unknown ones takes longer
    // than what the caller would save.
    const std::int64_t free = room - count();
    if (hashed() || met <= free) return false;
    if (kManyFeatures * met > room) return true;
    std::int64_t unknown = 0;
    for (std::size_t i = 0; i < rows.size() && unknown <= free; ++i)
        unknown += read<Purpose::count_unknown>(nb::borrow<nb::dict>(rows[i]), 0, number_in(rows, i), example);
    return unknown > free;
}

}  // namespace scwlearn
