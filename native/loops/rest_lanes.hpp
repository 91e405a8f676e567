// One versus rest with an identity or diagonal covariance: one class per lane, on one thread or several.
#pragma once

#include <memory>
#include <type_traits>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/team.hpp"
#include "loops/lanes.hpp"

namespace scwlearn::SCWLEARN_SET {

// The rows of a group, and what the classes of one versus rest say about each before they learn from it: a line of lanes
// per row.
struct RestGroup {
    std::int64_t first = 0, count = 0;
    std::int64_t stride;    // of a line; whole cache lines, so that threads write to different ones
    std::int64_t* labels;   // -1 if invalid
    std::int64_t* classes;  // known after the row
    double *scores, *averages, *variances;

    RestGroup(const Task& task, std::int64_t most)
        : stride((task.memory.lanes + kLanesOfLine - 1) / kLanesOfLine * kLanesOfLine) {
        Scratch& scratch = *task.memory.scratch;
        labels = scratch.take<std::int64_t>(most);
        classes = scratch.take<std::int64_t>(most);
        for (double** line : {&scores, &averages, &variances}) *line = scratch.take(most * stride);
    }

    static constexpr std::int64_t kLanesOfLine = 8;
};

// Scattered access to large arrays is faster in huge pages.
inline double* in_huge_pages(double* numbers, [[maybe_unused]] std::int64_t count) noexcept {
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(numbers) + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(numbers + count) / kPage * kPage;
    if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
    return numbers;
}

// Some of the classes of one versus rest, one per lane: each learns its class against all others. They learn in memory of
// their own unless they are all of them: threads that write to neighbouring cache lines would wait for each other.
template <template <class> class FeatureStep, bool kNorm>
class alignas(64) RestLanes {
public:
    // The lanes from `first` to `end`.
    RestLanes(const Task& task, const RestGroup& group, std::int64_t most, std::int64_t first, std::int64_t end)
        : task_(task),
          group_(group),
          first_(first),
          count_(end - first),
          stride_(feature_stride(task.form, count_)),
          memory_(memory_of(task, count_)),
          lags_(memory_, stride_),
          gained_(memory_.scratch->take(count_)),
          terms_(memory_.scratch->take(LaneTerms::kTerms * count_), count_),
          steps_(memory_.scratch->take<Step>(count_)),
          moves_(memory_.scratch->take<bool>(most)),
          rows_(task.rows, memory_.entries, stride_, memory_.scratch->take<Feature>(2 * memory_.size)) {}

    // Copies these lanes from the model to their own memory.
    void gather() noexcept {
        const Memory& all = task_.memory;
        std::copy(all.scalars + first_, all.scalars + first_ + count_, memory_.scalars);
        if (lags_.exist())
            std::copy(all.average_state + first_, all.average_state + first_ + count_, memory_.average_state);
        each_run([this](double* own, double* of_all) { std::copy(of_all, of_all + count_, own); });
    }

    // Copies them back.
    void scatter() const noexcept {
        const Memory& all = task_.memory;
        std::copy(memory_.scalars, memory_.scalars + count_, all.scalars + first_);
        // All classes share the mistakes, which are counted elsewhere.
        if (lags_.exist())
            for (std::int64_t r = 0; r < count_; ++r)
                all.average_state[first_ + r].lag_scale = memory_.average_state[r].lag_scale;
        each_run([this](const double* own, double* of_all) { std::copy(own, own + count_, of_all); });
    }

    // Learns from the rows of the group.
    void learn() {
        for (std::int64_t i = 0; i < group_.count; ++i) {
            const ReadRow row = rows_[group_.first + i];
            rows_.prefetch(0, stride_);
            moves_[i] = learn(i, row);
        }
    }

    // Whether any class was moved by a row of the group.
    bool moves(std::int64_t i) const noexcept { return moves_[i]; }

private:
    static constexpr bool kVariances = FeatureStep<double>::kVariances;

    static Memory memory_of(const Task& task, std::int64_t lanes) {
        Memory memory = task.memory;
        if (lanes == memory.lanes) return memory;
        memory.lanes = memory.lag_stride = lanes;
        const std::int64_t entries = memory.size * feature_stride(task.form, lanes);
        memory.entries = in_huge_pages(memory.scratch->take(entries), entries);
        memory.scalars = memory.scratch->take<Scalars>(lanes);
        if (memory.average_state != nullptr) {
            memory.average_state = memory.scratch->take<AverageState>(lanes);
            memory.lag = memory.scratch->take(memory.size * lanes);
        }
        return memory;
    }

    // Calls copy(own, of_all) for each run of entries of these lanes, in their own memory and in that of all lanes.
    template <class Copy>
    void each_run(const Copy& copy) const noexcept {
        const Memory& all = task_.memory;
        const std::int64_t of_all = feature_stride(task_.form, all.lanes);
        for (std::int64_t i = 0; i < memory_.size; ++i) {
            copy(memory_.entries + i * stride_, all.entries + i * of_all + first_);
            if constexpr (kVariances)
                copy(memory_.entries + i * stride_ + count_, all.entries + i * of_all + all.lanes + first_);
            if (lags_.exist()) copy(memory_.lag + i * count_, all.lag + i * all.lanes + first_);
        }
    }

    bool learn(std::int64_t i, const ReadRow& row) {
        const std::int64_t y = group_.labels[i], known = std::min(group_.classes[i] - first_, count_);
        if (known <= 0) return false;
        const std::int64_t line = i * group_.stride + first_;
        double* const scores = group_.scores + line;
        look(row, known, scores, group_.averages + line);
        std::copy(terms_.v(), terms_.v() + known, group_.variances + line);
        if (y < 0) return false;
        const double weight = task_.weight(group_.first + i);
        bool any = false;
        for (std::int64_t r = 0; r < known; ++r) any |= ask(r, r == y - first_ ? 1.0 : -1.0, weight, scores[r]);
        if (any) move(row, known, y - first_);
        return any;
    }

    Model model_of(std::int64_t lane) const noexcept {
        return Model(memory_.of_class(lane, lane, lane), {memory_.entries + lane, stride_, memory_.size},
                     {memory_.entries + memory_.lanes + lane, stride_, memory_.size});
    }

    void look(const ReadRow& row, std::int64_t known, double* scores, double* averages) const noexcept {
        sum_lanes<kVariances>(row, memory_.entries, memory_.lanes, known, scores, terms_.v());
        if constexpr (!kVariances) std::fill(terms_.v(), terms_.v() + known, squared_length(row));
        if (lags_.exist()) lags_.sum(row, known, averages);
        for (std::int64_t r = 0; r < known; ++r) {
            const Model model = model_of(r);
            scores[r] *= model.scalars->mean_scale;
            if (lags_.exist()) averages[r] = scores[r] - averages[r] * model.lag_scale();
            terms_.v()[r] *= variance_scale<FeatureStep>(model);
        }
    }

    // Nothing moves before all classes have been asked: a rule that is a Python function may raise.
    bool ask(std::int64_t lane, double sign, double weight, double score) {
        Model model = model_of(lane);
        Counts uncounted;
        const Look look{score, terms_.v()[lane]};
        steps_[lane] = SCWLEARN_SET::ask(task_.rule, sign, weight, look, look.score, model, uncounted);
        terms_.moves()[lane] = SCWLEARN_SET::moves(steps_[lane]);
        return SCWLEARN_SET::moves(steps_[lane]);
    }

    void move(const ReadRow& row, std::int64_t known, std::int64_t y) noexcept {
        each_that_moves(known, [&](std::int64_t lane, Model& model) {
            model.shrink_mean(steps_[lane].shrink);
            const double sign = lane == y ? 1.0 : -1.0;
            terms_.set(lane, terms_of<FeatureStep>(model, steps_[lane], sign, terms_.v()[lane]), model.lag_rate());
        });
        const double* const moved = terms_.moves();
        for (std::int64_t lane = 0; lane < known; lane += kLaneWidth)
            if (std::any_of(moved + lane, moved + lane + kLaneWidth, [](double m) { return m != 0.0; })) {
                const auto gained = move_lanes<FeatureStep, Lanes, kNorm>(
                    row, memory_.entries, memory_.lanes, terms_, lane, lags_.exist() ? &lags_ : nullptr);
                if constexpr (kNorm) store(gained_ + lane, gained);
            }
        each_that_moves(known, [&](std::int64_t lane, Model& model) {
            if constexpr (kNorm) model.gain_norm2(gained_[lane]);
            if constexpr (kVariances) model.grow_spread(steps_[lane].grow);
        });
    }

    template <class Action>
    void each_that_moves(std::int64_t known, Action action) const noexcept {
        for (std::int64_t lane = 0; lane < known; ++lane)
            if (terms_.moves()[lane] != 0.0) {
                Model model = model_of(lane);
                action(lane, model);
            }
    }

    const Task& task_;
    const RestGroup& group_;
    std::int64_t first_, count_, stride_;
    Memory memory_;
    Lags lags_;
    double* gained_;
    LaneTerms terms_;
    Step* steps_;
    bool* moves_;
    ReadAhead rows_;
};

// The classes of one versus rest, on one thread or, several lanes each, on more.
template <template <class> class FeatureStep, bool kNorm>
class RestClasses {
public:
    explicit RestClasses(const Task& task)
        : task_(task),
          classes_(task),
          team_(threads_for(task)),
          most_(team_.is_alone() ? 1 : std::min(kRowsAtATime, task.rows.count)),
          group_(task, most_),
          parts_(task.memory.scratch->take<Part>(team_.size())) {
        const std::int64_t lanes = task.memory.lanes, lines = group_.stride / RestGroup::kLanesOfLine;
        for (std::int64_t part = 0, first = 0; part < team_.size(); ++part) {
            const std::int64_t end = std::min(lines * (part + 1) / team_.size() * RestGroup::kLanesOfLine, lanes);
            std::construct_at(parts_ + part, task, group_, most_, first, end);
            first = end;
        }
    }

    Counts learn() {
        if (!team_.is_alone()) team_.share(team_.size(), [this](std::int64_t part) { parts_[part].gather(); });
        for (group_.first = 0; group_.first < task_.rows.count; group_.first += most_) {
            group_.count = std::min(most_, task_.rows.count - group_.first);
            const std::int64_t before = classes_.known;
            meet();
            team_.share(team_.size(), [this](std::int64_t part) { parts_[part].learn(); });
            classes_.known = before;
            for (std::int64_t i = 0; i < group_.count; ++i) judge(i);
        }
        if (!team_.is_alone()) team_.share(team_.size(), [this](std::int64_t part) { parts_[part].scatter(); });
        return counts_;
    }

private:
    using Part = RestLanes<FeatureStep, kNorm>;
    static_assert(std::is_trivially_destructible_v<Part>);

    // With fewer lanes for a thread, it takes longer to read a row than to learn from it; and copying the lanes takes as long
    // as learning from a few values per feature.
    static constexpr std::int64_t kFewestLanes = 8;
    static constexpr std::int64_t kValuesPerFeature = 8;
    static int threads_for(const Task& task) noexcept {
        if (task.rows.stored < kValuesPerFeature * task.memory.size) return 1;
        return static_cast<int>(std::clamp<std::int64_t>(task.memory.lanes / kFewestLanes, 1, task.jobs));
    }

    // Enough that threads hardly ever wait for each other.
    static constexpr std::int64_t kRowsAtATime = 128;

    // Reads the labels, and makes new classes known.
    void meet() noexcept {
        for (std::int64_t i = 0; i < group_.count; ++i) {
            const std::int64_t y = group_.labels[i] = classes_.label(group_.first + i);
            classes_.known = group_.classes[i] = std::max(classes_.known, y + 1);
        }
    }

    // Records and counts what all classes said about a row; then the class that it introduced is known.
    void judge(std::int64_t i) noexcept {
        AverageState* const state = task_.memory.average_state;
        const std::int64_t y = group_.labels[i], line = i * group_.stride, row = group_.first + i;
        const double *const scores = group_.scores + line, *const averages = group_.averages + line;
        const double* const predicted = state != nullptr && state->average_is_better() ? averages : scores;
        classes_.write(row, predicted, [&](std::int64_t top) { return group_.variances[line + top]; });
        if (y < 0) return;
        counts_.mistakes += !classes_.predicts(y, predicted);
        if (state != nullptr)
            state->count(!classes_.predicts(y, scores), !classes_.predicts(y, averages), classes_.weight(row));
        counts_.updates += std::any_of(parts_, parts_ + team_.size(), [i](const Part& part) { return part.moves(i); });
        classes_.known = group_.classes[i];
    }

    const Task& task_;
    Classes classes_;
    Team team_;
    std::int64_t most_;
    RestGroup group_;
    Part* parts_;
    Counts counts_;
};

}  // namespace scwlearn::SCWLEARN_SET
