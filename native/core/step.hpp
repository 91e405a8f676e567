// What a model says about a row, and which steps of a rule are taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interface.hpp"

namespace scwlearn::SCWLEARN_SET {

// What a model says about a row before it learns from it.
struct Look {
    double score;     // f = mu.x
    double variance;  // v = x'Sigma x
};

// Bounds beyond which a product in the next round could overflow. Values up to 1e150 exceed them only if their sizes
// are hundreds of orders of magnitude apart; such a row is counted but not learned from.
inline constexpr double kLargestLook = 1e305;
inline constexpr double kLargestMove = 1e140;
inline constexpr double kLargestFactor = 1e150;
// Bound on alpha, which is multiplied by a scale of up to 1e50 before a small Sigma x makes the product small again.
inline constexpr double kLargestAlpha = 1e250;

// Upper bound on the factor by which a step shrinks a variance.
inline constexpr double kLargestShrink = 1e100;

inline bool moves(const Step& step) noexcept {
    return step.alpha != 0.0 || step.precision != 0.0 || step.shrink != 1.0 || step.grow != 1.0;
}

// Smaller relative changes of margin and variance are not made. The margin of a repeated row is where the last step put
// it, up to rounding, so whether the rule asks for another step of 1e-16 is arbitrary.
inline constexpr double kSmallestStep = 1e-12;

inline bool shows(const Step& step, const Look& look) noexcept {
    return std::abs(step.alpha) * look.variance > kSmallestStep * std::abs(look.score) ||
           step.precision * look.variance > kSmallestStep || std::abs(step.shrink - 1.0) > kSmallestStep ||
           std::abs(step.grow - 1.0) > kSmallestStep;
}

inline bool can_ask(const Look& look) noexcept {
    return std::abs(look.score) <= kLargestLook && look.variance > 0.0 && look.variance <= kLargestLook;
}

// alpha sqrt(v) bounds the move of the mean in the metric of Sigma. False for NaN.
inline bool can_take(const Step& step, double variance) noexcept {
    return std::abs(step.alpha) <= kLargestAlpha && std::abs(step.alpha) * std::sqrt(variance) <= kLargestMove &&
           step.precision >= 0.0 && std::abs(step.shrink) <= kLargestFactor && step.grow >= 1.0 / kLargestFactor &&
           step.grow <= kLargestFactor;
}

// The most precision that a step may add so that the variance along x stays at least `least`.
inline double most_precision(double least, double variance) noexcept {
    if (least == 0.0) return std::numeric_limits<double>::infinity();
    return variance > least ? (variance / least - 1.0) / variance : 0.0;
}

// The step with its precision bounded accordingly.
inline Step not_below(double least, Step step, double variance) noexcept {
    step.precision = std::min(step.precision, most_precision(least, variance));
    return step;
}

// precision times v: the variance along x falls to v/(1 + this).
inline double shrinkage(const Step& step, double variance) noexcept {
    return std::min(step.precision * variance, kLargestShrink);
}

}  // namespace scwlearn::SCWLEARN_SET
