// Sigma not at all or diagonal: look at a row (f, v) and move by a step, each over every row kind.
#pragma once

#include "model.hpp"
#include "rows.hpp"

namespace scwlearn::SCWLEARN_SET {

// Adds to entries of the stored mean and follows its squared length where a rule asks for it.
template <bool kNorm>
class MeanMover {
public:
    MeanMover(Model& model, double shrink) noexcept : model_(model) {
        model.shrink_mean(shrink);
        unit_ = 1.0 / model.scalars->mean_scale;
    }
    ~MeanMover() {
        if constexpr (kNorm) model_.gain_norm2(gained_);
    }
    MeanMover(const MeanMover&) = delete;
    MeanMover& operator=(const MeanMover&) = delete;

    void add(std::int64_t i, double change) noexcept {
        double& entry = model_.mean[i];
        const double before = entry;
        entry += change * unit_;
        if constexpr (kNorm) gained_ += (entry - before) * (entry + before);
    }

private:
    Model& model_;
    double unit_;
    double gained_ = 0.0;
};

// Sigma = a I for ever: first-order learning. `spread` is empty.
struct Identity {
    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const double* mean = model.mean;
        Look total = row.sum([=](std::int64_t i, double x) { return Look{mean[i] * x, x * x}; });
        total.score *= model.scalars->mean_scale;
        total.variance *= model.initial_variance;
        return total;
    }

    template <bool kNorm, class Row>
    static void move(const Row& row, Model& model, const Step& step, double y, double) noexcept {
        MeanMover<kNorm> mean(model, step.shrink);
        const double rate = step.alpha * y;
        const double a = model.initial_variance;
        row.each([&](std::int64_t i, double x) { mean.add(i, rate * (a * x)); });
    }
};

// Sigma diagonal, `spread` its entries. The step for a full Sigma leaves a matrix that is not diagonal;
// `Shrink` says which diagonal takes its place.
template <class Shrink>
struct Diagonal {
    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const double* mean = model.mean;
        const double* s = model.spread;
        Look total = row.sum([=](std::int64_t i, double x) { return Look{mean[i] * x, s[i] * x * x}; });
        total.score *= model.scalars->mean_scale;
        total.variance *= model.scalars->spread_scale;
        return total;
    }

    template <bool kNorm, class Row>
    static void move(const Row& row, Model& model, const Step& step, double y, double v) noexcept {
        MeanMover<kNorm> mean(model, step.shrink);
        const double scale = model.scalars->spread_scale;
        const double rate = step.alpha * y;
        const Shrink shrink{shrinkage(step, v), v};
        double* s = model.spread;
        row.each([&](std::int64_t i, double x) {
            const double g = scale * (s[i] * x);
            mean.add(i, rate * g);
            s[i] = std::max(s[i] * shrink(g * x), kSmallestVariance);
        });
        model.grow_spread(step.grow);
    }
};

// What is left of a variance s_i, given its share s_i x_i^2 of v; kv is the precision times v.
// By precision: the inverse of the diagonal of Sigma'^-1, in which 1/s_i has grown by precision x_i^2.
struct ByPrecision {
    double kv, v;
    double operator()(double share) const noexcept { return 1.0 / (1.0 + kv * (share / v)); }
};

// By drop: the diagonal of Sigma', in which s_i has fallen by beta (s_i x_i)^2, beta = precision/(1 + kv). Written so
// that a feature that makes up all of v keeps 1/(1 + kv) of its variance, which 1 - beta v would lose to rounding.
struct ByDrop {
    double kv, v;
    double operator()(double share) const noexcept {
        return (1.0 + kv * std::max(0.0, 1.0 - share / v)) / (1.0 + kv);
    }
};

}  // namespace scwlearn::SCWLEARN_SET
