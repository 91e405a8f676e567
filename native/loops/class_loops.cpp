// The loops over rows of several classes with an identity or diagonal covariance. Compiled once per instruction set, as
// loops/row_loops.cpp is.
#include "loops/lanes.hpp"
#include "loops/rest_lanes.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// The models of all classes, with a variance per class and feature, or, if kShared, per feature.
template <template <class> class FeatureStep, bool kShared>
class JointClasses {
public:
    static constexpr bool kVariances = FeatureStep<double>::kVariances;

    JointClasses(const Model& model, const ModelForm& form, std::int64_t lanes) noexcept
        : size_(model.size),
          stride_(feature_stride(form, lanes)),
          weights_(model.entries),
          variances_(kVariances ? model.entries + lanes : model.entries),
          lags_(model, stride_) {}

    // Sets the variances of a class that is new.
    void begin(std::int64_t lane, double variance) noexcept {
        if constexpr (kVariances && !kShared)
            for (std::int64_t i = 0; i < size_; ++i) variances_[i * stride_ + lane] = variance;
    }

    // The variance of the difference of the scores of two classes, up to variance_scale.
    double variance(const ReadRow& row, std::int64_t one, std::int64_t other) const noexcept {
        if constexpr (!kVariances) return 2.0 * squared_length(row);
        if constexpr (kShared) one = other = 0;
        double first = 0.0, second = 0.0;
        for (const Feature& feature : row) {
            const double x2 = feature.value * feature.value;
            first += variances_[feature.place + one] * x2;
            if constexpr (!kShared) second += variances_[feature.place + other] * x2;
        }
        return kShared ? 2.0 * first : first + second;
    }

    // Moves a class by `share` of the step; returns by how much the squared length of its stored weights grows. The lag of
    // an averaged mean takes in `lag_rate` times the change.
    template <bool kNorm>
    double move(const ReadRow& row, std::int64_t lane, double share, StepTerms<double> terms,
                double lag_rate) const noexcept {
        terms.rate = share * terms.rate;
        const FeatureStep<double> step(terms);
        double* weights = weights_ + lane;
        double* variances = kShared ? variances_ : variances_ + lane;
        double gained = 0.0;
        for (const Feature& feature : row) {
            double& weight = weights[feature.place];
            const double before = weight;
            double variance = variances[feature.place];
            step(weight, variance, feature.value);
            if constexpr (kVariances && !kShared) variances[feature.place] = variance;
            if constexpr (kNorm) gained += gain(before, weight);
            if (lag_rate != 0.0) lags_.of(feature)[lane] += lag_rate * (weight - before);
        }
        return gained;
    }

    // Shrinks a shared variance, after all classes have moved.
    void shrink(const ReadRow& row, const StepTerms<double>& terms) const noexcept {
        if constexpr (kVariances && kShared) {
            const FeatureStep<double> step(terms);
            for (const Feature& feature : row) {
                double unused = 0.0;
                step(unused, variances_[feature.place], feature.value);
            }
        }
    }

private:
    std::int64_t size_, stride_;
    double *weights_, *variances_;
    Lags lags_;
};

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
    Scratch& scratch = *task.memory.scratch;
    double *const scores = scratch.take(lanes), *const shares = scratch.take(lanes), *const averages = scratch.take(lanes);
    Model model = joint_model(task);
    constexpr bool kVariances = FeatureStep<double>::kVariances;
    JointClasses<FeatureStep, kShared> covariance(model, task.form, lanes);
    JointRound round(task, model);
    const std::int64_t stride = feature_stride(task.form, lanes);
    const Lags lags(task.memory, stride);
    ReadAhead rows(task.rows, model.entries, stride, scratch.take<Feature>(2 * model.size));

    const auto move = [&](const ReadRow& row, std::int64_t y, const Step& step, double v) {
        model.shrink_mean(step.shrink);
        // Two classes that share one Sigma have half of the variance each.
        const double own = kShared ? v / 2.0 : v;
        const StepTerms<double> terms = terms_of<FeatureStep>(model, step, 1.0, own);
        const double lag_rate = model.lag_rate();
        double gained = covariance.template move<kNorm>(row, y, 1.0, terms, lag_rate);
        if (task.form.rivals == kBest) {
            gained += covariance.template move<kNorm>(row, round.rival, -1.0, terms, lag_rate);
        } else {
            round.share(y, scores, shares);
            for (std::int64_t r = 0; r < round.classes.known; ++r)
                if (shares[r] != 0.0) gained += covariance.template move<kNorm>(row, r, -shares[r], terms, lag_rate);
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
        if (model.is_averaged()) {
            lags.sum(row, known, averages);
            for (std::int64_t r = 0; r < known; ++r) averages[r] = scores[r] - averages[r] * model.lag_scale();
        }
        round.classes.write(i, round.shown(scores, averages), [&](std::int64_t top) {
            return covariance.variance(row, top, top) / 2.0 * variance_scale<FeatureStep>(model);
        });
        if (y < 0) continue;
        const bool two = round.meet(i, y, scores, averages);
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
Counts learn_with(const Task& task) {
    constexpr bool kVariances = FeatureStep<double>::kVariances;
    if (task.form.scheme == kOneVersusRest) return RestClasses<FeatureStep, kNorm>(task).learn();
    return task.form.shared && kVariances ? learn_jointly<FeatureStep, kVariances, kNorm>(task)
                                          : learn_jointly<FeatureStep, false, kNorm>(task);
}

template <template <class> class FeatureStep>
Counts learn(const Task& task) {
    return task.rule.uses_norm ? learn_with<FeatureStep, true>(task) : learn_with<FeatureStep, false>(task);
}

bool score(const Rows& rows, const Weights& weights, Scratch& scratch, double* scores) {
    double* const line = scratch.take(weights.lanes);
    ReadAhead read(rows, weights.first, weights.stride, scratch.take<Feature>(2 * rows.size()));
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const ReadRow row = read[i];
        read.prefetch(0, weights.classes);
        sum_lanes<false>(row, weights.first, 0, weights.classes, line);
        for (std::int64_t r = 0; r < weights.classes; ++r)
            scores[i * weights.classes + r] = line[r] * weights.scale(r);
    }
    return true;
}

}  // namespace

// Initialized at compile time: no code of an instruction set may run before it is known to be supported.
extern constinit const ClassLoops class_loops{
    for_each_step([](auto tag) { return &learn<decltype(tag)::template Step>; }), &score};

}  // namespace scwlearn::SCWLEARN_SET
