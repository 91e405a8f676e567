// A full Sigma in exact blocks: several rows are looked at together; and the loop over the blocks of a binary model.
#pragma once

#include <cmath>

#include "core/round.hpp"
#include "full/factors.hpp"

namespace scwlearn::SCWLEARN_SET {

// sum + a b, rounded in the same way for every kind of row: left to itself, the compiler contracts some of these loops.
inline double add_product(double a, double b, double sum) noexcept {
#ifdef FP_FAST_FMA
    return std::fma(a, b, sum);
#else
    return sum + a * b;
#endif
}

class FullBlocks : public Factors {
public:
    // `rows_to_come` is about how many rows will follow; for the rest see Factors.
    template <class... Rest>
    FullBlocks(std::int64_t rows_to_come, Model& model, Rest&&... rest) : Factors(model, rest...) {
        if (rows_to_come >= kManyRows) first_row_ = u_.first_row();
    }

    // The score of a row and an upper bound on its variance, without U: Sigma has grown at most by `growth`.
    template <class Row>
    Look glance(const Row& row) const noexcept {
        constexpr double kRounding = 1.0 + 1e-9;
        double score = 0.0;
        double length2 = 0.0;
        row.each([&](std::int64_t i, double value) {
            score += model_.entries[i] * value;
            length2 += value * value;
        });
        return {score * model_.scalars->mean_scale,
                length2 * model_.initial_variance * model_.most_growth() * kRounding};
    }

    // The score of the lag of an averaged mean; 0 if there is none.
    template <class Row>
    double lag_score(const Row& row, std::int64_t c = 0) const noexcept {
        if (!model_.is_averaged()) return 0.0;
        double score = 0.0;
        row.each([&](std::int64_t i, double value) {
            score = add_product(model_.lag[i * model_.lag_stride + c], value, score);
        });
        return score * model_.lag_scale();
    }

    // Lower bound on the variance along a row of the block; 0 without a floor.
    template <class Row>
    double least_variance(const Row& row, std::int64_t) const noexcept {
        if (model_.floor == 0.0) return 0.0;
        double length2 = 0.0;
        row.each([&](std::int64_t, double value) { length2 = add_product(value, value, length2); });
        return model_.floor * length2;
    }

    // Looks at the rows of the next block.
    template <class RowSet>
    void look(const RowSet& rows, std::int64_t first, std::int64_t count) noexcept {
        count_ = count;
        strips_ = (count + kStrip - 1) / kStrip;
        if (count == 1) {
            catch_up();
            look_at_one(rows[first]);
        } else {
            look_at_strips(rows, first);
        }
    }

protected:
    // Computes f = U'x of a single row; returns f'D f. Calls `begin` with the first place of the row.
    template <class Row, class Begin>
    double multiply_alone(const Row& row, double* f, const Begin& begin) noexcept {
        if (row.count() * kCostOfSparse < n_) {
            auto* const first = reinterpret_cast<Feature*>(x_);
            Feature* end = first;
            row.each([&](std::int64_t i, double value) { *end++ = {places_[i], value}; });
            if (!in_order_) std::sort(first, end, [](const Feature& a, const Feature& b) { return a.place < b.place; });
            *end = {n_, 0.0};
            begin(first->place);
            u_.multiply_one(first, from_, f);
        } else {
            std::fill(x_, x_ + stride_, 0.0);
            row.each([&](std::int64_t i, double value) { x_[places_[i]] = value; });
            begin(std::find_if(x_, x_ + n_, [](double value) { return value != 0.0; }) - x_);
            u_.multiply_one(x_, from_, f);
        }
        Vector sums[2] = {};
        std::int64_t j = from_;
        for (; j + kStrip <= n_; j += kStrip)
            for (std::int64_t k = 0; k < 2; ++k) {
                const Vector fj = load(f + j + k * kWidth);
                sums[k] += load(d_ + j + k * kWidth) * (fj * fj);
            }
        double variance = sum_of(sums[0] + sums[1]);
        for (; j < n_; ++j) variance += d_[j] * (f[j] * f[j]);
        return variance;
    }

private:
    // From this many rows on, it pays to find out which rows of U are still those of the identity.
    static constexpr std::int64_t kManyRows = 16;
    // Pieces of a strip of dense rows, so that threads read it together: with wide registers, a block has one strip.
    static constexpr std::int64_t kPieces = 4;
    // The cost of a stored value of a sparse row, relative to a value of a dense one.
    static constexpr std::int64_t kCostOfSparse = 4;

    template <class Row>
    void look_at_one(const Row& row) noexcept {
        for (std::int64_t c = 0; c < classes_; ++c) {
            const double* const weights = model_.entries + c * stride_;
            double score = 0.0;
            row.each([&](std::int64_t i, double value) { score = add_product(weights[i], value, score); });
            scores_[c * rows_] = score * model_.scalars->mean_scale;
        }
        looked_[0] = variances_[0] = multiply_alone(row, f_, [this](std::int64_t place) { begin_at(place); });
    }

    template <class RowSet>
    void look_at_strips(const RowSet& rows, std::int64_t first) noexcept {
        team_.share(strips_ * kPieces, [&](std::int64_t piece) {
            place(rows, first, piece / kPieces, piece % kPieces);
        });
        team_.share(strips_, [&](std::int64_t strip) {
            pack(strip);
            for (std::int64_t c = 0; c < classes_; ++c) {
                const double* x = x_ + strip * kStrip * n_;
                const double* const mean = mean_ + c * stride_;
                Vector low{}, high{};
                for (const std::int64_t* i = present(strip); *i < n_; ++i, x += kStrip) {
                    const Vector weight = all(mean[*i]);
                    low += weight * load(x);
                    high += weight * load(x + kWidth);
                }
                double* const scores = scores_ + c * rows_ + strip * kStrip;
                store(scores, low * model_.scalars->mean_scale);
                store(scores + kWidth, high * model_.scalars->mean_scale);
            }
        });
        std::int64_t from = n_;
        for (std::int64_t strip = 0; strip < strips_; ++strip) from = std::min(from, *present(strip));
        begin_at(from);
        // All strips use a few columns of U while these are in the nearest cache. The last columns take longest.
        constexpr std::int64_t kTile = 4 * Triangle::kColumns;
        const std::int64_t tiles = (n_ - from_ + kTile - 1) / kTile;
        team_.share(tiles, [&](std::int64_t tile) {
            const std::int64_t end = n_ - tile * kTile;
            for (std::int64_t j = std::max(end - kTile, from_); j < end; j += Triangle::kColumns)
                for (std::int64_t strip = 0; strip < strips_; ++strip)
                    u_.multiply(x_ + strip * kStrip * n_, present(strip), j, std::min(j + Triangle::kColumns, end),
                                f_ + strip * kStrip * n_);
        });
        begin_sweep();
        for (std::int64_t strip = 0; strip < strips_; ++strip) {
            sweep(Triangle(f_ + strip * kStrip * n_, n_, kStrip), 0, from_, sums_);
            add_moves(sums_, model_.scalars->mean_scale, scores_ + strip * kStrip, rows_);
            Vector low{}, high{};
            const double* f = f_ + (strip * n_ + from_) * kStrip;
            for (std::int64_t j = from_; j < n_; ++j, f += kStrip) {
                const Vector dj = all(d_[j]), a = load(f), b = load(f + kWidth);
                low += dj * (a * a);
                high += dj * (b * b);
            }
            for (double* const to : {variances_, looked_}) {
                store(to + strip * kStrip, low);
                store(to + strip * kStrip + kWidth, high);
            }
        }
    }

    // Writes the rows of a strip side by side, padded with zeros: a piece of them if they are dense, else all with the
    // first piece.
    template <class RowSet>
    void place(const RowSet& rows, std::int64_t first, std::int64_t strip, std::int64_t piece) noexcept {
        double* x = x_ + strip * kStrip * n_;
        const std::int64_t begin = strip * kStrip;
        const std::int64_t count = std::min(kStrip, count_ - begin);
        if constexpr (!RowSet::kSparse) {
            // A full strip: whole cache lines of x_ are written.
            if (count == kStrip) {
                const auto row = rows[first + begin];
                const std::int64_t width = row.width();
                const auto* values = row.values();
                for (std::int64_t i = width * piece / kPieces; i < width * (piece + 1) / kPieces; ++i)
                    for (std::int64_t lane = 0; lane < kStrip; ++lane)
                        x[places_[i] * kStrip + lane] = static_cast<double>(values[lane * width + i]);
                if (width < n_ && piece == 0) std::fill_n(x + places_[width] * kStrip, kStrip, 1.0);
                return;
            }
        }
        if (piece > 0) return;
        std::fill_n(x, kStrip * n_, 0.0);
        for (std::int64_t lane = 0; lane < count; ++lane)
            rows[first + begin + lane].each(
                [this, x, lane](std::int64_t i, double value) { x[places_[i] * kStrip + lane] = value; });
    }

    // Removes the places at which all rows of a strip are zero.
    void pack(std::int64_t strip) noexcept {
        const double* x = x_ + strip * kStrip * n_;
        double* packed = x_ + strip * kStrip * n_;
        std::int64_t* here = present(strip);
        for (std::int64_t i = 0; i < n_; ++i, x += kStrip) {
            const Vector a = load(x), b = load(x + kWidth);
            store(packed, a);
            store(packed + kWidth, b);
            *here = i;
            const bool some = any(a, b);
            here += some;
            packed += some * kStrip;
        }
        *here = n_;
    }

    // The places at which some row of the strip is not zero, ended by n_.
    std::int64_t* present(std::int64_t strip) const noexcept { return present_ + strip * (n_ + 1); }
};

// Rules that use the norm of the mean, and averaged models, need the current mean after every row.
inline std::int64_t rows_at_once(const Task& task) noexcept {
    return task.rule.uses_norm || task.memory.average_state != nullptr ? 1 : task.block;
}

// Learns in blocks: looks at all rows of a block, then asks and moves row by row. `is_done` returns whether the block that
// begins with a row needs no look.
template <class Blocks, class RowSet, class Round, class IsDone>
void learn_blocks(const Task& task, const RowSet& rows, Blocks& blocks, Model& model, Round& round,
                  const IsDone& is_done) {
    const std::int64_t block = rows_at_once(task);
    for (std::int64_t first = 0; first < task.rows.count; first += block) {
        if (is_done(first)) continue;
        const std::int64_t end = std::min(first + block, task.rows.count);
        std::int64_t begin = first;
        blocks.look(rows, first, end - first);
        for (std::int64_t i = first; i < end; ++i) {
            if (blocks.has_faded(i - begin)) {
                blocks.finish();
                begin = i;
                blocks.look(rows, begin, end - begin);
            }
            const Look look = blocks[i - begin];
            const auto row = rows[i];
            const Step step = round.ask(i, look, blocks.lag_score(row), model, blocks.least_variance(row, i - begin));
            if (moves(step)) blocks.move(i - begin, step, round.label(i), look.variance);
        }
        blocks.finish();
        if (task.rule.uses_norm) model.measure_norm2();
    }
    blocks.catch_up();
}

}  // namespace scwlearn::SCWLEARN_SET
