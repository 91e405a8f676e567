// What python/module.cpp and the loops agree on: plain data, the same for every instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace scwlearn {

// mu <- shrink mu + alpha y Sigma x;  Sigma <- grow (Sigma^-1 + precision x x')^-1
struct Step {
    double alpha;
    double precision = 0.0;
    double shrink = 1.0;
    double grow = 1.0;
};

inline constexpr Step HOLD{0.0};

// The part w of a step, at most the whole.
inline constexpr Step part_of(const Step& step, double w) noexcept {
    if (w >= 1.0) return step;
    return {w * step.alpha, w * step.precision, 1.0 + w * (step.shrink - 1.0), 1.0 + w * (step.grow - 1.0)};
}

// What a rule is asked about: the margin, its variance, the squared length of the mean, the number of the round, in how
// many rows of weights the variance lies (two where two classes share one Sigma), and the weight of the example, which
// is not 0: such an example is left out before.
using Ask = Step(const void* self, double m, double v, double norm2, double t, double n, double w);

// A rule at work. `self` is what `ask` needs: the constants of a spelled rule, or a Python function.
struct Rule {
    Ask* ask;
    const void* self;
    bool uses_norm;
    // Where it holds, it holds for every smaller v as well: so do all spelled rules, and a test sees to it.
    bool holds_below;
};

enum RowKind { kDense32, kDense64, kSparse32i32, kSparse32i64, kSparse64i32, kSparse64i64, kRowKinds };

// A batch without its types, as it arrives; core/rows.hpp gives them back.
struct Rows {
    RowKind kind;
    const void* values;
    const void* indices;  // null for dense rows
    const void* offsets;  // null for dense rows
    std::int64_t stored;  // how many values there are
    std::int64_t count;
    std::int64_t width;
    bool intercept;
};

// The kinds, their names in Python, and (in loops/row_loops.cpp) their loops stand in the same order; the full one comes last.
enum CovarianceKind { kIdentity, kDiagonal, kDiagonalDrop, kFull, kCovarianceKinds };
inline constexpr const char* kCovarianceNames[kCovarianceKinds] = {"identity", "diagonal", "diagonal-drop", "full"};

// mu = mean_scale * mean and Sigma = spread_scale * (what the covariance makes of `spread`): shrink and grow
// touch one number each, so a sparse row costs no more than its own features.
struct Scalars {
    double mean_scale;
    double spread_scale;
    double norm2;       // squared length of the stored mean, kept only for rules that ask for it
    double norm2_peak;  // the largest since it was last computed anew: what its rounding is measured by
    double growth;      // by how much Sigma has grown in directions never seen
    double rounds;
};

// The model as it lies in memory that NumPy owns. `entries` is
//   identity   the mean
//   diagonal   the weight and the variance of each feature side by side, so that one cache line has both
//   full       the mean, then what FullBlocks says
struct Memory {
    double* entries;
    double* work;  // scratch: `work_entries` says how much
    Scalars* scalars;
    std::int64_t size;  // features, and one more with an intercept
    double initial_variance;
    double variance_floor = 0.0;  // the part of it below which no variance falls
};

// From one vector of a full covariance to the next: whole cache lines, twice the widest register, and never a multiple
// of 512 bytes, because lines that far apart compete for the same place in the cache.
inline constexpr std::int64_t full_stride(std::int64_t size) {
    const std::int64_t whole = (size + 15) / 16 * 16;
    return whole % 64 == 0 ? whole + 16 : whole;
}

inline constexpr std::int64_t model_entries(CovarianceKind kind, std::int64_t size) {
    return kind == kIdentity ? size : kind == kFull ? (size + 3) * full_stride(size) : 2 * size;
}

struct Counts {
    std::int64_t mistakes = 0;
    std::int64_t updates = 0;
};

// Written for each row where asked for: score, variance, alpha, precision (the last two 0 where nothing moved).
inline constexpr int kTraceWidth = 4;

struct Task {
    Rows rows;
    const std::int8_t* labels;
    const double* weights;  // of the rows, or null where all weigh 1
    Memory memory;
    Rule rule;
    double* trace;       // or null
    std::int64_t block;  // a full covariance takes so many rows at a time
    int threads;         // at most so many, where there is work for them
};

inline constexpr std::int64_t kLargestBlock = 4096;
inline constexpr int kMostThreads = 256;
// Beyond it the memory of a model, in bytes, would not fit a number.
inline constexpr std::int64_t largest_size(CovarianceKind kind) { return std::int64_t{1} << (kind == kFull ? 28 : 57); }

// Products of a weight other than 0 with what a rule computes stay finite.
inline constexpr double kSmallestWeight = 1e-100;
inline constexpr double kLargestWeight = 1e100;

// No value of a row is larger; squares of larger ones overflow.
inline constexpr double kLargestValue = 1e150;

// No variance leaves these: what is computed from it stays finite.
inline constexpr double kSmallestVariance = 1e-200;
inline constexpr double kLargestVariance = 1e150;

// Rows of a block that are worked on together; the scratch memory is laid out for the widest registers.
inline constexpr std::int64_t kWidestStrip = 16;
inline constexpr std::int64_t kNarrowestStrip = 4;

// So many rows a block has room for.
inline constexpr std::int64_t rows_of_block(std::int64_t block) {
    return (block + kWidestStrip - 1) / kWidestStrip * kWidestStrip;
}

// Scratch of a full covariance. An update (full/update.hpp) takes some vectors.
inline constexpr std::int64_t update_entries(std::int64_t size) { return 4 * full_stride(size) + kWidestStrip; }

// What is of use while a block is learned from: x of its rows, two coefficients for each of as many updates by it and by
// the block before, with what they give each class, and some sums.
inline constexpr std::int64_t common_entries(std::int64_t size, std::int64_t block, std::int64_t classes) {
    const std::int64_t rows = rows_of_block(block);
    return update_entries(size) + (5 * rows + rows / kNarrowestStrip) * full_stride(size) +
           (3 + 2 * classes + kWidestStrip) * rows;
}

// What is kept from block to block: U'x of its rows, their scores and variances, the mean, and the places of features.
inline constexpr std::int64_t own_entries(std::int64_t size, std::int64_t block, std::int64_t classes) {
    const std::int64_t rows = rows_of_block(block);
    return (rows + classes + 1) * full_stride(size) + (1 + classes) * rows + kWidestStrip;
}

inline constexpr std::int64_t work_entries(CovarianceKind kind, std::int64_t size, std::int64_t block) {
    return kind == kFull ? common_entries(size, block, 1) + own_entries(size, block, 1) : 0;
}

// A rule spelled in C++ by the build.
struct CompiledRule {
    const char* name;
    std::size_t constants;  // how many letters it takes
    bool uses_norm;
    Ask* ask;
};

// Learns from the rows in order. Neither throws nor allocates, but for threads, unless the rule does.
using Loop = Counts (*)(const Task&);

using LoopsOverRows = std::array<Loop, kRowKinds>;
using RowLoops = std::array<LoopsOverRows, kFull>;

// A batch for a learner with a kernel: its rows as coordinates in the span of the support (loops/kernel.hpp). The task's rows
// are the same coordinates.
struct KernelBatch {
    double* coordinates;      // row by row; zero behind the support
    const double* residuals;  // what the rows have outside the span: inner products, rows x rows
    double* left;             // the squared length of it for each row
    const double* rounding;   // what is not more than this is none
    const double* least;      // what is not more than this is not worth a place in the support
    std::int64_t* taken;      // room for the rows that become support
    std::int64_t rows;
    std::int64_t stride;   // from one row of coordinates to the next: the size of the model
    std::int64_t support;  // examples before the batch
    std::int64_t room;     // and how many there may be
};

// Learns from the rows in order; how many examples the support has then.
using KernelLoop = std::int64_t (*)(const KernelBatch&, const Task&, Counts&);

// The mean as it lies in a model, to be read only.
struct Weights {
    const double* first;
    std::int64_t stride;
    double scale;
};

inline constexpr Weights weights_of(CovarianceKind kind, const double* entries, const Scalars* scalars) {
    return {entries, kind == kDiagonal || kind == kDiagonalDrop ? 2 : 1, scalars->mean_scale};
}

// mu.x for each row, NaN where the offsets or indices of a sparse one lie outside; false where one is not finite.
using Score = bool (*)(const Rows&, const Weights&, double* scores);
using ScoresOverRows = std::array<Score, kRowKinds>;

// Running scales (loops/scaling.hpp): so many numbers for each feature, its scale and its count.
inline constexpr std::int64_t kNumbersOfAScale = 2;

// Writes the values of the rows, scaled, to where `scaled` has room for as many; the values themselves may lie there.
// `learn` takes each row in first, unless it weighs 0; `weights` is null where all weigh the same. Neither throws nor
// allocates.
using LearnScales = std::array<void (*)(const Rows&, double* states, const double* weights, double* scaled), kRowKinds>;
using ApplyScales = std::array<void (*)(const Rows&, const double* states, double* scaled), kRowKinds>;

struct ScaleLoops {
    LearnScales learn;
    ApplyScales apply;
};

// A feature of a row that many models look at: where their entries for it begin, and its value.
struct Feature {
    std::int64_t place;
    double value;
};

// Models that go over the rows together. For each feature `entries` holds the weights of all, then, where Sigma is
// diagonal, the variances of all, so that a register takes one entry of as many models as it has lanes.
struct ModelBatch {
    double* entries;
    Feature* row;          // scratch: room for two rows of `size` features
    const Rule* rules;     // one for each model, as in the next two
    const Memory* models;  // their entries begin in `entries`, and lie as far apart as all models take
    Counts* counts;        // added to
    std::int64_t count;    // how many models
    std::int64_t vectors;  // registers that one entry of all models fills, up to kMostVectors
    std::int64_t size;     // features, and one more with an intercept
};

// More would not leave a register for each sum.
inline constexpr std::int64_t kMostVectors = 4;

// Learns from the rows in order, with each model of the batch what its own loop would, bit for bit. Neither throws nor
// allocates unless a rule does.
using BatchLoop = void (*)(const ModelBatch&, const Rows&, const std::int8_t* labels);

struct BatchLoops {
    std::int64_t width;  // lanes of a register
    std::array<BatchLoop, kFull> loops;
};

// Several classes. A class is a lane; there is room for more of them than are known.
inline constexpr std::int64_t kLaneMultiple = 4;

// Labels of several classes: numbers from 0. A label that is the number of classes known so far brings a new one.
using ClassNumber = std::int32_t;

// How classes learn: as one model, in the space of all their weights, from the class of the row and its best rival; or
// each by itself, from the rows of its own against all others.
enum Scheme { kJoint, kOneVersusRest };

// Who shares the step against the class of the row: its best rival, or all that score no less than it (the Perceptron).
enum Rivals { kBest, kUniform, kProportional, kRivals };
inline constexpr const char* kRivalNames[kRivals] = {"max", "uniform", "proportional"};

// In which way the classes of a model lie and learn.
struct MultiForm {
    CovarianceKind kind;
    Scheme scheme;
    bool shared;  // one Sigma for all; then kJoint
};

// The models of all classes as they lie in memory that NumPy owns. `entries` is
//   identity   for each feature the weights of all lanes
//   diagonal   for each feature the weights of all lanes, then their variances; shared, kLaneMultiple places of which the
//              first is the variance
//   full       for each lane what a model of its own has; shared, the weights of all lanes, then what a model has behind
//              its mean
// Lanes of classes not known yet hold the prior: weights 0, variances initial_variance.
struct MultiMemory {
    double* entries;
    double* work;         // scratch: `multi_work_entries` says how much
    Scalars* scalars;     // one for all classes, or, one versus rest, one for each lane
    std::int64_t* known;  // how many classes there are; a row that brings one adds to it
    std::int64_t size;    // features, and one more with an intercept
    std::int64_t lanes;   // a multiple of kLaneMultiple, never fewer than will be known
    double initial_variance;
    double variance_floor = 0.0;  // the part of it below which no variance falls
};

// From one feature to the next, where the classes lie side by side.
inline constexpr std::int64_t multi_stride(const MultiForm& form, std::int64_t lanes) {
    return form.kind == kIdentity ? lanes : form.shared ? lanes + kLaneMultiple : 2 * lanes;
}

// From the weights of one class to those of the next, with a full covariance.
inline constexpr std::int64_t class_stride(const MultiForm& form, std::int64_t size) {
    return form.shared ? full_stride(size) : model_entries(kFull, size);
}

inline constexpr std::int64_t multi_entries(const MultiForm& form, std::int64_t size, std::int64_t lanes) {
    if (form.kind != kFull) return size * multi_stride(form, lanes);
    return form.shared ? (lanes - 1) * full_stride(size) + model_entries(kFull, size) : lanes * model_entries(kFull, size);
}

struct MultiTask {
    Rows rows;
    const ClassNumber* labels;
    const double* weights;  // of the rows, or null where all weigh 1
    MultiMemory memory;
    MultiForm form;
    Rule rule;
    Rivals rivals;
    double* scores;             // or null: for each row the scores of all classes before it is learned from
    std::int64_t score_stride;  // from one row of scores to the next; classes not known yet, up to it, get -infinity
    std::int64_t block;         // a full covariance takes so many rows at a time
    int threads;
    double* variances = nullptr;  // or null: for each row x'Sigma x of the class with the largest score before it, 0 for none
};

// Learns from the rows of a scanned batch in order, as Loop.
using MultiLoop = Counts (*)(const MultiTask&);

// Several classes with a kernel. Each class, known or to come, has a model; models that are joint have one set of scalars
// between them. The rows are coordinates in one span for all classes, or for each in the span of the examples that moved
// it: then there is a batch for each.
struct KernelMultiTask {
    MultiTask classes;  // its memory has nothing but `known` and `lanes`
    const Memory* models;
    const KernelBatch* batches;
    std::int64_t spans;      // how many batches
    std::int64_t* supports;  // how many examples each has in the end
};

using KernelMultiLoop = Counts (*)(const KernelMultiTask&);

struct KernelLoops {
    KernelLoop first_order, first_order_with_norm, second_order;
    KernelMultiLoop first_order_classes, second_order_classes;
};

// The weights of all classes, to be read only.
struct MultiWeights {
    const double* first;
    std::int64_t stride;  // from one feature to the next, or, with a full covariance, from one class to the next
    std::int64_t lanes;
    std::int64_t classes;
    const Scalars* scalars;
    bool scalars_for_each;  // or one for all
};

// W x for each row of a scanned batch, a line of `classes` scores; `work` as for a task without a full covariance.
using MultiScore = void (*)(const Rows&, const MultiWeights&, double* work, double* scores);

struct MultiLoops {
    std::array<MultiLoop, kFull> learn;
    MultiScore score;
};

// The same with a full covariance, and how much scratch memory it takes.
struct MultiBlockLoops {
    MultiLoop learn;
    std::int64_t (*work)(const MultiForm&, std::int64_t size, std::int64_t lanes, std::int64_t block);
    MultiScore score;
};

// Scratch for classes side by side: some numbers of each, and two rows of features with their values.
inline constexpr std::int64_t kLaneScratch = 12;
inline constexpr std::int64_t multi_work_entries(std::int64_t size, std::int64_t lanes) {
    return kLaneScratch * lanes + 2 * size * static_cast<std::int64_t>(sizeof(Feature) / sizeof(double));
}

}  // namespace scwlearn
