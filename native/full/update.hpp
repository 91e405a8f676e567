// One update of a factored Sigma by a row: the new D, and the change of each column of U.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/interface.hpp"

namespace scwlearn::SCWLEARN_SET {

// With f = U'x scaled so that f'D f = 1, g = D f, kv = precision times variance and a_j = 1 + kv (f_1 g_1 + .. + f_j
// g_j): D_j falls by a_(j-1)/a_j, and column j of U changes by -kv f_j/a_(j-1) times the sum of the g_l U_l before j.
class Update {
public:
    // `scratch` has room for update_entries(size) numbers.
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
            kv = within_floor(from, kv);
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

    // The part of kv that takes no D below its floor. Raising D afterwards would raise it times the square of its
    // column of U, which may be as large as D is small: Sigma would grow. A column whose a_j equals a_(j-1) has no
    // share in the row, and its D stays.
    double within_floor(std::int64_t from, double kv) const noexcept {
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
