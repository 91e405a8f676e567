// One model per class, which learns its class against all others: one class per lane.
#pragma once

#include "core/class_round.hpp"
#include "loops/joint_classes.hpp"

namespace scwlearn::SCWLEARN_SET {

template <template <class> class FeatureStep, bool kNorm>
class RestRound {
public:
    explicit RestRound(const Task& task) noexcept
        : task_(task),
          classes_(task),
          lanes_(task.memory.lanes),
          scores_(task.memory.work),
          gained_(scores_ + lanes_),
          terms_(gained_ + lanes_, lanes_),
          steps_(reinterpret_cast<Step*>(gained_ + (1 + LaneTerms::kTerms) * lanes_)) {
        static_assert(2 + LaneTerms::kTerms + sizeof(Step) / sizeof(double) == kLaneScratch);
        // Zeros are harmless in lanes that do not move.
        std::fill(task.memory.work, task.memory.work + kLaneScratch * lanes_, 0.0);
    }

    void learn(std::int64_t i, const ReadRow& row) {
        const std::int64_t y = classes_.label(i);
        const std::int64_t count = std::max(classes_.known, y + 1);
        look(row, count);
        classes_.write(i, scores_);
        if (task_.variances != nullptr) {
            const std::int64_t top = classes_.top_except(-1, scores_);
            task_.variances[i] = top < 0 ? 0.0 : terms_.v()[top];
        }
        if (y < 0) return;
        counts.mistakes += !classes_.predicts(y, scores_);
        classes_.known = count;
        bool any = false;
        for (std::int64_t r = 0; r < count; ++r) any |= ask(r, r == y ? 1.0 : -1.0, classes_.weight(i));
        if (any) move(row, count, y);
        counts.updates += any;
    }

    Counts counts;

private:
    static constexpr bool kVariances = FeatureStep<double>::kVariances;

    Model model_of(std::int64_t lane) const noexcept {
        const Memory& memory = task_.memory;
        const std::int64_t stride = feature_stride(task_.form, lanes_);
        return Model(memory.of_class(lane, lane), {memory.entries + lane, stride, memory.size},
                     {memory.entries + lanes_ + lane, stride, memory.size});
    }

    void look(const ReadRow& row, std::int64_t count) const noexcept {
        sum_lanes<kVariances>(row, task_.memory.entries, lanes_, count, scores_, terms_.v());
        if constexpr (!kVariances) std::fill(terms_.v(), terms_.v() + count, squared_length(row));
        for (std::int64_t r = 0; r < count; ++r) {
            scores_[r] *= task_.memory.scalars[r].mean_scale;
            terms_.v()[r] *= variance_scale<FeatureStep>(model_of(r));
        }
    }

    // Nothing moves before all classes have been asked: a rule that is a Python function may raise.
    bool ask(std::int64_t lane, double sign, double weight) {
        Model model = model_of(lane);
        Counts uncounted;
        const Look look{scores_[lane], terms_.v()[lane]};
        steps_[lane] = SCWLEARN_SET::ask(task_.rule, sign, weight, look, model, uncounted);
        terms_.moves()[lane] = moves(steps_[lane]);
        return moves(steps_[lane]);
    }

    void move(const ReadRow& row, std::int64_t count, std::int64_t y) noexcept {
        each_that_moves(count, [&](std::int64_t lane, Model& model) {
            model.shrink_mean(steps_[lane].shrink);
            terms_.set(lane, terms_of<FeatureStep>(model, steps_[lane], lane == y ? 1.0 : -1.0, terms_.v()[lane]));
        });
        const double* const moved = terms_.moves();
        for (std::int64_t lane = 0; lane < count; lane += kLaneWidth)
            if (std::any_of(moved + lane, moved + lane + kLaneWidth, [](double m) { return m != 0.0; })) {
                const auto gained = move_lanes<FeatureStep, Lanes, kNorm>(row, task_.memory.entries, lanes_, terms_, lane);
                if constexpr (kNorm) store_as(gained_ + lane, gained);
            }
        each_that_moves(count, [&](std::int64_t lane, Model& model) {
            if constexpr (kNorm) model.gain_norm2(gained_[lane]);
            if constexpr (kVariances) model.grow_spread(steps_[lane].grow);
        });
    }

    template <class Action>
    void each_that_moves(std::int64_t count, Action action) const noexcept {
        for (std::int64_t lane = 0; lane < count; ++lane)
            if (terms_.moves()[lane] != 0.0) {
                Model model = model_of(lane);
                action(lane, model);
            }
    }

    const Task& task_;
    Classes classes_;
    std::int64_t lanes_;
    double *scores_, *gained_;
    LaneTerms terms_;
    Step* steps_;
};

}  // namespace scwlearn::SCWLEARN_SET
