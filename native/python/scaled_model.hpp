// A model that is ready for single rows, and the running scale of their features.
#pragma once

#include "python/ready_model.hpp"
#include "python/row_scales.hpp"

namespace scwlearn {

class ScaledModel : public ReadyModel {
public:
    ScaledModel(HeldRule rule, HeldModel model, bool intercept, const std::string& scale, std::optional<Numbers> states)
        : ReadyModel(std::move(rule), std::move(model), intercept), scales_(scale, std::move(states), width()) {}

    void score(const Rows& row, double* scores, std::int64_t count) {
        ReadyModel::score(scales_.apply(row, for_score_), scores, count);
    }

    void look(const Rows& row, double* scores, std::int64_t count, double& variance) {
        ReadyModel::look(scales_.apply(row, for_score_), scores, count, variance);
    }

    // The sample weight without that of the class matters to a committee only.
    void learn(const Rows& row, double y, double w, double /* own */, double* scores, std::int64_t count,
               double* variance) {
        const Rows scaled = scales_.learn(row, for_learning_, can_raise());
        try {
            ReadyModel::learn(scaled, y, w, scores, count, variance);
        } catch (...) {
            scales_.go_back();
            throw;
        }
    }

private:
    RowScales scales_;
    // Separate, because a Python rule may score while it is asked.
    ScaledRow for_learning_, for_score_;
};

}  // namespace scwlearn
