// One example at a time, a vector or a dict of named features, for a model of two classes or of several: how it is read,
// scaled, and learned from or not.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "python/example.hpp"
#include "python/vocabulary.hpp"

namespace scwlearn {

// A rule that learns nothing, for whoever wants to know what a round would look at.
inline constexpr Rule kNoRule{[](const void*, double, double, double, double, double, double) { return HOLD; }, nullptr,
                              false, false};

// An example to read into, taken from where it is kept for the next call. A call that comes while the user's code runs
// finds nothing kept, and makes its own.
class Scratch {
public:
    explicit Scratch(std::unique_ptr<Example>& kept) : kept_(kept), example_(std::move(kept)) {
        if (!example_) example_ = std::make_unique<Example>();
    }
    ~Scratch() {
        example_->clear();
        kept_ = std::move(example_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    Example& operator*() const noexcept { return *example_; }

private:
    std::unique_ptr<Example>& kept_;
    std::unique_ptr<Example> example_;
};

// The running scales of the features (loops/scaling.hpp) at work on one row; none where there are no states.
class RowScales {
public:
    RowScales(std::optional<Numbers> states, std::int64_t width) : states_(std::move(states)) {
        require(!states_ || static_cast<std::int64_t>(states_->size()) == kNumbersOfAScale * width,
                "a scale and a count for each feature");
    }

    // The row as the model sees it; its values lie in `to`, which has room for them, and perhaps did before.
    Rows apply(const Rows& row, double* to) const {
        if (!states_) return row;
        scale_loops_in_use().apply[row.kind](without_constant(row), states_->data(), to);
        return with_values(row, to);
    }

    // The same once its values have been taken in; perhaps they are to be forgotten.
    Rows learn(const Rows& row, double* to, bool perhaps) {
        if (!states_) return row;
        before_.clear();
        if (perhaps) remember(row);
        scale_loops_in_use().learn[row.kind](without_constant(row), states_->data(), nullptr, to);
        return with_values(row, to);
    }

    // Forgets the row taken in last.
    void go_back() noexcept {
        for (const auto& [feature, scale, count] : before_) {
            states_->data()[2 * feature] = scale;
            states_->data()[2 * feature + 1] = count;
        }
    }

    bool in_use() const noexcept { return states_.has_value(); }

private:
    static Rows without_constant(Rows row) noexcept {
        row.intercept = false;
        return row;
    }
    static Rows with_values(Rows row, const double* values) noexcept {
        row.values = values;
        return row;
    }

    void remember(const Rows& row) {
        const auto* const indices = static_cast<const std::int64_t*>(row.indices);
        for (std::int64_t k = 0; k < row.stored; ++k) {
            const std::int64_t feature = indices ? indices[k] : k;
            before_.emplace_back(feature, states_->data()[2 * feature], states_->data()[2 * feature + 1]);
        }
    }

    std::optional<Numbers> states_;
    std::vector<std::tuple<std::int64_t, double, double>> before_;
};

// A rule and a model, ready for one example after the other: nothing is looked up or allocated for each.
//
// `Classes` is the model: of two classes (python/binary.cpp) or of several (python/classes.cpp). What it says of an example, its
// `Answer`, is made of `scores()` numbers.
template <class Classes>
class Single {
public:
    using Label = typename Classes::Label;
    using Answer = typename Classes::Answer;
    using LabelArray = typename Classes::LabelArray;

    // The vocabulary is None where examples are vectors.
    Single(Classes classes, nb::object vocabulary, std::optional<Numbers> scales)
        : classes_(std::move(classes)),
          owner_(std::move(vocabulary)),
          vocabulary_(owner_.is_none() ? nullptr : nb::cast<Vocabulary*>(owner_)),
          scales_(std::move(scales), classes_.width()) {}

    Answer score(nb::handle x) {
        const Buffer buffer(x);
        const Rows row = scales_.apply(row_of(buffer), room(scaled_to_score_));
        return classes_.answer([&](double* scores, std::int64_t count) { classes_.score(row, scores, count); });
    }

    // Nothing where there is no room for a class.
    std::optional<Answer> learn(nb::handle x, Label y, double w) {
        const ReentrancyGuard guard(learning_);
        classes_.check(y);
        check_weight(w);
        if (!classes_.has_room(y)) return std::nullopt;
        const Buffer buffer(x);
        const Rows row = row_of(buffer);
        if (w == 0.0) {
            const Rows scaled = scales_.apply(row, room(scaled_));
            return classes_.answer([&](double* scores, std::int64_t count) { classes_.score(scaled, scores, count); });
        }
        return classes_.answer(y, [&](double* scores, std::int64_t count) {
            learn_row(row, room(scaled_), y, w, scores, count);
        });
    }

    Answer score_named(const nb::dict& x) {
        return classes_.answer(
            [&](double* scores, std::int64_t count) { score_named(x, -1, scores, count, nullptr); });
    }

    std::tuple<Answer, double> look_named(const nb::dict& x) {
        double variance = 0.0;
        Answer answer = classes_.answer(
            [&](double* scores, std::int64_t count) { score_named(x, -1, scores, count, &variance); });
        return {std::move(answer), variance};
    }

    // Nothing where the model has no room for the new names, or for the class.
    std::optional<Answer> learn_named(const nb::dict& x, Label y, double w) {
        classes_.check(y);
        check_weight(w);
        if (!classes_.has_room(y)) return std::nullopt;
        bool learned = false;
        const auto learn = [&](double* scores, std::int64_t count) {
            learned = learn_named(x, y, w, -1, scores, count);
        };
        Answer answer = w == 0.0 ? classes_.answer(learn) : classes_.answer(y, learn);
        return learned ? std::optional(std::move(answer)) : std::nullopt;
    }

    // A line of scores for each, and the variances where asked for.
    void score_list(const nb::tuple& rows, const Numbers& scores, const std::optional<Numbers>& variances) {
        const std::int64_t count = line_of(scores, rows);
        // Meanwhile there may be more classes.
        require(classes_.can_tell(count), "a score for each class");
        require(!variances || variances->size() == rows.size(), "one variance for each row");
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const nb::handle x = rows[row];
            if (!PyDict_Check(x.ptr())) vocabulary().check(rows);
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            score_named(nb::borrow<nb::dict>(x), called, scores.data() + number * count, count,
                        variances ? variances->data() + row : nullptr);
        }
    }

    std::size_t learn_list(const nb::tuple& rows, const LabelArray& labels, const std::optional<ReadOnly>& weights,
                           std::size_t first, const Numbers& scores, const std::optional<Numbers>& variances) {
        require(labels.size() == rows.size(), "one label for each row");
        require(!weights || weights->size() == rows.size(), "one weight for each row");
        require(!variances || variances->size() == rows.size(), "one variance for each row");
        const std::int64_t count = line_of(scores, rows);
        const std::size_t end = std::min(rows.size(), first + kRowsAtOnce);
        for (std::size_t row = first; row < end; ++row) {
            const double w = weights ? weights->data()[row] : 1.0;
            const auto y = static_cast<Label>(labels.data()[row]);
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            // A row of weight 0 brings no class.
            if (w != 0.0) classes_.check(y);
            require((w == 0.0 ? classes_.scores() : classes_.scores_after(y)) <= count, "a score for each class");
            if (w != 0.0 && !classes_.has_room(y)) return row;
            double* const line = scores.data() + number * count;
            if (!learn_named(nb::borrow<nb::dict>(rows[row]), y, w, called, line, count)) return row;
            if (variances) variances->data()[row] = w == 0.0 ? 0.0 : variance_;
        }
        return end;
    }

    nb::object owner() const { return owner_; }
    std::int64_t scores() const { return classes_.scores(); }
    // x'Sigma x of the dict learned from last, before that.
    double variance() const noexcept { return variance_; }

    // For Python's garbage collector: a rule or a name of the user's own may hold on to the learner that holds this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(classes_.function().ptr());
        Py_VISIT(owner_.ptr());
        return 0;
    }

private:
    // So few that other threads and Ctrl-C have their turn soon.
    static constexpr std::size_t kRowsAtOnce = 4096;

    Vocabulary& vocabulary() const {
        require(vocabulary_ != nullptr, "there is no vocabulary");
        return *vocabulary_;
    }

    // How many scores there are for each row.
    std::int64_t line_of(const Numbers& scores, const nb::tuple& rows) const {
        if (rows.size() == 0) return classes_.scores();
        require(scores.size() % rows.size() == 0, "one line of scores for each row");
        return static_cast<std::int64_t>(scores.size() / rows.size());
    }

    // Where a vector is scaled.
    double* room(std::vector<double>& scaled) const {
        if (scales_.in_use()) scaled.resize(static_cast<std::size_t>(classes_.width()));
        return scaled.data();
    }

    Rows row_of(const Buffer& buffer) const { return buffer.row(classes_.width(), classes_.intercept()); }
    Rows row_of(const Example& example, const std::int64_t* offsets) const {
        return {kSparse64i64, example.values.data(), example.indices.data(), offsets, offsets[1], 1, classes_.width(),
                classes_.intercept()};
    }

    // The scores of the first so many classes: while the dict is read, the user's code may bring another.
    void score_named(const nb::dict& x, std::int64_t row, double* scores, std::int64_t count, double* variance) {
        const Scratch scratch(scratch_);
        Example& example = *scratch;
        vocabulary().template read<Purpose::score>(x, classes_.width(), row, example);
        if (variance != nullptr && classes_.in_order()) example.sort();
        const std::int64_t offsets[] = {0, example.count()};
        const Rows scaled = scales_.apply(row_of(example, offsets), example.values.data());
        if (variance == nullptr)
            classes_.score(scaled, scores, count);
        else
            classes_.look(scaled, scores, count, *variance);
    }

    bool learn_named(const nb::dict& x, Label y, double w, std::int64_t row, double* scores, std::int64_t count) {
        const ReentrancyGuard guard(learning_);
        if (w == 0.0) {
            const std::int64_t known = classes_.scores();
            score_named(x, row, scores, known, nullptr);
            std::fill(scores + known, scores + count, -HUGE_VAL);
            return true;
        }
        const Scratch scratch(scratch_);
        Example& example = *scratch;
        vocabulary().template read<Purpose::learn>(x, classes_.width(), row, example);
        if (example.known + example.count_new() > classes_.width()) return false;
        if (classes_.in_order()) example.sort();
        const std::int64_t offsets[] = {0, example.count()};
        Vocabulary::Adding adding(*vocabulary_, example);
        learn_row(row_of(example, offsets), example.values.data(), y, w, scores, count);
        adding.keep();
        return true;
    }

    void learn_row(const Rows& row, double* to, Label y, double w, double* scores, std::int64_t count) {
        const Rows scaled = scales_.learn(row, to, classes_.can_fail());
        try {
            classes_.learn(scaled, y, w, scores, count, vocabulary_ == nullptr ? nullptr : &variance_);
        } catch (...) {
            scales_.go_back();
            throw;
        }
    }

    Classes classes_;
    nb::object owner_;  // of the vocabulary
    Vocabulary* vocabulary_;
    RowScales scales_;
    bool learning_ = false;
    double variance_ = 0.0;
    // One of them for scores: a rule of the user's may ask for some while it is asked.
    std::vector<double> scaled_, scaled_to_score_;
    std::unique_ptr<Example> scratch_ = std::make_unique<Example>();
};

template <class Classes>
int visit_single(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Single<Classes>>(self)->visit(visit, arg) : 0;
}

// The methods that Python sees; the constructor is still to be added.
template <class Classes>
nb::class_<Single<Classes>> bind_single(nb::module_& module, const char* name, const char* says) {
    using namespace nanobind::literals;
    using One = Single<Classes>;
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_single<Classes>)}, {0, nullptr}};
    return nb::class_<One>(module, name, nb::type_slots(slots), says)
        .def_prop_ro("vocabulary", &One::owner, nb::sig("def vocabulary(self) -> Vocabulary"))
        .def_prop_ro("scores", &One::scores, "How many scores an example has.")
        .def_prop_ro("variance", &One::variance,
                     "x'Sigma x of the dict learned from last, before that; of several classes, of the one with the "
                     "largest score.")
        // Arguments that cannot be passed by name make a call cheaper.
        .def("score", &One::score, nb::sig(Classes::kScore), "mu.x of a float64 vector.")
        .def("learn", &One::learn, nb::sig(Classes::kLearn),
             "Learn from a float64 vector; its score before, or None where there is no room for its class.")
        .def("score_named", nb::overload_cast<const nb::dict&>(&One::score_named), nb::sig(Classes::kScoreNamed),
             "mu.x of a dict.")
        .def("look_named", &One::look_named, nb::sig(Classes::kLookNamed), "mu.x of a dict, and x'Sigma x.")
        .def("learn_named", nb::overload_cast<const nb::dict&, typename One::Label, double>(&One::learn_named),
             nb::sig(Classes::kLearnNamed),
             "Learn from a dict; its score before. Adds new names, or returns None where the model has no room for them "
             "or for the class.")
        .def("score_list", &One::score_list, "rows"_a, "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "mu.x of each of some dicts, and x'Sigma x.")
        .def("learn_list", &One::learn_list, "rows"_a, "labels"_a, "weights"_a.none(), "first"_a,
             "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "Learn from dicts that have been checked, from the first one given on, and write their scores before and "
             "x'Sigma x; how far it came: to one that the model has no room for, to the end, or as far as one call "
             "should go.");
}

}  // namespace scwlearn
