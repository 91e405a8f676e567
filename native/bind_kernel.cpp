// Learning with a kernel: the arrays of a batch of coordinates.
#include "bind.hpp"

#include <algorithm>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

std::vector<std::int64_t> learn_coordinates(const HeldRule& rule, const HeldModel& model, Matrix coordinates,
                                            const ReadOnly& residuals, Numbers left, const ReadOnly& rounding,
                                            const ReadOnly& least,
                                            const Labels& labels, Numbers work, const std::optional<Numbers>& trace,
                                            std::int64_t support, std::int64_t room, std::int64_t block, int threads) {
    const auto rows = static_cast<std::int64_t>(coordinates.shape(0));
    const auto of_rows = static_cast<std::size_t>(rows);
    require(model.kind == kIdentity || model.kind == kFull, "a kernel learner has no covariance or a full one");
    require(static_cast<std::int64_t>(coordinates.shape(1)) == model.size, "the model is for rows of another width");
    require(residuals.size() == of_rows * of_rows, "one residual for each pair of rows");
    require(left.size() == of_rows && rounding.size() == of_rows && least.size() == of_rows && labels.size() == of_rows, "one for each row");
    require(!trace || trace->size() == of_rows * kTraceWidth, "trace has the wrong size");
    require(support >= 0 && support <= room, "there are more examples than there is room for");
    require(std::min(support + rows, room) <= model.size, "the model is too small for what may come");
    require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows");
    require(threads >= 1 && threads <= kMostThreads, "the threads are from 1 to 256");
    require(static_cast<std::int64_t>(work.size()) >= work_entries(model.kind, model.size, block),
            "work is too short");
    std::vector<std::int64_t> taken(of_rows);
    const KernelBatch batch{coordinates.data(), residuals.data(), left.data(), rounding.data(), least.data(), taken.data(),
                            rows,               model.size,       support,     room};
    const Rows as_rows{kDense64, coordinates.data(), nullptr, nullptr, rows * model.size, rows, model.size, false};
    const Task task{as_rows,     labels.data(), model.memory(work.data()), rule.rule(), trace ? trace->data() : nullptr,
                    block,       threads};
    const KernelLoops& loops = kernel_loops_in_use();
    const KernelLoop learn = model.kind == kFull     ? loops.second_order
                             : task.rule.uses_norm ? loops.first_order_with_norm
                                                   : loops.first_order;
    Counts counts;
    std::int64_t support_then = support;
    if (rule.is_spelled()) {
        nb::gil_scoped_release nobody_waits;
        support_then = learn(batch, task, counts);
    } else {
        support_then = learn(batch, task, counts);
    }
    model.count(rows, counts);
    taken.resize(static_cast<std::size_t>(support_then - support));
    return taken;
}

}  // namespace

void bind_kernel(nb::module_& module) {
    module.def("learn_coordinates", &learn_coordinates, "rule"_a, "model"_a, "coordinates"_a.noconvert(), "residuals"_a,
               "left"_a.noconvert(), "rounding"_a, "least"_a, "labels"_a, "work"_a.noconvert(), "trace"_a.none().noconvert(),
               "support"_a, "room"_a, "block"_a, "threads"_a,
               "Learn from rows as coordinates in the span of the support, which grows on the way; the rows that became "
               "support, in order. Adds the rows, mistakes and updates to the tally.");
}

}  // namespace scwlearn
