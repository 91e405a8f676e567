// Arguments that take memory, strings and lists, converted where a lack of memory can be reported.
//
// nanobind's own casters convert them in functions that are noexcept, so that a std::bad_alloc ends the process. These only
// look at the type there, and convert when the argument is passed on, where exceptions become Python errors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/detail/nb_list.h>

#include <string>
#include <utility>
#include <vector>

namespace nanobind::detail {

template <class Given, class Self>
struct late_caster {
    using Value = Given;
    template <typename T>
    using Cast = movable_cast_t<T>;
    template <typename T>
    static constexpr bool can_cast() {
        return true;
    }

    explicit operator Value*() {
        value = Self::converted(source);
        return &value;
    }
    explicit operator Value&() { return *static_cast<Value*>(*this); }
    explicit operator Value&&() { return std::move(*static_cast<Value*>(*this)); }

    handle source;
    Value value;
};

template <>
struct type_caster<std::string> : late_caster<std::string, type_caster<std::string>> {
    static constexpr auto Name = const_name("str");

    bool from_python(handle given, uint32_t, cleanup_list*) noexcept {
        source = given;
        return PyUnicode_Check(given.ptr());
    }

    static std::string converted(handle string) {
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
        if (text == nullptr) raise_python_error();
        return {text, static_cast<std::size_t>(size)};
    }

    static handle from_cpp(const std::string& value, rv_policy, cleanup_list*) noexcept {
        return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
    }
};

template <class T>
struct type_caster<std::vector<T>> : late_caster<std::vector<T>, type_caster<std::vector<T>>> {
    static constexpr auto Name =
        io_name("collections.abc.Sequence", "list") + const_name("[") + make_caster<T>::Name + const_name("]");

    bool from_python(handle given, uint32_t, cleanup_list*) noexcept {
        this->source = given;
        return PyList_Check(given.ptr()) || PyTuple_Check(given.ptr());
    }

    static std::vector<T> converted(handle list) {
        std::vector<T> values;
        values.reserve(len(list));
        for (const handle item : list) values.push_back(cast<T>(item));
        return values;
    }

    template <class Values>
    static handle from_cpp(Values&& values, rv_policy policy, cleanup_list* cleanup) noexcept {
        return list_caster<std::vector<T>, T>::from_cpp(std::forward<Values>(values), policy, cleanup);
    }
};

}  // namespace nanobind::detail
