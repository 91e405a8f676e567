// Checks a batch before anything is learned from it; nothing past this point checks values again.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/interface.hpp"

namespace scwlearn {

enum class Problem { none, value, index, offset };

struct Finding {
    Problem problem;
    std::int64_t row;
    std::int64_t column;  // for sparse rows: the position in `values`
    bool sorted;          // for sparse rows: indices strictly increase in each row, hence are distinct
};

inline bool acceptable(double x) noexcept { return std::abs(x) <= kLargestValue; }  // false for NaN

// Whether all values are acceptable. As integers without the sign bit, floats are ordered by size, with infinity and
// NaN last; this comparison is vectorized, that of floats is not.
template <class Value>
bool all_acceptable(const Value* x, std::int64_t count) noexcept {
    using Bits = std::conditional_t<sizeof(Value) == 8, std::int64_t, std::int32_t>;
    constexpr auto kLargest = static_cast<Value>(std::min<double>(kLargestValue, std::numeric_limits<Value>::max()));
    // Negative as soon as one of the differences is.
    Bits left = 0;
    for (std::int64_t j = 0; j < count; ++j)
        left |= std::bit_cast<Bits>(kLargest) - (std::bit_cast<Bits>(x[j]) & std::numeric_limits<Bits>::max());
    return left >= 0;
}

template <class Value>
Finding scan_dense(const Rows& rows) noexcept {
    const Value* x = static_cast<const Value*>(rows.values);
    for (std::int64_t i = 0; i < rows.count; ++i, x += rows.width) {
        if (all_acceptable(x, rows.width)) continue;
        const Value* const bad = std::find_if_not(x, x + rows.width, acceptable);
        if (bad != x + rows.width) return {Problem::value, i, bad - x, true};
    }
    return {Problem::none, 0, 0, true};
}

template <class Value, class Index>
Finding scan_sparse(const Rows& rows) noexcept {
    const Value* x = static_cast<const Value*>(rows.values);
    const Index* at = static_cast<const Index*>(rows.indices);
    const Index* offsets = static_cast<const Index*>(rows.offsets);
    bool sorted = true;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const std::int64_t begin = offsets[i];
        const std::int64_t end = offsets[i + 1];
        if (begin < 0 || end < begin || end > rows.stored) return {Problem::offset, i, 0, sorted};
        std::int64_t before = -1;
        for (std::int64_t j = begin; j < end; ++j) {
            const std::int64_t column = at[j];
            if (column < 0 || column >= rows.width) return {Problem::index, i, j, sorted};
            if (!acceptable(x[j])) return {Problem::value, i, j, sorted};
            sorted &= column > before;
            before = column;
        }
    }
    return {Problem::none, 0, 0, sorted};
}

}  // namespace scwlearn
