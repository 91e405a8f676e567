// A model that the loops update, in memory that NumPy owns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/step.hpp"

namespace scwlearn::SCWLEARN_SET {

// Numbers at a fixed distance from each other, single or in groups.
struct Strided {
    double* first;
    std::int64_t stride;
    std::int64_t count;
    std::int64_t together = 1;

    template <class Action>
    void each(Action action) const {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < together; ++k) action(first[i * stride + k]);
    }
};

// Multiplies D of U D U' by a scale. An entry is bounded so that no variance, the sum of D_j U_ij^2, overflows: the
// column of U may be large where D is small.
inline void fold_factors(double* d, std::int64_t size, double folded) noexcept {
    const std::int64_t stride = full_stride(size);
    for (std::int64_t j = 0; j < size; ++j) {
        const double* const column = d + stride * (j + 1);
        double largest = 1.0;
        for (std::int64_t i = 0; i < j; ++i) largest = std::max(largest, std::abs(column[i]));
        const double most = kLargestVariance / largest / largest;
        d[j] = std::clamp(d[j] * folded, kSmallestVariance, std::max(most, kSmallestVariance));
    }
}

// Bounds of a stored weight when a scale is multiplied into it, and of the squared norm of the mean: what is beyond them
// ends at them, so that no model ever holds an infinity.
inline constexpr double kLargestMean = 1e250;
inline constexpr double kLargestNorm2 = 1e300;
// The same for what multiplies a Sigma x of length up to about 1e75.
inline constexpr double kLargestRate = 1e200;

// A stored number of the mean or its lag, with the scale multiplied into it.
inline double with_scale(double number, double scale, double largest = kLargestMean) noexcept {
    return std::clamp(number * scale, -largest, largest);
}

struct Model : Memory {
    Strided mean;
    Strided variances;  // the stored variances that grow with Sigma: of the features, or D; none for the identity
    bool is_full = false;

    Model() = default;
    Model(const Memory& memory, Strided mean, Strided variances, bool is_full = false) noexcept
        : Memory(memory), mean(mean), variances(variances), is_full(is_full) {}
    Model(const Memory& memory, CovarianceKind kind) noexcept
        : Model(memory, kind, kind == kIdentity || kind == kFull ? 1 : 2) {}
    // `stride` is the distance between the weights of two features.
    Model(const Memory& memory, CovarianceKind kind, std::int64_t stride) noexcept
        : Memory(memory),
          mean{entries, stride, size},
          variances(kind == kFull ? Strided{entries + 2 * full_stride(size), 1, size}
                                  : Strided{entries + 1, stride, size}),
          is_full(kind == kFull) {}

    // Lower bound on the stored variances of features.
    double least_variance() const noexcept {
        return floor == 0.0 ? kSmallestVariance : std::max(floor / scalars->spread_scale, kSmallestVariance);
    }

    // Upper bound on the growth of any variance since the prior.
    double most_growth() const noexcept {
        return scalars->growth < kLargestVariance ? scalars->growth : std::numeric_limits<double>::infinity();
    }

    // The squared norm of mu in the metric of the prior; infinite if it is too large to be kept.
    double norm2() const noexcept {
        return scalars->norm2 < kLargestNorm2
                   ? scalars->norm2 * scalars->mean_scale * scalars->mean_scale / initial_variance
                   : std::numeric_limits<double>::infinity();
    }

    // Adds to the squared norm of the stored mean. A large norm that has become small is mostly rounding error, so
    // the norm is recomputed each time that it falls to a quarter.
    void gain_norm2(double gained) noexcept {
        double& norm2 = scalars->norm2;
        norm2 += gained;
        if (!(norm2 >= 0.25 * scalars->norm2_peak && norm2 < kLargestNorm2)) measure_norm2();
        scalars->norm2_peak = std::max(scalars->norm2_peak, norm2);
    }

    void measure_norm2() noexcept {
        double norm2 = 0.0;
        mean.each([&norm2](double weight) { norm2 += weight * weight; });
        scalars->norm2 = scalars->norm2_peak = std::min(norm2, kLargestNorm2);
    }

    // mu <- shrink mu. Returns the factor that the stored mean was multiplied by, which is nearly always 1.
    [[gnu::always_inline]] double shrink_mean(double shrink) noexcept {
        return shrink == 1.0 && !is_averaged() ? 1.0 : shrink_scales(shrink);
    }

    // Sigma <- grow Sigma. Returns the factor that the variances were multiplied by, which is nearly always 1.
    [[gnu::always_inline]] double grow_spread(double grow) noexcept { return grow == 1.0 ? 1.0 : grow_scale(grow); }

    // Averaging. After each round t:
    //   average <- average + rate (mean - average)            rate = kAveragingRate/(t + kAveragingRate)
    // so that the mean of round s counts in proportion to s^2. We store the lag, mean - average, so that a sparse row
    // touches no more than its own features:
    //   lag <- (1 - rate)(lag + change of the mean)
    // Where a rule shrinks the mean, the average shrinks with it.
    // Predictions use the average, unless the mean has made fewer mistakes lately, as it does under drift.

    bool is_averaged() const noexcept { return average_state != nullptr; }
    bool uses_average() const noexcept { return is_averaged() && average_state->average_is_better(); }

    // Counts the round, and lets the lag shrink.
    void begin_round() noexcept {
        scalars->rounds += 1.0;
        if (is_averaged()) average_state->lag_scale *= lag_decay();
    }

    double lag_scale() const noexcept { return is_averaged() ? average_state->lag_scale : 0.0; }

    // Factor that turns a change of the stored mean into one of the stored lag; call after `shrink_mean`. 0 without
    // averaging.
    double lag_rate() const noexcept {
        return is_averaged() ? scalars->mean_scale * lag_decay() / average_state->lag_scale : 0.0;
    }

    void fold_mean(double folded) const noexcept {
        mean.each([folded](double& weight) { weight = with_scale(weight, folded); });
    }

    void fold_variances(double folded) const noexcept {
        if (is_full) {
            // D of one Sigma, or of each class.
            const bool one = variances.stride == 1;
            for (std::int64_t c = 0; c < (one ? 1 : variances.count); ++c)
                fold_factors(variances.first + c * variances.stride, size, folded);
            return;
        }
        variances.each([folded](double& s) { s = std::clamp(s * folded, kSmallestVariance, kLargestVariance); });
    }

private:
    // A scale outside this range is multiplied into what it scales.
    static constexpr double kSmallScale = 1e-50;
    static constexpr double kLargeScale = 1e50;
    static constexpr double kAveragingRate = 3.0;
    // A smaller scale is multiplied into the lag, so that what is stored never becomes much larger than the lag itself.
    static constexpr double kSmallLagScale = 1e-12;

    double shrink_scales(double shrink) noexcept {
        double& scale = scalars->mean_scale;
        scale *= shrink;
        if (is_averaged()) shrink_lag(shrink);
        const double size_of_scale = std::abs(scale);
        if (size_of_scale > kSmallScale && size_of_scale < kLargeScale) return 1.0;
        const double folded = scale;
        fold_mean(folded);
        for (double* norm2 : {&scalars->norm2, &scalars->norm2_peak})
            if (*norm2 > 0.0) *norm2 = std::min(*norm2 * (folded * folded), kLargestNorm2);
        scale = 1.0;
        return folded;
    }

    double grow_scale(double grow) noexcept {
        double& scale = scalars->spread_scale;
        scale *= grow;
        scalars->growth = std::clamp(scalars->growth * grow, kSmallestVariance, kLargestVariance);
        if (scale > kSmallScale && scale < kLargeScale) return 1.0;
        const double folded = scale;
        fold_variances(folded);
        scale = 1.0;
        return folded;
    }

    double lag_decay() const noexcept { return scalars->rounds / (scalars->rounds + kAveragingRate); }

    // The average shrinks with the mean.
    void shrink_lag(double shrink) const noexcept {
        double& scale = average_state->lag_scale;
        scale *= shrink;
        const double size_of_scale = std::abs(scale);
        if (size_of_scale > kSmallLagScale && size_of_scale < kLargeScale) return;
        const Strided lags{lag, lag_stride, size, lag_lanes};
        lags.each([folded = scale](double& number) { number = with_scale(number, folded); });
        scale = 1.0;
    }
};

}  // namespace scwlearn::SCWLEARN_SET
