// One versus rest with a full Sigma per class: one class after another learns from a group of rows, so that its U stays
// in the cache; several classes at a time, if there are threads for them.
#pragma once

#include <limits>
#include <memory>

#include "full/full_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

class RestBlocks {
public:
    explicit RestBlocks(const Task& task)
        : task_(task),
          classes_(task),
          most_(rows_at_a_time(task)),
          begins_(task.memory.scratch->take<std::int64_t>(task.memory.lanes)),
          labels_(task.memory.scratch->take<std::int64_t>(most_)),
          said_(task.memory.scratch->take<Said>(task.memory.lanes * most_)),
          rows_(task.rows, most_, *task.memory.scratch),
          team_(static_cast<int>(std::min<std::int64_t>(task.jobs, task.memory.lanes))),
          scratches_(static_cast<std::size_t>(team_.size() - 1)) {
        for (int w = 0; w < team_.size(); ++w) {
            Memory memory = task.memory;
            if (w > 0) memory.scratch = &scratches_[static_cast<std::size_t>(w - 1)];
            workers_.push_back(std::make_unique<Worker>(task, memory, std::max(1, task.threads / team_.size())));
        }
    }

    Counts learn() {
        for (first_ = 0; first_ < task_.rows.count; first_ += most_) {
            count_ = std::min(most_, task_.rows.count - first_);
            rows_.take(first_, count_);
            meet();
            std::atomic<std::int64_t> next{0};
            team_.share(team_.size(), [&](std::int64_t worker) {
                for (std::int64_t c = next++; c < classes_.known; c = next++)
                    learn_class(c, *workers_[static_cast<std::size_t>(worker)]);
            });
            for (std::int64_t i = 0; i < count_; ++i) judge(i);
        }
        return counts_;
    }

private:
    // Enough that switching classes costs little. Averages and means are compared after every row.
    static constexpr std::int64_t kRowsAtATime = 256;
    static std::int64_t rows_at_a_time(const Task& task) noexcept {
        if (task.memory.average_state != nullptr) return std::min<std::int64_t>(1, task.rows.count);
        return std::min(std::max(task.block, kRowsAtATime), task.rows.count);
    }

    // What a thread needs to learn classes.
    struct Worker {
        Worker(const Task& task, const Memory& memory, int threads)
            : team(threads), common(memory, rows_at_once(task), 1), own(memory, rows_at_once(task), 1) {}

        Team team;
        BlockScratch common;
        ModelScratch own;
    };

    // What a class says about a row before it learns from it, and whether it moves.
    struct Said {
        double score, average, variance;
        bool moves;
    };

    // The rounds of one class, from the row that introduced it on.
    class ClassRound {
    public:
        ClassRound(const RestBlocks& all, std::int64_t c) noexcept
            : all_(all), class_(c), begin_(all.first_of(c)), said_(all.said_by(c) + begin_) {}

        Step ask(std::int64_t i, const Look& look, double lag_score, Model& model, double least) {
            Counts uncounted;
            const Step step =
                SCWLEARN_SET::ask(all_.task_.rule, label(i), weight(i), look, look.score, model, uncounted, least);
            said_[i] = {look.score, look.score - lag_score, look.variance, moves(step)};
            return step;
        }

        bool holds(std::int64_t i, const Look& bound, Model& model) {
            if (!SCWLEARN_SET::holds(all_.task_.rule, label(i), weight(i), bound, model)) return false;
            said_[i] = {bound.score, bound.score, bound.variance, false};
            return true;
        }

        double label(std::int64_t i) const noexcept { return all_.labels_[begin_ + i] == class_ ? 1.0 : -1.0; }

    private:
        double weight(std::int64_t i) const noexcept { return all_.classes_.weight(all_.first_ + begin_ + i); }

        const RestBlocks& all_;
        std::int64_t class_;
        std::int64_t begin_;
        Said* said_;
    };

    // Reads the labels, and finds the row that introduces each new class.
    void meet() noexcept {
        std::fill(begins_, begins_ + classes_.known, -1);
        for (std::int64_t i = 0; i < count_; ++i) {
            const std::int64_t y = labels_[i] = classes_.label(first_ + i);
            if (y == classes_.known) begins_[classes_.known++] = i;
        }
    }

    std::int64_t first_of(std::int64_t c) const noexcept { return std::max(begins_[c], std::int64_t{0}); }
    Said* said_by(std::int64_t c) const noexcept { return said_ + c * most_; }

    // The class with the highest score of a row. Ties go to the earliest.
    struct Best {
        std::int64_t number = -1;
        double score = 0.0;

        void see(std::int64_t c, double value) noexcept {
            if (number < 0 || value > score) *this = {c, value};
        }
    };

    // Counts what all classes said about a row, except one that it introduced, and records it.
    void judge(std::int64_t i) noexcept {
        AverageState* const state = task_.memory.average_state;
        const bool uses_average = state != nullptr && state->average_is_better();
        double* const line = task_.scores == nullptr ? nullptr : task_.scores + (first_ + i) * task_.score_stride;
        if (line != nullptr) std::fill(line, line + task_.score_stride, -std::numeric_limits<double>::infinity());
        Best by_mean, by_average;
        bool any_moves = false;
        for (std::int64_t c = 0; c < classes_.known && begins_[c] <= i; ++c) {
            const Said& said = said_by(c)[i];
            any_moves |= said.moves;
            if (begins_[c] == i) continue;
            by_mean.see(c, said.score);
            by_average.see(c, said.average);
            if (line != nullptr && c < task_.score_stride) line[c] = uses_average ? said.average : said.score;
        }
        const std::int64_t y = labels_[i], winner = (uses_average ? by_average : by_mean).number;
        if (task_.variances != nullptr) task_.variances[first_ + i] = winner < 0 ? 0.0 : said_by(winner)[i].variance;
        counts_.mistakes += winner != y;
        counts_.updates += any_moves;
        if (state != nullptr && task_.rule.ask != nullptr && y >= 0)
            state->count(by_mean.number != y, by_average.number != y, classes_.weight(first_ + i));
    }

    void learn_class(std::int64_t c, Worker& worker) const {
        const Memory shared = task_.memory.of_class(c * model_entries(kFull, task_.memory.size), c, c);
        if (team_.is_alone()) return learn_class(c, worker, shared);
        // The scalars of several classes share a cache line, for which threads would wait.
        Memory own = shared;
        Scalars scalars = *shared.scalars;
        AverageState state{};
        own.scalars = &scalars;
        if (shared.average_state != nullptr) {
            state = *shared.average_state;
            own.average_state = &state;
        }
        learn_class(c, worker, own);
        *shared.scalars = scalars;
        if (shared.average_state != nullptr) shared.average_state->lag_scale = state.lag_scale;
    }

    void learn_class(std::int64_t c, Worker& worker, const Memory& memory) const {
        Model model(memory, kFull);
        Task task{};
        task.memory.average_state = model.average_state;
        task.rows.count = count_ - first_of(c);
        task.rule = task_.rule;
        task.block = task_.block;
        FullBlocks full(task.rows.count, model, SharedBy{}, worker.team, worker.common, worker.own);
        ClassRound round(*this, c);
        const PlainRows rows = rows_.from(first_of(c));
        // A bound on the variance is not enough if variances are recorded.
        const bool screen = rows_at_once(task) == 1 && task.rule.holds_below && task_.variances == nullptr &&
                            !model.is_averaged();
        learn_blocks(task, rows, full, model, round, [&](std::int64_t first) {
            return screen && round.holds(first, full.glance(rows[first]), model);
        });
    }

    const Task& task_;
    Classes classes_;
    std::int64_t most_;
    std::int64_t first_ = 0, count_ = 0;  // the current group of rows
    std::int64_t* begins_;                // the row that introduced each class, in ascending order; -1 for those known before
    std::int64_t* labels_;                // of each row; -1 if invalid
    Said* said_;                          // by each class about each row
    PlainRows rows_;
    Team team_;
    std::vector<Scratch> scratches_;  // of all workers but the first
    std::vector<std::unique_ptr<Worker>> workers_;
    Counts counts_;
};

}  // namespace scwlearn::SCWLEARN_SET
