// The one loop: look, ask, move. A rule, a covariance and a row kind are inlined into it.
#pragma once

#include <array>
#include <cstddef>

#include "covariance.hpp"

namespace scwlearn {

struct Counts {
    std::int64_t mistakes = 0;
    std::int64_t updates = 0;
};

// Written for each row where asked for: score, variance, alpha, precision (the last two 0 where nothing moved).
inline constexpr int kTraceWidth = 4;

// Learns from the rows in order. Neither throws nor allocates unless the rule does.
template <class Rule, class Covariance, class RowSet>
Counts learn(const Rows& untyped, const std::int8_t* labels, Model model, const Rule& rule, double* trace) {
    const RowSet rows{untyped};
    Counts counts;
    for (std::int64_t i = 0; i < untyped.count; ++i) {
        const auto row = rows[i];
        const double y = labels[i];
        const Look look = Covariance::look(row, model);
        model.scalars->rounds += 1.0;
        counts.mistakes += (look.score >= 0.0) != (y > 0.0);
        Step step = HOLD;
        if (can_ask(look)) step = rule(y * look.score, look.variance, model.norm2(), model.scalars->rounds);
        if (step.moves() && !can_take(step, look.variance)) step = HOLD;
        if (step.moves()) {
            Covariance::template move<Rule::kUsesNorm>(row, model, step, y, look.variance);
            ++counts.updates;
        }
        if (trace != nullptr) {
            double* line = trace + i * kTraceWidth;
            line[0] = look.score;
            line[1] = look.variance;
            line[2] = step.alpha;
            line[3] = step.precision;
        }
    }
    return counts;
}

template <class Rule>
using Learn = Counts (*)(const Rows&, const std::int8_t*, Model, const Rule&, double*);

// The loop of one rule for every covariance and row kind.
template <class Rule>
using Loops = std::array<std::array<Learn<Rule>, kRowKinds>, kCovarianceKinds>;

template <class Rule, class Covariance>
constexpr std::array<Learn<Rule>, kRowKinds> over_rows() {
    return {&learn<Rule, Covariance, Dense<float>>,
            &learn<Rule, Covariance, Dense<double>>,
            &learn<Rule, Covariance, Sparse<float, std::int32_t>>,
            &learn<Rule, Covariance, Sparse<float, std::int64_t>>,
            &learn<Rule, Covariance, Sparse<double, std::int32_t>>,
            &learn<Rule, Covariance, Sparse<double, std::int64_t>>};
}

template <class Rule>
constexpr Loops<Rule> all_loops() {
    return {over_rows<Rule, Identity>(), over_rows<Rule, Diagonal<ByPrecision>>(), over_rows<Rule, Diagonal<ByDrop>>(),
            over_rows<Rule, Full>()};
}

// A rule spelled in C++ by the build, with its types erased.
struct SpelledRule {
    const char* name;
    std::size_t constants;  // how many letters it takes
    Step (*step)(const double* constants, double m, double v, double norm2, double t);
    Counts (*learn)(const double* constants, CovarianceKind, const Rows&, const std::int8_t* labels, Model,
                    double* trace);
};

template <class Rule>
SpelledRule spelled(const char* name) {
    return {name, Rule::kConstants,
            [](const double* constants, double m, double v, double norm2, double t) {
                return Rule(constants)(m, v, norm2, t);
            },
            [](const double* constants, CovarianceKind covariance, const Rows& rows, const std::int8_t* labels,
               Model model, double* trace) {
                static constexpr Loops<Rule> loops = all_loops<Rule>();
                return loops[covariance][rows.kind](rows, labels, model, Rule(constants), trace);
            }};
}

}  // namespace scwlearn
