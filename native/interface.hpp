// What bind.cpp and the loops agree on: plain data, the same for every instruction set.
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

// A batch without its types, as it arrives; rows.hpp gives them back.
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

// The kinds, their names in Python, and (in row_loops.cpp) their loops stand in the same order; the full one comes last.
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

// No variance leaves these: what is computed from it stays finite.
inline constexpr double kSmallestVariance = 1e-200;
inline constexpr double kLargestVariance = 1e150;

// Rows of a block that are worked on together; the scratch memory is laid out for the widest registers.
inline constexpr std::int64_t kWidestStrip = 16;
inline constexpr std::int64_t kNarrowestStrip = 4;

// A full covariance: x and U'x of the rows of a block, two coefficients for each of as many updates by it and by the
// block before, and some vectors.
inline constexpr std::int64_t work_entries(CovarianceKind kind, std::int64_t size, std::int64_t block) {
    if (kind != kFull) return 0;
    const std::int64_t rows = (block + kWidestStrip - 1) / kWidestStrip * kWidestStrip;
    return (6 * rows + rows / kNarrowestStrip + 6) * full_stride(size) + (8 + kWidestStrip) * rows + 3 * kWidestStrip;
}

// A rule spelled in C++ by the build.
struct SpelledRule {
    const char* name;
    std::size_t constants;  // how many letters it takes
    bool uses_norm;
    Ask* ask;
};

// Learns from the rows in order. Neither throws nor allocates, but for threads, unless the rule does.
using Loop = Counts (*)(const Task&);

using LoopsOverRows = std::array<Loop, kRowKinds>;
using RowLoops = std::array<LoopsOverRows, kFull>;

// A batch for a learner with a kernel: its rows as coordinates in the span of the support (kernel.hpp). The task's rows
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

struct KernelLoops {
    KernelLoop first_order, first_order_with_norm, second_order;
};

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

// A feature of a row that many models look at: where their entries for it begin, and its value.
struct Feature {
    std::int64_t place;
    double value;
};

// Models that go over the rows together. For each feature `entries` holds the weights of all, then, where Sigma is
// diagonal, the variances of all, so that a register takes one entry of as many models as it has lanes.
struct Bundle {
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

// Learns from the rows in order, with each model of the bundle what its own loop would, bit for bit. Neither throws nor
// allocates unless a rule does.
using BundleLoop = void (*)(const Bundle&, const Rows&, const std::int8_t* labels);

struct BundleLoops {
    std::int64_t width;  // lanes of a register
    std::array<BundleLoop, kFull> loops;
};

}  // namespace scwlearn
