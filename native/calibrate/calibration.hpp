// From scores to probabilities: a curve that is learned online from the scores of examples before they were learned
// from (docs/probabilities.md). Plain data and functions of scalars; they neither throw nor allocate.
//
//   u = a f/sqrt(1 + v) + b f/(sqrt(v) + |f|/8) + c        a, b >= 0
//   P = 1/(1 + exp(-(u + shift(u))))                        shift: piecewise linear, u + shift(u) never falls
#pragma once

#include "calibrate/curve.hpp"

namespace scwlearn {

// The curve and the sums that it is drawn from, as they lie in memory that NumPy owns.
struct Calibration {
    calibration::Fading fading;
    calibration::Units units;
    // The log-likelihood as a parabola around the line of its time: z z', and z z'(a, b, c) plus the gradient.
    calibration::Sums<6> curvature;  // 00 01 11 0c 1c cc
    calibration::Sums<3> pull;
    double line[3];  // a, b, c
    calibration::Knots knots;
};
static_assert(std::is_standard_layout_v<Calibration> && std::is_trivially_copyable_v<Calibration>);

inline constexpr std::int64_t kCalibrationEntries = sizeof(Calibration) / sizeof(double);

namespace calibration {

inline void start(Calibration& state, double window) noexcept {
    state = Calibration{};
    state.fading.start(window);
    state.units.limit[0] = state.units.limit[1] = kNoLimit;
}

struct Signals {
    double noisy, sure;
};

inline Signals signals(const Calibration& state, double score, double variance) noexcept {
    const double* limit = state.units.limit;
    return {std::clamp(noisy(score, variance), -limit[0], limit[0]),
            std::clamp(sure(score, std::sqrt(variance)), -limit[1], limit[1])};
}

inline double line_at(const Calibration& state, const Signals& z) noexcept {
    const double u = state.line[0] * z.noisy + state.line[1] * z.sure + state.line[2];
    return std::clamp(u, -kLargestLogit, kLargestLogit);
}

inline void scale(Calibration& state, double part) noexcept {
    state.units.square.scale(part);
    state.curvature.scale(part);
    state.pull.scale(part);
    state.knots.scale(part);
}

inline void settle(Calibration& state) noexcept { scale(state, state.fading.settle()); }

// The top of the parabola and the prior, where neither slope is negative.
inline void draw_line(Calibration& state) noexcept {
    double unit[2];
    state.units.draw(state.fading.total, unit);
    const double part = 1.0 / state.fading.gain;
    const double prior = state.fading.prior();
    const Sums<6>& sums = state.curvature;
    const double cc = sums[5] * part + prior;
    const double c0 = sums[3] * part * unit[0], c1 = sums[4] * part * unit[1];
    const double top_c = state.pull[2] * part;
    // What is left once the best c for any slopes is put in.
    const double h00 = sums[0] * part * unit[0] * unit[0] + prior - c0 * c0 / cc;
    const double h01 = sums[1] * part * unit[0] * unit[1] - c0 * c1 / cc;
    const double h11 = sums[2] * part * unit[1] * unit[1] + prior - c1 * c1 / cc;
    const double top_0 = state.pull[0] * part * unit[0] + prior * kSlope - c0 * top_c / cc;
    const double top_1 = state.pull[1] * part * unit[1] - c1 * top_c / cc;
    const auto [a, b] = least(h00, h01, h11, top_0, top_1, prior);
    state.line[0] = a * unit[0];
    state.line[1] = b * unit[1];
    state.line[2] = (top_c - c0 * a - c1 * b) / cc;
}

inline void draw(Calibration& state) noexcept {
    state.fading.drawn = state.fading.rows;
    if (!(state.fading.total > 0.0)) return;
    draw_line(state);
    state.knots.draw(state.fading.gain);
}

// One more row: its score and variance before the model learned from it, and its label. A weight of 0 changes nothing.
inline void learn(Calibration& state, double score, double variance, bool positive, double weight) noexcept {
    if (!(weight > 0.0)) return;
    const Signals z = signals(state, score, variance);
    const double u = line_at(state, z);
    const auto [p, spread] = chance(u);
    const double w = state.fading.enter(weight);
    state.units.square[0] += w * z.noisy * z.noisy;
    state.units.square[1] += w * z.sure * z.sure;

    const double bend = w * spread;
    state.curvature[0] += bend * z.noisy * z.noisy;
    state.curvature[1] += bend * z.noisy * z.sure;
    state.curvature[2] += bend * z.sure * z.sure;
    state.curvature[3] += bend * z.noisy;
    state.curvature[4] += bend * z.sure;
    state.curvature[5] += bend;
    const double force = bend * u + w * ((positive ? 1.0 : 0.0) - p);
    state.pull[0] += force * z.noisy;
    state.pull[1] += force * z.sure;
    state.pull[2] += force;
    state.knots.see(place(u), w, p, positive);

    if (state.fading.gain > kLargestGain) settle(state);
    if (state.fading.is_due()) draw(state);
}

// P(+1); never 0 and never 1.
inline double probability(const Calibration& state, double score, double variance) noexcept {
    return chance(state.knots.shifted(line_at(state, signals(state, score, variance)))).p;
}

// As if the rows that `other` learned from had come between one's own.
inline void add(Calibration& state, Calibration other) noexcept {
    if (!(other.fading.rows > 0.0)) return;
    if (!(state.fading.rows > 0.0)) {
        state = other;
        return;
    }
    settle(state);
    settle(other);
    state.fading.add(other.fading);
    state.units.square.add(other.units.square);
    state.curvature.add(other.curvature);
    state.pull.add(other.pull);
    state.knots.add(other.knots);
    draw(state);
}

// Let everything so far count for so much of what it did, and for so many rows.
inline void thin(Calibration& state, double part, double rows) noexcept {
    state.fading.thin(part, rows);
    scale(state, part);
    draw(state);
}

// P(-1) for P(+1), with scores of the other sign.
inline void mirror(Calibration& state) noexcept {
    for (double* odd : {&state.curvature[3], &state.curvature[4], &state.pull[2], &state.line[2]}) *odd = -*odd;
    state.knots = state.knots.mirrored();
}

}  // namespace calibration
}  // namespace scwlearn
