// One example at a time, a vector or a dict of named features: reading, scaling, scoring and learning.
#include <algorithm>
#include <cmath>

#include "python/dict_handle.hpp"
#include "python/dict_reader.hpp"
#include "python/numbers.hpp"
#include "python/ready_committee.hpp"
#include "python/scaled_model.hpp"

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

// A ScaledModel or a ReadyCommittee, ready for one example after another: nothing is looked up or allocated for each.
template <class Ready>
class OneByOne final : public DictHandle {
public:
    // The vocabulary is None if examples are vectors.
    template <class... Given>
    explicit OneByOne(nb::object vocabulary, Given&&... given)
        : model_(std::forward<Given>(given)...),
          owner_(std::move(vocabulary)),
          vocabulary_(owner_.is_none() ? nullptr : nb::cast<Vocabulary*>(owner_)) {}

    // Holds a lock while it learns. Called once: a call that learns may have it.
    void attach(nb::handle_t<Lock> lock) {
        require(lock_ == nullptr, "a handle has one lock");
        lock_owner_ = nb::borrow(lock);
        lock_ = nb::inst_ptr<Lock>(lock);
    }
    Lock* lock() const override { return lock_; }

    // Learns no more: the model has been replaced.
    void retire() noexcept { is_retired_ = true; }
    bool is_current() const override { return !is_retired_; }

    nb::object score(nb::handle x) {
        const Vector vector(x);
        const Rows row = row_of(vector);
        return answer(model_.scores(), [&](double* scores, std::int64_t count) { model_.score(row, scores, count); });
    }

    // Returns None if there is no room for the class, if another thread has the model, or it has been replaced.
    nb::object learn(nb::handle x, NumberLabel y, SampleWeight w) {
        const Vector vector(x);
        const TakenLock taken(lock_);
        if (!taken || !is_current()) return nb::none();
        const ReentrancyGuard guard(is_learning());
        model_.check(y, w);
        if (!model_.has_room(y, w)) return nb::none();
        const Rows row = row_of(vector);
        if (w == 0.0)
            return answer(model_.scores(),
                          [&](double* scores, std::int64_t count) { model_.score(row, scores, count); });
        return answer(model_.scores_after(y), [&](double* scores, std::int64_t count) {
            model_.learn(row, y, w, w, scores, count, vocabulary_ == nullptr ? nullptr : &variance_);
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

    // Returns None if the model has no room for the new names or for the class, if another thread has it, or it has been
    // replaced.
    nb::object learn_named(const nb::dict& x, NumberLabel y, SampleWeight w) {
        const TakenLock taken(lock_);
        if (!taken || !is_current()) return nb::none();
        bool learned = false;
        const auto learn = [&](double* scores, std::int64_t count) {
            learned = learn_dict(x, y, w, scores, count, variance_);
        };
        model_.check(y, w);
        nb::object scores = answer(w == 0.0 ? model_.scores() : model_.scores_after(y), learn);
        return learned ? scores : nb::none();
    }

    bool is_binary() const override { return model_.is_binary(); }
    std::int64_t scores() const override { return model_.scores(); }
    std::int64_t scores_after(double y) const override { return model_.scores_after(y); }

    void score_dict(const nb::dict& x, double* scores, std::int64_t count, double* variance) override {
        score_named(x, -1, scores, count, variance);
    }

    bool learn_dict(const nb::dict& x, double y, double w, double* scores, std::int64_t count,
                    double& variance) override {
        model_.check(y, w);
        if (!model_.has_room(y, w) || !learn_named(x, y, w, w, -1, scores, count)) return false;
        variance = variance_;
        return true;
    }

    void score_list(const nb::tuple& rows, const Numbers& scores, const std::optional<Numbers>& variances) {
        const std::int64_t count = line_of(scores, rows);
        // Another thread may have added classes.
        require(model_.can_score(count), "scores must have one score per row and class");
        require(!variances || variances->size() == rows.size(), "variances must have one variance per row");
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            score_named(dict_at(rows, row), called, scores.data() + number * count, count,
                        variances ? variances->data() + row : nullptr);
        }
    }

    std::size_t learn_list(const nb::tuple& rows, const Labels& labels, const std::optional<ReadOnly>& weights,
                           const std::optional<ReadOnly>& sample_weights, std::size_t first, const Numbers& scores,
                           const std::optional<Numbers>& variances) {
        require(labels.size() == rows.size(), "labels must have one label per row");
        model_.check_type(labels);
        for (const auto* given : {&weights, &sample_weights})
            require(!*given || (*given)->size() == rows.size(), "weights must have one weight per row");
        require(!variances || variances->size() == rows.size(), "variances must have one variance per row");
        const std::int64_t count = line_of(scores, rows);
        const std::size_t end = std::min(rows.size(), first + kRowsAtOnce);
        for (std::size_t row = first; row < end; ++row) {
            const double w = weights ? weights->data()[row] : 1.0;
            const double own = sample_weights ? sample_weights->data()[row] : w;
            const double y = model_.label(labels, row);
            const std::int64_t number = static_cast<std::int64_t>(row), called = rows.size() == 1 ? -1 : number;
            require(w >= 0.0 && std::isfinite(w) && own >= 0.0 && std::isfinite(own), "weights must be finite and >= 0");
            model_.check(y, w);
            require((w == 0.0 ? model_.scores() : model_.scores_after(y)) <= count,
                    "scores must have one score per row and class");
            if (!model_.has_room(y, w)) return row;
            double* const line = scores.data() + number * count;
            if (!learn_named(dict_at(rows, row), y, w, own, called, line, count)) return row;
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
        const ReleaseGil release_gil;
        model_.look_rows(rows, scores.data(), count, variances.data());
    }

    // Writes the mixed scores of each row, before it was learned from.
    void learn_rows(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
                    std::int64_t width, const Labels& labels, const std::optional<ReadOnly>& weights,
                    const std::optional<ReadOnly>& own_weights, bool calibrate, const std::vector<std::int64_t>& blocks,
                    int threads, int jobs, const Numbers& mixed) {
        const Rows rows = rows_of(values, indices, offsets, width, model_.intercept());
        require(width == model_.width(), "the rows must have the width of the model");
        model_.check_type(labels);
        require(length(labels) == rows.count, "labels must have one label per row");
        for (const auto* given : {&weights, &own_weights})
            require(!*given || length(**given) == rows.count, "weights must have one weight per row");
        model_.check_blocks(blocks);
        for (const int count : {threads, jobs})
            require(count >= 1 && count <= kMostThreads, "threads and jobs must be from 1 to 256");
        require(length(mixed) == rows.count * model_.n_scores(), "mixed must have one score per row and class");
        const auto numbers = [](const std::optional<ReadOnly>& given) { return given ? given->data() : nullptr; };
        const ReentrancyGuard guard(is_learning());
        const ReleaseGil release_gil;
        model_.learn_rows(
            {rows, labels, numbers(weights), numbers(own_weights), calibrate, blocks, threads, jobs, mixed.data()});
    }

    nb::object owner() const { return owner_; }
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

    nb::dict dict_at(const nb::tuple& rows, std::size_t row) const {
        const nb::handle x = rows[row];
        // Raises an error that names the row.
        if (!PyDict_Check(x.ptr())) vocabulary().check(rows, model_.width());
        return nb::borrow<nb::dict>(x);
    }

    // Returns the number of scores per row.
    std::int64_t line_of(const Numbers& scores, const nb::tuple& rows) const {
        if (rows.size() == 0) return model_.scores();
        require(scores.size() % rows.size() == 0, "scores must have one score per row and class");
        return static_cast<std::int64_t>(scores.size() / rows.size());
    }

    bool& is_learning() noexcept { return lock_ == nullptr ? is_learning_ : lock_->is_learning(); }

    Rows row_of(const Vector& vector) const { return vector.row(model_.width(), model_.intercept()); }
    Rows row_of(const Example& example, const std::int64_t* offsets) const {
        return {kSparse64i64, example.values.data(), example.indices.data(), offsets, offsets[1], 1, model_.width(),
                model_.intercept()};
    }

    // Computes the first `count` scores: user code that runs while the dict is read may add a class.
    void score_named(const nb::dict& x, std::int64_t row, double* scores, std::int64_t count, double* variance) {
        const KeptExample kept(kept_);
        Example& example = *kept;
        vocabulary().template read_sorted<Purpose::score>(x, model_.width(), row, example);
        const std::int64_t offsets[] = {0, example.count()};
        const Rows features = row_of(example, offsets);
        if (variance == nullptr)
            model_.score(features, scores, count);
        else
            model_.look(features, scores, count, *variance);
    }

    // `own` is the sample weight, `w` that times the weight of the class.
    bool learn_named(const nb::dict& x, double y, double w, double own, std::int64_t row, double* scores,
                     std::int64_t count) {
        const ReentrancyGuard guard(is_learning());
        const KeptExample kept(kept_);
        Example& example = *kept;
        vocabulary().template read_sorted<Purpose::learn>(x, model_.width(), row, example);
        if (w == 0.0) {
            const std::int64_t known = model_.scores();
            score_named(x, row, scores, known, nullptr);
            std::fill(scores + known, scores + count, -HUGE_VAL);
            return true;
        }
        if (example.known + example.count_new() > model_.width()) return false;
        const std::int64_t offsets[] = {0, example.count()};
        Vocabulary::Adding adding(*vocabulary_, example);
        model_.learn(row_of(example, offsets), y, w, own, scores, count, &variance_);
        adding.keep();
        return true;
    }

    Ready model_;
    nb::object owner_;  // of the vocabulary
    Vocabulary* vocabulary_;
    nb::object lock_owner_;
    Lock* lock_ = nullptr;  // of the learner; null for a handle that is its caller's alone
    bool is_learning_ = false, is_retired_ = false;
    double variance_ = 0.0;
    std::unique_ptr<Example> kept_ = std::make_unique<Example>();
};

// What both kinds have in common.
template <class Ready, class... Extra>
nb::class_<OneByOne<Ready>> bind(nb::module_& module, const char* name, const Extra&... extra) {
    using One = OneByOne<Ready>;
    return nb::class_<One>(module, name, nb::type_slots(kTraverse<One>), extra...)
        .def_prop_ro("vocabulary", &One::owner, nb::sig("def vocabulary(self) -> Vocabulary"))
        .def_prop_ro("scores", &One::scores, "The number of scores of an example.")
        .def_prop_ro("variance", &One::variance,
                     "x'Sigma x of the dict that was learned from last, before the update; with several classes, of the "
                     "one with the largest score.")
        .def("attach", &One::attach, "lock"_a, nb::sig("def attach(self, lock: Lock) -> None"),
             "Learn from now on only while no other thread has the lock.")
        .def("retire", &One::retire, "Learn no more, since the model has been replaced.")
        // Positional-only arguments make a call cheaper.
        .def("score", &One::score, nb::arg().none(), nb::sig("def score(self, x: object, /) -> typing.Any"),
             "Return the score of a vector.")
        .def("learn", &One::learn, nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::sig("def learn(self, x: object, y: float, w: float, /) -> typing.Any"),
             "Learn from a vector; return its score before. Returns None if there is no room for its class, if another thread has "
             "the model, or it has been replaced.")
        .def("score_named", nb::overload_cast<const nb::dict&>(&One::score_named),
             nb::sig("def score_named(self, x: dict, /) -> typing.Any"), "Return the score of a dict.")
        .def("look_named", &One::look_named, nb::sig("def look_named(self, x: dict, /) -> tuple[typing.Any, float]"),
             "Return the score of a dict, and the variance of the largest.")
        .def("learn_named", nb::overload_cast<const nb::dict&, NumberLabel, SampleWeight>(&One::learn_named), nb::arg(),
             nb::arg().none(), nb::arg().none(),
             nb::sig("def learn_named(self, x: dict, y: float, w: float, /) -> typing.Any"),
             "Learn from a dict; return its score before. Adds new names. Returns None if the model has no room for them or for "
             "the class, if another thread has it, or it has been replaced.")
        .def("score_list", &One::score_list, "rows"_a, "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "Compute the scores of dicts, and their variances.")
        .def("learn_list", &One::learn_list, "rows"_a, "labels"_a, "weights"_a.none(), "sample_weights"_a.none(), "first"_a,
             "scores"_a.noconvert(), "variances"_a.noconvert().none(),
             "Learn from checked dicts, from number `first` on, and write their scores before and variances. Return where "
             "it stopped: at a dict that the model has no room for, at the end, or after as many as one call may take.");
}

}  // namespace

DictHandle& dict_handle(nb::handle handle) {
    if (OneByOne<ReadyCommittee>* committee = nullptr; nb::try_cast(handle, committee)) return *committee;
    return *nb::cast<OneByOne<ScaledModel>*>(handle);
}

void bind_one_at_a_time(nb::module_& module) {
    using One = OneByOne<ScaledModel>;
    bind<ScaledModel>(module, "OneByOne",
                      "A rule and a model, ready to learn from one example after another. A score is a float, or an "
                      "array with one score per class.")
        .def(nb::init<nb::object, HeldRule, HeldModel, bool, const std::string&, std::optional<HeldScale>>(),
             "vocabulary"_a.none(), "rule"_a, "model"_a, "intercept"_a, "scale"_a, "states"_a.noconvert().none(),
             nb::sig("def __init__(self, vocabulary: Vocabulary | None, rule: Rule, model: Model, intercept: bool, "
                     "scale: str, states: tuple[NDArray, NDArray] | None) -> None"))
        .def("look_rows", &One::look_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
             "scores"_a.noconvert(), "variances"_a.noconvert(),
             "Compute the scores of scanned rows, and the variance of the largest, as those of dicts.");
    bind<ReadyCommittee>(module, "CommitteeByOne",
                         "A committee, ready to learn from single examples and batches. A score is the mixed log-odds, or "
                         "an array with one score per class.")
        .def(nb::init<nb::object, std::vector<HeldRule>, std::vector<HeldModel>, bool, std::vector<std::string>,
                      std::optional<HeldScale>, Numbers, Tally>(),
             "vocabulary"_a.none(), "rules"_a, "models"_a, "intercept"_a, "scales"_a, "states"_a.noconvert().none(),
             "mixture"_a.noconvert(), "tally"_a.noconvert(),
             nb::sig("def __init__(self, vocabulary: Vocabulary | None, rules: Sequence[Rule], models: Sequence[Model], "
                     "intercept: bool, scales: Sequence[str], states: tuple[NDArray, NDArray] | None, "
                     "mixture: NDArray, tally: NDArray) -> None"))
        .def("learn_rows", &OneByOne<ReadyCommittee>::learn_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(),
             "width"_a, "labels"_a, "weights"_a.none(), "own_weights"_a.none(), "calibrate"_a, "blocks"_a, "threads"_a,
             "jobs"_a, "mixed"_a.noconvert(),
             "Learn from the rows of a scanned batch in order; member m takes blocks[m] rows at a time. Write the mixed "
             "scores of each row from before it was learned. `own_weights` are the sample weights without class weights. "
             "`jobs` threads scale, learn and mix side by side; each member has `threads` threads of its own.");
}

}  // namespace scwlearn
