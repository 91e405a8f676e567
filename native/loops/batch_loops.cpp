// The loops of a batch of models over the same rows, identity or diagonal: each feature is read once for all models, and
// each model gets the bits that it would get alone. Compiled once per instruction set, as loops/row_loops.cpp is.
#include <array>

#include "loops/lanes.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <template <class> class FeatureStep, std::int64_t kVectors>
class BatchLearner {
public:
    explicit BatchLearner(const ModelBatch& batch) noexcept : batch_(batch), terms_(memory_, kLanes) {
        for (std::int64_t lane = 0; lane < batch.count; ++lane) {
            const Memory& memory = batch.models[lane];
            models_[lane] = Model(memory, {memory.entries, kStride, memory.size},
                                  {memory.entries + kLanes, kStride, memory.size});
        }
    }

    void learn(const Rows& rows, const std::int8_t* labels) {
        const bool sparse = rows.offsets != nullptr;
        ReadAhead read(rows, batch_.entries, kStride, batch_.row, true);
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const ReadRow row = read[i];
            if (sparse) read.prefetch(0, kStride);
            if (ask(sparse ? sum_sparse(row, rows) : sum_dense(row, rows), labels[i])) move(row);
        }
    }

private:
    static constexpr bool kVariances = FeatureStep<double>::kVariances;
    static constexpr std::int64_t kLanes = kVectors * kWidth;
    static constexpr std::int64_t kStride = (kVariances ? 2 : 1) * kLanes;
    using Sums = LaneSums<Vector, kVectors, kVariances>;

    void add(Sums& sums, const Feature& feature) const noexcept {
        sums.add(batch_.entries + feature.place, kLanes, feature.value);
    }

    // In the order of SparseRow.
    Sums sum_sparse(const ReadRow& row, const Rows& rows) const noexcept {
        const std::int64_t stored = row.count - rows.intercept;
        Sums total, odd;
        for (std::int64_t j = 0; j < stored; j += 2) add(total, row.first[j]);
        for (std::int64_t j = 1; j < stored; j += 2) add(odd, row.first[j]);
        total.add(odd);
        if (rows.intercept) add(total, row.first[stored]);
        return total;
    }

    // In the order of DenseRow.
    Sums sum_dense(const ReadRow& row, const Rows& rows) const noexcept {
        const std::int64_t whole = rows.width / kPartialSums * kPartialSums;
        const auto every = [&](std::int64_t first) {
            Sums part;
            for (std::int64_t j = first; j < whole; j += kPartialSums) add(part, row.first[j]);
            return part;
        };
        Sums total;
        for (std::int64_t lane = 0; lane < kWidth; ++lane) {
            Sums part = every(lane);
            part.add(every(lane + kWidth));
            total.add(part);
        }
        for (std::int64_t j = whole; j < row.count; ++j) add(total, row.first[j]);
        return total;
    }

    // Asks the rule of each model; returns whether any model moves.
    bool ask(const Sums& sums, double y) {
        any_ = {};
        bool any = false;
        for (std::int64_t lane = 0; lane < batch_.count; ++lane) {
            Model& model = models_[lane];
            Look look = sums[lane];
            look.score *= model.scalars->mean_scale;
            look.variance *= variance_scale<FeatureStep>(model);
            const Step step = SCWLEARN_SET::ask(batch_.rules[lane], y, 1.0, look, look.score, model, batch_.counts[lane]);
            terms_.moves()[lane] = 0.0;
            if (!moves(step)) continue;
            model.shrink_mean(step.shrink);
            terms_.set(lane, terms_of<FeatureStep>(model, step, y, look.variance));
            grow_[lane] = step.grow;
            any_[lane / kWidth] = any = true;
        }
        return any;
    }

    void move(const ReadRow& row) noexcept {
        for (std::int64_t k = 0; k < kVectors; ++k)
            if (any_[k]) move_lanes<FeatureStep, Vector, false>(row, batch_.entries, kLanes, terms_, k * kWidth);
        if constexpr (kVariances)
            for (std::int64_t lane = 0; lane < batch_.count; ++lane)
                if (terms_.moves()[lane] != 0.0) models_[lane].grow_spread(grow_[lane]);
    }

    const ModelBatch& batch_;
    std::array<Model, kLanes> models_;
    alignas(64) double memory_[LaneTerms::kTerms * kLanes];
    LaneTerms terms_;
    std::array<double, kLanes> grow_;
    std::array<bool, kVectors> any_;
};

template <template <class> class FeatureStep>
void learn(const ModelBatch& batch, const Rows& rows, const std::int8_t* labels) {
    static_assert(kMostVectors == 4);
    switch (batch.vectors) {
        case 1: return BatchLearner<FeatureStep, 1>(batch).learn(rows, labels);
        case 2: return BatchLearner<FeatureStep, 2>(batch).learn(rows, labels);
        case 3: return BatchLearner<FeatureStep, 3>(batch).learn(rows, labels);
        default: return BatchLearner<FeatureStep, 4>(batch).learn(rows, labels);
    }
}

}  // namespace

extern constinit const BatchLoops batch_loops{
    kWidth, for_each_step([](auto tag) { return &learn<decltype(tag)::template Step>; })};

}  // namespace scwlearn::SCWLEARN_SET
