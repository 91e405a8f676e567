// Several classes side by side, Sigma not at all or diagonal: a register takes one entry of as many classes as it has
// lanes. Each class sums over the features of a row in their order, so that no other class changes a bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/covariance.hpp"
#include "core/round.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// Classes come in multiples of this, or of half of it.
inline constexpr std::int64_t kLaneWidth = std::min(kWidth, kLaneMultiple);
using Lanes = double __attribute__((vector_size(kLaneWidth * sizeof(double))));

inline Lanes load_lanes(const double* from) noexcept {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

inline void store_lanes(double* to, Lanes lanes) noexcept { std::memcpy(to, &lanes, sizeof lanes); }

// The features of a row that are not zero, and where the entries of each begin.
struct ReadRow {
    const Feature* first;
    std::int64_t count;

    const Feature* begin() const noexcept { return first; }
    const Feature* end() const noexcept { return first + count; }
};

// Writes down the features of a row; how many they are. Zeros are left out: a dense row is the sparse one, to the last
// bit.
template <class RowSet>
struct ReadOver {
    static std::int64_t run(const Rows& rows, std::int64_t i, std::int64_t stride, Feature* to) noexcept {
        const std::int64_t most = rows.width + rows.intercept;
        std::int64_t count = 0;
        // As in core/rows.hpp: somebody may have written to the arrays since the scan.
        RowSet{rows}[i].each([&](std::int64_t feature, double x) {
            if (count == most) return;
            to[count] = {feature * stride, x};
            count += x != 0.0;
        });
        return count;
    }
};

// Reads rows one ahead, so that the entries of the next can be on their way while the classes look at this one.
class ReadAhead {
public:
    // `room` is for two rows of as many features as a row can have.
    ReadAhead(const Rows& rows, const double* entries, std::int64_t stride, Feature* room) noexcept
        : rows_(rows),
          read_(kReads[rows.kind]),
          entries_(entries),
          stride_(stride),
          here_(room),
          there_(room + rows.width + rows.intercept),
          fetch_((rows.width + rows.intercept) * stride > kCachedNumbers) {
        if (rows.count > 0) next_ = read_(rows_, 0, stride_, there_);
    }

    // The rows in turn, from 0.
    ReadRow operator[](std::int64_t i) noexcept {
        std::swap(here_, there_);
        const ReadRow row{here_, next_};
        next_ = i + 1 < rows_.count ? read_(rows_, i + 1, stride_, there_) : 0;
        return row;
    }

    // Asks for some entries of each feature of the next row, unless the cache holds all there are.
    [[gnu::always_inline]] void fetch(std::int64_t first, std::int64_t count) const noexcept {
        if (!fetch_) return;
        constexpr std::int64_t kLine = 8;
        for (const Feature& feature : ReadRow{there_, next_})
            for (std::int64_t at = first; at < first + count; at += kLine)
                __builtin_prefetch(entries_ + feature.place + at, 1);
    }

private:
    using Read = std::int64_t (*)(const Rows&, std::int64_t, std::int64_t, Feature*) noexcept;
    static constexpr auto kReads = over_rows<ReadOver, std::array<Read, kRowKinds>>();

    // What the cache next to a core holds.
    static constexpr std::int64_t kCachedNumbers = 32768;

    const Rows& rows_;
    Read read_;
    const double* entries_;
    std::int64_t stride_;
    Feature *here_, *there_;
    std::int64_t next_ = 0;
    bool fetch_;
};

// Adds up so many registers of numbers that lie side by side: times x, and those `spread` further on times x^2.
template <std::int64_t kVectors, bool kSpread>
void sum_tile(const ReadRow& row, const double* entries, std::int64_t spread, double* scores, double* variances) noexcept {
    Lanes score[kVectors] = {}, variance[kSpread ? kVectors : 1] = {};
    for (const Feature& feature : row) {
        const double* at = entries + feature.place;
        for (std::int64_t k = 0; k < kVectors; ++k) {
            score[k] += load_lanes(at + k * kLaneWidth) * feature.value;
            if constexpr (kSpread)
                variance[k] += load_lanes(at + spread + k * kLaneWidth) * (feature.value * feature.value);
        }
    }
    for (std::int64_t k = 0; k < kVectors; ++k) {
        store_lanes(scores + k * kLaneWidth, score[k]);
        if constexpr (kSpread) store_lanes(variances + k * kLaneWidth, variance[k]);
    }
}

// The sums of sum_tile for so many classes, in as few goes as there are registers for.
template <bool kSpread>
void sum_lanes(const ReadRow& row, const double* entries, std::int64_t spread, std::int64_t classes, double* scores,
               double* variances = nullptr) noexcept {
    constexpr std::int64_t kMost = kSpread ? 4 : 8;
    using Tile = void (*)(const ReadRow&, const double*, std::int64_t, double*, double*) noexcept;
    static constexpr auto tiles = []<std::int64_t... k>(std::integer_sequence<std::int64_t, k...>) {
        return std::array<Tile, kMost>{&sum_tile<k + 1, kSpread>...};
    }(std::make_integer_sequence<std::int64_t, kMost>());
    const std::int64_t vectors = (classes + kLaneWidth - 1) / kLaneWidth;
    const std::int64_t goes = (vectors + kMost - 1) / kMost;
    for (std::int64_t go = 0; go < goes; ++go) {
        const std::int64_t first = vectors * go / goes, end = vectors * (go + 1) / goes;
        const std::int64_t lane = first * kLaneWidth;
        tiles[end - first - 1](row, entries + lane, spread, scores + lane, kSpread ? variances + lane : nullptr);
    }
}

inline double squared_length(const ReadRow& row) noexcept {
    double sum = 0.0;
    for (const Feature& feature : row) sum += feature.value * feature.value;
    return sum;
}

// The entry of a lane, variance or weight, summed over the row times x^2.
inline double sum_of_squares(const ReadRow& row, const double* entries) noexcept {
    double sum = 0.0;
    for (const Feature& feature : row) sum += entries[feature.place] * (feature.value * feature.value);
    return sum;
}

// What a step does to the classes it moves.
struct Moving {
    double rate;   // alpha over the scale of the stored weights
    double scale;  // of the stored variances
    double kv, v;  // as Shrink takes them
    double least;  // what no stored variance falls below
};

// Sigma = a I for every class.
class IdentityLanes {
public:
    static constexpr CovarianceKind kKind = kIdentity;
    static constexpr bool kShared = false;

    IdentityLanes(Model& model, std::int64_t) noexcept : entries_(model.entries), a_(model.initial_variance) {}

    void begin(std::int64_t, double) noexcept {}

    // Of the difference of the scores of two classes, but for the scale.
    double variance(const ReadRow& row, std::int64_t, std::int64_t) const noexcept { return 2.0 * squared_length(row); }
    static double scale(const Model& model) noexcept { return model.initial_variance; }

    // Moves a class by so much of the step; gives by how much its stored weights have become longer, squared.
    template <bool kNorm>
    double move(const ReadRow& row, std::int64_t lane, double share, const Moving& moving) const noexcept {
        double* weights = entries_ + lane;
        const double rate = share * moving.rate, a = a_;
        double gained = 0.0;
        for (const Feature& feature : row) {
            const double before = weights[feature.place];
            const double after = before + rate * (a * feature.value);
            weights[feature.place] = after;
            if constexpr (kNorm) gained += (after - before) * (after + before);
        }
        return gained;
    }

    void shrink(const ReadRow&, const Moving&) const noexcept {}
    static void grow(Model&, double) noexcept {}

private:
    double* entries_;
    double a_;
};

// Sigma diagonal, one for each class or one for all.
template <template <class> class Shrink, bool kOneForAll>
class DiagonalLanes {
public:
    static constexpr CovarianceKind kKind = Shrink<double>::kKind;
    static constexpr bool kShared = kOneForAll;

    DiagonalLanes(Model& model, std::int64_t lanes) noexcept
        : size_(model.size),
          stride_(multi_stride({kKind, kJoint, kShared}, lanes)),
          weights_(model.entries),
          spread_(model.entries + lanes) {}

    // Lets a class begin with this variance, not that of the prior.
    void begin(std::int64_t lane, double variance) noexcept {
        if constexpr (!kShared)
            for (std::int64_t i = 0; i < size_; ++i) spread_[i * stride_ + lane] = variance;
    }

    double variance(const ReadRow& row, std::int64_t one, std::int64_t other) const noexcept {
        if constexpr (kShared) return 2.0 * sum_of_squares(row, spread_);
        double first = 0.0, second = 0.0;
        for (const Feature& feature : row) {
            const double x2 = feature.value * feature.value;
            first += spread_[feature.place + one] * x2;
            second += spread_[feature.place + other] * x2;
        }
        return first + second;
    }
    static double scale(const Model& model) noexcept { return model.scalars->spread_scale; }

    template <bool kNorm>
    double move(const ReadRow& row, std::int64_t lane, double share, const Moving& moving) const noexcept {
        const Shrink<double> shrink(moving.kv, moving.v);
        const double rate = share * moving.rate, scale = moving.scale, least = moving.least;
        double* weights = weights_ + lane;
        double* variances = kShared ? spread_ : spread_ + lane;
        double gained = 0.0;
        for (const Feature& feature : row) {
            const double before = weights[feature.place], s = variances[feature.place];
            const double g = scale * (s * feature.value);
            const double after = before + rate * g;
            weights[feature.place] = after;
            if constexpr (!kShared)
                variances[feature.place] = std::max(s * shrink(g * feature.value), least);
            if constexpr (kNorm) gained += (after - before) * (after + before);
        }
        return gained;
    }

    // Once for each step, after all classes have moved.
    void shrink(const ReadRow& row, const Moving& moving) const noexcept {
        if constexpr (kShared) {
            const Shrink<double> shrink(moving.kv, moving.v);
            for (const Feature& feature : row) {
                double& s = spread_[feature.place];
                const double g = moving.scale * (s * feature.value);
                s = std::max(s * shrink(g * feature.value), moving.least);
            }
        }
    }
    static void grow(Model& model, double grow) noexcept { model.grow_spread(grow); }

private:
    std::int64_t size_, stride_;
    double *weights_, *spread_;
};

}  // namespace scwlearn::SCWLEARN_SET
