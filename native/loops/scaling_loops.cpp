// The loops that scale rows by a running scale per feature: the root mean square of its nonzero values so far. Compiled
// once per instruction set, as loops/row_loops.cpp is.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/rows.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

inline double root_of(double x) noexcept { return std::sqrt(x); }

inline Vector root_of(Vector x) noexcept {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
}

// The scale and the count of a feature's values so far, both 0 for a feature never seen. A Number is a double or a
// register of them. Nothing overflows for values that passed the scan, in any order; values that are all 2^k times as
// large give the same bits.
template <class Number>
struct SeenValues {
    Number scale, count;

    // Updates the scale with a value. Only the ratio of the smaller to the larger of value and scale is squared.
    void add(Number x) noexcept {
        const Number size = x < 0.0 ? -x : x;
        const auto larger = size > scale;
        const Number most = larger ? size : scale;
        const Number part = (larger ? scale : size) / most;
        const Number squares = larger ? 1.0 + count * (part * part) : count + part * part;
        const Number now = count + 1.0;
        const auto zero = x == 0.0;
        scale = zero ? scale : most * root_of(squares / now);
        count = zero ? count : now;
    }

    // Returns the scaled value. One far beyond all values seen is clipped to what rows may hold.
    Number scaled(Number x) const noexcept {
        const Number largest = kLargestValue - Number{};
        const Number by = scale == 0.0 ? 1.0 - Number{} : scale;
        const Number result = x / by;
        return result > largest ? largest : result < -largest ? -largest : result;
    }
};

// `states` holds the scale and the count of each feature side by side. If kLearn, each value updates its scale before
// it is scaled.
template <bool kLearn>
class Scales {
public:
    using States = std::conditional_t<kLearn, double, const double>*;

    explicit Scales(States states) noexcept : states_(states) {}

    // `to` may be where the values are.
    template <class Value>
    void scale(const DenseRow<Value>& row, double* to) const noexcept {
        const Value* const values = row.values();
        std::int64_t i = 0;
        for (; i + kWidth <= row.width(); i += kWidth) {
            const Pairs pairs = load_pairs(states_ + 2 * i);
            SeenValues<Vector> seen{pairs.first, pairs.second};
            const Vector x = load(values + i);
            store(to + i, take(seen, x));
            if constexpr (kLearn) store_pairs(states_ + 2 * i, {seen.scale, seen.count});
        }
        for (; i < row.width(); ++i) to[i] = scale_one(i, static_cast<double>(values[i]));
    }

    template <class Value, class Index>
    void scale(const SparseRow<Value, Index>& row, double* to) const noexcept {
        row.each_together(
            [this, &to](const std::int64_t* at, Vector x) {
                const Pairs pairs = gather_pairs(states_, at);
                SeenValues<Vector> seen{pairs.first, pairs.second};
                store(to, take(seen, x));
                to += kWidth;
                if constexpr (kLearn) scatter_pairs(states_, at, {seen.scale, seen.count});
            },
            [this, &to](std::int64_t i, double x) { *to++ = scale_one(i, x); });
    }

private:
    template <class Number>
    static Number take(SeenValues<Number>& seen, Number x) noexcept {
        if constexpr (kLearn) seen.add(x);
        return seen.scaled(x);
    }

    double scale_one(std::int64_t i, double x) const noexcept {
        SeenValues<double> seen{states_[2 * i], states_[2 * i + 1]};
        const double result = take(seen, x);
        if constexpr (kLearn) {
            states_[2 * i] = seen.scale;
            states_[2 * i + 1] = seen.count;
        }
        return result;
    }

    States states_;
};

// The scaled values of a row have the same offset as its values.
template <class RowSet, class Row>
double* place_of(const RowSet& rows, const Row& row, double* scaled) noexcept {
    return scaled + (row.values() - static_cast<decltype(row.values())>(rows.rows.values));
}

template <class RowSet>
struct LearnOver {
    static void run(const Rows& untyped, double* states, const double* weights, double* scaled) {
        const RowSet rows{untyped};
        const Scales<true> learning(states);
        const Scales<false> as_they_are(states);
        for (std::int64_t i = 0; i < untyped.count; ++i) {
            const auto row = rows[i];
            double* const to = place_of(rows, row, scaled);
            if (weights != nullptr && weights[i] == 0.0)
                as_they_are.scale(row, to);
            else
                learning.scale(row, to);
        }
    }
};

template <class RowSet>
struct ApplyOver {
    static void run(const Rows& untyped, const double* states, double* scaled) {
        const RowSet rows{untyped};
        const Scales<false> scales(states);
        for (std::int64_t i = 0; i < untyped.count; ++i) {
            const auto row = rows[i];
            scales.scale(row, place_of(rows, row, scaled));
        }
    }
};

}  // namespace

extern constinit const ScaleLoops scale_loops{over_rows<LearnOver, LearnScales>(), over_rows<ApplyOver, ApplyScales>()};

}  // namespace scwlearn::SCWLEARN_SET
