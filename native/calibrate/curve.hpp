// Parts of the calibration curve (calibrate/calibration.hpp): fading weights, the two signals of a score, the line
// through them and its correction at knots. Plain data and scalar functions; nothing throws or allocates.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace scwlearn {

namespace calibration {

// These constants were tuned on data; results depend little on them.

// Weight of a row: (rows + kSlowStart)^kFading. Two thirds of the weight lies in the last third of the stream, because
// the scores of a young model say little about those of the model it became.
inline constexpr double kFading = 2.0;
inline constexpr double kSlowStart = 100.0;
// The curve is refitted when the stream has grown by this fraction.
inline constexpr double kPartOfStream = 1.0 / 16.0;
// Prior: a slope of kSlope for a signal of typical size, with the weight of kPrior rows; at each knot, kPriorAtKnot
// rows of either class that agree with the line.
inline constexpr double kPrior = 1.0;
inline constexpr double kSlope = 0.5;
inline constexpr double kPriorAtKnot = 4.0;
// Signals are clipped at this multiple of their typical size, and scores at this many standard deviations; otherwise a
// diverging model would dominate the sums.
inline constexpr double kLargestSignal = 5.0;
inline constexpr double kMostDeviations = 8.0;
// Bound on the log-odds of a probability.
inline constexpr double kLargestLogit = 30.0;
// Number and spacing of the knots: logits from -8 to 8.
inline constexpr int kKnots = 33;
inline constexpr double kKnotStep = 0.5;
// Bounds that keep everything computed from them finite.
inline constexpr double kNoLimit = 1e60;
inline constexpr double kLeastSignal = 1e-60;
inline constexpr double kLargestGain = 1e60;
inline constexpr double kLargestWeight = 1e30;
// Smallest prior relative to the weight of all rows, so that rounding cannot lose it.
inline constexpr double kRounding = 1e-9;

// Weights of rows. `gain` grows from row to row, so that older rows fade in every sum without touching the sums.
struct Fading {
    double window;  // rows fade as if the stream were never longer than this
    double rows;    // number learned from
    double drawn;   // `rows` when the curve was last refitted
    double weight;  // sum of the sample weights; sets the rate of fading
    double gain;    // weight of the last row
    double total;   // weight of all rows

    void start(double length) noexcept { *this = {length, 0.0, 0.0, 0.0, 1.0, 0.0}; }

    // Adds a row; returns its weight in the sums.
    double enter(double given) noexcept {
        const double counts = std::min(given, kLargestWeight);
        gain *= 1.0 + kFading * counts / (std::min(weight, window) + kSlowStart);
        rows += 1.0;
        weight += counts;
        total += counts * gain;
        return counts * gain;
    }

    bool is_due() const noexcept { return rows - drawn >= rows_per_drawing(); }
    // A lower bound on the number of rows after which it is due.
    double rows_until_due() const noexcept { return rows_per_drawing() - (rows - drawn); }
    double rows_per_drawing() const noexcept {
        return std::clamp(rows * kPartOfStream, 1.0, std::max(1.0, window * kPartOfStream));
    }

    // Rescales so that the last row has weight 1; returns the factor for every sum.
    double settle() noexcept {
        const double part = 1.0 / gain;
        gain = 1.0;
        total *= part;
        return part;
    }

    // Parts learned separately fade like the longest of them: the scores of a merged model differ slightly from those
    // of its parts.
    void add(const Fading& other) noexcept {
        window = std::max(window, other.window);
        rows += other.rows;
        weight = std::max(weight, other.weight);
        total += other.total;
    }

    void thin(double part, double learned_from) noexcept {
        total *= part;
        rows = learned_from;
    }

    double prior() const noexcept { return kPrior + kRounding * total / gain; }
};

// Sums that fade together.
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

// Differences below this are rounding errors.
inline constexpr double kLevel = 0x1p-40;

// A logit between two knots: weight `near` on the first, the rest on the next.
struct Place {
    int knot;
    double near;
};

inline Place place(double u) noexcept {
    const double at = u / kKnotStep + kKnots / 2;
    // NaN compares false, so that not even the state of a corrupt file leads outside the knots.
    const double inside = at > 0.0 ? std::min(at, static_cast<double>(kKnots - 1)) : 0.0;
    const int knot = std::min(static_cast<int>(inside), kKnots - 2);
    return {knot, 1.0 - (inside - knot)};
}

inline constexpr double knot_at(int knot) noexcept { return (knot - kKnots / 2) * kKnotStep; }

// Observations near each knot, and the correction of the line there.
struct Knots {
    Sums<kKnots> seen, positive, expected;  // weight of all rows, of positive rows, and sum of P
    double shift[kKnots];

    // `target` is 1 for a positive row, else 0.
    void see(Place at, double w, double p, double target) noexcept {
        const double shares[] = {w * at.near, w * (1.0 - at.near)};
        for (int side = 0; side < 2; ++side) {
            seen[at.knot + side] += shares[side];
            expected[at.knot + side] += shares[side] * p;
            positive[at.knot + side] += shares[side] * target;
        }
    }

    // The log-odds of a logit, given its place.
    double shifted(double u, Place at) const noexcept {
        const auto [knot, near] = at;
        const double low = knot_at(knot) + shift[knot], high = knot_at(knot + 1) + shift[knot + 1];
        double moved = u + near * shift[knot] + (1.0 - near) * shift[knot + 1];
        // On a level piece, rounding must not separate equal values.
        if (high - low < kLevel && near > 0.0 && near < 1.0) moved = std::round(low / kLevel) * kLevel;
        return std::clamp(moved, -kLargestLogit, kLargestLogit);
    }

    void scale(double part) noexcept {
        seen.scale(part);
        positive.scale(part);
        expected.scale(part);
    }

    // Returns the knots of the other class.
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

    // Refits the shifts: at each knot the difference between observed and expected log-odds, then the nearest
    // non-decreasing curve, by pooling neighbours.
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

// Typical size of the two signals, which makes the curve independent of the scale of the scores, and their clipping.
struct Units {
    Sums<2> square;
    double limit[2];

    // Computes 1/size of each signal, 0 for one never seen, and the limits.
    void draw(double total, double* unit) noexcept {
        for (int i = 0; i < 2; ++i) {
            const double usual = std::sqrt(square[i] / total);
            unit[i] = usual > kLeastSignal ? 1.0 / usual : 0.0;
            limit[i] = usual > kLeastSignal ? std::min(kLargestSignal * usual, kNoLimit) : kNoLimit;
        }
    }
};

// Returns the non-negative minimiser of h00 a^2/2 + h01 a b + h11 b^2/2 - top_0 a - top_1 b. Both h00 and h11 are at
// least `floor`, up to rounding.
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
    // Otherwise the minimum lies on one of the two edges.
    const double only_a = std::max(0.0, top_0), only_b = std::max(0.0, top_1);
    if (only_a * (only_a / h00) >= only_b * (only_b / h11)) return {only_a / h00, 0.0};
    return {0.0, only_b / h11};
}

// A Number is a double or a register of them.
template <class Number>
concept Register = !std::is_arithmetic_v<Number>;

template <class Number>
Number root_of(Number x) noexcept {
    if constexpr (Register<Number>) {
        for (std::size_t lane = 0; lane < sizeof x / sizeof(double); ++lane) x[lane] = std::sqrt(x[lane]);
        return x;
    } else {
        return std::sqrt(x);
    }
}

template <class Number>
Number size_of(Number x) noexcept {
    return x < 0.0 ? -x : x;
}

// f/sqrt(1 + v): the score relative to noise of variance 1 plus its own. f/sqrt(v), bent to stay below 8: the number of
// its own standard deviations from 0.
template <class Number>
Number noisy(Number score, Number variance) noexcept {
    return score / root_of(1.0 + variance);
}
template <class Number>
Number sure(Number score, Number deviation) noexcept {
    return score == 0.0 ? Number{} : score / (deviation + size_of(score) / kMostDeviations);
}

// exp(x) for x <= 0, within 2 units in the last place; 0 below -700. Registers of any width give the same bits, but not
// those of std::exp, which depend on the C library.
template <Register Number>
Number exp_of(Number x) noexcept {
    // x = k log(2) + r; adding 1.5 * 2^52 rounds k to an integer, in the last bits of the sum.
    constexpr double kShift = 0x1.8p52, kLog2Head = 0x1.62e42feep-1, kLog2Tail = 0x1.a39ef35793c76p-33;
    const Number inside = x < -700.0 ? Number{} - 700.0 : x;
    const Number shifted = inside * 1.4426950408889634 + kShift, k = shifted - kShift;
    const Number r = inside - k * kLog2Head - k * kLog2Tail;
    // exp(r) by its Taylor series up to r^13/13!.
    constexpr double kFactorials[] = {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                      720.0,        120.0,       24.0,       6.0,       2.0,      1.0,     1.0};
    Number sum{};
    for (const double factorial : kFactorials) sum = sum * r + 1.0 / factorial;
    using Bits = decltype(x < x);
    const Number power = std::bit_cast<Number>((std::bit_cast<Bits>(shifted) + 1023) << 52);
    return x < -700.0 ? Number{} : sum * power;
}
inline double exp_of(double x) noexcept { return std::exp(x); }

// 1/(1 + exp(-u)) and its derivative.
template <class Number>
struct Sigmoid {
    Number p, spread;
};

template <class Number>
Sigmoid<Number> sigmoid(Number u) noexcept {
    const Number e = exp_of(-size_of(u));
    const Number q = 1.0 / (1.0 + e);
    return {u >= 0.0 ? q : e * q, e * q * q};
}

}  // namespace calibration
}  // namespace scwlearn
