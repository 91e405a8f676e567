// The only file that knows Python: checks shapes and types, finds the loop, lets go of the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "loop.hpp"
#include "scan.hpp"
#include "spelled_rules.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace scwlearn;

namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Labels = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Numbers = nb::ndarray<double, nb::device::cpu, nb::c_contig>;
using Tally = nb::ndarray<std::int64_t, nb::device::cpu, nb::c_contig>;

template <class T>
bool holds(const Array& array) {
    return array.dtype() == nb::dtype<T>();
}

void require(bool met, const char* what) {
    if (!met) throw nb::value_error(what);
}

// Rows as Python passes them: one dense matrix, or the three arrays of a compressed sparse one.
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

CovarianceKind covariance_kind(const std::string& name) {
    for (int kind = 0; kind < kCovarianceKinds; ++kind)
        if (name == kCovarianceNames[kind]) return static_cast<CovarianceKind>(kind);
    throw nb::value_error(("there is no covariance of the name " + name).c_str());
}

const SpelledRule& spelled_rule(const std::string& name) {
    for (const SpelledRule& rule : spelled_rules())
        if (name == rule.name) return rule;
    throw nb::value_error(("no rule of that name was spelled: " + name).c_str());
}

// A rule that stayed in Python: called for each row, with the GIL, and free to raise.
struct CalledRule {
    static constexpr bool kUsesNorm = true;
    nb::handle function;

    Step operator()(double m, double v, double norm2, double t) const {
        const auto [alpha, precision, shrink, grow] =
            nb::cast<std::tuple<double, double, double, double>>(function(m, v, norm2, t));
        return {alpha, precision, shrink, grow};
    }
};

Model model_of(const Rows& rows, Numbers& mean, Numbers& spread, Numbers& scalars, Numbers& work,
               double initial_variance, CovarianceKind kind) {
    const auto size = static_cast<std::size_t>(rows.width) + (rows.intercept ? 1 : 0);
    const std::size_t entries = kind == kIdentity ? 0 : kind == kFull ? size * (size + 1) : size;
    require(mean.ndim() == 1 && mean.size() == size, "mean has the wrong length");
    require(spread.size() == entries, "spread has the wrong size");
    require(scalars.size() * sizeof(double) == sizeof(Scalars), "scalars has the wrong length");
    require(work.size() >= (kind == kFull ? kWorkVectors * size : 0), "work is too short");
    return {mean.data(), spread.data(), work.data(), reinterpret_cast<Scalars*>(scalars.data()),
            static_cast<std::int64_t>(size), initial_variance};
}

void learn_rows(const nb::object& rule, const std::vector<double>& constants, const std::string& covariance,
                const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
                std::int64_t width, bool intercept, const Labels& labels, Numbers mean, Numbers spread, Numbers scalars,
                Tally tally, Numbers work, double initial_variance, const std::optional<Numbers>& trace) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    const CovarianceKind kind = covariance_kind(covariance);
    require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
    require(!trace || static_cast<std::int64_t>(trace->size()) == rows.count * kTraceWidth,
            "trace has the wrong size");
    require(tally.size() == 3, "the tally has three counts: rows seen, mistakes and updates");
    const Model model = model_of(rows, mean, spread, scalars, work, initial_variance, kind);
    double* lines = trace ? trace->data() : nullptr;

    Counts counts;
    if (nb::isinstance<nb::str>(rule)) {
        const SpelledRule& spelled = spelled_rule(nb::cast<std::string>(rule));
        require(constants.size() == spelled.constants, "the rule takes another number of constants");
        nb::gil_scoped_release nobody_waits;
        counts = spelled.learn(constants.data(), kind, rows, labels.data(), model, lines);
    } else {
        static constexpr Loops<CalledRule> loops = all_loops<CalledRule>();
        counts = loops[kind][rows.kind](rows, labels.data(), model, CalledRule{rule}, lines);
    }
    tally.data()[0] += rows.count;
    tally.data()[1] += counts.mistakes;
    tally.data()[2] += counts.updates;
}

std::tuple<std::string, std::int64_t, std::int64_t, bool> scan_rows(const Array& values,
                                                                    const std::optional<Array>& indices,
                                                                    const std::optional<Array>& offsets,
                                                                    std::int64_t width) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    Finding found;
    {
        nb::gil_scoped_release nobody_waits;
        found = scan(rows);
    }
    static const char* const names[] = {"", "value", "index", "offset"};
    return {names[static_cast<int>(found.problem)], found.row, found.column, found.sorted};
}

std::tuple<double, double, double, double> step_of(const std::string& rule, const std::vector<double>& constants,
                                                   double m, double v, double norm2, double t) {
    const SpelledRule& spelled = spelled_rule(rule);
    require(constants.size() == spelled.constants, "the rule takes another number of constants");
    const Step step = spelled.step(constants.data(), m, v, norm2, t);
    return {step.alpha, step.precision, step.shrink, step.grow};
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const SpelledRule& rule : spelled_rules()) names.emplace_back(rule.name);
    return names;
}

}  // namespace

NB_MODULE(_native, module) {
    module.doc() = "The loops of scwlearn in C++.";
    module.attr("LARGEST_VALUE") = kLargestValue;
    module.attr("WORK_VECTORS") = kWorkVectors;
    module.attr("SCALARS") = sizeof(Scalars) / sizeof(double);
    module.def("rule_names", &rule_names, "The rules that were spelled in C++ when this module was built.");
    module.def("step", &step_of, "rule"_a, "constants"_a, "m"_a, "v"_a, "norm2"_a, "t"_a,
               "The step of a spelled rule: alpha, precision, shrink, grow.");
    module.def("scan_rows", &scan_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
               "The first thing wrong with a batch (value, index, offset or nothing), its row, its place, and whether "
               "the indices of each row strictly increase.");
    // What is written to is never converted: the result would go to a copy that nobody sees.
    module.def("learn_rows", &learn_rows, "rule"_a, "constants"_a, "covariance"_a, "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "intercept"_a, "labels"_a, "mean"_a.noconvert(), "spread"_a.noconvert(),
               "scalars"_a.noconvert(), "tally"_a.noconvert(), "work"_a.noconvert(), "initial_variance"_a,
               "trace"_a.none().noconvert(),
               "Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tally.");
}
