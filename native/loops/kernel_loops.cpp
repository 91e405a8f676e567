// The loops of kernel learners, over rows as coordinates. Compiled once per instruction set, as loops/row_loops.cpp is.
#include "full/block_loop.hpp"
#include "core/covariance.hpp"
#include "loops/kernel.hpp"
#include "loops/kernel_classes.hpp"

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
        const Step step = round.ask(i, look, model);
        if (!moves(step)) continue;
        coordinates.take(i);
        Identity::move<kNorm>(row(i), model, step, task.signs[i], look.variance);
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

template <class Models>
Counts learn_classes(const KernelTask& kernel) {
    Models models(kernel);
    const Counts counts = kernel.task.form.scheme == kJoint ? learn_jointly(kernel.task, models)
                                                            : learn_each_class(kernel.task, models);
    models.catch_up();
    return counts;
}

}  // namespace

extern constinit const KernelLoops kernel_loops{&learn_first_order, &learn_second_order,
                                                &learn_classes<FirstOrderClasses>, &learn_classes<SecondOrderClasses>};

}  // namespace scwlearn::SCWLEARN_SET
