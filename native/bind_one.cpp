// One example at a time: a vector, or a dict of named features.
#include "bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "scan.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// The memory that Python's buffer protocol shows, for as long as this lives.
class Buffer {
public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
            nb::raise_python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    const Py_buffer* operator->() const noexcept { return &view_; }

private:
    Py_buffer view_;
};

[[noreturn]] void refuse(const char* format, nb::handle what) {
    PyErr_Format(PyExc_ValueError, format, what.ptr());
    nb::raise_python_error();
}

// A rule and a model, ready for one example after the other: nothing is looked up or allocated for each.
class OneByOne {
public:
    OneByOne(HeldRule rule, HeldModel model, bool intercept)
        : rule_(std::move(rule)), model_(std::move(model)), intercept_(intercept) {
        require(model_.size >= (intercept ? 1 : 0), "mean has the wrong length");
        work_.resize(static_cast<std::size_t>(work_entries(model_.kind, model_.size, 1)));
    }

    double score(nb::handle x) const {
        const Buffer buffer(x);
        return score_row(row_of(buffer));
    }

    double learn(nb::handle x, double y) {
        const Buffer buffer(x);
        return learn_row(row_of(buffer), y);
    }

    double score_named(const nb::dict& names, const nb::dict& x) {
        read(names, x);
        const std::int64_t offsets[] = {0, list()};
        return score_row(row_of_list(offsets));
    }

    // Nothing where the model has no room for the new names.
    std::optional<double> learn_named(nb::dict& names, const nb::dict& x, double y) {
        check_label(y);
        read(names, x);
        const auto known = static_cast<std::int64_t>(names.size());
        if (known + static_cast<std::int64_t>(unknown_.size()) > width()) return std::nullopt;
        for (std::size_t i = 0; i < unknown_.size(); ++i)
            features_.push_back({known + static_cast<std::int64_t>(i), unknown_[i].value});
        const std::int64_t offsets[] = {0, list()};
        const double score = learn_row(row_of_list(offsets), y);
        for (std::size_t i = 0; i < unknown_.size(); ++i) names[unknown_[i].name] = known + static_cast<std::int64_t>(i);
        return score;
    }

private:
    struct Feature {
        std::int64_t index;
        double value;
    };

    struct Unknown {
        nb::object name;
        double value;
    };

    std::int64_t width() const noexcept { return model_.size - intercept_; }

    static void check_label(double y) {
        if (y != 1.0 && y != -1.0) refuse("a learner's labels are -1 and +1, got y = %R", nb::float_(y));
    }

    Rows row_of(const Buffer& buffer) const {
        if (buffer->ndim != 1 || buffer->shape[0] != width()) {
            PyErr_Format(PyExc_ValueError, "x must be a vector of %lld numbers, one for each feature", (long long)width());
            nb::raise_python_error();
        }
        if (buffer->format == nullptr || buffer->format[0] != 'd' || buffer->format[1] != '\0')
            throw nb::type_error("x must hold float64 numbers");
        const double* values = static_cast<const double*>(buffer->buf);
        for (std::int64_t i = 0; i < width(); ++i)
            if (!acceptable(values[i])) {
                PyErr_Format(PyExc_ValueError, "x[%lld] = %R; every value must be finite and at most 1e+150 in size",
                             (long long)i, nb::float_(values[i]).ptr());
                nb::raise_python_error();
            }
        return {kDense64, values, nullptr, nullptr, width(), 1, width(), intercept_};
    }

    // Writes the features as a compressed sparse row, in order, so that both sum alike; says how many there are.
    std::int64_t list() {
        std::sort(features_.begin(), features_.end(), [](Feature a, Feature b) { return a.index < b.index; });
        indices_.clear();
        values_.clear();
        for (const Feature& feature : features_) {
            indices_.push_back(feature.index);
            values_.push_back(feature.value);
        }
        return static_cast<std::int64_t>(values_.size());
    }

    Rows row_of_list(const std::int64_t* offsets) const {
        return {kSparse64i64, values_.data(), indices_.data(), offsets, offsets[1], 1, width(), intercept_};
    }

    double score_row(const Rows& rows) const {
        double score = 0.0;
        const Memory memory = model_.memory(nullptr);
        score_for(rows.kind)(rows, weights_of(model_.kind, memory.entries, memory.scalars), &score);
        return score;
    }

    double learn_row(const Rows& rows, double y) {
        check_label(y);
        const auto label = static_cast<std::int8_t>(y);
        double trace[kTraceWidth];
        const Task task{rows, &label, model_.memory(work_.data()), rule_.rule(), trace, 1, 1};
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

    // Fills features_ with what the model knows of x and unknown_ with the rest; values of 0 say nothing.
    void read(const nb::dict& names, const nb::dict& x) {
        features_.clear();
        unknown_.clear();
        const Py_ssize_t size = PyDict_Size(x.ptr());
        PyObject *key, *held;
        for (Py_ssize_t at = 0; PyDict_Next(x.ptr(), &at, &key, &held);) {
            // Held on to, because a value or a name of the user's own class may run any code, and change the dict.
            const nb::object name = nb::borrow(key), number = nb::borrow(held);
            const double value = value_of(name, number);
            PyObject* index = value == 0.0 ? nullptr : PyDict_GetItemWithError(names.ptr(), name.ptr());
            if (PyErr_Occurred()) nb::raise_python_error();
            if (PyDict_Size(x.ptr()) != size) throw nb::value_error("x changed while it was read");
            if (index != nullptr)
                features_.push_back({place_of(index), value});
            else if (value != 0.0)
                unknown_.push_back({name, value});
        }
    }

    std::int64_t place_of(PyObject* index) const {
        const auto place = static_cast<std::int64_t>(PyLong_AsLongLong(index));
        if (PyErr_Occurred()) nb::raise_python_error();
        require(place >= 0 && place < width(), "the index of a name lies outside the model");
        return place;
    }

    static double value_of(const nb::object& name, const nb::object& number) {
        const double value =
            PyFloat_CheckExact(number.ptr()) ? PyFloat_AS_DOUBLE(number.ptr()) : PyFloat_AsDouble(number.ptr());
        if (value == -1.0 && PyErr_Occurred()) {
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
    bool intercept_;
    std::vector<double> work_;
    std::vector<Feature> features_;
    std::vector<Unknown> unknown_;
    std::vector<std::int64_t> indices_;
    std::vector<double> values_;
};

}  // namespace

void bind_one(nb::module_& module) {
    nb::class_<OneByOne>(module, "OneByOne", "A rule and a model, ready for one example after the other.")
        .def(nb::init<HeldRule, HeldModel, bool>(), "rule"_a, "model"_a, "intercept"_a)
        .def("score", &OneByOne::score, "x"_a, "mu.x of a float64 vector.")
        .def("learn", &OneByOne::learn, "x"_a, "y"_a, "Learn from a float64 vector; its score before.")
        .def("score_named", &OneByOne::score_named, "names"_a, "x"_a,
             "mu.x of a dict; `names` says which feature a name is.")
        .def("learn_named", &OneByOne::learn_named, "names"_a, "x"_a, "y"_a,
             "Learn from a dict; its score before. Adds new names, or returns None where the model has no room for "
             "them.");
}

}  // namespace scwlearn
