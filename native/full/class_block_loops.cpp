// The loops of several classes with a full covariance. Compiled once per instruction set, as loops/row_loops.cpp is.
#include <array>

#include "full/joint_blocks.hpp"
#include "full/rest_blocks.hpp"
#include "full/shared_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <class Blocks>
Counts learn_with(const Task& task) {
    Team team(task.threads);
    return Blocks(task, team).learn();
}

Counts learn(const Task& task) {
    if (task.form.scheme == kOneVersusRest) return learn_with<RestBlocks>(task);
    return task.form.shared ? learn_with<SharedBlocks>(task) : learn_with<JointBlocks>(task);
}

std::int64_t work(const ModelForm& form, std::int64_t size, std::int64_t lanes, std::int64_t block) {
    if (form.scheme == kOneVersusRest) return RestBlocks::entries(size, lanes, block);
    return form.shared ? SharedBlocks::entries(size, lanes, block) : JointBlocks::entries(size, lanes, block);
}

template <class RowSet>
struct ScoreClasses {
    static void run(const Rows& untyped, const ClassWeights& weights, double* scores) {
        const RowSet rows{untyped};
        for (std::int64_t i = 0; i < untyped.count; ++i)
            for (std::int64_t r = 0; r < weights.classes; ++r) {
                const double* const mean = weights.first + r * weights.stride;
                const Look look = rows[i].sum([mean](std::int64_t j, double x) { return Look{mean[j] * x, 0.0}; });
                *scores++ = look.score * weights.scalars[weights.scalars_for_each ? r : 0].mean_scale;
            }
    }
};

void score(const Rows& rows, const ClassWeights& weights, double*, double* scores) {
    using Scores = void (*)(const Rows&, const ClassWeights&, double*);
    static constexpr auto loops = over_rows<ScoreClasses, std::array<Scores, kRowKinds>>();
    loops[rows.kind](rows, weights, scores);
}

}  // namespace

// Initialized at compile time, as in loops/row_loops.cpp.
extern constinit const ClassBlockLoops class_block_loops{&learn, &work, &score};

}  // namespace scwlearn::SCWLEARN_SET
