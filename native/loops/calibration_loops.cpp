// The loops of a calibration curve over rows of two classes. Compiled once per instruction set, as loops/row_loops.cpp is;
// all give the same bits.
#include "calibrate/state.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

using calibration::BinaryRows;

// Instantiates the templates for vectors only: scalar versions would have the same symbols in every instruction set, and
// the linker would keep one of them for all.
void look(const calibration::Line& line, const double* scores, const double* variances, const BinaryRows& to) {
    for (std::int64_t i = 0; i < to.count; i += kWidth) {
        const auto seen = calibration::look_at(line, load(scores + i), load(variances + i));
        store(to.noisy + i, seen.noisy);
        store(to.sure + i, seen.sure);
        store(to.line + i, seen.line);
        store(to.knot + i, seen.at.knot);
        store(to.near + i, seen.at.near);
    }
}

void exponentials(const double* x, std::int64_t count, double* to) {
    for (std::int64_t i = 0; i < count; i += kWidth) store(to + i, calibration::exp_of(-calibration::size_of(load(x + i))));
}

// Computes what a register of rows adds to the sums, then adds it row by row: the order of the additions decides the last
// bits. The sums of the line are local variables, which stay in registers.
void learn(const BinaryRows& rows, std::int64_t first, std::int64_t last, CurveState& shared, ScoreState& own) {
    using namespace calibration;
    const auto sums = line_sums(shared, own);
    double totals[kLineSums];
    for (int k = 0; k < kLineSums; ++k) totals[k] = *sums[k];
    for (std::int64_t i = first - first % kWidth; i < last; i += kWidth) {
        const Vector line = load(rows.line + i), w = load(rows.weights + i), target = load(rows.targets + i);
        const auto at_line = sigmoid(line, load(rows.exponential + i));
        const auto of_line = terms_of(load(rows.noisy + i), load(rows.sure + i), line, at_line, w, target);
        const auto of_knots = shares_of(load(rows.near + i), w, at_line.p, target);
        alignas(64) double terms[kLineSums][kWidth], seen[2][kWidth], expected[2][kWidth], positive[2][kWidth];
        for (int k = 0; k < kLineSums; ++k) store(terms[k], of_line.of[k]);
        for (int side = 0; side < 2; ++side) {
            store(seen[side], of_knots.seen[side]);
            store(expected[side], of_knots.expected[side]);
            store(positive[side], of_knots.positive[side]);
        }
        const std::int64_t end = std::min(kWidth, last - i);
        for (std::int64_t lane = std::max<std::int64_t>(first - i, 0); lane < end; ++lane) {
            if (rows.weights[i + lane] == 0.0) continue;
            for (int k = 0; k < kLineSums; ++k) totals[k] += terms[k][lane];
            shared.knots.add(static_cast<int>(rows.knot[i + lane]),
                             {{seen[0][lane], seen[1][lane]},
                              {expected[0][lane], expected[1][lane]},
                              {positive[0][lane], positive[1][lane]}});
        }
    }
    for (int k = 0; k < kLineSums; ++k) *sums[k] = totals[k];
}

static_assert(kCalibrationPadding % kWidth == 0);

}  // namespace

extern constinit const CalibrationLoops calibration_loops{look, exponentials, learn};

}  // namespace scwlearn::SCWLEARN_SET
