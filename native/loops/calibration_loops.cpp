// The functions of a calibration curve that take long, in registers. Compiled once per instruction set, as
// loops/row_loops.cpp is; all give the same bits.
#include "calibrate/curve.hpp"
#include "core/interface.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// Instantiates the templates for vectors only: scalar versions would have the same symbols in every instruction set, and
// the linker would keep one of them for all.
void signals(const double* scores, const double* variances, std::int64_t count, double* noisy, double* sure) {
    for (std::int64_t i = 0; i < count; i += kWidth) {
        const Vector score = load(scores + i), variance = load(variances + i);
        store(noisy + i, calibration::noisy(score, variance));
        store(sure + i, calibration::sure(score, calibration::root_of(variance)));
    }
}

void sigmoids(const double* logits, std::int64_t count, double* p, double* spread) {
    for (std::int64_t i = 0; i < count; i += kWidth) {
        const auto of_logit = calibration::sigmoid(load(logits + i));
        store(p + i, of_logit.p);
        store(spread + i, of_logit.spread);
    }
}

static_assert(kCalibrationPadding % kWidth == 0);

}  // namespace

extern constinit const CalibrationLoops calibration_loops{signals, sigmoids};

}  // namespace scwlearn::SCWLEARN_SET
