// The loops of kernel learners, over rows as coordinates: binary and several classes. Compiled once per instruction set,
// as loops/row_loops.cpp is.
#include <cstdint>
#include <deque>
#include <vector>

#include "core/covariance.hpp"
#include "loops/kernel.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <bool kNorm>
Counts learn_rows(const Task& task, Coordinates& coordinates) {
    Model model(task.memory, kIdentity);
    Round round(task);
    const auto row = [&](std::int64_t i) {
        return DenseRow<double>(coordinates.row(i), coordinates.support(), false);
    };
    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        Look look = Identity::look(row(i), model);
        look.variance += model.initial_variance * coordinates.left(i);
        const Step step = round.ask(i, look, 0.0, model);
        if (!moves(step)) continue;
        coordinates.take(i);
        Identity::move<kNorm, false>(row(i), model, step, task.signs[i], look.variance);
    }
    return round.counts;
}

Counts learn_first_order(const KernelTask& kernel) {
    Coordinates coordinates(kernel.batches[0]);
    const Counts counts = kernel.task.rule.uses_norm ? learn_rows<true>(kernel.task, coordinates)
                                                     : learn_rows<false>(kernel.task, coordinates);
    kernel.supports[0] = coordinates.support();
    return counts;
}

Counts learn_second_order(const KernelTask& kernel) {
    const Task& task = kernel.task;
    Coordinates coordinates(kernel.batches[0]);
    Model model(task.memory, kFull);
    Round round(task);
    Team team(task.threads);
    KernelBlocks full(model, rows_at_once(task), task.rows.count, team, coordinates);
    learn_blocks(task, Dense<double>{task.rows}, full, model, round, [](std::int64_t) { return false; });
    kernel.supports[0] = coordinates.support();
    return round.counts;
}

// What the models of several classes share with any covariance: spans and scalars.
class KernelClasses {
public:
    KernelClasses(const KernelTask& task, CovarianceKind kind) : task_(task) {
        for (std::int64_t c = 0; c < task.task.memory.lanes; ++c) models_.emplace_back(task.models[c], kind);
        for (std::int64_t s = 0; s < task.spans; ++s) spans_.emplace_back(task.batches[s]);
    }

    KernelClasses(const KernelClasses&) = delete;
    KernelClasses& operator=(const KernelClasses&) = delete;

    Model& model(std::int64_t c) noexcept { return models_[c]; }

    void report_supports() const noexcept {
        for (std::size_t s = 0; s < spans_.size(); ++s) task_.supports[s] = spans_[s].support();
    }

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

    const KernelTask& task_;

private:
    std::vector<Model> models_;
    std::vector<Coordinates> spans_;
};

// Sigma = a I for every class, over coordinates in one span; one row at a time.
class FirstOrderClasses : public KernelClasses {
public:
    explicit FirstOrderClasses(const KernelTask& task) : KernelClasses(task, kIdentity), looks_(count()) {}

    std::int64_t block() const noexcept { return 1; }

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

    void move(std::int64_t, const Step& common, const std::vector<Step>& steps, const double* parts) noexcept {
        span(0).take(row_);
        if (common.shrink != 1.0) shrink_means(common.shrink);
        for (std::int64_t c = 0; c < count(); ++c)
            if (parts[c] != 0.0) Identity::move<false, false>(row(), model(c), steps[c], parts[c], 0.0);
        moved_ = true;
    }

    void finish() noexcept {
        if (moved_ && task_.task.rule.uses_norm) measure_norm2();
        moved_ = false;
    }

    void catch_up() noexcept {}

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
            blocks_.emplace_back(model(c), block(), task.task.rows.count, alone, span(c));
        }
    }

    std::int64_t block() const noexcept { return rows_at_once(task_.task); }

    void look(std::int64_t first, std::int64_t count_of_rows) noexcept {
        team_.share(count(), [&](std::int64_t c) {
            const KernelBatch& batch = task_.batches[one_span() ? 0 : c];
            const Rows rows{kDense64, batch.coordinates, nullptr, nullptr, batch.rows * batch.stride, batch.rows,
                            batch.stride, false};
            blocks_[c].look(Dense<double>{rows}, first, count_of_rows);
        });
        first_ = first;
    }

    Look at(std::int64_t c, std::int64_t row) const noexcept { return blocks_[c][row]; }

    // Lower bound on the variance of a row.
    double least_variance(std::int64_t c, std::int64_t row) noexcept {
        if (model(c).floor == 0.0) return 0.0;
        const DenseRow<double> inside(span(c).row(first_ + row), span(c).support(), false);
        return blocks_[c].least_variance(inside, row);
    }

    void move(std::int64_t row, const Step& common, const std::vector<Step>& steps, const double* parts) noexcept {
        take(row, parts);
        if (common.shrink != 1.0) {
            const double folded = shrink_means(common.shrink);
            for (KernelBlocks& blocks : blocks_) blocks.shrink_scores(common.shrink, folded);
        }
        for (std::int64_t c = 0; c < count(); ++c)
            if (parts[c] != 0.0) blocks_[c].move_inside(row, steps[c], parts[c]);
        if (common.grow != 1.0) {
            const double grown = grow_spreads(common.grow);
            for (KernelBlocks& blocks : blocks_) blocks.scale_variances(grown);
        }
    }

    void finish() noexcept {
        team_.share(count(), [this](std::int64_t c) { blocks_[c].finish(); });
        if (task_.task.rule.uses_norm) measure_norm2();
    }

    void catch_up() noexcept {
        team_.share(count(), [this](std::int64_t c) { blocks_[c].catch_up(); });
    }

private:
    // Adds a row to the support of all classes if they have one span, else of those that move.
    void take(std::int64_t row, const double* parts) noexcept {
        if (one_span()) {
            const std::int64_t feature = span(0).support();
            if (!span(0).take(first_ + row)) return;
            for (KernelBlocks& blocks : blocks_) blocks.add_coordinate(row, feature);
            return;
        }
        for (std::int64_t c = 0; c < count(); ++c) {
            const std::int64_t feature = span(c).support();
            if (parts[c] != 0.0 && span(c).take(first_ + row)) blocks_[c].add_coordinate(row, feature);
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
    const std::int64_t block = models.block();
    for (std::int64_t first = 0; first < task.rows.count; first += block) {
        const std::int64_t count = std::min(block, task.rows.count - first);
        models.look(first, count);
        for (std::int64_t row = 0; row < count; ++row) learn(first + row, row);
        models.finish();
    }
    models.catch_up();
    models.report_supports();
}

// Rounds of joint classes. Each class keeps its own floor of the variance.
template <class Models>
Counts learn_jointly(const Task& task, Models& models) {
    const std::int64_t lanes = task.memory.lanes;
    std::vector<double> scores(lanes), parts(lanes);
    std::vector<Step> steps(lanes);
    JointRound round(task, models.model(0));
    learn_rows(task, models, [&](std::int64_t i, std::int64_t row) {
        for (std::int64_t c = 0; c < round.classes.known; ++c) scores[c] = models.at(c, row).score;
        round.classes.write(i, scores.data(), [&](std::int64_t top) { return models.at(top, row).variance; });
        const std::int64_t y = round.classes.label(i);
        if (y < 0 || !round.meet(i, y, scores.data(), nullptr)) return;
        const double v = models.at(y, row).variance + models.at(round.rival, row).variance;
        const Step step = round.ask(y, round.classes.weight(i), scores.data(), v);
        if (!moves(step)) return;
        round.parts(y, scores.data(), parts.data(), lanes);
        steps.assign(lanes, {step.alpha, step.precision});
        models.move(row, step, steps, parts.data());
    });
    return round.counts;
}

// Rounds of one versus rest: each class learns its own rows against all others.
template <class Models>
Counts learn_each_class(const Task& task, Models& models) {
    const std::int64_t lanes = task.memory.lanes;
    std::vector<double> scores(lanes), parts(lanes);
    std::vector<Step> steps(lanes, HOLD);
    Classes classes(task);
    Counts counts;
    learn_rows(task, models, [&](std::int64_t i, std::int64_t row) {
        const std::int64_t y = classes.label(i), known = std::max(classes.known, y + 1);
        for (std::int64_t c = 0; c < known; ++c) scores[c] = models.at(c, row).score;
        classes.write(i, scores.data(), [&](std::int64_t top) { return models.at(top, row).variance; });
        if (y < 0) return;
        counts.mistakes += !classes.predicts(y, scores.data());
        classes.known = known;
        Counts of_classes;
        for (std::int64_t c = 0; c < known; ++c) {
            const double sign = c == y ? 1.0 : -1.0;
            const Look look = models.at(c, row);
            steps[c] = ask(task.rule, sign, classes.weight(i), look, look.score, models.model(c), of_classes,
                           models.least_variance(c, row));
            parts[c] = moves(steps[c]) ? sign : 0.0;
        }
        if (of_classes.updates == 0) return;
        counts.updates += 1;
        models.move(row, HOLD, steps, parts.data());
    });
    return counts;
}

template <class Models>
Counts learn_classes(const KernelTask& kernel) {
    Models models(kernel);
    return kernel.task.form.scheme == kJoint ? learn_jointly(kernel.task, models) : learn_each_class(kernel.task, models);
}

}  // namespace

extern constinit const KernelLoops kernel_loops{&learn_first_order, &learn_second_order,
                                                &learn_classes<FirstOrderClasses>, &learn_classes<SecondOrderClasses>};

}  // namespace scwlearn::SCWLEARN_SET
