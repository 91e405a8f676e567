// What the bindings and the loops share: plain data, the same for every instruction set.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/memory.hpp"

namespace scwlearn {

// mu <- shrink mu + alpha y Sigma x;  Sigma <- grow (Sigma^-1 + precision x x')^-1
struct Step {
    double alpha;
    double precision = 0.0;
    double shrink = 1.0;
    double grow = 1.0;
};

inline constexpr Step HOLD{0.0};

// The fraction w of a step, at most all of it.
inline constexpr Step part_of(const Step& step, double w) noexcept {
    if (w >= 1.0) return step;
    return {w * step.alpha, w * step.precision, 1.0 + w * (step.shrink - 1.0), 1.0 + w * (step.grow - 1.0)};
}

// sqrt(a^2 + b^2), for compiled rules. std::hypot is as slow as the rest of a rule; it is called only if the squares
// overflow or underflow.
inline double hypotenuse(double a, double b) noexcept {
    const double square = a * a + b * b;
    return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::hypot(a, b);
}

// Asks a rule for a step, given the margin, its variance, the squared norm of the mean, the round, the number of rows
// of weights that share the variance (two if two classes share one Sigma), and the sample weight, which is not 0.
using Ask = Step(const void* self, double m, double v, double norm2, double t, double n, double w);

// A rule with its constants. `self` is what `ask` needs: the constants of a compiled rule, or a Python function. Without
// `ask`, rows are only looked at: no round begins.
struct Rule {
    Ask* ask;
    const void* self;
    bool uses_norm;
    // If the rule holds, it holds for every smaller v, too. True of all compiled rules, and tested.
    bool holds_below;
};

// A rule that the build compiled to C++.
struct CompiledRule {
    const char* name;
    std::size_t constants;  // how many it takes
    bool uses_norm;
    Ask* ask;
};

enum RowKind { kDense32, kDense64, kSparse32i32, kSparse32i64, kSparse64i32, kSparse64i64, kRowKinds };

// A batch of rows with its types erased; core/rows.hpp restores them.
struct Rows {
    RowKind kind;
    const void* values;
    const void* indices;  // null for dense rows
    const void* offsets;  // null for dense rows
    std::int64_t stored;  // number of values
    std::int64_t count;
    std::int64_t width;
    bool intercept;
    std::int64_t rows_beyond = 0;  // sparse rows stored after these, whose features may be prefetched
    // The rows to visit, in this order, `count` of the `among` that are stored; null to visit all as they are stored.
    const std::int64_t* order = nullptr;
    std::int64_t among = 0;

    // By the kind: the arrays of sparse rows without values may be null.
    bool is_sparse() const noexcept { return kind != kDense32 && kind != kDense64; }
    bool has_floats() const noexcept { return kind == kDense32 || kind == kSparse32i32 || kind == kSparse32i64; }
    bool has_short_indices() const noexcept { return kind == kSparse32i32 || kind == kSparse64i32; }

    // The number of the i-th row to visit. The order belongs to Python and may have changed since it was checked.
    std::int64_t number(std::int64_t i) const noexcept {
        if (order == nullptr) return i;
        const std::int64_t row = order[i];
        return row >= 0 && row < among ? row : 0;
    }

    // Weights of a model for these rows.
    std::int64_t size() const noexcept { return width + (intercept ? 1 : 0); }
};

struct Counts {
    std::int64_t mistakes = 0;
    std::int64_t updates = 0;
    bool stopped = false;  // at an invalid row, from which nothing was learned
};

// Numbers per row of a trace: score, variance, alpha, precision (the last two 0 if nothing moved).
inline constexpr int kTraceWidth = 4;

// Labels of several classes: numbers from 0. A label that equals the number of known classes introduces a new one.
using ClassNumber = std::int32_t;

// Rows to learn from in order, and where to. Optional pointers are null.
struct Task {
    Rows rows;
    Memory memory;
    ModelForm form;
    Rule rule;
    const double* weights = nullptr;  // sample weights, optional
    std::int64_t block = 1;           // rows that a full covariance processes together
    int threads = 1;                  // upper bound, for the linear algebra of a full covariance
    int jobs = 1;                     // upper bound, for classes that learn without each other; the rule must be compiled
    bool entries_in_cache = false;    // the entries of the rows are in the cache: they need not be prefetched
    bool checked = true;              // the rows have been scanned; otherwise a loop over single rows checks each of them
    // Binary models.
    const std::int8_t* signs = nullptr;  // labels -1 and +1
    double* trace = nullptr;             // kTraceWidth numbers per row, optional
    // Multi-class models.
    const ClassNumber* labels = nullptr;
    std::int64_t score_stride = 0;  // columns of `scores`; classes not known yet get -infinity
    // Of each row before it is learned from; optional.
    double* scores = nullptr;     // its score, or those of all classes
    double* variances = nullptr;  // x'Sigma x; of several classes that of the one with the largest score, 0 if there is none

    double weight(std::int64_t i) const noexcept { return weights == nullptr ? 1.0 : weights[i]; }
    bool is_recorded() const noexcept { return trace != nullptr || scores != nullptr || variances != nullptr; }
};

inline constexpr std::int64_t kLargestBlock = 4096;
inline constexpr int kMostThreads = 256;
// The memory of a larger model, in bytes, does not fit a 64-bit number.
inline constexpr std::int64_t largest_size(CovarianceKind kind) { return std::int64_t{1} << (kind == kFull ? 28 : 57); }

// Bounds of nonzero sample weights: products with what rules compute stay finite.
inline constexpr double kSmallestWeight = 1e-100;
inline constexpr double kLargestWeight = 1e100;

// Bound of the values of rows: squares of larger ones overflow.
inline constexpr double kLargestValue = 1e150;

// Bounds of variances: everything computed from them stays finite.
inline constexpr double kSmallestVariance = 1e-200;
inline constexpr double kLargestVariance = 1e150;

// A feature of a row: the place of its entries in the memory of a model, and its value.
struct Feature {
    std::int64_t place;
    double value;
};

// Learns from the rows of a batch in order. Takes its scratch memory and starts its threads first; then it neither throws
// nor allocates unless the rule does.
using Loop = Counts (*)(const Task&);
using LoopsOverRows = std::array<Loop, kRowKinds>;

// The weights of a model, read-only.
struct Weights {
    const double* first;
    std::int64_t stride;  // between features; if the covariance of several classes is full, between classes
    std::int64_t lanes;
    std::int64_t classes;  // 1 for a binary model
    const double* scales;  // of the weights
    std::int64_t scale_stride;  // 0 if all classes have one

    double scale(std::int64_t r) const noexcept { return scales[r * scale_stride]; }
};

// Computes one row of `classes` scores for each row. The rows of several classes have been scanned; those of a binary
// model need not be: a score is NaN if the offsets or indices of its row are out of range. Returns whether the scores of
// a binary model are finite; otherwise true.
using Score = bool (*)(const Rows&, const Weights&, Scratch& scratch, double* scores);

// Binary models.
struct RowLoops {
    std::array<std::array<LoopsOverRows, kPerFeatureKinds>, kLayouts> learn;  // kBesideLag is only for the identity
    std::array<Score, kRowKinds> score;  // also with a full covariance
};

struct ClassLoops {
    std::array<Loop, kPerFeatureKinds> learn;
    Score score;
};

// A full covariance.
struct FullLoops {
    LoopsOverRows learn;
    Loop learn_classes;
    Score score_classes;
    // Computes the diagonal of Sigma^-1 by place, from D and the columns of U.
    void (*precisions)(const double* factors, std::int64_t size, double* precisions);
};

// Models that learn from the same rows together. Per feature, `entries` holds the weights of all models, then their
// variances if the covariance is diagonal, so that a register holds one entry of as many models as it has lanes.
struct ModelBatch {
    double* entries;
    Feature* row;          // scratch: room for two rows of `size` features
    const Rule* rules;     // one per model, as in the next two
    const Memory* models;  // their entries are interleaved in `entries`
    Counts* counts;        // added to
    std::int64_t count;    // number of models
    std::int64_t vectors;  // registers that hold one entry of all models, up to kMostVectors
    std::int64_t size;     // features, plus one with an intercept
};

// More would not leave a register for each sum.
inline constexpr std::int64_t kMostVectors = 4;

// Learns from the rows in order; each model gets the bits that it would get alone. Neither throws nor allocates unless
// a rule does.
using BatchLoop = void (*)(const ModelBatch&, const Rows&, const std::int8_t* signs);

struct BatchLoops {
    std::int64_t width;  // lanes of a register
    std::array<BatchLoop, kPerFeatureKinds> loops;
};

// Rows of a kernel learner as coordinates in the span of its support (loops/kernel.hpp).
struct KernelBatch {
    double* coordinates;      // row by row; zero behind the support
    const double* residuals;  // inner products of the components outside the span, rows x rows
    double* left;             // squared norm of that component of each row
    const double* rounding;   // a squared norm up to this is zero
    const double* least;      // one up to this is not worth a place in the support
    std::int64_t* taken;      // room for the rows that become support
    std::int64_t rows;
    std::int64_t stride;   // between rows of coordinates: the size of the model
    std::int64_t support;  // examples before the batch
    std::int64_t room;     // most examples afterwards
};

// A kernel learner's task. The rows of `task` are the coordinates in the first span. A binary learner has one model and
// one span; otherwise there is a model per class, known or to come, joint models share one set of scalars, and there is
// one span for all classes, or one per class, of the examples that moved it.
struct KernelTask {
    Task task;  // of its memory only `known` and `lanes` are used, unless it is binary
    const Memory* models;
    const KernelBatch* batches;
    std::int64_t spans;      // number of batches
    std::int64_t* supports;  // number of support examples of each span afterwards
};

using KernelLoop = Counts (*)(const KernelTask&);

struct KernelLoops {
    KernelLoop first_order, second_order, first_order_classes, second_order_classes;
};

// How rows are scaled (loops/scaling_loops.cpp). A scale is stored as lines of three numbers. The first line holds the
// number of rows and of dense features; each other line holds the variance, count and mean of one feature's nonzero
// values. Lines are kLine numbers apart, or kSharedStride if models share the cache lines; what follows the three numbers
// of a line does not belong to the scale. A feature is dense if it is nonzero in at least half of the rows. A sorted list
// of the dense features tells which zeros of a sparse row matter to kStandard; it is kept only where rows are standardised.
enum ScaleKind { kRms, kStandard, kUnit, kScaleKinds };
inline constexpr const char* kScaleNames[kScaleKinds] = {"rms", "standard", "unit"};
inline constexpr std::int64_t kLine = 4;

// The memory of a scale.
template <class Number>
struct ScaleLines {
    Number* first;
    std::int64_t stride;  // kLine or kSharedStride
    std::conditional_t<std::is_const_v<Number>, const std::int64_t, std::int64_t>* dense;  // room for all features
};

// The length of the list of dense features.
inline std::int64_t dense_features(const double* states, std::int64_t width) noexcept {
    if (!(states[1] > 0.0)) return 0;
    return states[1] < static_cast<double>(width) ? static_cast<std::int64_t>(states[1]) : width;
}

// Output buffers for scaled rows, one per kind; null for kinds that are not wanted. They must not overlap the values.
// Standardised sparse rows gain the dense features that they lack: for them there is room for `room` values and indices.
// While a row is scaled, it needs room for its own features and twice the dense ones.
struct ScaledRows {
    std::array<double*, kScaleKinds> values;
    std::int64_t *indices, *offsets;
    std::int64_t room;
};

// Scale rows from number `first` on; `learn` first takes in each row, unless its weight is 0 (`weights` may be null).
// Return the number of the first row that did not fit, or the number of rows if all did. Neither throws nor allocates.
using LearnScales = std::array<std::int64_t (*)(ScaleLines<double>, const Rows&, std::int64_t first,
                                                const double* weights, const ScaledRows&), kRowKinds>;
using ApplyScales = std::array<std::int64_t (*)(ScaleLines<const double>, const Rows&, std::int64_t first,
                                                const ScaledRows&), kRowKinds>;

struct ScaleLoops {
    LearnScales learn;
    ApplyScales apply;
};

// The loops of a calibration curve (calibrate/state.hpp).
struct CalibrationLoops;
// Columns of numbers are filled up to a multiple of this.
inline constexpr std::int64_t kCalibrationPadding = 8;

enum class MergeRule { kBcm, kEv, kKl };

// A model without covariance between features, as one of those to be merged (loops/merging_loops.cpp).
struct MergeInput {
    const double *means, *variances;  // before their scales
    std::int64_t mean_stride, variance_stride;
    double mean_scale, spread_scale;
    double weight;          // of its evidence
    double growth;          // of Sigma since the prior
    const double* counted;  // how much each feature counts for ev in all classes; null if each class counts its evidence

    // Room for what it knows of a block of weights: its precision, the gain over the prior, the move of the mean, and how
    // much the move counts for ev; all but the move times the weight of the model.
    static constexpr std::int64_t kBlock = 64;
    double precision[kBlock], gain[kBlock], moved[kBlock], evidence[kBlock];
};

struct MergingLoops {
    // Writes the merged means and variances. `growth` is that of the merged Sigma since the prior; less evidence than
    // `least` times the precision of the prior is rounding.
    void (*merge)(MergeRule rule, const MergeInput& prior, MergeInput* models, std::int64_t count, double growth,
                  double least, std::int64_t size, double* means, double* variances);
};

// Entries of more features than this do not fit into the cache.
inline constexpr std::int64_t kCachedFeatures = 16384;
// Rows ahead of the current one whose entries are prefetched then.
inline constexpr std::int64_t kRowsAhead = 2;

// All loops, as compiled for an instruction set.
struct InstructionSet {
    const char* name;
    const RowLoops& rows;
    const ClassLoops& classes;
    const FullLoops& full;
    const BatchLoops& batches;
    const KernelLoops& kernels;
    const ScaleLoops& scales;
    const CalibrationLoops& calibration;
    const MergingLoops& merging;
};

}  // namespace scwlearn
