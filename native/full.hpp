// Sigma in full, in exact blocks: many rows are looked at together, and U is moved by many updates in one go.
#pragma once

#include <utility>

#include "model.hpp"
#include "rows.hpp"
#include "team.hpp"
#include "triangle.hpp"

namespace scwlearn::SCWLEARN_SET {

// Sigma = spread_scale U D U' with U unit upper triangular and D a positive diagonal (Bierman's form). D is only ever
// multiplied by positive numbers and U keeps its shape, so Sigma is positive whatever rounding does, however collinear
// or badly scaled the stream. The model is the mean, then the place of each feature in U and D, then D, then U by
// columns (triangle.hpp).
//
// A feature at place i concerns the columns from i on, so that rare features come first: then most rows, and the
// updates by them, leave most of U alone.
//
// The update by a row with f = U'x scaled so that f'D f = 1, with g = D f, kv = precision times variance and
// a_j = 1 + kv (f_1 g_1 + .. + f_j g_j): D_j falls by a_(j-1)/a_j, and column j of U changes by -kv f_j/a_(j-1) times
// what the sum of the g_l U_l has come to before j. The whole sum is Sigma x, which moves the mean. A row of F = X U
// that was there before the update changes in the same way as a row of U, so that the rows of a block can be
// multiplied by U together: each update is worked into the rows that follow, and into U later.
//
// Later means while the next block is decided, row after row, by one thread: the others are not to wait for it. Its rows
// are multiplied by U as it was, and then moved as the rows of U are.
class FullBlocks {
public:
    FullBlocks(Model& model, std::int64_t block, std::int64_t rows_to_come, Team& team)
        : model_(model),
          team_(team),
          n_(model.size),
          stride_(full_stride(n_)),
          d_(model.entries + 2 * stride_),
          u_(d_ + stride_, n_, stride_) {
        const std::int64_t rows = rows_ = (block + kWidestStrip - 1) / kWidestStrip * kWidestStrip;
        double* free = model.work;
        const auto take = [&free](std::int64_t entries) {
            double* taken = free;
            free += entries;
            return taken;
        };
        x_ = take(rows * stride_);
        f_ = take(rows * n_);
        for (Updates* updates : {&made_, &pending_}) {
            updates->coefficients = take(2 * rows * n_);
            updates->rates = take(rows);
            updates->firsts = reinterpret_cast<std::int64_t*>(take(rows));
        }
        sums_ = take(rows * kWidestStrip);
        present_ = reinterpret_cast<std::int64_t*>(take(rows / kStrip * (n_ + 1)));
        row_ = take(stride_);
        g_ = take(stride_);
        change_ = take(stride_);
        before_ = take(stride_ + kWidestStrip);
        scores_ = take(rows);
        variances_ = take(rows);
        mean_ = take(stride_);
        places_ = reinterpret_cast<std::int64_t*>(take(stride_));
        std::fill(mean_, mean_ + stride_, 0.0);
        const auto last = static_cast<double>(n_ - 1);
        for (std::int64_t i = 0; i < n_; ++i) {
            // The memory belongs to Python, where somebody may have written to it.
            const double place = model.entries[stride_ + i];
            places_[i] = place >= 0.0 && place <= last ? static_cast<std::int64_t>(place) : 0;
            in_order_ &= places_[i] == i;
            mean_[places_[i]] = model.entries[i];
        }
        if (rows_to_come >= kManyRows) first_row_ = u_.first_row();
    }

    ~FullBlocks() { team_.finish(); }

    FullBlocks(const FullBlocks&) = delete;
    FullBlocks& operator=(const FullBlocks&) = delete;

    // The score of a row and a bound of its variance, without a look at U: Sigma has grown at most so much.
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
                length2 * model_.initial_variance * model_.scalars->growth * kRounding};
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

    // What the model says of a row of the block, all updates by rows before it included.
    Look operator[](std::int64_t row) const noexcept {
        return {scores_[row], variances_[row] * model_.scalars->spread_scale};
    }

    // Moves by a step at a row of the block: D and the rows behind it at once, U and the mean later.
    void move(std::int64_t row, const Step& step, double y, double v) noexcept {
        const double folded = model_.shrink_mean(step.shrink);
        if (folded != 1.0) {
            end_sweep();  // which adds to the mean
            for (std::int64_t u = 0; u < made_.count; ++u) made_.rates[u] *= folded;
            for (std::int64_t i = 0; i < n_; ++i) mean_[i] *= folded;
        }
        const double spread_scale = model_.scalars->spread_scale;
        const double length = std::sqrt(v / spread_scale);
        const double rate = step.alpha * y * spread_scale * length;
        prepare(f_of(row), f_stride(), length, shrinkage(step, v));
        made_.rates[made_.count++] = rate / model_.scalars->mean_scale;
        std::int64_t strip = row + 1 < count_ ? (row + 1) / kStrip : strips_;
        for (; strip + 1 < strips_; strip += 2) advance<2>(strip, step.shrink, rate);
        if (strip < strips_) advance<1>(strip, step.shrink, rate);
        const double grown = model_.grow_spread(step.grow);
        if (grown != 1.0)
            for (std::int64_t i = 0; i < count_; ++i) variances_[i] *= grown;
    }

    // Ends the block: its updates wait for the next one, but for a single one.
    void finish() noexcept {
        end_sweep();
        if (made_.count == 0) return;
        for (std::int64_t u = 0; u < made_.count; u += kGroup)
            first_row_ = std::min(first_row_, made_.firsts[u / kGroup]);
        std::swap(made_, pending_);
        if (pending_.count == 1) stream();
    }

    // Works what is waiting into U and the mean.
    void catch_up() noexcept {
        begin_sweep();
        end_sweep();
    }

protected:
    // Of a row of the block, and from one entry of it to the next.
    double* f_of(std::int64_t row) const noexcept { return f_ + row / kStrip * kStrip * n_ + row % kStrip; }
    std::int64_t f_stride() const noexcept { return count_ == 1 ? 1 : kStrip; }

    // Makes room for what rows of the block get at a place before all that they had.
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

    Model& model_;
    std::int64_t* places_;    // of each feature
    std::int64_t count_ = 0;  // rows of the block

private:
    // From so many rows on it pays to find out how much of U is still as it was in the beginning.
    static constexpr std::int64_t kManyRows = 16;
    // Taking a stored value of a sparse row costs about as much as so many of a dense one.
    static constexpr std::int64_t kCostOfSparse = 4;

    // The updates by the rows of a block.
    struct Updates {
        std::int64_t count = 0;
        double* coefficients = nullptr;  // by groups: for each j their changes, then their g
        std::int64_t* firsts = nullptr;  // by groups: the first column that changes
        double* rates = nullptr;         // what each adds of its Sigma x to the stored mean
    };

    // So many rows of U fill whole cache lines: no two threads write to one.
    static constexpr std::int64_t kPanel = std::max(kStrip, std::int64_t{8});

    // Works the updates that are waiting into a panel of U, and into the mean.
    struct SweepPanel {
        FullBlocks& full;

        void operator()(std::int64_t panel) const noexcept {
            const std::int64_t first = (full.first_row_ / kPanel + panel) * kPanel;
            for (std::int64_t row = first; row < std::min(first + kPanel, full.n_); row += kStrip) {
                // The rows of the block have been looked at: their memory is free.
                double* const sums = full.x_ + row * full.rows_;
                full.sweep(full.u_, row, row, sums);
                full.add_moves(sums, 1.0, full.mean_ + row);
            }
        }
    };

    template <class Row>
    void look_at_one(const Row& row) noexcept {
        double score = 0.0;
        if (row.count() * kCostOfSparse < n_) {
            auto* const begin = reinterpret_cast<Placed*>(x_);
            Placed* end = begin;
            row.each([&](std::int64_t i, double value) {
                score += model_.entries[i] * value;
                *end++ = {places_[i], value};
            });
            if (!in_order_) std::sort(begin, end, [](const Placed& a, const Placed& b) { return a.place < b.place; });
            *end = {n_, 0.0};
            begin_at(begin->place);
            u_.multiply_one(begin, from_, f_);
        } else {
            std::fill(x_, x_ + stride_, 0.0);
            row.each([&](std::int64_t i, double value) {
                score += model_.entries[i] * value;
                x_[places_[i]] = value;
            });
            begin_at(std::find_if(x_, x_ + n_, [](double value) { return value != 0.0; }) - x_);
            u_.multiply_one(x_, from_, f_);
        }
        scores_[0] = score * model_.scalars->mean_scale;
        Vector sums[2] = {};
        std::int64_t j = from_;
        for (; j + kStrip <= n_; j += kStrip)
            for (std::int64_t k = 0; k < 2; ++k) {
                const Vector f = load(f_ + j + k * kWidth);
                sums[k] += load(d_ + j + k * kWidth) * (f * f);
            }
        variances_[0] = sum_of(sums[0] + sums[1]);
        for (; j < n_; ++j) variances_[0] += d_[j] * (f_[j] * f_[j]);
    }

    template <class RowSet>
    void look_at_strips(const RowSet& rows, std::int64_t first) noexcept {
        team_.share(strips_, [&](std::int64_t strip) {
            place(rows, first, strip);
            pack(strip);
            const double* x = x_ + strip * kStrip * n_;
            Vector low{}, high{};
            for (const std::int64_t* i = present(strip); *i < n_; ++i, x += kStrip) {
                const Vector weight = all(mean_[*i]);
                low += weight * load(x);
                high += weight * load(x + kWidth);
            }
            store(scores_ + strip * kStrip, low * model_.scalars->mean_scale);
            store(scores_ + strip * kStrip + kWidth, high * model_.scalars->mean_scale);
        });
        std::int64_t from = n_;
        for (std::int64_t strip = 0; strip < strips_; ++strip) from = std::min(from, *present(strip));
        begin_at(from);
        // All strips meet some columns of U while these are in the nearest cache. The last columns take longest.
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
            add_moves(sums_, model_.scalars->mean_scale, scores_ + strip * kStrip);
            Vector low{}, high{};
            const double* f = f_ + (strip * n_ + from_) * kStrip;
            for (std::int64_t j = from_; j < n_; ++j, f += kStrip) {
                const Vector dj = all(d_[j]), a = load(f), b = load(f + kWidth);
                low += dj * (a * a);
                high += dj * (b * b);
            }
            store(variances_ + strip * kStrip, low);
            store(variances_ + strip * kStrip + kWidth, high);
        }
    }

    // Writes the rows of a strip side by side, and zeros where there are fewer.
    template <class RowSet>
    void place(const RowSet& rows, std::int64_t first, std::int64_t strip) noexcept {
        double* x = x_ + strip * kStrip * n_;
        const std::int64_t begin = strip * kStrip;
        const std::int64_t count = std::min(kStrip, count_ - begin);
        if constexpr (!RowSet::kSparse) {
            // All at once: a cache line of x_ is written as a whole.
            if (count == kStrip) {
                const auto row = rows[first + begin];
                const std::int64_t width = row.width();
                const auto* values = row.values();
                for (std::int64_t i = 0; i < width; ++i)
                    for (std::int64_t lane = 0; lane < kStrip; ++lane)
                        x[places_[i] * kStrip + lane] = static_cast<double>(values[lane * width + i]);
                if (width < n_) std::fill_n(x + places_[width] * kStrip, kStrip, 1.0);
                return;
            }
        }
        std::fill_n(x, kStrip * n_, 0.0);
        for (std::int64_t lane = 0; lane < count; ++lane)
            rows[first + begin + lane].each(
                [this, x, lane](std::int64_t i, double value) { x[places_[i] * kStrip + lane] = value; });
    }

    // Leaves out the places where all rows of a strip are zero.
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

    // The places where a row of the strip is not zero, and n_ to end them.
    std::int64_t* present(std::int64_t strip) const noexcept { return present_ + strip * (n_ + 1); }

    // All rows of the block are zero before this place, and so is F.
    void begin_at(std::int64_t place) noexcept {
        from_ = place / kTogether * kTogether;
    }

    // The coefficients of an update, and D after it.
    void prepare(const double* f, std::int64_t stride, double length, double kv) noexcept {
        double* __restrict scaled = row_;
        double* __restrict g = g_;
        double* __restrict change = change_;
        double* __restrict before = before_;
        double* __restrict d = d_;
        const double unit = 1.0 / length;
        for (std::int64_t j = from_; j < n_; ++j) scaled[j] = f[j * stride] * unit;
        for (std::int64_t j = from_; j < n_; ++j) g[j] = d[j] * scaled[j];
        std::int64_t& first = made_.firsts[made_.count / kGroup];
        if (made_.count % kGroup == 0) first = n_;
        first = std::min(first, std::find_if(scaled + from_, scaled + n_, [](double fj) { return fj != 0.0; }) - scaled);
        // a_(j-1) of all j first: then the divisions go through vector registers. Four terms of the sum at a time, so
        // that they do not all wait for each other.
        double sum = 0.0;
        std::int64_t i = from_;
        for (; i + 4 <= n_; i += 4) {
            const double one = scaled[i] * g[i];
            const double two = one + scaled[i + 1] * g[i + 1];
            const double last = scaled[i + 3] * g[i + 3];
            const double three = two + scaled[i + 2] * g[i + 2];
            before[i] = 1.0 + kv * sum;
            before[i + 1] = 1.0 + kv * (sum + one);
            before[i + 2] = 1.0 + kv * (sum + two);
            before[i + 3] = 1.0 + kv * (sum + three);
            sum += three + last;
        }
        for (; i < n_; ++i) {
            before[i] = 1.0 + kv * sum;
            sum += scaled[i] * g[i];
        }
        before[n_] = 1.0 + kv * sum;
        for (std::int64_t j = from_; j < n_; ++j) {
            const double left = d[j] * (before[j] / before[j + 1]);
            d[j] = left > kSmallestVariance ? left : kSmallestVariance;
            change[j] = -kv * scaled[j] / before[j];
        }
        double* coefficients = coefficients_of(made_, made_.count) + made_.count % kGroup;
        for (std::int64_t j = from_; j < n_; ++j) {
            coefficients[2 * kGroup * j] = change[j];
            coefficients[2 * kGroup * j + kGroup] = g[j];
        }
    }

    double* coefficients_of(const Updates& updates, std::int64_t update) const noexcept {
        return updates.coefficients + update / kGroup * 2 * kGroup * n_;
    }

    // Works the update just prepared into so many strips: their f, scores and variances.
    template <std::int64_t kStrips>
    void advance(std::int64_t strip, double shrink, double rate) noexcept {
        constexpr std::int64_t kVectors = 2 * kStrips;
        double* f[kStrips];
        for (std::int64_t s = 0; s < kStrips; ++s) f[s] = f_ + (strip + s) * kStrip * n_;
        Vector sum[kVectors] = {}, variance[kVectors] = {};
        for (std::int64_t j = from_; j < n_; ++j) {
            const Vector change = all(change_[j]), g = all(g_[j]), d = all(d_[j]);
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
            store(scores_ + row, load(scores_ + row) * shrink + sum[k] * rate);
            store(variances_ + row, variance[k]);
        }
    }

    // The other threads begin to work the updates that are waiting into U, the long panels first.
    void begin_sweep() noexcept {
        if (pending_.count > 0) team_.start((n_ - 1) / kPanel + 1 - first_row_ / kPanel, sweep_panel_);
    }

    void end_sweep() noexcept {
        if (pending_.count == 0) return;
        team_.finish();
        end_updates();
    }

    // Works the updates that are waiting into kStrip rows of U, or of F. `sums` becomes what the Sigma x of each update
    // has there.
    void sweep(Triangle rows, std::int64_t row, std::int64_t begin, double* sums) const noexcept {
        const std::int64_t count = pending_.count;
        for (std::int64_t k = 0; k < count; k += kGroup, sums += kGroup * kStrip) {
            // No column before this one changes.
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

    void add_moves(const double* sums, double scale, double* to) const noexcept {
        Vector low{}, high{};
        for (std::int64_t u = 0; u < pending_.count; ++u, sums += kStrip) {
            low += load(sums) * pending_.rates[u];
            high += load(sums + kWidth) * pending_.rates[u];
        }
        store(to, load(to) + low * scale);
        store(to + kWidth, load(to + kWidth) + high * scale);
    }

    // Works a single update into U and the mean.
    void stream() noexcept {
        double* sums = row_;
        std::fill(sums, sums + stride_, 0.0);
        u_.stream(first_row_, pending_.firsts[0] / kTogether * kTogether, pending_.coefficients, sums);
        for (std::int64_t i = 0; i < n_; ++i) mean_[i] += pending_.rates[0] * sums[i];
        end_updates();
    }

    void end_updates() noexcept {
        pending_.count = 0;
        for (std::int64_t i = 0; i < n_; ++i) model_.entries[i] = mean_[places_[i]];
    }

    Team& team_;
    std::int64_t n_;
    std::int64_t stride_;
    std::int64_t rows_;  // that a block has room for
    double* d_;
    Triangle u_;
    double* x_;              // the rows, in strips; then what is summed up in a sweep
    std::int64_t* present_;  // for each strip: which places its rows in x_ have
    double* f_;              // X U, in strips
    double* sums_;          // the same for a strip of f_
    double* mean_;          // by place
    bool in_order_ = true;
    double* row_;
    double* g_;
    double* change_;
    double* before_;
    double* scores_;
    double* variances_;     // by spread_scale too small
    std::int64_t strips_ = 0;
    SweepPanel sweep_panel_{*this};
    Updates made_;                // by the rows of this block so far
    Updates pending_;             // by those of the block before: waiting, or being worked into U and the mean
    std::int64_t from_ = 0;       // no row of the block has anything before this place
    std::int64_t first_row_ = 0;  // the rows of U before it have nothing but their one
};

}  // namespace scwlearn::SCWLEARN_SET
