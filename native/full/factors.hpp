// A full Sigma in factors, and the updates of a block: their effect on the factors and on the rows that follow.
#pragma once

#include "core/model.hpp"
#include "core/team.hpp"
#include "full/triangle.hpp"

namespace scwlearn::SCWLEARN_SET {

// How many classes share a Sigma, and how many there is room for.
struct SharedBy {
    std::int64_t classes = 1;
    std::int64_t lanes = 1;
};

// Rows that a block has room for: whole strips.
inline constexpr std::int64_t rows_of_block(std::int64_t block) { return (block + kStrip - 1) / kStrip * kStrip; }

// The scratch memory of a block. It is free after `catch_up`, so that models that take turns can share it.
struct BlockScratch {
    // The updates by the rows of a block.
    struct Updates {
        std::int64_t count = 0;
        double* coefficients = nullptr;  // by groups: for each j the changes, then g
        std::int64_t* firsts = nullptr;  // by groups: the first column that changes
        double* rates = nullptr;         // by which each adds its Sigma x to the stored mean of each class
    };

    BlockScratch(const Memory& memory, std::int64_t block, std::int64_t classes) : rows_(rows_of_block(block)) {
        Scratch& scratch = *memory.scratch;
        const std::int64_t n = memory.size;
        x_ = scratch.take(rows_ * (full_stride(n) + kStrip) + Update::entries(n));
        sums_ = x_ + rows_ * full_stride(n);
        vectors_ = sums_ + rows_ * kStrip;
        for (Updates* updates : {&made_, &pending_}) {
            updates->coefficients = scratch.take(rows_ * (2 * n + classes));
            updates->rates = updates->coefficients + 2 * rows_ * n;
            updates->firsts = scratch.take<std::int64_t>(rows_ / kGroup);
        }
        present_ = scratch.take<std::int64_t>(rows_ / kStrip * (n + 1));
    }

    std::int64_t rows_;      // capacity of a block
    double* vectors_;        // of an update
    double* x_;              // the rows, in strips; then the sums of a sweep
    std::int64_t* present_;  // for each strip, the places in use in x_
    double* sums_;           // sums of a strip of f_
    Updates made_;           // by the rows of this block so far
    Updates pending_;        // by the previous block: waiting, or being applied to U and the mean
};

// The scratch memory that a model keeps from block to block.
struct ModelScratch {
    ModelScratch(const Memory& memory, std::int64_t block, std::int64_t classes) {
        Scratch& scratch = *memory.scratch;
        const std::int64_t n = memory.size, rows = rows_of_block(block);
        f_ = scratch.take(rows * (n + classes + 2) + full_stride(n) * classes);
        scores_ = f_ + rows * n;
        variances_ = scores_ + rows * classes;
        looked_ = variances_ + rows;
        mean_ = looked_ + rows;
        places_ = scratch.take<std::int64_t>(n);
    }

    double* f_;             // X U, in strips
    double* scores_;        // of each class
    double* variances_;     // without spread_scale
    double* looked_;        // the variances when the rows were looked at
    double* mean_;          // of each class, by place
    std::int64_t* places_;  // of each feature
};

// Sigma = spread_scale U D U' with U unit upper triangular and D a positive diagonal (Bierman's form). D is only ever
// multiplied by positive numbers and U keeps its shape, so rounding cannot make Sigma indefinite, however collinear or
// badly scaled the stream. The memory holds the mean (of each class), the place of each feature in U and D, D, and U
// by columns (full/triangle.hpp).
//
// A feature at place i affects the columns from i on. Rare features come first, so that most rows, and their updates,
// leave most of U alone.
//
// U computed before the update changes like a row of U. So the rows of a block can be multiplied by U together: each
// update is applied to the rows that follow at once, and to U later.
//
// "Later" means: by the other threads, while one thread goes through the next block row by row. The rows of that block
// are multiplied by the old U, and then updated like the rows of U.
class Factors : protected BlockScratch, protected ModelScratch {
public:
    Factors(Model& model, std::int64_t block, Team& team)
        : Factors(model, {}, team, BlockScratch(model, block, 1), ModelScratch(model, block, 1)) {}

    Factors(Model& model, const SharedBy& shared, Team& team, const BlockScratch& common, const ModelScratch& own)
        : BlockScratch(common),
          ModelScratch(own),
          model_(model),
          team_(team),
          n_(model.size),
          classes_(shared.classes),
          stride_(full_stride(n_)),
          d_(model.entries + (shared.lanes + 1) * stride_),
          u_(d_ + stride_, n_, stride_),
          update_(n_, d_, vectors_) {
        std::fill(mean_, mean_ + stride_ * classes_, 0.0);
        const double* const places = model.entries + shared.lanes * stride_;
        const auto last = static_cast<double>(n_ - 1);
        for (std::int64_t i = 0; i < n_; ++i) {
            // The memory belongs to Python and may have changed.
            places_[i] = places[i] >= 0.0 && places[i] <= last ? static_cast<std::int64_t>(places[i]) : 0;
            in_order_ &= places_[i] == i;
            for (std::int64_t c = 0; c < classes_; ++c)
                mean_[c * stride_ + places_[i]] = model.entries[c * stride_ + i];
        }
    }

    ~Factors() { team_.finish(); }

    Factors(const Factors&) = delete;
    Factors& operator=(const Factors&) = delete;

    // What the model says about a row of the block, after all updates by rows before it.
    Look operator[](std::int64_t row) const noexcept {
        return {scores_[row], variances_[row] * model_.scalars->spread_scale};
    }
    double score(std::int64_t row, std::int64_t c) const noexcept { return scores_[c * rows_ + row]; }

    // Whether the variance of a row of the block is so small a part of what it was at the look that F of the row, which
    // was rounded at each update since, should be computed again from U.
    bool has_faded(std::int64_t row) const noexcept { return variances_[row] < kFaded * looked_[row]; }

    // Takes a step at a row of the block: D and the following rows at once, U and the mean later. `shares` is the
    // share of alpha Sigma x of each class; a single model takes y.
    void move(std::int64_t row, const Step& step, const double* shares, double v) noexcept {
        scale_mean(model_.shrink_mean(step.shrink));
        work_in(f_of(row), f_stride(), row + 1, step, shares, v);
        scale_variances(model_.grow_spread(step.grow));
    }
    void move(std::int64_t row, const Step& step, double y, double v) noexcept { move(row, step, &y, v); }

    // Ends the block. Its updates wait for the next block, unless there is only one. Averaged models learn in blocks of
    // one row, so that their lag is updated at once.
    void finish() noexcept {
        end_sweep();
        if (made_.count == 0) return;
        for (std::int64_t u = 0; u < made_.count; u += kGroup)
            first_row_ = std::min(first_row_, made_.firsts[u / kGroup]);
        std::swap(made_, pending_);
        if (pending_.count == 1) stream();
    }

    // Applies pending updates to U and the mean.
    void catch_up() noexcept {
        begin_sweep();
        end_sweep();
    }

protected:
    // F of a row of the block, and the distance between its entries.
    double* f_of(std::int64_t row) const noexcept { return f_ + row / kStrip * kStrip * n_ + row % kStrip; }
    std::int64_t f_stride() const noexcept { return count_ == 1 ? 1 : kStrip; }

    // To be called after the stored mean was multiplied by `folded`.
    void scale_mean(double folded) noexcept {
        if (folded == 1.0) return;
        end_sweep();  // adds to the mean
        for (std::int64_t k = 0; k < made_.count * classes_; ++k)
            made_.rates[k] = with_scale(made_.rates[k], folded, kLargestRate);
        for (std::int64_t i = 0; i < stride_ * classes_; ++i) mean_[i] = with_scale(mean_[i], folded);
        write_means();
    }

    // To be called after D was multiplied by `grown`.
    void scale_variances(double grown) noexcept {
        if (grown == 1.0) return;
        for (std::int64_t i = 0; i < count_; ++i) {
            variances_[i] *= grown;
            looked_[i] *= grown;
        }
    }

    // Applies a step at a row with this f and v to D and to the rows of the block from `next` on.
    void work_in(const double* f, std::int64_t stride, std::int64_t next, const Step& step, const double* shares,
                 double v) noexcept {
        const double spread_scale = model_.scalars->spread_scale;
        const double length = std::sqrt(v / spread_scale);
        const double rate = step.alpha * spread_scale * length;
        const std::int64_t first = update_.prepare(f, stride, from_, length, shrinkage(step, v));
        note(first);
        for (std::int64_t c = 0; c < classes_; ++c)
            made_.rates[made_.count * classes_ + c] = rate * shares[c] / model_.scalars->mean_scale;
        ++made_.count;
        std::int64_t strip = next < count_ ? next / kStrip : strips_;
        for (; strip + 1 < strips_; strip += 2) advance<2>(strip, step.shrink, rate, shares);
        if (strip < strips_) advance<1>(strip, step.shrink, rate, shares);
    }

    // Makes room for entries of the rows before all places that they had.
    void begin_no_later_than(std::int64_t place) noexcept {
        const std::int64_t from = place / kTogether * kTogether;
        if (from >= from_) return;
        const std::int64_t lanes = f_stride();
        for (std::int64_t strip = 0; strip < strips_; ++strip)
            std::fill(f_ + strip * kStrip * n_ + from * lanes, f_ + strip * kStrip * n_ + from_ * lanes, 0.0);
        for (std::int64_t u = 0; u < made_.count; u += kGroup)
            std::fill(coefficients_of(made_, u) + 2 * kGroup * from, coefficients_of(made_, u) + 2 * kGroup * from_, 0.0);
        from_ = from;
    }

    // Declares that all rows of the block, and so F, are zero before this place.
    void begin_at(std::int64_t place) noexcept { from_ = place / kTogether * kTogether; }

    // Lets the other threads start to apply pending updates to U, the longest panels first.
    void begin_sweep() noexcept {
        if (pending_.count > 0) team_.start((n_ - 1) / kPanel + 1 - first_row_ / kPanel, sweep_panel_);
    }

    // Applies pending updates to kStrip rows of U or of F. `sums` gets these rows of the Sigma x of each update.
    void sweep(Triangle rows, std::int64_t row, std::int64_t begin, double* sums) const noexcept {
        const std::int64_t count = pending_.count;
        for (std::int64_t k = 0; k < count; k += kGroup, sums += kGroup * kStrip) {
            // Columns before the first one of the group do not change.
            const std::int64_t from = std::max(begin, pending_.firsts[k / kGroup]);
            const double* const coefficients = coefficients_of(pending_, k);
            switch (count - k) {
                case 1: rows.sweep<1>(row, from, coefficients, sums); break;
                case 2: rows.sweep<2>(row, from, coefficients, sums); break;
                case 3: rows.sweep<3>(row, from, coefficients, sums); break;
                default: rows.sweep<kGroup>(row, from, coefficients, sums);
            }
        }
    }

    // Adds the contributions of pending updates to each class, at a distance of `apart`.
    void add_moves(const double* sums, double scale, double* to, std::int64_t apart) const noexcept {
        for (std::int64_t c = 0; c < classes_; ++c, to += apart) {
            Vector low{}, high{};
            const double* sum = sums;
            for (std::int64_t u = 0; u < pending_.count; ++u, sum += kStrip) {
                const double rate = pending_.rates[u * classes_ + c];
                low += load(sum) * rate;
                high += load(sum + kWidth) * rate;
            }
            store(to, load(to) + low * scale);
            store(to + kWidth, load(to + kWidth) + high * scale);
        }
    }

    Model& model_;
    Team& team_;
    std::int64_t n_;
    std::int64_t classes_;
    std::int64_t stride_;
    double* d_;
    Triangle u_;
    bool in_order_ = true;        // whether the places are 0, 1, ...
    std::int64_t count_ = 0;      // rows of the block
    std::int64_t strips_ = 0;
    std::int64_t from_ = 0;       // all rows of the block are zero before this place
    std::int64_t first_row_ = 0;  // rows of U before it are those of the identity

private:
    // F of a row has an error of about 2^-53 times its largest size since the look: here up to 2^10 times its size.
    static constexpr double kFaded = 0x1p-20;

    // Rows of U that fill whole cache lines: no two threads write to the same line.
    static constexpr std::int64_t kPanel = std::max(kStrip, std::int64_t{8});

    // Rows per thread that are worth the overhead for a single update.
    static constexpr std::int64_t kRange = 8 * kPanel;

    // Applies pending updates to a panel of U and to the mean.
    struct SweepPanel {
        Factors& factors;

        void operator()(std::int64_t panel) const noexcept {
            const std::int64_t first = (factors.first_row_ / kPanel + panel) * kPanel;
            for (std::int64_t row = first; row < std::min(first + kPanel, factors.n_); row += kStrip) {
                // The rows of the block have been looked at, so their memory is free.
                double* const sums = factors.x_ + row * factors.rows_;
                factors.sweep(factors.u_, row, row, sums);
                factors.add_moves(sums, 1.0, factors.mean_ + row, factors.stride_);
            }
        }
    };

    // Stores the update just prepared, whose first column this is.
    void note(std::int64_t column) noexcept {
        std::int64_t& first = made_.firsts[made_.count / kGroup];
        first = made_.count % kGroup == 0 ? column : std::min(first, column);
        const double *change = update_.change(), *g = update_.g();
        double* coefficients = coefficients_of(made_, made_.count) + made_.count % kGroup;
        for (std::int64_t j = from_; j < n_; ++j) {
            coefficients[2 * kGroup * j] = change[j];
            coefficients[2 * kGroup * j + kGroup] = g[j];
        }
    }

    // Applies the update just prepared to kStrips strips: their f, scores and variances.
    template <std::int64_t kStrips>
    void advance(std::int64_t strip, double shrink, double rate, const double* shares) noexcept {
        constexpr std::int64_t kVectors = 2 * kStrips;
        const double *changes = update_.change(), *gs = update_.g();
        double* f[kStrips];
        for (std::int64_t s = 0; s < kStrips; ++s) f[s] = f_ + (strip + s) * kStrip * n_;
        Vector sum[kVectors] = {}, variance[kVectors] = {};
        for (std::int64_t j = from_; j < n_; ++j) {
            const Vector change = all(changes[j]), g = all(gs[j]), d = all(d_[j]);
#pragma GCC unroll 4
            for (std::int64_t k = 0; k < kVectors; ++k) {
                double* at = f[k / 2] + j * kStrip + k % 2 * kWidth;
                const Vector old = load(at);
                const Vector now = old + change * sum[k];
                sum[k] += g * old;
                variance[k] += d * (now * now);
                store(at, now);
            }
        }
        for (std::int64_t k = 0; k < kVectors; ++k) {
            const std::int64_t row = strip * kStrip + k * kWidth;
            for (std::int64_t c = 0; c < classes_; ++c) {
                double* const scores = scores_ + c * rows_ + row;
                store(scores, load(scores) * shrink + sum[k] * (rate * shares[c]));
            }
            store(variances_ + row, variance[k]);
        }
    }

    double* coefficients_of(const Updates& updates, std::int64_t update) const noexcept {
        return updates.coefficients + update / kGroup * 2 * kGroup * n_;
    }

    void end_sweep() noexcept {
        if (pending_.count == 0) return;
        team_.finish();
        end_updates();
    }

    // Applies a single update to U and the mean.
    void stream() noexcept {
        double* sums = x_;
        std::fill(sums, sums + stride_, 0.0);
        const std::int64_t column = pending_.firsts[0] / kTogether * kTogether;
        // Whole columns are fastest; several threads take some rows each, the longest first.
        const std::int64_t rows = team_.is_alone() ? stride_ : kRange;
        const std::int64_t before = first_row_ / rows;
        team_.share((n_ - 1) / rows + 1 - before, [&](std::int64_t part) {
            const std::int64_t first = (before + part) * rows;
            u_.stream(std::max(first, first_row_), first + rows, column, pending_.coefficients, sums);
        });
        const double lag_rate = model_.lag_rate();
        for (std::int64_t c = 0; c < classes_; ++c)
            if (const double rate = pending_.rates[c]; rate != 0.0) {
                for (std::int64_t i = 0; i < n_; ++i) mean_[c * stride_ + i] += rate * sums[i];
                if (lag_rate != 0.0)
                    for (std::int64_t i = 0; i < n_; ++i)
                        model_.lag[i * model_.lag_stride + c] += lag_rate * (rate * sums[places_[i]]);
            }
        end_updates();
    }

    void end_updates() noexcept {
        pending_.count = 0;
        write_means();
    }

    void write_means() noexcept {
        for (std::int64_t c = 0; c < classes_; ++c)
            for (std::int64_t i = 0; i < n_; ++i) model_.entries[c * stride_ + i] = mean_[c * stride_ + places_[i]];
    }

    Update update_;
    SweepPanel sweep_panel_{*this};
};

}  // namespace scwlearn::SCWLEARN_SET
