// The module: looks at shapes and types, finds the loop, lets go of the GIL.
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <tuple>
#include <utility>

#include "core/scan.hpp"
#include "compiled_rules.hpp"

using namespace nanobind::literals;

// loops/row_loops.cpp and the other files of loops, as compiled for each instruction set.
#define DECLARE_LOOPS(set)                          \
    namespace scwlearn::set {                       \
    extern const RowLoops row_loops;                \
    extern const LoopsOverRows block_loops;         \
    extern const ScoresOverRows score_loops;        \
    extern const BatchLoops batch_loops;          \
    extern const KernelLoops kernel_loops;          \
    extern const MultiLoops multi_loops;            \
    extern const MultiBlockLoops multi_block_loops; \
    extern const ScaleLoops scale_loops;            \
    }
DECLARE_LOOPS(portable)
DECLARE_LOOPS(avx2)
DECLARE_LOOPS(avx512)

namespace scwlearn {

namespace {

struct InstructionSet {
    std::string name;
    const RowLoops* row_loops;
    const LoopsOverRows* block_loops;
    const ScoresOverRows* score_loops;
    const BatchLoops* batch_loops;
    const KernelLoops* kernel_loops;
    const MultiLoops* multi_loops;
    const ScaleLoops* scale_loops;
    const MultiBlockLoops* multi_block_loops;
};

#define USABLE(set)                                                                                        \
    {#set, &set::row_loops, &set::block_loops, &set::score_loops, &set::batch_loops, &set::kernel_loops, \
     &set::multi_loops, &set::scale_loops, &set::multi_block_loops}

// The instruction sets that this processor has, the best first.
const std::vector<InstructionSet>& usable_sets() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> usable;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("x86-64-v4")) usable.push_back(USABLE(avx512));
        if (__builtin_cpu_supports("x86-64-v3")) usable.push_back(USABLE(avx2));
#endif
        usable.push_back(USABLE(portable));
        return usable;
    }();
    return sets;
}

std::atomic<const InstructionSet*> used_set{nullptr};

void use_instruction_set(const std::string& name) {
    for (const InstructionSet& set : usable_sets())
        if (name == set.name) {
            used_set = &set;
            return;
        }
    throw nb::value_error(("this processor has no instruction set of the name " + name).c_str());
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const InstructionSet& set : usable_sets()) names.push_back(set.name);
    return names;
}

const CompiledRule& compiled_rule(const std::string& name) {
    for (const CompiledRule& rule : compiled_rules())
        if (name == rule.name) return rule;
    throw nb::value_error(("no rule of that name was spelled: " + name).c_str());
}

// A rule that stayed in Python: called for each row, with the GIL, and free to raise.
Step ask_python(const void* self, double m, double v, double norm2, double t, double n, double w) {
    const nb::handle function(static_cast<PyObject*>(const_cast<void*>(self)));
    const auto [alpha, precision, shrink, grow] =
        nb::cast<std::tuple<double, double, double, double>>(function(m, v, norm2, t, n, w));
    return {alpha, precision, shrink, grow};
}

template <class T>
bool holds(const Array& array) {
    return array.dtype() == nb::dtype<T>();
}

Finding scan(const Rows& rows) {
    switch (rows.kind) {
        case kDense32: return scan_dense<float>(rows);
        case kDense64: return scan_dense<double>(rows);
        case kSparse32i32: return scan_sparse<float, std::int32_t>(rows);
        case kSparse32i64: return scan_sparse<float, std::int64_t>(rows);
        case kSparse64i32: return scan_sparse<double, std::int32_t>(rows);
        default: return scan_sparse<double, std::int64_t>(rows);
    }
}

void learn_rows(const HeldRule& rule, const HeldModel& model, const Array& values, const std::optional<Array>& indices,
                const std::optional<Array>& offsets, std::int64_t width, bool intercept, const Labels& labels,
                const std::optional<ReadOnly>& weights, Numbers work, const std::optional<Numbers>& trace,
                std::int64_t block, int threads) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    require(model.size == rows.width + (intercept ? 1 : 0), "the model is for rows of another width");
    const Task task = task_of(rule, model, rows, labels, weights, work, trace, block, threads);
    const Loop learn = loop_for(model.kind, rows.kind);
    Counts counts;
    run(rule, [&] { counts = learn(task); });
    model.count(rows.count, counts);
}

bool score_rows(const std::string& covariance, const ReadOnly& entries, const ReadOnly& scalars, const Array& values,
                const std::optional<Array>& indices, const std::optional<Array>& offsets, std::int64_t width,
                bool intercept, Numbers scores) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    const CovarianceKind kind = covariance_kind(covariance);
    require(static_cast<std::int64_t>(entries.size()) == model_entries(kind, width + (intercept ? 1 : 0)),
            "the model is for rows of another width");
    require(scalars.size() * sizeof(double) == sizeof(Scalars), "scalars has the wrong length");
    require(static_cast<std::int64_t>(scores.size()) == rows.count, "one score for each row");
    const Weights weights = weights_of(kind, entries.data(), reinterpret_cast<const Scalars*>(scalars.data()));
    nb::gil_scoped_release release_gil;
    return score_for(rows.kind)(rows, weights, scores.data());
}

std::tuple<std::string, std::int64_t, std::int64_t, bool> scan_rows(const Array& values,
                                                                    const std::optional<Array>& indices,
                                                                    const std::optional<Array>& offsets,
                                                                    std::int64_t width) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    Finding found;
    {
        nb::gil_scoped_release release_gil;
        found = scan(rows);
    }
    static const char* const names[] = {"", "value", "index", "offset"};
    return {names[static_cast<int>(found.problem)], found.row, found.column, found.sorted};
}

std::tuple<double, double, double, double> step_of(const HeldRule& held, double m, double v, double norm2, double t,
                                                   double n, double w) {
    const Rule rule = held.rule();
    const Step step = rule.ask(rule.self, m, v, norm2, t, n, w);
    return {step.alpha, step.precision, step.shrink, step.grow};
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const CompiledRule& rule : compiled_rules()) names.emplace_back(rule.name);
    return names;
}

}  // namespace

Rows rows_of(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
             std::int64_t width, bool intercept) {
    const bool wide = holds<double>(values);
    const auto stored = static_cast<std::int64_t>(values.size());
    require(wide || holds<float>(values), "values must be float32 or float64");
    require(indices.has_value() == offsets.has_value(), "indices and offsets go together");
    if (!indices) {
        require(values.ndim() == 2 && values.shape(1) == static_cast<std::size_t>(width),
                "dense values must be a matrix of that width");
        const auto count = static_cast<std::int64_t>(values.shape(0));
        return {wide ? kDense64 : kDense32, values.data(), nullptr, nullptr, stored, count, width, intercept};
    }
    const bool far = holds<std::int64_t>(*indices);
    require(far || holds<std::int32_t>(*indices), "indices must be int32 or int64");
    require(indices->dtype() == offsets->dtype(), "indices and offsets must be of one type");
    require(values.ndim() == 1 && indices->ndim() == 1 && offsets->ndim() == 1 && offsets->size() > 0 &&
                values.size() == indices->size(),
            "sparse rows are three vectors: n values, n indices, rows + 1 offsets");
    const RowKind kind = wide ? (far ? kSparse64i64 : kSparse64i32) : (far ? kSparse32i64 : kSparse32i32);
    const auto count = static_cast<std::int64_t>(offsets->size()) - 1;
    return {kind, values.data(), indices->data(), offsets->data(), stored, count, width, intercept};
}

HeldRule::HeldRule(const std::string& name, std::vector<double> constants)
    : compiled_(&compiled_rule(name)), constants_(std::move(constants)), uses_norm_(compiled_->uses_norm) {
    require(constants_.size() == compiled_->constants, "the rule takes another number of constants");
}

Rule HeldRule::rule() const {
    if (compiled_ != nullptr) return {compiled_->ask, constants_.data(), uses_norm_, true};
    return {&ask_python, function_.ptr(), uses_norm_, false};
}

HeldModel::HeldModel(const std::string& covariance, std::int64_t size, Numbers entries, Numbers scalars, Tally tally,
                     double initial_variance, double variance_floor)
    : kind(covariance_kind(covariance)),
      size(size),
      entries(std::move(entries)),
      scalars(std::move(scalars)),
      tally(std::move(tally)),
      initial_variance(initial_variance),
      variance_floor(variance_floor) {
    require(size >= 0 && size <= largest_size(kind), "the size is out of range");
    require(static_cast<std::int64_t>(this->entries.size()) == model_entries(kind, size), "a model of another size");
    require(this->scalars.size() * sizeof(double) == sizeof(Scalars), "scalars has the wrong length");
    require(variance_floor >= 0.0 && variance_floor < 1.0, "a floor is a part of the prior variance");
    require(this->tally.size() == 3, "the tally has three counts: rows seen, mistakes and updates");
}

Memory HeldModel::memory(double* work) const {
    return {entries.data(), work, reinterpret_cast<Scalars*>(scalars.data()), size, initial_variance,
            variance_floor};
}

void HeldModel::count(std::int64_t rows, const Counts& counts) const {
    tally.data()[0] += rows;
    tally.data()[1] += counts.mistakes;
    tally.data()[2] += counts.updates;
}

Task task_of(const HeldRule& rule, const HeldModel& model, const Rows& rows, const Labels& labels,
             const std::optional<ReadOnly>& weights, const Numbers& work, const std::optional<Numbers>& trace, std::int64_t block, int threads) {
    require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
    require(!weights || static_cast<std::int64_t>(weights->size()) == rows.count, "one weight for each row");
    require(!trace || static_cast<std::int64_t>(trace->size()) == rows.count * kTraceWidth,
            "trace has the wrong size");
    require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows");
    require(threads >= 1 && threads <= kMostThreads, "the threads are from 1 to 256");
    require(static_cast<std::int64_t>(work.size()) >= work_entries(model.kind, model.size, block),
            "work is too short");
    return {rows,        labels.data(), weights ? weights->data() : nullptr, model.memory(work.data()),
            rule.rule(), trace ? trace->data() : nullptr, block, threads};
}

CovarianceKind covariance_kind(const std::string& name) {
    for (int kind = 0; kind < kCovarianceKinds; ++kind)
        if (name == kCovarianceNames[kind]) return static_cast<CovarianceKind>(kind);
    throw nb::value_error(("there is no covariance of the name " + name).c_str());
}

Loop loop_for(CovarianceKind covariance, RowKind rows) {
    const InstructionSet& set = *used_set.load();
    return (covariance == kFull ? *set.block_loops : (*set.row_loops)[covariance])[rows];
}

Score score_for(RowKind rows) { return (*used_set.load()->score_loops)[rows]; }
const BatchLoops& batch_loops_in_use() { return *used_set.load()->batch_loops; }
const KernelLoops& kernel_loops_in_use() { return *used_set.load()->kernel_loops; }
const MultiLoops& multi_loops_in_use() { return *used_set.load()->multi_loops; }
const ScaleLoops& scale_loops_in_use() { return *used_set.load()->scale_loops; }
const MultiBlockLoops& multi_block_loops_in_use() { return *used_set.load()->multi_block_loops; }

NB_MODULE(_native, module) {
    used_set = &usable_sets().front();
    module.doc() = "The loops of scwlearn in C++.";
    module.attr("LARGEST_VALUE") = kLargestValue;
    module.attr("SMALLEST_WEIGHT") = kSmallestWeight;
    module.attr("LARGEST_WEIGHT") = kLargestWeight;
    module.attr("SMALLEST_VARIANCE") = kSmallestVariance;
    module.attr("LARGEST_BLOCK") = kLargestBlock;
    module.attr("MOST_THREADS") = kMostThreads;
    module.attr("SCALARS") = sizeof(Scalars) / sizeof(double);
    module.def("rule_names", &rule_names, "The rules that were spelled in C++ when this module was built.");
    nb::class_<HeldRule>(module, "Rule", "A rule with its constants, or a function to call for each row.")
        .def(nb::init<const std::string&, std::vector<double>>(), "name"_a, "constants"_a)
        .def(nb::init<nb::object, bool>(), "function"_a, "uses_norm"_a)
        .def("step", &step_of, "m"_a, "v"_a, "norm2"_a, "t"_a, "n"_a = 1.0, "w"_a = 1.0, "Its step: alpha, precision, shrink, grow.");
    // What is written to is never converted: the result would go to a copy that nobody sees.
    nb::class_<HeldModel>(module, "Model", "The arrays of a model, which the loops move in place.")
        .def(nb::init<const std::string&, std::int64_t, Numbers, Numbers, Tally, double, double>(), "covariance"_a,
             "size"_a, "entries"_a.noconvert(), "scalars"_a.noconvert(), "tally"_a.noconvert(), "initial_variance"_a,
             "variance_floor"_a = 0.0);
    module.def("scan_rows", &scan_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
               "The first thing wrong with a batch (value, index, offset or nothing), its row, its place, and whether "
               "the indices of each row strictly increase.");
    module.def("full_stride", &full_stride, "size"_a, "From one vector of a full covariance to the next.");
    module.def("instruction_sets", &instruction_sets, "The instruction sets that can be used here, the best first.");
    module.def("use_instruction_set", &use_instruction_set, "name"_a, "Learn with this instruction set from now on.");
    module.def(
        "work_entries",
        [](const std::string& covariance, std::int64_t size, std::int64_t block) {
            const CovarianceKind kind = covariance_kind(covariance);
            require(size >= 0 && size <= largest_size(kind), "the size is out of range");
            require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows");
            return work_entries(kind, size, block);
        },
        "covariance"_a, "size"_a, "block"_a, "How many numbers of scratch memory learn_rows needs.");
    module.def("learn_rows", &learn_rows, "rule"_a, "model"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "intercept"_a, "labels"_a, "weights"_a.none(), "work"_a.noconvert(), "trace"_a.none().noconvert(), "block"_a,
               "threads"_a,
               "Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tally.");
    module.def("score_rows", &score_rows, "covariance"_a, "entries"_a, "scalars"_a, "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "intercept"_a, "scores"_a.noconvert(), "mu.x for each row; whether all of them are finite.");
    bind_vocabulary(module);
    bind_one(module);
    bind_libsvm(module);
    bind_vw(module);
    bind_many(module);
    bind_kernel(module);
    bind_multi(module);
    bind_calibration(module);
    bind_scaling(module);
    bind_placing(module);
}

}  // namespace scwlearn
