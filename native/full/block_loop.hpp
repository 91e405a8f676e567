// Learning in blocks: look at all rows of a block, then ask and move row by row.
#pragma once

#include "core/round.hpp"

namespace scwlearn::SCWLEARN_SET {

// A rule that uses the norm of the mean needs it after every row.
inline std::int64_t rows_at_once(const Task& task) noexcept { return task.rule.uses_norm ? 1 : task.block; }

// `is_done` returns whether the block that begins with a row needs no further look.
template <class Blocks, class RowSet, class Round, class IsDone>
void learn_blocks(const Task& task, const RowSet& rows, Blocks& blocks, Model& model, Round& round,
                  const IsDone& is_done) {
    const std::int64_t block = rows_at_once(task);
    for (std::int64_t first = 0; first < task.rows.count; first += block) {
        if (is_done(first)) continue;
        const std::int64_t count = std::min(block, task.rows.count - first);
        blocks.look(rows, first, count);
        for (std::int64_t i = 0; i < count; ++i) {
            const Look look = blocks[i];
            const Step step = round.ask(first + i, look, model, blocks.least_variance(rows[first + i], i));
            if (moves(step)) blocks.move(i, step, round.label(first + i), look.variance);
        }
        blocks.finish();
        if (task.rule.uses_norm) model.measure_norm2();
    }
    blocks.catch_up();
}

}  // namespace scwlearn::SCWLEARN_SET
