// One round of a binary model with any covariance: count, ask the rule, write the trace.
#pragma once

#include "core/model.hpp"
#include "core/rows.hpp"

namespace scwlearn::SCWLEARN_SET {

// Asks the rule for a step and counts; returns HOLD if there is no step to take. With a full Sigma, `least` is a lower
// bound on the variance along the row; variances of features have their own bound.
inline Step ask(const Rule& rule, double y, double weight, const Look& look, Model& model, Counts& counts,
                double least = 0.0) {
    model.scalars->rounds += 1.0;
    counts.mistakes += (look.score >= 0.0) != (y > 0.0);
    Step step = HOLD;
    if (can_ask(look)) {
        const double norm2 = rule.uses_norm ? model.norm2() : 0.0;
        step = rule.ask(rule.self, y * look.score, look.variance, norm2, model.scalars->rounds, 1.0, weight);
        step = not_below(least, step, look.variance);
    }
    if (moves(step) && !(shows(step, look) && can_take(step, look.variance))) step = HOLD;
    counts.updates += moves(step);
    return step;
}

// Whether the rule holds at a row of which only an upper bound on v is known; if so, the round is over.
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

    Step ask(std::int64_t i, const Look& look, Model& model, double least = 0.0) {
        const Step step = SCWLEARN_SET::ask(task_.rule, task_.signs[i], task_.weight(i), look, model, counts, least);
        if (task_.trace != nullptr) {
            double* line = task_.trace + i * kTraceWidth;
            line[0] = look.score;
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

// One loop per kind of row, in the order of RowKind.
template <template <class> class LoopOver, class Loops>
constexpr Loops over_rows() {
    return {&LoopOver<Dense<float>>::run,
            &LoopOver<Dense<double>>::run,
            &LoopOver<Sparse<float, std::int32_t>>::run,
            &LoopOver<Sparse<float, std::int64_t>>::run,
            &LoopOver<Sparse<double, std::int32_t>>::run,
            &LoopOver<Sparse<double, std::int64_t>>::run};
}

}  // namespace scwlearn::SCWLEARN_SET
