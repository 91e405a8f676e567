// One round of a model with any covariance: count, find the rival if there are several classes, ask the rule, and record
// what was asked for.
#pragma once

#include <limits>

#include "core/model.hpp"
#include "core/rows.hpp"

namespace scwlearn::SCWLEARN_SET {

// Whether a score has the wrong sign for a label.
inline bool is_wrong(double score, double y) noexcept { return (score >= 0.0) != (y > 0.0); }

// Asks the rule for a step and counts; returns HOLD if there is no step to take. `predicted` is the score that predictions
// use. With a full Sigma, `least` is a lower bound on the variance along the row; variances of features have their own
// bound.
[[gnu::always_inline]] inline Step ask(const Rule& rule, double y, double weight, const Look& look, double predicted, Model& model,
                Counts& counts, double least = 0.0) {
    if (rule.ask == nullptr) return HOLD;
    model.begin_round();
    counts.mistakes += is_wrong(predicted, y);
    if (!can_ask(look)) return HOLD;
    const double norm2 = rule.uses_norm ? model.norm2() : 0.0;
    const Step asked = rule.ask(rule.self, y * look.score, look.variance, norm2, model.scalars->rounds, 1.0, weight);
    // Number by number: a wide load of what the rule has just stored would have to wait for the stores.
    const Step step{asked.alpha, std::min(asked.precision, most_precision(least, look.variance)), asked.shrink, asked.grow};
    if (!moves(step) || !(shows(step, look) && can_take(step, look.variance))) return HOLD;
    counts.updates += 1;
    return step;
}

// Whether the rule holds at a row of which only an upper bound on v is known; if so, the round is over. Not for averaged
// means, whose rounds need the score of the lag.
inline bool holds(const Rule& rule, double y, double weight, const Look& bound, Model& model) {
    if (!can_ask(bound)) return false;
    const double round = model.scalars->rounds + 1.0;
    if (moves(rule.ask(rule.self, y * bound.score, bound.variance, model.norm2(), round, 1.0, weight))) return false;
    model.scalars->rounds = round;
    return true;
}

// The rounds of a task.
class Round {
public:
    explicit Round(const Task& task) noexcept : task_(task) {}

    // `lag_score` is the score of the lag of an averaged mean.
    [[gnu::always_inline]] Step ask(std::int64_t i, const Look& look, double lag_score, Model& model,
                                    double least = 0.0) {
        const double y = task_.signs[i], weight = task_.weight(i), average = look.score - lag_score;
        const double predicted = model.uses_average() ? average : look.score;
        if (model.is_averaged() && task_.rule.ask != nullptr)
            model.average_state->count(is_wrong(look.score, y), is_wrong(average, y), weight);
        const Step step = SCWLEARN_SET::ask(task_.rule, y, weight, look, predicted, model, counts, least);
        if (task_.scores != nullptr) task_.scores[i] = predicted;
        if (task_.variances != nullptr) task_.variances[i] = look.variance;
        if (task_.trace != nullptr) {
            double* line = task_.trace + i * kTraceWidth;
            line[0] = predicted;
            line[1] = look.variance;
            line[2] = step.alpha;
            line[3] = step.precision;
        }
        return step;
    }

    // Whether the rule holds at a row of which only an upper bound on v is known; if so, the row is done.
    bool holds(std::int64_t i, const Look& bound, Model& model) {
        if (!SCWLEARN_SET::holds(task_.rule, task_.signs[i], task_.weight(i), bound, model)) return false;
        counts.mistakes += (bound.score >= 0.0) != (task_.signs[i] > 0);
        return true;
    }

    double label(std::int64_t i) const noexcept { return task_.signs[i]; }

    Counts counts;

private:
    const Task& task_;
};

// Whether the stored variance of a feature that was never seen differs from the prior; and that variance.
inline bool has_grown(const Model& model) noexcept {
    return model.scalars->growth != 1.0 || model.scalars->spread_scale != 1.0;
}
inline double unseen_variance(const Model& model) noexcept {
    // The ratio first: where it is 1, the variance is that of features for which there was room before the growth.
    const double grown = model.initial_variance * (model.scalars->growth / model.scalars->spread_scale);
    return std::clamp(grown, kSmallestVariance, kLargestVariance);
}

// The classes of a task: labels, ties, and recorded scores.
class Classes {
public:
    explicit Classes(const Task& task) noexcept : known(*task.memory.known), task_(task) {}

    double weight(std::int64_t i) const noexcept { return task_.weight(i); }

    // The class of a row, at most the number of known classes. Labels have been checked, but the array belongs to
    // Python and may have changed since: -1 for an invalid one, whose row is of no class.
    std::int64_t label(std::int64_t i) const noexcept {
        const std::int64_t y = task_.labels[i];
        return y >= 0 && y <= known && y < task_.memory.lanes ? y : -1;
    }

    // Whether the known classes predict the class of a row. Ties go to the earliest class; a new class is never
    // predicted.
    bool predicts(std::int64_t y, const double* scores) const noexcept {
        return y < known && top_except(-1, scores) == y;
    }

    // The class with the highest score except `left_out`; ties go to the earliest class. -1 if there is none.
    std::int64_t top_except(std::int64_t left_out, const double* scores) const noexcept {
        std::int64_t best = -1;
        for (std::int64_t r = 0; r < known; ++r)
            if (r != left_out && (best < 0 || scores[r] > scores[best])) best = r;
        return best;
    }

    // Writes the scores of a row before it is learned from, and the variance of the class with the largest, if they are
    // recorded. `variance_of` computes x'Sigma x of a class.
    template <class VarianceOf>
    void write(std::int64_t i, const double* scores, const VarianceOf& variance_of) const {
        if (task_.scores != nullptr) {
            double* line = task_.scores + i * task_.score_stride;
            for (std::int64_t r = 0; r < task_.score_stride; ++r)
                line[r] = r < known ? scores[r] : -std::numeric_limits<double>::infinity();
        }
        if (task_.variances == nullptr) return;
        const std::int64_t top = top_except(-1, scores);
        task_.variances[i] = top < 0 ? 0.0 : variance_of(top);
    }

    std::int64_t& known;

private:
    const Task& task_;
};

// The rounds of joint classes: one model in the space of all weights, with x in the block of the class and -x in that
// of the rival.
class JointRound {
public:
    // The mean of `model` consists of the weights of all classes.
    JointRound(const Task& task, Model& model) noexcept : task_(task), model_(model), classes(task) {}

    // Which scores predictions use: those of the means, or of their averages.
    const double* shown(const double* scores, const double* averages) const noexcept {
        return model_.uses_average() ? averages : scores;
    }

    // Counts row i, of class y, given the scores of the known classes, and makes y known. Returns whether there is a
    // rival; `scores` then has the scores of both. The scores of averages are not read unless means are averaged.
    bool meet(std::int64_t i, std::int64_t y, double* scores, const double* averages) noexcept {
        counts.mistakes += !classes.predicts(y, shown(scores, averages));
        if (model_.is_averaged())
            model_.average_state->count(!classes.predicts(y, scores), !classes.predicts(y, averages), classes.weight(i));
        model_.begin_round();
        if (y == classes.known) {
            classes.known += 1;
            scores[y] = 0.0;
        }
        return face(y, scores);
    }

    // Finds the best rival of a known class; returns whether there is one.
    bool face(std::int64_t y, const double* scores) noexcept {
        rival = classes.top_except(y, scores);
        return rival >= 0;
    }

    // Whether the rule holds at every variance up to `bound`; only for rules with `holds_below`.
    bool holds(std::int64_t y, double w, const double* scores, double bound) const {
        const Look look{scores[y] - scores[rival], bound};
        return can_ask(look) && !moves(answer(look, w));
    }

    // Asks the rule for a step at the row just met, with sample weight w and margin variance v. With a full Sigma,
    // `most` bounds the precision that the step may add; variances of features have their own bound.
    Step ask(std::int64_t y, double w, const double* scores, double v,
             double most = std::numeric_limits<double>::infinity()) {
        const Look look{scores[y] - scores[rival], v};
        Step step = HOLD;
        if (can_ask(look)) step = answer(look, w);
        step.precision = std::min(step.precision, most);
        // The rounding error of a difference is proportional to the size of its terms.
        const Look size{std::abs(scores[y]) + std::abs(scores[rival]), v};
        if (moves(step) && !(shows(step, size) && can_take(step, v))) step = HOLD;
        counts.updates += moves(step);
        return step;
    }

    // Computes the share of the step of each class: they sum to 1, and classes that score less than y get 0.
    void share(std::int64_t y, const double* scores, double* shares) const noexcept {
        double total = 0.0;
        for (const bool alike : {task_.form.rivals == kUniform, true}) {
            total = 0.0;
            for (std::int64_t r = 0; r < classes.known; ++r) {
                const bool takes = r != y && scores[r] >= scores[y];
                shares[r] = !takes ? 0.0 : alike ? 1.0 : scores[r] - scores[y];
                total += shares[r];
            }
            // If no class leads y, all get the same share.
            if (total > 0.0 && std::isfinite(total)) break;
        }
        for (std::int64_t r = 0; r < classes.known; ++r) shares[r] /= total;
    }

    // Computes the part of a step of each of `count` classes: 1 for y, minus its share for a rival, 0 for the others.
    void parts(std::int64_t y, const double* scores, double* parts, std::int64_t count) const noexcept {
        std::fill(parts, parts + count, 0.0);
        if (task_.form.rivals == kBest) {
            parts[rival] = -1.0;
        } else {
            share(y, scores, parts);
            for (std::int64_t r = 0; r < count; ++r) parts[r] = -parts[r];
        }
        parts[y] = 1.0;
    }

    std::int64_t rival = -1;
    Counts counts;

private:
    Step answer(const Look& look, double w) const {
        const double norm2 = task_.rule.uses_norm ? model_.norm2() : 0.0;
        const double rows = task_.form.shared ? 2.0 : 1.0;
        return task_.rule.ask(task_.rule.self, look.score, look.variance, norm2, model_.scalars->rounds, rows, w);
    }

    const Task& task_;
    Model& model_;

public:
    Classes classes;
};

}  // namespace scwlearn::SCWLEARN_SET
