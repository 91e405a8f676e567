// The mixture of the members of a committee: log-odds of the calibrated members, weighted by an online logistic
// regression (docs/committee.md). Nothing here throws or allocates.
//
// Two classes, from the log-odds z_m that member m gives the second:
//   u = sum over m of w_m z_m                     P = 1/(1 + exp(-u))
// Several classes, from the log-probabilities z_mr:
//   u_r = sum over m of w_m z_mr                  P = softmax(u)
// The weights minimise the log-loss of the rows so far, as a parabola around the weights at the time of each row, plus
// kPriorRows/2 |w - 1/M|^2, times the mean weight of the rows. Old rows fade. The curvature of a row is that of its
// log-loss or, if that is more, the outer product of the gradient with itself: the curvature of a sure mistake is nearly
// 0, and the step would have no bound.
#pragma once

#include "calibrate/calibration.hpp"

namespace scwlearn::calibration {

// These constants were tuned on data; results depend little on them.

// Weight of the prior, at which all members have the same weight and the weights sum to 1.
inline constexpr double kPriorRows = 10.0;
// Each row makes earlier ones count for this much less, so that the weights follow drift.
inline constexpr double kKept = 0.9995;
// Bound on the log-odds of a member, so that none can outvote all others alone.
inline constexpr double kSurest = 16.0;
inline constexpr std::int64_t kMostMembers = 16;
// After the first kSlowStart rows, the weights are recomputed once per this many rows.
inline constexpr std::int64_t kRowsPerStep = 16;

// What a member says about consecutive rows: their scores (one, or one per class), and the variance of the largest.
// Strides are the distances between two rows.
struct MemberScores {
    const double* scores;
    std::int64_t score_stride;
    const double* variances;
    std::int64_t variance_stride;

    const double* scores_at(std::int64_t row) const noexcept { return scores + row * score_stride; }
    double variance_at(std::int64_t row) const noexcept { return variances[row * variance_stride]; }
};

// A view of the state of a mixture: weights, pull, curvature, the weight and the number of rows, then the calibration
// curve of each member.
class Mixing {
public:
    Mixing(double* state, std::int64_t members, std::int64_t scores, const CalibrationLoops& loops) noexcept
        : state_(state), members_(members), scores_(scores), loops_(loops) {}

    static std::int64_t own_entries(std::int64_t members) noexcept { return members * (2 + members) + 2; }
    static std::int64_t curve_entries(std::int64_t scores) noexcept { return kCurveEntries + scores * kScoreEntries; }
    static std::int64_t entries(std::int64_t members, std::int64_t scores) noexcept {
        return own_entries(members) + members * curve_entries(scores);
    }
    // Numbers that `mix` and `learn` need as scratch, if there are several classes.
    static std::int64_t work(std::int64_t members, std::int64_t scores) noexcept { return (members + 4) * scores; }

    void start(double window) noexcept {
        std::fill(state_, state_ + own_entries(members_), 0.0);
        std::fill(weights(), weights() + members_, 1.0 / static_cast<double>(members_));
        for (std::int64_t m = 0; m < members_; ++m) curve(m).start(window);
    }

    Curve curve(std::int64_t m) const noexcept {
        return {state_ + own_entries(members_) + m * curve_entries(scores_), scores_};
    }

    double* weights() const noexcept { return state_; }
    double* pull() const noexcept { return state_ + members_; }
    double* curvature() const noexcept { return state_ + 2 * members_; }
    double& rows() const noexcept { return state_[own_entries(members_) - 1]; }
    double& weight() const noexcept { return state_[own_entries(members_) - 2]; }  // of all rows

    // Computes the mixed log-odds of each row (two classes), or the mixed log-probability of each class up to a
    // constant, given the looks of each member; -infinity for a class that is not known.
    void mix(const MemberScores* looks, std::int64_t count, double* mixed, double* work) const noexcept {
        if (!is_binary()) {
            for (std::int64_t i = 0; i < count; ++i) mix_classes(looks, i, mixed + i * scores_, work);
            return;
        }
        Column columns[kMostMembers];
        for (std::int64_t first = 0; first < count; first += kRowsPerStep)
            mix_binary(looks, first, std::min(count - first, kRowsPerStep), mixed + first, columns);
    }

    // Also learns from each row in turn, of class label(row). A weight(row) of 0 changes nothing, nor does a row that
    // introduces its class.
    template <class Label, class Weight>
    void learn(const MemberScores* looks, std::int64_t count, const Label& label, const Weight& weight, double* mixed,
               double* work) noexcept {
        for (std::int64_t first = 0, together = 1; first < count; first += together) {
            double* const to = mixed + first * scores_;
            if (is_binary()) {
                together = std::min(count - first, rows_until_change());
                learn_binary(looks, first, together, label, weight, to);
            } else {
                mix_classes(looks, first, to, work);
                if (weight(first) > 0.0) learn_classes(looks, first, label(first), weight(first), to, work);
            }
        }
    }

    // Recomputes the weights from the sums.
    void weigh() noexcept {
        const double prior = kPriorRows * (rows() > 0.0 ? weight() / rows() : 1.0);
        const double equal = 1.0 / static_cast<double>(members_);
        double matrix[kMostMembers * kMostMembers], target[kMostMembers];
        for (std::int64_t i = 0; i < members_; ++i) {
            target[i] = pull()[i] + prior * equal;
            for (std::int64_t j = 0; j <= i; ++j)
                matrix[i * members_ + j] = curvature()[i * members_ + j] + (i == j ? prior : 0.0);
        }
        solve(matrix, target);
        for (std::int64_t i = 0; i < members_; ++i)
            if (!std::isfinite(target[i])) return;
        std::copy(target, target + members_, weights());
    }

private:
    // What a curve computes for a few rows of two classes.
    struct Column {
        BinaryColumns<kRowsPerStep> columns;
        double odds[kRowsPerStep];
        bool sound[kRowsPerStep];
    };

    bool is_binary() const noexcept { return scores_ == 1; }
    static bool is_known(double score) noexcept { return score > -std::numeric_limits<double>::infinity(); }
    double* scratch(double* work) const noexcept { return work + members_ * scores_; }

    // A member whose numbers overflowed says nothing.
    bool is_sound(const double* scores, double variance) const noexcept {
        if (!(variance >= 0.0 && std::isfinite(variance))) return false;
        if (is_binary()) return std::isfinite(*scores);
        return std::all_of(scores, scores + scores_, [](double score) { return score < HUGE_VAL; });
    }

    // A lower bound on the number of rows, up to kRowsPerStep, after which weights or curves change. Two classes.
    std::int64_t rows_until_change() const noexcept {
        double rows = rows_until_due();
        for (std::int64_t m = 0; m < members_; ++m) rows = std::min(rows, curve(m).rows_until_due());
        return rows > 1.0 ? static_cast<std::int64_t>(rows) : 1;
    }

    void mix_binary(const MemberScores* looks, std::int64_t first, std::int64_t count, double* mixed,
                    Column* columns) const noexcept {
        for (std::int64_t m = 0; m < members_; ++m) look(curve(m), looks[m], first, count, columns[m]);
        for (std::int64_t i = 0; i < count; ++i) {
            mixed[i] = 0.0;
            for (std::int64_t m = 0; m < members_; ++m) mixed[i] += weights()[m] * columns[m].odds[i];
        }
    }

    // Computes the log-odds that a member gives the second class, and what its curve learns from.
    void look(const Curve& curve, const MemberScores& looks, std::int64_t first, std::int64_t count,
              Column& to) const noexcept {
        alignas(64) double scores[kRowsPerStep], variances[kRowsPerStep];
        for (std::int64_t i = 0; i < count; ++i) {
            const double score = *looks.scores_at(first + i), variance = looks.variance_at(first + i);
            to.sound[i] = is_sound(&score, variance);
            scores[i] = to.sound[i] ? score : 0.0;
            variances[i] = to.sound[i] ? variance : 0.0;
        }
        pad(scores, count);
        pad(variances, count);
        const BinaryRows rows = to.columns.rows(count);
        loops_.look(curve.line(), scores, variances, rows);
        const bool has_slope = curve.has_slope();
        for (std::int64_t i = 0; i < count; ++i) {
            to.odds[i] = has_slope ? clipped(curve.log_odds(rows.line[i], {rows.knot[i], rows.near[i]}), kSurest)
                                   : guess(noisy(scores[i], variances[i]));
            if (!to.sound[i]) to.odds[i] = 0.0;
        }
    }

    // Neither the weights nor a curve change before the last of these rows has been learned, so that all can be mixed
    // first.
    template <class Label, class Weight>
    void learn_binary(const MemberScores* looks, std::int64_t first, std::int64_t count, const Label& label,
                      const Weight& weight, double* mixed) noexcept {
        Column columns[kMostMembers];
        mix_binary(looks, first, count, mixed, columns);
        alignas(64) double targets[kRowsPerStep], weights[kRowsPerStep], lines[kRowsPerStep], exponentials[kRowsPerStep];
        for (std::int64_t i = 0; i < count; ++i) {
            targets[i] = label(first + i) == 1 ? 1.0 : 0.0;
            weights[i] = weight(first + i);
            lines[i] = mixed[i];
        }
        pad(lines, count);
        loops_.exponentials(lines, count, exponentials);
        for (std::int64_t i = 0; i < count; ++i) {
            if (!(weights[i] > 0.0)) continue;
            learn_row(columns, i, mixed[i], sigmoid(mixed[i], exponentials[i]), targets[i], weights[i]);
            if (is_due()) weigh();
        }
        for (std::int64_t m = 0; m < members_; ++m) {
            const BinaryRows rows = columns[m].columns.rows(count);
            loops_.exponentials(rows.line, count, rows.exponential);
            for (std::int64_t i = 0; i < count; ++i) {
                rows.targets[i] = targets[i];
                rows.weights[i] = columns[m].sound[i] ? weights[i] : 0.0;
            }
            pad(rows.targets, count);
            pad(rows.weights, count);
            curve(m).learn(rows, loops_);
        }
    }

    void mix_classes(const MemberScores* looks, std::int64_t row, double* mixed, double* work) const noexcept {
        double* const z = work;
        for (std::int64_t m = 0; m < members_; ++m)
            look_at_classes(m, looks[m].scores_at(row), looks[m].variance_at(row), z + m * scores_, work);
        combine(looks[0].scores_at(row), z, mixed);
    }

    void learn_classes(const MemberScores* looks, std::int64_t row, std::int64_t label, double weight, const double* mixed,
                       double* work) noexcept {
        if (learn_row(work, mixed, label, weight, work) && is_due()) weigh();
        for (std::int64_t m = 0; m < members_; ++m) {
            const double *const scores = looks[m].scores_at(row), variance = looks[m].variance_at(row);
            if (is_sound(scores, variance)) curve(m).learn(scores, variance, label, weight, scratch(work));
        }
    }

    // Computes the log-probabilities that a member gives all classes.
    void look_at_classes(std::int64_t m, const double* scores, double variance, double* z, double* work) const noexcept {
        if (!is_sound(scores, variance)) return std::fill(z, z + scores_, 0.0);
        if (!curve(m).has_slope()) {
            const double top = *std::max_element(scores, scores + scores_);
            for (std::int64_t r = 0; r < scores_; ++r)
                z[r] = is_known(scores[r]) ? guess(noisy(scores[r] - top, variance)) : 0.0;
            return;
        }
        curve(m).probabilities(scores, variance, z, scratch(work));
        for (std::int64_t r = 0; r < scores_; ++r) z[r] = z[r] > 0.0 ? std::max(std::log(z[r]), -kSurest) : 0.0;
    }

    // A curve that has not seen a score other than 0 yet: the score relative to its noise is taken for log-odds.
    static double guess(double noisy) noexcept { return std::clamp(noisy, -1.0, 1.0); }

    void combine(const double* scores, const double* z, double* mixed) const noexcept {
        std::fill(mixed, mixed + scores_, 0.0);
        for (std::int64_t m = 0; m < members_; ++m)
            for (std::int64_t r = 0; r < scores_; ++r) mixed[r] += weights()[m] * z[m * scores_ + r];
        for (std::int64_t r = 0; r < scores_; ++r)
            if (!is_known(scores[r])) mixed[r] = scores[r];
    }

    // Whether to recompute the weights after this row: seldom, once there are many.
    bool is_due() const noexcept {
        return rows() < kSlowStart || static_cast<std::int64_t>(rows()) % kRowsPerStep == 0;
    }
    // A lower bound on the number of rows after which it is due.
    double rows_until_due() const noexcept {
        if (rows() < kSlowStart) return 1.0;
        return static_cast<double>(kRowsPerStep - static_cast<std::int64_t>(rows()) % kRowsPerStep);
    }

    // Counts a row; returns the factor by which older rows fade.
    double enter(double weight_of_row) noexcept {
        rows() += 1.0;
        weight() += std::min(weight_of_row, kLargestWeight);
        return weight_of_row == 1.0 ? kKept : std::pow(kKept, std::min(weight_of_row, 1.0));
    }

    void learn_row(const Column* columns, std::int64_t row, double mixed, const Sigmoid<double>& of_mixed, double target,
                   double weight) noexcept {
        const auto [p, spread] = of_mixed;
        const double off = target - p;
        const double kept = enter(weight), w = std::min(weight, kLargestWeight), bend = w * std::max(spread, off * off);
        const double force = bend * mixed + w * off;
        for (std::int64_t i = 0; i < members_; ++i) {
            const double z = columns[i].odds[row], bent = bend * z;
            pull()[i] = pull()[i] * kept + force * z;
            double* const line = curvature() + i * members_;
            for (std::int64_t j = 0; j <= i; ++j) line[j] = line[j] * kept + bent * columns[j].odds[row];
        }
    }

    // Returns false if the row says nothing about weights.
    bool learn_row(const double* z, const double* mixed, std::int64_t label, double weight, double* work) noexcept {
        if (!is_known(mixed[label]) || std::count_if(mixed, mixed + scores_, is_known) < 2) return false;
        double* const p = scratch(work);
        const double largest = *std::max_element(mixed, mixed + scores_);
        double sum = 0.0;
        for (std::int64_t r = 0; r < scores_; ++r) sum += p[r] = is_known(mixed[r]) ? std::exp(mixed[r] - largest) : 0.0;
        double mean[kMostMembers];
        for (std::int64_t r = 0; r < scores_; ++r) p[r] /= sum;
        for (std::int64_t i = 0; i < members_; ++i) {
            mean[i] = 0.0;
            for (std::int64_t r = 0; r < scores_; ++r) mean[i] += p[r] * z[i * scores_ + r];
        }
        const double kept = enter(weight), w = std::min(weight, kLargestWeight);
        double bend[kMostMembers * kMostMembers];
        for (std::int64_t i = 0; i < members_; ++i)
            for (std::int64_t j = 0; j <= i; ++j) {
                double both = 0.0;
                for (std::int64_t r = 0; r < scores_; ++r)
                    both += p[r] * (z[i * scores_ + r] - mean[i]) * (z[j * scores_ + r] - mean[j]);
                bend[i * members_ + j] = bend[j * members_ + i] = w * both;
            }
        double off[kMostMembers], size = 0.0, sharpness = 0.0;
        for (std::int64_t i = 0; i < members_; ++i) {
            off[i] = z[i * scores_ + label] - mean[i];
            size += off[i] * off[i];
            sharpness += bend[i * members_ + i] / w;
        }
        if (size > sharpness)
            for (std::int64_t i = 0; i < members_; ++i)
                for (std::int64_t j = 0; j < members_; ++j) bend[i * members_ + j] = w * off[i] * off[j];
        for (std::int64_t i = 0; i < members_; ++i) {
            pull()[i] = pull()[i] * kept + w * off[i];
            for (std::int64_t j = 0; j < members_; ++j) pull()[i] += bend[i * members_ + j] * weights()[j];
            double* const line = curvature() + i * members_;
            for (std::int64_t j = 0; j <= i; ++j) line[j] = line[j] * kept + bend[i * members_ + j];
        }
        return true;
    }

    // Solves matrix x = target in place, by Cholesky's factors; only the lower half of the matrix is read.
    void solve(double* matrix, double* target) const noexcept {
        const std::int64_t n = members_;
        for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t k = 0; k < j; ++k) matrix[j * n + j] -= matrix[j * n + k] * matrix[j * n + k];
            matrix[j * n + j] = std::sqrt(matrix[j * n + j]);
            for (std::int64_t i = j + 1; i < n; ++i) {
                for (std::int64_t k = 0; k < j; ++k) matrix[i * n + j] -= matrix[i * n + k] * matrix[j * n + k];
                matrix[i * n + j] /= matrix[j * n + j];
            }
            for (std::int64_t k = 0; k < j; ++k) target[j] -= matrix[j * n + k] * target[k];
            target[j] /= matrix[j * n + j];
        }
        for (std::int64_t j = n; j-- > 0;) {
            for (std::int64_t k = j + 1; k < n; ++k) target[j] -= matrix[k * n + j] * target[k];
            target[j] /= matrix[j * n + j];
        }
    }

    double* state_;
    std::int64_t members_, scores_;
    const CalibrationLoops& loops_;
};

}  // namespace scwlearn::calibration
