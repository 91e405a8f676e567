// Looks through a batch before anything is learned from it: nothing past this check needs one.
#pragma once

#include <cmath>
#include <cstdint>

#include "interface.hpp"

namespace scwlearn {

// Squares of larger values overflow.
inline constexpr double kLargestValue = 1e150;

enum class Problem { none, value, index, offset };

struct Finding {
    Problem problem;
    std::int64_t row;
    std::int64_t column;  // for sparse rows: the place in `values`
    bool sorted;          // sparse rows: indices strictly increase in each row, so none is there twice
};

inline bool acceptable(double x) noexcept { return std::abs(x) <= kLargestValue; }  // false for NaN

template <class Value>
Finding scan_dense(const Rows& rows) noexcept {
    const Value* x = static_cast<const Value*>(rows.values);
    for (std::int64_t i = 0; i < rows.count; ++i, x += rows.width) {
        // Without an early exit inside a row, so that it runs in vector registers.
        bool good = true;
        for (std::int64_t j = 0; j < rows.width; ++j) good &= acceptable(x[j]);
        if (good) continue;
        std::int64_t j = 0;
        while (acceptable(x[j])) ++j;
        return {Problem::value, i, j, true};
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
