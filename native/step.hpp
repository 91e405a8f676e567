// What a rule answers, and when its answer may be used.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace scwlearn {

// mu <- shrink mu + alpha y Sigma x;  Sigma <- grow (Sigma^-1 + precision x x')^-1
struct Step {
    double alpha;
    double precision = 0.0;
    double shrink = 1.0;
    double grow = 1.0;

    bool moves() const noexcept {
        return alpha != 0.0 || precision != 0.0 || shrink != 1.0 || grow != 1.0;
    }
};

inline constexpr Step HOLD{0.0};

// What the model says of a row before it learns from it.
struct Look {
    double score;     // f = mu.x
    double variance;  // v = x'Sigma x
};

// Beyond these a product in the next round could overflow. Rows of finite values up to 1e150 get there
// only after absurd streams; such a row is counted but teaches nothing.
inline constexpr double kLargest = 1e300;
inline constexpr double kFarthest = 1e150;

inline bool can_ask(const Look& look) noexcept {
    return std::abs(look.score) <= kLargest && look.variance > 0.0 && look.variance <= kLargest;
}

// alpha sqrt(v) bounds how far the mean moves, measured in the metric of Sigma.
inline bool can_take(const Step& step, double variance) noexcept {
    return std::abs(step.alpha) * std::sqrt(variance) <= kFarthest && step.precision >= 0.0 &&
           step.precision * variance <= kLargest && std::abs(step.shrink) <= kFarthest && step.grow > 0.0 &&
           step.grow <= kFarthest;
}

}  // namespace scwlearn
