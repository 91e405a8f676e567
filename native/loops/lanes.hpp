// Several models or classes side by side, one per lane of a register: reading rows, sums over their features, and
// steps. Each lane computes what core/covariance.hpp does for one model; no lane changes a bit of another.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "core/covariance.hpp"
#include "core/round.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

// The features of a row, and where the entries of each begin.
struct ReadRow {
    const Feature* first;
    std::int64_t count;

    const Feature* begin() const noexcept { return first; }
    const Feature* end() const noexcept { return first + count; }
};

// Writes the features of row i to `to`; returns how many they are. Without kZeros, zeros are left out, so that a dense
// row is the sparse one to the last bit.
template <bool kZeros>
struct ReadRows {
    template <class RowSet>
    struct Over {
        static std::int64_t run(const Rows& rows, std::int64_t i, std::int64_t stride, Feature* to) noexcept {
            const std::int64_t most = rows.width + rows.intercept;
            std::int64_t count = 0;
            // As in core/rows.hpp, Python may have changed the arrays since the scan.
            RowSet{rows}[i].each([&](std::int64_t feature, double x) {
                if (count == most) return;
                to[count] = {feature * stride, x};
                count += kZeros || x != 0.0;
            });
            return count;
        }
    };
};

// Reads rows one ahead, so that the entries of the next row can be prefetched while this one is learned from.
class ReadAhead {
public:
    using Read = std::int64_t (*)(const Rows&, std::int64_t, std::int64_t, Feature*) noexcept;
    template <bool kZeros>
    static constexpr auto kReads = over_rows<ReadRows<kZeros>::template Over, std::array<Read, kRowKinds>>();

    // `room` is for two rows with as many features as a row can have.
    ReadAhead(const Rows& rows, const double* entries, std::int64_t stride, Feature* room, bool zeros = false) noexcept
        : rows_(rows),
          read_((zeros ? kReads<true> : kReads<false>)[rows.kind]),
          entries_(entries),
          stride_(stride),
          current_(room),
          next_(room + rows.size()),
          prefetch_(rows.size() * stride > kCachedNumbers) {
        if (rows.count > 0) next_count_ = read_(rows_, 0, stride_, next_);
    }

    // To be called for each row in order, from 0.
    ReadRow operator[](std::int64_t i) noexcept {
        std::swap(current_, next_);
        const ReadRow row{current_, next_count_};
        next_count_ = i + 1 < rows_.count ? read_(rows_, i + 1, stride_, next_) : 0;
        return row;
    }

    // Prefetches some entries of each feature of the next row, unless the whole model fits into the cache.
    [[gnu::always_inline]] void prefetch(std::int64_t first, std::int64_t count) const noexcept {
        if (!prefetch_) return;
        constexpr std::int64_t kLine = 8;
        for (const Feature& feature : ReadRow{next_, next_count_})
            for (std::int64_t at = first; at < first + count; at += kLine)
                __builtin_prefetch(entries_ + feature.place + at, 1);
    }

private:
    // What the cache next to a core holds.
    static constexpr std::int64_t kCachedNumbers = 32768;

    const Rows& rows_;
    Read read_;
    const double* entries_;
    std::int64_t stride_;
    Feature *current_, *next_;
    std::int64_t next_count_ = 0;
    bool prefetch_;
};

// Sums over features for kVectors registers of lanes: weights times x, and variances, which lie `variances` entries
// behind the weights, times x^2. Without stored variances, the squared length of the row.
template <class Register, std::int64_t kVectors, bool kVariances>
struct LaneSums {
    static constexpr std::int64_t kLanes = sizeof(Register) / sizeof(double);
    Register score[kVectors] = {};
    std::conditional_t<kVariances, Register, double> variance[kVariances ? kVectors : 1] = {};

    void add(const double* entries, std::int64_t variances, double x) noexcept {
        for (std::int64_t k = 0; k < kVectors; ++k) {
            score[k] += load_as<Register>(entries + k * kLanes) * x;
            if constexpr (kVariances) variance[k] += load_as<Register>(entries + variances + k * kLanes) * (x * x);
        }
        if constexpr (!kVariances) variance[0] += x * x;
    }
    void add(const LaneSums& part) noexcept {
        for (std::int64_t k = 0; k < kVectors; ++k) score[k] += part.score[k];
        for (std::int64_t k = 0; k < (kVariances ? kVectors : 1); ++k) variance[k] += part.variance[k];
    }
    Look operator[](std::int64_t lane) const noexcept {
        const std::int64_t k = lane / kLanes, at = lane % kLanes;
        if constexpr (kVariances)
            return {score[k][at], variance[k][at]};
        else
            return {score[k][at], variance[0]};
    }
};

// The lags of averaged means (core/model.hpp): a line of lanes per feature, whose entries lie `stride` numbers apart.
class Lags {
public:
    Lags(const Memory& memory, std::int64_t stride) noexcept : first_(memory.lag), lanes_(memory.lanes), stride_(stride) {}

    bool exist() const noexcept { return first_ != nullptr; }

    double* of(const Feature& feature) const noexcept {
        // A division would take as long as several lanes.
        if (stride_ == lanes_) return first_ + feature.place;
        if (stride_ == 2 * lanes_) return first_ + feature.place / 2;
        return first_ + feature.place / stride_ * lanes_;
    }

    // Sums the lags of each class times x, in the order of the features.
    void sum(const ReadRow& row, std::int64_t classes, double* sums) const noexcept;

private:
    double* first_;
    std::int64_t lanes_, stride_;
};

// The terms of a step of each lane. `moves` is 0 in lanes that stay as they are; their other terms are harmless.
class LaneTerms {
public:
    static constexpr std::int64_t kTerms = 7;

    // `memory` has room for kTerms numbers per lane. Zeros are harmless in lanes that do not move.
    LaneTerms(double* memory, std::int64_t lanes) noexcept : memory_(memory), lanes_(lanes) {
        std::fill(memory, memory + kTerms * lanes, 0.0);
    }

    double* v() const noexcept { return memory_; }
    double* moves() const noexcept { return memory_ + lanes_; }

    // `lag_rate` is what the lag of an averaged mean takes in of its change.
    void set(std::int64_t lane, const StepTerms<double>& terms, double lag_rate = 0.0) const noexcept {
        const double values[kTerms] = {terms.v, 1.0, terms.rate, terms.scale, terms.kv, terms.least, lag_rate};
        for (std::int64_t i = 0; i < kTerms; ++i) memory_[i * lanes_ + lane] = values[i];
    }

    template <class Register>
    StepTerms<Register> load(std::int64_t lane) const noexcept {
        const auto term = [this, lane](std::int64_t i) { return load_as<Register>(memory_ + i * lanes_ + lane); };
        return {term(2), term(3), term(4), term(0), term(5)};
    }

    template <class Register>
    Register lag_rates(std::int64_t lane) const noexcept {
        return load_as<Register>(memory_ + 6 * lanes_ + lane);
    }

private:
    double* memory_;
    std::int64_t lanes_;
};

// Moves the lanes of one register, from `lane` on, by a row. Returns by how much the squared lengths of their means
// grow.
template <template <class> class FeatureStep, class Register, bool kNorm>
Register move_lanes(const ReadRow& row, double* entries, std::int64_t variances, const LaneTerms& terms,
                    std::int64_t lane, const Lags* lags = nullptr) noexcept {
    constexpr bool kVariances = FeatureStep<double>::kVariances;
    const auto kept = load_as<Register>(terms.moves() + lane) == 0.0;
    const FeatureStep<Register> step(terms.load<Register>(lane));
    Register gained{};
    for (const Feature& feature : row) {
        double* at = entries + feature.place + lane;
        const Register weight = load_as<Register>(at);
        const Register variance = kVariances ? load_as<Register>(at + variances) : weight;
        Register moved = weight, shrunk = variance;
        step(moved, shrunk, feature.value);
        store(at, kept ? weight : moved);
        if constexpr (kVariances) store(at + variances, kept ? variance : shrunk);
        if constexpr (kNorm) gained += gain(weight, moved);
        if (lags != nullptr) {
            double* const behind = lags->of(feature) + lane;
            const Register change = kept ? Register{} : moved - weight;
            store(behind, load_as<Register>(behind) + terms.lag_rates<Register>(lane) * change);
        }
    }
    return gained;
}

// Lanes come in multiples of this, or of half of it.
inline constexpr std::int64_t kLaneWidth = std::min(kWidth, kLaneMultiple);
using Lanes = double __attribute__((vector_size(kLaneWidth * sizeof(double))));

// Writes the sums of kVectors registers of classes.
template <std::int64_t kVectors, bool kVariances>
void sum_tile(const ReadRow& row, const double* entries, std::int64_t behind, double* scores,
              double* variances) noexcept {
    LaneSums<Lanes, kVectors, kVariances> sums;
    for (const Feature& feature : row) sums.add(entries + feature.place, behind, feature.value);
    for (std::int64_t k = 0; k < kVectors; ++k) {
        store(scores + k * kLaneWidth, sums.score[k]);
        if constexpr (kVariances) store(variances + k * kLaneWidth, sums.variance[k]);
    }
}

// Writes the sums of all classes, in as few tiles as the registers allow.
template <bool kVariances>
void sum_lanes(const ReadRow& row, const double* entries, std::int64_t behind, std::int64_t classes, double* scores,
               double* variances = nullptr) noexcept {
    constexpr std::int64_t kMost = kVariances ? 4 : 8;
    using Tile = void (*)(const ReadRow&, const double*, std::int64_t, double*, double*) noexcept;
    static constexpr auto tiles = []<std::int64_t... k>(std::integer_sequence<std::int64_t, k...>) {
        return std::array<Tile, kMost>{&sum_tile<k + 1, kVariances>...};
    }(std::make_integer_sequence<std::int64_t, kMost>());
    const std::int64_t vectors = (classes + kLaneWidth - 1) / kLaneWidth;
    const std::int64_t count = (vectors + kMost - 1) / kMost;
    for (std::int64_t tile = 0; tile < count; ++tile) {
        const std::int64_t first = vectors * tile / count, end = vectors * (tile + 1) / count;
        const std::int64_t lane = first * kLaneWidth;
        tiles[end - first - 1](row, entries + lane, behind, scores + lane, kVariances ? variances + lane : nullptr);
    }
}

inline void Lags::sum(const ReadRow& row, std::int64_t classes, double* sums) const noexcept {
    if (stride_ == lanes_) return sum_lanes<false>(row, first_, 0, classes, sums);
    std::fill(sums, sums + classes, 0.0);
    for (const Feature& feature : row) {
        const double* const lags = of(feature);
        for (std::int64_t r = 0; r < classes; ++r) sums[r] += lags[r] * feature.value;
    }
}

inline double squared_length(const ReadRow& row) noexcept {
    double sum = 0.0;
    for (const Feature& feature : row) sum += feature.value * feature.value;
    return sum;
}

}  // namespace scwlearn::SCWLEARN_SET
