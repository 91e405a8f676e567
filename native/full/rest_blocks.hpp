// One versus rest with a full Sigma per class: one class after another learns from a group of rows, so that its U stays
// in the cache.
#pragma once

#include <limits>

#include "full/full_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

class RestBlocks {
public:
    RestBlocks(const Task& task, Team& team)
        : task_(task),
          team_(team),
          classes_(task),
          most_(rows_at_a_time(task)),
          begins_(task.memory.scratch->take<std::int64_t>(task.memory.lanes)),
          labels_(task.memory.scratch->take<std::int64_t>(most_)),
          winners_(task.memory.scratch->take<std::int64_t>(most_)),
          scores_(task.memory.scratch->take(most_)),
          moved_(task.memory.scratch->take<bool>(most_)),
          rows_(task.rows, most_, *task.memory.scratch),
          common_(task.memory, rows_at_once(task), 1),
          own_(task.memory, rows_at_once(task), 1) {}

    Counts learn() {
        for (first_ = 0; first_ < task_.rows.count; first_ += most_) {
            count_ = std::min(most_, task_.rows.count - first_);
            rows_.take(first_, count_);
            meet();
            uses_average_ = task_.memory.average_state != nullptr && task_.memory.average_state->average_is_better();
            best_by_mean_ = best_by_average_ = {};
            for (std::int64_t c = 0; c < classes_.known; ++c) learn_class(c);
            if (task_.memory.average_state != nullptr && task_.rule.ask != nullptr && labels_[0] >= 0)
                task_.memory.average_state->count(best_by_mean_.number != labels_[0], best_by_average_.number != labels_[0],
                                                  classes_.weight(first_));
            for (std::int64_t i = 0; i < count_; ++i) {
                counts_.mistakes += winners_[i] != labels_[i];
                counts_.updates += moved_[i];
            }
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

    // The rounds of one class, from the row that introduced it on.
    class ClassRound {
    public:
        ClassRound(RestBlocks& all, std::int64_t c) noexcept : all_(all), class_(c), begin_(all.first_of(c)) {}

        Step ask(std::int64_t i, const Look& look, double lag_score, Model& model, double least) {
            Counts uncounted;
            const double average = look.score - lag_score;
            note(i, {all_.uses_average_ ? average : look.score, look.variance});
            if (model.is_averaged()) all_.compare(class_, begin_ + i, look.score, average);
            const Step step =
                SCWLEARN_SET::ask(all_.task_.rule, label(i), weight(i), look, look.score, model, uncounted, least);
            if (moves(step)) all_.moved_[begin_ + i] = true;
            return step;
        }

        bool holds(std::int64_t i, const Look& bound, Model& model) {
            if (!SCWLEARN_SET::holds(all_.task_.rule, label(i), weight(i), bound, model)) return false;
            note(i, bound);
            return true;
        }

        double label(std::int64_t i) const noexcept { return all_.labels_[begin_ + i] == class_ ? 1.0 : -1.0; }

    private:
        double weight(std::int64_t i) const noexcept { return all_.classes_.weight(all_.first_ + begin_ + i); }
        void note(std::int64_t i, const Look& look) const noexcept { all_.note(class_, begin_ + i, look); }

        RestBlocks& all_;
        std::int64_t class_;
        std::int64_t begin_;
    };

    // Reads the labels, and finds the row that introduces each new class.
    void meet() noexcept {
        std::fill(begins_, begins_ + classes_.known, -1);
        for (std::int64_t i = 0; i < count_; ++i) {
            const std::int64_t y = labels_[i] = classes_.label(first_ + i);
            winners_[i] = -1;
            scores_[i] = -std::numeric_limits<double>::infinity();
            moved_[i] = false;
            if (task_.variances != nullptr) task_.variances[first_ + i] = 0.0;
            if (task_.scores != nullptr) {
                double* const line = task_.scores + (first_ + i) * task_.score_stride;
                std::fill(line, line + task_.score_stride, -std::numeric_limits<double>::infinity());
            }
            if (y == classes_.known) begins_[classes_.known++] = i;
        }
    }

    std::int64_t first_of(std::int64_t c) const noexcept { return std::max(begins_[c], std::int64_t{0}); }

    // Records what a class says about a row before it learns from it, unless the row introduced it. Ties go to the
    // earliest class.
    void note(std::int64_t c, std::int64_t i, const Look& look) noexcept {
        if (begins_[c] == i) return;
        if (winners_[i] < 0 || look.score > scores_[i]) {
            winners_[i] = c;
            scores_[i] = look.score;
            if (task_.variances != nullptr) task_.variances[first_ + i] = look.variance;
        }
        if (task_.scores != nullptr && c < task_.score_stride)
            task_.scores[(first_ + i) * task_.score_stride + c] = look.score;
    }

    // The class with the highest score of a single row, unless the row introduced it. Ties go to the earliest.
    struct Best {
        std::int64_t number = -1;
        double score = 0.0;

        void see(std::int64_t c, double value) noexcept {
            if (number < 0 || value > score) *this = {c, value};
        }
    };

    void compare(std::int64_t c, std::int64_t i, double score, double average) noexcept {
        if (begins_[c] == i) return;
        best_by_mean_.see(c, score);
        best_by_average_.see(c, average);
    }

    void learn_class(std::int64_t c) {
        Model model(task_.memory.of_class(c * model_entries(kFull, task_.memory.size), c, c), kFull);
        Task task{};
        task.memory.average_state = model.average_state;
        task.rows.count = count_ - first_of(c);
        task.rule = task_.rule;
        task.block = task_.block;
        FullBlocks full(task.rows.count, model, SharedBy{}, team_, common_, own_);
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
    Team& team_;
    Classes classes_;
    std::int64_t most_;
    std::int64_t first_ = 0, count_ = 0;  // the current group of rows
    std::int64_t* begins_;                // the row that introduced each class; -1 for those known before
    std::int64_t* labels_;                // of each row; -1 if invalid
    std::int64_t* winners_;               // the class with the highest score; -1 if there is none
    double* scores_;                      // that score
    bool* moved_;                         // whether any class has moved
    bool uses_average_ = false;           // whether averages predict
    Best best_by_mean_, best_by_average_;  // of averaged models, which take one row at a time
    PlainRows rows_;
    BlockScratch common_;
    ModelScratch own_;
    Counts counts_;
};

}  // namespace scwlearn::SCWLEARN_SET
