// Models over the arrays of Python, and the loops over batches of rows: binary and multi-class.
#include <algorithm>
#include <numeric>

#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

template <class Enum, std::size_t kCount>
Enum named(const std::string& name, const char* const (&names)[kCount], const char* what) {
    for (std::size_t i = 0; i < kCount; ++i)
        if (name == names[i]) return static_cast<Enum>(i);
    throw nb::value_error(("unknown " + std::string(what) + ": " + name).c_str());
}

template <class Strided>
bool is_packed(const Strided& numbers) {
    std::int64_t stride = 1;
    for (std::size_t axis = numbers.ndim(); axis-- > 0;) {
        if (numbers.shape(axis) != 1 && numbers.stride(axis) != stride) return numbers.size() == 0;
        stride *= static_cast<std::int64_t>(numbers.shape(axis));
    }
    return true;
}

// Whether there is a row of numbers per feature, and the rows are this far apart.
template <class Strided>
bool has_rows(const Strided& numbers, std::int64_t size, std::int64_t columns, std::int64_t stride) {
    return numbers.ndim() == 2 && size > 1 && static_cast<std::int64_t>(numbers.shape(0)) == size &&
           static_cast<std::int64_t>(numbers.shape(1)) == columns && numbers.stride(0) == stride &&
           (columns == 1 || numbers.stride(1) == 1);
}

template <class Strided, class Average>
Layout layout_of(const Strided& entries, const std::optional<Average>& average, CovarianceKind kind, std::int64_t size,
                 std::int64_t lanes) {
    if (lanes > 1 || kind == kFull) return kPacked;
    if (has_rows(entries, size, kind == kIdentity ? 1 : 2, kSharedStride)) return kSharedLines;
    const bool beside = average && kind == kIdentity && has_rows(entries, size, 1, 2) &&
                        has_rows(average->first, size, 1, 2) && average->first.data() == entries.data() + 1;
    return beside ? kBesideLag : kPacked;
}

template <class Average>
void check_average(const Average& average, const ModelForm& form, std::int64_t size, std::int64_t lanes) {
    const auto& [lag, state] = average;
    require(length(lag) == size * lanes, "lag must have one number per feature and lane");
    require(form.layout == kBesideLag || is_packed(lag), "the lags must be next to each other, or beside the weights");
    require(state.size() * sizeof(double) == (form.scheme == kJoint ? 1 : lanes) * sizeof(AverageState),
            "the state of the average must have one line per set of scalars");
}

void add_average(Memory& memory, const ModelForm& form, double* lag, double* state) {
    memory.lag = lag;
    memory.average_state = reinterpret_cast<AverageState*>(state);
    memory.lag_stride = form.layout == kBesideLag ? 2 : memory.lanes;
    memory.lag_lanes = form.scheme == kJoint ? memory.lanes : 1;
}

}  // namespace

HeldModel::HeldModel(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
                     StridedNumbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance,
                     std::optional<HeldAverage> average, double variance_floor, const std::string& rivals)
    : form{covariance_kind(covariance), joint ? kJoint : kOneVersusRest, shared,
           named<Rivals>(rivals, kRivalNames, "rivals"),
           layout_of(entries, average, covariance_kind(covariance), size, lanes)},
      size(size),
      lanes(lanes),
      entries(std::move(entries)),
      scalars(std::move(scalars)),
      known(std::move(known)),
      tally(std::move(tally)),
      initial_variance(initial_variance),
      floor(variance_floor * initial_variance),
      average(std::move(average)) {
    check_form(form, size, lanes);
    require(form.layout != kPacked ||
                (is_packed(this->entries) && length(this->entries) == model_entries(form, size, lanes)),
            "entries has the wrong length for the size");
    require(this->scalars.size() * sizeof(double) == (joint ? 1 : lanes) * sizeof(Scalars),
            "scalars has the wrong length");
    require(this->known.size() == 1 && classes() >= 0 && classes() <= lanes,
            "known must be one number of at most `lanes`");
    if (this->average) check_average(*this->average, form, size, lanes);
    require(this->tally.size() == 3, "tally must have three counts: rows seen, mistakes and updates");
    require(variance_floor >= 0.0 && variance_floor < 1.0, "variance_floor must be from 0 to below 1");
}

Memory HeldModel::memory(Scratch* scratch) const {
    Memory memory{entries.data(), scratch, reinterpret_cast<Scalars*>(scalars.data()), size, initial_variance, floor,
                  lanes, is_binary() ? nullptr : known.data()};
    if (average) add_average(memory, form, average->first.data(), average->second.data());
    return memory;
}

void HeldModel::count(std::int64_t rows, const Counts& counts) const {
    tally.data()[0] += rows;
    tally.data()[1] += counts.mistakes;
    tally.data()[2] += counts.updates;
}

void check_form(const ModelForm& form, std::int64_t size, std::int64_t lanes) {
    constexpr std::int64_t kMostLanes = std::int64_t{1} << 31;
    require(lanes == 1 || (lanes > 0 && lanes % kLaneMultiple == 0 && lanes <= kMostLanes),
            "lanes must be 1 or a multiple of 4");
    require(size >= 0 && size <= largest_size(form.kind), "size is out of range");
    const std::int64_t each = form.kind == kFull ? model_entries(kFull, size) : 2 * size;
    require(each <= (std::int64_t{1} << 58) / lanes, "size is out of range");
    require(!form.shared || (form.scheme == kJoint && lanes > 1), "only joint classes can share a covariance");
    require(form.scheme == kJoint || lanes > 1, "a binary model is always joint");
}

CovarianceKind covariance_kind(const std::string& name) {
    return named<CovarianceKind>(name, kCovarianceNames, "covariance");
}

Task checked_task(const HeldRule& rule, const ModelForm& form, const Memory& memory, const Rows& rows,
                  const Given& given) {
    require(given.block >= 1 && given.block <= kLargestBlock, "block must be from 1 to 4096");
    require(given.threads >= 1 && given.threads <= kMostThreads, "threads must be from 1 to 256");
    require(given.jobs >= 1 && given.jobs <= kMostThreads, "jobs must be from 1 to 256");
    require(given.jobs == 1 || rule.is_compiled(), "a rule of your own needs one thread");
    Task task{rows, memory, form, rule.rule()};
    task.block = given.block;
    task.threads = given.threads;
    task.jobs = given.jobs;
    if (given.weights) {
        require(length(*given.weights) == rows.count, "weights must have one weight per row");
        task.weights = given.weights->data();
    }
    const bool binary = memory.known == nullptr;
    require(!given.trace || binary, "trace is for binary models");
    require(!given.trace || length(*given.trace) == rows.count * kTraceWidth, "trace must have 4 numbers per row");
    require(!given.variances || length(*given.variances) == rows.count, "variances must have one variance per row");
    if (given.scores) {
        const Numbers& scores = *given.scores;
        require(scores.ndim() == (binary ? 1 : 2) && static_cast<std::int64_t>(scores.shape(0)) == rows.count,
                "scores must have one score, or with several classes one row of scores, per example");
        task.scores = scores.data();
        task.score_stride = binary ? 1 : static_cast<std::int64_t>(scores.shape(1));
    }
    if (given.trace) task.trace = given.trace->data();
    if (given.variances) task.variances = given.variances->data();
    if (binary)
        task.signs = labels_of<std::int8_t>(given.labels, rows.count);
    else
        task.labels = labels_of<ClassNumber>(given.labels, rows.count);
    return task;
}

bool score_shown(const ModelForm& form, const Memory& memory, std::int64_t classes, const Rows& rows, double* scores) {
    const Scratch::Frame frame(*memory.scratch);
    const std::int64_t lanes = memory.lanes;
    const bool binary = lanes == 1, for_each = form.scheme == kOneVersusRest;
    const std::int64_t stride = form.kind != kFull ? feature_stride(form, lanes)
                                : binary           ? 1
                                                   : class_stride(form, memory.size);
    const Weights weights{memory.entries, stride, lanes, classes, &memory.scalars->mean_scale,
                          for_each ? std::int64_t{sizeof(Scalars) / sizeof(double)} : 0};
    const bool finite = score_for(form, binary, rows.kind)(rows, weights, *memory.scratch, scores);
    if (memory.average_state == nullptr || !memory.average_state->average_is_better()) return finite;
    const Weights lag{memory.lag, memory.lag_stride, lanes, classes, &memory.average_state->lag_scale,
                      for_each ? std::int64_t{sizeof(AverageState) / sizeof(double)} : 0};
    double* const lags = memory.scratch->take(rows.count * classes);
    score_for({kIdentity}, binary, rows.kind)(rows, lag, *memory.scratch, lags);
    for (std::int64_t i = 0; i < rows.count * classes; ++i) scores[i] -= lags[i];
    return finite;
}

namespace {

// Rows are to be visited in this order, each row number of which is in range.
void set_order(Rows& rows, const Column<std::int64_t>& order) {
    rows.order = order.data();
    rows.among = rows.count;
    rows.count = length(order);
    for (std::int64_t i = 0; i < rows.count; ++i)
        require(order(i) >= 0 && order(i) < rows.among, "order must hold numbers of rows");
}

bool learn_rows(const HeldRule& rule, const HeldModel& model, const Array& values, const std::optional<Array>& indices,
                const std::optional<Array>& offsets, std::int64_t width, bool intercept, const Labels& labels,
                const std::optional<ReadOnly>& weights, std::int64_t block, int threads,
                const std::optional<Numbers>& trace, const std::optional<Numbers>& scores,
                const std::optional<Numbers>& variances, const std::optional<Column<std::int64_t>>& order, bool checked,
                int jobs) {
    Rows rows = rows_of(values, indices, offsets, width, intercept);
    if (order) set_order(rows, *order);
    require(model.size == rows.size(), "the model has another number of features than the rows");
    const Given given{labels, weights, block, threads, trace, scores, variances, jobs};
    Scratch scratch;
    Task task = checked_task(rule, model.form, model.memory(&scratch), rows, given);
    require(checked || (model.is_binary() && model.form.kind != kFull), "the rows must have been scanned");
    task.checked = checked;
    const Loop learn = loop_for(model.form, model.is_binary(), rows.kind);
    Counts counts;
    run(rule, [&] { counts = learn(task); });
    model.count(rows.count, counts);
    return !counts.stopped;
}

// Takes arrays instead of a Model, because they may be read-only.
bool score_rows(const std::string& covariance, bool shared, std::int64_t lanes, std::int64_t classes,
                const ReadOnlyStrided& entries, const ReadOnly& scalars, const std::optional<ReadOnlyAverage>& average,
                const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
                std::int64_t width, bool intercept, const Numbers& scores) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    const auto sets = static_cast<std::int64_t>(scalars.size() * sizeof(double) / sizeof(Scalars));
    ModelForm form{covariance_kind(covariance), sets == 1 ? kJoint : kOneVersusRest, shared};
    form.layout = layout_of(entries, average, form.kind, rows.size(), lanes);
    check_form(form, rows.size(), lanes);
    require(form.layout != kPacked ||
                (is_packed(entries) && length(entries) == model_entries(form, rows.size(), lanes)),
            "the model has another number of features than the rows");
    require(classes >= 0 && classes <= lanes, "there are more classes than lanes");
    require(sets == 1 || (lanes > 1 && sets >= classes), "scalars has the wrong length");
    require(length(scores) == rows.count * classes, "scores must have one score per row and class");
    Scratch scratch;
    // Nothing is written to them.
    const auto writable = [](const auto& numbers) { return const_cast<double*>(numbers.data()); };
    Memory memory{writable(entries), &scratch, reinterpret_cast<Scalars*>(writable(scalars)), rows.size(), 1.0, 0.0, lanes};
    if (average) {
        check_average(*average, form, rows.size(), lanes);
        add_average(memory, form, writable(average->first), writable(average->second));
    }
    const ReleaseGil release_gil;
    return score_shown(form, memory, classes, rows, scores.data());
}

template <class Number>
using Matrix = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

NewArray full_precisions(const Matrix<const double>& factors) {
    const std::int64_t size = static_cast<std::int64_t>(factors.shape(0)) - 1;
    require(size >= 0 && static_cast<std::int64_t>(factors.shape(1)) == full_stride(size),
            "factors must have a row for D and for each column of U, padded to full_stride");
    auto precisions = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(size));
    {
        const ReleaseGil release_gil;
        loops().full.precisions(factors.data(), size, precisions.get());
    }
    return array_of(std::move(precisions), size);
}

// Both matrices have rows for the mean, the places, D and the columns of U; the mean is left out.
void widen_full(const Matrix<const double>& known, const Matrix<double>& wider, std::int64_t at, double variance) {
    const auto size_of = [](const auto& sigma) {
        const std::int64_t size = static_cast<std::int64_t>(sigma.shape(0)) - 3;
        require(size >= 0 && static_cast<std::int64_t>(sigma.shape(1)) == full_stride(size),
                "a Sigma must have rows for the mean, the places, D and each column of U, padded to full_stride");
        return size;
    };
    const std::int64_t size = size_of(known), width = size_of(wider), from_stride = full_stride(size),
                       to_stride = full_stride(width);
    require(size <= width && at >= 0 && at <= size, "new features must come after, before or between the known ones");
    // New features have the last places.
    const double* from = known.data() + from_stride;
    double* to = wider.data() + to_stride;
    double* const added = std::copy_n(from, at, to);
    std::iota(added, added + (width - size), static_cast<double>(size));
    std::copy(from + at, from + size, added + (width - size));
    from += from_stride, to += to_stride;
    std::fill(std::copy_n(from, size, to), to + width, variance);
    for (std::int64_t j = 0; j < size; ++j)
        std::copy_n(from += from_stride, j + 1, to += to_stride);
    for (std::int64_t j = size; j < width; ++j) (to += to_stride)[j] = 1.0;
}

}  // namespace

void bind_learning(nb::module_& module) {
    // Arrays that are written to are never converted: the result would go to a copy.
    nb::class_<HeldModel>(module, "Model", "The arrays of a model, which the loops update in place; binary if lanes is 1.")
        .def(nb::init<const std::string&, bool, bool, std::int64_t, std::int64_t, StridedNumbers, Numbers, Tally, Tally,
                      double, std::optional<HeldAverage>, double, const std::string&>(),
             "covariance"_a, "joint"_a, "shared"_a, "size"_a, "lanes"_a, "entries"_a.noconvert(),
             "scalars"_a.noconvert(), "known"_a.noconvert(), "tally"_a.noconvert(), "initial_variance"_a,
             "average"_a.noconvert().none() = nb::none(), "variance_floor"_a = 0.0, "rivals"_a = "max");
    module.def("full_stride", &full_stride, "size"_a, "Return the distance between the vectors of a full covariance.");
    module.def("full_precisions", &full_precisions, "factors"_a,
               "Return the diagonal of (U D U')^-1 by place; `factors` has D and the columns of U.");
    module.def("widen_full", &widen_full, "known"_a, "wider"_a.noconvert(), "at"_a, "variance"_a,
               "Copy a Sigma, except its mean, into a larger one filled with zeros, with new features of this variance at "
               "index `at`. The two must not overlap.");
    module.def("learn_rows", &learn_rows, "rule"_a, "model"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "intercept"_a, "labels"_a, "weights"_a.none(), "block"_a, "threads"_a,
               "trace"_a.none().noconvert() = nb::none(), "scores"_a.none().noconvert() = nb::none(),
               "variances"_a.none().noconvert() = nb::none(), "order"_a.none() = nb::none(), "checked"_a = true, "jobs"_a = 1,
               "Learn from all rows, or from those with the numbers in `order`, in that order, and add rows, mistakes and "
               "updates to the tally. Before each row, `scores` gets its score or those of all classes, `variances` the "
               "variance of the largest; of a binary model, `trace` gets score, variance, alpha and precision. Rows that "
               "were not scanned (`checked`) are checked one by one, unless Sigma is full or there are several classes. "
               "One versus rest, classes learn on up to `jobs` threads. Returns False if it stopped at an invalid row.");
    module.def("score_rows", &score_rows, "covariance"_a, "shared"_a, "lanes"_a, "classes"_a, "entries"_a, "scalars"_a,
               "average"_a.none(), "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a, "intercept"_a,
               "scores"_a.noconvert(),
               "Compute the scores of each row and class, of mu or of its average; return whether all are finite. With "
               "several classes, the batch must have been scanned.");
}

}  // namespace scwlearn
