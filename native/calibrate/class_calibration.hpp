// From the scores of any number of classes to probabilities, learned online as in calibrate/calibration.hpp.
//
//   u_r = a z_r + b z'_r + c_r         z_r, z'_r: the two signals of F_r - F_top, with the variance of the top class
//   p   = softmax(u)
//   P_r ~ p_r with its log-odds against all other classes shifted, by one curve for all classes, and scaled to sum to 1
#pragma once

#include <limits>

#include "calibrate/calibration.hpp"

namespace scwlearn {

// What all classes share, as it lies in memory that NumPy owns; behind it lies a ClassSums for each class.
struct ClassCalibration {
    calibration::Fading fading;
    calibration::Units units;
    calibration::Sums<3> curvature;  // of the slopes: 00 01 11
    calibration::Sums<2> pull;
    double slopes[2];
    calibration::Knots knots;
};

// One class: its constant, and the rows and columns of the parabola that belong to it. Those between two classes are
// left out: the matrix is then too large, never too small, and the steps are a little short.
struct ClassSums {
    calibration::Sums<4> sums;  // expected, cross with either slope, pull
    double constant;
};
static_assert(std::is_standard_layout_v<ClassCalibration> && std::is_trivially_copyable_v<ClassCalibration>);
static_assert(std::is_standard_layout_v<ClassSums> && std::is_trivially_copyable_v<ClassSums>);

inline constexpr std::int64_t kClassCalibrationEntries = sizeof(ClassCalibration) / sizeof(double);
inline constexpr std::int64_t kEntriesPerClass = sizeof(ClassSums) / sizeof(double);

namespace calibration {

// So many rows agree that a class is neither more nor less frequent than its scores say.
inline constexpr double kPriorOfClass = 3.0;
// 1/(1 + exp(8)): what is less lies on the first knot, and needs no logarithm.
inline constexpr double kTail = 0.00033535013046647811;
// No class gets less.
inline constexpr double kLeastChance = 1e-13;
// So that a difference of two scores stays finite.
inline constexpr double kFarBelow = -1e300;

// The state of a model of so many classes.
class ClassCurve {
public:
    ClassCurve(double* state, std::int64_t classes) noexcept
        : shared_(*reinterpret_cast<ClassCalibration*>(state)),
          own_(reinterpret_cast<ClassSums*>(state + kClassCalibrationEntries)),
          classes_(classes) {}

    // A class that comes later has zeros as well.
    void start(double window) noexcept {
        shared_ = ClassCalibration{};
        shared_.fading.start(window);
        shared_.units.limit[0] = shared_.units.limit[1] = kNoLimit;
        std::fill(own_, own_ + classes_, ClassSums{});
    }

    // One more row: all scores, and the variance of the class that has the largest, before the model learned from it.
    // A class whose score is -infinity was not known then and takes no part; the row that brings it says nothing of
    // probabilities. A weight of 0 changes nothing. `work` has room for three numbers for each class.
    void learn(const double* scores, double variance, std::int64_t label, double weight, double* work) noexcept {
        if (!(weight > 0.0) || !is_known(scores[label])) return;
        if (std::count_if(scores, scores + classes_, is_known) < 2) return;
        double *z = work, *zz = work + classes_, *p = work + 2 * classes_;
        const std::int64_t top = signals(scores, variance, z, zz);
        const double part = 1.0 / weigh(scores, z, zz, p);
        for (std::int64_t r = 0; r < classes_; ++r) p[r] *= part;
        const double w = shared_.fading.enter(weight);
        measure_margin(scores, z, zz, top, w);
        learn_knots(scores, p, label, w);
        learn_line(z, zz, p, label, w);
        if (shared_.fading.gain > kLargestGain) settle();
        if (shared_.fading.is_due()) draw();
    }

    // Sums to 1; none is 0 but for a class whose score is -infinity. `work` has room for two numbers for each class.
    void probabilities(const double* scores, double variance, double* out, double* work) const noexcept {
        const std::int64_t top = signals(scores, variance, work, work + classes_);
        if (!is_known(scores[top])) return std::fill(out, out + classes_, 1.0 / static_cast<double>(classes_));
        const double part = 1.0 / weigh(scores, work, work + classes_, out);
        const double tail = std::exp(shared_.knots.shift[0]);
        double total = 0.0;
        for (std::int64_t r = 0; r < classes_; ++r) {
            if (!is_known(scores[r])) continue;
            const double p = out[r] * part;
            const double odds = p < kTail ? p / (1.0 - p) * tail : std::exp(shared_.knots.shifted(logit(p)));
            out[r] = std::max(odds / (1.0 + odds), kLeastChance);
            total += out[r];
        }
        const double share = 1.0 / total;
        for (std::int64_t r = 0; r < classes_; ++r) out[r] *= share;
    }

    // From the curve of two classes, the first of which was -1. It was one curve for both, and this is one for each
    // against the other, so that each has two rows where there was one.
    void become(const Calibration& two) noexcept {
        start(two.fading.window);
        shared_.fading = two.fading;
        shared_.units = two.units;
        for (int i = 0; i < 3; ++i) shared_.curvature[i] = two.curvature[i];
        for (int i = 0; i < 2; ++i) shared_.pull[i] = two.pull[i];
        for (int i = 0; i < 2; ++i) shared_.slopes[i] = two.line[i];
        shared_.knots = two.knots;
        shared_.knots.add(two.knots.mirrored());
        double positive = 0.0;
        for (int k = 0; k < kKnots; ++k) positive += two.knots.expected.of[k];
        const double force = two.pull[2] - two.curvature[5] * two.line[2];
        const double expected[] = {two.fading.total - positive, positive};
        for (int r = 0; r < 2; ++r) {
            const double sign = r == 0 ? -1.0 : 1.0;
            const double constant = sign * two.line[2] / 2.0;
            own_[r] = {{{expected[r], sign * two.curvature[3], sign * two.curvature[4],
                         sign * force + expected[r] * constant}},
                       constant};
        }
        shared_.knots.draw(shared_.fading.gain);
    }

    // As if the rows that `other` learned from had come between one's own. It has the same classes, and is used up.
    void add(ClassCurve other) noexcept {
        if (!(other.shared_.fading.rows > 0.0)) return;
        if (!(shared_.fading.rows > 0.0)) {
            shared_ = other.shared_;
            std::copy(other.own_, other.own_ + classes_, own_);
            return;
        }
        settle();
        other.settle();
        shared_.fading.add(other.shared_.fading);
        shared_.units.square.add(other.shared_.units.square);
        shared_.curvature.add(other.shared_.curvature);
        shared_.pull.add(other.shared_.pull);
        shared_.knots.add(other.shared_.knots);
        for (std::int64_t r = 0; r < classes_; ++r) own_[r].sums.add(other.own_[r].sums);
        draw();
    }

    // Let everything so far count for so much of what it did, and for so many rows.
    void thin(double part, double rows) noexcept {
        shared_.fading.thin(part, rows);
        scale(part);
        draw();
    }

private:
    static bool is_known(double score) noexcept { return score > -std::numeric_limits<double>::infinity(); }
    static double logit(double p) noexcept { return std::min(std::log(p / std::max(1.0 - p, 0.0)), kLargestLogit); }

    // The two signals of how far each class is below the top one, which has zeros.
    std::int64_t signals(const double* scores, double variance, double* z, double* zz) const noexcept {
        const std::int64_t top = std::max_element(scores, scores + classes_) - scores;
        const double deviation = std::sqrt(variance), unit = noisy(1.0, variance);
        const double* limit = shared_.units.limit;
        for (std::int64_t r = 0; r < classes_; ++r) {
            const double below = std::max(scores[r] - scores[top], kFarBelow);
            z[r] = std::max(below * unit, -limit[0]);
            zz[r] = std::max(sure(below, deviation), -limit[1]);
        }
        return top;
    }

    // exp(u), the largest of them 1; their sum.
    double weigh(const double* scores, const double* z, const double* zz, double* p) const noexcept {
        double largest = -kNoLimit, sum = 0.0;
        for (std::int64_t r = 0; r < classes_; ++r) {
            if (!is_known(scores[r])) continue;
            p[r] = shared_.slopes[0] * z[r] + shared_.slopes[1] * zz[r] + own_[r].constant;
            largest = std::max(largest, p[r]);
        }
        for (std::int64_t r = 0; r < classes_; ++r)
            sum += p[r] = is_known(scores[r]) ? std::exp(p[r] - largest) : 0.0;
        return sum;
    }

    // The usual size of a signal is that of the margin between the two best, as with two classes.
    void measure_margin(const double* scores, const double* z, const double* zz, std::int64_t top, double w) noexcept {
        double margin = -kNoLimit, sure_margin = -kNoLimit;
        for (std::int64_t r = 0; r < classes_; ++r)
            if (r != top && is_known(scores[r])) {
                margin = std::max(margin, z[r]);
                sure_margin = std::max(sure_margin, zz[r]);
            }
        shared_.units.square[0] += w * margin * margin;
        shared_.units.square[1] += w * sure_margin * sure_margin;
    }

    // Each class against the others. Those in the tail lie on the first knot.
    void learn_knots(const double* scores, const double* p, std::int64_t label, double w) noexcept {
        double tail = 0.0, expected = 0.0;
        for (std::int64_t r = 0; r < classes_; ++r) {
            if (!is_known(scores[r])) continue;
            if (p[r] < kTail) {
                tail += w;
                expected += w * p[r];
            } else {
                shared_.knots.see(place(logit(p[r])), w, p[r], r == label);
            }
        }
        shared_.knots.seen[0] += tail;
        shared_.knots.expected[0] += expected;
        if (p[label] < kTail) shared_.knots.positive[0] += w;
    }

    void learn_line(const double* z, const double* zz, const double* p, std::int64_t label, double w) noexcept {
        const double a = shared_.slopes[0], b = shared_.slopes[1];
        double mean = 0.0, sure_mean = 0.0;
        for (std::int64_t r = 0; r < classes_; ++r) {
            mean += p[r] * z[r];
            sure_mean += p[r] * zz[r];
        }
        double h00 = 0.0, h01 = 0.0, h11 = 0.0, across_0 = 0.0, across_1 = 0.0;
        for (std::int64_t r = 0; r < classes_; ++r) {
            const double expected = w * p[r];
            const double cross_0 = expected * (z[r] - mean), cross_1 = expected * (zz[r] - sure_mean);
            h00 += cross_0 * (z[r] - mean);
            h01 += cross_0 * (zz[r] - sure_mean);
            h11 += cross_1 * (zz[r] - sure_mean);
            across_0 += cross_0 * own_[r].constant;
            across_1 += cross_1 * own_[r].constant;
            Sums<4>& sums = own_[r].sums;
            sums[0] += expected;
            sums[1] += cross_0;
            sums[2] += cross_1;
            sums[3] += expected * own_[r].constant + cross_0 * a + cross_1 * b + ((r == label ? w : 0.0) - expected);
        }
        shared_.curvature[0] += h00;
        shared_.curvature[1] += h01;
        shared_.curvature[2] += h11;
        shared_.pull[0] += h00 * a + h01 * b + across_0 + w * (z[label] - mean);
        shared_.pull[1] += h01 * a + h11 * b + across_1 + w * (zz[label] - sure_mean);
    }

    void settle() noexcept { scale(shared_.fading.settle()); }

    void scale(double part) noexcept {
        shared_.units.square.scale(part);
        shared_.curvature.scale(part);
        shared_.pull.scale(part);
        shared_.knots.scale(part);
        for (std::int64_t r = 0; r < classes_; ++r) own_[r].sums.scale(part);
    }

    void draw() noexcept {
        shared_.fading.drawn = shared_.fading.rows;
        if (!(shared_.fading.total > 0.0)) return;
        double unit[2];
        shared_.units.draw(shared_.fading.total, unit);
        const double part = 1.0 / shared_.fading.gain, prior = shared_.fading.prior();
        double h00 = shared_.curvature[0] * part * unit[0] * unit[0] + prior;
        double h01 = shared_.curvature[1] * part * unit[0] * unit[1];
        double h11 = shared_.curvature[2] * part * unit[1] * unit[1] + prior;
        double top_0 = shared_.pull[0] * part * unit[0] + prior * kSlope;
        double top_1 = shared_.pull[1] * part * unit[1];
        // What is left once the best constants for any slopes are put in.
        for (std::int64_t r = 0; r < classes_; ++r) {
            const Sums<4>& sums = own_[r].sums;
            const double cc = sums[0] * part + kPriorOfClass * prior;
            const double c0 = sums[1] * part * unit[0], c1 = sums[2] * part * unit[1], top_c = sums[3] * part;
            h00 -= c0 * c0 / cc;
            h01 -= c0 * c1 / cc;
            h11 -= c1 * c1 / cc;
            top_0 -= c0 * top_c / cc;
            top_1 -= c1 * top_c / cc;
        }
        const auto [a, b] = least(h00, h01, h11, top_0, top_1, prior);
        shared_.slopes[0] = a * unit[0];
        shared_.slopes[1] = b * unit[1];
        for (std::int64_t r = 0; r < classes_; ++r) {
            const Sums<4>& sums = own_[r].sums;
            const double cross = sums[1] * part * unit[0] * a + sums[2] * part * unit[1] * b;
            const double constant = (sums[3] * part - cross) / (sums[0] * part + kPriorOfClass * prior);
            own_[r].constant = std::clamp(constant, -kLargestLogit, kLargestLogit);
        }
        shared_.knots.draw(shared_.fading.gain);
    }

    ClassCalibration& shared_;
    ClassSums* own_;
    std::int64_t classes_;
};

}  // namespace calibration
}  // namespace scwlearn
