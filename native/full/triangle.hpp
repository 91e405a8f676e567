// U, unit upper triangular, stored by columns: products with rows, and updates.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Rows are stored in strips that fill two registers: entry j of all rows of the strip, then entry j + 1.
inline constexpr std::int64_t kStrip = 2 * kWidth;
// Updates per group: these leave room for everything else in 16 registers.
inline constexpr std::int64_t kGroup = 4;
// Columns that a look at a single row takes together; columns are skipped in multiples of this.
inline constexpr std::int64_t kTogether = 8;
static_assert(kTogether % kWidth == 0);

// A feature of a row and its place.
struct Placed {
    std::int64_t place;
    double value;
};

// Each column fills whole cache lines, with zeros below the diagonal and behind its end, so that loops over rows of U
// have no remainder.
class Triangle {
public:
    Triangle(double* entries, std::int64_t size, std::int64_t stride) noexcept : u_(entries), n_(size), stride_(stride) {}

    // Computes columns begin to end of F = X U for a strip of rows. x holds only their entries at the places in
    // `present`, which ends with n.
    void multiply(const double* x, const std::int64_t* present, std::int64_t begin, std::int64_t end,
                  double* f) const noexcept {
        std::int64_t j = begin;
        for (; j + kColumns <= end; j += kColumns) multiply_by<kColumns>(x, present, j, f);
        for (; j + 2 <= end; j += 2) multiply_by<2>(x, present, j, f);
        if (j < end) multiply_by<1>(x, present, j, f);
    }

    // Columns of F per strip: these leave room for everything else in 16 registers.
    static constexpr std::int64_t kColumns = 6;

    // Computes f = U'x from a place on, for a row as a vector that is zero before it.
    void multiply_one(const double* x, std::int64_t from, double* f) const noexcept {
        constexpr std::int64_t kCount = 4;
        std::int64_t j = from;
        for (; j + kCount <= n_; j += kCount) dot<kCount>(x, from, j, f);
        for (; j < n_; ++j) dot<1>(x, from, j, f);
    }

    // Computes f = U'x from a place on, for a row as features in order, ended by one at place n.
    void multiply_one(const Placed* x, std::int64_t from, double* f) const noexcept {
        std::int64_t j = from;
        for (; j + kTogether <= n_; j += kTogether) gather<kTogether>(x, j, f);
        for (; j < n_; ++j) gather<1>(x, j, f);
    }

    // Applies a group of updates to kStrip rows of U, from `row` and column `begin` on. `sums` gets these rows of the
    // Sigma x of each update. The coefficients are those that Factors stores.
    template <std::int64_t kUpdates>
    void sweep(std::int64_t row, std::int64_t begin, const double* coefficients, double* sums) noexcept {
        Vector low[kUpdates] = {}, high[kUpdates] = {};
        const std::int64_t stride = stride_;
        double* u = u_ + begin * stride + row;
        coefficients += 2 * kGroup * begin;
        for (std::int64_t j = begin; j < n_; ++j, u += stride, coefficients += 2 * kGroup) {
            Vector a = load(u), b = load(u + kWidth);
#pragma GCC unroll 4
            for (std::int64_t k = 0; k < kUpdates; ++k) {
                const Vector change = all(coefficients[k]), g = all(coefficients[kGroup + k]);
                const Vector old_a = a, old_b = b;
                a += change * low[k];
                b += change * high[k];
                low[k] += g * old_a;
                high[k] += g * old_b;
            }
            store(u, a);
            store(u + kWidth, b);
        }
        for (std::int64_t k = 0; k < kUpdates; ++k) {
            store(sums + k * kStrip, low[k]);
            store(sums + k * kStrip + kWidth, high[k]);
        }
    }

    // Applies a single update to some rows of U, column by column as they are stored; `sums` is zero before and Sigma x
    // after it. No row depends on another.
    void stream(std::int64_t first_row, std::int64_t end_row, std::int64_t first_column, const double* coefficients,
                double* sums) noexcept {
        constexpr std::int64_t kCount = 4;
        std::int64_t j = std::max(first_column, first_row / kCount * kCount);
        for (; j + kCount <= n_; j += kCount) stream_columns<kCount>(first_row, end_row, j, coefficients, sums);
        for (; j < n_; ++j) stream_columns<1>(first_row, end_row, j, coefficients, sums);
    }

    // The first row that is not that of the identity.
    std::int64_t first_row() const noexcept {
        std::int64_t row = n_;
        for (std::int64_t j = 0; j < n_; ++j) {
            const double* const column = u_ + j * stride_;
            const double* const end = column + std::min(row, j);
            const double* const found = std::find_if(column, end, [](double entry) { return entry != 0.0; });
            if (found != end) row = found - column;
        }
        return row;
    }

private:
    template <std::int64_t kCount>
    void multiply_by(const double* __restrict x, const std::int64_t* present, std::int64_t j,
                     double* f) const noexcept {
        const double* __restrict u = u_ + j * stride_;
        Vector low[kCount] = {}, high[kCount] = {};
        for (; *present < j + kCount; ++present, x += kStrip) {
            const Vector a = load(x), b = load(x + kWidth);
            const double* __restrict entries = u + *present;
#pragma GCC unroll 6
            for (std::int64_t c = 0; c < kCount; ++c) {
                const Vector entry = all(entries[c * stride_]);
                low[c] += entry * a;
                high[c] += entry * b;
            }
        }
        f += j * kStrip;
#pragma GCC unroll 6
        for (std::int64_t c = 0; c < kCount; ++c, f += kStrip) {
            store(f, low[c]);
            store(f + kWidth, high[c]);
        }
    }

    template <std::int64_t kCount>
    void dot(const double* x, std::int64_t from, std::int64_t j, double* f) const noexcept {
        const double* u = u_ + j * stride_;
        Vector sums[kCount] = {};
        for (std::int64_t i = from; i < j + kCount; i += kWidth) {
            const Vector part = load(x + i);
#pragma GCC unroll 4
            for (std::int64_t c = 0; c < kCount; ++c) sums[c] += load(u + c * stride_ + i) * part;
        }
        for (std::int64_t c = 0; c < kCount; ++c) f[j + c] = sum_of(sums[c]);
    }

    template <std::int64_t kCount>
    void gather(const Placed* x, std::int64_t j, double* f) const noexcept {
        const double* u[kCount];
        for (std::int64_t c = 0; c < kCount; ++c) u[c] = u_ + (j + c) * stride_;
        double sums[kCount] = {};
        for (; x->place < j + kCount; ++x) {
#pragma GCC unroll 8
            for (std::int64_t c = 0; c < kCount; ++c) sums[c] += x->value * u[c][x->place];
        }
        for (std::int64_t c = 0; c < kCount; ++c) f[j + c] = sums[c];
    }

    template <std::int64_t kCount>
    void stream_columns(std::int64_t first_row, std::int64_t end_row, std::int64_t j, const double* coefficients,
                        double* __restrict sums) noexcept {
        double* u = u_ + j * stride_;
        coefficients += 2 * kGroup * j;
        Vector change[kCount], g[kCount];
        for (std::int64_t c = 0; c < kCount; ++c) {
            change[c] = all(coefficients[2 * kGroup * c]);
            g[c] = all(coefficients[2 * kGroup * c + kGroup]);
        }
        const std::int64_t end = std::min(end_row, j + kCount);
        for (std::int64_t i = first_row / kWidth * kWidth; i < end; i += kWidth) {
            Vector sum = load(sums + i);
#pragma GCC unroll 4
            for (std::int64_t c = 0; c < kCount; ++c) {
                const Vector old = load(u + c * stride_ + i);
                store(u + c * stride_ + i, old + change[c] * sum);
                sum += g[c] * old;
            }
            store(sums + i, sum);
        }
    }

    double* u_;
    std::int64_t n_;
    std::int64_t stride_;
};

}  // namespace scwlearn::SCWLEARN_SET
