// The loops over rows of several classes with an identity or diagonal covariance. Compiled once per instruction set, as
// loops/row_loops.cpp is.
#include "core/class_round.hpp"
#include "loops/joint_classes.hpp"
#include "loops/one_versus_rest.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// The features of the rows lie in the scratch memory behind the numbers of the classes.
Feature* room_for_rows(double* work, std::int64_t lanes) noexcept {
    return reinterpret_cast<Feature*>(work + kLaneScratch * lanes);
}

// All classes as one model.
Model joint_model(const Task& task) noexcept {
    const Memory& memory = task.memory;
    const std::int64_t stride = feature_stride(task.form, memory.lanes), known = *memory.known;
    return Model(memory, {memory.entries, stride, memory.size, known},
                 {memory.entries + memory.lanes, stride, memory.size, task.form.shared ? 1 : known});
}

template <template <class> class FeatureStep, bool kShared, bool kNorm>
Counts learn_jointly(const Task& task) {
    const std::int64_t lanes = task.memory.lanes;
    double* const scores = task.memory.work;
    double* const shares = scores + lanes;
    Model model = joint_model(task);
    constexpr bool kVariances = FeatureStep<double>::kVariances;
    JointClasses<FeatureStep, kShared> covariance(model, task.form, lanes);
    JointRound round(task, model);
    const std::int64_t stride = feature_stride(task.form, lanes);
    ReadAhead rows(task.rows, model.entries, stride, room_for_rows(task.memory.work, lanes));

    const auto move = [&](const ReadRow& row, std::int64_t y, const Step& step, double v) {
        model.shrink_mean(step.shrink);
        // Two classes that share one Sigma have half of the variance each.
        const double own = kShared ? v / 2.0 : v;
        const StepTerms<double> terms = terms_of<FeatureStep>(model, step, 1.0, own);
        double gained = covariance.template move<kNorm>(row, y, 1.0, terms);
        if (task.form.rivals == kBest) {
            gained += covariance.template move<kNorm>(row, round.rival, -1.0, terms);
        } else {
            round.share(y, scores, shares);
            for (std::int64_t r = 0; r < round.classes.known; ++r)
                if (shares[r] != 0.0) gained += covariance.template move<kNorm>(row, r, -shares[r], terms);
        }
        covariance.shrink(row, terms);
        if constexpr (kNorm) model.gain_norm2(gained);
        if constexpr (kVariances) model.grow_spread(step.grow);
    };

    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const ReadRow row = rows[i];
        // The rival is not known yet.
        rows.prefetch(0, lanes);
        if (kVariances && i + 1 < task.rows.count)
            rows.prefetch(lanes + (kShared ? 0 : std::max<std::int64_t>(round.classes.label(i + 1), 0)), 1);
        const std::int64_t y = round.classes.label(i), known = round.classes.known;
        sum_lanes<false>(row, model.entries, 0, known, scores);
        for (std::int64_t r = 0; r < known; ++r) scores[r] *= model.scalars->mean_scale;
        round.classes.write(i, scores);
        if (task.variances != nullptr) {
            const std::int64_t top = round.classes.top_except(-1, scores);
            const double twice = top < 0 ? 0.0 : covariance.variance(row, top, top);
            task.variances[i] = twice / 2.0 * variance_scale<FeatureStep>(model);
        }
        if (y < 0) continue;
        const bool two = round.meet(y, scores);
        if (y == known) {
            // Unused lanes hold the prior as it was at the start.
            if (has_grown(model)) covariance.begin(y, unseen_variance(model));
            model.mean.together = known + 1;
            if (!kShared) model.variances.together = known + 1;
        }
        if (!two) continue;
        const double v = covariance.variance(row, y, round.rival) * variance_scale<FeatureStep>(model);
        const Step step = round.ask(y, round.classes.weight(i), scores, v);
        if (moves(step)) move(row, y, step, v);
    }
    return round.counts;
}

template <template <class> class FeatureStep, bool kNorm>
Counts learn_each_class(const Task& task) {
    RestRound<FeatureStep, kNorm> round(task);
    const std::int64_t lanes = task.memory.lanes, stride = feature_stride(task.form, lanes);
    ReadAhead rows(task.rows, task.memory.entries, stride, room_for_rows(task.memory.work, lanes));
    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const ReadRow row = rows[i];
        rows.prefetch(0, stride);
        round.learn(i, row);
    }
    return round.counts;
}

template <template <class> class FeatureStep, bool kNorm>
Counts learn_with(const Task& task) {
    constexpr bool kVariances = FeatureStep<double>::kVariances;
    if (task.form.scheme == kOneVersusRest) return learn_each_class<FeatureStep, kNorm>(task);
    return task.form.shared && kVariances ? learn_jointly<FeatureStep, kVariances, kNorm>(task)
                                          : learn_jointly<FeatureStep, false, kNorm>(task);
}

template <template <class> class FeatureStep>
Counts learn(const Task& task) {
    return task.rule.uses_norm ? learn_with<FeatureStep, true>(task) : learn_with<FeatureStep, false>(task);
}

void score(const Rows& rows, const ClassWeights& weights, double* work, double* scores) {
    ReadAhead read(rows, weights.first, weights.stride, room_for_rows(work, weights.lanes));
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const ReadRow row = read[i];
        read.prefetch(0, weights.classes);
        sum_lanes<false>(row, weights.first, 0, weights.classes, work);
        for (std::int64_t r = 0; r < weights.classes; ++r)
            scores[i * weights.classes + r] = work[r] * weights.scalars[weights.scalars_for_each ? r : 0].mean_scale;
    }
}

}  // namespace

// Initialized at compile time: no code of an instruction set may run before it is known to be supported.
extern constinit const ClassLoops class_loops{{&learn<IdentityStep>, &learn<PrecisionStep>, &learn<DropStep>}, &score};

}  // namespace scwlearn::SCWLEARN_SET
