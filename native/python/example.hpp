// A single example as Python passes it: a vector, or a dict as a compressed sparse row; and the guard against learning
// from two examples at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "core/scan.hpp"
#include "python/bindings.hpp"

namespace scwlearn {

inline nb::object checked(PyObject* made) {
    if (made == nullptr) nb::raise_python_error();
    return nb::steal(made);
}

inline PyObject* argument(nb::handle object) { return object.ptr(); }
inline long long argument(std::int64_t number) { return number; }

// The text of an object for messages. Python writes no int of more than 4300 digits.
inline nb::object shown(nb::handle object) {
    if (PyObject* const text = python_code([&] { return PyObject_Repr(object.ptr()); })) return nb::steal(text);
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) nb::raise_python_error();
    PyErr_Clear();
    return checked(PyUnicode_FromFormat("<unprintable %s object>", Py_TYPE(object.ptr())->tp_name));
}

// Raises an error whose message is formatted by Python; %lld stands for an integer.
template <class... What>
[[noreturn]] void refuse(PyObject* error, const char* format, const What&... what) {
    const nb::object message = checked(PyUnicode_FromFormat(format, argument(what)...));
    PyErr_SetObject(error, message.ptr());
    nb::raise_python_error();
}

// A vector of float64 numbers: a NumPy array of them, used in place, or what Python makes of any other object.
class Vector {
public:
    explicit Vector(nb::handle x) {
        // A subclass may mean something else by its memory: a masked array has values that do not count.
        if (Py_TYPE(x.ptr()) == array_type() && show(x)) return;
        if (!show(nb::module_::import_("scwlearn.data.rows").attr("as_vector")(x)))
            throw nb::type_error("x must hold float64 numbers");
    }
    ~Vector() { PyBuffer_Release(&view_); }
    Vector(const Vector&) = delete;
    Vector& operator=(const Vector&) = delete;

    // Returns the row, if it is a vector of `width` valid numbers.
    Rows row(std::int64_t width, bool intercept) const {
        if (view_.ndim != 1 || view_.shape[0] != width)
            refuse(PyExc_ValueError, "x must be a vector of %lld numbers, one for each feature", width);
        const double* values = static_cast<const double*>(view_.buf);
        const Rows row{kDense64, values, nullptr, nullptr, width, 1, width, intercept};
        if (const Finding found = scan_dense<double>(row); found.problem != Problem::none)
            refuse(PyExc_ValueError, "x[%lld] = %R; every value must be finite and at most 1e+150 in size", found.column,
                   nb::float_(values[found.column]));
        return row;
    }

private:
    static PyTypeObject* array_type() {
        static PyObject* const type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
        return reinterpret_cast<PyTypeObject*>(type);
    }

    // Asks for the memory of an object; returns whether it holds float64 numbers as the loops read them.
    bool show(nb::handle object) noexcept {
        if (!PyObject_CheckBuffer(object.ptr())) return false;
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
            PyErr_Clear();
            return false;
        }
        const bool aligned = reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(double) == 0;
        if (aligned && view_.format != nullptr && view_.format[0] == 'd' && view_.format[1] == '\0') return true;
        PyBuffer_Release(&view_);
        return false;
    }

    Py_buffer view_{};
};

// Positions of features in an example, for features that may occur repeatedly.
class Positions {
public:
    // Returns the position of a feature; a new one goes behind all of `indices`.
    std::size_t of(std::int64_t feature, const std::vector<std::int64_t>& indices) {
        const std::size_t count = indices.size();
        if (2 * (count + 1) > slots_.size()) {
            slots_.assign(std::bit_ceil(std::max<std::size_t>(64, 4 * (count + 1))), 0);
            for (std::size_t i = 0; i < count; ++i) slot_of(indices[i], indices) = static_cast<std::uint32_t>(i + 1);
        }
        std::uint32_t& slot = slot_of(feature, indices);
        if (slot != 0) return slot - 1;
        slot = static_cast<std::uint32_t>(count + 1);
        return count;
    }

    void clear() noexcept { slots_.clear(); }

private:
    std::uint32_t& slot_of(std::int64_t feature, const std::vector<std::int64_t>& indices) noexcept {
        const std::size_t last = slots_.size() - 1;
        std::size_t at = (static_cast<std::uint64_t>(feature) * 0x9e3779b97f4a7c15u >> 32) & last;
        while (slots_[at] != 0 && indices[slots_[at] - 1] != feature) at = (at + 1) & last;
        return slots_[at];
    }

    std::vector<std::uint32_t> slots_;  // positions, counted from 1
};

// The features of a dict, and what a vocabulary learns from it.
struct Example {
    // An occurrence of a hashed name.
    struct Vote {
        std::uint32_t hash;
        nb::object key, word;
    };

    std::vector<std::int64_t> indices;  // distinct
    std::vector<double> values;
    std::int64_t known = 0;   // number of features before
    nb::object new_names;     // dict of new names and their features known, known + 1, ...; null if there are none
    nb::object key_type;      // type of its keys, if there was none before
    std::vector<Vote> votes;  // if names are hashed
    std::vector<PyObject*> plain_keys;  // borrowed: its keys that are cached names with a plain number other than 0
    bool ran_user_code = false;         // perhaps, so that keys may have gone

    std::int64_t count() const noexcept { return static_cast<std::int64_t>(values.size()); }
    std::int64_t count_new() const noexcept { return new_names.is_valid() ? PyDict_GET_SIZE(new_names.ptr()) : 0; }

    // From now on features may repeat: their values are added.
    void merge() noexcept { merging_ = true; }

    // Adds a value; returns whether the sum is acceptable.
    bool add(std::int64_t feature, double value) {
        if (merging_) return merge(feature, value);
        indices.push_back(feature);
        values.push_back(value);
        return true;
    }

    // Ends the example: removes features whose values cancelled each other, and votes for a name but the first, as a row has
    // each name once.
    void end() {
        if (has_zero_) remove_zeros();
        if (votes.size() > 1) remove_repeated_votes();
    }

    void remove_zeros() {
        std::size_t left = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] == 0.0) continue;
            indices[left] = indices[i];
            values[left++] = values[i];
        }
        indices.resize(left);
        values.resize(left);
    }

    void remove_repeated_votes() {
        hashes_.clear();
        for (const Vote& vote : votes) hashes_.push_back(vote.hash);
        std::sort(hashes_.begin(), hashes_.end());
        if (std::adjacent_find(hashes_.begin(), hashes_.end()) == hashes_.end()) return;
        std::unordered_set<std::uint32_t> met;
        std::erase_if(votes, [&met](const Vote& vote) { return !met.insert(vote.hash).second; });
    }

    // Sorts by index: a sum must not depend on the order of the keys, and is then that of a batch, to the last bit.
    void sort() {
        ranks_.resize(indices.size());
        if (std::is_sorted(indices.begin(), indices.end())) {
            std::iota(ranks_.begin(), ranks_.end(), 0);
            return;
        }
        rank();
        unsorted_indices_ = indices;
        unsorted_values_ = values;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto place = static_cast<std::size_t>(ranks_[i]);
            indices[place] = unsorted_indices_[i];
            values[place] = unsorted_values_[i];
        }
    }

    // Where `sort` has put each feature.
    const std::vector<std::int32_t>& ranks() const noexcept { return ranks_; }

    void clear() noexcept {
        indices.clear();
        values.clear();
        new_names.reset();
        key_type.reset();
        votes.clear();
        plain_keys.clear();
        positions_.clear();
        ran_user_code = merging_ = has_zero_ = false;
    }

private:
    std::vector<std::uint32_t> hashes_;

    // Computes the place of each feature in their order.
    void rank() {
        constexpr std::size_t kFew = 64, kTogether = 8;
        const std::size_t count = indices.size();
        const std::int64_t largest = *std::max_element(indices.begin(), indices.end());
        if (count <= kFew && largest <= std::numeric_limits<std::int32_t>::max()) {
            // Comparing each with all others has no branch to mispredict.
            using Register = std::int32_t __attribute__((vector_size(16)));
            std::int32_t narrow[kFew] = {}, smaller[kFew];
            for (std::size_t i = 0; i < count; ++i) narrow[i] = static_cast<std::int32_t>(indices[i]);
            for (std::size_t i = 0; i < count; i += kTogether) {
                Register some[2], counts[2] = {};
                std::memcpy(some, narrow + i, sizeof some);
                // A lane of a comparison that is true is -1.
                for (std::size_t k = 0; k < count; ++k)
                    for (int half = 0; half < 2; ++half) counts[half] -= narrow[k] < some[half];
                std::memcpy(smaller + i, counts, sizeof counts);
            }
            std::copy(smaller, smaller + count, ranks_.begin());
            return;
        }
        in_order_.clear();
        for (std::size_t i = 0; i < count; ++i) in_order_.emplace_back(indices[i], i);
        std::sort(in_order_.begin(), in_order_.end());
        for (std::size_t i = 0; i < count; ++i) ranks_[in_order_[i].second] = static_cast<std::int32_t>(i);
    }

    bool merge(std::int64_t feature, double value) {
        const std::size_t at = positions_.of(feature, indices);
        if (at == indices.size()) {
            indices.push_back(feature);
            values.push_back(value);
            return true;
        }
        values[at] += value;
        has_zero_ |= values[at] == 0.0;
        return acceptable(values[at]);
    }

    Positions positions_;
    bool merging_ = false;
    bool has_zero_ = false;
    std::vector<std::int32_t> ranks_;
    // Scratch.
    std::vector<std::pair<std::int64_t, std::size_t>> in_order_;
    std::vector<std::int64_t> unsorted_indices_;
    std::vector<double> unsorted_values_;
};

inline void check_weight(double w) {
    if (w != 0.0 && !(w >= kSmallestWeight && w <= kLargestWeight))
        refuse(PyExc_ValueError, "w must be 0 or a number from 1e-100 to 1e+100, got %R", nb::float_(w));
}

}  // namespace scwlearn
