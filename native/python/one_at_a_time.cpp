// One example at a time, a vector or a dict of named features: reading, scaling, scoring and learning.
#include <algorithm>
#include <cmath>

#include "python/dict_reader.hpp"
#include "python/ready_model.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// An example to read into, kept for the next call. A nested call, from user code, finds none kept and makes its own.
class KeptExample {
public:
    explicit KeptExample(std::unique_ptr<Example>& kept) : kept_(kept), example_(std::move(kept)) {
        if (!example_) example_ = std::make_unique<Example>();
    }
    ~KeptExample() {
        example_->clear();
        kept_ = std::move(example_);
    }
    KeptExample(const KeptExample&) = delete;
    KeptExample& operator=(const KeptExample&) = delete;

    Example& operator*() const noexcept { return *example_; }

private:
    std::unique_ptr<Example>& kept_;
    std::unique_ptr<Example> example_;
};

// Room for one scaled row, kept for the next.
struct ScaledRow {
    std::vector<double> values;
    std::vector<std::int64_t> indices;
    std::int64_t offsets[2] = {0, 0};
};

// The running scale (loops/scaling_loops.cpp) applied to one row, if there is any.
class RowScales {
public:
    RowScales(const std::string& kind, std::optional<Numbers> states, std::int64_t width)
        : kind_(states ? scale_kind(kind) : kRms), states_(std::move(states)) {
        require(!states_ || static_cast<std::int64_t>(states_->size()) == scale_numbers(kind_, width),
                "states must have the size of the scale");
    }

    // Returns the scaled row, which lies in `to`.
    Rows apply(const Rows& row, ScaledRow& to) const {
        if (!states_) return row;
        const ScaledRows room = room_for(row, to);
        loops().scales.apply[row.kind](kind_, states_->data(), without_constant(row), 0, room);
        return scaled(row, to);
    }

    // Updates the scale with the values first; `undoable` allows `go_back`.
    Rows learn(const Rows& row, ScaledRow& to, bool undoable) {
        if (!states_) return row;
        before_.clear();
        if (undoable) remember(row);
        const ScaledRows room = room_for(row, to);
        loops().scales.learn[row.kind](kind_, states_->data(), without_constant(row), 0, nullptr, room);
        return scaled(row, to);
    }

    // Undoes the last `learn`.
    void go_back() noexcept {
        for (const auto& [place, number] : before_) states_->data()[place] = number;
    }

private:
    static Rows without_constant(Rows row) noexcept {
        row.intercept = false;
        return row;
    }

    bool has_own_entries(const Rows& row) const noexcept { return row.is_sparse() && kind_ == kStandard; }

    ScaledRows room_for(const Rows& row, ScaledRow& to) const {
        const std::int64_t room = row.stored + added_features(kind_, states_->data(), row.width);
        const auto size = static_cast<std::size_t>(room);
        if (to.values.size() < size) to.values.resize(size);
        if (has_own_entries(row) && to.indices.size() < size) to.indices.resize(size);
        return {to.values.data(), to.indices.data(), to.offsets, room};
    }

    Rows scaled(Rows row, const ScaledRow& to) const noexcept {
        row.values = to.values.data();
        if (has_own_entries(row)) {
            row.indices = to.indices.data();
            row.offsets = to.offsets;
            row.stored = to.offsets[1];
        }
        return row;
    }

    void remember(const Rows& row) {
        const auto keep = [this](std::int64_t place) { before_.emplace_back(place, states_->data()[place]); };
        const bool lines = kind_ == kStandard;
        if (lines) {
            keep(0);
            keep(1);
            // The row may make as many features dense as it has.
            const std::int64_t listed = added_features(kind_, states_->data(), row.width) + row.stored;
            for (std::int64_t k = 0; k < std::min(listed, row.width); ++k) keep(kLine * (k + 1) + 3);
        }
        const auto* const indices = static_cast<const std::int64_t*>(row.indices);
        for (std::int64_t k = 0; k < row.stored; ++k) {
            const std::int64_t feature = indices ? indices[k] : k, first = lines ? kLine * (feature + 1) : 2 * feature;
            for (std::int64_t place = first; place < first + (lines ? 3 : 2); ++place) keep(place);
        }
    }

    ScaleKind kind_;
    std::optional<Numbers> states_;
    std::vector<std::pair<std::int64_t, double>> before_;
};

// A rule and a model, ready for one example after another: nothing is looked up or allocated for each.
class OneByOne {
public:
    // The vocabulary is None if examples are vectors.
    OneByOne(HeldRule rule, HeldModel model, bool intercept, nb::object vocabulary, const std::string& scale,
             std::optional<Numbers> states)
        : model_(std::move(rule), std::move(model), intercept),
          owner_(std::move(vocabulary)),
          vocabulary_(owner_.is_none() ? nullptr : nb::cast<Vocabulary*>(owner_)),
          scales_(scale, std::move(states), model_.width()) {}

    nb::object score(nb::handle x) {
        const Buffer buffer(x);
        const Rows row = scales_.apply(row_of(buffer), scaled_for_score_);
        return answer(model_.scores(), [&](double* scores, std::int64_t count) { model_.score(row, scores, count); });
    }

    // Returns None if there is no room for the class.
    nb::object learn(nb::handle x, double y, double w) {
        const ReentrancyGuard guard(learning_);
        model_.check(y);
        check_weight(w);
        if (!model_.has_room(y)) return nb::none();
        const Buffer buffer(x);
        const Rows row = row_of(buffer);
        if (w == 0.0) {
            const Rows scaled = scales_.apply(row, scaled_);
            return answer(model_.scores(),
                          [&](double* scores, std::int64_t count) { model_.score(scaled, scores, count); });
        }
        return answer(model_.scores_after(y), [&](double* scores, std::int64_t count) {
            learn_row(row, y, w, scores, count);
        });
    }

    nb::object score_named(const nb::dict& x) {
        return answer(model_.scores(),
                      [&](double* scores, std::int64_t count) { score_named(x, -1, scores, count, nullptr); });
    }

    std::tuple<nb::object, double> look_named(const nb::dict& x) {
        double variance = 0.0;
        nb::object scores = answer(model_.scores(), [&](double* scores, std::int64_t count) {
            score_named(x, -1, scores, count, &variance);
        });
        return {std::move(scores), variance};
    }

    // Returns None if the model has no room for the new names, or for the class.
    nb::object learn_named(const nb::dict& x, double y, double w) {
        model_.check(y);
        check_weight(w);
        if (!model_.has_room(y)) return nb::none();
        bool learned = false;
        const auto learn = [&](double* scores, std::int64_t count) {
            learned = learn_named(x, y, w, -1, scores, count);
        };
        nb::object scores = answer(w == 0.0 ? model_.scores() : model_.scores_after(y), learn);
        return learned ? scores : nb::none();
    }

    void score_list(const nb::tuple& rows, const Numbers& scores, const std::optional<Numbers>& variances) {
        const std::int64_t count = line_of(scores, rows);
        // Another thread may have added classes.
        require(model_.can_score(count), "scores must have one score per row and class");
        require(!variances || variances->size() == rows.size(), "variances must have one variance per row");
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const nb::handle x = rows[row];
            if (!PyDict_Check(x.ptr())) vocabulary().check(rows);
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            score_named(nb::borrow<nb::dict>(x), called, scores.data() + number * count, count,
                        variances ? variances->data() + row : nullptr);
        }
    }

    std::size_t learn_list(const nb::tuple& rows, const Labels& labels, const std::optional<ReadOnly>& weights,
                           std::size_t first, const Numbers& scores, const std::optional<Numbers>& variances) {
        require(labels.size() == rows.size(), "labels must have one label per row");
        model_.check_type(labels);
        require(!weights || weights->size() == rows.size(), "weights must have one weight per row");
        require(!variances || variances->size() == rows.size(), "variances must have one variance per row");
        const std::int64_t count = line_of(scores, rows);
        const std::size_t end = std::min(rows.size(), first + kRowsAtOnce);
        for (std::size_t row = first; row < end; ++row) {
            const double w = weights ? weights->data()[row] : 1.0;
            const double y = model_.label(labels, row);
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            // A row of weight 0 introduces no class.
            if (w != 0.0) model_.check(y);
            require((w == 0.0 ? model_.scores() : model_.scores_after(y)) <= count,
                    "scores must have one score per row and class");
            if (w != 0.0 && !model_.has_room(y)) return row;
            double* const line = scores.data() + number * count;
            if (!learn_named(nb::borrow<nb::dict>(rows[row]), y, w, called, line, count)) return row;
            if (variances) variances->data()[row] = w == 0.0 ? 0.0 : variance_;
        }
        return end;
    }

    void look_rows(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
                   std::int64_t width, const Numbers& scores, const Numbers& variances) const {
        const Rows rows = rows_of(values, indices, offsets, width, model_.intercept());
        require(width == model_.width(), "the rows must have the width of the model");
        require(length(variances) == rows.count, "variances must have one variance per row");
        require(rows.count == 0 || scores.size() % static_cast<std::size_t>(rows.count) == 0,
                "scores must have one score per row and class");
        if (rows.count == 0) return;
        const std::int64_t count = length(scores) / rows.count;
        require(model_.can_score(count), "scores must have one score per row and class");
        const nb::gil_scoped_release release_gil;
        model_.look_rows(rows, scores.data(), count, variances.data());
    }

    nb::object owner() const { return owner_; }
    std::int64_t scores() const { return model_.scores(); }
    double variance() const noexcept { return variance_; }

    // For Python's garbage collector: a rule or a name of the user's may refer to the learner that owns this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(model_.function().ptr());
        Py_VISIT(owner_.ptr());
        return 0;
    }

private:
    // A score as Python sees it: a float, or an array with one number per class.
    template <class Write>
    nb::object answer(std::int64_t count, const Write& write) const {
        if (model_.is_binary()) {
            double score = 0.0;
            write(&score, 1);
            return nb::float_(score);
        }
        auto scores = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(count));
        write(scores.get(), count);
        return nb::cast(array_of(std::move(scores), count));
    }

    // Few enough that other threads and Ctrl-C get their turn soon.
    static constexpr std::size_t kRowsAtOnce = 4096;

    Vocabulary& vocabulary() const {
        require(vocabulary_ != nullptr, "this learner takes vectors, not dicts");
        return *vocabulary_;
    }

    // Returns the number of scores per row.
    std::int64_t line_of(const Numbers& scores, const nb::tuple& rows) const {
        if (rows.size() == 0) return model_.scores();
        require(scores.size() % rows.size() == 0, "scores must have one score per row and class");
        return static_cast<std::int64_t>(scores.size() / rows.size());
    }

    Rows row_of(const Buffer& buffer) const { return buffer.row(model_.width(), model_.intercept()); }
    Rows row_of(const Example& example, const std::int64_t* offsets) const {
        return {kSparse64i64, example.values.data(), example.indices.data(), offsets, offsets[1], 1, model_.width(),
                model_.intercept()};
    }

    // Computes the first `count` scores: user code that runs while the dict is read may add a class.
    void score_named(const nb::dict& x, std::int64_t row, double* scores, std::int64_t count, double* variance) {
        const KeptExample kept(kept_);
        Example& example = *kept;
        vocabulary().read<Purpose::score>(x, model_.width(), row, example);
        example.sort();
        const std::int64_t offsets[] = {0, example.count()};
        const Rows scaled = scales_.apply(row_of(example, offsets), scaled_for_score_);
        if (variance == nullptr)
            model_.score(scaled, scores, count);
        else
            model_.look(scaled, scores, count, *variance);
    }

    bool learn_named(const nb::dict& x, double y, double w, std::int64_t row, double* scores, std::int64_t count) {
        const ReentrancyGuard guard(learning_);
        if (w == 0.0) {
            const std::int64_t known = model_.scores();
            score_named(x, row, scores, known, nullptr);
            std::fill(scores + known, scores + count, -HUGE_VAL);
            return true;
        }
        const KeptExample kept(kept_);
        Example& example = *kept;
        vocabulary().read<Purpose::learn>(x, model_.width(), row, example);
        if (example.known + example.count_new() > model_.width()) return false;
        example.sort();
        const std::int64_t offsets[] = {0, example.count()};
        Vocabulary::Adding adding(*vocabulary_, example);
        learn_row(row_of(example, offsets), y, w, scores, count);
        adding.keep();
        return true;
    }

    void learn_row(const Rows& row, double y, double w, double* scores, std::int64_t count) {
        const Rows scaled = scales_.learn(row, scaled_, model_.can_raise());
        try {
            model_.learn(scaled, y, w, scores, count, vocabulary_ == nullptr ? nullptr : &variance_);
        } catch (...) {
            scales_.go_back();
            throw;
        }
    }

    ReadyModel model_;
    nb::object owner_;  // of the vocabulary
    Vocabulary* vocabulary_;
    RowScales scales_;
    bool learning_ = false;
    double variance_ = 0.0;
    // Separate, because a Python rule may score while it is asked.
    ScaledRow scaled_, scaled_for_score_;
    std::unique_ptr<Example> kept_ = std::make_unique<Example>();
};

}  // namespace

void bind_one_at_a_time(nb::module_& module) {
    nb::class_<OneByOne>(module, "OneByOne", nb::type_slots(kTraverse<OneByOne>),
                         "A rule and a model, ready to learn from one example after another. A score is a float, or an "
                         "array with one score per class.")
        .def(nb::init<HeldRule, HeldModel, bool, nb::object, const std::string&, std::optional<Numbers>>(), "rule"_a,
             "model"_a, "intercept"_a, "vocabulary"_a.none(), "scale"_a, "states"_a.noconvert().none(),
             nb::sig("def __init__(self, rule: Rule, model: Model, intercept: bool, vocabulary: Vocabulary | "
                     "None, scale: str, states: NDArray | None) -> None"))
        .def_prop_ro("vocabulary", &OneByOne::owner, nb::sig("def vocabulary(self) -> Vocabulary"))
        .def_prop_ro("scores", &OneByOne::scores, "The number of scores of an example.")
        .def_prop_ro("variance", &OneByOne::variance,
                     "x'Sigma x of the dict that was learned from last, before the update; with several classes, of the "
                     "one with the largest score.")
        // Positional-only arguments make a call cheaper.
        .def("score", &OneByOne::score, nb::sig("def score(self, x: object, /) -> typing.Any"),
             "Return the score of a float64 vector.")
        .def("learn", &OneByOne::learn, nb::sig("def learn(self, x: object, y: float, w: float, /) -> typing.Any"),
             "Learn from a float64 vector; return its score before, or None if there is no room for its class.")
        .def("score_named", nb::overload_cast<const nb::dict&>(&OneByOne::score_named),
             nb::sig("def score_named(self, x: dict, /) -> typing.Any"), "Return the score of a dict.")
        .def("look_named", &OneByOne::look_named, nb::sig("def look_named(self, x: dict, /) -> tuple[typing.Any, float]"),
             "Return the score of a dict, and the variance of the largest.")
        .def("learn_named", nb::overload_cast<const nb::dict&, double, double>(&OneByOne::learn_named),
             nb::sig("def learn_named(self, x: dict, y: float, w: float, /) -> typing.Any"),
             "Learn from a dict; return its score before. Adds new names, or returns None if the model has no room for "
             "them or for the class.")
        .def("score_list", &OneByOne::score_list, "rows"_a, "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "Compute the scores of dicts, and their variances.")
        .def("look_rows", &OneByOne::look_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
             "scores"_a.noconvert(), "variances"_a.noconvert(),
             "Compute the scores of scanned rows, and the variance of the largest, as those of dicts.")
        .def("learn_list", &OneByOne::learn_list, "rows"_a, "labels"_a, "weights"_a.none(), "first"_a,
             "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "Learn from checked dicts, from number `first` on, and write their scores before and variances. Return where "
             "it stopped: at a dict that the model has no room for, at the end, or after as many as one call may take.");
}

}  // namespace scwlearn
