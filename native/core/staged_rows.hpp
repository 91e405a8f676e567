// Sparse rows, staged some rows before they are learned from: read once, checked, and the entries of their features
// prefetched, while the rule is busy with an earlier row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/rows.hpp"

namespace scwlearn::SCWLEARN_SET {

// What the pairs of numbers that a model stores per feature are multiplied by: weights and variances by the value and its
// square; weights and lags both by the value. None for a model that stores weights alone.
enum class RowPairs { kNone, kValuesAndSquares, kValuesTwice };

// A staged row of a model with kStride numbers per feature. Its arrays are filled up to whole registers with features of
// value 0, whose entries belong to no feature.
template <std::int64_t kStride>
struct StagedRow {
    static constexpr bool kSparse = true;

    double** at;           // the entries of each feature
    double* values;        // of each feature
    double* pairs;         // two factors per feature, see RowPairs
    double squares;        // sum of the squares of all values, for models without variances
    std::int64_t stored;   // features without the intercept
    double* entries;       // those of the model
    double* constant;      // the entries of the intercept, or null

    // Sums the pairs of the features times those of the row, in the order of SparseRow::sum.
    Look sum_pairs() const noexcept {
        FourNumbers sums{};  // of features at even positions, then of those at odd ones
        for (std::int64_t j = 0; j < stored; j += 2)
            sums += join(load_as<TwoNumbers>(at[j]), load_as<TwoNumbers>(at[j + 1])) * load_as<FourNumbers>(pairs + 2 * j);
        Look total{sums[0] + sums[2], sums[1] + sums[3]};
        if (constant != nullptr) {
            total.score += constant[0];
            total.variance += constant[1];
        }
        return total;
    }

    // The same for weights alone.
    Look sum_weights() const noexcept {
        TwoNumbers sums{};
        for (std::int64_t j = 0; j < stored; j += 2)
            sums += TwoNumbers{*at[j], *at[j + 1]} * load_as<TwoNumbers>(values + j);
        Look total{sums[0] + sums[1], squares};
        if (constant != nullptr) total.score += *constant;
        return total;
    }

    template <class Term>
    Look sum(Term term) const noexcept {
        Look sums[2] = {};
        const auto add = [term](Look& sum, std::int64_t i, double x) {
            const Look part = term(i, x);
            sum.score += part.score;
            sum.variance += part.variance;
        };
        for (std::int64_t j = 0; j < stored; ++j) add(sums[j % 2], index(at[j]), values[j]);
        Look total{sums[0].score + sums[1].score, sums[0].variance + sums[1].variance};
        if (constant != nullptr) add(total, index(constant), 1.0);
        return total;
    }

    // Calls action(entries, value) for each feature.
    template <class Action>
    void each_at(Action action) const {
        for (std::int64_t j = 0; j < stored; ++j) action(at[j], values[j]);
        if (constant != nullptr) action(constant, 1.0);
    }

    // Calls together(entries, values) for registers of features, and each(entries, value) for the intercept.
    template <class Together, class Action>
    void each_together(Together together, Action each) const {
        for (std::int64_t j = 0; j < stored; j += kWidth) together(at + j, load(values + j));
        if (constant != nullptr) each(constant, 1.0);
    }

private:
    std::int64_t index(const double* of) const noexcept { return (of - entries) / kStride; }
};

template <class Row>
inline constexpr bool kIsStaged = false;
template <std::int64_t kStride>
inline constexpr bool kIsStaged<StagedRow<kStride>> = true;

// How many rows ahead of the current one a row is staged: far enough for its entries to arrive before it is scored.
inline constexpr std::int64_t kStagedAhead = 7;
// Rows with more features than this are not worth a copy.
inline constexpr std::int64_t kLongestStaged = 2048;

template <class RowSet, std::int64_t kStride, RowPairs kPairs>
class StagedRows;

template <class Value, class Index, std::int64_t kStride, RowPairs kPairs>
class StagedRows<Sparse<Value, Index>, kStride, kPairs> {
public:
    // `lag` is that of an averaged mean, unless it is beside the weights; else null.
    StagedRows(const Rows& rows, double* entries, const double* lag, Scratch& scratch)
        : rows_(rows),
          entries_(entries),
          lag_(lag),
          fetches_entries_(rows.size() > kCachedFeatures),
          room_(longest(rows)) {
        for (StagedRow<kStride>& row : slots_) {
            row.at = scratch.take<double*>(room_);
            row.values = scratch.take(room_);
            row.pairs = kPairs == RowPairs::kNone ? nullptr : scratch.take(2 * room_);
            row.entries = entries;
            row.constant = rows.intercept ? entries + kStride * rows.width : nullptr;
        }
        last_values_ = scratch.take<Value>(room_);
        last_indices_ = scratch.take<Index>(room_);
        std::fill(last_values_, last_values_ + room_, Value{});
        std::fill(last_indices_, last_indices_ + room_, Index{});
    }
    StagedRows(const StagedRows&) = delete;
    StagedRows& operator=(const StagedRows&) = delete;

    // Room for the longest row, in whole registers; more than kLongestStaged if the offsets are wrong.
    static std::int64_t longest(const Rows& rows) noexcept {
        std::int64_t most = 0;
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const Index* const offset = offset_of(rows, i);
            most = std::max<std::int64_t>(most, offset[1] - offset[0]);
        }
        return in_registers(most);
    }

    // Stages the i-th row, if all before it have been staged; returns whether it is valid.
    [[gnu::always_inline]] bool stage(std::int64_t i) noexcept {
        const Index* const offset = offset_of(rows_, i);
        const std::int64_t begin = offset[0], end = offset[1], count = end - begin, whole = in_registers(count);
        if (begin < 0 || end < begin || end > rows_.stored || whole > room_) return false;
        const Value* values = static_cast<const Value*>(rows_.values) + begin;
        const Index* indices = static_cast<const Index*>(rows_.indices) + begin;
        fetch_rows(i, values, indices, count);
        if (begin + whole > rows_.stored) {
            // A register would reach beyond the end of the arrays.
            values = std::copy(values, values + count, last_values_) - count;
            indices = std::copy(indices, indices + count, last_indices_) - count;
        }
        StagedRow<kStride>& row = slots_[i % kSlots];
        row.stored = count;
        if (!write(row, values, indices)) return false;
        if (fetches_entries_) fetch_entries(row);
        return true;
    }

    const StagedRow<kStride>& operator[](std::int64_t i) const noexcept { return slots_[i % kSlots]; }

private:
    using Addresses = std::uintptr_t __attribute__((vector_size(kWidth * sizeof(std::uintptr_t))));
    static_assert(sizeof(Addresses) == sizeof(Bits));

    static constexpr std::int64_t kSlots = kStagedAhead + 1;
    static_assert((kSlots & (kSlots - 1)) == 0, "a remainder must not take a division");
    // How far ahead the rows themselves are prefetched: in bytes of values, since the processor does not look beyond a
    // page; and in rows, if they are visited in another order than they are stored in (their offsets twice as far).
    static constexpr std::int64_t kBytesAhead = 4096;
    static constexpr std::int64_t kFetchedAhead = 8;

    static const Index* offset_of(const Rows& rows, std::int64_t i) noexcept {
        return static_cast<const Index*>(rows.offsets) + rows.number(i);
    }
    static std::int64_t in_registers(std::int64_t count) noexcept { return (count + kWidth - 1) / kWidth * kWidth; }

    [[gnu::always_inline]] void fetch_rows(std::int64_t i, const Value* values, const Index* indices,
                                           std::int64_t count) const noexcept {
        if (rows_.order == nullptr) {
            constexpr std::int64_t kAhead = kBytesAhead / sizeof(Value);
            fetch_lines(values, kAhead, count);
            fetch_lines(indices, kAhead, count);
        } else if (i + kFetchedAhead < rows_.count) {
            if (i + 2 * kFetchedAhead < rows_.count) __builtin_prefetch(offset_of(rows_, i + 2 * kFetchedAhead));
            const Index* const offset = offset_of(rows_, i + kFetchedAhead);
            fetch_lines(static_cast<const Value*>(rows_.values), offset[0], offset[1] - offset[0]);
            fetch_lines(static_cast<const Index*>(rows_.indices), offset[0], offset[1] - offset[0]);
        }
    }

    // Addresses as integers, because they may lie outside the array.
    template <class T>
    [[gnu::always_inline]] static void fetch_lines(const T* array, std::int64_t first, std::int64_t count) noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(array) + static_cast<std::uintptr_t>(first) * sizeof(T);
        const auto bytes = static_cast<std::uintptr_t>(std::clamp<std::int64_t>(count, 0, kLongestStaged)) * sizeof(T);
        for (std::uintptr_t k = 0; k < bytes; k += 64) __builtin_prefetch(reinterpret_cast<const void*>(begin + k));
    }

    // Copies a row; returns whether its values are acceptable, and its indices increase and lie inside. Each index is
    // read once, since the arrays belong to Python and may change at any time.
    [[gnu::always_inline]] bool write(StagedRow<kStride>& row, const Value* values, const Index* indices) noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(entries_), nowhere = reinterpret_cast<std::uintptr_t>(nowhere_);
        Bits lanes;
        for (std::int64_t lane = 0; lane < kWidth; ++lane) lanes[lane] = lane;
        // Negative in a lane that has been found invalid.
        Bits wrong{}, before = Bits{} - 1;
        TwoNumbers squares{};
        for (std::int64_t j = 0; j < row.stored; j += kWidth) {
            const Bits index = load(indices + j), inside = lanes < row.stored - j;
            const Bits previous = __builtin_shufflevector(before, index, SCWLEARN_SHIFTED);
            // The first is larger than -1. An index out of range may lead to any address, even to one of a feature.
            wrong |= ((previous >= index) | (index >= rows_.width)) & inside;
            before = index;
            const auto place = std::bit_cast<Addresses>(index) * (kStride * sizeof(double));
            const Addresses at = inside ? begin + place : nowhere - Addresses{};
            std::memcpy(row.at + j, &at, sizeof at);
            const Vector value = inside ? load(values + j) : Vector{};
            wrong |= below_bound(value);
            store(row.values + j, value);
            if constexpr (kPairs != RowPairs::kValuesAndSquares) add_in_pairs(squares, value * value);
            if constexpr (kPairs == RowPairs::kValuesAndSquares)
                store_pairs(row.pairs + 2 * j, {value, value * value});
            else if constexpr (kPairs == RowPairs::kValuesTwice)
                store_pairs(row.pairs + 2 * j, {value, value});
        }
        row.squares = squares[0] + squares[1] + (rows_.intercept ? 1.0 : 0.0);
        return !any_negative(wrong);
    }

    // Adds the numbers of a register in the order of SparseRow::sum.
    template <int kFirst = 0>
    [[gnu::always_inline]] static void add_in_pairs(TwoNumbers& sums, Vector numbers) noexcept {
        sums += __builtin_shufflevector(numbers, numbers, kFirst, kFirst + 1);
        if constexpr (kFirst + 2 < kWidth) add_in_pairs<kFirst + 2>(sums, numbers);
    }

    [[gnu::always_inline]] void fetch_entries(const StagedRow<kStride>& row) const noexcept {
        double* const* const at = row.at;
        // To the second-level cache, which takes more requests at a time than the first.
        constexpr int kRead = 0, kSecondLevel = 2;
        for (std::int64_t j = 0, stored = row.stored; j < stored; j += kWidth)
            for (std::int64_t lane = 0; lane < kWidth; ++lane) __builtin_prefetch(at[j + lane], kRead, kSecondLevel);
        if (lag_ != nullptr)
            for (std::int64_t j = 0; j < row.stored; ++j) __builtin_prefetch(lag_ + (at[j] - entries_) / kStride);
    }

    const Rows& rows_;
    double* entries_;
    const double* lag_;
    bool fetches_entries_;
    std::int64_t room_;
    StagedRow<kStride> slots_[kSlots];
    Value* last_values_;
    Index* last_indices_;
    double nowhere_[2] = {0.0, 1.0};
};

}  // namespace scwlearn::SCWLEARN_SET
