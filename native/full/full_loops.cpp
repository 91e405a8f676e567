// The loops of a full covariance, in blocks: binary models and several classes. Compiled once per instruction set, as
// loops/row_loops.cpp is.
#include "full/joint_blocks.hpp"
#include "full/precisions.hpp"
#include "full/rest_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

template <class RowSet>
struct BlockByBlock {
    static Counts run(const Task& task) {
        const RowSet rows{task.rows};
        Model model(task.memory, kFull);
        Round round(task);
        const bool screen = rows_at_once(task) == 1 && task.rule.holds_below && !task.is_recorded() &&
                            !model.is_averaged();
        Team team(task.threads);
        FullBlocks full(task.rows.count, model, rows_at_once(task), team);
        learn_blocks(task, rows, full, model, round, [&](std::int64_t first) {
            return screen && round.holds(first, full.glance(rows[first]), model);
        });
        return round.counts;
    }
};

template <class Blocks>
Counts learn_with(const Task& task) {
    Team team(task.threads);
    return Blocks(task, team).learn();
}

Counts learn_classes(const Task& task) {
    if (task.form.scheme == kOneVersusRest) return RestBlocks(task).learn();
    return task.form.shared ? learn_with<SharedBlocks>(task) : learn_with<JointBlocks>(task);
}

template <class RowSet>
struct ScoreClassesOver {
    static bool run(const Rows& untyped, const Weights& weights, Scratch&, double* scores) {
        const RowSet rows{untyped};
        for (std::int64_t i = 0; i < untyped.count; ++i)
            for (std::int64_t r = 0; r < weights.classes; ++r) {
                const double* const mean = weights.first + r * weights.stride;
                const Look look = rows[i].sum([mean](std::int64_t j, double x) { return Look{mean[j] * x, 0.0}; });
                *scores++ = look.score * weights.scale(r);
            }
        return true;
    }
};

bool score_classes(const Rows& rows, const Weights& weights, Scratch& scratch, double* scores) {
    static constexpr auto loops = over_rows<ScoreClassesOver, std::array<Score, kRowKinds>>();
    return loops[rows.kind](rows, weights, scratch, scores);
}

void precisions(const double* factors, std::int64_t size, double* precisions) {
    const std::int64_t stride = full_stride(size);
    // Nothing is written to it.
    const Triangle u(const_cast<double*>(factors) + stride, size, stride);
    compute_precisions(u, factors, size, precisions);
}

}  // namespace

extern constinit const FullLoops full_loops{over_rows<BlockByBlock, LoopsOverRows>(), &learn_classes,
                                            &score_classes, &precisions};

}  // namespace scwlearn::SCWLEARN_SET
