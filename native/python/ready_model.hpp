// A model that is ready for single rows: nothing is looked up or allocated for each.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "python/example.hpp"

namespace scwlearn {

// No rule: the loops only compute scores and variances.
inline constexpr Rule kNoRule{nullptr, nullptr, false, false};

// A copy of the scalars of a model.
class SavedScalars {
public:
    void save(const HeldModel& model) {
        scalars_.assign(model.scalars.data(), model.scalars.data() + model.scalars.size());
        if (!model.average) return;
        const Numbers& state = model.average->second;
        average_state_.assign(state.data(), state.data() + state.size());
    }

    // Makes `memory` use the copy, so that loops leave those of the model unchanged.
    void redirect(Memory& memory) noexcept {
        memory.scalars = reinterpret_cast<Scalars*>(scalars_.data());
        if (memory.average_state != nullptr) memory.average_state = reinterpret_cast<AverageState*>(average_state_.data());
    }

    void restore(const HeldModel& model) const {
        std::copy(scalars_.begin(), scalars_.end(), model.scalars.data());
        if (model.average) std::copy(average_state_.begin(), average_state_.end(), model.average->second.data());
    }

private:
    std::vector<double> scalars_, average_state_;
};

// A rule and a model, binary or multi-class, with the memory that a single row needs.
class ReadyModel {
public:
    ReadyModel(HeldRule rule, HeldModel model, bool intercept)
        : rule_(std::move(rule)), model_(std::move(model)), intercept_(intercept) {
        require(model_.size >= (intercept ? 1 : 0), "the model has no intercept");
    }

    std::int64_t width() const noexcept { return model_.size - intercept_; }
    bool intercept() const noexcept { return intercept_; }
    bool is_binary() const noexcept { return model_.is_binary(); }
    nb::handle function() const { return rule_.function(); }
    bool can_raise() const { return !rule_.is_compiled(); }

    // The number of scores of an example, and after learning from one of label y.
    std::int64_t scores() const { return is_binary() ? 1 : model_.classes(); }
    std::int64_t scores_after(double y) const {
        return is_binary() ? 1 : std::max(scores(), static_cast<std::int64_t>(y) + 1);
    }
    bool can_score(std::int64_t count) const { return is_binary() ? count == 1 : count <= scores(); }
    // Whether there is room for the class of an example of label y and weight w.
    bool has_room(double y, double w) const noexcept {
        return is_binary() || w == 0.0 || y < static_cast<double>(model_.lanes);
    }

    // Raises an error unless an example of weight w may have the label y: any class number if it adds no class.
    void check(double y, double w) const {
        const double end = w == 0.0 ? std::numeric_limits<ClassNumber>::max() : static_cast<double>(scores()) + 1.0;
        const bool is_class = y >= 0.0 && y < end && y == std::floor(y);
        if (is_binary() ? y == 1.0 || y == -1.0 : is_class) return;
        refuse(PyExc_ValueError,
               is_binary() ? "a learner's labels are -1 and +1, got y = %R"
               : w == 0.0  ? "a label must be the number of a class, got y = %R"
                           : "a label must be the number of a known class, or the next, got y = %R",
               nb::float_(y));
    }
    // y of each row of a list.
    double label(const Labels& labels, std::size_t row) const {
        if (is_binary()) return static_cast<const std::int8_t*>(labels.data())[row];
        return static_cast<const ClassNumber*>(labels.data())[row];
    }
    void check_type(const Labels& labels) const {
        require(labels.dtype() == (is_binary() ? nb::dtype<std::int8_t>() : nb::dtype<ClassNumber>()),
                "labels must be int8 for a binary model, else int32");
    }

    // Computes the first `count` scores of a row.
    void score(const Rows& row, double* scores, std::int64_t count) {
        score_shown(model_.form, model_.memory(&scratch_), count, row, scores);
    }

    // Also computes the variance of the largest score, by a round that learns nothing. The scores are those of `score`, to
    // the last bit.
    void look(const Rows& row, double* scores, std::int64_t count, double& variance) {
        Task task{row, model_.memory(&scratch_), model_.form, kNoRule};
        saved_.save(model_);
        saved_.redirect(task.memory);
        if (!is_binary()) task.memory.known = &count;
        learn_row(task, is_binary() ? 1.0 : -1.0, scores, count, &variance);
        score_again(task.memory, row, scores, count);
    }

    // Computes what `look` does for each row, bit for bit. Needs no GIL, and shares no memory with other calls.
    void look_rows(const Rows& rows, double* scores, std::int64_t count, double* variances) const {
        Scratch scratch;
        Task task{rows, model_.memory(&scratch), model_.form, kNoRule};
        SavedScalars saved;
        saved.save(model_);
        saved.redirect(task.memory);
        const Loop learn = loop_for(model_.form, is_binary(), rows.kind);
        const auto size = static_cast<std::size_t>(rows.count);
        if (!is_binary()) {
            const std::vector<ClassNumber> labels(size, -1);
            task.memory.known = &count;
            task.labels = labels.data();
            task.scores = scores;
            task.score_stride = count;
            task.variances = variances;
            learn(task);
            score_again(task.memory, rows, scores, count);
            return;
        }
        const std::vector<std::int8_t> signs(size, 1);
        std::vector<double> trace(size * kTraceWidth);
        task.signs = signs.data();
        task.trace = trace.data();
        learn(task);
        for (std::size_t i = 0; i < size; ++i) {
            scores[i] = trace[i * kTraceWidth];
            variances[i] = trace[i * kTraceWidth + 1];
        }
        score_again(task.memory, rows, scores, count);
    }

    // Learns from a row of a known class, or the next; computes `count` scores before, -infinity for a new class, and
    // the variance if wanted. If the rule raises, the model is as it was.
    void learn(const Rows& row, double y, double w, double* scores, std::int64_t count, double* variance) {
        Task task{row, model_.memory(&scratch_), model_.form, rule_.rule(), &w};
        if (!can_raise()) return model_.count(1, learn_row(task, y, scores, count, variance));
        const std::int64_t known = model_.classes();
        SavedScalars scalars;
        scalars.save(model_);
        // With a full covariance, one class after the other learns from the row; otherwise none moves before all are
        // asked.
        const bool in_turn = model_.form.kind == kFull && model_.form.scheme == kOneVersusRest;
        const auto copy = [in_turn](const double* from, std::size_t size) {
            return std::vector<double>(from, from + (in_turn ? size : 0));
        };
        const std::vector<double> entries = copy(model_.entries.data(), model_.entries.size());
        const std::vector<double> lag =
            model_.average ? copy(model_.average->first.data(), model_.average->first.size()) : std::vector<double>();
        try {
            model_.count(1, learn_row(task, y, scores, count, variance));
        } catch (...) {
            scalars.restore(model_);
            std::copy(entries.begin(), entries.end(), model_.entries.data());
            if (model_.average) std::copy(lag.begin(), lag.end(), model_.average->first.data());
            model_.known.data()[0] = known;
            throw;
        }
    }

    // Learns from scanned rows with labels from number `first` on, `block` of them together; writes the scores of each
    // before (of a binary model its trace), in lines of this length, and, with several classes, its variance. The rule
    // must be compiled.
    void learn_rows(const Rows& rows, const Labels& labels, std::int64_t first, const double* weights, std::int64_t block,
                    int threads, double* scores, std::int64_t line, double* variances) {
        const Scratch::Frame frame(scratch_);
        Task task{rows, model_.memory(&scratch_), model_.form, rule_.rule(), weights, block, threads};
        // The scale has just read the lines that it shares with the model.
        task.entries_in_cache = model_.form.layout == kSharedLines;
        if (is_binary()) {
            task.signs = static_cast<const std::int8_t*>(labels.data()) + first;
            task.trace = scores;
        } else {
            task.labels = static_cast<const ClassNumber*>(labels.data()) + first;
            task.scores = scores;
            task.score_stride = line;
            task.variances = variances;
        }
        model_.count(rows.count, loop_for(model_.form, is_binary(), rows.kind)(task));
    }

private:
    // With a full covariance, a round sums in another order.
    void score_again(const Memory& memory, const Rows& rows, double* scores, std::int64_t count) const {
        if (model_.form.kind == kFull) score_shown(model_.form, memory, count, rows, scores);
    }

    Counts learn_row(Task& task, double y, double* scores, std::int64_t count, double* variance) const {
        const Scratch::Frame frame(*task.memory.scratch);
        const Loop learn = loop_for(model_.form, is_binary(), task.rows.kind);
        if (is_binary()) {
            const auto sign = static_cast<std::int8_t>(y);
            double trace[kTraceWidth];
            task.signs = &sign;
            task.trace = trace;
            const Counts counts = learn(task);
            *scores = trace[0];
            if (variance != nullptr) *variance = trace[1];
            return counts;
        }
        const auto label = static_cast<ClassNumber>(y);
        task.labels = &label;
        task.scores = scores;
        task.score_stride = count;
        task.variances = variance;
        return learn(task);
    }

    HeldRule rule_;
    HeldModel model_;
    bool intercept_;
    Scratch scratch_;  // a Python rule may score while it is asked: its arrays come on top
    SavedScalars saved_;  // for looks
};

}  // namespace scwlearn
