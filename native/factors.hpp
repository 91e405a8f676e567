// Sigma in full, in factors: what the updates by the rows of a block do to them, and to the rows behind.
#pragma once

#include <limits>
#include <utility>

#include "model.hpp"
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
class Factors {
public:
    Factors(Model& model, std::int64_t block, Team& team)
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
            smallest_d_ = std::min(smallest_d_, d_[i]);
        }
    }

    ~Factors() { team_.finish(); }

    Factors(const Factors&) = delete;
    Factors& operator=(const Factors&) = delete;

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
    // F of a row of the block, and from one entry of it to the next.
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

    // All rows of the block are zero before this place, and so is F.
    void begin_at(std::int64_t place) noexcept {
        from_ = place / kTogether * kTogether;
    }

    // The other threads begin to work the updates that are waiting into U, the long panels first.
    void begin_sweep() noexcept {
        if (pending_.count > 0) team_.start((n_ - 1) / kPanel + 1 - first_row_ / kPanel, sweep_panel_);
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

    Model& model_;
    Team& team_;
    std::int64_t n_;
    std::int64_t stride_;
    double* d_;
    Triangle u_;
    double* x_;               // the rows, in strips; then what is summed up in a sweep
    std::int64_t* present_;   // for each strip: which places its rows in x_ have
    double* f_;               // X U, in strips
    double* sums_;            // what is summed up for a strip of f_
    double* mean_;            // by place
    std::int64_t* places_;    // of each feature
    bool in_order_ = true;    // whether these are 0, 1, ..
    double* scores_;
    double* variances_;           // by spread_scale too small
    std::int64_t count_ = 0;      // rows of the block
    std::int64_t strips_ = 0;
    std::int64_t from_ = 0;       // no row of the block has anything before this place
    std::int64_t first_row_ = 0;  // the rows of U before it have nothing but their one

private:
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
        Factors& factors;

        void operator()(std::int64_t panel) const noexcept {
            const std::int64_t first = (factors.first_row_ / kPanel + panel) * kPanel;
            for (std::int64_t row = first; row < std::min(first + kPanel, factors.n_); row += kStrip) {
                // The rows of the block have been looked at: their memory is free.
                double* const sums = factors.x_ + row * factors.rows_;
                factors.sweep(factors.u_, row, row, sums);
                factors.add_moves(sums, 1.0, factors.mean_ + row);
            }
        }
    };

    // The coefficients of an update, and D after it.
    void prepare(const double* f, std::int64_t stride, double length, double kv) noexcept {
        double* __restrict scaled = row_;
        double* __restrict g = g_;
        double* __restrict change = change_;
        double* __restrict d = d_;
        const double unit = 1.0 / length;
        for (std::int64_t j = from_; j < n_; ++j) scaled[j] = f[j * stride] * unit;
        for (std::int64_t j = from_; j < n_; ++j) g[j] = d[j] * scaled[j];
        std::int64_t& first = made_.firsts[made_.count / kGroup];
        if (made_.count % kGroup == 0) first = n_;
        first = std::min(first, std::find_if(scaled + from_, scaled + n_, [](double fj) { return fj != 0.0; }) - scaled);
        if (sum_up(scaled, g, kv) * kSmallestVariance > smallest_d_) {
            kv = within_floor(kv);
            sum_up(scaled, g, kv);
        }
        const double* __restrict before = before_;
        double smallest = smallest_d_;
        for (std::int64_t j = from_; j < n_; ++j) {
            const double left = d[j] * (before[j] / before[j + 1]);
            d[j] = left > kSmallestVariance ? left : kSmallestVariance;
            smallest = left < smallest ? left : smallest;
            change[j] = -kv * scaled[j] / before[j];
        }
        smallest_d_ = smallest;
        double* coefficients = coefficients_of(made_, made_.count) + made_.count % kGroup;
        for (std::int64_t j = from_; j < n_; ++j) {
            coefficients[2 * kGroup * j] = change[j];
            coefficients[2 * kGroup * j + kGroup] = g[j];
        }
    }

    // a_(j-1) of all j, before the divisions by them: those then go through vector registers. The last is the largest.
    double sum_up(const double* __restrict scaled, const double* __restrict g, double kv) noexcept {
        double* __restrict before = before_;
        // Four terms of the sum at a time, so that they do not all wait for each other.
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
        return before[n_] = 1.0 + kv * sum;
    }

    // As much of kv as takes no D below its floor. To lift D there again would be to lift it times the square of its
    // column of U, which may be as large as D is small: Sigma would grow. A column whose a_j is that before it has no
    // share in the row, and its D stays.
    double within_floor(double kv) const noexcept {
        for (std::int64_t j = from_; j < n_; ++j)
            if (before_[j + 1] > before_[j]) kv = std::min(kv, d_[j] / kSmallestVariance - 1.0);
        return std::max(kv, 0.0);
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

    double* coefficients_of(const Updates& updates, std::int64_t update) const noexcept {
        return updates.coefficients + update / kGroup * 2 * kGroup * n_;
    }

    void end_sweep() noexcept {
        if (pending_.count == 0) return;
        team_.finish();
        end_updates();
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

    std::int64_t rows_;  // that a block has room for
    double* row_;
    double* g_;
    double* change_;
    double* before_;
    double smallest_d_ = std::numeric_limits<double>::infinity();
    SweepPanel sweep_panel_{*this};
    Updates made_;     // by the rows of this block so far
    Updates pending_;  // by those of the block before: waiting, or being worked into U and the mean
};

}  // namespace scwlearn::SCWLEARN_SET
