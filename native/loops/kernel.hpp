// Kernel learning: examples as coordinates in the span of the support, a growing subset of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "full/full_blocks.hpp"

namespace scwlearn::SCWLEARN_SET {

// Rows of a batch as coordinates in an orthonormal basis. Basis vector p is the component of support example p outside
// the span of those before it, so that inner products are values of the kernel. The components of the rows outside the
// span that the support had before the batch are given by their inner products with each other (`residuals`). When a
// row joins the support, it and all later rows get another coordinate.
class Coordinates {
public:
    explicit Coordinates(const KernelBatch& batch) noexcept : batch_(batch), support_(batch.support) {}

    double* row(std::int64_t i) const noexcept { return batch_.coordinates + i * batch_.stride; }
    std::int64_t support() const noexcept { return support_; }

    // The squared norm of the component outside the span; 0 if it is indistinguishable from rounding error.
    double left(std::int64_t i) const noexcept { return batch_.left[i]; }

    // Adds a row to the support if its component outside the span is large enough and there is room.
    bool take(std::int64_t i) noexcept {
        if (batch_.left[i] <= batch_.least[i] || support_ == batch_.room) return false;
        const double root = std::sqrt(batch_.left[i]);
        const double* const residuals = batch_.residuals + i * batch_.rows;
        double* const own = row(i);
        own[support_] = root;
        batch_.left[i] = 0.0;
        for (std::int64_t j = i + 1; j < batch_.rows; ++j) {
            double* const other = row(j);
            double rest = residuals[j];
            for (std::int64_t p = batch_.support; p < support_; ++p) rest -= own[p] * other[p];
            other[support_] = rest / root;
            const double left = batch_.left[j] - other[support_] * other[support_];
            batch_.left[j] = left > batch_.rounding[j] ? left : 0.0;
        }
        batch_.taken[support_ - batch_.support] = i;
        ++support_;
        return true;
    }

private:
    const KernelBatch& batch_;
    std::int64_t support_;
};

// A full Sigma over the coordinates, in blocks. The first support example has the last place in U: coordinates that are
// not in use yet come before all others, where they cost nothing.
class KernelBlocks : public FullBlocks {
public:
    KernelBlocks(Model& model, std::int64_t block, std::int64_t rows_to_come, Team& team, Coordinates& coordinates)
        : FullBlocks(rows_to_come, model, block, team), coordinates_(coordinates) {}

    template <class RowSet>
    void look(const RowSet& rows, std::int64_t first, std::int64_t count) noexcept {
        first_ = first;
        FullBlocks::look(rows, first, count);
    }

    // Not inlined, so that it is rounded alike wherever it is called.
    [[gnu::noinline]] Look operator[](std::int64_t row) const noexcept {
        Look look = FullBlocks::operator[](row);
        look.variance += model_.initial_variance * model_.scalars->growth * coordinates_.left(first_ + row);
        return look;
    }

    template <class Row>
    double least_variance(const Row& coordinates, std::int64_t row) const noexcept {
        return FullBlocks::least_variance(coordinates, row) + model_.floor * coordinates_.left(first_ + row);
    }

    void move(std::int64_t row, const Step& step, double y, double) noexcept {
        const std::int64_t feature = coordinates_.support();
        if (coordinates_.take(first_ + row)) add_coordinate(row, feature);
        move_inside(row, step, y);
    }

    // Moves by a row that is support already or does not become support; the latter moves the model by its projection.
    void move_inside(std::int64_t row, const Step& step, double y) noexcept {
        const double v = inside(row);
        if (v > 0.0) FullBlocks::move(row, above_floor(row, step, v), y, v);
    }

    // To be called after the mean has shrunk; its stored numbers were multiplied by `folded`.
    void shrink_scores(double shrink, double folded) noexcept {
        for (std::int64_t i = 0; i < count_; ++i) scores_[i] *= shrink;
        scale_mean(folded);
    }

    using Factors::scale_variances;

    // Adds a coordinate to the rows from `row` on. Its column of U is that of the identity, so that F gets their
    // coordinates.
    void add_coordinate(std::int64_t row, std::int64_t feature) noexcept {
        const std::int64_t place = places_[feature];
        begin_no_later_than(place);
        for (std::int64_t i = row; i < count_; ++i) {
            const double value = coordinates_.row(first_ + i)[feature];
            f_of(i)[place * f_stride()] = value;
            const double added = d_[place] * (value * value);
            variances_[i] += added;
            looked_[i] += added;
        }
    }

private:
    // The variance of the projection of a row on the span.
    double inside(std::int64_t row) const noexcept { return FullBlocks::operator[](row).variance; }

    // The step bounded so that the variance v of the projection stays above the floor.
    Step above_floor(std::int64_t row, const Step& step, double v) const noexcept {
        if (model_.floor == 0.0) return step;
        const DenseRow<double> projection(coordinates_.row(first_ + row), coordinates_.support(), false);
        return not_below(FullBlocks::least_variance(projection, row), step, v);
    }

    Coordinates& coordinates_;
    std::int64_t first_ = 0;
};

}  // namespace scwlearn::SCWLEARN_SET
