// A calibration curve over a state array that NumPy owns, for single rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/calibration.hpp"
#include "python/bindings.hpp"

namespace scwlearn {

class HeldCurve {
public:
    std::int64_t n_scores() const noexcept { return n_scores_; }
    calibration::Curve curve() const noexcept { return {state_, n_scores_}; }

    // A single row, after the model has learned from it: it is too late to refuse numbers out of range, so they are
    // skipped. Keeps the GIL, so no other thread reads a half-updated curve.
    void learn_one(const double* scores, double variance, std::int64_t label, double weight) {
        if (!is_sound(scores, variance) || !is_size(weight)) return;
        work_.resize(static_cast<std::size_t>(3 * n_scores_));
        curve().learn(scores, variance, label, weight, work_.data());
    }

    // P(+1) of a single row, or P of each class. The row must be sound.
    void probabilities(const double* scores, double variance, double* out) {
        work_.resize(static_cast<std::size_t>(3 * n_scores_));
        curve().probabilities(scores, variance, out, work_.data());
    }

    // Whether the numbers of a row are in range. Of several classes, one with a score of -infinity is unknown.
    bool is_sound(const double* scores, double variance) const noexcept {
        return is_size(variance) && std::all_of(scores, scores + n_scores_, [this](double score) {
                   return n_scores_ == 1 ? std::isfinite(score) : score < HUGE_VAL;
               });
    }

    static bool is_size(double size) noexcept { return size >= 0.0 && std::isfinite(size); }

protected:
    void adopt(nb::object array) {
        const auto numbers = nb::cast<Numbers>(array);
        const std::int64_t own = static_cast<std::int64_t>(numbers.size()) - kCurveEntries;
        require(numbers.ndim() == 1 && own >= kScoreEntries && own % kScoreEntries == 0,
                "state has the wrong length for a calibration");
        array_ = std::move(array);
        state_ = numbers.data();
        n_scores_ = own / kScoreEntries;
    }

    nb::object array_;
    double* state_ = nullptr;
    std::int64_t n_scores_ = 0;

private:
    std::vector<double> work_;  // kept for the next row
};

// The curve of a Python Calibration.
HeldCurve& held_curve(nb::handle calibration);

}  // namespace scwlearn
