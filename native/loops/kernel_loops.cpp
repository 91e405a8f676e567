// The loops that learn with a kernel, from rows as coordinates. Compiled once for each instruction set, as loops/row_loops.cpp
// is.
#include "full/block_loop.hpp"
#include "core/covariance.hpp"
#include "loops/kernel.hpp"
#include "loops/kernel_classes.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <bool kNorm>
std::int64_t learn_first_order(const KernelBatch& batch, const Task& task, Counts& counts) {
    Coordinates coordinates(batch);
    Model model(task.memory, kIdentity);
    Round round(task);
    const auto row = [&](std::int64_t i) {
        return DenseRow<double>(coordinates.row(i), coordinates.support(), false);
    };
    for (std::int64_t i = 0; i < batch.rows; ++i) {
        Look look = Identity::look(row(i), model);
        look.variance += model.initial_variance * coordinates.left(i);
        const Step step = round.ask(i, look, model);
        if (!moves(step)) continue;
        coordinates.take(i);
        Identity::move<kNorm>(row(i), model, step, task.labels[i], look.variance);
    }
    counts = round.counts;
    return coordinates.support();
}

std::int64_t learn_second_order(const KernelBatch& batch, const Task& task, Counts& counts) {
    Coordinates coordinates(batch);
    Model model(task.memory, kFull);
    Round round(task);
    Team team(task.threads);
    KernelBlocks full(model, rows_at_once(task), batch.rows, team, coordinates);
    learn_blocks(task, Dense<double>{task.rows}, full, model, round, [](std::int64_t) { return false; });
    counts = round.counts;
    return coordinates.support();
}

template <class Models>
Counts learn_classes(const KernelMultiTask& task) {
    Models models(task);
    const Counts counts = task.classes.form.scheme == kJoint ? learn_jointly(task.classes, models)
                                                             : learn_each_class(task.classes, models);
    models.catch_up();
    return counts;
}

}  // namespace

extern constinit const KernelLoops kernel_loops{&learn_first_order<false>, &learn_first_order<true>, &learn_second_order,
                                                &learn_classes<FirstOrderClasses>, &learn_classes<SecondOrderClasses>};

}  // namespace scwlearn::SCWLEARN_SET
