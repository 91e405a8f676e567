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
                                            const ReadOnly& least, const Labels& labels,
                                            const std::optional<ReadOnly>& weights, const Numbers& work,
                                            const std::optional<Numbers>& trace, std::int64_t support,
                                            std::int64_t room, std::int64_t block, int threads) {
    const std::size_t count = coordinates.shape(0);
    const auto rows = static_cast<std::int64_t>(count);
    require(model.kind == kIdentity || model.kind == kFull, "a kernel learner has no covariance or a full one");
    require(static_cast<std::int64_t>(coordinates.shape(1)) == model.size, "the model is for rows of another width");
    require(residuals.size() == count * count, "one residual for each pair of rows");
    require(left.size() == count && rounding.size() == count && least.size() == count, "one for each row");
    require(support >= 0 && support <= room, "there are more examples than there is room for");
    require(std::min(support + rows, room) <= model.size, "the model is too small for what may come");
    const Rows as_rows{kDense64, coordinates.data(), nullptr, nullptr, rows * model.size, rows, model.size, false};
    const Task task = task_of(rule, model, as_rows, labels, weights, work, trace, block, threads);
    std::vector<std::int64_t> taken(count);
    const KernelBatch batch{coordinates.data(), residuals.data(), left.data(), rounding.data(), least.data(),
                            taken.data(),       rows,             model.size,  support,         room};
    const KernelLoops& loops = kernel_loops_in_use();
    const KernelLoop first_order = task.rule.uses_norm ? loops.first_order_with_norm : loops.first_order;
    const KernelLoop learn = model.kind == kFull ? loops.second_order : first_order;
    Counts counts;
    std::int64_t support_then = support;
    run(rule, [&] { support_then = learn(batch, task, counts); });
    model.count(rows, counts);
    taken.resize(static_cast<std::size_t>(support_then - support));
    return taken;
}

}  // namespace

void bind_kernel(nb::module_& module) {
    module.def("learn_coordinates", &learn_coordinates, "rule"_a, "model"_a, "coordinates"_a.noconvert(), "residuals"_a,
               "left"_a.noconvert(), "rounding"_a, "least"_a, "labels"_a, "weights"_a.none(), "work"_a.noconvert(),
               "trace"_a.none().noconvert(), "support"_a, "room"_a, "block"_a, "threads"_a,
               "Learn from rows as coordinates in the span of the support, which grows on the way; the rows that became "
               "support, in order. Adds the rows, mistakes and updates to the tally.");
}

}  // namespace scwlearn
