// The loops that scale rows by running statistics of each feature. Compiled once per instruction set, as
// loops/row_loops.cpp is. A row gives the same bits whether it is dense or sparse.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/rows.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// A Number is a double or a register of them.
template <class Number>
Number number(double value) noexcept {
    return value - Number{};
}

inline double root_of(double x) noexcept { return std::sqrt(x); }

inline Vector root_of(Vector x) noexcept {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
}

template <class Number>
Number size_of(Number x) noexcept {
    return x < 0.0 ? -x : x;
}

template <class Number>
Number clipped(Number x, double limit) noexcept {
    const Number high = number<Number>(limit);
    return x > high ? high : x < -high ? -high : x;
}

// Standardised values are clipped at this many deviations (docs/scaling.md has the measurements).
constexpr double kMostDeviations = 3.0;
// A deviation below this part of the mean is rounding.
constexpr double kRounding = 0x1p-40;

// The statistics of a feature's nonzero values so far, all 0 for a feature never seen. Nothing overflows for values that
// passed the scan, in any order, because only ratios are squared; values that are all 2^k times as large give the same
// bits.

// The root mean square of the values and their count.
template <class Number>
struct Size {
    Number scale, count;

    void add(Number x) noexcept {
        const Number size = size_of(x);
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
        return clipped(x / (scale == 0.0 ? number<Number>(1.0) : scale), kLargestValue);
    }
};

// The deviation, count and mean of the values; `rows` counts the zeros too.
template <class Number>
struct Moments {
    Number deviation, count, mean;

    void add(Number x) noexcept {
        const Number now = count + 1.0, from = x - mean, size = size_of(from);
        const Number most = size > deviation ? size : deviation;
        const Number by = most == 0.0 ? number<Number>(1.0) : most;
        const Number before = deviation / by, change = from / by;
        const Number square = count / now * (before * before + change * change / now);
        const auto zero = x == 0.0;
        deviation = zero ? deviation : most * root_of(square);
        mean = zero ? mean : mean + from / now;
        count = zero ? count : now;
    }

    auto dense(double rows) const noexcept { return (count > 0.0) & (2.0 * count >= rows); }

    // A dense value is centred and divided by the deviation, both over all rows; another one is divided by the root mean
    // square of the nonzero values, and one of a feature never seen stays as it is.
    Number scaled(Number x, double rows) const noexcept {
        const Number one = number<Number>(1.0), none{};
        const auto whole = dense(rows);
        const Number share = whole ? count / rows : one;
        const Number size = size_of(mean), most = size > deviation ? size : deviation;
        const Number by = most == 0.0 ? one : most;
        const Number a = deviation / by, b = mean / by;
        const Number square = whole ? share * (a * a + (1.0 - share) * (b * b)) : a * a + b * b;
        const Number divisor = by * root_of(square), centre = whole ? share * mean : none;
        const Number distance = (x - centre) / (divisor == 0.0 ? one : divisor);
        const auto constant = whole & (divisor <= kRounding * size_of(centre));
        return clipped(constant ? none : distance, kMostDeviations);
    }
};

// Divides a row by its length. The squares are added in turn, so that zeros in between do not change a bit.
void to_unit_length(double* x, std::int64_t count) noexcept {
    double most = 0.0;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
    if (most == 0.0) return;
    // A power of two that keeps the squares in range.
    const double by = most > 1e100 || most < 1e-100 ? std::ldexp(1.0, std::min(1000, -std::ilogb(most))) : 1.0;
    double squares = 0.0;
    for (std::int64_t i = 0; i < count; ++i) squares += (x[i] * by) * (x[i] * by);
    const double length = std::sqrt(squares);
    for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * by / length;
}

template <bool kLearn>
using States = std::conditional_t<kLearn, double, const double>*;

// kRms and kUnit. If kLearn, each value updates its scale before it is scaled.
template <bool kLearn>
class Sizes {
public:
    explicit Sizes(States<kLearn> states) noexcept : states_(states) {}

    // `to` may be where the values are.
    template <class Value>
    void scale(const DenseRow<Value>& row, double* to) const noexcept {
        const Value* const values = row.values();
        std::int64_t i = 0;
        for (; i + kWidth <= row.width(); i += kWidth) {
            const Pairs pairs = load_pairs(states_ + 2 * i);
            Size<Vector> seen{pairs.first, pairs.second};
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
                Size<Vector> seen{pairs.first, pairs.second};
                store(to, take(seen, x));
                to += kWidth;
                if constexpr (kLearn) scatter_pairs(states_, at, {seen.scale, seen.count});
            },
            [this, &to](std::int64_t i, double x) { *to++ = scale_one(i, x); });
    }

private:
    template <class Number>
    static Number take(Size<Number>& seen, Number x) noexcept {
        if constexpr (kLearn) seen.add(x);
        return seen.scaled(x);
    }

    double scale_one(std::int64_t i, double x) const noexcept {
        Size<double> seen{states_[2 * i], states_[2 * i + 1]};
        const double result = take(seen, x);
        if constexpr (kLearn) {
            states_[2 * i] = seen.scale;
            states_[2 * i + 1] = seen.count;
        }
        return result;
    }

    States<kLearn> states_;
};

// kStandard. If kLearn, each row updates the statistics before it is scaled.
template <bool kLearn>
class Standard {
public:
    Standard(States<kLearn> states, std::int64_t width) noexcept
        : whole_(states), features_(states + kLine), width_(width) {}

    std::int64_t dense_features() const noexcept { return added_features(kStandard, whole_, width_); }

    // The list of dense features has to be renewed after all dense rows.
    template <class Value>
    void scale(const DenseRow<Value>& row, double* to) const noexcept {
        count_row();
        const Value* const values = row.values();
        std::int64_t i = 0;
        for (; i + kWidth <= width_; i += kWidth) {
            std::int64_t at[kWidth];
            for (std::int64_t lane = 0; lane < kWidth; ++lane) at[lane] = i + lane;
            Moments<Vector> seen = gather(at);
            store(to + i, take(seen, load(values + i)));
            if constexpr (kLearn) scatter(at, seen);
        }
        for (; i < width_; ++i) {
            Moments<double> seen = at(i);
            to[i] = take(seen, static_cast<double>(values[i]));
            if constexpr (kLearn) put(i, seen);
        }
    }

    // Returns the number of features of the scaled row, which has no zeros. There must be room for those of the row and
    // the first `dense` ones of the list, all if no other thread learns.
    template <class Value, class Index>
    std::int64_t scale(const SparseRow<Value, Index>& row, std::int64_t dense, double* values,
                       std::int64_t* indices) const noexcept {
        const std::int64_t count = unite(row, dense, values, indices);
        count_row();
        [[maybe_unused]] std::int64_t listed = 0;
        std::int64_t kept = 0, k = 0;
        const auto keep = [&](std::int64_t i, double z, [[maybe_unused]] bool is_dense) {
            if constexpr (kLearn)
                if (is_dense) list(listed++, i);
            values[kept] = z;
            indices[kept] = i;
            kept += z != 0.0;
        };
        for (; k + kWidth <= count; k += kWidth) {
            std::int64_t at[kWidth];
            std::copy(indices + k, indices + k + kWidth, at);
            Moments<Vector> seen = gather(at);
            const Vector z = take(seen, load(values + k));
            if constexpr (kLearn) scatter(at, seen);
            const auto are_dense = seen.dense(rows());
            for (std::int64_t lane = 0; lane < kWidth; ++lane) keep(at[lane], z[lane], are_dense[lane] != 0);
        }
        for (; k < count; ++k) {
            const std::int64_t i = indices[k];
            Moments<double> seen = at(i);
            const double z = take(seen, values[k]);
            if constexpr (kLearn) put(i, seen);
            keep(i, z, seen.dense(rows()));
        }
        if constexpr (kLearn) end_list(listed);
        return kept;
    }

    void list_dense() const noexcept {
        std::int64_t listed = 0;
        for (std::int64_t i = 0; i < width_; ++i)
            if (at(i).dense(rows())) list(listed++, i);
        end_list(listed);
    }

private:
    double rows() const noexcept { return whole_[0]; }

    void count_row() const noexcept {
        if constexpr (kLearn) whole_[0] += 1.0;
    }

    template <class Number>
    Number take(Moments<Number>& seen, Number x) const noexcept {
        if constexpr (kLearn) seen.add(x);
        return seen.scaled(x, rows());
    }

    // Writes the features of the row and the dense ones that it lacks, in order.
    template <class Row>
    std::int64_t unite(const Row& row, std::int64_t listed, double* values, std::int64_t* indices) const noexcept {
        std::int64_t count = 0, k = 0;
        const auto put = [&](std::int64_t i, double x) {
            values[count] = x;
            indices[count++] = i;
        };
        row.each([&](std::int64_t i, double x) {
            for (; k < listed && dense_feature(k) < i; ++k) put(dense_feature(k), 0.0);
            if (k < listed && dense_feature(k) == i) ++k;
            put(i, x);
        });
        for (; k < listed; ++k) put(dense_feature(k), 0.0);
        return count;
    }

    // In range, whatever the memory holds, which belongs to Python.
    std::int64_t dense_feature(std::int64_t k) const noexcept {
        const double feature = features_[kLine * k + 3];
        return feature >= 0.0 && feature < static_cast<double>(width_) ? static_cast<std::int64_t>(feature) : 0;
    }

    void list(std::int64_t k, std::int64_t feature) const noexcept {
        if (k < width_) features_[kLine * k + 3] = static_cast<double>(feature);
    }

    // Equal scales have equal bits: no entries of an earlier list are left behind.
    void end_list(std::int64_t count) const noexcept {
        for (std::int64_t k = count; k < dense_features(); ++k) list(k, 0);
        whole_[1] = static_cast<double>(count);
    }

    Moments<double> at(std::int64_t i) const noexcept {
        const double* const line = features_ + kLine * i;
        return {line[0], line[1], line[2]};
    }

    void put(std::int64_t i, const Moments<double>& seen) const noexcept {
        double* const line = features_ + kLine * i;
        line[0] = seen.deviation;
        line[1] = seen.count;
        line[2] = seen.mean;
    }

    Moments<Vector> gather(const std::int64_t* features) const noexcept {
        Moments<Vector> seen;
        for (std::int64_t lane = 0; lane < kWidth; ++lane) {
            const Moments<double> one = at(features[lane]);
            seen.deviation[lane] = one.deviation;
            seen.count[lane] = one.count;
            seen.mean[lane] = one.mean;
        }
        return seen;
    }

    void scatter(const std::int64_t* features, const Moments<Vector>& seen) const noexcept {
        for (std::int64_t lane = 0; lane < kWidth; ++lane)
            put(features[lane], {seen.deviation[lane], seen.count[lane], seen.mean[lane]});
    }

    States<kLearn> whole_;
    States<kLearn> features_;
    std::int64_t width_;
};

// The scaled values of a row have the same offset as its values.
template <class RowSet, class Row>
double* place_of(const RowSet& rows, const Row& row, double* scaled) noexcept {
    return scaled + (row.values() - static_cast<decltype(row.values())>(rows.rows.values));
}

template <bool kLearn, class RowSet>
std::int64_t scale_by_size(ScaleKind kind, States<kLearn> states, const RowSet& rows, std::int64_t first,
                           const double* weights, const ScaledRows& to) noexcept {
    const Sizes<kLearn> sizes(states);
    const Sizes<false> as_they_are(states);
    for (std::int64_t i = first; i < rows.rows.count; ++i) {
        const auto row = rows[i];
        double* const values = place_of(rows, row, to.values);
        if (weights != nullptr && weights[i] == 0.0)
            as_they_are.scale(row, values);
        else
            sizes.scale(row, values);
        if (kind == kUnit) to_unit_length(values, row.count());
    }
    return rows.rows.count;
}

template <bool kLearn, class RowSet>
std::int64_t standardize(States<kLearn> states, const RowSet& rows, std::int64_t first, const double* weights,
                         const ScaledRows& to) noexcept {
    const Standard<kLearn> standard(states, rows.rows.width);
    const Standard<false> as_it_is(states, rows.rows.width);
    for (std::int64_t i = first; i < rows.rows.count; ++i) {
        const auto row = rows[i];
        const bool skipped = weights != nullptr && weights[i] == 0.0;
        if constexpr (RowSet::kSparse) {
            const std::int64_t begin = to.offsets[i], dense = standard.dense_features();
            if (row.count() + dense > to.room - begin) return i;
            double* const values = to.values + begin;
            std::int64_t* const indices = to.indices + begin;
            to.offsets[i + 1] = begin + (skipped ? as_it_is.scale(row, dense, values, indices)
                                                 : standard.scale(row, dense, values, indices));
        } else if (skipped) {
            as_it_is.scale(row, place_of(rows, row, to.values));
        } else {
            standard.scale(row, place_of(rows, row, to.values));
        }
    }
    if constexpr (kLearn && !RowSet::kSparse) standard.list_dense();
    return rows.rows.count;
}

template <class RowSet>
struct LearnOver {
    static std::int64_t run(ScaleKind kind, double* states, const Rows& untyped, std::int64_t first, const double* weights,
                            const ScaledRows& to) {
        const RowSet rows{untyped};
        return kind == kStandard ? standardize<true>(states, rows, first, weights, to)
                                 : scale_by_size<true>(kind, states, rows, first, weights, to);
    }
};

template <class RowSet>
struct ApplyOver {
    static std::int64_t run(ScaleKind kind, const double* states, const Rows& untyped, std::int64_t first,
                            const ScaledRows& to) {
        const RowSet rows{untyped};
        return kind == kStandard ? standardize<false>(states, rows, first, nullptr, to)
                                 : scale_by_size<false>(kind, states, rows, first, nullptr, to);
    }
};

}  // namespace

extern constinit const ScaleLoops scale_loops{over_rows<LearnOver, LearnScales>(), over_rows<ApplyOver, ApplyScales>()};

}  // namespace scwlearn::SCWLEARN_SET
