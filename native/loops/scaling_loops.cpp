// The loops that scale rows by running statistics of each feature. Compiled once per instruction set, as
// loops/row_loops.cpp is. A row gives the same bits whether it is dense or sparse, and by itself or with other kinds.
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
    void add(std::int64_t feature, double x) noexcept { sums_[feature % kSums] += x * x; }

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

// Writes the row divided by its length, of which the square is given; `each_square(by)` computes that of `by` times the
// row, if it is out of range.
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
using States = std::conditional_t<kLearn, double, const double>*;

// Where one scaled row goes. The root mean square comes before the unit length, in the same place if only that is wanted.
struct Place {
    double *sized, *unit, *standard;
    std::int64_t* indices;  // of a standardised sparse row
};

// If kLearn, each row updates the statistics before it is scaled.
template <bool kLearn>
class Scale {
public:
    Scale(States<kLearn> states, std::int64_t width) noexcept : whole_(states), features_(states + kLine), width_(width) {}

    std::int64_t listed() const noexcept { return dense_features(whole_, width_); }

    // The list of dense features has to be renewed after all dense rows.
    template <class Value>
    void scale(const DenseRow<Value>& row, const Place& to) const noexcept {
        count_row();
        const Value* const values = row.values();
        const double rows = whole_[0], part = 1.0 / rows;
        SquaredLength length;
        std::int64_t i = 0;
        for (; i + kWidth <= width_; i += kWidth) {
            Lines lines = Lines::next_to_each_other(features_ + kLine * i);
            const Vector x = load(values + i);
            if constexpr (kLearn) {
                lines.moments.add(x);
                lines.store_next_to_each_other(features_ + kLine * i);
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

    // Returns the number of features of the standardised row, which has no zeros.
    template <class Value, class Index>
    std::int64_t scale(const SparseRow<Value, Index>& row, const Place& to) const noexcept {
        count_row();
        const double rows = whole_[0], part = 1.0 / rows;
        SquaredLength length;
        std::int64_t count = 0, dense = 0, zeros = 0;
        row.each_together(
            [&](const std::int64_t* at, Vector x) {
                Lines lines = Lines::scattered(features_, at);
                if constexpr (kLearn) {
                    lines.moments.add(x);
                    lines.store_scattered(features_, at);
                }
                const Vector sized = lines.moments.by_size(x);
                if (to.sized != nullptr) store(to.sized + count, sized);
                if (to.unit != nullptr)
                    for (std::int64_t lane = 0; lane < kWidth; ++lane) length.add(at[lane], sized[lane]);
                if (to.standard != nullptr) {
                    Vector z = clipped(sized, kMostDeviations);
                    const auto are_dense = lines.moments.dense(rows);
                    if (const std::int64_t some = count_of(are_dense)) {
                        dense += some;
                        z = are_dense ? lines.moments.by_deviation(x, rows, part) : z;
                    }
                    zeros += count_of(z == 0.0);
                    store(to.standard + count, z);
                    std::copy(at, at + kWidth, to.indices + count);
                }
                count += kWidth;
            },
            [&](std::int64_t i, double x) {
                const Moments<double> seen = take(i, x);
                const double sized = seen.by_size(x);
                if (to.sized != nullptr) to.sized[count] = sized;
                if (to.unit != nullptr) length.add(i, sized);
                if (to.standard != nullptr) {
                    const double z = to.standard[count] = standard(seen, x, rows, part);
                    to.indices[count] = i;
                    dense += seen.dense(rows);
                    zeros += z == 0.0;
                }
                ++count;
            });
        if (to.unit != nullptr) {
            const auto square_of = [&row, &to](double by) {
                SquaredLength scaled;
                std::int64_t k = 0;
                row.each([&](std::int64_t i, double) { scaled.add(i, to.sized[k++] * by); });
                return scaled.total();
            };
            write_unit(to.sized, count, length.total(), square_of, to.unit);
        }
        return to.standard == nullptr ? count : with_dense(count, dense, zeros, part, to);
    }

    void list_dense() const noexcept {
        std::int64_t listed = 0;
        for (std::int64_t i = 0; i < width_; ++i)
            if (at(i).dense(whole_[0])) list(listed++, i);
        end_list(listed);
    }

private:
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

    // Adds the dense features that a row of `count` features lacks, leaves out zeros, and renews the list of dense
    // features. Returns how many features there are.
    std::int64_t with_dense(std::int64_t count, std::int64_t dense, std::int64_t zeros, double part,
                            const Place& to) const noexcept {
        const std::int64_t known = listed();
        std::int64_t present = 0, added = 0, j = 0;
        bool have_changed = false;
        // The added ones are kept behind the room that both need together.
        double* const more = to.standard + count + known;
        std::int64_t* const more_indices = to.indices + count + known;
        for (std::int64_t k = 0; k < known; ++k) {
            const std::int64_t i = dense_feature(k);
            while (j < count && to.indices[j] < i) ++j;
            if (j < count && to.indices[j] == i) {
                ++present;
                continue;
            }
            const Moments<double> seen = at(i);
            more[added] = standard(seen, 0.0, whole_[0], part);
            more_indices[added] = i;
            zeros += more[added] == 0.0;
            have_changed |= !seen.dense(whole_[0]);
            ++added;
        }
        merge(count, added, more, more_indices, to);
        count += added;
        if constexpr (kLearn) {
            if (have_changed || present != dense) {
                std::int64_t listed = 0;
                for (std::int64_t k = 0; k < count; ++k)
                    if (at(to.indices[k]).dense(whole_[0])) list(listed++, to.indices[k]);
                end_list(listed);
            }
        }
        return zeros == 0 ? count : without_zeros(count, to);
    }

    // Merges sorted features into those of a row, from the last on.
    static void merge(std::int64_t count, std::int64_t added, const double* more, const std::int64_t* more_indices,
                      const Place& to) noexcept {
        for (std::int64_t last = count + added - 1; added > 0; --last) {
            const bool own = count > 0 && to.indices[count - 1] > more_indices[added - 1];
            to.standard[last] = own ? to.standard[count - 1] : more[added - 1];
            to.indices[last] = own ? to.indices[count - 1] : more_indices[added - 1];
            own ? --count : --added;
        }
    }

    static std::int64_t without_zeros(std::int64_t count, const Place& to) noexcept {
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
        const double feature = features_[kLine * k + 3];
        return feature >= 0.0 && feature < static_cast<double>(width_) ? static_cast<std::int64_t>(feature) : 0;
    }

    void list(std::int64_t k, std::int64_t feature) const noexcept {
        if (k < width_) features_[kLine * k + 3] = static_cast<double>(feature);
    }

    // Equal scales have equal bits: no entries of an earlier list are left behind.
    void end_list(std::int64_t count) const noexcept {
        for (std::int64_t k = count; k < listed(); ++k) list(k, 0);
        whole_[1] = static_cast<double>(count);
    }

    Moments<double> at(std::int64_t i) const noexcept {
        const double* const line = features_ + kLine * i;
        return {line[0], line[1], line[2]};
    }

    // Returns the statistics of a feature, with this value if kLearn.
    Moments<double> take(std::int64_t i, [[maybe_unused]] double x) const noexcept {
        Moments<double> seen = at(i);
        if constexpr (kLearn) {
            seen.add(x);
            double* const line = features_ + kLine * i;
            line[0] = seen.variance;
            line[1] = seen.count;
            line[2] = seen.mean;
        }
        return seen;
    }

    States<kLearn> whole_;
    States<kLearn> features_;
    std::int64_t width_;
};

template <bool kLearn, class RowSet>
std::int64_t scale_rows(States<kLearn> states, const Rows& untyped, std::int64_t first, const double* weights,
                        const ScaledRows& to) noexcept {
    const RowSet rows{untyped};
    const Scale<kLearn> scale(states, untyped.width);
    const Scale<false> as_it_is(states, untyped.width);
    double *const sized = to.values[kRms] != nullptr ? to.values[kRms] : to.values[kUnit], *const unit = to.values[kUnit];
    double* const standard = to.values[kStandard];
    for (std::int64_t i = first; i < untyped.count; ++i) {
        const auto row = rows[i];
        if constexpr (RowSet::kSparse)
            if (untyped.width > kCachedFeatures && i + kRowsAhead < untyped.count)
                rows[i + kRowsAhead].fetch(states + kLine, kLine);
        const std::int64_t begin = row.values() - rows[0].values();
        const auto at = [begin](double* values) { return values == nullptr ? nullptr : values + begin; };
        const bool skipped = weights != nullptr && weights[i] == 0.0;
        const auto run = [&](const Place& place) {
            return skipped ? as_it_is.scale(row, place) : scale.scale(row, place);
        };
        if constexpr (!RowSet::kSparse) {
            run({at(sized), at(unit), at(standard), nullptr});
        } else if (standard == nullptr) {
            run({at(sized), at(unit), nullptr, nullptr});
        } else {
            const std::int64_t start = to.offsets[i];
            if (row.count() + 2 * scale.listed() > to.room - start) return i;
            to.offsets[i + 1] = start + run({at(sized), at(unit), standard + start, to.indices + start});
        }
    }
    if constexpr (kLearn && !RowSet::kSparse)
        if (standard != nullptr) scale.list_dense();
    return untyped.count;
}

template <class RowSet>
struct LearnOver {
    static std::int64_t run(double* states, const Rows& rows, std::int64_t first, const double* weights,
                            const ScaledRows& to) {
        return scale_rows<true, RowSet>(states, rows, first, weights, to);
    }
};

template <class RowSet>
struct ApplyOver {
    static std::int64_t run(const double* states, const Rows& rows, std::int64_t first, const ScaledRows& to) {
        return scale_rows<false, RowSet>(states, rows, first, nullptr, to);
    }
};

}  // namespace

extern constinit const ScaleLoops scale_loops{over_rows<LearnOver, LearnScales>(), over_rows<ApplyOver, ApplyScales>()};

}  // namespace scwlearn::SCWLEARN_SET
