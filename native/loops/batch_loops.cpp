// The loops that learn with many models at once. Compiled once for each instruction set, as loops/row_loops.cpp is.
#include "loops/model_batch.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <class Covariance, std::int64_t kVectors>
void learn_together(const Bundle& bundle, const Rows& rows, const std::int8_t* labels) {
    BundleLearner<Covariance, kVectors> learner(bundle);
    const auto learn = [&](const auto& typed) { learner.learn(typed, rows.count, labels); };
    switch (rows.kind) {
        case kDense32: return learn(Dense<float>{rows});
        case kDense64: return learn(Dense<double>{rows});
        case kSparse32i32: return learn(Sparse<float, std::int32_t>{rows});
        case kSparse32i64: return learn(Sparse<float, std::int64_t>{rows});
        case kSparse64i32: return learn(Sparse<double, std::int32_t>{rows});
        default: return learn(Sparse<double, std::int64_t>{rows});
    }
}

template <class Covariance>
void learn_in_vectors(const Bundle& bundle, const Rows& rows, const std::int8_t* labels) {
    static_assert(kMostVectors == 4);
    switch (bundle.vectors) {
        case 1: return learn_together<Covariance, 1>(bundle, rows, labels);
        case 2: return learn_together<Covariance, 2>(bundle, rows, labels);
        case 3: return learn_together<Covariance, 3>(bundle, rows, labels);
        default: return learn_together<Covariance, 4>(bundle, rows, labels);
    }
}

}  // namespace

extern constinit const BundleLoops bundle_loops{
    kWidth,
    {&learn_in_vectors<IdentityBundle>, &learn_in_vectors<DiagonalBundle<ByPrecision>>,
     &learn_in_vectors<DiagonalBundle<ByDrop>>}};

}  // namespace scwlearn::SCWLEARN_SET
