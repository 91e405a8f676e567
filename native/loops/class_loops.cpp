// The loops over rows of several classes with an identity or diagonal covariance. Compiled once per instruction set, as
// loops/row_loops.cpp is.
#include "loops/lanes.hpp"

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

// One model per class, which learns its class against all others: one class per lane.
template <template <class> class FeatureStep, bool kNorm>
class RestRound {
public:
    explicit RestRound(const Task& task)
        : task_(task),
          classes_(task),
          lanes_(task.memory.lanes),
          scores_(task.memory.scratch->take(lanes_)),
          averages_(task.memory.scratch->take(lanes_)),
          lags_(task.memory, feature_stride(task.form, lanes_)),
          gained_(task.memory.scratch->take(lanes_)),
          terms_(task.memory.scratch->take(LaneTerms::kTerms * lanes_), lanes_),
          steps_(task.memory.scratch->take<Step>(lanes_)) {}

    void learn(std::int64_t i, const ReadRow& row) {
        const std::int64_t y = classes_.label(i);
        const std::int64_t count = std::max(classes_.known, y + 1);
        look(row, count);
        AverageState* const state = task_.memory.average_state;
        const double* const predicted = state != nullptr && state->average_is_better() ? averages_ : scores_;
        classes_.write(i, predicted, [this](std::int64_t top) { return terms_.v()[top]; });
        if (y < 0) return;
        counts.mistakes += !classes_.predicts(y, predicted);
        if (state != nullptr)
            state->count(!classes_.predicts(y, scores_), !classes_.predicts(y, averages_), classes_.weight(i));
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
        return Model(memory.of_class(lane, lane, lane), {memory.entries + lane, stride, memory.size},
                     {memory.entries + lanes_ + lane, stride, memory.size});
    }

    void look(const ReadRow& row, std::int64_t count) const noexcept {
        sum_lanes<kVariances>(row, task_.memory.entries, lanes_, count, scores_, terms_.v());
        if constexpr (!kVariances) std::fill(terms_.v(), terms_.v() + count, squared_length(row));
        if (lags_.exist()) lags_.sum(row, count, averages_);
        for (std::int64_t r = 0; r < count; ++r) {
            const Model model = model_of(r);
            scores_[r] *= model.scalars->mean_scale;
            if (lags_.exist()) averages_[r] = scores_[r] - averages_[r] * model.lag_scale();
            terms_.v()[r] *= variance_scale<FeatureStep>(model);
        }
    }

    // Nothing moves before all classes have been asked: a rule that is a Python function may raise.
    bool ask(std::int64_t lane, double sign, double weight) {
        Model model = model_of(lane);
        Counts uncounted;
        const Look look{scores_[lane], terms_.v()[lane]};
        steps_[lane] = SCWLEARN_SET::ask(task_.rule, sign, weight, look, look.score, model, uncounted);
        terms_.moves()[lane] = moves(steps_[lane]);
        return moves(steps_[lane]);
    }

    void move(const ReadRow& row, std::int64_t count, std::int64_t y) noexcept {
        each_that_moves(count, [&](std::int64_t lane, Model& model) {
            model.shrink_mean(steps_[lane].shrink);
            const double sign = lane == y ? 1.0 : -1.0;
            terms_.set(lane, terms_of<FeatureStep>(model, steps_[lane], sign, terms_.v()[lane]), model.lag_rate());
        });
        const double* const moved = terms_.moves();
        for (std::int64_t lane = 0; lane < count; lane += kLaneWidth)
            if (std::any_of(moved + lane, moved + lane + kLaneWidth, [](double m) { return m != 0.0; })) {
                const auto gained = move_lanes<FeatureStep, Lanes, kNorm>(row, task_.memory.entries, lanes_, terms_, lane,
                                                                          lags_.exist() ? &lags_ : nullptr);
                if constexpr (kNorm) store(gained_ + lane, gained);
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
    double *scores_, *averages_;
    Lags lags_;
    double* gained_;
    LaneTerms terms_;
    Step* steps_;
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
Counts learn_each_class(const Task& task) {
    RestRound<FeatureStep, kNorm> round(task);
    const Memory& memory = task.memory;
    const std::int64_t stride = feature_stride(task.form, memory.lanes);
    ReadAhead rows(task.rows, memory.entries, stride, memory.scratch->take<Feature>(2 * memory.size));
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
