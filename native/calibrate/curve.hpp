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

// A Number is a double or a register of them.
template <class Number>
concept Register = !std::is_arithmetic_v<Number>;

// x, but no further than `limit` from 0.
template <class Number>
Number clipped(Number x, double limit) noexcept {
    // The compiler knows that x - 0 is x.
    const Number least = -limit - Number{}, most = limit - Number{};
    const Number above = x < least ? least : x;
    return above > most ? most : above;
}

// The whole number below x, which is from 0 to 2^31.
template <class Number>
Number whole_below(Number x) noexcept {
    if constexpr (Register<Number>) {
        // From 2^52 on, numbers have no digits after the point.
        const Number nearest = x + 0x1p52 - 0x1p52;
        return nearest > x ? nearest - 1.0 : nearest;
    } else {
        return static_cast<int>(x);
    }
}

// A logit between two knots: weight `near` on the first, which is a whole number, the rest on the next.
template <class Number>
struct Place {
    Number knot, near;
};

template <class Number>
inline Place<Number> place(Number u) noexcept {
    constexpr double kLast = kKnots - 1;
    const Number at = u / kKnotStep + static_cast<double>(kKnots / 2);
    // NaN compares false, so that not even the state of a corrupt file leads outside the knots.
    const Number below = at < kLast ? at : kLast - Number{}, inside = at > 0.0 ? below : Number{};
    const Number whole = whole_below(inside), knot = whole < kLast - 1.0 ? whole : kLast - 1.0 - Number{};
    return {knot, 1.0 - (inside - knot)};
}

// What a row adds to the sums of its knot and of the next.
template <class Number>
struct Shares {
    Number seen[2], expected[2], positive[2];
};

// `target` is 1 for a positive row, else 0.
template <class Number>
Shares<Number> shares_of(Number near, Number w, Number p, Number target) noexcept {
    const Number first = w * near, next = w * (1.0 - near);
    return {{first, next}, {first * p, next * p}, {first * target, next * target}};
}

inline constexpr double knot_at(int knot) noexcept { return (knot - kKnots / 2) * kKnotStep; }

// Observations near each knot, and the correction of the line there.
struct Knots {
    Sums<kKnots> seen, positive, expected;  // weight of all rows, of positive rows, and sum of P
    double shift[kKnots];

    void see(Place<double> at, double w, double p, double target) noexcept {
        add(static_cast<int>(at.knot), shares_of(at.near, w, p, target));
    }
    // Always inlined: every instruction set has its own code.
    [[gnu::always_inline]] void add(int knot, const Shares<double>& shares) noexcept {
        for (int side = 0; side < 2; ++side) seen.of[knot + side] += shares.seen[side];
        for (int side = 0; side < 2; ++side) expected.of[knot + side] += shares.expected[side];
        for (int side = 0; side < 2; ++side) positive.of[knot + side] += shares.positive[side];
    }

    // The log-odds of a logit, given its place.
    double shifted(double u, Place<double> at) const noexcept {
        const int knot = static_cast<int>(at.knot);
        const double near = at.near;
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

// 1/(1 + exp(-u)) and its derivative, given exp(-|u|).
template <class Number>
struct Sigmoid {
    Number p, spread;
};

template <class Number>
Sigmoid<Number> sigmoid(Number u, Number e) noexcept {
    const Number q = 1.0 / (1.0 + e);
    return {u >= 0.0 ? q : e * q, e * q * q};
}
template <class Number>
Sigmoid<Number> sigmoid(Number u) noexcept {
    return sigmoid(u, exp_of(-size_of(u)));
}

// Functions of a row are declared inline because they are larger than what the compiler inlines by itself.

// The line of a binary curve, and the limits of its signals.
struct Line {
    double slopes[2], constant, limits[2];
};

// What a binary curve computes from a score: both signals, and the linear predictor with its place among the knots.
template <class Number>
struct Look {
    Number noisy, sure, line;
    Place<Number> at;
};

template <class Number>
inline Look<Number> look_at(const Line& line, Number score, Number variance) noexcept {
    const Number z = clipped(noisy(score, variance), line.limits[0]);
    const Number zz = clipped(sure(score, root_of(variance)), line.limits[1]);
    const Number u = clipped(line.slopes[0] * z + line.slopes[1] * zz + line.constant, kLargestLogit);
    return {z, zz, u, place(u)};
}

// What a row adds to the sums of the line, in the order of `line_sums`.
inline constexpr int kLineSums = 11;

template <class Number>
struct LineTerms {
    Number of[kLineSums];
};

template <class Number>
inline LineTerms<Number> terms_of(Number noisy, Number sure, Number line, const Sigmoid<Number>& at_line, Number w,
                           Number target) noexcept {
    const Number bend = w * at_line.spread, force = bend * line + w * (target - at_line.p);
    return {{w * noisy * noisy, w * sure * sure,                                      // squares
             bend * noisy * noisy, bend * noisy * sure, bend * sure * sure,           // curvature
             force * noisy, force * sure, bend, bend * noisy, bend * sure, force}};  // pull, and what the constant has
}

}  // namespace calibration
}  // namespace scwlearn
