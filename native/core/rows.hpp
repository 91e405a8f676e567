// Rows of a batch, borrowed from NumPy or SciPy: dense or compressed sparse, with or without an intercept.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/step.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// How far values are below the bound on them: negative for one that is too large, infinite or NaN. As integers without
// the sign bit, floats are ordered by size, with infinity and NaN last.
inline Bits below_bound(Vector x) noexcept {
    return std::bit_cast<std::int64_t>(kLargestValue) - (std::bit_cast<Bits>(x) & std::numeric_limits<std::int64_t>::max());
}
inline bool is_acceptable(double x) noexcept { return std::abs(x) <= kLargestValue; }  // false for NaN

// Every kind of row has the same two functions over its features:
//   sum(term)     adds term(index, value), a Look, over the features;
//   each(action)  calls action(index, value) for each.
// The constant feature of an intercept comes last, at index `width`, with value 1.

// Partial sums, one per lane of two registers. Their number is fixed, so that a dense row always sums in the same
// order: the two registers, their lanes, the remaining features, the intercept.
inline constexpr std::int64_t kPartialSums = 2 * kWidth;

template <class Value>
class DenseRow {
public:
    static constexpr bool kSparse = false;

    DenseRow(const Value* x, std::int64_t width, bool intercept) noexcept
        : x_(x), width_(width), intercept_(intercept) {}

    const Value* values() const noexcept { return x_; }
    std::int64_t width() const noexcept { return width_; }

    bool is_valid() const noexcept {
        Bits below{};
        std::int64_t i = 0;
        for (; i + kWidth <= width_; i += kWidth) below |= below_bound(load(x_ + i));
        bool valid = !any_negative(below);
        for (; i < width_; ++i) valid &= is_acceptable(x_[i]);
        return valid;
    }

    // Prefetches the values.
    [[gnu::always_inline]] void fetch() const noexcept {
        constexpr std::int64_t kLine = 64 / sizeof(Value);
        for (std::int64_t i = 0; i < width_; i += kLine) __builtin_prefetch(x_ + i);
    }

    // The most features that `each` visits.
    std::int64_t count() const noexcept { return width_ + intercept_; }

    template <class Term>
    Look sum(Term term) const noexcept {
        double score[kPartialSums] = {};
        double variance[kPartialSums] = {};
        std::int64_t i = 0;
        for (; i + kPartialSums <= width_; i += kPartialSums)
            for (std::int64_t lane = 0; lane < kPartialSums; ++lane) {
                const Look part = term(i + lane, static_cast<double>(x_[i + lane]));
                score[lane] += part.score;
                variance[lane] += part.variance;
            }
        Look total{0.0, 0.0};
        const auto add = [&total](double f, double v) {
            total.score += f;
            total.variance += v;
        };
        for (std::int64_t lane = 0; lane < kWidth; ++lane)
            add(score[lane] + score[lane + kWidth], variance[lane] + variance[lane + kWidth]);
        each_from(i, [&](std::int64_t j, double x) {
            const Look part = term(j, x);
            add(part.score, part.variance);
        });
        return total;
    }

    template <class Action>
    void each(Action action) const {
        each_from(0, action);
    }

    template <class Action>
    void each_from(std::int64_t first, Action action) const {
        for (std::int64_t i = first; i < width_; ++i) action(i, static_cast<double>(x_[i]));
        if (intercept_) action(width_, 1.0);
    }

private:
    const Value* x_;
    std::int64_t width_;
    bool intercept_;
};

template <class Value, class Index>
class SparseRow {
public:
    static constexpr bool kSparse = true;

    SparseRow(const Value* x, const Index* at, std::int64_t count, std::int64_t width, bool intercept) noexcept
        : x_(x), at_(at), count_(count), width_(width), intercept_(intercept) {}

    const Value* values() const noexcept { return x_; }
    std::int64_t count() const noexcept { return count_ + intercept_; }

    bool is_valid() const noexcept {
        bool valid = true;
        std::int64_t before = -1;
        for (std::int64_t j = 0; j < count_; ++j) {
            const std::int64_t i = at_[j];
            valid &= i > before && inside(i) && is_acceptable(x_[j]);
            before = i;
        }
        return valid;
    }

    // A feature with an index out of range is skipped, or makes the sum NaN; before(j) is called before that at position j.
    template <bool kRefuse = false, class Term, class Before>
    Look sum(Term term, Before before) const noexcept {
        // Two independent sums, of the features at even and at odd positions, so that neither waits for the other.
        Look even{0.0, 0.0}, odd{0.0, 0.0};
        const auto add = [term](Look& total, std::int64_t i, double x) {
            const Look part = term(i, x);
            total.score += part.score;
            total.variance += part.variance;
        };
        const auto add_at = [this, add, before](Look& total, std::int64_t j) {
            before(j);
            const std::int64_t i = at_[j];
            if (inside(i))
                add(total, i, static_cast<double>(x_[j]));
            else if constexpr (kRefuse)
                total.score = std::numeric_limits<double>::quiet_NaN();
        };
        std::int64_t j = 0;
        for (; j + 1 < count_; j += 2) {
            add_at(even, j);
            add_at(odd, j + 1);
        }
        if (j < count_) add_at(even, j);
        Look total{even.score + odd.score, even.variance + odd.variance};
        if (intercept_) add(total, width_, 1.0);
        return total;
    }
    template <bool kRefuse = false, class Term>
    Look sum(Term term) const noexcept {
        return sum<kRefuse>(term, [](std::int64_t) {});
    }

    template <class Action>
    void each(Action action) const {
        each_from(0, action);
    }

    // Calls together(indices, values) for registers of features with distinct indices, and each(index, value) for the
    // rest.
    template <class Together, class Action>
    void each_together(Together together, Action each) const {
        std::int64_t j = 0;
        for (; j + kWidth <= count_; j += kWidth) {
            std::int64_t at[kWidth];
            bool all_inside = true;
            for (std::int64_t k = 0; k < kWidth; ++k) {
                at[k] = at_[j + k];
                all_inside &= inside(at[k]);
            }
            if (!all_inside) break;
            together(at, load(x_ + j));
        }
        each_from(j, each);
    }

    // Like `each_together`, but the last register is moved back to end with the row: together(indices, values, done) is
    // told how many of its first features were handled already. Skips the intercept.
    template <class Together, class Action>
    void each_overlapping(Together together, Action each) const {
        std::int64_t j = 0;
        while (j < count_ && count_ >= kWidth) {
            const std::int64_t done = std::max<std::int64_t>(0, j + kWidth - count_);
            std::int64_t at[kWidth];
            bool all_inside = true;
            for (std::int64_t k = 0; k < kWidth; ++k) {
                at[k] = at_[j - done + k];
                all_inside &= inside(at[k]);
            }
            if (!all_inside) break;
            together(at, load(x_ + j - done), done);
            j += kWidth - done;
        }
        for (; j < count_; ++j) {
            const std::int64_t i = at_[j];
            if (inside(i)) each(i, static_cast<double>(x_[j]));
        }
    }

    // Prefetches the entries of each feature, or of those at positions from `first` to `last`. Always inlined, because
    // GCC considers a function that does nothing else to have no effect and removes the call.
    [[gnu::always_inline]] void fetch(const double* entries, std::int64_t numbers) const noexcept {
        fetch(entries, numbers, 0, count_);
    }
    [[gnu::always_inline]] void fetch(const double* entries, std::int64_t numbers, std::int64_t first,
                                      std::int64_t last) const noexcept {
        const std::int64_t end = std::min(last, count_);
        for (std::int64_t j = first; j < end; ++j) fetch_at(entries, numbers, j);
    }
    [[gnu::always_inline]] void fetch_at(const double* entries, std::int64_t numbers, std::int64_t j) const noexcept {
        // Without overflow, wherever an index that has not been checked leads.
        const auto begin = reinterpret_cast<std::uintptr_t>(entries);
        const auto size = static_cast<std::uintptr_t>(numbers) * sizeof(double);
        __builtin_prefetch(reinterpret_cast<const void*>(begin + size * static_cast<std::uintptr_t>(at_[j])));
    }

private:
    // The scan checked the indices, but the arrays belong to Python and may have changed since: each index is read
    // once, and checked.
    bool inside(std::int64_t i) const noexcept {
        return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(width_);
    }

    template <class Action>
    void each_from(std::int64_t j, Action action) const {
        for (; j < count_; ++j) {
            const std::int64_t i = at_[j];
            if (inside(i)) action(i, static_cast<double>(x_[j]));
        }
        if (intercept_) action(width_, 1.0);
    }

    const Value* x_;
    const Index* at_;
    std::int64_t count_;
    std::int64_t width_;
    bool intercept_;
};

template <class Value>
struct Dense {
    static constexpr bool kSparse = false;
    const Rows& rows;

    DenseRow<Value> operator[](std::int64_t i) const noexcept {
        return {static_cast<const Value*>(rows.values) + rows.number(i) * rows.width, rows.width, rows.intercept};
    }

    bool is_valid(std::int64_t i) const noexcept { return (*this)[i].is_valid(); }
};

template <class Value, class Index>
struct Sparse {
    static constexpr bool kSparse = true;
    const Rows& rows;

    SparseRow<Value, Index> operator[](std::int64_t i) const noexcept {
        const Index* offsets = static_cast<const Index*>(rows.offsets) + rows.number(i);
        const std::int64_t begin = std::clamp<std::int64_t>(offsets[0], 0, rows.stored);
        return between(begin, std::clamp<std::int64_t>(offsets[1], begin, rows.stored));
    }

    bool is_valid(std::int64_t i) const noexcept {
        const Index* offsets = static_cast<const Index*>(rows.offsets) + rows.number(i);
        const std::int64_t begin = offsets[0], end = offsets[1];
        return begin >= 0 && begin <= end && end <= rows.stored && between(begin, end).is_valid();
    }

    SparseRow<Value, Index> empty() const noexcept { return between(0, 0); }

    SparseRow<Value, Index> between(std::int64_t begin, std::int64_t end) const noexcept {
        return {static_cast<const Value*>(rows.values) + begin, static_cast<const Index*>(rows.indices) + begin,
                end - begin, rows.width, rows.intercept};
    }
};

// One loop per kind of row, in the order of RowKind.
template <template <class> class LoopOver, class Loops>
constexpr Loops over_rows() {
    return {&LoopOver<Dense<float>>::run,
            &LoopOver<Dense<double>>::run,
            &LoopOver<Sparse<float, std::int32_t>>::run,
            &LoopOver<Sparse<float, std::int64_t>>::run,
            &LoopOver<Sparse<double, std::int32_t>>::run,
            &LoopOver<Sparse<double, std::int64_t>>::run};
}

// A row with the intercept as an ordinary feature. Rows of any kind are copied to plain arrays where that is negligible,
// because a row costs the square of its width.
class PlainRow {
public:
    static constexpr bool kSparse = false;

    PlainRow(const double* x, std::int64_t width, std::int64_t count) noexcept : x_(x), width_(width), count_(count) {}

    const double* values() const noexcept { return x_; }
    std::int64_t width() const noexcept { return width_; }
    // The number of nonzero features.
    std::int64_t count() const noexcept { return count_; }

    template <class Action>
    void each(Action action) const {
        for (std::int64_t i = 0; i < width_; ++i)
            if (x_[i] != 0.0) action(i, x_[i]);
    }

    // The inner product with a vector.
    double dot(const double* other) const noexcept {
        Vector low{}, high{};
        std::int64_t i = 0;
        for (; i + 2 * kWidth <= width_; i += 2 * kWidth) {
            low += load(x_ + i) * load(other + i);
            high += load(x_ + i + kWidth) * load(other + i + kWidth);
        }
        double sum = sum_of(low + high);
        for (; i < width_; ++i) sum += x_[i] * other[i];
        return sum;
    }

private:
    const double* x_;
    std::int64_t width_;
    std::int64_t count_;
};

// Copies a row; returns the number of its nonzero features.
template <class RowSet>
struct WriteOver {
    static std::int64_t run(const Rows& rows, std::int64_t i, double* to) noexcept {
        const std::int64_t width = rows.width + rows.intercept;
        std::fill(to, to + width, 0.0);
        RowSet{rows}[i].each([to](std::int64_t feature, double x) { to[feature] = x; });
        return width - std::count(to, to + width, 0.0);
    }
};

// Consecutive rows of a batch.
class PlainRows {
public:
    static constexpr bool kSparse = false;

    // `most` rows can be taken at a time.
    PlainRows(const Rows& rows, std::int64_t most, Scratch& scratch)
        : rows_(rows),
          write_(kWrites[rows.kind]),
          width_(rows.width + rows.intercept),
          counts_(scratch.take<std::int64_t>(most)),
          x_(scratch.take(most * width_)) {}

    void take(std::int64_t first, std::int64_t count) noexcept {
        for (std::int64_t i = 0; i < count; ++i) counts_[i] = write_(rows_, first + i, x_ + i * width_);
    }

    PlainRow operator[](std::int64_t i) const noexcept { return {x_ + i * width_, width_, counts_[i]}; }

    // The same rows from row `first` on.
    PlainRows from(std::int64_t first) const noexcept {
        PlainRows rest = *this;
        rest.counts_ += first;
        rest.x_ += first * width_;
        return rest;
    }

private:
    using Write = std::int64_t (*)(const Rows&, std::int64_t, double*) noexcept;
    static constexpr auto kWrites = over_rows<WriteOver, std::array<Write, kRowKinds>>();

    const Rows& rows_;
    Write write_;
    std::int64_t width_;
    std::int64_t* counts_;
    double* x_;
};

// A selection of these rows.
struct ChosenRows {
    static constexpr bool kSparse = true;

    const PlainRows& rows;
    const std::int64_t* numbers;

    PlainRow operator[](std::int64_t i) const noexcept { return rows[numbers[i]]; }
};

}  // namespace scwlearn::SCWLEARN_SET
