// Kernel learning with several classes: models over coordinates, and their rounds.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/covariance.hpp"
#include "loops/kernel.hpp"
#include "core/class_round.hpp"

namespace scwlearn::SCWLEARN_SET {

// What the models share with any covariance: spans and scalars.
class KernelClasses {
public:
    KernelClasses(const KernelTask& task, CovarianceKind kind) : task_(task) {
        for (std::int64_t c = 0; c < task.task.memory.lanes; ++c) models_.emplace_back(task.models[c], kind);
        for (std::int64_t s = 0; s < task.spans; ++s) spans_.emplace_back(task.batches[s]);
    }

    KernelClasses(const KernelClasses&) = delete;
    KernelClasses& operator=(const KernelClasses&) = delete;

    Model& model(std::int64_t c) noexcept { return models_[c]; }

protected:
    std::int64_t count() const noexcept { return task_.task.memory.lanes; }
    bool one_span() const noexcept { return task_.spans == 1; }
    Coordinates& span(std::int64_t c) noexcept { return spans_[one_span() ? 0 : c]; }

    // mu <- shrink mu and Sigma <- grow Sigma for joint models; return the factor that the stored numbers were
    // multiplied by.
    double shrink_means(double shrink) noexcept {
        const double folded = models_.front().shrink_mean(shrink);
        if (folded != 1.0)
            for (std::size_t c = 1; c < models_.size(); ++c) models_[c].fold_mean(folded);
        return folded;
    }

    double grow_spreads(double grow) noexcept {
        const double folded = models_.front().grow_spread(grow);
        if (folded != 1.0)
            for (std::size_t c = 1; c < models_.size(); ++c) models_[c].fold_variances(folded);
        return folded;
    }

    // For rules that use the norm of the mean; joint models have one norm.
    void measure_norm2() noexcept {
        double norm2 = 0.0;
        for (Model& model : models_) {
            model.measure_norm2();
            norm2 += model.scalars->norm2;
        }
        if (task_.task.form.scheme == kJoint)
            models_.front().scalars->norm2 = models_.front().scalars->norm2_peak = norm2;
    }

    void report_supports() const noexcept {
        for (std::size_t s = 0; s < spans_.size(); ++s) task_.supports[s] = spans_[s].support();
    }

    const KernelTask& task_;

private:
    std::vector<Model> models_;
    std::vector<Coordinates> spans_;
};

// Sigma = a I for every class, over coordinates in one span; one row at a time.
class FirstOrderClasses : public KernelClasses {
public:
    explicit FirstOrderClasses(const KernelTask& task) : KernelClasses(task, kIdentity), looks_(count()) {}

    std::int64_t rows_at_once() const noexcept { return 1; }

    void look(std::int64_t first, std::int64_t) noexcept {
        row_ = first;
        for (std::int64_t c = 0; c < count(); ++c) {
            Look& look = looks_[c] = Identity::look(row(), model(c));
            look.variance += model(c).initial_variance * span(0).left(row_);
        }
    }

    Look at(std::int64_t c, std::int64_t) const noexcept { return looks_[c]; }

    // The identity has no floor.
    double least_variance(std::int64_t, std::int64_t) const noexcept { return 0.0; }

    // Moves joint models by parts of one step.
    void move(std::int64_t, const Step& step, const double* parts) noexcept {
        span(0).take(row_);
        shrink_means(step.shrink);
        for (std::int64_t c = 0; c < count(); ++c)
            if (parts[c] != 0.0) Identity::move<false>(row(), model(c), {step.alpha}, parts[c], 0.0);
        moved_ = true;
    }

    // Moves each model by a step of its own.
    void move_each(std::int64_t, const std::vector<Step>& steps, std::int64_t y) noexcept {
        span(0).take(row_);
        for (std::int64_t c = 0; c < count(); ++c) {
            const Step& step = steps[c];
            if (moves(step)) Identity::move<false>(row(), model(c), step, c == y ? 1.0 : -1.0, 0.0);
        }
        moved_ = true;
    }

    void finish() noexcept {
        if (moved_ && task_.task.rule.uses_norm) measure_norm2();
        moved_ = false;
    }

    void catch_up() noexcept { report_supports(); }

private:
    DenseRow<double> row() noexcept { return {span(0).row(row_), span(0).support(), false}; }

    std::vector<Look> looks_;
    std::int64_t row_ = 0;
    bool moved_ = false;
};

// A full Sigma per class, in blocks. All classes look at all rows; each thread takes a class.
class SecondOrderClasses : public KernelClasses {
public:
    explicit SecondOrderClasses(const KernelTask& task) : KernelClasses(task, kFull), team_(task.task.threads) {
        for (std::int64_t c = 0; c < count(); ++c) {
            // A team of one per class: its pending updates stay in it until the class has finished the block.
            Team& alone = alone_.emplace_back(1);
            blocks_.emplace_back(model(c), rows_at_once(), task.task.rows.count, alone, span(c));
        }
    }

    std::int64_t rows_at_once() const noexcept { return task_.task.rule.uses_norm ? 1 : task_.task.block; }

    void look(std::int64_t first, std::int64_t count_of_rows) noexcept {
        for_all([&](std::int64_t c) {
            const KernelBatch& batch = task_.batches[one_span() ? 0 : c];
            const Rows rows{kDense64, batch.coordinates, nullptr, nullptr, batch.rows * batch.stride, batch.rows,
                            batch.stride, false};
            of(c).look(Dense<double>{rows}, first, count_of_rows);
        });
        first_ = first;
    }

    Look at(std::int64_t c, std::int64_t row) const noexcept { return blocks_[c][row]; }

    // Lower bound on the variance of a row.
    double least_variance(std::int64_t c, std::int64_t row) noexcept {
        if (model(c).floor == 0.0) return 0.0;
        const DenseRow<double> inside(span(c).row(first_ + row), span(c).support(), false);
        return of(c).least_variance(inside, row);
    }

    void move(std::int64_t row, const Step& step, const double* parts) noexcept {
        take(row, [parts](std::int64_t c) { return parts[c] != 0.0; });
        if (step.shrink != 1.0) {
            const double folded = shrink_means(step.shrink);
            for (KernelBlocks& blocks : blocks_) {
                blocks.shrink_scores(step.shrink);
                blocks.scale_mean(folded);
            }
        }
        for (std::int64_t c = 0; c < count(); ++c)
            if (parts[c] != 0.0) of(c).move_part(row, step, parts[c]);
        if (step.grow != 1.0) {
            const double grown = grow_spreads(step.grow);
            for (KernelBlocks& blocks : blocks_) blocks.scale_variances(grown);
        }
    }

    void move_each(std::int64_t row, const std::vector<Step>& steps, std::int64_t y) noexcept {
        take(row, [&](std::int64_t c) { return moves(steps[c]); });
        for (std::int64_t c = 0; c < count(); ++c)
            if (moves(steps[c])) of(c).move_inside(row, steps[c], c == y ? 1.0 : -1.0);
    }

    void finish() noexcept {
        for_all([this](std::int64_t c) { of(c).finish(); });
        if (task_.task.rule.uses_norm) measure_norm2();
    }

    void catch_up() noexcept {
        for_all([this](std::int64_t c) { of(c).catch_up(); });
        report_supports();
    }

private:
    KernelBlocks& of(std::int64_t c) noexcept { return blocks_[c]; }

    template <class Action>
    void for_all(const Action& action) {
        team_.share(count(), action);
    }

    // Adds a row to the support of all classes if they have one span, else of those that move.
    template <class Moves>
    void take(std::int64_t row, const Moves& moves) noexcept {
        if (one_span()) {
            const std::int64_t feature = span(0).support();
            if (!span(0).take(first_ + row)) return;
            for (KernelBlocks& blocks : blocks_) blocks.add_coordinate(row, feature);
            return;
        }
        for (std::int64_t c = 0; c < count(); ++c) {
            const std::int64_t feature = span(c).support();
            if (moves(c) && span(c).take(first_ + row)) of(c).add_coordinate(row, feature);
        }
    }

    Team team_;
    std::deque<Team> alone_;
    std::deque<KernelBlocks> blocks_;
    std::int64_t first_ = 0;
};

// Looks at the rows of a block, then learns from each in turn.
template <class Models, class Learn>
void learn_rows(const Task& task, Models& models, const Learn& learn) {
    const std::int64_t block = models.rows_at_once();
    for (std::int64_t first = 0; first < task.rows.count; first += block) {
        const std::int64_t count = std::min(block, task.rows.count - first);
        models.look(first, count);
        for (std::int64_t row = 0; row < count; ++row) learn(first + row, row);
        models.finish();
    }
}

// Records the scores and the variance of a row before it is learned from, if wanted.
template <class Models>
void write_looks(const Task& task, const Classes& classes, const Models& models, std::int64_t i, std::int64_t row,
                 const double* scores) {
    classes.write(i, scores);
    if (task.variances == nullptr) return;
    const std::int64_t top = classes.top_except(-1, scores);
    task.variances[i] = top < 0 ? 0.0 : models.at(top, row).variance;
}

// Rounds of joint classes. Each class keeps its own floor of the variance.
template <class Models>
Counts learn_jointly(const Task& task, Models& models) {
    const std::int64_t lanes = task.memory.lanes;
    std::vector<double> scores(lanes), parts(lanes);
    JointRound round(task, models.model(0));

    const auto learn = [&](std::int64_t i, std::int64_t row) {
        for (std::int64_t c = 0; c < round.classes.known; ++c) scores[c] = models.at(c, row).score;
        write_looks(task, round.classes, models, i, row, scores.data());
        const std::int64_t y = round.classes.label(i);
        if (y < 0 || !round.meet(y, scores.data())) return;
        const double v = models.at(y, row).variance + models.at(round.rival, row).variance;
        const Step step = round.ask(y, round.classes.weight(i), scores.data(), v);
        if (!moves(step)) return;
        round.parts(y, scores.data(), parts.data(), lanes);
        models.move(row, step, parts.data());
    };

    learn_rows(task, models, learn);
    return round.counts;
}

// Rounds of one versus rest: each class learns its own rows against all others.
template <class Models>
Counts learn_each_class(const Task& task, Models& models) {
    const std::int64_t lanes = task.memory.lanes;
    std::vector<double> scores(lanes);
    std::vector<Step> steps(lanes, HOLD);
    Classes classes(task);
    Counts counts;

    const auto learn = [&](std::int64_t i, std::int64_t row) {
        const std::int64_t y = classes.label(i), known = std::max(classes.known, y + 1);
        for (std::int64_t c = 0; c < known; ++c) scores[c] = models.at(c, row).score;
        write_looks(task, classes, models, i, row, scores.data());
        if (y < 0) return;
        counts.mistakes += !classes.predicts(y, scores.data());
        classes.known = known;
        Counts of_classes;
        for (std::int64_t c = 0; c < known; ++c)
            steps[c] = ask(task.rule, c == y ? 1.0 : -1.0, classes.weight(i), models.at(c, row), models.model(c),
                           of_classes, models.least_variance(c, row));
        if (of_classes.updates == 0) return;
        counts.updates += 1;
        models.move_each(row, steps, y);
    };

    learn_rows(task, models, learn);
    return counts;
}

}  // namespace scwlearn::SCWLEARN_SET
