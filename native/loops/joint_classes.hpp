// Classes as one model in the space of all their weights, identity or diagonal: sums over all classes in registers, and
// the step of single classes.
#pragma once

#include "loops/lanes.hpp"

namespace scwlearn::SCWLEARN_SET {

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
        store_as(scores + k * kLaneWidth, sums.score[k]);
        if constexpr (kVariances) store_as(variances + k * kLaneWidth, sums.variance[k]);
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

inline double squared_length(const ReadRow& row) noexcept {
    double sum = 0.0;
    for (const Feature& feature : row) sum += feature.value * feature.value;
    return sum;
}

// The models of all classes, with a variance per class and feature, or, if kShared, per feature.
template <template <class> class FeatureStep, bool kShared>
class JointClasses {
public:
    static constexpr bool kVariances = FeatureStep<double>::kVariances;

    JointClasses(const Model& model, const ModelForm& form, std::int64_t lanes) noexcept
        : size_(model.size),
          stride_(feature_stride(form, lanes)),
          weights_(model.entries),
          variances_(kVariances ? model.entries + lanes : model.entries) {}

    // Sets the variances of a class that is new.
    void begin(std::int64_t lane, double variance) noexcept {
        if constexpr (kVariances && !kShared)
            for (std::int64_t i = 0; i < size_; ++i) variances_[i * stride_ + lane] = variance;
    }

    // The variance of the difference of the scores of two classes, up to variance_scale.
    double variance(const ReadRow& row, std::int64_t one, std::int64_t other) const noexcept {
        if constexpr (!kVariances) return 2.0 * squared_length(row);
        if constexpr (kShared) one = other = 0;
        double first = 0.0, second = 0.0;
        for (const Feature& feature : row) {
            const double x2 = feature.value * feature.value;
            first += variances_[feature.place + one] * x2;
            if constexpr (!kShared) second += variances_[feature.place + other] * x2;
        }
        return kShared ? 2.0 * first : first + second;
    }

    // Moves a class by `share` of the step; returns by how much the squared length of its stored weights grows.
    template <bool kNorm>
    double move(const ReadRow& row, std::int64_t lane, double share, StepTerms<double> terms) const noexcept {
        terms.rate = share * terms.rate;
        const FeatureStep<double> step(terms);
        double* weights = weights_ + lane;
        double* variances = kShared ? variances_ : variances_ + lane;
        double gained = 0.0;
        for (const Feature& feature : row) {
            double& weight = weights[feature.place];
            const double before = weight;
            double variance = variances[feature.place];
            step(weight, variance, feature.value);
            if constexpr (kVariances && !kShared) variances[feature.place] = variance;
            if constexpr (kNorm) gained += gain(before, weight);
        }
        return gained;
    }

    // Shrinks a shared variance, after all classes have moved.
    void shrink(const ReadRow& row, const StepTerms<double>& terms) const noexcept {
        if constexpr (kVariances && kShared) {
            const FeatureStep<double> step(terms);
            for (const Feature& feature : row) {
                double unused = 0.0;
                step(unused, variances_[feature.place], feature.value);
            }
        }
    }

private:
    std::int64_t size_, stride_;
    double *weights_, *variances_;
};

}  // namespace scwlearn::SCWLEARN_SET
