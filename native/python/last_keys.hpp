// The keys of the last dict that was read, and their features: the next dict often has the same keys.
#pragma once

#include <limits>
#include <vector>

#include "core/scan.hpp"
#include "python/example.hpp"
#include "python/names.hpp"

namespace scwlearn {

// The value of a plain number (a float, also NumPy's; an int or a bool), or NaN. Runs no user code.
inline double plain_number(PyObject* number) noexcept {
    if (PyFloat_Check(number)) return PyFloat_AS_DOUBLE(number);
    if (!PyLong_CheckExact(number) && !PyBool_Check(number)) return std::numeric_limits<double>::quiet_NaN();
    const double value = PyLong_AsDouble(number);
    if (value != -1.0 || !PyErr_Occurred()) return value;
    PyErr_Clear();
    return std::numeric_limits<double>::quiet_NaN();
}

// A number that belongs to no other dict, and to this one until it changes (PEP 509); 0 where Python has none or deprecates it.
inline std::uint64_t version_of([[maybe_unused]] PyObject* dict) noexcept {
#if PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
    return 0;
#endif
}

// A dict with the keys of the last one, in the same order, needs no lookup and no sorting: one that is learned from after
// it was scored, or one of a stream whose keys are always the same. Keys cannot change and are kept alive, so that no other
// object gets their address; values are read from each dict anew, unless it is the last one, unchanged.
class LastKeys {
public:
    // Reads x into an empty example, sorted by feature, if it has these keys and all its values are plain numbers, and if
    // all features are below `room`. Otherwise leaves the example empty and returns false. Runs no user code.
    bool read(PyObject* x, std::int64_t room, Example& example) {
        const std::size_t count = keys_.size();
        if (count == 0 || static_cast<std::size_t>(PyDict_GET_SIZE(x)) != count || indices_.back() >= room) return false;
        const std::uint64_t version = version_of(x);
        if (version == 0 || version != version_) {
            if (!read_values(x)) return false;
            version_ = version;
        }
        example.indices = indices_;
        example.values = values_;
        if (has_zero_) example.remove_zeros();
        return true;
    }

    // Keeps the keys and values of a dict, whose example has one feature for each key, in their order, and has been sorted.
    void keep(PyObject* x, const Example& example) {
        keys_.clear();
        indices_ = example.indices;
        values_ = example.values;
        has_zero_ = false;
        ranks_ = example.ranks();
        keys_.reserve(example.plain_keys.size());
        for (PyObject* const key : example.plain_keys) keys_.push_back(nb::borrow(key));
        version_ = version_of(x);
    }

    // To be called when a name loses its feature.
    void clear() noexcept { keys_.clear(); }

private:
    // Reads the values of a dict of the same size; returns false if it has other keys, or values that are not plain.
    bool read_values(PyObject* x) {
        PyObject *key, *number;
        Py_ssize_t at = 0;
        // Most dicts with other keys differ in the first.
        if (!PyDict_Next(x, &at, &key, &number) || !equal_names(keys_[0].ptr(), key)) return false;
        version_ = 0;
        has_zero_ = false;
        std::size_t i = 0;
        do {
            const double value = plain_number(number);
            if (!equal_names(keys_[i].ptr(), key) || !acceptable(value)) return false;
            has_zero_ |= value == 0.0;
            values_[static_cast<std::size_t>(ranks_[i++])] = value;
        } while (i < keys_.size() && PyDict_Next(x, &at, &key, &number));
        return true;
    }

    std::vector<nb::object> keys_;       // strings or integers, of their own types
    std::vector<std::int32_t> ranks_;    // of the feature of each key among all of them
    std::vector<std::int64_t> indices_;  // the features, sorted
    std::vector<double> values_;         // of the last dict, in the order of the features
    bool has_zero_ = false;              // among these
    std::uint64_t version_ = 0;          // of the last dict; 0 if unknown
};

}  // namespace scwlearn
