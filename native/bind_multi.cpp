// Several classes: rows at a time, and one example after the other.
#include "bind_multi.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bind_example.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using ClassNumbers = nb::ndarray<const ClassNumber, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Scores = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

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
    nb::gil_scoped_release nobody_waits;
    score_for(form)(rows, weights, work.data(), scores.data());
}

// Single examples that are vectors.
class Vectors {
public:
    Vectors(HeldRule rule, HeldClasses classes, const std::string& rivals, bool intercept)
        : one_(std::move(rule), std::move(classes), rivals, intercept) {}

    Scores score(nb::handle x) {
        const Buffer buffer(x);
        return fill(one_.known(), [&](double* scores) { one_.score(row_of(buffer), scores); });
    }

    // Nothing where there is no room for the class.
    std::optional<Scores> learn(nb::handle x, std::int64_t y, double w) {
        const Turn turn(learning_);
        check_weight(w);
        if (y < 0 || y > one_.known())
            refuse("a label must be the number of a known class, or the next, got y = %R", nb::int_(y));
        if (!one_.has_room(y)) return std::nullopt;
        const Buffer buffer(x);
        const Rows row = row_of(buffer);
        if (w == 0.0) return fill(one_.known(), [&](double* scores) { one_.score(row, scores); });
        return fill(std::max(one_.known(), y + 1), [&](double* scores) { one_.learn(row, y, w, scores); });
    }

    // For Python's garbage collector: a rule of the user's own may hold on to the learner that holds this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(one_.function().ptr());
        return 0;
    }

private:
    Rows row_of(const Buffer& buffer) const { return buffer.row(one_.width(), one_.intercept()); }

    template <class Write>
    static Scores fill(std::int64_t count, const Write& write) {
        const auto size = static_cast<std::size_t>(count);
        double* scores = new double[size];
        const nb::capsule owner(scores, [](void* p) noexcept { delete[] static_cast<double*>(p); });
        write(scores);
        return Scores(scores, {size}, owner);
    }

    ClassesOneByOne one_;
    bool learning_ = false;
};

int visit(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Vectors>(self)->visit(visit, arg) : 0;
}

PyType_Slot kSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)}, {0, nullptr}};

}  // namespace

HeldClasses::HeldClasses(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
                         Numbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance)
    : form{covariance_kind(covariance), joint ? kJoint : kOneVersusRest, shared},
      size(size),
      lanes(lanes),
      entries(std::move(entries)),
      scalars(std::move(scalars)),
      known(std::move(known)),
      tally(std::move(tally)),
      initial_variance(initial_variance) {
    require(joint || !shared, "only classes that are one model share a covariance");
    check_room(form, size, lanes, this->entries.size());
    require(this->scalars.size() * sizeof(double) == (joint ? 1 : lanes) * sizeof(Scalars),
            "scalars has the wrong length");
    require(this->known.size() == 1, "known is one number");
    require(this->tally.size() == 3, "the tally has three counts: rows seen, mistakes and updates");
    require(classes() >= 0 && classes() <= lanes, "more classes are known than there is room for");
}

void HeldClasses::check_room(const MultiForm& form, std::int64_t size, std::int64_t lanes, std::size_t entries) {
    check_lanes(form, size, lanes);
    require(static_cast<std::int64_t>(entries) == multi_entries(form, size, lanes), "models of another size");
}

MultiMemory HeldClasses::memory(double* work) const {
    return {entries.data(), work, reinterpret_cast<Scalars*>(scalars.data()), known.data(), size, lanes,
            initial_variance};
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

ClassesOneByOne::ClassesOneByOne(HeldRule rule, HeldClasses classes, const std::string& rivals, bool intercept)
    : rule_(std::move(rule)), classes_(std::move(classes)), rivals_(rivals_of(rivals)), intercept_(intercept) {
    require(classes_.size >= (intercept ? 1 : 0), "the models have no intercept");
    work_.resize(static_cast<std::size_t>(work_of(classes_.form, classes_.size, classes_.lanes, 1)));
    score_work_.resize(static_cast<std::size_t>(multi_work_entries(classes_.size, classes_.lanes)));
}

void ClassesOneByOne::score(const Rows& row, double* scores) {
    score_for(classes_.form)(row, classes_.weights(), score_work_.data(), scores);
}

void ClassesOneByOne::learn(const Rows& row, std::int64_t y, double w, double* scores) {
    const auto label = static_cast<ClassNumber>(y);
    const std::int64_t known = classes_.classes();
    const MultiTask task{row,        &label,  &w,     classes_.memory(work_.data()), classes_.form, rule_.rule(),
                         rivals_, scores, std::max(known, y + 1), 1, 1};
    const MultiLoop learn = loop_for(classes_.form);
    if (rule_.is_spelled()) return classes_.count(1, learn(task));
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
        .def(nb::init<const std::string&, bool, bool, std::int64_t, std::int64_t, Numbers, Numbers, Tally, Tally, double>(),
             "covariance"_a, "joint"_a, "shared"_a, "size"_a, "lanes"_a, "entries"_a.noconvert(),
             "scalars"_a.noconvert(), "known"_a.noconvert(), "tally"_a.noconvert(), "initial_variance"_a);
    nb::class_<Vectors>(module, "ClassesOneByOne", nb::type_slots(kSlots),
                        "A rule and the models of several classes, ready for one example after the other.")
        .def(nb::init<HeldRule, HeldClasses, const std::string&, bool>(), "rule"_a, "classes"_a, "rivals"_a,
             "intercept"_a)
        .def("score", &Vectors::score, nb::sig("def score(self, x: object, /) -> NDArray"),
             "W x of a float64 vector.")
        .def("learn", &Vectors::learn, nb::sig("def learn(self, x: object, y: int, w: float, /) -> NDArray | None"),
             "Learn from a float64 vector; the scores of all classes before, or None where there is no room for its "
             "class.");
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
