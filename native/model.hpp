// The model as the loops see it: memory that NumPy owns.
#pragma once

#include <cstdint>

#include "step.hpp"

namespace scwlearn {

// mu = mean_scale * mean and Sigma = spread_scale * (what the covariance makes of `spread`): shrink and grow
// touch one number each, so a sparse row costs no more than its own features.
struct Scalars {
    double mean_scale;
    double spread_scale;
    double norm2;  // of the stored mean, kept only for rules that ask for it
    double rounds;
};

struct Model {
    double* mean;
    double* spread;
    double* work;  // `size` numbers of scratch
    Scalars* scalars;
    std::int64_t size;  // features, and one more with an intercept
    double initial_variance;

    // Squared length of mu in the metric of the prior.
    double norm2() const noexcept {
        return scalars->norm2 * scalars->mean_scale * scalars->mean_scale / initial_variance;
    }

    // mu <- shrink mu, and the factor by which a change of mu changes the stored mean.
    double shrink_mean(double shrink) noexcept {
        double& scale = scalars->mean_scale;
        scale *= shrink;
        const double size_of_scale = std::abs(scale);
        if (!(size_of_scale > 1e-50 && size_of_scale < 1e50)) fold();
        return 1.0 / scale;
    }

private:
    void fold() noexcept {
        const double scale = scalars->mean_scale;
        for (std::int64_t i = 0; i < size; ++i) mean[i] *= scale;
        scalars->norm2 *= scale * scale;
        scalars->mean_scale = 1.0;
    }
};

}  // namespace scwlearn
