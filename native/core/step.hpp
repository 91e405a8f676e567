// What the model says of a row, and when the answer of a rule may be used.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interface.hpp"

namespace scwlearn::SCWLEARN_SET {

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

inline bool moves(const Step& step) noexcept {
    return step.alpha != 0.0 || step.precision != 0.0 || step.shrink != 1.0 || step.grow != 1.0;
}

// A row that comes again finds its margin where the last step put it, up to rounding: whether it asks for a step of
// 1e-16 more is chance. What changes the margin and the variance by less than this, relatively, is no step.
inline constexpr double kSmallestStep = 1e-12;

inline bool shows(const Step& step, const Look& look) noexcept {
    return std::abs(step.alpha) * look.variance > kSmallestStep * std::abs(look.score) ||
           step.precision * look.variance > kSmallestStep || std::abs(step.shrink - 1.0) > kSmallestStep ||
           std::abs(step.grow - 1.0) > kSmallestStep;
}

inline bool can_ask(const Look& look) noexcept {
    return std::abs(look.score) <= kLargestLook && look.variance > 0.0 && look.variance <= kLargestLook;
}

// alpha sqrt(v) bounds how far the mean moves, measured in the metric of Sigma. False for NaN.
inline bool can_take(const Step& step, double variance) noexcept {
    return std::abs(step.alpha) * std::sqrt(variance) <= kLargestMove && step.precision >= 0.0 &&
           std::abs(step.shrink) <= kLargestMove && step.grow > 0.0 && step.grow <= kLargestMove;
}

// How much precision a step may add for the variance along x to fall to no less than this.
inline double most_precision(double least, double variance) noexcept {
    if (least == 0.0) return std::numeric_limits<double>::infinity();
    return variance > least ? (variance / least - 1.0) / variance : 0.0;
}

// A step of which so much of the precision is left.
inline Step not_below(double least, Step step, double variance) noexcept {
    step.precision = std::min(step.precision, most_precision(least, variance));
    return step;
}

// precision v, which says how much a step shrinks the variance along x: v falls to v/(1 + this).
inline double shrinkage(const Step& step, double variance) noexcept {
    return std::min(step.precision * variance, kLargestShrink);
}

}  // namespace scwlearn::SCWLEARN_SET
