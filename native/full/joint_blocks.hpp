// Joint classes with a full Sigma, one each or one for all, in exact blocks.
#pragma once

#include <deque>
#include <memory>

#include "full/full_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

// One of the classes. Rows of a block that are expected to need its Sigma are looked at together, others when they come
// up. An update reaches U and the mean at once, because all following rows need the scores of all classes.
class ClassBlocks : public FullBlocks {
public:
    // Its own scratch memory.
    struct Own : ModelScratch {
        Own(const Memory& memory, std::int64_t block)
            : ModelScratch(memory, block, 1),
              aside(memory.scratch->take(memory.size)),
              numbers(memory.scratch->take<std::int64_t>(block)) {}

        double* aside;          // F of a row that was not expected
        std::int64_t* numbers;  // the expected rows of the block
    };

    ClassBlocks(std::int64_t rows_to_come, Model& model, Team& team, const BlockScratch& common, const Own& own)
        : FullBlocks(rows_to_come, model, SharedBy{}, team, common, own), aside_(own.aside), numbers_(own.numbers) {}

    using Factors::scale_mean;
    using Factors::scale_variances;

    void begin_block() noexcept {
        expected_ = count_ = strips_ = 0;
        begin_at(n_);
    }

    // Adds a row of the block, in order, that is expected to need this class.
    void expect(std::int64_t row) noexcept { numbers_[expected_++] = row; }

    void look_at_expected(const PlainRows& rows) noexcept {
        // Too few rows gain nothing from being looked at together.
        if (expected_ < kCompany) expected_ = 0;
        if (expected_ > 0) look(ChosenRows{rows, numbers_}, 0, expected_);
    }

    double score(const PlainRow& row) const noexcept { return row.dot(model_.entries) * model_.scalars->mean_scale; }

    // x'Sigma x of a row of the block, after all updates before it.
    double variance(const PlainRows& rows, std::int64_t row) noexcept {
        const std::int64_t *const begin = numbers_, *const end = numbers_ + expected_;
        const std::int64_t* const found = std::lower_bound(begin, end, row);
        const std::int64_t slot = found - begin;
        const bool expected = found != end && *found == row, looked_at = expected && !has_faded(slot);
        current_ = looked_at ? Current{f_of(slot), f_stride(), slot + 1} : Current{aside_, 1, slot + expected};
        const double variance =
            looked_at ? variances_[slot]
                      : multiply_alone(rows[row], aside_, [this](std::int64_t place) { begin_no_later_than(place); });
        return variance * model_.scalars->spread_scale;
    }

    // Takes a share of a step at the row last asked about, whose variance v with this class stays at least `least`.
    void move(const Step& step, double share, double v, double least) noexcept {
        // One class may have no variance left where another one has.
        if (!(v > 0.0)) return;
        work_in(current_.f, current_.stride, current_.next, not_below(least, step, v), &share, v);
        finish();
    }

private:
    static constexpr std::int64_t kCompany = kStrip / 2;

    struct Current {
        const double* f;
        std::int64_t stride;
        std::int64_t next;  // the first of the expected rows behind it
    };

    double* aside_;
    std::int64_t* numbers_;
    std::int64_t expected_ = 0;
    Current current_{};
};

// All classes, each with its own Sigma.
class JointBlocks {
public:
    JointBlocks(const Task& task, Team& team)
        : task_(task),
          team_(team),
          size_(task.memory.size),
          apart_(model_entries(kFull, size_)),
          model_(model_of(0), {task.memory.entries, apart_, *task.memory.known, size_},
                 {task.memory.entries + 2 * full_stride(size_), apart_, *task.memory.known, size_}, true),
          round_(task, model_),
          screen_(task.rule.holds_below),
          scores_(task.memory.scratch->take(task.memory.lanes)),
          averages_(task.memory.scratch->take(task.memory.lanes)),
          shares_(task.memory.scratch->take(task.memory.lanes)),
          rows_(task.rows, task.block, *task.memory.scratch),
          common_(task.memory, task.block, 1),
          own_(task.memory.scratch->take<ClassBlocks::Own>(task.memory.lanes)) {
        model_.lag_lanes = task.memory.lag_lanes;
        // For all classes, known or to come: nothing is taken once the first row is learned from.
        for (std::int64_t lane = 0; lane < task.memory.lanes; ++lane)
            std::construct_at(own_ + lane, task.memory, task.block);
        for (std::int64_t c = 0; c < round_.classes.known; ++c) add_class();
    }

    Counts learn() {
        for (std::int64_t first = 0; first < task_.rows.count; first += task_.block) {
            const std::int64_t count = std::min(task_.block, task_.rows.count - first);
            rows_.take(first, count);
            for (OneClass& one : classes_) one.blocks.begin_block();
            if (count > 1) expect(first, count);
            for (std::int64_t i = 0; i < count; ++i) learn_row(first, i);
        }
        return round_.counts;
    }

private:
    struct OneClass {
        Model model;
        ClassBlocks blocks;

        template <class... Scratches>
        OneClass(const Memory& memory, std::int64_t rows_to_come, Team& team, const Scratches&... scratches)
            : model(memory, kFull), blocks(rows_to_come, model, team, scratches...) {}
    };

    Memory model_of(std::int64_t lane) const noexcept { return task_.memory.of_class(lane * apart_, lane, 0); }

    void add_class() {
        const std::size_t c = classes_.size();
        const std::int64_t rows = task_.rows.count / std::max<std::int64_t>(1, round_.classes.known);
        classes_.emplace_back(model_of(static_cast<std::int64_t>(c)), rows, team_, common_, own_[c]);
    }

    // Adds a class that is new within a block; no row expects it there.
    void begin_class() {
        const auto c = static_cast<std::int64_t>(classes_.size());
        // Unused lanes hold the prior as it was at the start.
        if (has_grown(model_)) {
            double* const d = model_of(c).entries + 2 * full_stride(size_);
            std::fill(d, d + size_, unseen_variance(model_));
        }
        model_.mean.count = model_.variances.count = c + 1;
        add_class();
        classes_.back().blocks.begin_block();
    }

    void score(const PlainRow& row) noexcept {
        for (std::size_t c = 0; c < classes_.size(); ++c) scores_[c] = classes_[c].blocks.score(row);
    }

    // Upper bound on the variance of the margin of a row: Sigma has grown at most by `growth`.
    double bound(const PlainRow& row) const noexcept {
        constexpr double kRounding = 1.0 + 1e-9;
        return 2.0 * row.dot(row.values()) * model_.initial_variance * model_.most_growth() * kRounding;
    }

    // Lets each class look at the rows that are expected to need it, as far as can be predicted before the block.
    void expect(std::int64_t first, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const PlainRow row = rows_[i];
            const std::int64_t y = round_.classes.label(first + i);
            score(row);
            if (y < 0 || y == round_.classes.known || !round_.face(y, scores_)) continue;
            if (screen_ && round_.holds(y, round_.classes.weight(first + i), scores_, bound(row))) continue;
            for (const std::int64_t c : {y, round_.rival}) classes_[static_cast<std::size_t>(c)].blocks.expect(i);
        }
        for (OneClass& one : classes_) one.blocks.look_at_expected(rows_);
    }

    void learn_row(std::int64_t first, std::int64_t i) {
        const PlainRow row = rows_[i];
        const std::int64_t y = round_.classes.label(first + i);
        const double w = round_.classes.weight(first + i);
        score(row);
        if (model_.is_averaged())
            for (std::size_t c = 0; c < classes_.size(); ++c)
                averages_[c] = scores_[c] - classes_[c].blocks.lag_score(row);
        std::int64_t top = -1;
        round_.classes.write(first + i, round_.shown(scores_, averages_),
                             [&](std::int64_t c) { return of(top = c).variance(rows_, i); });
        if (y < 0) return;
        const bool two = round_.meet(first + i, y, scores_, averages_);
        if (round_.classes.known > static_cast<std::int64_t>(classes_.size())) begin_class();
        if (!two || (screen_ && round_.holds(y, w, scores_, bound(row)))) return;
        // The class with the largest score is one of the two, unless averages predict.
        const auto of_class = [&](std::int64_t c) {
            return c == top ? task_.variances[first + i] : of(c).variance(rows_, i);
        };
        const double own = of_class(y), other = of_class(round_.rival);
        const double least = of(y).least_variance(row, i);
        // Each class has its own floor, and takes as much of the step as it allows.
        const double most = std::max(most_precision(least, own), most_precision(least, other));
        const Step step = round_.ask(y, w, scores_, own + other, most);
        if (moves(step)) move(i, y, step, own, other, least);
    }

    void move(std::int64_t i, std::int64_t y, const Step& step, double own, double other, double least) {
        const double folded = model_.shrink_mean(step.shrink);
        for (OneClass& one : classes_) one.blocks.scale_mean(folded);
        of(y).move(step, 1.0, own, least);
        if (task_.form.rivals == kBest) {
            of(round_.rival).move(step, -1.0, other, least);
        } else {
            round_.share(y, scores_, shares_);
            for (std::int64_t r = 0; r < round_.classes.known; ++r)
                if (shares_[r] != 0.0) of(r).move(step, -shares_[r], of(r).variance(rows_, i), least);
        }
        const double grown = model_.grow_spread(step.grow);
        for (OneClass& one : classes_) one.blocks.scale_variances(grown);
        if (task_.rule.uses_norm) model_.measure_norm2();
    }

    ClassBlocks& of(std::int64_t c) noexcept { return classes_[static_cast<std::size_t>(c)].blocks; }

    const Task& task_;
    Team& team_;
    std::int64_t size_;
    std::int64_t apart_;  // distance between two classes
    Model model_;         // all classes as one
    JointRound round_;
    bool screen_;
    double *scores_, *averages_;
    double* shares_;
    PlainRows rows_;
    BlockScratch common_;
    ClassBlocks::Own* own_;
    std::deque<OneClass> classes_;
};

// All classes with one Sigma. A step moves two classes along the same Sigma x, in opposite directions.
class SharedBlocks {
public:
    SharedBlocks(const Task& task, Team& team)
        : task_(task),
          block_(rows_at_once(task)),
          count_(classes_of(task)),
          model_(task.memory, {task.memory.entries, full_stride(task.memory.size), count_, task.memory.size},
                 {task.memory.entries + (task.memory.lanes + 1) * full_stride(task.memory.size), 1, task.memory.size}, true),
          round_(task, model_),
          scores_(task.memory.scratch->take(task.memory.lanes)),
          averages_(task.memory.scratch->take(task.memory.lanes)),
          shares_(task.memory.scratch->take(task.memory.lanes)),
          rows_(task.rows, block_, *task.memory.scratch),
          full_(task.rows.count, model_, SharedBy{count_, task.memory.lanes}, team, BlockScratch(task.memory, block_, count_),
                ModelScratch(task.memory, block_, count_)) {}

    Counts learn() {
        for (std::int64_t first = 0; first < task_.rows.count; first += block_) {
            const std::int64_t count = std::min(block_, task_.rows.count - first);
            rows_.take(first, count);
            full_.look(rows_, 0, count);
            begin_ = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                if (full_.has_faded(i - begin_)) {
                    full_.finish();
                    full_.look(rows_, i, count - i);
                    begin_ = i;
                }
                learn_row(first + i, i);
            }
            full_.finish();
            if (task_.rule.uses_norm) model_.measure_norm2();
        }
        full_.catch_up();
        return round_.counts;
    }

private:
    // The number of classes after the task.
    static std::int64_t classes_of(const Task& task) noexcept {
        std::int64_t most = *task.memory.known;
        for (std::int64_t i = 0; i < task.rows.count; ++i) most = std::max<std::int64_t>(most, task.labels[i] + 1);
        return std::min(most, task.memory.lanes);
    }

    void learn_row(std::int64_t number, std::int64_t i) {
        const std::int64_t slot = i - begin_;
        const std::int64_t y = round_.classes.label(number);
        for (std::int64_t c = 0; c < round_.classes.known; ++c) {
            scores_[c] = full_.score(slot, c);
            if (model_.is_averaged()) averages_[c] = scores_[c] - full_.lag_score(rows_[i], c);
        }
        round_.classes.write(number, round_.shown(scores_, averages_),
                             [&](std::int64_t) { return full_[slot].variance; });
        // Labels may have changed since they were counted.
        if (y < 0 || y >= count_ || !round_.meet(number, y, scores_, averages_)) return;
        const double v = full_[slot].variance;
        const double most = most_precision(full_.least_variance(rows_[i], i), v);
        const Step step = round_.ask(y, round_.classes.weight(number), scores_, 2.0 * v, most);
        if (!moves(step)) return;
        round_.parts(y, scores_, shares_, count_);
        full_.move(slot, step, shares_, v);
    }

    const Task& task_;
    std::int64_t block_;
    std::int64_t count_;
    std::int64_t begin_ = 0;  // the first of the rows last looked at
    Model model_;
    JointRound round_;
    double *scores_, *averages_;
    double* shares_;
    PlainRows rows_;
    FullBlocks full_;
};

}  // namespace scwlearn::SCWLEARN_SET
