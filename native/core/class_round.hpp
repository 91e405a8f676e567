// One round with several classes that are one model, whatever the covariance: who is the rival, count, ask the rule.
#pragma once

#include <limits>

#include "core/round.hpp"

namespace scwlearn::SCWLEARN_SET {

// Whether what was never seen has another variance by now than at first, and which, as it is stored.
inline bool has_grown(const Model& model) noexcept {
    return model.scalars->growth != 1.0 || model.scalars->spread_scale != 1.0;
}
inline double unseen_variance(const Model& model) noexcept {
    return model.initial_variance * model.scalars->growth / model.scalars->spread_scale;
}

// The classes of a task: which are known, which one a row is of, and what the classes before it said of the row.
class Classes {
public:
    explicit Classes(const Task& task) noexcept : known(*task.memory.known), task_(task) {}

    double weight(std::int64_t i) const noexcept { return task_.weight(i); }

    // The class of a row, at most one more than are known. Labels have been checked, but the array belongs to Python,
    // where somebody may have written to it since: a row with a label that is none is left out, as -1.
    std::int64_t label(std::int64_t i) const noexcept {
        const std::int64_t y = task_.labels[i];
        return y >= 0 && y <= known && y < task_.memory.lanes ? y : -1;
    }

    // Whether the classes known before a row foretell its own, the first of equals; a new class nobody can.
    bool foretell(std::int64_t y, const double* scores) const noexcept { return y < known && best_but(-1, scores) == y; }

    // The class with the highest score, the first of equals, but not `left_out`; -1 where there is none.
    std::int64_t best_but(std::int64_t left_out, const double* scores) const noexcept {
        std::int64_t best = -1;
        for (std::int64_t r = 0; r < known; ++r)
            if (r != left_out && (best < 0 || scores[r] > scores[best])) best = r;
        return best;
    }

    // The scores of a row before it is learned from, where they are asked for.
    void write(std::int64_t i, const double* scores) const noexcept {
        if (task_.scores == nullptr) return;
        double* line = task_.scores + i * task_.score_stride;
        for (std::int64_t r = 0; r < task_.score_stride; ++r)
            line[r] = r < known ? scores[r] : -std::numeric_limits<double>::infinity();
    }

    std::int64_t& known;

private:
    const Task& task_;
};

// The rounds of a task whose classes are one model in the space of all weights: x stands in the block of its class, and
// -x in that of the rival.
class JointRound {
public:
    // `model` has the weights of all classes as its mean.
    JointRound(const Task& task, Model& model) noexcept : task_(task), model_(model), classes(task) {}

    // Counts a row of class y, given what the known classes say of it, and makes y known. Whether there are two classes
    // to ask about; `scores` has those of both then.
    bool meet(std::int64_t y, double* scores) noexcept {
        model_.scalars->rounds += 1.0;
        counts.mistakes += !classes.foretell(y, scores);
        if (y == classes.known) {
            classes.known += 1;
            scores[y] = 0.0;
        }
        return face(y, scores);
    }

    // Finds the best rival of a known class; whether there is one.
    bool face(std::int64_t y, const double* scores) noexcept {
        rival = classes.best_but(y, scores);
        return rival >= 0;
    }

    // Whether the rule holds, and does so at any variance up to this one. Not for rules of which that is not known.
    bool holds(std::int64_t y, double w, const double* scores, double bound) const {
        const Look look{scores[y] - scores[rival], bound};
        return can_ask(look) && !moves(answer(look, w));
    }

    // Asks the rule about the row just met, of weight w, the margin of which has the variance v. Where Sigma is full,
    // `most` is how much precision the step may add; the variances of features have a floor of their own.
    Step ask(std::int64_t y, double w, const double* scores, double v,
             double most = std::numeric_limits<double>::infinity()) {
        const Look look{scores[y] - scores[rival], v};
        Step step = HOLD;
        if (can_ask(look)) step = answer(look, w);
        step.precision = std::min(step.precision, most);
        // What rounding does to a difference is measured by what it is a difference of.
        const Look size{std::abs(scores[y]) + std::abs(scores[rival]), v};
        if (moves(step) && !(shows(step, size) && can_take(step, v))) step = HOLD;
        counts.updates += moves(step);
        return step;
    }

    // How much of a step each class takes that scores no less than y; the others 0. All of it in sum.
    void share(std::int64_t y, const double* scores, double* shares) const noexcept {
        double total = 0.0;
        for (const bool alike : {task_.rivals == kUniform, true}) {
            total = 0.0;
            for (std::int64_t r = 0; r < classes.known; ++r) {
                const bool takes = r != y && scores[r] >= scores[y];
                shares[r] = !takes ? 0.0 : alike ? 1.0 : scores[r] - scores[y];
                total += shares[r];
            }
            // No difference to share by: alike.
            if (total > 0.0 && std::isfinite(total)) break;
        }
        for (std::int64_t r = 0; r < classes.known; ++r) shares[r] /= total;
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
