// The loops of binary models with a full covariance, in blocks. Compiled once per instruction set, as
// loops/row_loops.cpp is.
#include "full/block_loop.hpp"
#include "full/full_blocks.hpp"

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
    const bool screen = rows_at_once(task) == 1 && task.rule.holds_below && task.trace == nullptr;
    Team team(task.threads);
    FullBlocks full(task.rows.count, model, rows_at_once(task), team);
    learn_blocks(task, rows, full, model, round, [&](std::int64_t first) {
        return screen && round.holds(first, full.glance(rows[first]), model);
    });
    return round.counts;
}

}  // namespace

extern constinit const LoopsOverRows block_loops{over_rows<BlockByBlock, LoopsOverRows>()};

}  // namespace scwlearn::SCWLEARN_SET
