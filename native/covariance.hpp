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
        model.grow_spread(step.grow, model.size);
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

// Sigma = spread_scale U D U' with U unit upper triangular and D a positive diagonal (Bierman's form). `spread` is D
// followed by U by rows, with its ones and zeros. D is only ever multiplied by positive numbers and U keeps its
// shape, so Sigma is positive whatever rounding does, however collinear or badly scaled the stream.
struct Full {
    // f = U'x goes into `work`, for the move.
    template <class Row>
    static Look look(const Row& row, const Model& model) noexcept {
        const std::int64_t n = model.size;
        const double* mean = model.mean;
        const double* d = model.spread;
        double* __restrict f = model.work;
        std::fill(f, f + n, 0.0);
        double score = 0.0;
        row.each([&](std::int64_t i, double x) {
            if (x == 0.0) return;
            score += mean[i] * x;
            const double* __restrict u = d + (i + 1) * n;
            for (std::int64_t j = i; j < n; ++j) f[j] += x * u[j];
        });
        double variance = 0.0;
        for (std::int64_t j = 0; j < n; ++j) variance += d[j] * f[j] * f[j];
        return {score * model.scalars->mean_scale, variance * model.scalars->spread_scale};
    }

    // With f scaled so that f'D f = 1, g = D f and a_j = 1 + kv (f_1 g_1 + .. + f_j g_j), where kv is precision times
    // variance: D_j falls by a_(j-1)/a_j, and row i of U changes by -kv f_j/a_(j-1) times what the sum of its g_j U_ij
    // has come to before j. The whole sum is (Sigma x)_i, which moves the mean.
    template <bool kNorm, class Row>
    static void move(const Row&, Model& model, const Step& step, double y, double v) noexcept {
        MeanMover<kNorm> mean(model, step.shrink);
        const std::int64_t n = model.size;
        const double length = std::sqrt(v / model.scalars->spread_scale);
        const double rate = step.alpha * y * model.scalars->spread_scale * length;
        const double kv = shrinkage(step, v);
        double* d = model.spread;
        const double* f = model.work;
        double* __restrict g = model.work + n;
        double* __restrict change = model.work + 2 * n;
        double sum = 0.0;
        double before = 1.0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double fj = f[j] / length;
            g[j] = d[j] * fj;
            sum += fj * g[j];
            const double after = 1.0 + kv * sum;
            change[j] = -kv * fj / before;
            d[j] = std::max(d[j] * (before / after), kSmallestVariance);
            before = after;
        }
        // Each row is a chain of dependent sums; several at once keep the processor busy.
        constexpr std::int64_t kRows = 8;
        std::int64_t i = 0;
        for (; i + kRows <= n; i += kRows) sweep<kRows>(model, g, change, i, rate, mean);
        for (; i < n; ++i) sweep<1>(model, g, change, i, rate, mean);
        model.grow_spread(step.grow, n);
    }

private:
    template <std::int64_t kRows, class Mean>
    static void sweep(Model& model, const double* __restrict g, const double* __restrict change, std::int64_t first,
                      double rate, Mean& mean) noexcept {
        const std::int64_t n = model.size;
        double* __restrict u = model.spread + (first + 1) * n;
        double sum[kRows] = {};
        for (std::int64_t j = first; j < n; ++j)
            for (std::int64_t r = 0; r < kRows; ++r) {
                double& entry = u[r * n + j];
                const double old = entry;
                entry = old + change[j] * sum[r];
                sum[r] += g[j] * old;
            }
        for (std::int64_t r = 0; r < kRows; ++r) mean.add(first + r, rate * sum[r]);
    }
};

// The kinds, their names in Python, and (in loop.hpp) their loops stand in the same order.
enum CovarianceKind { kIdentity, kDiagonal, kDiagonalDrop, kFull, kCovarianceKinds };
inline constexpr const char* kCovarianceNames[kCovarianceKinds] = {"identity", "diagonal", "diagonal-drop", "full"};

}  // namespace scwlearn
