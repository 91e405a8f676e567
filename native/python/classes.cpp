// Several classes: rows at a time, and one example after the other.
#include "python/classes.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

using namespace nanobind::literals;

namespace scwlearn {

namespace {

MultiLoop loop_for(const MultiForm& form) {
    return form.kind == kFull ? multi_block_loops_in_use().learn : multi_loops_in_use().learn[form.kind];
}

MultiScore score_for(const MultiForm& form) {
    return form.kind == kFull ? multi_block_loops_in_use().score : multi_loops_in_use().score;
}

std::int64_t stride_of(const MultiForm& form, std::int64_t size, std::int64_t lanes) {
    return form.kind == kFull ? class_stride(form, size) : multi_stride(form, lanes);
}

std::int64_t work_of(const MultiForm& form, std::int64_t size, std::int64_t lanes, std::int64_t block) {
    return form.kind == kFull ? multi_block_loops_in_use().work(form, size, lanes, block)
                              : multi_work_entries(size, lanes);
}

void check_block(std::int64_t block) { require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows"); }

void check_lanes(const MultiForm& form, std::int64_t size, std::int64_t lanes) {
    constexpr std::int64_t kMostLanes = std::int64_t{1} << 31;
    require(lanes > 0 && lanes % kLaneMultiple == 0 && lanes <= kMostLanes, "the lanes are a multiple of 4");
    require(size >= 0 && size <= largest_size(form.kind), "the size is out of range");
    const std::int64_t each = form.kind == kFull ? model_entries(kFull, size) : 2 * size;
    require(each <= (std::int64_t{1} << 58) / lanes, "the size is out of range");
}

// With a full covariance; enough for classes that are one model and for those that are not.
std::int64_t block_work_entries(bool shared, std::int64_t size, std::int64_t lanes, std::int64_t block) {
    check_lanes({kFull, kJoint, shared}, size, lanes);
    check_block(block);
    const std::int64_t joint = work_of({kFull, kJoint, shared}, size, lanes, block);
    return shared ? joint : std::max(joint, work_of({kFull, kOneVersusRest, false}, size, lanes, block));
}

void learn_classes(const HeldRule& rule, const HeldClasses& classes, const Array& values,
                   const std::optional<Array>& indices, const std::optional<Array>& offsets, std::int64_t width,
                   bool intercept, const ClassNumbers& labels, const std::optional<ReadOnly>& weights,
                   const std::string& rivals, Numbers work, const std::optional<Numbers>& scores,
                   const std::optional<Numbers>& variances, std::int64_t block, int threads) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    require(classes.size == rows.width + (intercept ? 1 : 0), "the models are for rows of another width");
    require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
    require(!weights || static_cast<std::int64_t>(weights->size()) == rows.count, "one weight for each row");
    require(!scores || (scores->ndim() == 2 && static_cast<std::int64_t>(scores->shape(0)) == rows.count),
            "one line of scores for each row");
    require(!variances || static_cast<std::int64_t>(variances->size()) == rows.count, "one variance for each row");
    check_block(block);
    require(threads >= 1 && threads <= kMostThreads, "the threads are from 1 to 256");
    require(static_cast<std::int64_t>(work.size()) >= work_of(classes.form, classes.size, classes.lanes, block),
            "work is too short");
    const MultiTask task{rows,
                         labels.data(),
                         weights ? weights->data() : nullptr,
                         classes.memory(work.data()),
                         classes.form,
                         rule.rule(),
                         rivals_of(rivals),
                         scores ? scores->data() : nullptr,
                         scores ? static_cast<std::int64_t>(scores->shape(1)) : 0,
                         block,
                         threads,
                         variances ? variances->data() : nullptr};
    const MultiLoop learn = loop_for(classes.form);
    Counts counts;
    run(rule, [&] { counts = learn(task); });
    classes.count(rows.count, counts);
}

// Reads only, so that the arrays may be such that cannot be written to.
void score_classes(const std::string& covariance, bool shared, std::int64_t lanes, std::int64_t classes,
                   const ReadOnly& entries, const ReadOnly& scalars, const Array& values,
                   const std::optional<Array>& indices, const std::optional<Array>& offsets, std::int64_t width,
                   bool intercept, Numbers work, Numbers scores) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    const MultiForm form{covariance_kind(covariance), kJoint, shared};
    const std::int64_t size = width + (intercept ? 1 : 0);
    HeldClasses::check_room(form, size, lanes, entries.size());
    require(classes >= 0 && classes <= lanes, "more classes are known than there is room for");
    const auto sets = static_cast<std::int64_t>(scalars.size() * sizeof(double) / sizeof(Scalars));
    require(sets == 1 || sets >= classes, "scalars has the wrong length");
    require(static_cast<std::int64_t>(scores.size()) == rows.count * classes, "one score for each row and class");
    require(static_cast<std::int64_t>(work.size()) >= multi_work_entries(size, lanes), "work is too short");
    const MultiWeights weights{entries.data(), stride_of(form, size, lanes), lanes, classes,
                               reinterpret_cast<const Scalars*>(scalars.data()), sets > 1};
    nb::gil_scoped_release release_gil;
    score_for(form)(rows, weights, work.data(), scores.data());
}

}  // namespace

HeldClasses::HeldClasses(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
                         Numbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance,
                         double variance_floor)
    : form{covariance_kind(covariance), joint ? kJoint : kOneVersusRest, shared},
      size(size),
      lanes(lanes),
      entries(std::move(entries)),
      scalars(std::move(scalars)),
      known(std::move(known)),
      tally(std::move(tally)),
      initial_variance(initial_variance),
      variance_floor(variance_floor) {
    require(joint || !shared, "only classes that are one model share a covariance");
    check_room(form, size, lanes, this->entries.size());
    require(this->scalars.size() * sizeof(double) == (joint ? 1 : lanes) * sizeof(Scalars),
            "scalars has the wrong length");
    require(this->known.size() == 1, "known is one number");
    require(this->tally.size() == 3, "the tally has three counts: rows seen, mistakes and updates");
    require(variance_floor >= 0.0 && variance_floor < 1.0, "a floor is a part of the prior variance");
    require(classes() >= 0 && classes() <= lanes, "more classes are known than there is room for");
}

void HeldClasses::check_room(const MultiForm& form, std::int64_t size, std::int64_t lanes, std::size_t entries) {
    check_lanes(form, size, lanes);
    require(static_cast<std::int64_t>(entries) == multi_entries(form, size, lanes), "models of another size");
}

MultiMemory HeldClasses::memory(double* work) const {
    return {entries.data(), work, reinterpret_cast<Scalars*>(scalars.data()), known.data(), size, lanes,
            initial_variance, variance_floor};
}

MultiWeights HeldClasses::weights() const {
    return {entries.data(), stride_of(form, size, lanes), lanes, classes(),
            reinterpret_cast<const Scalars*>(scalars.data()), form.scheme == kOneVersusRest};
}

void HeldClasses::count(std::int64_t rows, const Counts& counts) const {
    tally.data()[0] += rows;
    tally.data()[1] += counts.mistakes;
    tally.data()[2] += counts.updates;
}

Rivals rivals_of(const std::string& name) {
    for (int rivals = 0; rivals < kRivals; ++rivals)
        if (name == kRivalNames[rivals]) return static_cast<Rivals>(rivals);
    throw nb::value_error(("there are no rivals of the name " + name).c_str());
}

SeveralClasses::SeveralClasses(HeldRule rule, HeldClasses classes, const std::string& rivals, bool intercept)
    : rule_(std::move(rule)), classes_(std::move(classes)), rivals_(rivals_of(rivals)), intercept_(intercept) {
    require(classes_.size >= (intercept ? 1 : 0), "the models have no intercept");
    work_.resize(static_cast<std::size_t>(work_of(classes_.form, classes_.size, classes_.lanes, 1)));
    score_work_.resize(static_cast<std::size_t>(multi_work_entries(classes_.size, classes_.lanes)));
}

void SeveralClasses::check(double y) const {
    if (!(y >= 0.0 && y <= static_cast<double>(scores()) && y == std::floor(y)))
        refuse("a label must be the number of a known class, or the next, got y = %R", nb::float_(y));
}

void SeveralClasses::score(const Rows& row, double* scores, std::int64_t count) {
    MultiWeights weights = classes_.weights();
    weights.classes = count;
    score_for(classes_.form)(row, weights, score_work_.data(), scores);
}

void SeveralClasses::look(const Rows& row, double* scores, std::int64_t count, double& variance) {
    // A round without a label, from which nothing is learned. What it counts is thrown away.
    look_work_.resize(work_.size());
    const auto* const sets = reinterpret_cast<const Scalars*>(classes_.scalars.data());
    std::vector<Scalars> scalars(sets, sets + classes_.scalars.size() * sizeof(double) / sizeof(Scalars));
    std::int64_t known = count;
    const ClassNumber none = -1;
    MultiMemory memory = classes_.memory(look_work_.data());
    memory.scalars = scalars.data();
    memory.known = &known;
    loop_for(classes_.form)({row, &none, nullptr, memory, classes_.form, kNoRule, rivals_, scores, known, 1, 1, &variance});
}

void SeveralClasses::learn(const Rows& row, double y, double w, double* scores, std::int64_t count,
                           double* variance) {
    const auto label = static_cast<ClassNumber>(y);
    const std::int64_t known = classes_.classes();
    const MultiTask task{row,     &label, &w,    classes_.memory(work_.data()), classes_.form, rule_.rule(),
                         rivals_, scores, count, 1,                             1,             variance};
    const MultiLoop learn = loop_for(classes_.form);
    if (rule_.is_compiled()) return classes_.count(1, learn(task));
    const std::vector<double> before(classes_.scalars.data(), classes_.scalars.data() + classes_.scalars.size());
    // With a full covariance one class after the other learns from the row.
    const bool one_by_one = classes_.form.kind == kFull && classes_.form.scheme == kOneVersusRest;
    const double* const entries = classes_.entries.data();
    const std::vector<double> models(entries, entries + (one_by_one ? classes_.entries.size() : 0));
    try {
        classes_.count(1, learn(task));
    } catch (...) {
        // The rule has raised: the round has begun, and no class has moved, or some have.
        std::copy(before.begin(), before.end(), classes_.scalars.data());
        std::copy(models.begin(), models.end(), classes_.entries.data());
        *task.memory.known = known;
        throw;
    }
}

void bind_multi(nb::module_& module) {
    module.attr("LANE_MULTIPLE") = kLaneMultiple;
    nb::class_<HeldClasses>(module, "Classes", "The arrays of the models of several classes, which the loops move.")
        .def(nb::init<const std::string&, bool, bool, std::int64_t, std::int64_t, Numbers, Numbers, Tally, Tally, double,
                      double>(),
             "covariance"_a, "joint"_a, "shared"_a, "size"_a, "lanes"_a, "entries"_a.noconvert(),
             "scalars"_a.noconvert(), "known"_a.noconvert(), "tally"_a.noconvert(), "initial_variance"_a,
             "variance_floor"_a = 0.0);
    bind_single<SeveralClasses>(module, "ClassesOneByOne",
                                "A rule and the models of several classes, ready for one example after the other.")
        .def(
            "__init__",
            [](Single<SeveralClasses>* self, HeldRule rule, HeldClasses classes, const std::string& rivals,
               bool intercept, nb::object vocabulary, std::optional<Numbers> scales) {
                new (self) Single<SeveralClasses>({std::move(rule), std::move(classes), rivals, intercept},
                                                  std::move(vocabulary), std::move(scales));
            },
            "rule"_a, "classes"_a, "rivals"_a, "intercept"_a, "vocabulary"_a.none(), "scales"_a.noconvert().none(),
            nb::sig("def __init__(self, rule: Rule, classes: Classes, rivals: str, intercept: bool, "
                    "vocabulary: Vocabulary | None, scales: NDArray | None) -> None"));
    module.def("multi_work_entries", &multi_work_entries, "size"_a, "lanes"_a,
               "How many numbers of scratch memory score_classes needs, and learn_classes without a full covariance.");
    module.def("multi_block_work_entries", &block_work_entries, "shared"_a, "size"_a, "lanes"_a, "block"_a,
               "How many numbers of scratch memory learn_classes needs with a full covariance.");
    module.def("learn_classes", &learn_classes, "rule"_a, "classes"_a, "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "intercept"_a, "labels"_a, "weights"_a.none(), "rivals"_a,
               "work"_a.noconvert(), "scores"_a.none().noconvert(), "variances"_a.none().noconvert(), "block"_a,
               "threads"_a,
               "Learn from the rows of a scanned batch in order; adds to the tally, and to the classes known. `scores` "
               "gets those of all classes before each row, `variances` that of the highest of them.");
    module.def("score_classes", &score_classes, "covariance"_a, "shared"_a, "lanes"_a, "classes"_a, "entries"_a,
               "scalars"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a, "intercept"_a,
               "work"_a.noconvert(), "scores"_a.noconvert(), "W x for each row of a scanned batch.");
}

}  // namespace scwlearn
