// The state of a calibration curve, and the loops over rows of two classes, which learn in columns
// (loops/calibration_loops.cpp).
#pragma once

#include <array>

#include "calibrate/curve.hpp"
#include "core/interface.hpp"

namespace scwlearn {

// The part of the state that all scores share, in memory that NumPy owns; a ScoreState per score follows it.
// `curvature` and `pull` are the log-likelihood as a parabola around the line at the time of each row: z z', and
// z z'(a, b, c) plus the gradient.
struct CurveState {
    calibration::Fading fading;
    calibration::Units units;
    calibration::Sums<3> curvature;  // of the slopes: 00 01 11
    calibration::Sums<2> pull;
    double slopes[2];
    calibration::Knots knots;
};

// The constant c of a score, and its rows and columns of the parabola. Those between two classes are left out: the
// matrix is then too large, never too small, and the steps are a little short.
struct ScoreState {
    calibration::Sums<4> sums;  // curvature of the constant, cross terms with both slopes, pull
    double constant;
};
static_assert(std::is_standard_layout_v<CurveState> && std::is_trivially_copyable_v<CurveState>);
static_assert(std::is_standard_layout_v<ScoreState> && std::is_trivially_copyable_v<ScoreState>);

inline constexpr std::int64_t kCurveEntries = sizeof(CurveState) / sizeof(double);
inline constexpr std::int64_t kScoreEntries = sizeof(ScoreState) / sizeof(double);

namespace calibration {

// The sums of the line of a binary curve. Always inlined: every instruction set has its own code.
[[gnu::always_inline]] inline std::array<double*, kLineSums> line_sums(CurveState& shared, ScoreState& own) noexcept {
    double *const square = shared.units.square.of, *const curvature = shared.curvature.of, *const pull = shared.pull.of;
    double* const sums = own.sums.of;
    return {square, square + 1, curvature, curvature + 1, curvature + 2, pull, pull + 1,
            sums,   sums + 1,   sums + 2,  sums + 3};
}

// Rows of two classes, in columns that are filled up to a multiple of kCalibrationPadding numbers.
struct BinaryRows {
    std::int64_t count;
    double *noisy, *sure, *line, *knot, *near;  // what the curve computes from the scores
    double* exponential;                        // exp(-|line|)
    double* targets;                            // 1 for the second class, else 0
    double* weights;                            // 0 leaves a row out
};

// Room for the columns.
template <std::int64_t kMost>
struct BinaryColumns {
    static_assert(kMost % kCalibrationPadding == 0);
    alignas(64) double columns[8][kMost];

    BinaryRows rows(std::int64_t count) noexcept {
        return {count, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6], columns[7]};
    }
};

// Fills up a column of `count` numbers with zeros.
inline void pad(double* numbers, std::int64_t count) noexcept {
    std::fill(numbers + count, numbers + (count + kCalibrationPadding - 1) / kCalibrationPadding * kCalibrationPadding, 0.0);
}

}  // namespace calibration

// The loops of a calibration curve over rows of two classes, in registers. Columns are padded; the padding is read and
// written.
struct CalibrationLoops {
    // Computes what the curve learns from, except for the exponentials.
    void (*look)(const calibration::Line& line, const double* scores, const double* variances,
                 const calibration::BinaryRows& to);
    // Computes exp(-|x|), with the same bits for all instruction sets, but not those of std::exp.
    void (*exponentials)(const double* x, std::int64_t count, double* to);
    // Adds the rows from `first` to `last` to all sums. Their weights include those of the fading.
    void (*learn)(const calibration::BinaryRows& rows, std::int64_t first, std::int64_t last, CurveState& shared,
                  ScoreState& own);
};

}  // namespace scwlearn
