// The loops that learn with a batch of models. Compiled once per instruction set, as loops/row_loops.cpp is.
#include "loops/model_batch.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

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

extern constinit const BatchLoops batch_loops{kWidth, {&learn<IdentityStep>, &learn<PrecisionStep>, &learn<DropStep>}};

}  // namespace scwlearn::SCWLEARN_SET
