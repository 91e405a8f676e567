// What the curves from scores to probabilities are made of, for two classes (calibrate/calibration.hpp) and more
// (calibrate/class_calibration.hpp): how rows fade, the signals of a score, the line through them and its correction at knots.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace scwlearn {

namespace calibration {

// The choices below were measured; none of them is sharp.

// Rows count like (rows + kSlowStart)^kFading: two thirds of what counts is the last third of a stream, because a young
// model's scores say little about those of the model that it became.
inline constexpr double kFading = 2.0;
inline constexpr double kSlowStart = 100.0;
// The curve is drawn anew when the stream is longer by this part.
inline constexpr double kPartOfStream = 1.0 / 16.0;
// Before the first row: a line with a slope of kSlope for a signal of the usual size counts as much as a few rows. At a
// knot, so many rows of either class agree with the line.
inline constexpr double kPrior = 1.0;
inline constexpr double kSlope = 0.5;
inline constexpr double kPriorAtKnot = 4.0;
// Signals count up to so many times their usual size, and scores up to so many standard deviations: models that
// diverge would otherwise have all the say.
inline constexpr double kLargestSignal = 5.0;
inline constexpr double kMostDeviations = 8.0;
// No probability is closer to 0 or 1 than this says.
inline constexpr double kLargestLogit = 30.0;
// The curve is corrected at so many places, so far apart: from -8 to 8.
inline constexpr int kKnots = 33;
inline constexpr double kKnotStep = 0.5;
// What is computed from these stays finite.
inline constexpr double kNoLimit = 1e60;
inline constexpr double kLeastSignal = 1e-60;
inline constexpr double kLargestGain = 1e60;
inline constexpr double kLargestWeight = 1e30;
// What is left of a prior that rounding would swallow, as a part of what the rows count.
inline constexpr double kRounding = 1e-9;

// How much each row counts. `gain` grows from row to row: older rows fade in all sums without their being touched.
struct Fading {
    double window;  // older rows fade as if the stream were never longer than this
    double rows;    // learned from
    double drawn;   // how many they were when the curve was last drawn
    double weight;  // of all rows, which is how fast they fade
    double gain;    // what the last row counts
    double total;   // what all rows count

    void start(double length) noexcept { *this = {length, 0.0, 0.0, 0.0, 1.0, 0.0}; }

    // What the next row counts.
    double enter(double given) noexcept {
        const double counts = std::min(given, kLargestWeight);
        gain *= 1.0 + kFading * counts / (std::min(weight, window) + kSlowStart);
        rows += 1.0;
        weight += counts;
        total += counts * gain;
        return counts * gain;
    }

    bool is_due() const noexcept {
        return rows - drawn >= std::clamp(rows * kPartOfStream, 1.0, std::max(1.0, window * kPartOfStream));
    }

    // Makes the last row count 1; what every sum is to be multiplied by.
    double settle() noexcept {
        const double part = 1.0 / gain;
        gain = 1.0;
        total *= part;
        return part;
    }

    // What was learned apart fades as if it had been no longer than the longest part: the scores of a model merged from
    // others are not quite theirs.
    void add(const Fading& other) noexcept {
        window = std::max(window, other.window);
        rows += other.rows;
        weight = std::max(weight, other.weight);
        total += other.total;
    }

    // What came before, in so many rows, counts for so much of what it did.
    void thin(double part, double learned_from) noexcept {
        total *= part;
        rows = learned_from;
    }

    double prior() const noexcept { return kPrior + kRounding * total / gain; }
};

// Sums side by side, which fade together.
template <int kCount>
struct Sums {
    double of[kCount];

    double& operator[](int i) noexcept { return of[i]; }
    double operator[](int i) const noexcept { return of[i]; }
    void scale(double part) noexcept {
        for (double& sum : of) sum *= part;
    }
    void add(const Sums& other) noexcept {
        for (int i = 0; i < kCount; ++i) of[i] += other.of[i];
    }
};

// What differs by less is the same but for rounding.
inline constexpr double kLevel = 0x1p-40;

// Where a logit lies between two knots: on the first by `near`, on the next by the rest.
struct Place {
    int knot;
    double near;
};

inline Place place(double u) noexcept {
    const double at = u / kKnotStep + kKnots / 2;
    // No state, not even one of a broken file, leads to a knot that is none: what is not a number compares false.
    const double inside = at > 0.0 ? std::min(at, static_cast<double>(kKnots - 1)) : 0.0;
    const int knot = std::min(static_cast<int>(inside), kKnots - 2);
    return {knot, 1.0 - (inside - knot)};
}

inline constexpr double knot_at(int knot) noexcept { return (knot - kKnots / 2) * kKnotStep; }

// What was seen near each knot, and by how much the line is corrected there.
struct Knots {
    Sums<kKnots> seen, positive, expected;  // what rows count, those of the class, and their sum of P
    double shift[kKnots];

    void see(Place at, double w, double p, bool is_positive) noexcept {
        const double shares[] = {w * at.near, w * (1.0 - at.near)};
        for (int side = 0; side < 2; ++side) {
            seen[at.knot + side] += shares[side];
            expected[at.knot + side] += shares[side] * p;
            if (is_positive) positive[at.knot + side] += shares[side];
        }
    }

    double shifted(double u) const noexcept {
        const auto [knot, near] = place(u);
        const double low = knot_at(knot) + shift[knot], high = knot_at(knot + 1) + shift[knot + 1];
        double moved = u + near * shift[knot] + (1.0 - near) * shift[knot + 1];
        // Where the curve is level, rounding is not to tell apart what is the same.
        if (high - low < kLevel && near > 0.0 && near < 1.0) moved = std::round(low / kLevel) * kLevel;
        return std::clamp(moved, -kLargestLogit, kLargestLogit);
    }

    void scale(double part) noexcept {
        seen.scale(part);
        positive.scale(part);
        expected.scale(part);
    }

    // What they are of the other class.
    Knots mirrored() const noexcept {
        Knots other{};
        for (int k = 0; k < kKnots; ++k) {
            const int mirror = kKnots - 1 - k;
            other.seen[k] = seen[mirror];
            other.positive[k] = seen[mirror] - positive[mirror];
            other.expected[k] = seen[mirror] - expected[mirror];
            other.shift[k] = -shift[mirror];
        }
        return other;
    }

    void add(const Knots& other) noexcept {
        seen.add(other.seen);
        positive.add(other.positive);
        expected.add(other.expected);
    }

    // At each knot, by how much the log-odds of what was seen differ from those that the line had expected; then the
    // nearest curve that never falls, by pooling neighbours.
    void draw(double gain) noexcept {
        struct Pool {
            double height, mass;
            int knots;
        };
        Pool pools[kKnots];
        int count = 0;
        const double prior = kPriorAtKnot * gain;
        for (int k = 0; k < kKnots; ++k) {
            const double odds = (positive[k] + prior) / (seen[k] - positive[k] + prior);
            const double expects = (expected[k] + prior) / (seen[k] - expected[k] + prior);
            const double mass = (seen[k] > 0.0 ? expected[k] * (1.0 - expected[k] / seen[k]) : 0.0) + prior;
            pools[count++] = {knot_at(k) + std::log(odds / expects), mass, 1};
            for (; count > 1 && pools[count - 2].height > pools[count - 1].height; --count) {
                Pool& into = pools[count - 2];
                const Pool& from = pools[count - 1];
                const double both = into.mass + from.mass;
                into.height = (into.height * into.mass + from.height * from.mass) / both;
                into.mass = both;
                into.knots += from.knots;
            }
        }
        int k = 0;
        for (int pool = 0; pool < count; ++pool)
            for (int i = 0; i < pools[pool].knots; ++i, ++k) shift[k] = pools[pool].height - knot_at(k);
    }
};

// The usual size of the two signals, for scores on any scale to be treated alike, and where they are cut off.
struct Units {
    Sums<2> square;
    double limit[2];

    // 1/usual, or 0 for a signal that has not been seen.
    void draw(double total, double* unit) noexcept {
        for (int i = 0; i < 2; ++i) {
            const double usual = std::sqrt(square[i] / total);
            unit[i] = usual > kLeastSignal ? 1.0 / usual : 0.0;
            limit[i] = usual > kLeastSignal ? std::min(kLargestSignal * usual, kNoLimit) : kNoLimit;
        }
    }
};

// Where h00 a^2/2 + h01 a b + h11 b^2/2 - top_0 a - top_1 b is least, of what is not negative. Both h00 and h11 are at
// least `floor`, but for rounding.
struct Slopes {
    double a, b;
};

inline Slopes least(double h00, double h01, double h11, double top_0, double top_1, double floor) noexcept {
    h00 = std::max(h00, floor);
    h11 = std::max(h11, floor);
    const double determinant = h00 * h11 - h01 * h01;
    const double a = (top_0 * h11 - top_1 * h01) / determinant;
    const double b = (top_1 * h00 - top_0 * h01) / determinant;
    if (determinant > 0.0 && a >= 0.0 && b >= 0.0) return {a, b};
    // Then it lies on one of the two edges.
    const double only_a = std::max(0.0, top_0), only_b = std::max(0.0, top_1);
    if (only_a * (only_a / h00) >= only_b * (only_b / h11)) return {only_a / h00, 0.0};
    return {0.0, only_b / h11};
}

// f/sqrt(1 + v) says how a score stands out from noise of variance 1 and its own; f/sqrt(v), bent so that it stays
// below 8, how many of its own standard deviations it is from 0.
inline double noisy(double score, double variance) noexcept { return score / std::sqrt(1.0 + variance); }
inline double sure(double score, double deviation) noexcept {
    return score == 0.0 ? 0.0 : score / (deviation + std::fabs(score) / kMostDeviations);
}

// 1/(1 + exp(-u)) and its derivative.
struct Chance {
    double p, spread;
};

inline Chance chance(double u) noexcept {
    const double e = std::exp(-std::fabs(u));
    const double q = 1.0 / (1.0 + e);
    return {u >= 0.0 ? q : e * q, e * q * q};
}

}  // namespace calibration
}  // namespace scwlearn
