// The loops that learn row by row: look, ask, move. Compiled once for each instruction set, in a namespace of its own,
// so that the linker never takes the code of one for that of another.
#include "covariance.hpp"
#include "round.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <class Covariance, class RowSet, bool kNorm>
Counts learn_by_row(const Task& task) {
    const RowSet rows{task.rows};
    Model model{task.memory};
    Round round(task);
    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const auto row = rows[i];
        const Look look = Covariance::look(row, model);
        const Step step = round.ask(i, look, model);
        if (moves(step)) Covariance::template move<kNorm>(row, model, step, task.labels[i], look.variance);
    }
    return round.counts;
}

template <class Covariance>
struct RowByRow {
    template <class RowSet>
    struct Over {
        static Counts run(const Task& task) {
            return task.rule.uses_norm ? learn_by_row<Covariance, RowSet, true>(task)
                                       : learn_by_row<Covariance, RowSet, false>(task);
        }
    };
};

}  // namespace

// Made by the compiler: nothing of an instruction set may run before it is known that the processor has it.
extern constinit const RowLoops row_loops{over_rows<RowByRow<Identity>::Over>(),
                                          over_rows<RowByRow<Diagonal<ByPrecision>>::Over>(),
                                          over_rows<RowByRow<Diagonal<ByDrop>>::Over>()};

}  // namespace scwlearn::SCWLEARN_SET
