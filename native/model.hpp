// The model as the loops see it: memory that NumPy owns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "step.hpp"

namespace scwlearn {

// mu = mean_scale * mean and Sigma = spread_scale * (what the covariance makes of `spread`): shrink and grow
// touch one number each, so a sparse row costs no more than its own features.
struct Scalars {
    double mean_scale;
    double spread_scale;
    double norm2;       // squared length of the stored mean, kept only for rules that ask for it
    double norm2_peak;  // the largest since it was last computed anew: what its rounding is measured by
    double growth;      // by how much Sigma has grown in directions never seen
    double rounds;
};

// No variance leaves these: what is computed from it stays finite.
inline constexpr double kSmallestVariance = 1e-200;
inline constexpr double kLargestVariance = 1e150;

inline constexpr std::int64_t kWorkVectors = 3;

struct Model {
    double* mean;
    double* spread;
    double* work;  // kWorkVectors times `size` numbers of scratch
    Scalars* scalars;
    std::int64_t size;  // features, and one more with an intercept
    double initial_variance;

    // Squared length of mu in the metric of the prior.
    double norm2() const noexcept {
        return scalars->norm2 * scalars->mean_scale * scalars->mean_scale / initial_variance;
    }

    // The stored mean has become longer by `gained`, squared. Where little is left of a length that was large, what
    // is left is rounding, and it is computed anew: that happens once for each time it falls to a quarter.
    void gain_norm2(double gained) noexcept {
        double& norm2 = scalars->norm2;
        norm2 += gained;
        if (!(norm2 >= 0.25 * scalars->norm2_peak && std::isfinite(norm2))) {
            norm2 = 0.0;
            for (std::int64_t i = 0; i < size; ++i) norm2 += mean[i] * mean[i];
            scalars->norm2_peak = norm2;
        }
        scalars->norm2_peak = std::max(scalars->norm2_peak, norm2);
    }

    // mu <- shrink mu, and the factor by which a change of mu changes the stored mean.
    double shrink_mean(double shrink) noexcept {
        double& scale = scalars->mean_scale;
        scale *= shrink;
        const double size_of_scale = std::abs(scale);
        if (!(size_of_scale > kSmallScale && size_of_scale < kLargeScale)) fold_mean();
        return 1.0 / scale;
    }

    // Sigma <- grow Sigma, where the first so many entries of `spread` are variances.
    void grow_spread(double grow, std::int64_t variances) noexcept {
        if (grow == 1.0) return;
        double& scale = scalars->spread_scale;
        scale *= grow;
        scalars->growth = std::min(scalars->growth * grow, kLargestVariance);
        if (scale > kSmallScale && scale < kLargeScale) return;
        for (std::int64_t i = 0; i < variances; ++i)
            spread[i] = std::clamp(spread[i] * scale, kSmallestVariance, kLargestVariance);
        scale = 1.0;
    }

private:
    // Beyond these a scale is multiplied into what it scales.
    static constexpr double kSmallScale = 1e-50;
    static constexpr double kLargeScale = 1e50;

    void fold_mean() noexcept {
        const double scale = scalars->mean_scale;
        for (std::int64_t i = 0; i < size; ++i) mean[i] *= scale;
        scalars->norm2 *= scale * scale;
        scalars->norm2_peak *= scale * scale;
        scalars->mean_scale = 1.0;
    }
};

}  // namespace scwlearn
