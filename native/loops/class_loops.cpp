// The loops over rows of several classes that keep no covariance or a diagonal one. Compiled once for each instruction
// set, as loops/row_loops.cpp.
#include "loops/class_lanes.hpp"
#include "core/class_round.hpp"
#include "loops/one_versus_rest.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// The rows that are read lie in the scratch memory behind the numbers of the classes.
Feature* room_for_rows(double* work, std::int64_t lanes) noexcept {
    return reinterpret_cast<Feature*>(work + kLaneScratch * lanes);
}

// All classes as one model.
Model joint_model(const MultiTask& task) noexcept {
    const MultiMemory& memory = task.memory;
    const std::int64_t stride = multi_stride(task.form, memory.lanes), known = *memory.known;
    return Model({memory.entries, memory.work, memory.scalars, memory.size, memory.initial_variance,
                  memory.variance_floor},
                 {memory.entries, stride, memory.size, known},
                 {memory.entries + memory.lanes, stride, memory.size, task.form.shared ? 1 : known});
}

template <class Covariance, bool kNorm>
Counts learn_jointly(const MultiTask& task) {
    const std::int64_t lanes = task.memory.lanes;
    double* const scores = task.memory.work;
    double* const shares = scores + lanes;
    Model model = joint_model(task);
    Covariance covariance(model, lanes);
    JointRound round(task, model);
    const std::int64_t stride = multi_stride(task.form, lanes);
    ReadAhead rows(task.rows, model.entries, stride, room_for_rows(task.memory.work, lanes));

    const auto move = [&](const ReadRow& row, std::int64_t y, const Step& step, double v) {
        model.shrink_mean(step.shrink);
        // Of one Sigma for both classes each has half of the variance.
        const double own = Covariance::kShared ? v / 2.0 : v;
        const Moving moving{step.alpha / model.scalars->mean_scale, Covariance::scale(model), shrinkage(step, own), own,
                            model.least_variance()};
        double gained = covariance.template move<kNorm>(row, y, 1.0, moving);
        if (task.rivals == kBest) {
            gained += covariance.template move<kNorm>(row, round.rival, -1.0, moving);
        } else {
            round.share(y, scores, shares);
            for (std::int64_t r = 0; r < round.classes.known; ++r)
                if (shares[r] != 0.0) gained += covariance.template move<kNorm>(row, r, -shares[r], moving);
        }
        covariance.shrink(row, moving);
        if constexpr (kNorm) model.gain_norm2(gained);
        Covariance::grow(model, step.grow);
    };

    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const ReadRow row = rows[i];
        // Who the rival will be nobody knows yet.
        rows.fetch(0, lanes);
        if (Covariance::kKind != kIdentity && i + 1 < task.rows.count)
            rows.fetch(lanes + (Covariance::kShared ? 0 : std::max<std::int64_t>(round.classes.label(i + 1), 0)), 1);
        const std::int64_t y = round.classes.label(i), known = round.classes.known;
        sum_lanes<false>(row, model.entries, 0, known, scores);
        for (std::int64_t r = 0; r < known; ++r) scores[r] *= model.scalars->mean_scale;
        round.classes.write(i, scores);
        if (task.variances != nullptr) {
            const std::int64_t top = round.classes.best_but(-1, scores);
            task.variances[i] = top < 0 ? 0.0 : covariance.variance(row, top, top) / 2.0 * Covariance::scale(model);
        }
        if (y < 0) continue;
        const bool two = round.meet(y, scores);
        if (y == known) {
            // Lanes that wait hold the prior as it was at first.
            if (has_grown(model)) covariance.begin(y, unseen_variance(model));
            model.mean.together = known + 1;
            if (!Covariance::kShared) model.variances.together = known + 1;
        }
        if (!two) continue;
        const double v = covariance.variance(row, y, round.rival) * Covariance::scale(model);
        const Step step = round.ask(y, round.classes.weight(i), scores, v);
        if (moves(step)) move(row, y, step, v);
    }
    return round.counts;
}

template <class Covariance, bool kNorm>
Counts learn_each_class(const MultiTask& task) {
    RestRound<Covariance, kNorm> round(task);
    const std::int64_t lanes = task.memory.lanes, stride = multi_stride(task.form, lanes);
    ReadAhead rows(task.rows, task.memory.entries, stride, room_for_rows(task.memory.work, lanes));
    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const ReadRow row = rows[i];
        rows.fetch(0, stride);
        round.learn(i, row);
    }
    return round.counts;
}

template <class Joint, class Shared, class Each, bool kNorm>
Counts learn_in_form(const MultiTask& task) {
    if (task.form.scheme == kOneVersusRest) return learn_each_class<Each, kNorm>(task);
    return task.form.shared ? learn_jointly<Shared, kNorm>(task) : learn_jointly<Joint, kNorm>(task);
}

template <class Joint, class Shared, class Each>
Counts learn(const MultiTask& task) {
    return task.rule.uses_norm ? learn_in_form<Joint, Shared, Each, true>(task)
                               : learn_in_form<Joint, Shared, Each, false>(task);
}

template <template <class> class Shrink>
constexpr MultiLoop learn_diagonal =
    &learn<DiagonalLanes<Shrink, false>, DiagonalLanes<Shrink, true>, DiagonalClasses<Shrink>>;

void score(const Rows& rows, const MultiWeights& weights, double* work, double* scores) {
    ReadAhead read(rows, weights.first, weights.stride, room_for_rows(work, weights.lanes));
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const ReadRow row = read[i];
        read.fetch(0, weights.classes);
        sum_lanes<false>(row, weights.first, 0, weights.classes, work);
        for (std::int64_t r = 0; r < weights.classes; ++r)
            scores[i * weights.classes + r] = work[r] * weights.scalars[weights.scalars_for_each ? r : 0].mean_scale;
    }
}

}  // namespace

// Made by the compiler: nothing of an instruction set may run before it is known that the processor has it.
extern constinit const MultiLoops multi_loops{
    {&learn<IdentityLanes, IdentityLanes, IdentityClasses>, learn_diagonal<ByPrecision>, learn_diagonal<ByDrop>}, &score};

}  // namespace scwlearn::SCWLEARN_SET
