// What the readers of records hand over to Python: rows with names, labels, faults.
#pragma once

#include "python/bindings.hpp"
#include "records/table_parser.hpp"

namespace scwlearn {

// A text that is valid UTF-8, unless Python's `errors` say what to do else; but memory may run out.
inline nb::str string_of(std::string_view text, const char* errors = nullptr) {
    PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), errors);
    if (made == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(made);
}

// What a value of another kind than number, string, list and dict says: None, or a date as ISO text.
struct OtherValue {
    bool is_missing = false;  // NA and NaT of pandas
    nb::object iso_text;      // null if it is no date
};

inline OtherValue other_value(nb::handle value) {
    if (std::string_view(Py_TYPE(value.ptr())->tp_name).ends_with("NAType")) return {true, {}};
    // The class of a date has the method; a class of dates, which is no date, only as an attribute of its own.
    if (!PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), "isoformat")) return {};
    PyObject* const written =
        python_code([&] { return PyObject_CallMethod(value.ptr(), "isoformat", nullptr); });
    if (written == nullptr) throw nb::python_error();
    const nb::object text = nb::steal(written);
    if (!PyUnicode_Check(written)) return {};
    return {PyUnicode_CompareWithASCIIString(written, "NaT") == 0, text};
}

// A view of a Python string.
inline std::string_view utf8_of(nb::handle string) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (text == nullptr) throw nb::python_error();
    return {text, static_cast<std::size_t>(size)};
}

// Values, columns and offsets of the rows; the names of the columns, None for those that have none; and their hashes, if
// names are hashed.
using RowArrays = std::tuple<NewArray, NewArray, NewArray, nb::list, std::optional<NewArray>>;
RowArrays row_arrays(RowBuilder& builder);

// Where a parser that reads a text in parts reports how many bytes it has used; none if it must read all of it.
using Used = std::optional<nb::ndarray<std::int64_t, nb::shape<1>, nb::device::cpu, nb::c_contig>>;
inline void report(const Used& used, std::size_t bytes) {
    if (used) used->data()[0] = static_cast<std::int64_t>(bytes);
}

// Labels as numbers (NaN if it is a word or missing); the number of each word, or -1; the words; whether all are bools.
using LabelArrays = std::tuple<NewArray, NewArray, nb::list, bool>;
LabelArrays label_arrays(LabelColumn& labels);

LabelKind label_kind(const std::string& name);

// The places of the records with an error; and of the first errors the name, the place, the column and the value found
// there.
using TableFaults = std::tuple<NewArray, std::vector<std::tuple<std::string, std::int64_t, nb::str, nb::bytes>>>;

// Rows; labels; weights; the place of each record; number of lines; errors.
using TableArrays = std::tuple<RowArrays, LabelArrays, std::optional<NewArray>, NewArray, std::int64_t, TableFaults>;
TableArrays table_arrays(RowBuilder& builder, ParsedTable& parsed);

}  // namespace scwlearn
