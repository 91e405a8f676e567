// Each class against all others, a model of its own: what core/covariance.hpp computes for one, in the lanes of registers.
#pragma once

#include "loops/class_lanes.hpp"
#include "core/class_round.hpp"

namespace scwlearn::SCWLEARN_SET {

// Scratch: numbers of each class, kLaneScratch of them.
struct LaneScratch {
    double *scores, *variances, *moves, *alpha, *precision, *shrink, *grow, *rate, *scale, *kv, *gained, *least;

    LaneScratch(double* work, std::int64_t lanes) noexcept {
        for (double** part : {&scores, &variances, &moves, &alpha, &precision, &shrink, &grow, &rate, &scale, &kv, &gained,
                              &least}) {
            *part = work;
            work += lanes;
        }
    }
};

struct IdentityClasses {
    static constexpr CovarianceKind kKind = kIdentity;

    static void look(const ReadRow& row, const double* entries, std::int64_t, std::int64_t classes,
                     const LaneScratch& of) noexcept {
        sum_lanes<false>(row, entries, 0, classes, of.scores);
        std::fill(of.variances, of.variances + classes, squared_length(row));
    }

    static double scale(const Model& model) noexcept { return model.initial_variance; }

    template <bool kNorm>
    static void move(const ReadRow& row, double* entries, std::int64_t, std::int64_t lane, const LaneScratch& of) noexcept {
        const auto kept = load_lanes(of.moves + lane) == 0.0;
        const Lanes rate = load_lanes(of.rate + lane), a = load_lanes(of.scale + lane);
        Lanes gained{};
        for (const Feature& feature : row) {
            double* at = entries + feature.place + lane;
            const Lanes before = load_lanes(at), after = before + rate * (a * feature.value);
            store_lanes(at, kept ? before : after);
            if constexpr (kNorm) gained += (after - before) * (after + before);
        }
        if constexpr (kNorm) store_lanes(of.gained + lane, gained);
    }

    static void grow(Model&, double) noexcept {}
};

template <template <class> class Shrink>
struct DiagonalClasses {
    static constexpr CovarianceKind kKind = Shrink<double>::kKind;

    static void look(const ReadRow& row, const double* entries, std::int64_t lanes, std::int64_t classes,
                     const LaneScratch& of) noexcept {
        sum_lanes<true>(row, entries, lanes, classes, of.scores, of.variances);
    }

    static double scale(const Model& model) noexcept { return model.scalars->spread_scale; }

    template <bool kNorm>
    static void move(const ReadRow& row, double* entries, std::int64_t lanes, std::int64_t lane,
                     const LaneScratch& of) noexcept {
        const auto kept = load_lanes(of.moves + lane) == 0.0;
        const Lanes rate = load_lanes(of.rate + lane), scale = load_lanes(of.scale + lane);
        const Shrink<Lanes> shrink(load_lanes(of.kv + lane), load_lanes(of.variances + lane));
        const Lanes least = load_lanes(of.least + lane);
        Lanes gained{};
        for (const Feature& feature : row) {
            double* at = entries + feature.place + lane;
            const Lanes before = load_lanes(at), s = load_lanes(at + lanes);
            const Lanes g = scale * (s * feature.value);
            const Lanes after = before + rate * g;
            const Lanes left = s * shrink(g * feature.value);
            store_lanes(at, kept ? before : after);
            store_lanes(at + lanes, kept ? s : left < least ? least : left);
            if constexpr (kNorm) gained += (after - before) * (after + before);
        }
        if constexpr (kNorm) store_lanes(of.gained + lane, gained);
    }

    static void grow(Model& model, double grow) noexcept { model.grow_spread(grow); }
};

// The rounds of classes that learn each by itself.
template <class Covariance, bool kNorm>
class RestRound {
public:
    explicit RestRound(const MultiTask& task) noexcept
        : task_(task), classes_(task), lanes_(task.memory.lanes), scratch_(task.memory.work, lanes_) {
        // What does no harm in lanes that do not move.
        std::fill(task.memory.work, task.memory.work + kLaneScratch * lanes_, 0.0);
    }

    void learn(std::int64_t i, const ReadRow& row) {
        const std::int64_t y = classes_.label(i);
        const std::int64_t count = std::max(classes_.known, y + 1);
        Covariance::look(row, task_.memory.entries, lanes_, count, scratch_);
        for (std::int64_t r = 0; r < count; ++r) {
            scratch_.scores[r] *= task_.memory.scalars[r].mean_scale;
            scratch_.variances[r] *= Covariance::scale(model_of(r));
        }
        classes_.write(i, scratch_.scores);
        if (task_.variances != nullptr) {
            const std::int64_t top = classes_.best_but(-1, scratch_.scores);
            task_.variances[i] = top < 0 ? 0.0 : scratch_.variances[top];
        }
        if (y < 0) return;
        counts.mistakes += !classes_.foretell(y, scratch_.scores);
        classes_.known = count;
        bool any = false;
        for (std::int64_t r = 0; r < count; ++r) any |= ask(r, r == y ? 1.0 : -1.0, classes_.weight(i));
        if (any) move(row, count);
        counts.updates += any;
    }

    Counts counts;

private:
    Model model_of(std::int64_t lane) const noexcept {
        const MultiMemory& memory = task_.memory;
        const std::int64_t stride = multi_stride(task_.form, lanes_);
        return Model({memory.entries + lane, nullptr, memory.scalars + lane, memory.size, memory.initial_variance,
                      memory.variance_floor},
                     {memory.entries + lane, stride, memory.size}, {memory.entries + lanes_ + lane, stride, memory.size});
    }

    // Nothing moves before all have been asked: a rule that is a Python function may raise.
    bool ask(std::int64_t lane, double sign, double weight) {
        Model model = model_of(lane);
        Counts uncounted;
        const Look look{scratch_.scores[lane], scratch_.variances[lane]};
        const Step step = SCWLEARN_SET::ask(task_.rule, sign, weight, look, model, uncounted);
        scratch_.moves[lane] = moves(step);
        scratch_.alpha[lane] = step.alpha * sign;
        scratch_.precision[lane] = step.precision;
        scratch_.shrink[lane] = step.shrink;
        scratch_.grow[lane] = step.grow;
        return moves(step);
    }

    void move(const ReadRow& row, std::int64_t count) noexcept {
        each_that_moves(count, [&](std::int64_t lane, Model& model) {
            model.shrink_mean(scratch_.shrink[lane]);
            scratch_.rate[lane] = scratch_.alpha[lane] / model.scalars->mean_scale;
            scratch_.scale[lane] = Covariance::scale(model);
            scratch_.least[lane] = model.least_variance();
            scratch_.kv[lane] = std::min(scratch_.precision[lane] * scratch_.variances[lane], kLargestShrink);
        });
        for (std::int64_t lane = 0; lane < count; lane += kLaneWidth)
            if (std::any_of(scratch_.moves + lane, scratch_.moves + lane + kLaneWidth, [](double m) { return m != 0.0; }))
                Covariance::template move<kNorm>(row, task_.memory.entries, lanes_, lane, scratch_);
        each_that_moves(count, [&](std::int64_t lane, Model& model) {
            if constexpr (kNorm) model.gain_norm2(scratch_.gained[lane]);
            Covariance::grow(model, scratch_.grow[lane]);
        });
    }

    template <class Action>
    void each_that_moves(std::int64_t count, Action action) const noexcept {
        for (std::int64_t lane = 0; lane < count; ++lane)
            if (scratch_.moves[lane] != 0.0) {
                Model model = model_of(lane);
                action(lane, model);
            }
    }

    const MultiTask& task_;
    Classes classes_;
    std::int64_t lanes_;
    LaneScratch scratch_;
};

}  // namespace scwlearn::SCWLEARN_SET
