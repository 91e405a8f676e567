// Names of features, and which feature each is: a Python dict, and before it a table of the strings met first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "bind.hpp"

namespace scwlearn {

class Names {
public:
    // The dict is shared with Python, where nobody may write to it. The model has room for so many features.
    Names(nb::dict features, std::int64_t room) : features_(std::move(features)), room_(room) {}

    nb::handle features() const { return features_; }
    std::int64_t count() const { return PyDict_GET_SIZE(features_.ptr()); }

    // Which feature it is, or -1. A name of the user's own class may run any code.
    std::int64_t find(const nb::object& name) {
        if (!PyUnicode_CheckExact(name.ptr())) return look_up(name);
        if (met_.empty()) met_.resize(std::bit_ceil(std::clamp<std::uint64_t>(4 * room_, 64, kMostMet)));
        const Py_hash_t hash = PyObject_Hash(name.ptr());
        // In the first slot that was free, from the one that the hash points to.
        std::size_t at = static_cast<std::size_t>(hash) & (met_.size() - 1);
        for (; met_[at].name.is_valid(); at = (at + 1) & (met_.size() - 1))
            if (met_[at].hash == hash && equal(met_[at].name, name)) return met_[at].feature;
        const std::int64_t feature = look_up(name);
        if (feature >= 0 && 2 * met_count_ < met_.size()) {
            met_[at] = {hash, name, feature};
            ++met_count_;
        }
        return feature;
    }

    void add(const nb::object& name, std::int64_t feature) { features_[name] = feature; }

    // The name may be there or not.
    void remove(const nb::object& name) noexcept {
        if (PyDict_DelItem(features_.ptr(), name.ptr()) != 0) PyErr_Clear();
        std::fill(met_.begin(), met_.end(), Met{});
        met_count_ = 0;
    }

private:
    // A string and its feature. A dict goes from a slot to an entry, and from there to the name and to the number: four
    // places in memory, where this needs two.
    struct Met {
        Py_hash_t hash = 0;
        nb::object name;
        std::int64_t feature = 0;
    };

    // So many slots stay in the cache of a core.
    static constexpr std::uint64_t kMostMet = 1 << 14;

    static bool equal(nb::handle a, nb::handle b) noexcept {
        const Py_ssize_t length = PyUnicode_GET_LENGTH(a.ptr());
        const int kind = PyUnicode_KIND(a.ptr());
        return length == PyUnicode_GET_LENGTH(b.ptr()) && kind == PyUnicode_KIND(b.ptr()) &&
               std::memcmp(PyUnicode_DATA(a.ptr()), PyUnicode_DATA(b.ptr()), static_cast<std::size_t>(length * kind)) == 0;
    }

    std::int64_t look_up(const nb::object& name) const {
        PyObject* found = PyDict_GetItemWithError(features_.ptr(), name.ptr());
        if (found == nullptr) {
            if (PyErr_Occurred()) nb::raise_python_error();
            return -1;
        }
        const Py_ssize_t feature = PyLong_AsSsize_t(found);
        if (feature == -1 && PyErr_Occurred()) nb::raise_python_error();
        require(feature >= 0 && feature < room_, "the index of a name lies outside the model");
        return feature;
    }

    nb::dict features_;
    std::int64_t room_;
    std::vector<Met> met_;
    std::size_t met_count_ = 0;
};

}  // namespace scwlearn
