// What the bindings share: arrays, rules, models, and the loops of the instruction set in use.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/interface.hpp"
#include "python/casters.hpp"
#include "python/gil.hpp"

namespace scwlearn {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Numbers = nb::ndarray<double, nb::device::cpu, nb::c_contig>;
using ReadOnly = nb::ndarray<const double, nb::device::cpu, nb::c_contig>;
// Arrays whose rows need not be contiguous.
using StridedNumbers = nb::ndarray<double, nb::device::cpu>;
using ReadOnlyStrided = nb::ndarray<const double, nb::device::cpu>;
using Tally = nb::ndarray<std::int64_t, nb::device::cpu, nb::c_contig>;
// int8 signs -1 and +1 for a binary model, else int32 class numbers.
using Labels = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using NewArray = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig>;

// Arrays of doubles. NumPy releases the GIL while it gets zeros or copies.
inline nb::object new_zeros(std::int64_t size) {
    const nb::int_ length(size);
    return called(nb::module_::import_("numpy").attr("zeros"), {length.ptr()});
}
inline nb::object copied_numbers(nb::handle array) {
    const nb::str type("float64");
    return called(nb::module_::import_("numpy").attr("array"), {array.ptr(), type.ptr()});
}

// Class numbers have 31 bits.
inline constexpr std::int64_t kMostScores = std::numeric_limits<std::int32_t>::max();

inline void require(bool met, const char* what) {
    if (!met) throw nb::value_error(what);
}

template <class Held>
std::int64_t length(const Held& array) {
    return static_cast<std::int64_t>(array.size());
}

// Hands memory over to NumPy.
template <class T>
NewArray array_of(std::unique_ptr<T[]> memory, std::int64_t size) {
    T* const data = memory.get();
    const nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
    static_cast<void>(memory.release());
    return NewArray(nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(data, {static_cast<std::size_t>(size)},
                    owner));
}

template <class T>
NewArray array_of(std::vector<T>&& values) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    const nb::capsule owner(held.get(), [](void* owned) noexcept { delete static_cast<std::vector<T>*>(owned); });
    std::vector<T>& kept = *held.release();
    return NewArray(nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(kept.data(), {kept.size()}, owner));
}

// Lets Python's garbage collector find what an object refers to: T::visit reports it.
template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->visit(visit, arg) : 0;
}
template <class T>
inline PyType_Slot kTraverse[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse<T>)}, {0, nullptr}};

// A rule with its constants: compiled by the build, or a Python function.
class HeldRule {
public:
    HeldRule(const std::string& name, std::vector<double> constants);
    HeldRule(nb::object function, bool uses_norm) : function_(std::move(function)), uses_norm_(uses_norm) {}

    Rule rule() const;
    bool is_compiled() const { return compiled_ != nullptr; }
    nb::handle function() const { return function_; }  // null for a compiled rule

private:
    const CompiledRule* compiled_ = nullptr;
    std::vector<double> constants_;
    nb::object function_;
    bool uses_norm_ = false;
};

// The lags of averaged means, a line of lanes per feature, and what goes with them, a line per set of scalars.
using HeldAverage = std::pair<StridedNumbers, Numbers>;
using ReadOnlyAverage = std::pair<ReadOnlyStrided, ReadOnly>;

// The arrays of a model, kept alive. A binary model has one lane.
struct HeldModel {
    ModelForm form;
    std::int64_t size, lanes;
    StridedNumbers entries;
    Numbers scalars;
    Tally known, tally;
    double initial_variance, floor;
    std::optional<HeldAverage> average;

    HeldModel(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
              StridedNumbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance,
              std::optional<HeldAverage> average, double variance_floor, const std::string& rivals);

    bool is_binary() const noexcept { return lanes == 1; }
    std::int64_t classes() const { return known.data()[0]; }
    Memory memory(Scratch* scratch) const;
    // Adds to the counts that Python sees: rows seen, mistakes and updates.
    void count(std::int64_t rows, const Counts& counts) const;
};

// Raises an error unless a model of this form can have this size and number of lanes.
void check_form(const ModelForm& form, std::int64_t size, std::int64_t lanes);
CovarianceKind covariance_kind(const std::string& name);
ScaleKind scale_kind(const std::string& name);

// What the arguments of every learn function have in common.
struct Given {
    const Labels& labels;
    const std::optional<ReadOnly>& weights;
    std::int64_t block;
    int threads;
    const std::optional<Numbers>&trace, &scores, &variances;
    int jobs = 1;
};

// The state of a scale: its lines, and the list of dense features.
using HeldScale = std::pair<StridedNumbers, nb::ndarray<std::int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>>;
using ReadOnlyScale = std::pair<ReadOnlyStrided, Column<std::int64_t>>;

// Checks a scale for `width` features and returns its lines.
template <class Number, class Scale>
ScaleLines<Number> scale_lines(const Scale& scale, std::int64_t width) {
    const auto& [states, dense] = scale;
    require(states.ndim() == 2 && static_cast<std::int64_t>(states.shape(0)) == width + 1 &&
                states.shape(1) == kLine - 1 && states.stride(1) == 1,
            "states must have a line for all rows and one per feature");
    require(length(dense) == width, "there must be room for a list of all features");
    const std::int64_t stride = width > 0 ? states.stride(0) : kLine;
    require(stride == kLine || stride == kSharedStride, "the lines of states must be 4 or 8 numbers apart");
    return {states.data(), stride, dense.data()};
}

// The one check of these arguments; the model and its scratch memory are the caller's.
Task checked_task(const HeldRule& rule, const ModelForm& form, const Memory& memory, const Rows& rows,
                  const Given& given);

template <class Label>
const Label* labels_of(const Labels& labels, std::int64_t rows) {
    require(labels.dtype() == nb::dtype<Label>(), "labels must be int8 for a binary model, else int32");
    require(length(labels) == rows, "labels must have one label per row");
    return static_cast<const Label*>(labels.data());
}

// Runs a loop, which needs the GIL only if the rule is a Python function.
template <class Learn>
void run(const HeldRule& rule, const Learn& learn) {
    std::optional<ReleaseGil> release_gil;
    if (rule.is_compiled()) release_gil.emplace();
    learn();
}

// Rows as Python passes them: one dense matrix, or the three arrays of a compressed sparse one.
Rows rows_of(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
             std::int64_t width, bool intercept);

// The loops of the instruction set in use.
const InstructionSet& loops();
Loop loop_for(const ModelForm& form, bool binary, RowKind rows);
Score score_for(const ModelForm& form, bool binary, RowKind rows);

// Computes the first `classes` scores of each row as predictions use them: of the means, or of their averages. Returns
// whether those of a binary model are finite.
bool score_shown(const ModelForm& form, const Memory& memory, std::int64_t classes, const Rows& rows, double* scores);

// The other files' parts of the module.
void bind_lock(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_learning(nb::module_& module);
void bind_vocabulary(nb::module_& module);
void bind_one_at_a_time(nb::module_& module);
void bind_classifier_by_one(nb::module_& module);
void bind_parsing(nb::module_& module);
void bind_records(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_json(nb::module_& module);
void bind_arrow(nb::module_& module);
void bind_grid(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_mixing(nb::module_& module);
void bind_merging(nb::module_& module);

}  // namespace scwlearn
