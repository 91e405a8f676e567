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

// A dict with the keys of the last one, in the same order, needs no lookup and no sorting: one that is learned from after
// it was scored, or one of a stream whose keys are always the same. Only keys are kept, which cannot change and are kept
// alive, so that no other object gets their address; values are read from each dict anew.
class LastKeys {
public:
    // Reads x into an empty example, sorted by feature, if it has these keys and all its values are plain numbers, and if
    // all features are below `room`. Otherwise leaves the example empty and returns false. Runs no user code.
    bool read(PyObject* x, std::int64_t room, Example& example) const {
        const std::size_t count = keys_.size();
        if (count == 0 || static_cast<std::size_t>(PyDict_GET_SIZE(x)) != count || indices_.back() >= room) return false;
        PyObject *key, *number;
        Py_ssize_t at = 0;
        // Most dicts with other keys differ in the first.
        if (!PyDict_Next(x, &at, &key, &number) || !equal_names(keys_[0].ptr(), key)) return false;
        example.values.resize(count);
        bool has_zero = false;
        std::size_t i = 0;
        do {
            const double value = plain_number(number);
            if (!equal_names(keys_[i].ptr(), key) || !acceptable(value)) {
                example.values.clear();
                return false;
            }
            has_zero |= value == 0.0;
            example.values[static_cast<std::size_t>(ranks_[i++])] = value;
        } while (i < count && PyDict_Next(x, &at, &key, &number));
        example.indices = indices_;
        if (has_zero) example.remove_zeros();
        return true;
    }

    // Keeps the keys of an example that has one feature for each of them, in their order, and has been sorted.
    void keep(const Example& example) {
        keys_.clear();
        indices_ = example.indices;
        ranks_ = example.ranks();
        keys_.reserve(example.plain_keys.size());
        for (PyObject* const key : example.plain_keys) keys_.push_back(nb::borrow(key));
    }

    // To be called when a name loses its feature.
    void clear() noexcept { keys_.clear(); }

private:
    std::vector<nb::object> keys_;       // strings or integers, of their own types
    std::vector<std::int32_t> ranks_;    // of the feature of each key among all of them
    std::vector<std::int64_t> indices_;  // the features, sorted
};

}  // namespace scwlearn
