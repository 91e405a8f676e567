// Kernel learners: batches of rows as coordinates in the span of the support.
#include <algorithm>

#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Taken = std::vector<std::int64_t>;

// The arrays of a batch as coordinates in a span, kept alive.
struct HeldCoordinates {
    Matrix coordinates;
    ReadOnly residuals;
    Numbers left;
    ReadOnly rounding, least;
    std::int64_t support, room;

    std::int64_t rows() const { return static_cast<std::int64_t>(coordinates.shape(0)); }
    std::int64_t width() const { return static_cast<std::int64_t>(coordinates.shape(1)); }

    Rows as_rows() const {
        return {kDense64, coordinates.data(), nullptr, nullptr, rows() * width(), rows(), width(), false};
    }

    // The batch for the loops, which write the rows that become support to `taken`.
    KernelBatch batch(Taken& taken) const {
        taken.resize(coordinates.shape(0));
        return {coordinates.data(), residuals.data(), left.data(), rounding.data(), least.data(),
                taken.data(),       rows(),           width(),     support,         room};
    }

    void check(const HeldModel& model) const {
        const std::size_t count = coordinates.shape(0);
        require(residuals.size() == count * count, "residuals must have one number per pair of rows");
        require(left.size() == count && rounding.size() == count && least.size() == count,
                "left, rounding and least must have one number per row");
        require(support >= 0 && support <= room, "support must be from 0 to room");
        require(support <= width() && std::min(support + rows(), room) <= width(),
                "coordinates has too few columns for the support");
        require(model.is_binary() && (model.form.kind == kIdentity || model.form.kind == kFull),
                "a kernel learner has models of one lane with no covariance or a full one");
        require(width() == model.size, "the model has another number of features than the rows");
    }
};

// A binary model is alone, and its labels are int8; otherwise there is a model per class, known or to come.
std::vector<Taken> learn_coordinates(const HeldRule& rule, const std::vector<HeldModel*>& models, const Tally& known,
                                     bool joint, const std::vector<HeldCoordinates*>& spans, const Labels& labels,
                                     const std::optional<ReadOnly>& weights, std::int64_t block, int threads,
                                     const std::optional<Numbers>& trace,
                                     const std::optional<Numbers>& scores, const std::optional<Numbers>& variances) {
    const auto is_none = [](const auto* held) { return held == nullptr; };
    require(!models.empty() && std::none_of(models.begin(), models.end(), is_none),
            "models must have one model per class");
    require((spans.size() == 1 || spans.size() == models.size()) && std::none_of(spans.begin(), spans.end(), is_none),
            "spans must have one span for all classes, or one per class");
    const bool binary = labels.dtype() == nb::dtype<std::int8_t>();
    const HeldModel& first = *models.front();
    const Rows rows = spans.front()->as_rows();
    const auto lanes = static_cast<std::int64_t>(models.size());
    require(!binary || (lanes == 1 && joint), "a binary learner has one model");
    require(known.size() == 1 && known.data()[0] >= 0 && known.data()[0] <= lanes,
            "known must be at most the number of models");
    require(first.form.kind == kFull || spans.size() == 1, "without a covariance, all classes have one span");
    Scratch scratch;
    std::vector<Memory> memories;
    for (std::size_t c = 0; c < models.size(); ++c) {
        const HeldModel& model = *models[c];
        const HeldCoordinates& span = *spans[spans.size() == 1 ? 0 : c];
        span.check(model);
        require(span.rows() == rows.count, "all spans must have the same number of rows");
        require(model.form.kind == first.form.kind && model.initial_variance == first.initial_variance,
                "all models must be of one kind");
        require(!joint || model.scalars.data() == first.scalars.data(), "joint models must share their scalars");
        memories.push_back(model.memory(&scratch));
    }
    Memory memory = memories.front();
    if (!binary) {
        memory.lanes = lanes;
        memory.known = known.data();
    }
    const ModelForm form{first.form.kind, joint ? kJoint : kOneVersusRest, false, first.form.rivals};
    const Given given{labels, weights, block, threads, trace, scores, variances};
    const Task task = checked_task(rule, form, memory, rows, given);
    std::vector<Taken> taken(spans.size());
    std::vector<KernelBatch> batches;
    for (std::size_t s = 0; s < spans.size(); ++s) batches.push_back(spans[s]->batch(taken[s]));
    std::vector<std::int64_t> supports(spans.size());
    const KernelTask kernel{task, memories.data(), batches.data(), static_cast<std::int64_t>(spans.size()), supports.data()};
    const KernelLoops& kernels = loops().kernels;
    const KernelLoop learn = form.kind == kFull ? (binary ? kernels.second_order : kernels.second_order_classes)
                                                : (binary ? kernels.first_order : kernels.first_order_classes);
    Counts counts;
    run(rule, [&] { counts = learn(kernel); });
    first.count(rows.count, counts);
    for (std::size_t s = 0; s < spans.size(); ++s)
        taken[s].resize(static_cast<std::size_t>(supports[s] - spans[s]->support));
    return taken;
}

}  // namespace

void bind_kernel(nb::module_& module) {
    nb::class_<HeldCoordinates>(module, "Coordinates", "A batch of rows as coordinates in the span of a support.")
        .def(nb::init<Matrix, ReadOnly, Numbers, ReadOnly, ReadOnly, std::int64_t, std::int64_t>(),
             "coordinates"_a.noconvert(), "residuals"_a, "left"_a.noconvert(), "rounding"_a, "least"_a, "support"_a,
             "room"_a);
    module.def("learn_coordinates", &learn_coordinates, "rule"_a, "models"_a, "known"_a.noconvert(), "joint"_a, "spans"_a,
               "labels"_a, "weights"_a.none(), "block"_a, "threads"_a,
               "trace"_a.none().noconvert() = nb::none(), "scores"_a.none().noconvert() = nb::none(),
               "variances"_a.none().noconvert() = nb::none(),
               "Learn from rows as coordinates in one span for all classes, or in one per class, as learn_rows does; "
               "return, for each span, the rows that became support. Adds to the tally of the first model.");
}

}  // namespace scwlearn
