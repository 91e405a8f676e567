// Sigma not at all or diagonal: look at a row (f, v) and move by a step, each over every row kind.
#pragma once

#include "core/model.hpp"
#include "core/rows.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Sigma = a I for ever: first-order learning.
struct Identity {
    static constexpr CovarianceKind kKind = kIdentity;
    static constexpr std::int64_t kEntries = 1;  // for each feature

    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const double* mean = model.entries;
        Look total = row.sum([=](std::int64_t i, double x) { return Look{mean[i] * x, x * x}; });
        total.score *= model.scalars->mean_scale;
        total.variance *= model.initial_variance;
        return total;
    }

    template <bool kNorm, class Row>
    static void move(const Row& row, Model& model, const Step& step, double y, double) noexcept {
        model.shrink_mean(step.shrink);
        const double rate = step.alpha * y / model.scalars->mean_scale;
        const double a = model.initial_variance;
        double* mean = model.entries;
        double gained = 0.0;
        row.each([=, &gained](std::int64_t i, double x) {
            const double before = mean[i];
            const double after = before + rate * (a * x);
            mean[i] = after;
            if constexpr (kNorm) gained += (after - before) * (after + before);
        });
        if constexpr (kNorm) model.gain_norm2(gained);
    }
};

// Sigma diagonal. The step for a full Sigma leaves a matrix that is not diagonal; `Shrink` says which diagonal takes
// its place.
template <template <class> class Shrink>
struct Diagonal {
    static constexpr CovarianceKind kKind = Shrink<double>::kKind;
    static constexpr std::int64_t kEntries = 2;

    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const double* pairs = model.entries;
        Look total = row.sum([=](std::int64_t i, double x) {
            return Look{pairs[2 * i] * x, pairs[2 * i + 1] * (x * x)};
        });
        total.score *= model.scalars->mean_scale;
        total.variance *= model.scalars->spread_scale;
        return total;
    }

    // Dense rows in vector registers; what is left over, and the intercept, as below.
    template <class Value>
    static Look look(const DenseRow<Value>& row, const Model& model) noexcept {
        const double* pairs = model.entries;
        const Value* values = row.values();
        Vector scores[2] = {}, variances[2] = {};
        std::int64_t i = 0;
        for (; i + 2 * kWidth <= row.width(); i += 2 * kWidth)
            for (std::int64_t k = 0; k < 2; ++k) {
                const Vector x = load(values + i + k * kWidth);
                const Pairs weights = load_pairs(pairs + 2 * (i + k * kWidth));
                scores[k] += weights.first * x;
                variances[k] += weights.second * (x * x);
            }
        Look total{sum_of(scores[0] + scores[1]), sum_of(variances[0] + variances[1])};
        row.each_from(i, [&](std::int64_t j, double x) {
            total.score += pairs[2 * j] * x;
            total.variance += pairs[2 * j + 1] * (x * x);
        });
        total.score *= model.scalars->mean_scale;
        total.variance *= model.scalars->spread_scale;
        return total;
    }

    template <bool kNorm, class Row>
    static void move(const Row& row, Model& model, const Step& step, double y, double v) noexcept {
        model.shrink_mean(step.shrink);
        const double scale = model.scalars->spread_scale;
        const double rate = step.alpha * y / model.scalars->mean_scale;
        const double kv = shrinkage(step, v);
        const double least = model.least_variance();
        const Shrink<double> shrink(kv, v);
        double* pairs = model.entries;
        double gained = 0.0;
        const auto move_one = [=, &gained](std::int64_t i, double x) {
            const double before = pairs[2 * i];
            const double s = pairs[2 * i + 1];
            const double g = scale * (s * x);
            const double after = before + rate * g;
            pairs[2 * i] = after;
            pairs[2 * i + 1] = std::max(s * shrink(g * x), least);
            if constexpr (kNorm) gained += (after - before) * (after + before);
        };
        if constexpr (kNorm) {
            row.each(move_one);
        } else if constexpr (Row::kSparse) {
            // So many features at a time go through one division.
            const Shrink<Vector> shrink_all(all(kv), all(v));
            row.each_together(
                [=](const std::int64_t* at, Vector x) {
                    Vector s, before;
                    for (std::int64_t k = 0; k < kWidth; ++k) {
                        before[k] = pairs[2 * at[k]];
                        s[k] = pairs[2 * at[k] + 1];
                    }
                    const Vector g = scale * (s * x);
                    const Vector after = before + rate * g;
                    const Vector left = s * shrink_all(g * x);
                    for (std::int64_t k = 0; k < kWidth; ++k) {
                        pairs[2 * at[k]] = after[k];
                        pairs[2 * at[k] + 1] = std::max(left[k], least);
                    }
                },
                move_one);
        } else {
            const Shrink<Vector> shrink_all(all(kv), all(v));
            std::int64_t i = 0;
            for (; i + kWidth <= row.width(); i += kWidth) {
                const Vector x = load(row.values() + i);
                const Pairs weights = load_pairs(pairs + 2 * i);
                const Vector g = scale * (weights.second * x);
                const Vector s = weights.second * shrink_all(g * x);
                store_pairs(pairs + 2 * i, {weights.first + rate * g, s > least ? s : all(least)});
            }
            row.each_from(i, move_one);
        }
        if constexpr (kNorm) model.gain_norm2(gained);
        model.grow_spread(step.grow);
    }
};

// What is left of a variance s_i, given its share s_i x_i^2 of v; kv is the precision times v. A Number is one, or a
// register of them.
// By precision: the inverse of the diagonal of Sigma'^-1, in which 1/s_i has grown by precision x_i^2.
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
// a feature that is zero all of it; to multiply by 1/v and 1/(1 + kv) would be quicker and lose both.
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

}  // namespace scwlearn::SCWLEARN_SET
