// The running scale of the features, applied to one row at a time.
#pragma once

#include <algorithm>
#include <string>

#include "python/bindings.hpp"

namespace scwlearn {

// Room for one scaled row, kept for the next.
struct ScaledRow {
    std::vector<double> values;
    std::vector<std::int64_t> indices;
    std::int64_t offsets[2] = {0, 0};
};

// The running scale (loops/scaling_loops.cpp) applied to one row, if there is any.
class RowScales {
public:
    RowScales(const std::string& kind, std::optional<Numbers> states, std::int64_t width)
        : kind_(states ? scale_kind(kind) : kRms), states_(std::move(states)) {
        require(!states_ || static_cast<std::int64_t>(states_->size()) == scale_numbers(kind_, width),
                "states must have the size of the scale");
    }

    // Returns the scaled row, which lies in `to`.
    Rows apply(const Rows& row, ScaledRow& to) const {
        if (!states_) return row;
        const ScaledRows room = room_for(row, to);
        loops().scales.apply[row.kind](kind_, states_->data(), without_constant(row), 0, room);
        return scaled(row, to);
    }

    // Updates the scale with the values first; `undoable` allows `go_back`.
    Rows learn(const Rows& row, ScaledRow& to, bool undoable) {
        if (!states_) return row;
        before_.clear();
        if (undoable) remember(row);
        const ScaledRows room = room_for(row, to);
        loops().scales.learn[row.kind](kind_, states_->data(), without_constant(row), 0, nullptr, room);
        return scaled(row, to);
    }

    // Undoes the last `learn`.
    void go_back() noexcept {
        for (const auto& [place, number] : before_) states_->data()[place] = number;
    }

private:
    static Rows without_constant(Rows row) noexcept {
        row.intercept = false;
        return row;
    }

    bool has_own_entries(const Rows& row) const noexcept { return row.is_sparse() && kind_ == kStandard; }

    ScaledRows room_for(const Rows& row, ScaledRow& to) const {
        const std::int64_t room = row.stored + added_features(kind_, states_->data(), row.width);
        const auto size = static_cast<std::size_t>(room);
        if (to.values.size() < size) to.values.resize(size);
        if (has_own_entries(row) && to.indices.size() < size) to.indices.resize(size);
        return {to.values.data(), to.indices.data(), to.offsets, room};
    }

    Rows scaled(Rows row, const ScaledRow& to) const noexcept {
        row.values = to.values.data();
        if (has_own_entries(row)) {
            row.indices = to.indices.data();
            row.offsets = to.offsets;
            row.stored = to.offsets[1];
        }
        return row;
    }

    void remember(const Rows& row) {
        const auto keep = [this](std::int64_t place) { before_.emplace_back(place, states_->data()[place]); };
        const bool lines = kind_ == kStandard;
        if (lines) {
            keep(0);
            keep(1);
            // The row may make as many features dense as it has.
            const std::int64_t listed = added_features(kind_, states_->data(), row.width) + row.stored;
            for (std::int64_t k = 0; k < std::min(listed, row.width); ++k) keep(kLine * (k + 1) + 3);
        }
        const auto* const indices = static_cast<const std::int64_t*>(row.indices);
        for (std::int64_t k = 0; k < row.stored; ++k) {
            const std::int64_t feature = indices ? indices[k] : k, first = lines ? kLine * (feature + 1) : 2 * feature;
            for (std::int64_t place = first; place < first + (lines ? 3 : 2); ++place) keep(place);
        }
    }

    ScaleKind kind_;
    std::optional<Numbers> states_;
    std::vector<std::pair<std::int64_t, double>> before_;
};

}  // namespace scwlearn
