// Learning with a kernel: the examples as coordinates in the span of some of them, the support, which grows on the way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "full.hpp"

namespace scwlearn::SCWLEARN_SET {

// The rows of a batch as coordinates on an orthonormal basis, whose vector p is what support example p adds to the span
// of those before it: their inner products are those of the kernel. What a row has outside the span of the support
// before the batch is known by its inner products with what the other rows have there (`residuals`). When a row
// becomes support, it and those behind it get one coordinate more.
class Coordinates {
public:
    explicit Coordinates(const KernelBatch& batch) noexcept : batch_(batch), support_(batch.support) {}

    double* row(std::int64_t i) const noexcept { return batch_.coordinates + i * batch_.stride; }
    std::int64_t support() const noexcept { return support_; }

    // The squared length of what a row has outside the span; 0 where it cannot be told from rounding.
    double left(std::int64_t i) const noexcept { return batch_.left[i]; }

    // Takes a row into the support, if it has enough outside the span and there is room.
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

// Sigma in full over the coordinates, in blocks. The first example of the support has the last place in U: what there
// is no example for yet lies before all others, where it costs nothing.
class KernelBlocks : public FullBlocks {
public:
    KernelBlocks(Model& model, std::int64_t block, std::int64_t rows_to_come, Team& team, Coordinates& coordinates)
        : FullBlocks(rows_to_come, model, block, team), coordinates_(coordinates) {}

    template <class RowSet>
    void look(const RowSet& rows, std::int64_t first, std::int64_t count) noexcept {
        first_ = first;
        FullBlocks::look(rows, first, count);
    }

    Look operator[](std::int64_t row) const noexcept {
        Look look = FullBlocks::operator[](row);
        look.variance += model_.initial_variance * model_.scalars->growth * coordinates_.left(first_ + row);
        return look;
    }

    template <class Row>
    double least_variance(const Row& coordinates, std::int64_t row) const noexcept {
        return FullBlocks::least_variance(coordinates, row) +
               model_.variance_floor * model_.initial_variance * coordinates_.left(first_ + row);
    }

    // A row that does not become support moves the model as its projection on the span would.
    void move(std::int64_t row, Step step, double y, double v) noexcept {
        const std::int64_t feature = coordinates_.support();
        if (coordinates_.take(first_ + row)) {
            add_coordinate(row, feature);
        } else {
            const DenseRow<double> projection(coordinates_.row(first_ + row), feature, false);
            v = FullBlocks::operator[](row).variance;
            if (model_.variance_floor > 0.0) step = not_below(FullBlocks::least_variance(projection, row), step, v);
        }
        if (v > 0.0) FullBlocks::move(row, step, y, v);
    }

private:
    // U has nothing but a one for it, so that F has what the rows have.
    void add_coordinate(std::int64_t row, std::int64_t feature) noexcept {
        const std::int64_t place = places_[feature];
        begin_no_later_than(place);
        for (std::int64_t i = row; i < count_; ++i) f_of(i)[place * f_stride()] = coordinates_.row(first_ + i)[feature];
    }

    Coordinates& coordinates_;
    std::int64_t first_ = 0;
};

}  // namespace scwlearn::SCWLEARN_SET
