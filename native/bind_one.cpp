// One example at a time: a vector, or a dict of named features.
#include "bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bind_example.hpp"
#include "bind_vocabulary.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Scores = nb::ndarray<double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

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

// A rule and a model, ready for one example after the other: nothing is looked up or allocated for each.
class OneByOne {
public:
    // The vocabulary is None where examples are vectors.
    OneByOne(HeldRule rule, HeldModel model, nb::object vocabulary, bool intercept)
        : rule_(std::move(rule)),
          model_(std::move(model)),
          owner_(std::move(vocabulary)),
          vocabulary_(owner_.is_none() ? nullptr : nb::cast<Vocabulary*>(owner_)),
          intercept_(intercept) {
        require(model_.size >= (intercept ? 1 : 0), "mean has the wrong length");
        work_.resize(static_cast<std::size_t>(work_entries(model_.kind, model_.size, 1)));
    }

    double score(nb::handle x) const {
        const Buffer buffer(x);
        return score_row(buffer.row(width(), intercept_));
    }

    double learn(nb::handle x, double y, double w) {
        const Turn turn(learning_);
        check_label(y);
        check_weight(w);
        const Buffer buffer(x);
        const Rows row = buffer.row(width(), intercept_);
        return w == 0.0 ? score_row(row) : learn_row(row, y, w);
    }

    double score_named(const nb::dict& x) { return score_named(x, -1); }

    // Nothing where the model has no room for the new names.
    std::optional<double> learn_named(const nb::dict& x, double y, double w) {
        check_label(y);
        check_weight(w);
        return learn_named(x, y, w, -1);
    }

    void score_list(const nb::tuple& rows, const Scores& scores) {
        require(scores.size() == rows.size(), "one score for each row");
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const nb::handle x = rows[row];
            if (!PyDict_Check(x.ptr())) vocabulary().check(rows);
            scores(row) = score_named(nb::borrow<nb::dict>(x), static_cast<std::int64_t>(row));
        }
    }

    std::size_t learn_list(const nb::tuple& rows, const Labels& labels, const std::optional<ReadOnly>& weights,
                           std::size_t first, const Scores& scores) {
        require(labels.size() == rows.size() && scores.size() == rows.size(), "one label and one score for each row");
        require(!weights || weights->size() == rows.size(), "one weight for each row");
        const std::size_t end = std::min(rows.size(), first + kRowsAtOnce);
        for (std::size_t row = first; row < end; ++row) {
            const double w = weights ? weights->data()[row] : 1.0;
            const auto score =
                learn_named(nb::borrow<nb::dict>(rows[row]), labels(row), w, static_cast<std::int64_t>(row));
            if (!score) return row;
            scores(row) = *score;
        }
        return end;
    }

    nb::object owner() const { return owner_; }

    // For Python's garbage collector: a rule or a name of the user's own may hold on to the learner that holds this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(rule_.function().ptr());
        Py_VISIT(owner_.ptr());
        return 0;
    }

private:
    // So few that other threads and Ctrl-C have their turn soon.
    static constexpr std::size_t kRowsAtOnce = 4096;

    std::int64_t width() const noexcept { return model_.size - intercept_; }

    Vocabulary& vocabulary() const {
        require(vocabulary_ != nullptr, "there is no vocabulary");
        return *vocabulary_;
    }

    double score_named(const nb::dict& x, std::int64_t row) {
        const Scratch scratch(scratch_);
        Example& example = *scratch;
        vocabulary().read<Purpose::score>(x, width(), row, example);
        const std::int64_t offsets[] = {0, example.count()};
        return score_row(row_of(example, offsets));
    }

    std::optional<double> learn_named(const nb::dict& x, double y, double w, std::int64_t row) {
        const Turn turn(learning_);
        if (w == 0.0) return score_named(x, row);
        const Scratch scratch(scratch_);
        Example& example = *scratch;
        vocabulary().read<Purpose::learn>(x, width(), row, example);
        if (example.known + example.count_new() > width()) return std::nullopt;
        if (model_.kind == kFull) example.sort();
        const std::int64_t offsets[] = {0, example.count()};
        Vocabulary::Adding adding(*vocabulary_, example);
        const double score = learn_row(row_of(example, offsets), y, w);
        adding.keep();
        return score;
    }

    static void check_label(double y) {
        if (y != 1.0 && y != -1.0) refuse("a learner's labels are -1 and +1, got y = %R", nb::float_(y));
    }

    Rows row_of(const Example& example, const std::int64_t* offsets) const {
        return {kSparse64i64, example.values.data(), example.indices.data(), offsets, offsets[1], 1, width(), intercept_};
    }

    double score_row(const Rows& rows) const {
        double score = 0.0;
        const Memory memory = model_.memory(nullptr);
        score_for(rows.kind)(rows, weights_of(model_.kind, memory.entries, memory.scalars), &score);
        return score;
    }

    double learn_row(const Rows& rows, double y, double w) {
        const auto label = static_cast<std::int8_t>(y);
        double trace[kTraceWidth];
        const Task task{rows, &label, &w, model_.memory(work_.data()), rule_.rule(), trace, 1, 1};
        Scalars& scalars = *task.memory.scalars;
        const Scalars before = scalars;
        try {
            model_.count(1, loop_for(model_.kind, rows.kind)(task));
        } catch (...) {
            // A rule that is a Python function has raised: the round has begun, but nothing has moved.
            scalars = before;
            throw;
        }
        return trace[0];
    }

    HeldRule rule_;
    HeldModel model_;
    nb::object owner_;  // of the vocabulary
    Vocabulary* vocabulary_;
    bool intercept_;
    bool learning_ = false;
    std::vector<double> work_;
    std::unique_ptr<Example> scratch_ = std::make_unique<Example>();
};

int visit(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<OneByOne>(self)->visit(visit, arg) : 0;
}

PyType_Slot kSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)}, {0, nullptr}};

}  // namespace

void bind_one(nb::module_& module) {
    nb::class_<OneByOne>(module, "OneByOne", nb::type_slots(kSlots),
                         "A rule and a model, ready for one example after the other.")
        .def(nb::init<HeldRule, HeldModel, nb::object, bool>(), "rule"_a, "model"_a, "vocabulary"_a.none(),
             "intercept"_a,
             nb::sig("def __init__(self, rule: Rule, model: Model, vocabulary: Vocabulary | None, intercept: bool)"
                     " -> None"))
        .def_prop_ro("vocabulary", &OneByOne::owner, nb::sig("def vocabulary(self) -> Vocabulary"))
        // Arguments that cannot be passed by name make a call cheaper.
        .def("score", &OneByOne::score, nb::sig("def score(self, x: object, /) -> float"), "mu.x of a float64 vector.")
        .def("learn", &OneByOne::learn, nb::sig("def learn(self, x: object, y: float, w: float, /) -> float"),
             "Learn from a float64 vector; its score before.")
        .def("score_named", nb::overload_cast<const nb::dict&>(&OneByOne::score_named),
             nb::sig("def score_named(self, x: dict, /) -> float"), "mu.x of a dict.")
        .def("learn_named", nb::overload_cast<const nb::dict&, double, double>(&OneByOne::learn_named),
             nb::sig("def learn_named(self, x: dict, y: float, w: float, /) -> float | None"),
             "Learn from a dict; its score before. Adds new names, or returns None where the model has no room for "
             "them.")
        .def("score_list", &OneByOne::score_list, "rows"_a, "scores"_a.noconvert(), "mu.x of each of some dicts.")
        .def("learn_list", &OneByOne::learn_list, "rows"_a, "labels"_a, "weights"_a.none(), "first"_a,
             "scores"_a.noconvert(),
             "Learn from dicts that have been checked, from the first one given on, and write their scores before; how "
             "far it came: to one that the model has no room for, to the end, or as far as one call should go.");
}

}  // namespace scwlearn
