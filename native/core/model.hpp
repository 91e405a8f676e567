// A model that the loops update, in memory that NumPy owns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

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

struct Model : Memory {
    Strided mean;
    Strided variances;  // the stored variances that grow with Sigma: of the features, or D; none for the identity

    Model() = default;
    Model(const Memory& memory, Strided mean, Strided variances) noexcept
        : Memory(memory), mean(mean), variances(variances) {}
    Model(const Memory& memory, CovarianceKind kind) noexcept
        : Model(memory, kind, kind == kIdentity || kind == kFull ? 1 : 2) {}
    // `stride` is the distance between the weights of two features.
    Model(const Memory& memory, CovarianceKind kind, std::int64_t stride) noexcept
        : Memory(memory),
          mean{entries, stride, size},
          variances(kind == kFull ? Strided{entries + 2 * full_stride(size), 1, size}
                                  : Strided{entries + 1, stride, size}) {}

    // Lower bound on the stored variances of features.
    double least_variance() const noexcept {
        return floor == 0.0 ? kSmallestVariance : std::max(floor / scalars->spread_scale, kSmallestVariance);
    }

    // The squared norm of mu in the metric of the prior.
    double norm2() const noexcept {
        return scalars->norm2 * scalars->mean_scale * scalars->mean_scale / initial_variance;
    }

    // Adds to the squared norm of the stored mean. A large norm that has become small is mostly rounding error, so
    // the norm is recomputed each time that it falls to a quarter.
    void gain_norm2(double gained) noexcept {
        double& norm2 = scalars->norm2;
        norm2 += gained;
        if (!(norm2 >= 0.25 * scalars->norm2_peak && std::isfinite(norm2))) measure_norm2();
        scalars->norm2_peak = std::max(scalars->norm2_peak, norm2);
    }

    void measure_norm2() noexcept {
        double norm2 = 0.0;
        mean.each([&norm2](double weight) { norm2 += weight * weight; });
        scalars->norm2 = scalars->norm2_peak = norm2;
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
        mean.each([folded](double& weight) { weight *= folded; });
    }

    void fold_variances(double folded) const noexcept {
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
        scalars->norm2 *= folded * folded;
        scalars->norm2_peak *= folded * folded;
        scale = 1.0;
        return folded;
    }

    double grow_scale(double grow) noexcept {
        double& scale = scalars->spread_scale;
        scale *= grow;
        scalars->growth = std::min(scalars->growth * grow, kLargestVariance);
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
        lags.each([folded = scale](double& number) { number *= folded; });
        scale = 1.0;
    }
};

}  // namespace scwlearn::SCWLEARN_SET
