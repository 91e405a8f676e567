// The factors U, unit upper triangular, and D of a full Sigma: products of U with rows, and the update by a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/interface.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Rows are stored in strips that fill two registers: entry j of all rows of the strip, then entry j + 1.
inline constexpr std::int64_t kStrip = 2 * kWidth;
// Updates per group: these leave room for everything else in 16 registers.
inline constexpr std::int64_t kGroup = 4;
// Columns that a look at a single row takes together; columns are skipped in multiples of this.
inline constexpr std::int64_t kTogether = 8;
static_assert(kTogether % kWidth == 0);

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
    void multiply_one(const Feature* x, std::int64_t from, double* f) const noexcept {
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
            fetch_to_write(u, kColumnsAhead * stride);
            fetch_to_write(u, kColumnsAhead * stride + kStrip - 1);
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

    const double* column(std::int64_t j) const noexcept { return u_ + j * stride_; }

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
    // Columns ahead of a sweep to prefetch: the last core to write to a row of U was often another one.
    static constexpr std::int64_t kColumnsAhead = 8;

    // Prefetches what lies some numbers beyond an address, possibly behind the end of the memory.
    static void fetch_to_write(const double* at, std::int64_t beyond) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(beyond) * sizeof(double);
        __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
    }

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
    void gather(const Feature* x, std::int64_t j, double* f) const noexcept {
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

// With f = U'x scaled so that f'D f = 1, g = D f, kv = precision times variance and a_j = 1 + kv (f_1 g_1 + .. + f_j
// g_j): D_j falls by a_(j-1)/a_j, and column j of U changes by -kv f_j/a_(j-1) times the sum of the g_l U_l before j.
class Update {
public:
    // The numbers of scratch memory that it needs.
    static constexpr std::int64_t entries(std::int64_t size) { return 4 * full_stride(size) + 1; }

    Update(std::int64_t size, double* d, double* scratch) noexcept
        : n_(size),
          d_(d),
          row_(scratch),
          g_(row_ + full_stride(size)),
          change_(g_ + full_stride(size)),
          before_(change_ + full_stride(size)) {
        for (std::int64_t j = 0; j < n_; ++j) smallest_d_ = std::min(smallest_d_, d_[j]);
    }

    // Computes the coefficients from f, which is zero before `from`, and the length to divide it by, and updates D.
    // Returns the first column that changes.
    std::int64_t prepare(const double* f, std::int64_t stride, std::int64_t from, double length, double kv) noexcept {
        double* __restrict scaled = row_;
        double* __restrict g = g_;
        double* __restrict change = change_;
        double* __restrict d = d_;
        const double unit = 1.0 / length;
        for (std::int64_t j = from; j < n_; ++j) scaled[j] = f[j * stride] * unit;
        for (std::int64_t j = from; j < n_; ++j) g[j] = d[j] * scaled[j];
        if (sum_up(scaled, g, from, kv) * kSmallestVariance > smallest_d_) {
            kv = above_smallest(from, kv);
            sum_up(scaled, g, from, kv);
        }
        const double* __restrict before = before_;
        double smallest = smallest_d_;
        for (std::int64_t j = from; j < n_; ++j) {
            const double left = d[j] * (before[j] / before[j + 1]);
            d[j] = left > kSmallestVariance ? left : kSmallestVariance;
            smallest = left < smallest ? left : smallest;
            change[j] = -kv * scaled[j] / before[j];
        }
        smallest_d_ = smallest;
        return std::find_if(scaled + from, scaled + n_, [](double fj) { return fj != 0.0; }) - scaled;
    }

    // Of the update last prepared, from its first place on.
    const double* g() const noexcept { return g_; }
    const double* change() const noexcept { return change_; }

private:
    // Computes a_(j-1) for all j, before the divisions by them, which are then vectorized; returns the last, the
    // largest.
    double sum_up(const double* __restrict scaled, const double* __restrict g, std::int64_t from, double kv) noexcept {
        double* __restrict before = before_;
        // Four terms at a time, so that they do not all wait for each other.
        double sum = 0.0;
        std::int64_t i = from;
        for (; i + 4 <= n_; i += 4) {
            const double one = scaled[i] * g[i];
            const double two = one + scaled[i + 1] * g[i + 1];
            const double last = scaled[i + 3] * g[i + 3];
            const double three = two + scaled[i + 2] * g[i + 2];
            before[i] = 1.0 + kv * sum;
            before[i + 1] = 1.0 + kv * (sum + one);
            before[i + 2] = 1.0 + kv * (sum + two);
            before[i + 3] = 1.0 + kv * (sum + three);
            sum += three + last;
        }
        for (; i < n_; ++i) {
            before[i] = 1.0 + kv * sum;
            sum += scaled[i] * g[i];
        }
        return before[n_] = 1.0 + kv * sum;
    }

    // The largest part of kv that leaves every D at or above kSmallestVariance. Raising D afterwards instead would make
    // Sigma grow, because its column of U may be as large as D is small. A column with a_j = a_(j-1) has no share in
    // the row, and its D does not change.
    double above_smallest(std::int64_t from, double kv) const noexcept {
        for (std::int64_t j = from; j < n_; ++j)
            if (before_[j + 1] > before_[j]) kv = std::min(kv, d_[j] / kSmallestVariance - 1.0);
        return std::max(kv, 0.0);
    }

    std::int64_t n_;
    double* d_;
    double* row_;
    double* g_;
    double* change_;
    double* before_;
    double smallest_d_ = std::numeric_limits<double>::infinity();
};

}  // namespace scwlearn::SCWLEARN_SET
