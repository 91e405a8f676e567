// A model in memory that NumPy owns: its form, its layout and its scalars. Plain data, the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/scratch.hpp"

namespace scwlearn {

// Kinds, names and loops (in *_loops.cpp) have the same order; the full covariance comes last.
enum CovarianceKind { kIdentity, kDiagonal, kDiagonalDrop, kFull, kCovarianceKinds };
// The kinds that keep at most one variance per feature, which come first: one array of loops serves them all.
inline constexpr std::size_t kPerFeatureKinds = kFull;
inline constexpr const char* kCovarianceNames[kCovarianceKinds] = {"identity", "diagonal", "diagonal-drop", "full"};

// Joint classes are one model in the space of all their weights, and learn from the class of a row and its best rival;
// otherwise each class learns its own rows against all others.
enum Scheme { kJoint, kOneVersusRest };

// Which classes share the step against the class of the row: the best rival, or all that score no less (Perceptron).
enum Rivals { kBest, kUniform, kProportional, kRivals };
inline constexpr const char* kRivalNames[kRivals] = {"max", "uniform", "proportional"};

// Where the entries of a binary model with at most one variance per feature lie: one feature next to the other; in cache
// lines that they share with other models, kSharedStride apart; or, without variances, each weight with its lag beside it.
enum Layout { kPacked, kSharedLines, kBesideLag, kLayouts };

struct ModelForm {
    CovarianceKind kind;
    Scheme scheme = kJoint;
    bool shared = false;  // one Sigma for all classes; implies kJoint
    Rivals rivals = kBest;
    Layout layout = kPacked;
};

// Distance between the features of models that share their cache lines with others: a line.
inline constexpr std::int64_t kSharedStride = 8;

// mu = mean_scale * mean and Sigma = spread_scale * (the stored Sigma): shrink and grow change one number each, so that
// a sparse row costs no more than its own features.
struct Scalars {
    double mean_scale;
    double spread_scale;
    double norm2;       // squared norm of the stored mean, kept only for rules that use it
    double norm2_peak;  // the largest since it was last recomputed, which bounds its rounding error
    double growth;      // factor by which Sigma has grown in directions never seen
    double rounds;
};

// How far the average of a mean lags behind it (core/model.hpp), and the recent mistakes of both. One versus rest, each
// class has a scale, and all classes decide together: only the mistakes of the first are used.
struct AverageState {
    double lag_scale;  // the lag is this times what is stored
    double latest_mistakes, average_mistakes;

    // What is left of past mistakes after a round: a memory of about 2,000 rounds.
    static constexpr double kKept = 0.9995;

    bool average_is_better() const noexcept { return average_mistakes <= latest_mistakes; }

    // Counts whether the mean and the average were wrong about a row of this weight.
    void count(bool latest_is_wrong, bool average_is_wrong, double weight) noexcept {
        latest_mistakes = kKept * latest_mistakes + (latest_is_wrong ? weight : 0.0);
        average_mistakes = kKept * average_mistakes + (average_is_wrong ? weight : 0.0);
    }
};

// Lanes of a multi-class model come in multiples of this. A binary model has one lane.
inline constexpr std::int64_t kLaneMultiple = 4;

// A model in memory that NumPy owns. A class is a lane; there may be more lanes than known classes, and those hold the
// prior: weights 0, variances initial_variance. `entries` is
//   identity   per feature, the weights of all lanes
//   diagonal   per feature, the weights of all lanes, then their variances, so that one cache line of a binary model has
//              both; a shared variance takes the first of kLaneMultiple places
//   full       per lane, the mean and what full/factors.hpp describes; shared: the means of all lanes, then one Sigma
struct Memory {
    double* entries;
    Scratch* scratch;
    Scalars* scalars;   // one for all classes, or, one versus rest, one per lane
    std::int64_t size;  // features, plus one with an intercept
    double initial_variance;
    double floor = 0.0;  // lower bound on the variances
    std::int64_t lanes = 1;
    std::int64_t* known = nullptr;  // number of known classes, which the loops increment; null for a binary model
    // Null unless the mean is averaged.
    AverageState* average_state = nullptr;  // as many as `scalars`
    double* lag = nullptr;           // per feature, those of all lanes
    std::int64_t lag_stride = 1;     // between features
    std::int64_t lag_lanes = 1;      // lanes that share one AverageState

    // The model of one class, as a binary model.
    Memory of_class(std::int64_t first_entry, std::int64_t lane, std::int64_t scalar) const noexcept {
        Memory one{entries + first_entry, scratch, scalars + scalar, size, initial_variance, floor};
        if (average_state != nullptr) {
            one.average_state = average_state + scalar;
            one.lag = lag + lane;
            one.lag_stride = lag_stride;
        }
        return one;
    }
};

// Distance between the vectors of a full covariance: whole cache lines, twice the widest register, and never a multiple
// of 512 bytes, because lines that far apart compete for the same place in the cache.
inline constexpr std::int64_t full_stride(std::int64_t size) {
    const std::int64_t whole = (size + 15) / 16 * 16;
    return whole % 64 == 0 ? whole + 16 : whole;
}

// Entries of a binary model.
inline constexpr std::int64_t model_entries(CovarianceKind kind, std::int64_t size) {
    return kind == kIdentity ? size : kind == kFull ? (size + 3) * full_stride(size) : 2 * size;
}

// Distance between the entries of two features, unless the covariance is full.
inline constexpr std::int64_t feature_stride(const ModelForm& form, std::int64_t lanes) {
    if (form.layout != kPacked) return form.layout == kSharedLines ? kSharedStride : 2;
    return form.kind == kIdentity ? lanes : form.shared ? lanes + kLaneMultiple : 2 * lanes;
}

// Distance between the weights of two classes, if the covariance is full.
inline constexpr std::int64_t class_stride(const ModelForm& form, std::int64_t size) {
    return form.shared ? full_stride(size) : model_entries(kFull, size);
}

inline constexpr std::int64_t model_entries(const ModelForm& form, std::int64_t size, std::int64_t lanes) {
    if (form.kind != kFull) return size * feature_stride(form, lanes);
    return (lanes - 1) * class_stride(form, size) + model_entries(kFull, size);
}

}  // namespace scwlearn
