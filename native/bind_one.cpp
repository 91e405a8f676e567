// One example at a time: a vector, or a dict of named features.
#include "bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_example.hpp"
#include "bind_names.hpp"
#include "scan.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// A dict as a compressed sparse row, and the names in it that are new, in the order of their features.
struct Example {
    std::vector<std::int64_t> indices;
    std::vector<double> values;
    std::vector<nb::object> new_names;
    std::vector<std::pair<std::int64_t, double>> in_order;  // scratch

    // By index: the loop for a full covariance relies on it, the others sum in any order.
    void sort() {
        in_order.clear();
        for (std::size_t i = 0; i < values.size(); ++i) in_order.emplace_back(indices[i], values[i]);
        std::sort(in_order.begin(), in_order.end());
        for (std::size_t i = 0; i < values.size(); ++i) std::tie(indices[i], values[i]) = in_order[i];
    }

    void clear() {
        indices.clear();
        values.clear();
        new_names.clear();
    }
};

// A rule and a model, ready for one example after the other: nothing is looked up or allocated for each.
class OneByOne {
public:
    // `names` says which feature a name is. It is empty, and stays so, where examples are vectors.
    OneByOne(HeldRule rule, HeldModel model, nb::dict names, bool intercept)
        : rule_(std::move(rule)),
          model_(std::move(model)),
          names_(std::move(names), model_.size - intercept),
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

    double score_named(const nb::dict& x) {
        Example example = std::move(scratch_);
        read<false>(x, example);
        const std::int64_t offsets[] = {0, static_cast<std::int64_t>(example.values.size())};
        const double score = score_row(row_of(example, offsets));
        keep(example);
        return score;
    }

    // Nothing where the model has no room for the new names.
    std::optional<double> learn_named(const nb::dict& x, double y, double w) {
        const Turn turn(learning_);
        check_label(y);
        check_weight(w);
        if (w == 0.0) return score_named(x);
        Example example = std::move(scratch_);
        const std::int64_t known = read<true>(x, example);
        const auto count_new = static_cast<std::int64_t>(example.new_names.size());
        if (count_new > width() - known) return std::nullopt;
        if (model_.kind == kFull) example.sort();
        const std::int64_t offsets[] = {0, static_cast<std::int64_t>(example.values.size())};
        double score;
        try {
            for (std::int64_t i = 0; i < count_new; ++i) names_.add(example.new_names[i], known + i);
            score = learn_row(row_of(example, offsets), y, w);
        } catch (...) {
            for (const nb::object& name : example.new_names) names_.remove(name);
            throw;
        }
        keep(example);
        return score;
    }

    // For Python's garbage collector: a rule or a name of the user's own may hold on to the learner that holds this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(rule_.function().ptr());
        Py_VISIT(names_.features().ptr());
        return 0;
    }

private:
    std::int64_t width() const noexcept { return model_.size - intercept_; }

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

    // For the next call. One that comes while user code runs finds nothing kept, and makes its own.
    void keep(Example& example) {
        example.clear();
        scratch_ = std::move(example);
    }

    // Writes what x says into the example; says how many names are known. A value of 0 says nothing, nor does a new name
    // to whoever does not learn.
    template <bool kLearn>
    std::int64_t read(const nb::dict& x, Example& example) {
        const std::int64_t known = names_.count();
        const Py_ssize_t size = PyDict_GET_SIZE(x.ptr());
        PyObject *key, *number;
        for (Py_ssize_t at = 0; PyDict_Next(x.ptr(), &at, &key, &number);) {
            // Held on to, because a name or a value of the user's own class may run any code, and change the dict.
            const nb::object name = nb::borrow(key);
            const double value = PyFloat_CheckExact(number) && acceptable(PyFloat_AS_DOUBLE(number))
                                     ? PyFloat_AS_DOUBLE(number)
                                     : value_of(name, nb::borrow(number));
            std::int64_t feature = value == 0.0 ? -1 : names_.find(name);
            if (PyDict_GET_SIZE(x.ptr()) != size) throw nb::value_error("x changed while it was read");
            if (value == 0.0) continue;
            if (feature < 0) {
                if constexpr (!kLearn) continue;
                feature = known + static_cast<std::int64_t>(example.new_names.size());
                example.new_names.push_back(name);
            }
            example.indices.push_back(feature);
            example.values.push_back(value);
        }
        return known;
    }

    static double value_of(const nb::object& name, const nb::object& number) {
        const double value = PyFloat_AsDouble(number.ptr());
        if (value == -1.0 && PyErr_Occurred()) {
            if (PyErr_ExceptionMatches(PyExc_TypeError))
                PyErr_Format(PyExc_TypeError, "x[%R] must be a number, got %R", name.ptr(), number.ptr());
            nb::raise_python_error();
        }
        if (!acceptable(value)) {
            PyErr_Format(PyExc_ValueError, "x[%R] = %R; every value must be finite and at most 1e+150 in size",
                         name.ptr(), number.ptr());
            nb::raise_python_error();
        }
        return value;
    }

    HeldRule rule_;
    HeldModel model_;
    Names names_;
    bool intercept_;
    bool learning_ = false;
    std::vector<double> work_;
    Example scratch_;
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
        .def(nb::init<HeldRule, HeldModel, nb::dict, bool>(), "rule"_a, "model"_a, "names"_a, "intercept"_a)
        // Arguments that cannot be passed by name make a call cheaper.
        .def("score", &OneByOne::score, nb::sig("def score(self, x: object, /) -> float"), "mu.x of a float64 vector.")
        .def("learn", &OneByOne::learn, nb::sig("def learn(self, x: object, y: float, w: float, /) -> float"),
             "Learn from a float64 vector; its score before.")
        .def("score_named", &OneByOne::score_named, nb::sig("def score_named(self, x: dict, /) -> float"),
             "mu.x of a dict.")
        .def("learn_named", &OneByOne::learn_named,
             nb::sig("def learn_named(self, x: dict, y: float, w: float, /) -> float | None"),
             "Learn from a dict; its score before. Adds new names, or returns None where the model has no room for "
             "them.");
}

}  // namespace scwlearn
