// A committee that is ready for single rows: models with compiled rules, their scales, and their mixture.
#pragma once

#include <array>

#include "calibrate/mixing.hpp"
#include "python/ready_model.hpp"
#include "python/row_scales.hpp"

namespace scwlearn {

class ReadyCommittee {
public:
    // Member m sees rows as scale `scale_of[m]` does, or as they are if that is -1.
    ReadyCommittee(std::vector<HeldRule> rules, std::vector<HeldModel> models, bool intercept,
                   std::vector<std::string> scales, std::vector<Numbers> states, std::vector<std::int64_t> scale_of,
                   Numbers mixture, Tally tally)
        : scale_of_(std::move(scale_of)), mixture_(std::move(mixture)), tally_(std::move(tally)) {
        require(!models.empty() && rules.size() == models.size() && scale_of_.size() == models.size(),
                "there must be a rule and a scale for each model");
        require(scales.size() == states.size(), "there must be a state for each scale");
        require(length(tally_) == 3, "tally must have 3 counts");
        for (std::size_t m = 0; m < models.size(); ++m) {
            require(rules[m].is_compiled(), "only compiled rules can be members of a committee");
            require(scale_of_[m] >= -1 && scale_of_[m] < static_cast<std::int64_t>(scales.size()), "no such scale");
            members_.emplace_back(std::move(rules[m]), std::move(models[m]), intercept);
            require(members_[m].width() == width() && members_[m].is_binary() == is_binary() &&
                        members_[m].scores() == members_[0].scores(),
                    "the members must have the same features and classes");
        }
        for (std::size_t s = 0; s < scales.size(); ++s) scales_.emplace_back(scales[s], std::move(states[s]), width());
        const auto count = static_cast<std::int64_t>(members_.size());
        const std::int64_t own = calibration::Mixing::own_entries(count);
        const std::int64_t curves = length(mixture_) - own - count * kCurveEntries;
        require(count <= calibration::kMostMembers && curves > 0 && curves % (count * kScoreEntries) == 0,
                "the mixture is of another committee");
        n_scores_ = curves / (count * kScoreEntries);
        require((n_scores_ == 1) == is_binary() && n_scores_ >= scores(), "the mixture has other classes");
        rows_.resize(scales_.size());
        looks_.resize(static_cast<std::size_t>(count * n_scores_));
        mixed_.resize(static_cast<std::size_t>(n_scores_));
        work_.resize(static_cast<std::size_t>(calibration::Mixing::work(count, n_scores_)));
    }

    std::int64_t width() const noexcept { return members_[0].width(); }
    bool intercept() const noexcept { return members_[0].intercept(); }
    bool is_binary() const noexcept { return members_[0].is_binary(); }
    nb::handle function() const { return {}; }
    std::int64_t scores() const { return members_[0].scores(); }
    std::int64_t scores_after(double y) const { return members_[0].scores_after(y); }
    bool can_score(std::int64_t count) const { return members_[0].can_score(count); }
    bool has_room(double y) const noexcept {
        if (!is_binary() && y >= static_cast<double>(n_scores_)) return false;
        return std::all_of(members_.begin(), members_.end(), [y](const ReadyModel& m) { return m.has_room(y); });
    }
    void check(double y) const { members_[0].check(y); }
    double label(const Labels& labels, std::size_t row) const { return members_[0].label(labels, row); }
    void check_type(const Labels& labels) const { members_[0].check_type(labels); }

    void score(const Rows& row, double* scores, std::int64_t count) {
        for (std::size_t s = 0; s < scales_.size(); ++s) scaled_[s] = scales_[s].apply(row, rows_[s]);
        fill_unknown(count);
        for (std::size_t m = 0; m < members_.size(); ++m)
            members_[m].look(seen_by(m, row), looks_of(m), count, variances_[m]);
        mixing().mix(looks().data(), variances_.data(), mixed_.data(), work_.data());
        std::copy(mixed_.data(), mixed_.data() + count, scores);
    }

    // A committee has no variance.
    void look(const Rows& row, double* scores, std::int64_t count, double& variance) {
        variance = 0.0;
        score(row, scores, count);
    }

    // The members learn with weight `w`, their mixture with `own`, the weight without that of the class.
    void learn(const Rows& row, double y, double w, double own, double* scores, std::int64_t count, double* variance) {
        for (std::size_t s = 0; s < scales_.size(); ++s) scaled_[s] = scales_[s].learn(row, rows_[s], false);
        const std::int64_t after = scores_after(y);
        fill_unknown(after);
        for (std::size_t m = 0; m < members_.size(); ++m)
            members_[m].learn(seen_by(m, row), y, w, looks_of(m), after, &variances_[m]);
        const std::int64_t number = is_binary() ? y > 0.0 : static_cast<std::int64_t>(y);
        mixing().learn(looks().data(), variances_.data(), number, own, mixed_.data(), work_.data());
        count_row(number);
        std::copy(mixed_.data(), mixed_.data() + std::min(count, n_scores_), scores);
        std::fill(scores + std::min(count, n_scores_), scores + count, -HUGE_VAL);
        if (variance != nullptr) *variance = 0.0;
    }

private:
    calibration::Mixing mixing() const noexcept {
        return {mixture_.data(), static_cast<std::int64_t>(members_.size()), n_scores_};
    }
    const Rows& seen_by(std::size_t m, const Rows& row) const noexcept {
        return scale_of_[m] < 0 ? row : scaled_[static_cast<std::size_t>(scale_of_[m])];
    }
    double* looks_of(std::size_t m) noexcept { return looks_.data() + static_cast<std::int64_t>(m) * n_scores_; }
    std::array<const double*, calibration::kMostMembers> looks() noexcept {
        std::array<const double*, calibration::kMostMembers> all{};
        for (std::size_t m = 0; m < members_.size(); ++m) all[m] = looks_of(m);
        return all;
    }

    // Members write the first `count` scores; the classes behind them are not known.
    void fill_unknown(std::int64_t count) noexcept {
        for (std::size_t m = 0; m < members_.size(); ++m)
            std::fill(looks_of(m) + count, looks_of(m) + n_scores_, -HUGE_VAL);
    }

    void count_row(std::int64_t number) noexcept {
        const bool right = is_binary() ? (mixed_[0] >= 0.0) == (number == 1)
                                       : mixed_[static_cast<std::size_t>(number)] > -HUGE_VAL &&
                                             std::max_element(mixed_.begin(), mixed_.end()) - mixed_.begin() == number;
        tally_.data()[0] += 1;
        tally_.data()[1] += right ? 0 : 1;
        tally_.data()[2] += 1;
    }

    std::vector<ReadyModel> members_;
    std::vector<RowScales> scales_;
    std::vector<std::int64_t> scale_of_;
    Numbers mixture_;
    Tally tally_;
    std::int64_t n_scores_ = 1;
    std::vector<ScaledRow> rows_;
    std::array<Rows, calibration::kMostMembers> scaled_{};
    std::array<double, calibration::kMostMembers> variances_{};
    std::vector<double> looks_, mixed_, work_;
};

}  // namespace scwlearn
