// The loops that learn block by block, with a full covariance: look at all rows of a block, then ask and move row by
// row. Compiled once for each instruction set, as row_loops.cpp is.
#include "full.hpp"
#include "round.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <class RowSet>
struct BlockByBlock {
    static Counts run(const Task& task);
};

template <class RowSet>
Counts BlockByBlock<RowSet>::run(const Task& task) {
    const RowSet rows{task.rows};
    Model model(task.memory, kFull);
    Round round(task);
    // The length of the mean is known at the end of a row only if rows are taken one at a time.
    const std::int64_t block = task.rule.uses_norm ? 1 : task.block;
    const bool screen = block == 1 && task.rule.holds_below && task.trace == nullptr;
    Team team(task.threads);
    FullBlocks full(model, block, task.rows.count, team);
    for (std::int64_t first = 0; first < task.rows.count; first += block) {
        const std::int64_t count = std::min(block, task.rows.count - first);
        if (screen && round.holds(first, full.glance(rows[first]), model)) continue;
        full.look(rows, first, count);
        for (std::int64_t i = 0; i < count; ++i) {
            const Look look = full[i];
            const Step step = round.ask(first + i, look, model);
            if (moves(step)) full.move(i, step, task.labels[first + i], look.variance);
        }
        full.finish();
        if (task.rule.uses_norm) model.measure_norm2();
    }
    full.catch_up();
    return round.counts;
}

}  // namespace

extern constinit const LoopsOverRows block_loops{over_rows<BlockByBlock, LoopsOverRows>()};

}  // namespace scwlearn::SCWLEARN_SET
