// Many models over the same rows, Sigma not at all or diagonal: a register takes one entry of as many models as it has
// lanes, and a feature is read once for all. In each lane everything is computed as in core/covariance.hpp, in its order.
#pragma once

#include <array>

#include "core/covariance.hpp"
#include "core/round.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// What the models that move need for it; the other lanes hold what does no harm and is not kept.
template <std::int64_t kVectors>
struct Steps {
    static constexpr std::int64_t kLanes = kVectors * kWidth;
    alignas(64) double moves[kLanes] = {};
    alignas(64) double rate[kLanes] = {};
    alignas(64) double scale[kLanes] = {};
    alignas(64) double kv[kLanes] = {};
    alignas(64) double v[kLanes] = {};
    alignas(64) double least[kLanes] = {};  // what no variance falls below
};

struct IdentityBundle {
    // Numbers that a model has for each feature.
    static constexpr std::int64_t kParts = 1;

    template <std::int64_t kVectors>
    struct Sums {
        Vector score[kVectors] = {};
        double variance = 0.0;  // the same for all

        void add(const double* entries, double x) noexcept {
            for (std::int64_t k = 0; k < kVectors; ++k) score[k] += load(entries + k * kWidth) * x;
            variance += x * x;
        }
        void add(const Sums& part) noexcept {
            for (std::int64_t k = 0; k < kVectors; ++k) score[k] += part.score[k];
            variance += part.variance;
        }
        Look operator()(const Model& model, std::int64_t lane) const noexcept {
            return {score[lane / kWidth][lane % kWidth] * model.scalars->mean_scale, variance * model.initial_variance};
        }
    };

    static double scale(const Model& model) noexcept { return model.initial_variance; }

    template <std::int64_t kVectors>
    static void move(const Feature* row, std::int64_t count, double* entries, const Steps<kVectors>& steps,
                     std::int64_t first) noexcept {
        const auto kept = load(steps.moves + first) == 0.0;
        const Vector rate = load(steps.rate + first), a = load(steps.scale + first);
        for (const Feature* feature = row; feature != row + count; ++feature) {
            double* at = entries + feature->place + first;
            const Vector mean = load(at);
            store(at, kept ? mean : mean + rate * (a * feature->value));
        }
    }
};

template <template <class> class Shrink>
struct DiagonalBundle {
    static constexpr std::int64_t kParts = 2;

    template <std::int64_t kVectors>
    struct Sums {
        Vector score[kVectors] = {};
        Vector variance[kVectors] = {};

        void add(const double* entries, double x) noexcept {
            for (std::int64_t k = 0; k < kVectors; ++k) {
                score[k] += load(entries + k * kWidth) * x;
                variance[k] += load(entries + (kVectors + k) * kWidth) * (x * x);
            }
        }
        void add(const Sums& part) noexcept {
            for (std::int64_t k = 0; k < kVectors; ++k) {
                score[k] += part.score[k];
                variance[k] += part.variance[k];
            }
        }
        Look operator()(const Model& model, std::int64_t lane) const noexcept {
            return {score[lane / kWidth][lane % kWidth] * model.scalars->mean_scale,
                    variance[lane / kWidth][lane % kWidth] * model.scalars->spread_scale};
        }
    };

    static double scale(const Model& model) noexcept { return model.scalars->spread_scale; }

    template <std::int64_t kVectors>
    static void move(const Feature* row, std::int64_t count, double* entries, const Steps<kVectors>& steps,
                     std::int64_t first) noexcept {
        const auto kept = load(steps.moves + first) == 0.0;
        const Vector rate = load(steps.rate + first), scale = load(steps.scale + first);
        const Shrink<Vector> shrink(load(steps.kv + first), load(steps.v + first));
        const Vector least = load(steps.least + first);
        for (const Feature* feature = row; feature != row + count; ++feature) {
            double* at = entries + feature->place + first;
            const Vector mean = load(at), s = load(at + kVectors * kWidth);
            const Vector g = scale * (s * feature->value);
            const Vector shrunk = s * shrink(g * feature->value);
            store(at, kept ? mean : mean + rate * g);
            store(at + kVectors * kWidth, kept ? s : shrunk < least ? least : shrunk);
        }
    }
};

template <class Covariance, std::int64_t kVectors>
class BundleLearner {
public:
    explicit BundleLearner(const Bundle& bundle) noexcept : bundle_(bundle) {
        for (std::int64_t lane = 0; lane < bundle.count; ++lane) {
            const Memory& memory = bundle.models[lane];
            models_[lane] = Model(memory, {memory.entries, kStride, memory.size},
                                  {memory.entries + kLanes, kStride, memory.size});
        }
    }

    // The rows are read one ahead, so that their entries are on the way while the models look at the one before.
    template <class RowSet>
    void learn(const RowSet& rows, std::int64_t count, const std::int8_t* labels) {
        Feature* now = bundle_.row;
        Feature* next = bundle_.row + bundle_.size;
        std::int64_t features = count > 0 ? read(rows[0], now) : 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t to_come = i + 1 < count ? read(rows[i + 1], next) : 0;
            if constexpr (RowSet::kSparse) fetch(next, to_come);
            const Sums sums = RowSet::kSparse ? sum_of_sparse(now, features, rows.rows) : sum_of_dense(now, rows.rows);
            if (ask(sums, labels[i])) move(now, features);
            std::swap(now, next);
            features = to_come;
        }
    }

private:
    using Sums = typename Covariance::template Sums<kVectors>;
    static constexpr std::int64_t kLanes = kVectors * kWidth;
    static constexpr std::int64_t kStride = Covariance::kParts * kLanes;

    template <class Row>
    std::int64_t read(const Row& row, Feature* to) const noexcept {
        std::int64_t count = 0;
        // As in core/rows.hpp: somebody may have written to the arrays since the scan.
        row.each([&](std::int64_t i, double x) {
            if (count < bundle_.size) to[count++] = {i * kStride, x};
        });
        return count;
    }

    void fetch(const Feature* row, std::int64_t count) const noexcept {
        constexpr std::int64_t kLine = 8;
        for (const Feature* feature = row; feature != row + count; ++feature)
            for (std::int64_t at = 0; at < kStride; at += kLine)
                __builtin_prefetch(bundle_.entries + feature->place + at, 1);
    }

    // In the order of SparseRow.
    Sums sum_of_sparse(const Feature* row, std::int64_t count, const Rows& rows) const noexcept {
        const std::int64_t stored = count - rows.intercept;
        Sums total, odd;
        for (std::int64_t j = 0; j < stored; j += 2) total.add(bundle_.entries + row[j].place, row[j].value);
        for (std::int64_t j = 1; j < stored; j += 2) odd.add(bundle_.entries + row[j].place, row[j].value);
        total.add(odd);
        if (rows.intercept) total.add(bundle_.entries + row[stored].place, row[stored].value);
        return total;
    }

    Sums sum_of_dense(const Feature* row, const Rows& rows) const noexcept {
        // In the order of DenseRow.
        const std::int64_t whole = rows.width / kPartialSums * kPartialSums;
        const auto every = [&](std::int64_t first) {
            Sums part;
            for (std::int64_t j = first; j < whole; j += kPartialSums)
                part.add(bundle_.entries + row[j].place, row[j].value);
            return part;
        };
        Sums total;
        for (std::int64_t lane = 0; lane < kWidth; ++lane) {
            Sums part = every(lane);
            part.add(every(lane + kWidth));
            total.add(part);
        }
        const std::int64_t count = rows.width + rows.intercept;
        for (std::int64_t j = whole; j < count; ++j) total.add(bundle_.entries + row[j].place, row[j].value);
        return total;
    }

    // Whether any model moves.
    bool ask(const Sums& sums, double y) {
        any_ = {};
        bool any = false;
        for (std::int64_t lane = 0; lane < bundle_.count; ++lane) {
            Model& model = models_[lane];
            const Look look = sums(model, lane);
            const Step step = SCWLEARN_SET::ask(bundle_.rules[lane], y, 1.0, look, model, bundle_.counts[lane]);
            const bool moved = moves(step);
            steps_.moves[lane] = moved;
            if (!moved) continue;
            model.shrink_mean(step.shrink);
            steps_.rate[lane] = step.alpha * y / model.scalars->mean_scale;
            steps_.scale[lane] = Covariance::scale(model);
            steps_.kv[lane] = shrinkage(step, look.variance);
            steps_.v[lane] = look.variance;
            steps_.least[lane] = model.least_variance();
            grow_[lane] = step.grow;
            any_[lane / kWidth] = any = true;
        }
        return any;
    }

    void move(const Feature* row, std::int64_t features) noexcept {
        for (std::int64_t k = 0; k < kVectors; ++k)
            if (any_[k]) Covariance::template move<kVectors>(row, features, bundle_.entries, steps_, k * kWidth);
        if constexpr (Covariance::kParts == 2)
            for (std::int64_t lane = 0; lane < bundle_.count; ++lane)
                if (steps_.moves[lane] != 0.0) models_[lane].grow_spread(grow_[lane]);
    }

    const Bundle& bundle_;
    std::array<Model, kLanes> models_;
    Steps<kVectors> steps_;
    std::array<double, kLanes> grow_;
    std::array<bool, kVectors> any_;
};

}  // namespace scwlearn::SCWLEARN_SET
