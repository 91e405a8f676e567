// Rows of any kind copied to plain arrays: negligible where a row costs the square of its width.
#pragma once

#include <algorithm>
#include <array>

#include "core/round.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// A row as in core/rows.hpp, with the intercept as an ordinary feature.
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

    // `room` is for as many rows as `take` will take, plus one number per row.
    PlainRows(const Rows& rows, double* room, std::int64_t most) noexcept
        : rows_(rows),
          write_(kWrites[rows.kind]),
          width_(rows.width + rows.intercept),
          counts_(reinterpret_cast<std::int64_t*>(room)),
          x_(room + most) {}

    static constexpr std::int64_t entries(std::int64_t width, std::int64_t most) { return most * (width + 1); }

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
