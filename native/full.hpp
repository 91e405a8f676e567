// Sigma in full, in exact blocks: many rows are looked at together, and U is moved by many updates in one go.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "model.hpp"
#include "rows.hpp"
#include "team.hpp"
#include "vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Sigma = spread_scale U D U' with U unit upper triangular and D a positive diagonal (Bierman's form). D is only ever
// multiplied by positive numbers and U keeps its shape, so Sigma is positive whatever rounding does, however collinear
// or badly scaled the stream. The model is the mean, then the place of each feature in U and D, then D, then U by
// columns, with its ones and zeros. Each column fills whole cache lines, with zeros behind its end, so that no loop over
// rows of U needs a rest and no two threads write to one line.
//
// A feature at place i concerns the columns from i on, so that rare features come first where rows are sparse: then
// most rows, and the updates by them, leave most of U alone.
//
// The update by a row with f = U'x scaled so that f'D f = 1, with g = D f, kv = precision times variance and
// a_j = 1 + kv (f_1 g_1 + .. + f_j g_j): D_j falls by a_(j-1)/a_j, and column j of U changes by -kv f_j/a_(j-1) times
// what the sum of the g_l U_l has come to before j. The whole sum is Sigma x, which moves the mean. A row of F = X U
// that was there before the update changes in the same way as a row of U, so that the rows of a block can be
// multiplied by U together: each update is worked into the rows that follow, and into U at the end of the block.
class FullBlocks {
public:
    FullBlocks(Model& model, std::int64_t block, Team& team)
        : model_(model), team_(team), n_(model.size), stride_(full_stride(n_)), d_(model.entries + 2 * stride_), u_(d_ + stride_) {
        const std::int64_t rows = rows_ = (block + kWidestStrip - 1) / kWidestStrip * kWidestStrip;
        done_.reset(new Done[static_cast<std::size_t>(team.size())]);
        double* free = model.work;
        const auto take = [&free](std::int64_t entries) {
            double* taken = free;
            free += entries;
            return taken;
        };
        x_ = take(rows * stride_);
        f_ = take(rows * n_);
        coefficients_ = take(2 * rows * n_);
        row_ = take(stride_);
        g_ = take(stride_);
        change_ = take(stride_);
        before_ = take(stride_ + kWidestStrip);
        scores_ = take(rows);
        variances_ = take(rows);
        firsts_ = reinterpret_cast<std::int64_t*>(take(rows));
        rates_ = take(rows + kGroup);
        mean_ = take(stride_);
        places_ = reinterpret_cast<std::int64_t*>(take(stride_));
        std::fill(mean_, mean_ + stride_, 0.0);
        for (std::int64_t i = 0; i < n_; ++i) {
            places_[i] = static_cast<std::int64_t>(std::clamp(model.entries[stride_ + i], 0.0, static_cast<double>(n_ - 1)));
            in_order_ &= places_[i] == i;
            mean_[places_[i]] = model.entries[i];
        }
    }

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
        updates_ = 0;
        if (count == 1) return look_at_one(rows[first]);
        bool done = false;
        if constexpr (RowSet::kSparse) done = look_at_sparse(rows, first);
        if (!done) look_at_dense(rows, first);
        for (std::int64_t strip = 0; strip < strips_; ++strip) {
            Vector low{}, high{};
            const double* f = f_ + strip * kStrip * n_;
            for (std::int64_t j = 0; j < n_; ++j, f += kStrip) {
                const Vector dj = all(d_[j]), a = load(f), b = load(f + kWidth);
                low += dj * (a * a);
                high += dj * (b * b);
            }
            store(variances_ + strip * kStrip, low);
            store(variances_ + strip * kStrip + kWidth, high);
        }
    }

    // What the model says of a row of the block, all updates by rows before it included.
    Look operator[](std::int64_t row) const noexcept {
        return {scores_[row], variances_[row] * model_.scalars->spread_scale};
    }

    // Moves by a step at a row of the block: D and the rows behind it at once, U and the mean in `finish`.
    void move(std::int64_t row, const Step& step, double y, double v) noexcept {
        const double folded = model_.shrink_mean(step.shrink);
        if (folded != 1.0) {
            for (std::int64_t u = 0; u < updates_; ++u) rates_[u] *= folded;
            for (std::int64_t i = 0; i < n_; ++i) mean_[i] *= folded;
        }
        const double spread_scale = model_.scalars->spread_scale;
        const double length = std::sqrt(v / spread_scale);
        const double rate = step.alpha * y * spread_scale * length;
        prepare(f_ + row / kStrip * kStrip * n_ + row % kStrip, count_ == 1 ? 1 : kStrip, length, shrinkage(step, v));
        rates_[updates_++] = rate / model_.scalars->mean_scale;
        std::int64_t strip = row + 1 < count_ ? (row + 1) / kStrip : strips_;
        for (; strip + 1 < strips_; strip += 2) advance<2>(strip, step.shrink, rate);
        if (strip < strips_) advance<1>(strip, step.shrink, rate);
        const double grown = model_.grow_spread(step.grow);
        if (grown != 1.0)
            for (std::int64_t i = 0; i < count_; ++i) variances_[i] *= grown;
    }

    // Moves U and the mean by the updates of the block.
    void finish() noexcept {
        if (updates_ == 0) return;
        if (updates_ == 1)
            stream();
        else
            sweep_all();
        for (std::int64_t i = 0; i < n_; ++i) model_.entries[i] = mean_[places_[i]];
    }

private:
    // Each thread has columns of its own, in looks as in sweeps, so that U need not travel from core to core. These hold
    // equal parts of the triangle.
    std::int64_t boundary(std::int64_t part) const noexcept {
        const double share = static_cast<double>(part) / static_cast<double>(team_.size());
        return static_cast<std::int64_t>(static_cast<double>(n_) * std::sqrt(share));
    }

    // Panels of rows go from thread to thread, from the last to the first: the short ones do not keep anybody waiting.
    void sweep_all() noexcept {
        const std::int64_t panels = (n_ + kStrip - 1) / kStrip;
        for (std::int64_t part = 0; part < team_.size(); ++part) done_[part].panels = 0;
        team_.share(team_.size(), [&](std::int64_t part) {
            const std::int64_t begin = boundary(part), end = boundary(part + 1);
            for (std::int64_t panel = 0; panel < panels; ++panel) {
                const std::int64_t first = (panels - 1 - panel) * kStrip;
                while (first < begin && done_[part - 1].panels.load() <= panel) std::this_thread::yield();
                for (std::int64_t u = 0; u < updates_ && first < end; u += kGroup) switch (updates_ - u) {
                        case 1: sweep<1>(first, u, begin, end); break;
                        case 2: sweep<2>(first, u, begin, end); break;
                        case 3: sweep<3>(first, u, begin, end); break;
                        default: sweep<kGroup>(first, u, begin, end);
                    }
                done_[part].panels.store(panel + 1);
            }
        });
    }

    // Rows are kept in strips of as many as two registers hold: entry j of all rows of the strip, then entry j + 1.
    static constexpr std::int64_t kStrip = 2 * kWidth;
    // So many columns of U at a time, and so many updates, leave room for everything else in 16 registers.
    static constexpr std::int64_t kColumns = 6;
    static constexpr std::int64_t kGroup = 4;
    // Taking a stored value of a sparse row costs about as much as so many of a dense one.
    static constexpr std::int64_t kCostOfSparse = 4;

    static constexpr std::int64_t kAtOnce = 4;
    static constexpr std::int64_t kGathered = 8;

    // How many panels a thread has done, in a cache line of its own.
    struct alignas(64) Done {
        std::atomic<std::int64_t> panels{0};
    };

    struct Stored {
        std::int64_t index;
        double value;
    };

    template <class RowSet>
    void look_at_dense(const RowSet& rows, std::int64_t first) noexcept {
        team_.share(strips_, [&](std::int64_t strip) {
            place(rows, first, strip);
            Vector low{}, high{};
            const double* x = x_ + strip * kStrip * n_;
            for (std::int64_t i = 0; i < n_; ++i, x += kStrip) {
                const Vector weight = all(mean_[i]);
                low += weight * load(x);
                high += weight * load(x + kWidth);
            }
            store(scores_ + strip * kStrip, low * model_.scalars->mean_scale);
            store(scores_ + strip * kStrip + kWidth, high * model_.scalars->mean_scale);
        });
        team_.share(team_.size(), [&](std::int64_t part) {
            const std::int64_t end = boundary(part + 1);
            for (std::int64_t j = boundary(part); j < end; j += kColumns)
                for (std::int64_t strip = 0; strip < strips_; ++strip) switch (end - j) {
                        case 1: multiply<1>(strip, j); break;
                        case 2: multiply<2>(strip, j); break;
                        case 3: multiply<3>(strip, j); break;
                        case 4: multiply<4>(strip, j); break;
                        case 5: multiply<5>(strip, j); break;
                        default: multiply<kColumns>(strip, j);
                    }
        });
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

    // Columns j and on of F for the rows of a strip. Below the diagonal U holds zeros.
    template <std::int64_t kCount>
    void multiply(std::int64_t strip, std::int64_t j) const noexcept {
        const double* __restrict x = x_ + strip * kStrip * n_;
        const double* __restrict u = u_ + j * stride_;
        Vector low[kCount] = {}, high[kCount] = {};
        for (std::int64_t i = 0; i < j + kCount; ++i, x += kStrip) {
            const Vector a = load(x), b = load(x + kWidth);
#pragma GCC unroll 6
            for (std::int64_t c = 0; c < kCount; ++c) {
                const Vector entry = all(u[c * stride_ + i]);
                low[c] += entry * a;
                high[c] += entry * b;
            }
        }
        double* f = f_ + (strip * n_ + j) * kStrip;
#pragma GCC unroll 6
        for (std::int64_t c = 0; c < kCount; ++c, f += kStrip) {
            store(f, low[c]);
            store(f + kWidth, high[c]);
        }
    }

    // Returns false where the rows have too many values for this to pay.
    template <class RowSet>
    bool look_at_sparse(const RowSet& rows, std::int64_t first) noexcept {
        const std::int64_t most = count_ * n_ / kCostOfSparse;
        auto* stored = reinterpret_cast<Stored*>(x_);
        auto* starts = reinterpret_cast<std::int64_t*>(coefficients_);
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < count_; ++i) {
            const auto row = rows[first + i];
            if (total + row.count() >= most) return false;
            starts[i] = total;
            scores_[i] = list(row, stored + total);
            total += row.count() + 1;
        }
        std::fill(f_, f_ + strips_ * kStrip * n_, 0.0);
        // As many columns at a time as stay in the nearest cache while all rows gather from them.
        constexpr std::int64_t kTile = 2 * kGathered;
        team_.share(team_.size(), [&](std::int64_t part) {
            const std::int64_t last = boundary(part + 1);
            for (std::int64_t begin = boundary(part); begin < last; begin += kTile) {
                const std::int64_t end = std::min(begin + kTile, last);
                for (std::int64_t i = 0; i < count_; ++i) {
                    double* f = f_ + (i / kStrip * n_ + begin) * kStrip + i % kStrip;
                    gather(stored + starts[i], begin, end, f, kStrip);
                }
            }
        });
        return true;
    }

    // Writes the features of a sparse row by place, and one at n_ to end them; its score.
    template <class Row>
    double list(const Row& row, Stored* begin) const noexcept {
        double score = 0.0;
        Stored* end = begin;
        row.each([&](std::int64_t i, double value) {
            score += model_.entries[i] * value;
            *end++ = {places_[i], value};
        });
        if (!in_order_) sort(begin, end);
        *end = {n_, 0.0};
        return score * model_.scalars->mean_scale;
    }

    static void sort(Stored* begin, Stored* end) noexcept {
        constexpr std::int64_t kFew = 24;
        if (end - begin > kFew) {
            std::sort(begin, end, [](const Stored& a, const Stored& b) { return a.index < b.index; });
            return;
        }
        for (Stored* next = begin; next < end; ++next) {
            const Stored moved = *next;
            Stored* to = next;
            for (; to > begin && moved.index < to[-1].index; --to) *to = to[-1];
            *to = moved;
        }
    }

    // f_j of a sparse row for j from begin to end. Its features come in order, and those beyond j meet zeros in U.
    void gather(const Stored* features, std::int64_t begin, std::int64_t end, double* f,
                std::int64_t stride) const noexcept {
        std::int64_t j = begin;
        for (; j + kGathered <= end; j += kGathered) gather_columns<kGathered>(features, j, f + (j - begin) * stride, stride);
        for (; j < end; ++j) gather_columns<1>(features, j, f + (j - begin) * stride, stride);
    }

    // The features end with one at index n_.
    template <std::int64_t kCount>
    void gather_columns(const Stored* features, std::int64_t j, double* f, std::int64_t stride) const noexcept {
        const double* u[kCount];
        for (std::int64_t c = 0; c < kCount; ++c) u[c] = u_ + (j + c) * stride_;
        double sums[kCount] = {};
        for (; features->index < j + kCount; ++features) {
#pragma GCC unroll 8
            for (std::int64_t c = 0; c < kCount; ++c) sums[c] += features->value * u[c][features->index];
        }
        for (std::int64_t c = 0; c < kCount; ++c) f[c * stride] = sums[c];
    }

    template <class Row>
    void look_at_one(const Row& row) noexcept {
        if (row.count() * kCostOfSparse < n_) {
            auto* stored = reinterpret_cast<Stored*>(x_);
            scores_[0] = list(row, stored);
            gather(stored, 0, n_, f_, 1);
        } else {
            std::fill(x_, x_ + stride_, 0.0);
            double score = 0.0;
            row.each([&](std::int64_t i, double value) {
                score += model_.entries[i] * value;
                x_[places_[i]] = value;
            });
            scores_[0] = score * model_.scalars->mean_scale;
            std::int64_t j = 0;
            for (; j + kAtOnce <= n_; j += kAtOnce) dot<kAtOnce>(j);
            for (; j < n_; ++j) dot<1>(j);
        }
        Vector sums[2] = {};
        std::int64_t j = 0;
        for (; j + kStrip <= n_; j += kStrip)
            for (std::int64_t k = 0; k < 2; ++k) {
                const Vector f = load(f_ + j + k * kWidth);
                sums[k] += load(d_ + j + k * kWidth) * (f * f);
            }
        variances_[0] = sum_of(sums[0] + sums[1]);
        for (; j < n_; ++j) variances_[0] += d_[j] * (f_[j] * f_[j]);
    }

    // So many columns of U times the one row in x_.
    template <std::int64_t kCount>
    void dot(std::int64_t j) noexcept {
        const double* u = u_ + j * stride_;
        Vector sums[kCount] = {};
        for (std::int64_t i = 0; i < j + kCount; i += kWidth) {
            const Vector x = load(x_ + i);
#pragma GCC unroll 4
            for (std::int64_t c = 0; c < kCount; ++c) sums[c] += load(u + c * stride_ + i) * x;
        }
        for (std::int64_t c = 0; c < kCount; ++c) f_[j + c] = sum_of(sums[c]);
    }

    // The coefficients of an update, and D after it.
    void prepare(const double* f, std::int64_t stride, double length, double kv) noexcept {
        double* __restrict scaled = row_;
        double* __restrict g = g_;
        double* __restrict change = change_;
        double* __restrict before = before_;
        double* __restrict d = d_;
        const double unit = 1.0 / length;
        for (std::int64_t j = 0; j < n_; ++j) scaled[j] = f[j * stride] * unit;
        for (std::int64_t j = 0; j < n_; ++j) g[j] = d[j] * scaled[j];
        std::int64_t& first = firsts_[updates_ / kGroup];
        if (updates_ % kGroup == 0) first = n_;
        first = std::min(first, std::find_if(scaled, scaled + n_, [](double fj) { return fj != 0.0; }) - scaled);
        // a_(j-1) of all j first: then the divisions go through vector registers.
        double sum = 0.0;
        for (std::int64_t j = 0; j < n_; ++j) {
            before[j] = 1.0 + kv * sum;
            sum += scaled[j] * g[j];
        }
        before[n_] = 1.0 + kv * sum;
        for (std::int64_t j = 0; j < n_; ++j) {
            const double left = d[j] * (before[j] / before[j + 1]);
            d[j] = left > kSmallestVariance ? left : kSmallestVariance;
            change[j] = -kv * scaled[j] / before[j];
        }
        double* coefficients = coefficients_ + updates_ / kGroup * 2 * kGroup * n_ + updates_ % kGroup;
        for (std::int64_t j = 0; j < n_; ++j) {
            coefficients[2 * kGroup * j] = change[j];
            coefficients[2 * kGroup * j + kGroup] = g[j];
        }
    }

    // Works the update just prepared into so many strips: their f, scores and variances.
    template <std::int64_t kStrips>
    void advance(std::int64_t strip, double shrink, double rate) noexcept {
        constexpr std::int64_t kVectors = 2 * kStrips;
        double* f[kStrips];
        for (std::int64_t s = 0; s < kStrips; ++s) f[s] = f_ + (strip + s) * kStrip * n_;
        Vector sum[kVectors] = {}, variance[kVectors] = {};
        for (std::int64_t j = 0; j < n_; ++j) {
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

    // Works a group of updates into kStrip rows of U from column begin to end. What the sums of each row have come to
    // is taken over from the columns before and handed on to those behind, or to the mean.
    template <std::int64_t kUpdates>
    void sweep(std::int64_t first, std::int64_t update, std::int64_t begin, std::int64_t end) noexcept {
        // No column before this one changes.
        const std::int64_t from = std::max({first, begin, firsts_[update / kGroup]});
        double* sums = x_ + first * rows_ + update * kStrip;
        const double* coefficients = coefficients_ + update * 2 * n_ + 2 * kGroup * from;
        Vector low[kUpdates] = {}, high[kUpdates] = {};
        if (first < begin)
            for (std::int64_t k = 0; k < kUpdates; ++k) {
                low[k] = load(sums + k * kStrip);
                high[k] = load(sums + k * kStrip + kWidth);
            }
        double* u = u_ + from * stride_ + first;
        for (std::int64_t j = from; j < end; ++j, u += stride_, coefficients += 2 * kGroup) {
            Vector a = load(u), b = load(u + kWidth);
#pragma GCC unroll 4
            for (std::int64_t k = 0; k < kUpdates; ++k) {
                const Vector change = all(coefficients[k]), g = all(coefficients[kGroup + k]);
                const Vector old_a = a, old_b = b;
                a += change * low[k];
                b += change * high[k];
                low[k] += g * old_a;
                high[k] += g * old_b;
            }
            store(u, a);
            store(u + kWidth, b);
        }
        if (end < n_) {
            for (std::int64_t k = 0; k < kUpdates; ++k) {
                store(sums + k * kStrip, low[k]);
                store(sums + k * kStrip + kWidth, high[k]);
            }
            return;
        }
        double* mean = mean_ + first;
        Vector a = load(mean), b = load(mean + kWidth);
        for (std::int64_t k = 0; k < kUpdates; ++k) {
            a += low[k] * rates_[update + k];
            b += high[k] * rates_[update + k];
        }
        store(mean, a);
        store(mean + kWidth, b);
    }

    // Works a single update into U column by column, as they lie in memory. What each row's sum has come to is in row_.
    void stream() noexcept {
        const std::int64_t from = firsts_[0] / kAtOnce * kAtOnce;
        const double* coefficients = coefficients_ + 2 * kGroup * from;
        double* __restrict sums = row_;
        std::fill(sums, sums + stride_, 0.0);
        for (std::int64_t j = from; j < n_; j += kAtOnce, coefficients += 2 * kGroup * kAtOnce) {
            if (j + kAtOnce <= n_)
                stream_columns<kAtOnce>(j, coefficients, sums);
            else
                for (std::int64_t c = 0; j + c < n_; ++c) stream_columns<1>(j + c, coefficients + 2 * kGroup * c, sums);
        }
        for (std::int64_t i = 0; i < n_; ++i) mean_[i] += rates_[0] * sums[i];
    }

    template <std::int64_t kCount>
    void stream_columns(std::int64_t j, const double* coefficients, double* __restrict sums) noexcept {
        double* u = u_ + j * stride_;
        Vector change[kCount], g[kCount];
        for (std::int64_t c = 0; c < kCount; ++c) {
            change[c] = all(coefficients[2 * kGroup * c]);
            g[c] = all(coefficients[2 * kGroup * c + kGroup]);
        }
        for (std::int64_t i = 0; i < j + kCount; i += kWidth) {
            Vector sum = load(sums + i);
#pragma GCC unroll 4
            for (std::int64_t c = 0; c < kCount; ++c) {
                const Vector old = load(u + c * stride_ + i);
                store(u + c * stride_ + i, old + change[c] * sum);
                sum += g[c] * old;
            }
            store(sums + i, sum);
        }
    }

    Model& model_;
    Team& team_;
    std::int64_t n_;
    std::int64_t stride_;
    std::int64_t rows_;  // that a block has room for
    std::unique_ptr<Done[]> done_;
    double* d_;
    double* u_;
    double* x_;             // the rows, in strips
    double* f_;             // X U, in strips
    double* coefficients_;  // by groups of updates: for each j their changes, then their g
    double* mean_;          // by place
    std::int64_t* places_;  // of each feature
    bool in_order_ = true;
    double* row_;
    double* g_;
    double* change_;
    double* before_;
    double* scores_;
    double* variances_;     // by spread_scale too small
    std::int64_t* firsts_;  // by groups of updates: the first column that changes
    double* rates_;         // what each update adds of its Sigma x to the stored mean
    std::int64_t count_ = 0;
    std::int64_t strips_ = 0;
    std::int64_t updates_ = 0;
};

}  // namespace scwlearn::SCWLEARN_SET
