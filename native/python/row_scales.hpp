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

// The running scale (loops/scaling_loops.cpp), if there is any, for the kinds that are wanted.
class RowScales {
public:
    using Kinds = std::array<bool, kScaleKinds>;

    RowScales(const Kinds& wanted, std::optional<Numbers> states, std::int64_t width)
        : wanted_(wanted), states_(std::move(states)) {
        require(!states_ || length(*states_) == scale_numbers(width), "states must have the size of the scale");
    }

    bool is_known() const noexcept { return states_.has_value(); }

    // Writes the rows as each kind sees them.
    void apply(const Rows& rows, ScaledBatch& to) const {
        if (!states_) return;
        scale(rows, to, [this](const Rows& given, std::int64_t first, const ScaledRows& room) {
            return loops().scales.apply[given.kind](states_->data(), given, first, room);
        });
    }

    // Also updates the scale with each row first; `undoable` allows `go_back`, for a single row.
    void learn(const Rows& rows, ScaledBatch& to, bool undoable) {
        if (!states_) return;
        before_.clear();
        if (undoable) remember(rows);
        scale(rows, to, [this](const Rows& given, std::int64_t first, const ScaledRows& room) {
            return loops().scales.learn[given.kind](states_->data(), given, first, nullptr, room);
        });
    }

    // Undoes the last `learn`.
    void go_back() noexcept {
        for (const auto& [place, number] : before_) states_->data()[place] = number;
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
                make_room(to.values[kind], rows.stored);
                room.values[kind] = to.values[kind].data();
            }
        if (!joins) {
            scale_rows(rows, 0, room);
        } else {
            make_room(to.offsets, rows.count + 1);
            to.offsets[0] = 0;
            room.room = rows.stored + 2 * rows.count * dense_features(states_->data(), rows.width);
            for (std::int64_t done = 0; done < rows.count; room.room += room.room / 2 + 1024) {
                make_room(to.values[kStandard], room.room);
                make_room(to.indices, room.room);
                room.values[kStandard] = to.values[kStandard].data();
                room.indices = to.indices.data();
                room.offsets = to.offsets.data();
                done = scale_rows(rows, done, room);
            }
        }
        rows.intercept = intercept;
        for (std::size_t kind = 0; kind < kScaleKinds; ++kind)
            if (wanted_[kind]) to.rows[kind] = scaled(rows, to, static_cast<ScaleKind>(kind));
    }

    template <class T>
    static void make_room(std::vector<T>& numbers, std::int64_t count) {
        if (numbers.size() < static_cast<std::size_t>(count)) numbers.resize(static_cast<std::size_t>(count));
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
        } else {
            const bool is_short = rows.kind == kSparse32i32 || rows.kind == kSparse64i32;
            rows.kind = is_short ? kSparse64i32 : kSparse64i64;
        }
        return rows;
    }

    void remember(const Rows& row) {
        const auto keep = [this](std::int64_t place) { before_.emplace_back(place, states_->data()[place]); };
        keep(0);
        keep(1);
        // The row may make as many features dense as it has.
        const std::int64_t listed = dense_features(states_->data(), row.width) + row.stored;
        for (std::int64_t k = 0; k < std::min(listed, row.width); ++k) keep(kLine * (k + 1) + 3);
        const auto* const indices = static_cast<const std::int64_t*>(row.indices);
        for (std::int64_t k = 0; k < row.stored; ++k) {
            const std::int64_t first = kLine * ((indices ? indices[k] : k) + 1);
            for (std::int64_t place = first; place < first + 3; ++place) keep(place);
        }
    }

    Kinds wanted_;
    std::optional<Numbers> states_;
    std::vector<std::pair<std::int64_t, double>> before_;
};

}  // namespace scwlearn
