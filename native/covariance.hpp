// How Sigma is kept: look at a row (f, v) and move by a step. One class per way, each over every row kind.
#pragma once

#include "model.hpp"
#include "rows.hpp"

namespace scwlearn {

// Adds to entries of the stored mean and follows its squared length where a rule asks for it.
template <bool kNorm>
class MeanMover {
public:
    MeanMover(Model& model, double shrink) noexcept : model_(model), unit_(model.shrink_mean(shrink)) {}
    ~MeanMover() {
        // Rounding may not turn a length negative.
        if constexpr (kNorm) model_.scalars->norm2 = std::max(0.0, model_.scalars->norm2 + gained_);
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
        const double rate = step.alpha * y * model.initial_variance;
        row.each([&](std::int64_t i, double x) { mean.add(i, rate * x); });
    }
};

// No variance falls below this: dividing by it stays finite.
inline constexpr double kSmallestVariance = 1e-290;

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
        const double rate = step.alpha * y * scale;
        const Shrink shrink(step.precision, scale, v);
        double* s = model.spread;
        row.each([&](std::int64_t i, double x) {
            mean.add(i, rate * s[i] * x);
            s[i] = std::max(shrink(s[i], x), kSmallestVariance);
        });
        model.scalars->spread_scale *= step.grow;
    }
};

// The inverse of the diagonal of Sigma'^-1: 1/s_i grows by precision x_i^2.
struct ByPrecision {
    double precision;
    ByPrecision(double k, double scale, double) noexcept : precision(k * scale) {}
    double operator()(double s, double x) const noexcept { return s / (1.0 + precision * s * x * x); }
};

// The diagonal of Sigma': s_i falls by beta (s_i x_i)^2.
struct ByDrop {
    double beta;
    ByDrop(double k, double scale, double v) noexcept : beta(k / (1.0 + k * v) * scale) {}
    double operator()(double s, double x) const noexcept { return s * (1.0 - beta * s * x * x); }
};

// Sigma = spread_scale R R', `spread` the square matrix R by rows (Potter's square-root form). R is never
// formed by a subtraction from Sigma, so Sigma is positive by construction however collinear the stream.
struct Full {
    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const std::int64_t n = model.size;
        double* p = model.work;
        const double* mean = model.mean;
        std::fill(p, p + n, 0.0);
        double score = 0.0;
        row.each([&](std::int64_t i, double x) {
            if (x == 0.0) return;
            score += mean[i] * x;
            const double* r = model.spread + i * n;
            for (std::int64_t j = 0; j < n; ++j) p[j] += x * r[j];
        });
        return {score * model.scalars->mean_scale, dot(p, p, n) * model.scalars->spread_scale};
    }

    // `work` still holds p = R'x from the look at the same row. With R <- R (I - c p p') and
    // 1 - c |p|^2 = 1/sqrt(1 + precision v), R R' becomes (Sigma^-1 + precision x x')^-1.
    template <bool kNorm, class Row>
    static void move(const Row&, Model& model, const Step& step, double y, double v) noexcept {
        MeanMover<kNorm> mean(model, step.shrink);
        const std::int64_t n = model.size;
        const double* p = model.work;
        const double rate = step.alpha * y * model.scalars->spread_scale;
        const double kv = step.precision * v;
        const double root = std::sqrt(1.0 + kv);
        const double c = kv / (root * (1.0 + root)) / (v / model.scalars->spread_scale);
        for (std::int64_t i = 0; i < n; ++i) {
            double* r = model.spread + i * n;
            const double g = dot(r, p, n);
            mean.add(i, rate * g);
            const double cg = c * g;
            if (cg != 0.0)
                for (std::int64_t j = 0; j < n; ++j) r[j] -= cg * p[j];
        }
        model.scalars->spread_scale *= step.grow;
    }

private:
    static double dot(const double* a, const double* b, std::int64_t n) noexcept {
        return DenseRow<double>(b, n, false).sum([a](std::int64_t i, double x) { return Look{a[i] * x, 0.0}; }).score;
    }
};

enum CovarianceKind { kIdentity, kDiagonal, kDiagonalDrop, kFull, kCovarianceKinds };

}  // namespace scwlearn
