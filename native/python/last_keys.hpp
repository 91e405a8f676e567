// The keys of the last dict that was read, and their features: the next dict often has the same keys.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/scan.hpp"
#include "python/example.hpp"

namespace scwlearn {

// The value of a plain number (float, int or bool), or NaN. Runs no user code.
inline double plain_number(PyObject* number) noexcept {
    if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number);
    if (!PyLong_CheckExact(number) && !PyBool_Check(number)) return std::numeric_limits<double>::quiet_NaN();
    const double value = PyLong_AsDouble(number);
    if (value != -1.0 || !PyErr_Occurred()) return value;
    PyErr_Clear();
    return std::numeric_limits<double>::quiet_NaN();
}

// A dict with the very key objects of the last one, in the same order, needs no lookup and no sorting: one that is learned
// from after it was scored, or one of a stream whose keys are constants. Only keys are kept, which cannot change and are
// kept alive, so that no other object gets their address; values are read from each dict anew.
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
        if (!PyDict_Next(x, &at, &key, &number) || key != keys_[0].ptr()) return false;
        example.values.resize(count);
        bool has_zero = false;
        std::size_t i = 0;
        do {
            const double value = plain_number(number);
            if (key != keys_[i].ptr() || !acceptable(value)) {
                example.values.clear();
                return false;
            }
            has_zero |= value == 0.0;
            example.values[ranks_[i++]] = value;
        } while (i < count && PyDict_Next(x, &at, &key, &number));
        example.indices = indices_;
        if (has_zero) example.remove_zeros();
        return true;
    }

    // Sorts an example that holds one feature for each key of x, in their order, and keeps the keys.
    void keep(PyObject* x, Example& example) {
        const std::size_t count = example.values.size();
        keys_.clear();
        order_.clear();
        for (std::size_t i = 0; i < count; ++i) order_.push_back({example.indices[i], example.values[i], i});
        std::sort(order_.begin(), order_.end(), [](const Placed& a, const Placed& b) { return a.feature < b.feature; });
        indices_.resize(count);
        ranks_.resize(count);
        keys_.reserve(count);
        for (std::size_t rank = 0; rank < count; ++rank) {
            const auto& [feature, value, position] = order_[rank];
            example.indices[rank] = indices_[rank] = feature;
            example.values[rank] = value;
            ranks_[position] = static_cast<std::uint32_t>(rank);
        }
        PyObject *key, *number;
        Py_ssize_t at = 0;
        for (std::size_t i = 0; i < count && PyDict_Next(x, &at, &key, &number); ++i) keys_.push_back(nb::borrow(key));
    }

    // To be called when a name loses its feature.
    void clear() noexcept { keys_.clear(); }

private:
    struct Placed {
        std::int64_t feature;
        double value;
        std::size_t position;
    };

    std::vector<nb::object> keys_;       // strings or integers, of their own types
    std::vector<std::uint32_t> ranks_;   // of the feature of each key among all of them
    std::vector<std::int64_t> indices_;  // the features, sorted
    std::vector<Placed> order_;          // scratch
};

}  // namespace scwlearn
