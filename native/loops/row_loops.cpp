// The loops over single rows of a binary model: look, ask, move. Compiled once per instruction set, in a namespace of
// its own, so that the linker never mixes the code of two sets.
#include "core/covariance.hpp"
#include "core/round.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

constexpr std::int64_t kWideRow = 512, kDenseRowsAhead = 8;

template <class Covariance, class RowSet, bool kNorm, bool kAveraged>
Counts learn_by_row(const Task& task) {
    const RowSet rows{task.rows};
    Model model(task.memory, Covariance::kKind, Covariance::kStride);
    Round round(task);
    const bool fetch_ahead = model.size > kCachedFeatures;
    // The processor sees by itself where a wider row goes on.
    const bool fetch_rows = task.rows.width <= kWideRow;
    for (std::int64_t i = 0; i < task.rows.count; ++i) {
        const auto row = rows[i];
        if constexpr (!RowSet::kSparse)
            if (fetch_rows && i + kDenseRowsAhead < task.rows.count) rows[i + kDenseRowsAhead].fetch();
        if constexpr (RowSet::kSparse)
            if (fetch_ahead && i + kRowsAhead < task.rows.count + task.rows.rows_beyond) {
                if (!task.entries_in_cache) rows[i + kRowsAhead].fetch(model.entries, Covariance::kStride);
                if constexpr (kAveraged && !Covariance::kHasLagBeside) rows[i + kRowsAhead].fetch(model.lag, 1);
            }
        const LookWithLag look = Covariance::template look_with_lag<kAveraged>(row, model);
        if (!task.checked && !proves_values(look.squares) && !rows.is_valid(i)) {
            round.counts.stopped = true;
            break;
        }
        const Step step = round.ask(i, look, look.lag_score, model);
        if (moves(step)) Covariance::template move<kNorm, kAveraged>(row, model, step, task.signs[i], look.variance);
    }
    return round.counts;
}

// The same for many short sparse rows.
template <class Covariance, class RowSet, bool kNorm, bool kAveraged>
Counts learn_staged(const Task& task) {
    const Scratch::Frame frame(*task.memory.scratch);
    Model model(task.memory, Covariance::kKind, Covariance::kStride);
    StagedRows<RowSet, Covariance::kStride, Covariance::kPairs> rows(
        task.rows, model.entries, kAveraged && !Covariance::kHasLagBeside ? model.lag : nullptr, *model.scratch);
    Round round(task);
    std::int64_t end = task.rows.count;
    const auto stage = [&](std::int64_t i) __attribute__((always_inline)) {
        if (i >= end || rows.stage(i)) return;
        end = i;
        round.counts.stopped = true;
    };
    for (std::int64_t i = 0; i < kStagedAhead; ++i) stage(i);
    for (std::int64_t i = 0; i < end; ++i) {
        const auto& row = rows[i];
        const LookWithLag look = Covariance::template look_with_lag<kAveraged>(row, model);
        const Step step = round.ask(i, look, look.lag_score, model);
        // Here, so that it fills the time that the rule takes to answer.
        stage(i + kStagedAhead);
        if (moves(step)) Covariance::template move<kNorm, kAveraged>(row, model, step, task.signs[i], look.variance);
    }
    return round.counts;
}

template <class Covariance, class RowSet>
bool is_worth_staging(const Task& task) noexcept {
    constexpr std::int64_t kFewRows = 16;
    return task.rows.count >= kFewRows && task.rows.rows_beyond == 0 &&
           StagedRows<RowSet, Covariance::kStride, Covariance::kPairs>::longest(task.rows) <= kLongestStaged;
}

template <template <class> class FeatureStep, Layout kLayout>
struct RowByRow {
    using Covariance = PerFeature<FeatureStep, kLayout>;

    template <class RowSet>
    struct Over {
        static Counts run(const Task& task) {
            if constexpr (Covariance::kHasLagBeside) return learn<true>(task);
            else return task.memory.average_state != nullptr ? learn<true>(task) : learn<false>(task);
        }

        template <bool kAveraged>
        static Counts learn(const Task& task) {
            return task.rule.uses_norm ? learn<kAveraged, true>(task) : learn<kAveraged, false>(task);
        }

        template <bool kAveraged, bool kNorm>
        static Counts learn(const Task& task) {
            if constexpr (RowSet::kSparse && kLayout != kSharedLines)
                if (is_worth_staging<Covariance, RowSet>(task))
                    return learn_staged<Covariance, RowSet, kNorm, kAveraged>(task);
            return learn_by_row<Covariance, RowSet, kNorm, kAveraged>(task);
        }
    };
};

// The sum over a row that has not been scanned: NaN if its offsets or indices are out of range.
template <class Value, class Term>
Look sum(const Dense<Value>& rows, std::int64_t i, Term term, const double*, std::int64_t) noexcept {
    return rows[i].sum(term);
}

// If `entries` is not null, those of later features, of this row or the next, are prefetched; a feature has `numbers` of
// them.
template <class Value, class Index, class Term>
Look sum(const Sparse<Value, Index>& rows, std::int64_t i, Term term, const double* entries, std::int64_t numbers) noexcept {
    constexpr std::int64_t kFeaturesAhead = 128;
    const Index* const offsets = static_cast<const Index*>(rows.rows.offsets);
    const std::int64_t begin = offsets[i], end = offsets[i + 1], stored = rows.rows.stored;
    if (begin < 0 || begin > end || end > stored) return {std::numeric_limits<double>::quiet_NaN(), 0.0};
    const auto row = rows.between(begin, end);
    if (entries == nullptr || end > stored - kFeaturesAhead) return row.template sum<true>(term);
    const auto fetch = [=](std::int64_t j) __attribute__((always_inline)) {
        row.fetch_at(entries, numbers, j + kFeaturesAhead);
    };
    return row.template sum<true>(term, fetch);
}

template <class RowSet>
struct ScoreOver {
    static bool run(const Rows& untyped, const Weights& weights, Scratch&, double* scores) {
        return weights.stride == 1         ? score<1>(untyped, weights, scores)
               : weights.stride == kSharedStride ? score<kSharedStride>(untyped, weights, scores)
                                           : score<2>(untyped, weights, scores);
    }

    template <std::int64_t kStride>
    static bool score(const Rows& untyped, const Weights& weights, double* scores) {
        const RowSet rows{untyped};
        const double* mean = weights.first;
        const double scale = weights.scale(0);
        const double* const far = untyped.width > kCachedFeatures ? mean : nullptr;
        // Becomes and stays NaN if a score is not finite.
        double all = 0.0;
        bool acceptable = true;
        const bool fetch_rows = untyped.width <= kWideRow;
        for (std::int64_t i = 0; i < untyped.count; ++i) {
            if constexpr (!RowSet::kSparse) {
                if (fetch_rows && i + kDenseRowsAhead < untyped.count) rows[i + kDenseRowsAhead].fetch();
                acceptable &= rows[i].is_valid();
            }
            // The squares cost nothing in sparse rows, which wait for their weights.
            const auto term = [=](std::int64_t j, double x) {
                return Look{mean[kStride * j] * x, RowSet::kSparse ? x * x : 0.0};
            };
            const Look look = sum(rows, i, term, far, kStride);
            scores[i] = look.score * scale;
            all += 0.0 * scores[i];
            acceptable &= proves_values(look.variance);
        }
        return all == 0.0 && acceptable;
    }
};

// The loops of each step, in the order of CovarianceKind.
template <Layout kLayout>
constexpr std::array<LoopsOverRows, kPerFeatureKinds> learn_in() {
    return for_each_step([](auto tag) {
        return over_rows<RowByRow<decltype(tag)::template Step, kLayout>::template Over, LoopsOverRows>();
    });
}

// Only a model without variances has its lags beside the weights.
constexpr std::array<LoopsOverRows, kPerFeatureKinds> learn_beside_lags() {
    return {over_rows<RowByRow<IdentityStep, kBesideLag>::Over, LoopsOverRows>()};
}

}  // namespace

// Initialized at compile time: no code of an instruction set may run before it is known to be supported.
extern constinit const RowLoops row_loops{{learn_in<kPacked>(), learn_in<kSharedLines>(), learn_beside_lags()},
                                          over_rows<ScoreOver, std::array<Score, kRowKinds>>()};

}  // namespace scwlearn::SCWLEARN_SET
