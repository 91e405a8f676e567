// Learning with a kernel: the arrays of a batch of coordinates, for two classes or several.
#include "python/classes.hpp"

#include <algorithm>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Taken = std::vector<std::int64_t>;

// The arrays of a batch as coordinates in a span, held so that they stay where they are.
struct HeldCoordinates {
    Matrix coordinates;
    ReadOnly residuals;
    Numbers left;
    ReadOnly rounding, least;
    std::int64_t support, room;

    HeldCoordinates(Matrix coordinates, ReadOnly residuals, Numbers left, ReadOnly rounding, ReadOnly least,
                    std::int64_t support, std::int64_t room)
        : coordinates(std::move(coordinates)),
          residuals(std::move(residuals)),
          left(std::move(left)),
          rounding(std::move(rounding)),
          least(std::move(least)),
          support(support),
          room(room) {
        const std::size_t count = this->coordinates.shape(0);
        require(this->residuals.size() == count * count, "one residual for each pair of rows");
        require(this->left.size() == count && this->rounding.size() == count && this->least.size() == count,
                "one for each row");
        require(support >= 0 && support <= room, "there are more examples than there is room for");
        require(std::min(support + rows(), room) <= width(), "there are too few coordinates for what may come");
    }

    std::int64_t rows() const { return static_cast<std::int64_t>(coordinates.shape(0)); }
    std::int64_t width() const { return static_cast<std::int64_t>(coordinates.shape(1)); }

    Rows as_rows() const {
        return {kDense64, coordinates.data(), nullptr, nullptr, rows() * width(), rows(), width(), false};
    }

    // The batch for the loops, which write down in `taken` which rows become support.
    KernelBatch batch(Taken& taken) const {
        taken.resize(coordinates.shape(0));
        return {coordinates.data(), residuals.data(), left.data(), rounding.data(), least.data(),
                taken.data(),       rows(),           width(),     support,         room};
    }

    void check(const HeldModel& model) const {
        require(model.kind == kIdentity || model.kind == kFull, "a kernel learner has no covariance or a full one");
        require(width() == model.size, "the model is for rows of another width");
    }
};

Taken learn_coordinates(const HeldRule& rule, const HeldModel& model, const HeldCoordinates& coordinates,
                        const Labels& labels, const std::optional<ReadOnly>& weights, const Numbers& work,
                        const std::optional<Numbers>& trace, std::int64_t block, int threads) {
    coordinates.check(model);
    const Task task = task_of(rule, model, coordinates.as_rows(), labels, weights, work, trace, block, threads);
    Taken taken;
    const KernelBatch batch = coordinates.batch(taken);
    const KernelLoops& loops = kernel_loops_in_use();
    const KernelLoop first_order = task.rule.uses_norm ? loops.first_order_with_norm : loops.first_order;
    const KernelLoop learn = model.kind == kFull ? loops.second_order : first_order;
    Counts counts;
    std::int64_t support = coordinates.support;
    run(rule, [&] { support = learn(batch, task, counts); });
    model.count(coordinates.rows(), counts);
    taken.resize(static_cast<std::size_t>(support - coordinates.support));
    return taken;
}

std::vector<Taken> learn_coordinates_of_classes(const HeldRule& rule, const std::vector<HeldModel*>& models, Tally known,
                                                bool joint, const std::vector<HeldCoordinates*>& spans,
                                                const ClassNumbers& labels, const std::optional<ReadOnly>& weights,
                                                const std::string& rivals, const Numbers& work,
                                                const std::optional<Numbers>& scores,
                                                const std::optional<Numbers>& variances, std::int64_t block,
                                                int threads) {
    const auto none = [](const auto* held) { return held == nullptr; };
    require(!models.empty() && std::none_of(models.begin(), models.end(), none), "a model for each class");
    require((spans.size() == 1 || spans.size() == models.size()) && std::none_of(spans.begin(), spans.end(), none),
            "coordinates for all classes or for each");
    const HeldModel& first = *models.front();
    const Rows rows = spans.front()->as_rows();
    const auto lanes = static_cast<std::int64_t>(models.size());
    require(known.size() == 1 && known.data()[0] >= 0 && known.data()[0] <= lanes, "more classes than there is room for");
    require(first.kind == kFull || spans.size() == 1, "without a covariance all classes have one span");
    require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
    require(!weights || static_cast<std::int64_t>(weights->size()) == rows.count, "one weight for each row");
    require(!scores || (scores->ndim() == 2 && static_cast<std::int64_t>(scores->shape(0)) == rows.count),
            "one line of scores for each row");
    require(!variances || static_cast<std::int64_t>(variances->size()) == rows.count, "one variance for each row");
    require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows");
    require(threads >= 1 && threads <= kMostThreads, "the threads are from 1 to 256");
    std::vector<Memory> memories;
    std::int64_t used = 0;
    for (std::size_t c = 0; c < models.size(); ++c) {
        const HeldModel& model = *models[c];
        const HeldCoordinates& span = *spans[spans.size() == 1 ? 0 : c];
        span.check(model);
        require(span.rows() == rows.count, "as many rows for each class");
        require(model.kind == first.kind && model.initial_variance == first.initial_variance, "models of one kind");
        require(!joint || model.scalars.data() == first.scalars.data(), "joint models have one set of scalars");
        memories.push_back(model.memory(work.data() + used));
        used += work_entries(model.kind, model.size, block);
        require(static_cast<std::int64_t>(work.size()) >= used, "work is too short");
    }
    std::vector<Taken> taken(spans.size());
    std::vector<KernelBatch> batches;
    for (std::size_t s = 0; s < spans.size(); ++s) batches.push_back(spans[s]->batch(taken[s]));
    std::vector<std::int64_t> supports(spans.size());
    const MultiTask classes{rows,
                            labels.data(),
                            weights ? weights->data() : nullptr,
                            {nullptr, nullptr, nullptr, known.data(), first.size, lanes, first.initial_variance},
                            {first.kind, joint ? kJoint : kOneVersusRest, false},
                            rule.rule(),
                            rivals_of(rivals),
                            scores ? scores->data() : nullptr,
                            scores ? static_cast<std::int64_t>(scores->shape(1)) : 0,
                            block,
                            threads,
                            variances ? variances->data() : nullptr};
    const KernelMultiTask task{classes, memories.data(), batches.data(), static_cast<std::int64_t>(spans.size()),
                               supports.data()};
    const KernelLoops& loops = kernel_loops_in_use();
    const KernelMultiLoop learn = first.kind == kFull ? loops.second_order_classes : loops.first_order_classes;
    Counts counts;
    run(rule, [&] { counts = learn(task); });
    first.count(rows.count, counts);
    for (std::size_t s = 0; s < spans.size(); ++s)
        taken[s].resize(static_cast<std::size_t>(supports[s] - spans[s]->support));
    return taken;
}

}  // namespace

void bind_kernel(nb::module_& module) {
    nb::class_<HeldCoordinates>(module, "Coordinates", "The arrays of a batch as coordinates in the span of a support.")
        .def(nb::init<Matrix, ReadOnly, Numbers, ReadOnly, ReadOnly, std::int64_t, std::int64_t>(),
             "coordinates"_a.noconvert(), "residuals"_a, "left"_a.noconvert(), "rounding"_a, "least"_a, "support"_a,
             "room"_a);
    module.def("learn_coordinates", &learn_coordinates, "rule"_a, "model"_a, "coordinates"_a, "labels"_a,
               "weights"_a.none(), "work"_a.noconvert(), "trace"_a.none().noconvert(), "block"_a, "threads"_a,
               "Learn from rows as coordinates in the span of the support, which grows on the way; the rows that became "
               "support, in order. Adds the rows, mistakes and updates to the tally.");
    module.def("learn_coordinates_of_classes", &learn_coordinates_of_classes, "rule"_a, "models"_a,
               "known"_a.noconvert(), "joint"_a, "spans"_a, "labels"_a, "weights"_a.none(), "rivals"_a,
               "work"_a.noconvert(), "scores"_a.none().noconvert(), "variances"_a.none().noconvert(), "block"_a, "threads"_a,
               "Learn from rows of several classes as coordinates in one span for all of them, or in one for each; for "
               "each span the rows that became support. Adds to the tally of the first model, and to the classes known.");
}

}  // namespace scwlearn
