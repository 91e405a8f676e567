// Probabilities from scores: a curve learned online from the scores that examples had before the model learned from
// them (docs/probabilities.md). Nothing here throws or allocates.
//
// One score f per example, with variance v (binary):
//   u = a f/sqrt(1 + v) + b f/(sqrt(v) + |f|/8) + c        a, b >= 0
//   P = 1/(1 + exp(-(u + shift(u))))                        shift: piecewise linear, u + shift(u) never falls
// One score per class:
//   u_r = a z_r + b z'_r + c_r         z_r, z'_r: the same two signals of F_r - F_top, with the variance of the top class
//   p   = softmax(u)
//   P_r ~ p_r with its log-odds against all other classes shifted by one curve for all classes, normalized to sum to 1
#pragma once

#include <limits>

#include "calibrate/state.hpp"

namespace scwlearn::calibration {

// Prior of the constant of a class, in rows for which the class is exactly as frequent as its scores say.
inline constexpr double kClassPrior = 3.0;
// 1/(1 + exp(8)): smaller probabilities lie on the first knot, and need no logarithm.
inline constexpr double kTail = 0.00033535013046647811;
// Lower bound on the probability of a known class.
inline constexpr double kLeastProbability = 1e-13;
// Bound that keeps the difference of two scores finite.
inline constexpr double kFarBelow = -1e300;

// A view of the state for `scores` scores per example: 1 (binary), or one per class.
class Curve {
public:
    Curve(double* state, std::int64_t scores) noexcept
        : shared_(*reinterpret_cast<CurveState*>(state)),
          own_(reinterpret_cast<ScoreState*>(state + kCurveEntries)),
          scores_(scores) {}

    const CurveState& shared() const noexcept { return shared_; }
    double constant(std::int64_t r) const noexcept { return own_[r].constant; }
    bool has_slope() const noexcept { return shared_.slopes[0] > 0.0 || shared_.slopes[1] > 0.0; }

    // Forgets everything. The state of a class that is added later is all zeros.
    void start(double window) noexcept {
        shared_ = CurveState{};
        shared_.fading.start(window);
        shared_.units.limit[0] = shared_.units.limit[1] = kNoLimit;
        std::fill(own_, own_ + scores_, ScoreState{});
    }

    // Learns from one row: its scores before the model learned from it, the variance of the largest, and its class (0
    // or 1 in the binary case). A weight of 0 changes nothing. A class whose score is -infinity was unknown and takes
    // no part; the row that introduces it says nothing about probabilities. `work` has room for 3 numbers per class.
    void learn(const double* scores, double variance, std::int64_t label, double weight, double* work) noexcept {
        if (!(weight > 0.0)) return;
        if (is_binary())
            learn_binary(look_at(line(), *scores, variance), label == 1 ? 1.0 : 0.0, weight);
        else if (!learn_classes(scores, variance, label, weight, work))
            return;
        refit();
    }

    Line line() const noexcept {
        const double *const slopes = shared_.slopes, *const limit = shared_.units.limit;
        return {{slopes[0], slopes[1]}, own_[0].constant, {limit[0], limit[1]}};
    }

    // P(+1) in the binary case; never 0 or 1.
    double probability(double score, double variance) const noexcept {
        const auto seen = look_at(line(), score, variance);
        return sigmoid(log_odds(seen.line, seen.at)).p;
    }
    double log_odds(double line, Place<double> at) const noexcept { return shared_.knots.shifted(line, at); }

    // Learns from rows of two classes; no more than `rows_until_due`. Changes their weights.
    void learn(const BinaryRows& rows, const CalibrationLoops& loops) noexcept {
        for (std::int64_t row = 0; row < rows.count;) {
            const std::int64_t next = weigh(rows, row);
            loops.learn(rows, row, next, shared_, own_[0]);
            row = next;
            refit();
        }
    }

    // A lower bound on the number of rows after which the curve is refitted.
    double rows_until_due() const noexcept { return shared_.fading.rows_until_due(); }

    // P of each class, which sum to 1; only a class whose score is -infinity gets 0. P(+1) alone in the binary case.
    // `work` has room for 2 numbers per class.
    void probabilities(const double* scores, double variance, double* out, double* work) const noexcept {
        if (is_binary()) {
            *out = probability(*scores, variance);
            return;
        }
        const std::int64_t top = signals(scores, variance, work, work + scores_);
        if (!is_known(scores[top])) return std::fill(out, out + scores_, 1.0 / static_cast<double>(scores_));
        const double part = 1.0 / exponentials(scores, work, work + scores_, out);
        const double tail = std::exp(shared_.knots.shift[0]);
        double total = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) {
            if (!is_known(scores[r])) continue;
            const double p = out[r] * part;
            const double odds = p < kTail ? p / (1.0 - p) * tail : std::exp(shifted(logit(p)));
            out[r] = std::max(odds / (1.0 + odds), kLeastProbability);
            total += out[r];
        }
        const double share = 1.0 / total;
        for (std::int64_t r = 0; r < scores_; ++r) out[r] *= share;
    }

    // Becomes what a binary curve says about the first two classes, of which the first was -1. One curve for both
    // becomes one for each against the other, so that each row counts twice.
    void expand(const Curve& binary) noexcept {
        const ScoreState& from = binary.own_[0];
        start(binary.shared_.fading.window);
        shared_ = binary.shared_;
        shared_.knots.add(binary.shared_.knots.mirrored());
        double positive = 0.0;
        for (int k = 0; k < kKnots; ++k) positive += binary.shared_.knots.expected.of[k];
        const double force = from.sums[3] - from.sums[0] * from.constant;
        const double expected[] = {binary.shared_.fading.total - positive, positive};
        for (int r = 0; r < 2; ++r) {
            const double sign = r == 0 ? -1.0 : 1.0;
            const double constant = sign * from.constant / 2.0;
            own_[r] = {{{expected[r], sign * from.sums[1], sign * from.sums[2], sign * force + expected[r] * constant}},
                       constant};
        }
        shared_.knots.draw(shared_.fading.gain);
    }

    // Copies another curve, its score i to places[i] here; the other scores start from nothing.
    void arrange(const Curve& other, const std::int64_t* places) noexcept {
        start(other.shared_.fading.window);
        shared_ = other.shared_;
        for (std::int64_t i = 0; i < other.scores_; ++i) own_[places[i]] = other.own_[i];
    }

    // Adds what `other` learned, as if its rows had been interleaved. It has as many scores, and is used as scratch.
    void add(Curve other) noexcept {
        if (!(other.shared_.fading.rows > 0.0)) return;
        if (!(shared_.fading.rows > 0.0)) {
            shared_ = other.shared_;
            std::copy(other.own_, other.own_ + scores_, own_);
            return;
        }
        settle();
        other.settle();
        shared_.fading.add(other.shared_.fading);
        shared_.units.square.add(other.shared_.units.square);
        shared_.curvature.add(other.shared_.curvature);
        shared_.pull.add(other.shared_.pull);
        shared_.knots.add(other.shared_.knots);
        for (std::int64_t r = 0; r < scores_; ++r) own_[r].sums.add(other.own_[r].sums);
        draw();
    }

    // Multiplies the weight of everything learned so far by `part`, and sets the row count.
    void thin(double part, double rows) noexcept {
        shared_.fading.thin(part, rows);
        scale(part);
        draw();
    }

    // Turns a binary curve of P(+1) into that of P(-1), for scores of the opposite sign.
    void mirror() noexcept {
        ScoreState& own = own_[0];
        for (double* odd : {&own.sums[1], &own.sums[2], &own.sums[3], &own.constant}) *odd = -*odd;
        shared_.knots = shared_.knots.mirrored();
    }

private:
    bool is_binary() const noexcept { return scores_ == 1; }
    static bool is_known(double score) noexcept { return score > -std::numeric_limits<double>::infinity(); }
    double shifted(double u) const noexcept { return shared_.knots.shifted(u, place(u)); }
    static double logit(double p) noexcept { return std::min(std::log(p / std::max(1.0 - p, 0.0)), kLargestLogit); }

    void refit() noexcept {
        if (shared_.fading.gain > kLargestGain) settle();
        if (shared_.fading.is_due()) draw();
    }

    // Computes the weights of rows in the sums until these must be rescaled; returns the number of the next row.
    std::int64_t weigh(const BinaryRows& rows, std::int64_t row) noexcept {
        // A local variable, because the compiler would otherwise load and store it for each row.
        Fading fading = shared_.fading;
        for (; row < rows.count && !(fading.gain > kLargestGain); ++row)
            if (rows.weights[row] > 0.0) rows.weights[row] = fading.enter(rows.weights[row]);
        shared_.fading = fading;
        return row;
    }

    void learn_binary(const Look<double>& seen, double target, double weight) noexcept {
        const auto at_line = sigmoid(seen.line);
        const double w = shared_.fading.enter(weight);
        const auto terms = terms_of(seen.noisy, seen.sure, seen.line, at_line, w, target);
        const auto sums = line_sums(shared_, own_[0]);
        for (std::size_t i = 0; i < kLineSums; ++i) *sums[i] += terms.of[i];
        shared_.knots.see(seen.at, w, at_line.p, target);
    }

    // Returns false if the row says nothing about probabilities.
    bool learn_classes(const double* scores, double variance, std::int64_t label, double weight,
                       double* work) noexcept {
        if (!is_known(scores[label]) || std::count_if(scores, scores + scores_, is_known) < 2) return false;
        double *z = work, *zz = work + scores_, *p = work + 2 * scores_;
        const std::int64_t top = signals(scores, variance, z, zz);
        const double part = 1.0 / exponentials(scores, z, zz, p);
        for (std::int64_t r = 0; r < scores_; ++r) p[r] *= part;
        const double w = shared_.fading.enter(weight);
        measure_margin(scores, z, zz, top, w);
        learn_knots(scores, p, label, w);
        learn_line(z, zz, p, label, w);
        return true;
    }

    // Computes both signals of each class, relative to the top class; returns the top class.
    std::int64_t signals(const double* scores, double variance, double* z, double* zz) const noexcept {
        const std::int64_t top = std::max_element(scores, scores + scores_) - scores;
        const double deviation = std::sqrt(variance), unit = noisy(1.0, variance);
        const double* limit = shared_.units.limit;
        for (std::int64_t r = 0; r < scores_; ++r) {
            const double below = std::max(scores[r] - scores[top], kFarBelow);
            z[r] = std::max(below * unit, -limit[0]);
            zz[r] = std::max(sure(below, deviation), -limit[1]);
        }
        return top;
    }

    // Computes exp(u) of each class, scaled so that the largest is 1; returns the sum.
    double exponentials(const double* scores, const double* z, const double* zz, double* p) const noexcept {
        double largest = -kNoLimit, sum = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) {
            if (!is_known(scores[r])) continue;
            p[r] = shared_.slopes[0] * z[r] + shared_.slopes[1] * zz[r] + own_[r].constant;
            largest = std::max(largest, p[r]);
        }
        for (std::int64_t r = 0; r < scores_; ++r)
            sum += p[r] = is_known(scores[r]) ? std::exp(p[r] - largest) : 0.0;
        return sum;
    }

    // The typical size of a signal is that of the margin between the two best classes, as in the binary case.
    void measure_margin(const double* scores, const double* z, const double* zz, std::int64_t top, double w) noexcept {
        double margin = -kNoLimit, sure_margin = -kNoLimit;
        for (std::int64_t r = 0; r < scores_; ++r)
            if (r != top && is_known(scores[r])) {
                margin = std::max(margin, z[r]);
                sure_margin = std::max(sure_margin, zz[r]);
            }
        shared_.units.square[0] += w * margin * margin;
        shared_.units.square[1] += w * sure_margin * sure_margin;
    }

    // Each class against the others; those in the tail lie on the first knot.
    void learn_knots(const double* scores, const double* p, std::int64_t label, double w) noexcept {
        double tail = 0.0, expected = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) {
            if (!is_known(scores[r])) continue;
            if (p[r] < kTail) {
                tail += w;
                expected += w * p[r];
            } else {
                shared_.knots.see(place(logit(p[r])), w, p[r], r == label ? 1.0 : 0.0);
            }
        }
        shared_.knots.seen[0] += tail;
        shared_.knots.expected[0] += expected;
        if (p[label] < kTail) shared_.knots.positive[0] += w;
    }

    void learn_line(const double* z, const double* zz, const double* p, std::int64_t label, double w) noexcept {
        const double a = shared_.slopes[0], b = shared_.slopes[1];
        double mean = 0.0, sure_mean = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) {
            mean += p[r] * z[r];
            sure_mean += p[r] * zz[r];
        }
        double h00 = 0.0, h01 = 0.0, h11 = 0.0, across_0 = 0.0, across_1 = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) {
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
        for (std::int64_t r = 0; r < scores_; ++r) own_[r].sums.scale(part);
    }

    // Moves slopes and constants to the top of the parabola plus the prior, where no slope is negative; then the knots.
    void draw() noexcept {
        shared_.fading.drawn = shared_.fading.rows;
        if (!(shared_.fading.total > 0.0)) return;
        double unit[2];
        shared_.units.draw(shared_.fading.total, unit);
        const double part = 1.0 / shared_.fading.gain, prior = shared_.fading.prior();
        const double own_prior = is_binary() ? prior : kClassPrior * prior;
        double h00 = shared_.curvature[0] * part * unit[0] * unit[0] + prior;
        double h01 = shared_.curvature[1] * part * unit[0] * unit[1];
        double h11 = shared_.curvature[2] * part * unit[1] * unit[1] + prior;
        double top_0 = shared_.pull[0] * part * unit[0] + prior * kSlope;
        double top_1 = shared_.pull[1] * part * unit[1];
        // Eliminate the constants: substitute the best ones for any slopes.
        for (std::int64_t r = 0; r < scores_; ++r) {
            const Sums<4>& sums = own_[r].sums;
            const double cc = sums[0] * part + own_prior;
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
        for (std::int64_t r = 0; r < scores_; ++r) {
            const Sums<4>& sums = own_[r].sums;
            const double cc = sums[0] * part + own_prior;
            const double by_a = sums[1] * part * unit[0] * a, by_b = sums[2] * part * unit[1] * b;
            // The binary line is clamped where it is used; the order of the operations decides the last bit.
            if (is_binary())
                own_[r].constant = (sums[3] * part - by_a - by_b) / cc;
            else
                own_[r].constant = std::clamp((sums[3] * part - (by_a + by_b)) / cc, -kLargestLogit, kLargestLogit);
        }
        shared_.knots.draw(shared_.fading.gain);
    }

    CurveState& shared_;
    ScoreState* own_;
    std::int64_t scores_;
};

}  // namespace scwlearn::calibration
