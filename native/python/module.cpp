// The module: instruction sets, rules, and the bindings of the other files.
#include <atomic>
#include <typeinfo>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "compiled_rules.hpp"
#include "python/bindings.hpp"
#include "python/numbers.hpp"

using namespace nanobind::literals;

// The *_loops.cpp, as compiled for each instruction set.
#define DECLARE_LOOPS(set)                 \
    namespace scwlearn::set {              \
    extern const RowLoops row_loops;       \
    extern const ClassLoops class_loops;   \
    extern const FullLoops full_loops;     \
    extern const BatchLoops batch_loops;   \
    extern const KernelLoops kernel_loops; \
    extern const ScaleLoops scale_loops;   \
    extern const CalibrationLoops calibration_loops; \
    extern const MergingLoops merging_loops; \
    }
DECLARE_LOOPS(portable)
DECLARE_LOOPS(avx2)
DECLARE_LOOPS(avx512)

namespace scwlearn {

namespace {

#define LOOPS_OF(set)                                                                                     \
    {#set,             set::row_loops,   set::class_loops, set::full_loops, set::batch_loops, set::kernel_loops, \
     set::scale_loops, set::calibration_loops, set::merging_loops}

// The instruction sets that this processor supports, the best first.
const std::vector<InstructionSet>& supported_sets() {
    // Never destroyed: other threads may still learn when the process exits.
    static const std::vector<InstructionSet>& sets = *new const std::vector<InstructionSet>([] {
        std::vector<InstructionSet> supported;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("x86-64-v4")) supported.push_back(LOOPS_OF(avx512));
        if (__builtin_cpu_supports("x86-64-v3")) supported.push_back(LOOPS_OF(avx2));
#endif
        supported.push_back(LOOPS_OF(portable));
        return supported;
    }());
    return sets;
}

#if defined(__x86_64__)
__attribute__((target("avx"))) void zero_upper_halves() { _mm256_zeroupper(); }
#endif

// Code with AVX that ends without vzeroupper makes all scalar and SSE code after it wait for false dependencies: the
// parsers then take more than twice as long.
void clear_vector_registers() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx")) zero_upper_halves();
#endif
}

std::atomic<const InstructionSet*> used_set{nullptr};

void use_instruction_set(const std::string& name) {
    for (const InstructionSet& set : supported_sets())
        if (name == set.name) {
            used_set = &set;
            return;
        }
    throw nb::value_error(("this processor does not support the instruction set " + name).c_str());
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    for (const Named& one : all) names.emplace_back(one.name);
    return names;
}

const CompiledRule& compiled_rule(const std::string& name) {
    for (const CompiledRule& rule : compiled_rules())
        if (name == rule.name) return rule;
    throw nb::value_error(("no compiled rule is named " + name).c_str());
}

// A Python function as a rule: called for each row, with the GIL, and free to raise.
Step ask_python(const void* self, double m, double v, double norm2, double t, double n, double w) {
    const nb::handle function(static_cast<PyObject*>(const_cast<void*>(self)));
    const auto ask = [function](const auto&... number) { return called(function, {number.ptr()...}); };
    const nb::object step =
        ask(nb::float_(m), nb::float_(v), nb::float_(norm2), nb::float_(t), nb::float_(n), nb::float_(w));
    const auto [alpha, precision, shrink, grow] = nb::cast<std::tuple<double, double, double, double>>(step);
    return {alpha, precision, shrink, grow};
}

std::tuple<double, double, double, double> step_of(const HeldRule& held, double m, double v, double norm2, double t,
                                                   double n, double w) {
    const Rule rule = held.rule();
    const Step step = rule.ask(rule.self, m, v, norm2, t, n, w);
    return {step.alpha, step.precision, step.shrink, step.grow};
}

}  // namespace

HeldRule::HeldRule(const std::string& name, std::vector<double> constants)
    : compiled_(&compiled_rule(name)), constants_(std::move(constants)), uses_norm_(compiled_->uses_norm) {
    require(constants_.size() == compiled_->constants, "constants has the wrong length for the rule");
}

Rule HeldRule::rule() const {
    if (compiled_ != nullptr) return {compiled_->ask, constants_.data(), uses_norm_, true};
    return {&ask_python, function_.ptr(), uses_norm_, false};
}

const InstructionSet& loops() { return *used_set.load(); }

Loop loop_for(const ModelForm& form, bool binary, RowKind rows) {
    if (binary) return (form.kind == kFull ? loops().full.learn : loops().rows.learn[form.layout][form.kind])[rows];
    return form.kind == kFull ? loops().full.learn_classes : loops().classes.learn[form.kind];
}

Score score_for(const ModelForm& form, bool binary, RowKind rows) {
    if (binary) return loops().rows.score[rows];
    return form.kind == kFull ? loops().full.score_classes : loops().classes.score;
}

NB_MODULE(_native, module) {
    // nanobind takes the GIL of the main interpreter, and would wait for it forever.
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        throw nb::import_error("scwlearn does not support subinterpreters; use threads or processes");
    // Models that live until the interpreter exits, in a global of a script or a test, are no leaks.
    nb::set_leak_warnings(false);
    // Without a C++ exception, this is the end of the thread.
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        if (error == nullptr) wait_for_the_end();
        try {
            std::rethrow_exception(error);
        } catch (const std::bad_cast&) {
            PyErr_SetString(PyExc_TypeError, "an object does not have the type that is needed here");
        }
    });
    used_set = &supported_sets().front();
    module.doc() = "The native loops, parsers and calibration of scwlearn.";
    module.attr("LARGEST_VALUE") = kLargestValue;
    module.attr("SMALLEST_WEIGHT") = kSmallestWeight;
    module.attr("LARGEST_WEIGHT") = kLargestWeight;
    module.attr("SMALLEST_VARIANCE") = kSmallestVariance;
    module.attr("LARGEST_VARIANCE") = kLargestVariance;
    module.attr("LARGEST_BLOCK") = kLargestBlock;
    module.attr("SHARED_STRIDE") = kSharedStride;
    module.attr("CACHED_FEATURES") = kCachedFeatures;
    module.attr("MOST_THREADS") = kMostThreads;
    module.attr("SCALARS") = sizeof(Scalars) / sizeof(double);
    module.attr("KEPT_BY_AVERAGES") = AverageState::kKept;
    module.attr("AVERAGE_STATE") = sizeof(AverageState) / sizeof(double);
    module.attr("LANE_MULTIPLE") = kLaneMultiple;
    module.def("instruction_sets", [] { return names_of(supported_sets()); },
               "Return the instruction sets that this processor supports, the best first.");
    module.def("use_instruction_set", &use_instruction_set, "name"_a, "Use this instruction set from now on.");
    module.def("clear_vector_registers", &clear_vector_registers,
               "Clear the upper halves of this thread's vector registers, which slow down the parsers.");
    module.def("as_weight", [](SampleWeight w) { return w.value; }, "w"_a.none(),
               "Return the weight of an example as a float; raise an error for what is none.");
    module.def("as_number", float_of, "value"_a.none(),
               "Return the float of a number, infinite if it is too large for one, or None for any other object.");
    module.def("rule_names", [] { return names_of(compiled_rules()); },
               "Return the names of the rules that were compiled into this module.");
    nb::class_<HeldRule>(module, "Rule", "A compiled rule with its constants, or a function that is called for each row.")
        .def(nb::init<const std::string&, std::vector<double>>(), "name"_a, "constants"_a)
        .def(nb::init<nb::object, bool>(), "function"_a, "uses_norm"_a)
        .def("step", &step_of, "m"_a, "v"_a, "norm2"_a, "t"_a, "n"_a = 1.0, "w"_a = 1.0,
             "Return its step: alpha, precision, shrink, grow.");
    bind_lock(module);
    bind_rows(module);
    bind_learning(module);
    bind_vocabulary(module);
    bind_one_at_a_time(module);
    bind_parsing(module);
    bind_records(module);
    bind_tables(module);
    bind_json(module);
    bind_arrow(module);
    bind_grid(module);
    bind_kernel(module);
    bind_calibration(module);
    bind_mixing(module);
    bind_merging(module);
    bind_classifier_by_one(module);
}

}  // namespace scwlearn
