// The rows of a batch, borrowed from NumPy or SciPy: dense or compressed sparse, with or without a constant feature.
#pragma once

#include <algorithm>
#include <cstdint>

#include "step.hpp"
#include "vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Every row kind offers the same two verbs over its features:
//   sum(term)     adds term(index, value), a Look, over the features;
//   each(action)  calls action(index, value) for each.
// The constant feature of an intercept comes last, at index `width`, with value 1.

// Partial sums, one for each lane of two registers. Their number is fixed, so a dense row always sums in the same order:
// the two registers, their lanes, what is left over, the intercept.
inline constexpr std::int64_t kPartialSums = 2 * kWidth;

template <class Value>
class DenseRow {
public:
    static constexpr bool kSparse = false;

    DenseRow(const Value* x, std::int64_t width, bool intercept) noexcept
        : x_(x), width_(width), intercept_(intercept) {}

    const Value* values() const noexcept { return x_; }
    std::int64_t width() const noexcept { return width_; }

    // How many features at most `each` goes through.
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

    std::int64_t count() const noexcept { return count_ + intercept_; }

    template <class Term>
    Look sum(Term term) const noexcept {
        Look total{0.0, 0.0};
        each([&](std::int64_t i, double x) {
            const Look part = term(i, x);
            total.score += part.score;
            total.variance += part.variance;
        });
        return total;
    }

    template <class Action>
    void each(Action action) const {
        for (std::int64_t j = 0; j < count_; ++j) {
            const auto i = static_cast<std::int64_t>(at_[j]);
            // The scan has seen to this, but the arrays belong to Python, where somebody may have written to them since.
            if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(width_)) continue;
            action(i, static_cast<double>(x_[j]));
        }
        if (intercept_) action(width_, 1.0);
    }

    // Asks for what a model keeps of each feature, so many numbers, before it is needed. Always inlined, because GCC
    // takes a function that does nothing but this for one that does nothing.
    [[gnu::always_inline]] void fetch(const double* entries, std::int64_t numbers) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(entries);
        const auto size = static_cast<std::uintptr_t>(numbers) * sizeof(double);
        for (std::int64_t j = 0; j < count_; ++j)
            __builtin_prefetch(reinterpret_cast<const void*>(begin + size * static_cast<std::uintptr_t>(at_[j])));
    }

private:
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
        return {static_cast<const Value*>(rows.values) + i * rows.width, rows.width, rows.intercept};
    }
};

template <class Value, class Index>
struct Sparse {
    static constexpr bool kSparse = true;
    const Rows& rows;

    SparseRow<Value, Index> operator[](std::int64_t i) const noexcept {
        const Index* offsets = static_cast<const Index*>(rows.offsets);
        const std::int64_t begin = std::clamp<std::int64_t>(offsets[i], 0, rows.stored);
        const std::int64_t end = std::clamp<std::int64_t>(offsets[i + 1], begin, rows.stored);
        return {static_cast<const Value*>(rows.values) + begin, static_cast<const Index*>(rows.indices) + begin,
                end - begin, rows.width, rows.intercept};
    }
};

}  // namespace scwlearn::SCWLEARN_SET
