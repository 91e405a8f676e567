// A model that is ready for single rows, and the running scale of their features.
#pragma once

#include "python/ready_model.hpp"
#include "python/row_scales.hpp"

namespace scwlearn {

class ScaledModel : public ReadyModel {
public:
    ScaledModel(HeldRule rule, HeldModel model, bool intercept, const std::string& scale, std::optional<HeldScale> states)
        : ReadyModel(std::move(rule), std::move(model), intercept),
          kind_(states ? std::optional(scale_kind(scale)) : std::nullopt),
          scales_(wanted(kind_), std::move(states), width()) {}

    void score(const Rows& row, double* scores, std::int64_t count) {
        scales_.apply(row, for_score_);
        ReadyModel::score(seen(row, for_score_), scores, count);
    }

    void look(const Rows& row, double* scores, std::int64_t count, double& variance) {
        scales_.apply(row, for_score_);
        ReadyModel::look(seen(row, for_score_), scores, count, variance);
    }

    // The sample weight without that of the class matters to a committee only.
    void learn(const Rows& row, double y, double w, double /* own */, double* scores, std::int64_t count,
               double* variance) {
        scales_.learn(row, for_learning_, can_raise());
        try {
            ReadyModel::learn(seen(row, for_learning_), y, w, scores, count, variance);
        } catch (...) {
            scales_.go_back();
            throw;
        }
    }

private:
    static RowScales::Kinds wanted(std::optional<ScaleKind> kind) noexcept {
        RowScales::Kinds kinds{};
        if (kind) kinds[*kind] = true;
        return kinds;
    }

    const Rows& seen(const Rows& row, const ScaledBatch& scaled) const noexcept {
        return kind_ ? scaled.rows[*kind_] : row;
    }

    std::optional<ScaleKind> kind_;
    RowScales scales_;
    // Separate, because a Python rule may score while it is asked.
    ScaledBatch for_learning_, for_score_;
};

}  // namespace scwlearn
