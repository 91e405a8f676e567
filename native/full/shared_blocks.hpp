// Joint classes with one full Sigma for all, in exact blocks.
#pragma once

#include "full/full_blocks.hpp"
#include "core/class_round.hpp"
#include "core/plain_rows.hpp"

namespace scwlearn::SCWLEARN_SET {

// A step moves two classes along the same Sigma x, in opposite directions.
class SharedBlocks {
public:
    SharedBlocks(const Task& task, Team& team)
        : task_(task),
          block_(task.rule.uses_norm ? 1 : task.block),
          count_(classes_of(task)),
          model_(task.memory, {task.memory.entries, full_stride(task.memory.size), count_, task.memory.size},
                 {task.memory.entries + (task.memory.lanes + 1) * full_stride(task.memory.size), 1, task.memory.size}),
          round_(task, model_),
          scores_(task.memory.work),
          shares_(scores_ + task.memory.lanes),
          rows_(task.rows, shares_ + task.memory.lanes, block_),
          full_(task.rows.count, model_, SharedBy{count_, task.memory.lanes}, block_, team, scratch(),
                scratch() + common_entries(model_.size, block_, count_)) {}

    static constexpr std::int64_t entries(std::int64_t size, std::int64_t lanes, std::int64_t block) {
        return 2 * lanes + PlainRows::entries(size, block) + common_entries(size, block, lanes) +
               own_entries(size, block, lanes);
    }

    Counts learn() {
        for (std::int64_t first = 0; first < task_.rows.count; first += block_) {
            const std::int64_t count = std::min(block_, task_.rows.count - first);
            rows_.take(first, count);
            full_.look(rows_, 0, count);
            for (std::int64_t i = 0; i < count; ++i) learn_row(first + i, i);
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

    double* scratch() const noexcept {
        return task_.memory.work + 2 * task_.memory.lanes + PlainRows::entries(task_.memory.size, block_);
    }

    void learn_row(std::int64_t number, std::int64_t i) {
        const std::int64_t y = round_.classes.label(number);
        for (std::int64_t c = 0; c < round_.classes.known; ++c) scores_[c] = full_.score(i, c);
        round_.classes.write(number, scores_);
        if (task_.variances != nullptr) task_.variances[number] = round_.classes.known > 0 ? full_[i].variance : 0.0;
        // Labels may have changed since they were counted.
        if (y < 0 || y >= count_ || !round_.meet(y, scores_)) return;
        const double v = full_[i].variance;
        const double most = most_precision(full_.least_variance(rows_[i], i), v);
        const Step step = round_.ask(y, round_.classes.weight(number), scores_, 2.0 * v, most);
        if (!moves(step)) return;
        round_.parts(y, scores_, shares_, count_);
        full_.move(i, step, shares_, v);
    }

    const Task& task_;
    std::int64_t block_;
    std::int64_t count_;
    Model model_;
    JointRound round_;
    double* scores_;
    double* shares_;
    PlainRows rows_;
    FullBlocks full_;
};

}  // namespace scwlearn::SCWLEARN_SET
