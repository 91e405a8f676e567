// What the files that know Python share (bind*; no other file does): arrays, rules and the loop to run.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/interface.hpp"

namespace scwlearn {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Labels = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Numbers = nb::ndarray<double, nb::device::cpu, nb::c_contig>;
using ReadOnly = nb::ndarray<const double, nb::device::cpu, nb::c_contig>;
using Tally = nb::ndarray<std::int64_t, nb::device::cpu, nb::c_contig>;
using Vector = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig>;  // made here

inline void require(bool met, const char* what) {
    if (!met) throw nb::value_error(what);
}

// Hands memory over to NumPy.
template <class T>
Vector vector_of(std::unique_ptr<T[]> memory, std::int64_t size) {
    T* const data = memory.get();
    const nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
    static_cast<void>(memory.release());
    return Vector(nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(data, {static_cast<std::size_t>(size)}, owner));
}

// A rule with its constants: one that the build spelled, or a Python function.
class HeldRule {
public:
    HeldRule(const std::string& name, std::vector<double> constants);
    HeldRule(nb::object function, bool uses_norm) : function_(std::move(function)), uses_norm_(uses_norm) {}

    Rule rule() const;
    bool is_compiled() const { return compiled_ != nullptr; }
    nb::handle function() const { return function_; }  // null for a spelled rule

private:
    const CompiledRule* compiled_ = nullptr;
    std::vector<double> constants_;
    nb::object function_;
    bool uses_norm_ = false;
};

// The arrays of a model, held so that they stay where they are.
struct HeldModel {
    CovarianceKind kind;
    std::int64_t size;
    Numbers entries, scalars;
    Tally tally;
    double initial_variance, variance_floor;

    HeldModel(const std::string& covariance, std::int64_t size, Numbers entries, Numbers scalars, Tally tally,
              double initial_variance, double variance_floor);

    Memory memory(double* work) const;
    // Adds to what Python sees: rows seen, mistakes and updates.
    void count(std::int64_t rows, const Counts& counts) const;
};

CovarianceKind covariance_kind(const std::string& name);

// What a loop that learns is to do, once it is clear that everything fits.
Task task_of(const HeldRule& rule, const HeldModel& model, const Rows& rows, const Labels& labels,
             const std::optional<ReadOnly>& weights, const Numbers& work, const std::optional<Numbers>& trace, std::int64_t block, int threads);

// Runs a loop, which needs the GIL only if the rule is a Python function.
template <class Learn>
void run(const HeldRule& rule, const Learn& learn) {
    if (rule.is_compiled()) {
        const nb::gil_scoped_release release_gil;
        learn();
    } else {
        learn();
    }
}

// Rows as Python passes them: one dense matrix, or the three arrays of a compressed sparse one.
Rows rows_of(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
             std::int64_t width, bool intercept);

// The loops for the instruction set in use.
Loop loop_for(CovarianceKind covariance, RowKind rows);
Score score_for(RowKind rows);
const BatchLoops& batch_loops_in_use();
const KernelLoops& kernel_loops_in_use();
const MultiLoops& multi_loops_in_use();
const ScaleLoops& scale_loops_in_use();
const MultiBlockLoops& multi_block_loops_in_use();

// The other files' parts of the module.
void bind_vocabulary(nb::module_& module);
void bind_one(nb::module_& module);
void bind_libsvm(nb::module_& module);
void bind_vw(nb::module_& module);
void bind_many(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_multi(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_scaling(nb::module_& module);
void bind_placing(nb::module_& module);

}  // namespace scwlearn
