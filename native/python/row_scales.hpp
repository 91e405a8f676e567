// The running scale of the features, applied to rows that were taken from a batch, or to single ones.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "python/bindings.hpp"

namespace scwlearn {

// Room for scaled rows, kept for the next ones.
struct ScaledBatch {
    std::array<std::vector<double>, kScaleKinds> values;
    std::vector<std::int64_t> indices, offsets;  // of standardised sparse rows
    std::array<Rows, kScaleKinds> rows{};        // as each kind sees them
};

// Scales sparse rows that may gain features, by scale_rows(rows, first, to), into vectors that grow until all rows fit.
template <class Scale>
void scale_gaining(const Rows& rows, const double* states, ScaledRows& to, std::vector<double>& values,
                   std::vector<std::int64_t>& indices, std::vector<std::int64_t>& offsets, const Scale& scale_rows) {
    const auto make_room = [](auto& numbers, std::int64_t count) {
        if (numbers.size() < static_cast<std::size_t>(count)) numbers.resize(static_cast<std::size_t>(count));
    };
    make_room(offsets, rows.count + 1);
    offsets[0] = 0;
    to.offsets = offsets.data();
    to.room = rows.stored + 2 * rows.count * dense_features(states, rows.width);
    for (std::int64_t done = 0; done < rows.count; to.room += to.room / 2 + 1024) {
        make_room(values, to.room);
        make_room(indices, to.room);
        to.values[kStandard] = values.data();
        to.indices = indices.data();
        done = scale_rows(rows, done, to);
    }
}

// The running scale (loops/scaling_loops.cpp), if there is any, for the kinds that are wanted.
class RowScales {
public:
    using Kinds = std::array<bool, kScaleKinds>;

    RowScales(const Kinds& wanted, std::optional<HeldScale> states, std::int64_t width)
        : wanted_(wanted), states_(std::move(states)) {
        if (states_) lines_ = scale_lines<double>(*states_, width);
    }

    bool is_known() const noexcept { return states_.has_value(); }

    // Writes the rows as each kind sees them.
    void apply(const Rows& rows, ScaledBatch& to) const {
        if (!states_) return;
        scale(rows, to, [this](const Rows& given, std::int64_t first, const ScaledRows& room) {
            return loops().scales.apply[given.kind]({lines_.first, lines_.stride, lines_.dense}, given, first, room);
        });
    }

    // Also updates the scale with each row first. `undoable` allows `go_back`; only for a single row with 64-bit indices.
    void learn(const Rows& rows, ScaledBatch& to, bool undoable) {
        if (!states_) return;
        before_.clear();
        dense_before_.clear();
        if (undoable) remember(rows);
        scale(rows, to, [this](const Rows& given, std::int64_t first, const ScaledRows& room) {
            return loops().scales.learn[given.kind](lines_, given, first, nullptr, room);
        });
    }

    // Undoes the last `learn`.
    void go_back() noexcept {
        for (const auto& [place, number] : before_) *place = number;
        std::copy(dense_before_.begin(), dense_before_.end(), lines_.dense);
    }

private:
    template <class Scale>
    void scale(Rows rows, ScaledBatch& to, const Scale& scale_rows) const {
        const bool intercept = rows.intercept;
        rows.intercept = false;  // the constant feature is not scaled
        const bool joins = rows.is_sparse() && wanted_[kStandard];
        ScaledRows room{};
        for (std::size_t kind = 0; kind < kScaleKinds; ++kind)
            if (wanted_[kind] && !(joins && kind == kStandard)) {
                to.values[kind].resize(std::max(to.values[kind].size(), static_cast<std::size_t>(rows.stored)));
                room.values[kind] = to.values[kind].data();
            }
        if (joins)
            scale_gaining(rows, lines_.first, room, to.values[kStandard], to.indices, to.offsets, scale_rows);
        else
            scale_rows(rows, 0, room);
        rows.intercept = intercept;
        for (std::size_t kind = 0; kind < kScaleKinds; ++kind)
            if (wanted_[kind]) to.rows[kind] = scaled(rows, to, static_cast<ScaleKind>(kind));
    }

    static Rows scaled(Rows rows, const ScaledBatch& to, ScaleKind kind) noexcept {
        rows.values = to.values[kind].data();
        if (!rows.is_sparse()) {
            rows.kind = kDense64;
        } else if (kind == kStandard) {
            rows.kind = kSparse64i64;
            rows.indices = to.indices.data();
            rows.offsets = to.offsets.data();
            rows.stored = to.offsets[static_cast<std::size_t>(rows.count)];
            rows.rows_beyond = 0;
        } else {
            rows.kind = rows.has_short_indices() ? kSparse64i32 : kSparse64i64;
        }
        return rows;
    }

    void remember(const Rows& row) {
        const auto keep = [this](std::int64_t line, std::int64_t number) {
            double* const place = lines_.first + lines_.stride * line + number;
            before_.emplace_back(place, *place);
        };
        keep(0, 0);
        keep(0, 1);
        // The row may make as many features dense as it has.
        const std::int64_t listed = dense_features(lines_.first, row.width) + row.stored;
        dense_before_.assign(lines_.dense, lines_.dense + std::min(listed, row.width));
        const auto* const indices = static_cast<const std::int64_t*>(row.indices);
        for (std::int64_t k = 0; k < row.stored; ++k)
            for (std::int64_t number = 0; number < 3; ++number) keep((indices ? indices[k] : k) + 1, number);
    }

    Kinds wanted_;
    std::optional<HeldScale> states_;
    ScaleLines<double> lines_{};
    std::vector<std::pair<double*, double>> before_;
    std::vector<std::int64_t> dense_before_;
};

}  // namespace scwlearn
