// What the readers of records hand over to Python: rows with names, labels, faults.
#pragma once

#include "python/bindings.hpp"
#include "records/labels.hpp"
#include "records/row_builder.hpp"

namespace scwlearn {

// Upper bound on how deep objects are nested.
inline constexpr int kDeepest = 32;

// A text that is valid UTF-8, unless Python's `errors` say what to do else; but memory may run out.
inline nb::object string_of(std::string_view text, const char* errors = nullptr) {
    PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), errors);
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

// Values, columns and offsets of the rows; the names of the columns, None for those that have none; and their hashes, if
// names are hashed.
using RowArrays = std::tuple<NewArray, NewArray, NewArray, nb::list, std::optional<NewArray>>;
RowArrays row_arrays(RowBuilder& builder);

// Labels as numbers (NaN if it is a word or missing); the number of each word, or -1; the words; whether all are bools.
using LabelArrays = std::tuple<NewArray, NewArray, nb::list, bool>;
LabelArrays label_arrays(LabelColumn& labels);

LabelKind label_kind(const std::string& name);

}  // namespace scwlearn
