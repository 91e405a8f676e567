// Numbers as Python passes them: values, weights and labels of any class that has a float.
#pragma once

#include <cmath>
#include <cstring>
#include <optional>

#include "python/example.hpp"

namespace scwlearn {

// Whether NumPy makes a float of something that is no number: a complex number, a duration, a date, a text, an object.
inline bool is_no_number(nb::handle value) {
    static PyObject* const type_name = PyUnicode_InternFromString("dtype");
    static PyObject* const code_name = PyUnicode_InternFromString("char");
    const auto attribute = [](const nb::handle object, PyObject* const name) {
        PyObject* const held = python_code([&] { return PyObject_GetAttr(object.ptr(), name); });
        if (held == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) nb::raise_python_error();
            PyErr_Clear();
        }
        return nb::steal(held);
    };
    const nb::object type = attribute(value, type_name);
    if (!type.is_valid()) return false;
    const nb::object code = attribute(type, code_name);
    if (!code.is_valid() || !PyUnicode_Check(code.ptr()) || PyUnicode_GET_LENGTH(code.ptr()) != 1) return false;
    const Py_UCS4 character = PyUnicode_READ_CHAR(code.ptr(), 0);
    return character < 0x80 && std::strchr("FDGmMSUTVO", static_cast<int>(character)) != nullptr;
}

// The float of a number, infinite if it is too large for one; none of any other object.
inline std::optional<double> float_of(nb::handle value) {
    if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr()) && is_no_number(value)) return std::nullopt;
    const double number = python_code([&] { return PyFloat_AsDouble(value.ptr()); });
    if (number != -1.0 || !PyErr_Occurred()) return number;
    const bool too_large = PyErr_ExceptionMatches(PyExc_OverflowError);
    // A ValueError: a signalling NaN, or more than one number.
    if (!too_large && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        nb::raise_python_error();
    PyErr_Clear();
    return too_large ? std::optional(HUGE_VAL) : std::nullopt;
}

// The weight of a single example, as the argument of a function.
struct SampleWeight {
    double value = 1.0;

    operator double() const noexcept { return value; }

    static SampleWeight of(nb::handle given) {
        const std::optional<double> w = float_of(given);
        if (!w) refuse(PyExc_TypeError, "w must be 0 or a number from 1e-100 to 1e+100, got %U", shown(given));
        check_weight(*w);
        return {*w};
    }
};

// Its label.
struct NumberLabel {
    double value = 1.0;

    operator double() const noexcept { return value; }

    static NumberLabel of(nb::handle given) {
        const std::optional<double> y = float_of(given);
        if (!y) refuse(PyExc_TypeError, "y must be a number, got %U", shown(given));
        return {*y};
    }
};

}  // namespace scwlearn

namespace nanobind::detail {

template <class Given>
struct number_caster : late_caster<Given, type_caster<Given>> {
    static constexpr auto Name = const_name("float");

    bool from_python(handle given, uint32_t, cleanup_list*) noexcept {
        this->source = given;
        return true;
    }
    static Given converted(handle given) { return Given::of(given); }
};

template <>
struct type_caster<scwlearn::SampleWeight> : number_caster<scwlearn::SampleWeight> {};
template <>
struct type_caster<scwlearn::NumberLabel> : number_caster<scwlearn::NumberLabel> {};

}  // namespace nanobind::detail
