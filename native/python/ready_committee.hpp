// A committee that is ready to learn: models with compiled rules, the scale of their rows, and their mixture.
#pragma once

#include <array>
#include <numeric>

#include "calibrate/mixing.hpp"
#include "python/ready_model.hpp"
#include "python/row_scales.hpp"
#include "python/row_slice.hpp"
#include "python/team.hpp"

namespace scwlearn {

class ReadyCommittee {
public:
    // Member m sees rows as the scale of kind scales[m] does, or as they are if that is "none".
    ReadyCommittee(std::vector<HeldRule> rules, std::vector<HeldModel> models, bool intercept,
                   const std::vector<std::string>& scales, std::optional<HeldScale> states, Numbers mixture, Tally tally)
        : kinds_(kinds_of(scales)),
          scales_(wanted(kinds_), std::move(states), models.empty() ? 0 : models[0].size - intercept),
          mixture_(std::move(mixture)),
          tally_(std::move(tally)) {
        require(!models.empty() && rules.size() == models.size() && scales.size() == models.size(),
                "there must be a rule and a scale for each model");
        require(length(tally_) == 3, "tally must have 3 counts");
        for (std::size_t m = 0; m < models.size(); ++m) {
            require(rules[m].is_compiled(), "only compiled rules can be members of a committee");
            require(!kinds_[m] || scales_.is_known(), "members with a scale need its states");
            members_.emplace_back(std::move(rules[m]), std::move(models[m]), intercept);
            require(members_[m].width() == width() && members_[m].is_binary() == is_binary() &&
                        members_[m].scores() == members_[0].scores(),
                    "the members must have the same features and classes");
        }
        const auto count = static_cast<std::int64_t>(members_.size());
        const std::int64_t own = calibration::Mixing::own_entries(count);
        const std::int64_t curves = length(mixture_) - own - count * kCurveEntries;
        require(count <= calibration::kMostMembers && curves > 0 && curves % (count * kScoreEntries) == 0,
                "the mixture is of another committee");
        n_scores_ = curves / (count * kScoreEntries);
        require((n_scores_ == 1) == is_binary() && n_scores_ >= scores(), "the mixture has other classes");
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
    bool has_room(double y, double w) const noexcept {
        if (!is_binary() && w != 0.0 && y >= static_cast<double>(n_scores_)) return false;
        return std::all_of(members_.begin(), members_.end(), [=](const ReadyModel& m) { return m.has_room(y, w); });
    }
    void check(double y, double w) const { members_[0].check(y, w); }
    double label(const Labels& labels, std::size_t row) const { return members_[0].label(labels, row); }
    void check_type(const Labels& labels) const { members_[0].check_type(labels); }

    void score(const Rows& row, double* scores, std::int64_t count) {
        scales_.apply(row, scaled_);
        fill_unknown(count);
        for (std::size_t m = 0; m < members_.size(); ++m)
            members_[m].look(seen_by(m, row, scaled_), looks_of(m), count, variances_[m]);
        mixing().mix(looks().data(), 1, mixed_.data(), work_.data());
        std::copy(mixed_.data(), mixed_.data() + count, scores);
    }

    // A committee has no variance.
    void look(const Rows& row, double* scores, std::int64_t count, double& variance) {
        variance = 0.0;
        score(row, scores, count);
    }

    // The members learn with weight `w`, their mixture with `own`, the weight without that of the class.
    void learn(const Rows& row, double y, double w, double own, double* scores, std::int64_t count, double* variance) {
        scales_.learn(row, scaled_, false);
        const std::int64_t after = scores_after(y);
        fill_unknown(after);
        for (std::size_t m = 0; m < members_.size(); ++m)
            members_[m].learn(seen_by(m, row, scaled_), y, w, looks_of(m), after, &variances_[m]);
        const std::int64_t number = class_number(y);
        mixing().learn(looks().data(), 1, [number](std::int64_t) { return number; }, [own](std::int64_t) { return own; },
                       mixed_.data(), work_.data());
        count_row(number, mixed_.data());
        std::copy(mixed_.data(), mixed_.data() + std::min(count, n_scores_), scores);
        std::fill(scores + std::min(count, n_scores_), scores + count, -HUGE_VAL);
        if (variance != nullptr) *variance = 0.0;
    }

    // A batch to learn from; borrows all arrays.
    struct Lesson {
        Rows rows;
        const Labels& labels;
        const double *weights, *own_weights;  // with and without those of the classes; null for 1
        bool calibrate;                       // or only mix
        const std::vector<std::int64_t>& blocks;  // rows that each member learns from together
        int threads;  // of the linear algebra of a member
        int jobs;     // threads that scale, learn and mix side by side
        double* mixed;  // n_scores() numbers per row: the mixed scores before it was learned from
    };

    std::int64_t n_scores() const noexcept { return n_scores_; }

    void check_blocks(const std::vector<std::int64_t>& blocks) const {
        require(blocks.size() == members_.size(), "there must be a block for each member");
        for (const std::int64_t block : blocks)
            require(block >= 1 && block <= kLargestBlock, "blocks must be from 1 to 4096 rows");
    }

    // Learns from scanned rows with checked labels in turn. A few rows at a time, a slice, go through all members, so that
    // they and their scaled values stay in the cache. Threads take bundles of slices: one is scaled while each member learns
    // from the one before, and the one before that is mixed. The slices are always the same, since the last bits of a full
    // covariance depend on them. Needs no GIL.
    void learn_rows(const Lesson& lesson) {
        std::int64_t together = 1;
        for (const std::int64_t block : lesson.blocks) together = std::lcm(together, block);
        const std::int64_t rows = lesson.rows.count, stored = RowSlice().take(lesson.rows, 0, rows).stored;
        const std::int64_t of_a_row = stored / std::max<std::int64_t>(1, rows) + 1;
        const std::int64_t fitting = std::max(kBlocksAtOnce, kValuesAtOnce / of_a_row / together) * together;
        const std::int64_t slices = (rows + fitting - 1) / fitting;
        const auto members = static_cast<std::int64_t>(members_.size());
        Team team(static_cast<int>(std::min<std::int64_t>(lesson.jobs, members + 2)));
        const std::int64_t most = std::min(kValuesOfBundle / (fitting * of_a_row), slices / kFewestBundles);
        const std::int64_t bundle = team.is_alone() ? 1 : std::max<std::int64_t>(most, 1);
        const std::int64_t ahead = team.is_alone() ? 0 : 1;
        slices_.resize(std::max(slices_.size(), static_cast<std::size_t>((2 * ahead + 1) * bundle)));
        for (std::int64_t step = 0; step < (slices + bundle - 1) / bundle + 2 * ahead; ++step)
            team.share(members + 2, [&](std::int64_t part) {
                const std::int64_t behind = part == 0 ? 0 : part <= members ? ahead : 2 * ahead;
                const std::int64_t first = (step - behind) * bundle, end = std::min(first + bundle, slices);
                for (std::int64_t number = std::max<std::int64_t>(first, 0); number < end; ++number) {
                    Slice& slice = slices_[static_cast<std::size_t>(number) % slices_.size()];
                    if (part == 0)
                        scale(lesson, number * fitting, std::min(fitting, rows - number * fitting), slice);
                    else if (part <= members)
                        learn_slice(lesson, slice, static_cast<std::size_t>(part - 1));
                    else
                        mix(lesson, slice);
                }
            });
    }

private:
    using Kind = std::optional<ScaleKind>;
    using Looks = std::array<calibration::MemberScores, calibration::kMostMembers>;

    // About as many values as fit the first-level cache with the lines of their features.
    static constexpr std::int64_t kValuesAtOnce = 1 << 9;
    static constexpr std::int64_t kBlocksAtOnce = 4;
    // Enough that threads hardly ever wait for each other, and few enough for the cache next to a core.
    static constexpr std::int64_t kValuesOfBundle = 1 << 13;
    // The first and the last two bundles do not keep all threads busy.
    static constexpr std::int64_t kFewestBundles = 16;

    // Rows on their way: first they are scaled, then all members learn from them, then what they said is mixed.
    struct Slice {
        RowSlice cut;
        std::int64_t first = 0;
        Rows rows{};
        ScaledBatch scaled;
        // Of each member: looks at the rows, and their variances.
        std::vector<std::vector<double>> traces, variances;
    };

    static std::vector<Kind> kinds_of(const std::vector<std::string>& names) {
        std::vector<Kind> kinds;
        for (const std::string& name : names) kinds.push_back(name == "none" ? Kind() : scale_kind(name));
        return kinds;
    }
    static RowScales::Kinds wanted(const std::vector<Kind>& kinds) noexcept {
        RowScales::Kinds all{};
        for (const Kind& kind : kinds)
            if (kind) all[*kind] = true;
        return all;
    }

    // Numbers that a member says about a row.
    std::int64_t line() const noexcept { return is_binary() ? kTraceWidth : n_scores_; }

    void scale(const Lesson& lesson, std::int64_t first, std::int64_t count, Slice& slice) {
        slice.first = first;
        slice.rows = slice.cut.take(lesson.rows, first, count);
        scales_.learn(slice.rows, slice.scaled, false);
        slice.traces.resize(members_.size());
        slice.variances.resize(members_.size());
        for (std::vector<double>& trace : slice.traces) trace.resize(static_cast<std::size_t>(count * line()));
        for (std::vector<double>& variances : slice.variances) variances.resize(static_cast<std::size_t>(count));
    }

    void learn_slice(const Lesson& lesson, Slice& slice, std::size_t m) {
        const double* const weights = lesson.weights == nullptr ? nullptr : lesson.weights + slice.first;
        members_[m].learn_rows(seen_by(m, slice.rows, slice.scaled), lesson.labels, slice.first, weights, lesson.blocks[m],
                               lesson.threads, slice.traces[m].data(), line(), slice.variances[m].data());
    }

    void mix(const Lesson& lesson, const Slice& slice) {
        const std::int64_t first = slice.first, count = slice.rows.count;
        Looks looks;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const double* const trace = slice.traces[m].data();
            looks[m] = is_binary() ? calibration::MemberScores{trace, line(), trace + 1, line()}
                                   : calibration::MemberScores{trace, line(), slice.variances[m].data(), 1};
        }
        double* const mixed = lesson.mixed + first * n_scores_;
        const auto number = [this, &lesson, first](std::int64_t i) {
            return class_number(label(lesson.labels, static_cast<std::size_t>(first + i)));
        };
        const auto weight = [&lesson, first](std::int64_t i) {
            return lesson.own_weights == nullptr ? 1.0 : lesson.own_weights[first + i];
        };
        if (lesson.calibrate)
            mixing().learn(looks.data(), count, number, weight, mixed, work_.data());
        else
            mixing().mix(looks.data(), count, mixed, work_.data());
        for (std::int64_t i = 0; i < count; ++i) count_row(number(i), mixed + i * n_scores_);
    }

    std::int64_t class_number(double y) const noexcept {
        return is_binary() ? y > 0.0 : static_cast<std::int64_t>(y);
    }

    calibration::Mixing mixing() const noexcept {
        return {mixture_.data(), static_cast<std::int64_t>(members_.size()), n_scores_, loops().calibration};
    }
    const Rows& seen_by(std::size_t m, const Rows& rows, const ScaledBatch& scaled) const noexcept {
        return kinds_[m] ? scaled.rows[*kinds_[m]] : rows;
    }
    double* looks_of(std::size_t m) noexcept { return looks_.data() + static_cast<std::int64_t>(m) * n_scores_; }
    Looks looks() noexcept {
        Looks all;
        for (std::size_t m = 0; m < members_.size(); ++m) all[m] = {looks_of(m), n_scores_, &variances_[m], 1};
        return all;
    }

    // Members write the first `count` scores; the classes behind them are not known.
    void fill_unknown(std::int64_t count) noexcept {
        for (std::size_t m = 0; m < members_.size(); ++m)
            std::fill(looks_of(m) + count, looks_of(m) + n_scores_, -HUGE_VAL);
    }

    void count_row(std::int64_t number, const double* mixed) noexcept {
        const bool right = is_binary()
                               ? (mixed[0] >= 0.0) == (number == 1)
                               : mixed[number] > -HUGE_VAL && std::max_element(mixed, mixed + n_scores_) - mixed == number;
        tally_.data()[0] += 1;
        tally_.data()[1] += right ? 0 : 1;
        tally_.data()[2] += 1;
    }

    std::vector<ReadyModel> members_;
    std::vector<Kind> kinds_;
    RowScales scales_;
    Numbers mixture_;
    Tally tally_;
    std::int64_t n_scores_ = 1;
    ScaledBatch scaled_;  // a single row
    std::vector<Slice> slices_;
    std::array<double, calibration::kMostMembers> variances_{};
    std::vector<double> looks_, mixed_, work_;
};

}  // namespace scwlearn
