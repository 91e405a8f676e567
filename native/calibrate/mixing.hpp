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

// A view of the state of a mixture: weights, pull, curvature, the weight and the number of rows, then the calibration
// curve of each member.
class Mixing {
public:
    Mixing(double* state, std::int64_t members, std::int64_t scores) noexcept
        : state_(state), members_(members), scores_(scores) {}

    static std::int64_t own_entries(std::int64_t members) noexcept { return members * (2 + members) + 2; }
    static std::int64_t curve_entries(std::int64_t scores) noexcept { return kCurveEntries + scores * kScoreEntries; }
    static std::int64_t entries(std::int64_t members, std::int64_t scores) noexcept {
        return own_entries(members) + members * curve_entries(scores);
    }
    // Numbers that `mix` and `learn` need as scratch.
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

    // Computes the mixed log-odds (two classes), or the mixed log-probability of each class up to a constant, from the
    // scores of each member and the variance of its largest; -infinity for a class that is not known.
    void mix(const double* const* scores, const double* variances, double* mixed, double* work) const noexcept {
        BinaryLooks unused;
        mix(scores, variances, mixed, work, unused);
    }

    // Also learns from the class of the row. A weight of 0 changes nothing, nor does a row that brings its class.
    void learn(const double* const* scores, const double* variances, std::int64_t label, double weight, double* mixed,
               double* work) noexcept {
        BinaryLooks looks;
        mix(scores, variances, mixed, work, looks);
        if (!(weight > 0.0)) return;
        double* const z = work;
        if ((is_binary() ? learn_binary(z, *mixed, label == 1, weight)
                         : learn_classes(z, mixed, label, weight, work)) &&
            is_due())
            weigh();
        for (std::int64_t m = 0; m < members_; ++m) {
            if (!is_sound(scores[m], variances[m])) continue;
            if (is_binary())
                curve(m).learn(looks[m], label == 1, weight);
            else
                curve(m).learn(scores[m], variances[m], label, weight, scratch(work));
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
    using BinaryLooks = Curve::BinaryLook[kMostMembers];

    bool is_binary() const noexcept { return scores_ == 1; }
    static bool is_known(double score) noexcept { return score > -std::numeric_limits<double>::infinity(); }
    double* scratch(double* work) const noexcept { return work + members_ * scores_; }

    // A member whose numbers overflowed says nothing.
    bool is_sound(const double* scores, double variance) const noexcept {
        if (!(variance >= 0.0 && std::isfinite(variance))) return false;
        if (is_binary()) return std::isfinite(*scores);
        return std::all_of(scores, scores + scores_, [](double score) { return score < HUGE_VAL; });
    }

    // Also keeps what the curves computed, in the binary case.
    void mix(const double* const* scores, const double* variances, double* mixed, double* work,
             BinaryLooks& looks) const noexcept {
        double* const z = work;
        for (std::int64_t m = 0; m < members_; ++m) look(m, scores[m], variances[m], looks[m], z + m * scores_, work);
        combine(scores[0], z, mixed);
    }

    // Computes the log-odds that a member gives the second class, or the log-probabilities that it gives all.
    void look(std::int64_t m, const double* scores, double variance, Curve::BinaryLook& seen, double* z,
              double* work) const noexcept {
        if (!is_sound(scores, variance)) return std::fill(z, z + scores_, 0.0);
        if (is_binary()) seen = curve(m).look(*scores, variance);
        if (!curve(m).has_slope()) return guess(scores, variance, z);
        if (is_binary()) {
            *z = std::clamp(curve(m).log_odds(seen), -kSurest, kSurest);
            return;
        }
        curve(m).probabilities(scores, variance, z, scratch(work));
        for (std::int64_t r = 0; r < scores_; ++r) z[r] = z[r] > 0.0 ? std::max(std::log(z[r]), -kSurest) : 0.0;
    }

    // A curve that has not seen a score other than 0 yet: the score relative to its noise is taken for log-odds.
    void guess(const double* scores, double variance, double* z) const noexcept {
        const double top = is_binary() ? 0.0 : *std::max_element(scores, scores + scores_);
        for (std::int64_t r = 0; r < scores_; ++r)
            z[r] = is_known(scores[r]) ? std::clamp(noisy(scores[r] - top, variance), -1.0, 1.0) : 0.0;
    }

    void combine(const double* scores, const double* z, double* mixed) const noexcept {
        std::fill(mixed, mixed + scores_, 0.0);
        for (std::int64_t m = 0; m < members_; ++m)
            for (std::int64_t r = 0; r < scores_; ++r) mixed[r] += weights()[m] * z[m * scores_ + r];
        if (is_binary()) return;
        for (std::int64_t r = 0; r < scores_; ++r)
            if (!is_known(scores[r])) mixed[r] = scores[r];
    }

    // Whether to recompute the weights after this row: seldom, once there are many.
    bool is_due() const noexcept {
        return rows() < kSlowStart || static_cast<std::int64_t>(rows()) % kRowsPerStep == 0;
    }

    // Makes older rows fade; returns the weight of the next.
    double enter(double weight_of_row) noexcept {
        rows() += 1.0;
        weight() += std::min(weight_of_row, kLargestWeight);
        const double kept = weight_of_row == 1.0 ? kKept : std::pow(kKept, std::min(weight_of_row, 1.0));
        for (std::int64_t i = 0; i < members_ + members_ * members_; ++i) pull()[i] *= kept;
        return std::min(weight_of_row, kLargestWeight);
    }

    bool learn_binary(const double* z, double mixed, bool positive, double weight) noexcept {
        const auto [p, spread] = sigmoid(mixed);
        const double off = (positive ? 1.0 : 0.0) - p;
        const double w = enter(weight), bend = w * std::max(spread, off * off);
        const double force = bend * mixed + w * off;
        for (std::int64_t i = 0; i < members_; ++i) {
            pull()[i] += force * z[i];
            for (std::int64_t j = 0; j <= i; ++j) curvature()[i * members_ + j] += bend * z[i] * z[j];
        }
        return true;
    }

    // Returns false if the row says nothing about weights.
    bool learn_classes(const double* z, const double* mixed, std::int64_t label, double weight, double* work) noexcept {
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
        const double w = enter(weight);
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
            pull()[i] += w * off[i];
            for (std::int64_t j = 0; j < members_; ++j) pull()[i] += bend[i * members_ + j] * weights()[j];
            for (std::int64_t j = 0; j <= i; ++j) curvature()[i * members_ + j] += bend[i * members_ + j];
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
};

}  // namespace scwlearn::calibration
