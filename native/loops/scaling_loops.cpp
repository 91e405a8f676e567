// The loops that scale rows by running statistics of each feature. Compiled once per instruction set, as
// loops/row_loops.cpp is. A row gives the same bits whether it is dense or sparse, and whether one kind is computed or
// several.
#include <algorithm>
#include <type_traits>

#include "core/rows.hpp"
#include "loops/moments.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// The squared length of a row. Squares are added up by feature number modulo 8, so that neither zeros in between nor the
// width of a register change a bit.
class SquaredLength {
public:
    void add(std::int64_t feature, double x) noexcept { sums_[static_cast<std::uint64_t>(feature) % kSums] += x * x; }

    // For features from a multiple of the width on.
    void add_together(std::int64_t first, Vector x) noexcept {
        double* const sums = sums_ + first % kSums;
        store(sums, load(sums) + x * x);
    }

    double total() const noexcept {
        double total = 0.0;
        for (const double sum : sums_) total += sum;
        return total;
    }

private:
    static constexpr std::int64_t kSums = 8;
    static_assert(kSums % kWidth == 0);
    double sums_[kSums] = {};
};

// Writes the row divided by its length. `square` is the squared length; if it is out of range, square_of(by) recomputes
// it for the row times `by`.
template <class SquareOf>
void write_unit(const double* x, std::int64_t count, double square, const SquareOf& square_of, double* to) noexcept {
    double by = 1.0;
    if (!(square > 1e-200 && square < 1e200)) {
        double most = 0.0;
        for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
        if (most > 0.0) by = std::ldexp(1.0, std::min(1000, -std::ilogb(most)));
        square = square_of(by);
    }
    const double part = square > 0.0 ? 1.0 / std::sqrt(square) : 1.0;
    for (std::int64_t i = 0; i < count; ++i) to[i] = x[i] * by * part;
}

template <bool kLearn>
using States = ScaleLines<std::conditional_t<kLearn, double, const double>>;

// Output of one row. `sized`, divided by the root mean square, is computed first; it shares memory with `unit` if kRms is
// not wanted.
struct RowOutput {
    double *sized, *unit, *standard;
    std::int64_t* indices;  // of a standardised sparse row
};

// If kLearn, each row updates the statistics before it is scaled.
template <bool kLearn>
class Scale {
public:
    Scale(States<kLearn> states, std::int64_t width) noexcept
        : whole_(states.first),
          features_(states.first + states.stride),
          dense_(states.dense),
          shift_(states.stride == kLine ? 2 : 3),
          width_(width) {}

    std::int64_t listed() const noexcept { return dense_features(whole_, width_); }

    // The list of dense features has to be renewed after all dense rows.
    template <class Value>
    void scale(const DenseRow<Value>& row, const RowOutput& to) const noexcept {
        count_row();
        const Value* const values = row.values();
        const double rows = whole_[0], part = 1.0 / rows;
        SquaredLength length;
        std::int64_t i = 0;
        for (; i + kWidth <= width_; i += kWidth) {
            Lines lines = Lines::consecutive(line(i), shift_);
            const Vector x = load(values + i);
            if constexpr (kLearn) {
                // Features that are never 0 share the division.
                const Vector now = lines.moments.count + 1.0;
                lines.moments.add(x, count_of(now == rows) == kWidth ? all(part) : 1.0 / now);
                lines.store_consecutive(line(i), shift_);
            }
            if (to.sized != nullptr) {
                const Vector sized = lines.moments.by_size(x);
                store(to.sized + i, sized);
                if (to.unit != nullptr) length.add_together(i, sized);
            }
            if (to.standard != nullptr) store(to.standard + i, standard(lines.moments, x, rows, part));
        }
        for (; i < width_; ++i) {
            const auto x = static_cast<double>(values[i]);
            const Moments<double> seen = take(i, x);
            if (to.sized != nullptr) {
                const double sized = to.sized[i] = seen.by_size(x);
                if (to.unit != nullptr) length.add(i, sized);
            }
            if (to.standard != nullptr) to.standard[i] = standard(seen, x, rows, part);
        }
        if (to.unit != nullptr) {
            const auto square_of = [this, &to](double by) {
                SquaredLength scaled;
                for (std::int64_t k = 0; k < width_; ++k) scaled.add(k, to.sized[k] * by);
                return scaled.total();
            };
            write_unit(to.sized, width_, length.total(), square_of, to.unit);
        }
    }

    // Returns the number of features of the standardised row, which has no zeros. `known` is the length of the list of
    // dense features, read once because another thread may change it. The lines of the row `next` are prefetched a few at
    // a time: all at once would be more loads than the processor can keep track of.
    template <class Value, class Index>
    std::int64_t scale(const SparseRow<Value, Index>& row, const SparseRow<Value, Index>& next, std::int64_t known,
                       const RowOutput& to) const noexcept {
        count_row();
        const double rows = whole_[0], part = 1.0 / rows;
        // Save the counts of the dense features, past the room for the result. A count that changes shows that the row
        // contains the feature.
        if constexpr (kLearn)
            for (std::int64_t k = 0; k < known; ++k) to.standard[row.count() + known + k] = at(dense_feature(k)).count;
        Found found;
        row.each_overlapping(
            [&](const std::int64_t* at, Vector x, std::int64_t done) {
                const auto are_new = lane_numbers() >= done;
                next.fetch(features_, stride(), found.count, found.count + kWidth - done);
                Lines lines = Lines::scattered(features_, at, shift_);
                if constexpr (kLearn) {
                    lines.moments.add(are_new ? x : Vector{});
                    lines.store_scattered(features_, at, shift_);
                }
                const std::int64_t first = found.count - done;
                const Vector sized = lines.moments.by_size(x);
                if (to.sized != nullptr) store(to.sized + first, sized);
                if (to.standard != nullptr) {
                    Vector z = clipped(sized, kMostDeviations);
                    const auto are_dense = lines.moments.dense(rows);
                    if (count_of(are_dense) > 0) {
                        found.dense += count_of(are_dense & are_new);
                        z = are_dense ? lines.moments.by_deviation(x, rows, part) : z;
                    }
                    found.zeros += count_of((z == 0.0) & are_new);
                    found.uncounted += count_of((size_of(x) < kLeastValue) & are_new);
                    store(to.standard + first, z);
                    std::copy(at, at + kWidth, to.indices + first);
                }
                found.count += kWidth - done;
            },
            [&](std::int64_t i, double x) {
                const Moments<double> seen = take(i, x);
                const double sized = seen.by_size(x);
                if (to.sized != nullptr) to.sized[found.count] = sized;
                if (to.standard != nullptr) {
                    const bool is_dense = seen.dense(rows);
                    const double z = is_dense ? seen.by_deviation(x, rows, part) : clipped(sized, kMostDeviations);
                    to.standard[found.count] = z;
                    to.indices[found.count] = i;
                    found.dense += is_dense;
                    found.zeros += z == 0.0;
                    found.uncounted += size_of(x) < kLeastValue;
                }
                ++found.count;
            });
        next.fetch(features_, stride(), found.count, next.count());
        if (to.unit != nullptr) {
            const auto square_of = [&row, &to](double by) {
                SquaredLength length;
                std::int64_t k = 0;
                row.each([&](std::int64_t i, double) { length.add(i, to.sized[k++] * by); });
                return length.total();
            };
            write_unit(to.sized, found.count, square_of(1.0), square_of, to.unit);
        }
        return to.standard == nullptr ? found.count : with_dense(row.count(), known, found, to);
    }

    void list_dense() const noexcept {
        std::int64_t listed = 0;
        for (std::int64_t i = 0; i < width_; ++i)
            if (at(i).dense(whole_[0])) list(listed++, i);
        end_list(listed);
    }

private:
    // What the features of a sparse row are, as far as it has been scaled.
    struct Found {
        std::int64_t count = 0;
        std::int64_t dense = 0;
        std::int64_t zeros = 0;      // after standardising
        std::int64_t uncounted = 0;  // too small to count as seen
    };

    void count_row() const noexcept {
        if constexpr (kLearn) whole_[0] += 1.0;
    }

    // A dense value is centred and divided by the deviation, another one by the root mean square.
    static double standard(const Moments<double>& seen, double x, double rows, double part) noexcept {
        return seen.dense(rows) ? seen.by_deviation(x, rows, part) : clipped(seen.by_size(x), kMostDeviations);
    }

    static Vector standard(const Moments<Vector>& seen, Vector x, double rows, double part) noexcept {
        const auto are_dense = seen.dense(rows);
        const std::int64_t some = count_of(are_dense);
        const Vector centred = some > 0 ? seen.by_deviation(x, rows, part) : Vector{};
        return some == kWidth ? centred : are_dense ? centred : clipped(seen.by_size(x), kMostDeviations);
    }

    // Adds the dense features that the row lacks, leaves out zeros, and renews the list of dense features. The row has
    // room for `most` features and twice the `known` dense ones. Returns how many features there are.
    std::int64_t with_dense(std::int64_t most, std::int64_t known, const Found& found, const RowOutput& to) const noexcept {
        // The added features overwrite the saved counts; each count is read before its place is reused.
        double* const more = to.standard + most + known;
        std::int64_t* const more_indices = to.indices + most + known;
        const double rows = whole_[0], part = 1.0 / rows;
        const std::int64_t *const own = to.indices, *const end = own + found.count;
        std::int64_t zeros = found.zeros, added = 0;
        bool have_changed = false;
        for (std::int64_t k = 0, last = -1; k < known; ++k) {
            const std::int64_t i = dense_feature(k);
            // Another thread renews the list.
            if (i <= last) break;
            last = i;
            const Moments<double> seen = at(i);
            const bool counts_suffice = kLearn && found.uncounted == 0;
            if (counts_suffice ? seen.count != more[k] : std::binary_search(own, end, i)) continue;
            more[added] = standard(seen, 0.0, rows, part);
            more_indices[added] = i;
            zeros += more[added] == 0.0;
            have_changed |= !seen.dense(rows);
            ++added;
        }
        merge(found.count, added, more, more_indices, to);
        const std::int64_t count = found.count + added;
        if constexpr (kLearn)
            if (have_changed || found.dense != known - added) renew_list(count, to);
        return zeros == 0 ? count : without_zeros(count, to);
    }

    // Merges sorted features into those of a row, from the last on.
    static void merge(std::int64_t count, std::int64_t added, const double* more, const std::int64_t* more_indices,
                      const RowOutput& to) noexcept {
        for (std::int64_t last = count + added - 1; added > 0; --last) {
            const bool own = count > 0 && to.indices[count - 1] > more_indices[added - 1];
            to.standard[last] = own ? to.standard[count - 1] : more[added - 1];
            to.indices[last] = own ? to.indices[count - 1] : more_indices[added - 1];
            own ? --count : --added;
        }
    }

    // Every dense feature is in the row by now.
    void renew_list(std::int64_t count, const RowOutput& to) const noexcept {
        std::int64_t listed = 0;
        for (std::int64_t k = 0; k < count; ++k)
            if (at(to.indices[k]).dense(whole_[0])) list(listed++, to.indices[k]);
        end_list(listed);
    }

    static std::int64_t without_zeros(std::int64_t count, const RowOutput& to) noexcept {
        std::int64_t kept = 0;
        for (std::int64_t k = 0; k < count; ++k) {
            to.standard[kept] = to.standard[k];
            to.indices[kept] = to.indices[k];
            kept += to.standard[k] != 0.0;
        }
        return kept;
    }

    // In range, whatever the memory holds, which belongs to Python.
    std::int64_t dense_feature(std::int64_t k) const noexcept {
        return dense_[k] >= 0 && dense_[k] < width_ ? dense_[k] : 0;
    }

    void list(std::int64_t k, std::int64_t feature) const noexcept {
        if (k < width_) dense_[k] = feature;
    }

    // Equal scales have equal bits: no entries of an earlier list are left behind.
    void end_list(std::int64_t count) const noexcept {
        for (std::int64_t k = count; k < listed(); ++k) list(k, 0);
        whole_[1] = static_cast<double>(count);
    }

    Moments<double> at(std::int64_t i) const noexcept {
        const auto* const numbers = line(i);
        return {numbers[0], numbers[1], numbers[2]};
    }

    auto line(std::int64_t i) const noexcept { return features_ + (i << shift_); }
    std::int64_t stride() const noexcept { return std::int64_t{1} << shift_; }

    // Returns the statistics of a feature, with this value if kLearn.
    Moments<double> take(std::int64_t i, [[maybe_unused]] double x) const noexcept {
        Moments<double> seen = at(i);
        if constexpr (kLearn) {
            seen.add(x);
            double* const numbers = line(i);
            numbers[0] = seen.variance;
            numbers[1] = seen.count;
            numbers[2] = seen.mean;
        }
        return seen;
    }

    decltype(States<kLearn>::first) whole_, features_;
    decltype(States<kLearn>::dense) dense_;
    int shift_;  // log2 of the distance between lines
    std::int64_t width_;
};

template <bool kLearn, class RowSet>
std::int64_t scale_rows(States<kLearn> states, const Rows& untyped, std::int64_t first, const double* weights,
                        const ScaledRows& to) noexcept {
    const RowSet rows{untyped};
    const Scale<kLearn> scale(states, untyped.width);
    const Scale<false> as_it_is({states.first, states.stride, states.dense}, untyped.width);
    double *const sized = to.values[kRms] != nullptr ? to.values[kRms] : to.values[kUnit], *const unit = to.values[kUnit];
    double* const standard = to.values[kStandard];
    for (std::int64_t i = first; i < untyped.count; ++i) {
        const auto row = rows[i];
        const std::int64_t begin = row.values() - rows[0].values();
        const auto at = [begin](double* values) { return values == nullptr ? nullptr : values + begin; };
        const bool skipped = weights != nullptr && weights[i] == 0.0;
        if constexpr (!RowSet::kSparse) {
            const RowOutput place{at(sized), at(unit), at(standard), nullptr};
            skipped ? as_it_is.scale(row, place) : scale.scale(row, place);
        } else {
            const bool fetch_ahead = untyped.width > kCachedFeatures && i + kRowsAhead < untyped.count + untyped.rows_beyond;
            const auto next = fetch_ahead ? rows[i + kRowsAhead] : rows.empty();
            const std::int64_t known = standard == nullptr ? 0 : scale.listed();
            const std::int64_t start = standard == nullptr ? 0 : to.offsets[i];
            if (standard != nullptr && row.count() + 2 * known > to.room - start) return i;
            const auto own = [start](auto* numbers) { return numbers == nullptr ? nullptr : numbers + start; };
            const RowOutput place{at(sized), at(unit), own(standard), own(to.indices)};
            const std::int64_t count =
                skipped ? as_it_is.scale(row, next, known, place) : scale.scale(row, next, known, place);
            if (standard != nullptr) to.offsets[i + 1] = start + count;
        }
    }
    if constexpr (kLearn && !RowSet::kSparse)
        if (standard != nullptr) scale.list_dense();
    return untyped.count;
}

template <class RowSet>
struct LearnOver {
    static std::int64_t run(ScaleLines<double> states, const Rows& rows, std::int64_t first, const double* weights,
                            const ScaledRows& to) {
        return scale_rows<true, RowSet>(states, rows, first, weights, to);
    }
};

template <class RowSet>
struct ApplyOver {
    static std::int64_t run(ScaleLines<const double> states, const Rows& rows, std::int64_t first, const ScaledRows& to) {
        return scale_rows<false, RowSet>(states, rows, first, nullptr, to);
    }
};

}  // namespace

extern constinit const ScaleLoops scale_loops{over_rows<LearnOver, LearnScales>(), over_rows<ApplyOver, ApplyScales>()};

}  // namespace scwlearn::SCWLEARN_SET
