// What a rule answers, and when its answer may be used.
#pragma once

#include <algorithm>
#include <cmath>

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

// Beyond these a product in the next round could overflow. Rows of values up to 1e150 get there only where their
// sizes are hundreds of orders of magnitude apart; such a row is counted but teaches nothing.
inline constexpr double kLargestLook = 1e305;
inline constexpr double kLargestMove = 1e150;

// No step shrinks a variance by more than this factor.
inline constexpr double kLargestShrink = 1e100;

inline bool can_ask(const Look& look) noexcept {
    return std::abs(look.score) <= kLargestLook && look.variance > 0.0 && look.variance <= kLargestLook;
}

// alpha sqrt(v) bounds how far the mean moves, measured in the metric of Sigma. False for NaN.
inline bool can_take(const Step& step, double variance) noexcept {
    return std::abs(step.alpha) * std::sqrt(variance) <= kLargestMove && step.precision >= 0.0 &&
           std::abs(step.shrink) <= kLargestMove && step.grow > 0.0 && step.grow <= kLargestMove;
}

// precision v, which says how much a step shrinks the variance along x: v falls to v/(1 + this).
inline double shrinkage(const Step& step, double variance) noexcept {
    return std::min(step.precision * variance, kLargestShrink);
}

}  // namespace scwlearn
