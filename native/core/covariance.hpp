// Covariances that keep at most one variance per feature (identity, diagonal): the step at one feature, and how a row
// is scored and learned from.
#pragma once

#include <limits>

#include "core/model.hpp"
#include "core/rows.hpp"
#include "core/staged_rows.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// The terms of a step that all features of a row share. A Number is a double, or a register with one model per lane.
template <class Number>
struct StepTerms {
    Number rate;   // alpha y, relative to the scale of the stored mean
    Number scale;  // of the stored variances
    Number kv, v;  // precision times variance, and the variance of the row
    Number least;  // lower bound on the stored variances
};

// Sigma = a I, never updated: first-order learning. A feature step moves the weight and the variance (here there is
// none) of one feature with value x, which is a Number, or one number for all lanes.
template <class Number>
class IdentityStep {
public:
    static constexpr CovarianceKind kKind = kIdentity;
    static constexpr bool kVariances = false;

    explicit IdentityStep(const StepTerms<Number>& terms) noexcept : rate_(terms.rate), a_(terms.scale) {}
    template <class Value>
    void operator()(Number& weight, Number&, Value x) const noexcept {
        weight = weight + rate_ * (a_ * x);
    }

private:
    Number rate_, a_;
};

// Sigma diagonal. The step for a full Sigma leaves a matrix that is not diagonal; `Shrink` says which diagonal replaces
// it: the factor for a variance s_i, given its share s_i x_i^2 of v.
template <template <class> class Shrink, class Number>
class DiagonalStep {
public:
    static constexpr CovarianceKind kKind = Shrink<double>::kKind;
    static constexpr bool kVariances = true;

    explicit DiagonalStep(const StepTerms<Number>& terms) noexcept
        : rate_(terms.rate), scale_(terms.scale), least_(terms.least), shrink_(terms.kv, terms.v) {}

    template <class Value>
    void operator()(Number& weight, Number& variance, Value x) const noexcept {
        const Number g = scale_ * (variance * x);
        const Number moved = weight + rate_ * g, shrunk = variance * shrink_(g * x);
        weight = moved;
        variance = shrunk < least_ ? least_ : shrunk;
    }

private:
    Number rate_, scale_, least_;
    Shrink<Number> shrink_;
};

// By precision: invert the diagonal of Sigma'^-1, in which 1/s_i has grown by precision x_i^2.
template <class Number>
class ByPrecision {
public:
    static constexpr CovarianceKind kKind = kDiagonal;

    ByPrecision(Number kv, Number v) noexcept : kv_(kv), of_v_(1.0 / v) {
        of_v_ = of_v_ < kLargestLook ? of_v_ : 0.0 * kv + kLargestLook;
    }
    Number operator()(Number share) const noexcept { return 1.0 / (1.0 + kv_ * (share * of_v_)); }

private:
    Number kv_, of_v_;
};

// By drop: the diagonal of Sigma', in which s_i has fallen by beta (s_i x_i)^2, beta = precision/(1 + kv). Written so
// that a feature that makes up all of v keeps 1/(1 + kv) of its variance, which 1 - beta v would lose to rounding, and
// a feature that is zero keeps all of it; multiplying by 1/v and 1/(1 + kv) would be faster and lose both.
template <class Number>
class ByDrop {
public:
    static constexpr CovarianceKind kKind = kDiagonalDrop;

    ByDrop(Number kv, Number v) noexcept : kv_(kv), v_(v) {}
    Number operator()(Number share) const noexcept {
        const Number rest = 1.0 - share / v_;
        return (1.0 + kv_ * (rest > 0.0 ? rest : Number{})) / (1.0 + kv_);
    }

private:
    Number kv_, v_;
};

template <class Number>
using PrecisionStep = DiagonalStep<ByPrecision, Number>;
template <class Number>
using DropStep = DiagonalStep<ByDrop, Number>;

template <template <class> class FeatureStep>
struct StepTag {
    template <class Number>
    using Step = FeatureStep<Number>;
};

// An array with make(tag) for the step of each kind, in the order of CovarianceKind.
template <class Make>
constexpr auto for_each_step(Make make) {
    return std::array{make(StepTag<IdentityStep>{}), make(StepTag<PrecisionStep>{}), make(StepTag<DropStep>{})};
}

// What the stored variances are multiplied by; for the identity, which stores none, Sigma itself.
template <template <class> class FeatureStep>
double variance_scale(const Model& model) noexcept {
    return FeatureStep<double>::kVariances ? model.scalars->spread_scale : model.initial_variance;
}

// The terms of a step at a row of label y and variance v, after the mean has been shrunk.
template <template <class> class FeatureStep>
StepTerms<double> terms_of(const Model& model, const Step& step, double y, double v) noexcept {
    return {step.alpha * y / model.scalars->mean_scale, variance_scale<FeatureStep>(model), shrinkage(step, v), v,
            model.least_variance()};
}

// The change of the squared norm of the mean when one of its weights changes.
template <class Number>
Number gain(Number before, Number after) noexcept {
    return (after - before) * (after + before);
}

// Stands for sums of squares that were not computed.
inline constexpr double kUnknownSquares = std::numeric_limits<double>::infinity();

// Whether a sum of squares over the values of a row proves that none exceeds kLargestValue.
inline bool proves_values(double squares) noexcept { return squares <= 0.5 * kLargestValue * kLargestValue; }

// What a model says about a row, and the score of the lag of an averaged mean, 0 without averaging.
struct LookWithLag : Look {
    double lag_score;
    double squares = kUnknownSquares;  // sum over the values of the row, where it costs next to nothing
};

// One model over single rows, which stores the weight of each feature, and its variance or its lag beside it if there is
// one.
template <template <class> class FeatureStep, Layout kLayout = kPacked>
struct PerFeature {
    static constexpr CovarianceKind kKind = FeatureStep<double>::kKind;
    static constexpr bool kVariances = FeatureStep<double>::kVariances;
    static constexpr bool kHasLagBeside = kLayout == kBesideLag;
    static_assert(!(kVariances && kHasLagBeside));
    static constexpr std::int64_t kEntries = kVariances ? 2 : 1;  // per feature
    static constexpr std::int64_t kStride = kLayout == kSharedLines ? kSharedStride : kHasLagBeside ? 2 : kEntries;
    static constexpr RowPairs kPairs = kVariances      ? RowPairs::kValuesAndSquares
                                       : kHasLagBeside ? RowPairs::kValuesTwice
                                                       : RowPairs::kNone;

    template <bool kAveraged, class Row>
    static LookWithLag look_with_lag(const Row& row, const Model& model) noexcept {
        if constexpr (kAveraged && kIsStaged<Row> && kHasLagBeside) {
            const Look sums = row.sum_pairs();
            return {{sums.score * model.scalars->mean_scale, row.squares * variance_scale<FeatureStep>(model)},
                    sums.variance * model.lag_scale()};
        } else {
            double squares = kUnknownSquares;
            const Look total = look(row, model, &squares);
            return {total, kAveraged ? lag_score(row, model) : 0.0, squares};
        }
    }

    template <class Row>
    static Look look(const Row& row, const Model& model, double* squares = nullptr) noexcept {
        const double* entries = model.entries;
        const auto term = [=](std::int64_t i, double x) {
            const double* at = entries + kStride * i;
            if constexpr (kVariances) return Look{at[0] * x, at[1] * (x * x)};
            return Look{at[0] * x, x * x};
        };
        Look total;
        if constexpr (kIsStaged<Row>)
            total = kVariances ? row.sum_pairs() : row.sum_weights();
        else if constexpr (kVariances && kLayout == kPacked && !Row::kSparse)
            total = sum_pairs(row, entries, squares);
        else
            total = row.sum(term);
        total.score *= model.scalars->mean_scale;
        total.variance *= variance_scale<FeatureStep>(model);
        return total;
    }

    // The score of the lag of an averaged mean.
    template <class Row>
    static double lag_score(const Row& row, const Model& model) noexcept {
        const double* const lag = model.lag;
        constexpr std::int64_t kLagStride = kHasLagBeside ? kStride : 1;
        return row.sum([=](std::int64_t i, double x) { return Look{lag[kLagStride * i] * x, 0.0}; }).score *
               model.lag_scale();
    }

    template <bool kNorm, bool kAveraged, class Row>
    static void move(const Row& row, Model& model, const Step& step, double y, double v) noexcept {
        model.shrink_mean(step.shrink);
        const StepTerms<double> terms = terms_of<FeatureStep>(model, step, y, v);
        const FeatureStep<double> move_feature(terms);
        double *entries = model.entries, *lag = model.lag;
        const double lag_rate = model.lag_rate();
        double gained = 0.0;
        const auto move_at = [=, &gained](double* at, double x) {
            const double before = at[0];
            move_feature(at[0], at[kEntries - 1], x);
            if constexpr (kNorm) gained += gain(before, at[0]);
            if constexpr (kAveraged)
                *(kHasLagBeside ? at + 1 : lag + (at - entries) / kStride) += lag_rate * (at[0] - before);
        };
        const auto move_one = [=](std::int64_t i, double x) { move_at(entries + kStride * i, x); };
        if constexpr (kIsStaged<Row> && kAveraged && kHasLagBeside && !kNorm) {
            const FeatureStep<Vector> move_features(StepTerms<Vector>{all(terms.rate), all(terms.scale), {}, {}, {}});
            const auto move_together = [=](double* const* at, Vector x) {
                auto [weights, lags] = gather_pairs(at);
                const Vector before = weights;
                Vector unused;
                move_features(weights, unused, x);
                scatter_pairs(at, {weights, lags + lag_rate * (weights - before)});
            };
            row.each_together(move_together, move_at);
        } else if constexpr (kNorm || kAveraged || !kVariances || (kLayout != kPacked && !Row::kSparse)) {
            if constexpr (kIsStaged<Row>)
                row.each_at(move_at);
            else
                row.each(move_one);
        } else {
            const FeatureStep<Vector> move_features(
                {all(terms.rate), all(terms.scale), all(terms.kv), all(terms.v), all(terms.least)});
            // A register of features shares one division.
            if constexpr (kIsStaged<Row>) {
                const auto move_together = [=](double* const* at, Vector x) {
                    auto [weights, variances] = gather_pairs(at);
                    move_features(weights, variances, x);
                    scatter_pairs(at, {weights, variances});
                };
                row.each_together(move_together, move_at);
            } else if constexpr (Row::kSparse) {
                const auto move_together = [=](const std::int64_t* at, Vector x) {
                    auto [weights, variances] = gather_pairs<kStride>(entries, at);
                    move_features(weights, variances, x);
                    scatter_pairs<kStride>(entries, at, {weights, variances});
                };
                row.each_together(move_together, move_one);
            } else {
                std::int64_t i = 0;
                for (; i + kWidth <= row.width(); i += kWidth) {
                    auto [weights, variances] = load_pairs(entries + 2 * i);
                    move_features(weights, variances, load(row.values() + i));
                    store_pairs(entries + 2 * i, {weights, variances});
                }
                row.each_from(i, move_one);
            }
        }
        if constexpr (kNorm) model.gain_norm2(gained);
        if constexpr (kVariances) model.grow_spread(step.grow);
    }

private:
    // row.sum in vector registers, in the same order. `squares`, unless it is null, gets the sum of the squares.
    template <class Value>
    static Look sum_pairs(const DenseRow<Value>& row, const double* pairs, double* squares) noexcept {
        Vector scores[2] = {}, variances[2] = {}, all_squares[2] = {};
        std::int64_t i = 0;
        for (; i + 2 * kWidth <= row.width(); i += 2 * kWidth)
            for (std::int64_t k = 0; k < 2; ++k) {
                const Vector x = load(row.values() + i + k * kWidth);
                const Vector square = x * x;
                const Pairs stored = load_pairs(pairs + 2 * (i + k * kWidth));
                scores[k] += stored.first * x;
                variances[k] += stored.second * square;
                all_squares[k] += square;
            }
        Look total{sum_of(scores[0] + scores[1]), sum_of(variances[0] + variances[1])};
        double rest = 0.0;
        row.each_from(i, [&](std::int64_t j, double x) {
            total.score += pairs[2 * j] * x;
            total.variance += pairs[2 * j + 1] * (x * x);
            rest += x * x;
        });
        if (squares != nullptr) *squares = sum_of(all_squares[0] + all_squares[1]) + rest;
        return total;
    }
};

using Identity = PerFeature<IdentityStep>;

}  // namespace scwlearn::SCWLEARN_SET
