// A classifier of dicts, ready for single examples: a call reads the example, looks up its label, scores, learns and
// calibrates.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "python/dict_handle.hpp"
#include "python/held_curve.hpp"
#include "python/numbers.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Room for the scores of an example: user code may start another call while this one reads its example.
class Scores {
public:
    explicit Scores(std::int64_t count) {
        if (count > static_cast<std::int64_t>(few_.size())) many_.resize(static_cast<std::size_t>(count));
    }
    double* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }

private:
    std::array<double, 16> few_;
    std::vector<double> many_;
};

// The place of the first largest number, or of the first NaN, as NumPy's argmax has it.
std::int64_t argmax(const double* numbers, std::int64_t count) {
    std::int64_t top = 0;
    for (std::int64_t i = 0; i < count && !std::isnan(numbers[top]); ++i)
        if (!(numbers[i] <= numbers[top])) top = i;
    return top;
}

class ClassifierByOne {
public:
    // Not ready: leaves all work to the caller.
    ClassifierByOne() = default;

    ClassifierByOne(nb::object handle, nb::object calibration, const nb::list& labels,
                    std::vector<std::int64_t> order, nb::dict numbers, bool learns, bool by_score,
                    std::optional<double> margin)
        : handle_(std::move(handle)),
          calibration_(std::move(calibration)),
          numbers_(std::move(numbers)),
          order_(std::move(order)),
          one_(&dict_handle(handle_)),
          lock_(one_->lock()),
          curve_(calibration_.is_none() ? nullptr : &held_curve(calibration_)),
          learns_(learns),
          by_score_(by_score),
          margin_(margin) {
        for (const nb::handle label : labels) labels_.push_back(nb::borrow(label));
        require(!labels_.empty() && order_.size() == labels_.size(), "order must have the number of each class");
        for (const std::int64_t number : order_)
            require(number >= 0 && number < classes(), "order must have the number of each class");
        require(!one_->is_binary() || labels_.size() <= 2, "a binary model has up to two classes");
    }

    // Leaves all work to the caller from now on. A call that reads an example may still be running.
    void retire() noexcept { is_retired_ = true; }

    // Whether the classifier and its learner still have these handles.
    bool is_current() const { return one_ != nullptr && !is_retired_ && one_->is_current(); }

    // Returns None if it cannot.
    nb::object predict(nb::handle x) const {
        if (!by_score_ || !can_read(x)) return nb::none();
        const std::int64_t count = known();
        if (count == 0) return nb::none();
        Scores scores(count);
        one_->score_dict(nb::borrow<nb::dict>(x), scores.data(), count, nullptr);
        return labels_[static_cast<std::size_t>(top_class(scores.data(), count))];
    }

    // Returns None if it cannot.
    nb::object probabilities(nb::handle x) const {
        if (curve_ == nullptr || !can_read(x)) return nb::none();
        const std::int64_t count = known();
        if (!fits(count) || !(one_->is_binary() || count == classes())) return nb::none();
        Scores scores(count), chances(std::max<std::int64_t>(count, 2));
        double variance = 0.0, *const p = chances.data();
        one_->score_dict(nb::borrow<nb::dict>(x), scores.data(), count, &variance);
        // User code, that of a key, may have run.
        if (!fits(count) || !curve_->is_sound(scores.data(), variance)) return nb::none();
        curve_->probabilities(scores.data(), variance, p);
        if (one_->is_binary()) {
            const double half = margin_ ? 0.5 * *margin_ : 0.0;
            if (margin_) p[0] = scores.data()[0] >= 0.0 ? std::max(p[0], half) : std::min(p[0], 1.0 - half);
            p[1] = labels_.size() == 1 ? 0.0 : p[0];
            p[0] = 1.0 - p[1];
        } else if (margin_ && !raise_top(p, count, argmax(scores.data(), count), *margin_)) {
            return nb::none();
        }
        nb::dict answer;
        for (const std::int64_t number : order_) {
            const auto place = static_cast<std::size_t>(number);
            const nb::float_ chance(p[place]);
            if (PyDict_SetItem(answer.ptr(), labels_[place].ptr(), chance.ptr()) != 0) nb::raise_python_error();
        }
        return answer;
    }

    // Returns false if it cannot: the label or a name is new, and there is no room for it, this is no example, or another
    // thread has the model.
    bool learn(nb::handle x, nb::handle y, SampleWeight w) {
        if (!learns_) return false;
        const std::int64_t number = number_of(y);
        const TakenLock taken(lock_);
        if (!taken) return false;
        if (number < 0 || !can_read(x)) return false;
        const double label = one_->is_binary() ? static_cast<double>(2 * number - 1) : static_cast<double>(number);
        const std::int64_t count = one_->scores_after(label);
        if (curve_ != nullptr && !fits(count)) return false;
        Scores scores(count);
        double variance = 0.0;
        if (!one_->learn_dict(nb::borrow<nb::dict>(x), label, w, scores.data(), count, variance)) return false;
        if (w != 0.0 && curve_ != nullptr && fits(count)) curve_->learn_one(scores.data(), variance, number, w);
        return true;
    }

    // For Python's garbage collector: a rule or a name of the user's may refer to the classifier.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(handle_.ptr());
        Py_VISIT(calibration_.ptr());
        Py_VISIT(numbers_.ptr());
        return 0;
    }

private:
    std::int64_t classes() const noexcept { return static_cast<std::int64_t>(labels_.size()); }
    // Another thread may have brought the learner another class.
    std::int64_t known() const { return one_->is_binary() ? 1 : std::min(classes(), one_->scores()); }
    bool fits(std::int64_t count) const noexcept { return curve_->n_scores() == count; }
    bool can_read(nb::handle x) const { return is_current() && PyDict_Check(x.ptr()); }

    // Ties go to the lowest number; in the binary case, to class 1.
    std::int64_t top_class(const double* scores, std::int64_t count) const noexcept {
        return one_->is_binary() ? classes() == 2 && scores[0] >= 0.0 : argmax(scores, count);
    }

    // Raises the probability of the class at the top above those that are no smaller; returns false if it cannot.
    static bool raise_top(double* p, std::int64_t count, std::int64_t top, double margin) {
        if (std::count_if(p, p + count, [p, top](double other) { return other >= p[top]; }) == 1) return true;
        // NumPy, whose bits these must be, adds more numbers in another order.
        if (count >= 8) return false;
        p[top] = *std::max_element(p, p + count) * margin;
        const double total = std::accumulate(p, p + count, 0.0);
        for (std::int64_t r = 0; r < count; ++r) p[r] /= total;
        return true;
    }

    // The number of a class, or -1.
    std::int64_t number_of(nb::handle label) const {
        // A complex number equals a real one, and is no label.
        if (PyComplex_Check(label.ptr())) return -1;
        PyObject* const number = PyDict_GetItemWithError(numbers_.ptr(), label.ptr());
        if (number != nullptr) {
            const auto place = nb::cast<std::int64_t>(nb::handle(number));
            require(place >= 0 && place < classes(), "numbers must have the number of each class");
            return place;
        }
        // What cannot be hashed is no label.
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
            nb::raise_python_error();
        PyErr_Clear();
        return -1;
    }

    nb::object handle_, calibration_, numbers_;
    std::vector<nb::object> labels_;   // by class number
    std::vector<std::int64_t> order_;  // class numbers in the order of their labels
    DictHandle* one_ = nullptr;        // null if not ready
    Lock* lock_ = nullptr;             // of the learner
    HeldCurve* curve_ = nullptr;       // null if scores are probabilities already
    bool learns_ = false, by_score_ = false, is_retired_ = false;
    std::optional<double> margin_;  // of the probability of the predicted class, if it must be the largest
};

}  // namespace

void bind_classifier_by_one(nb::module_& module) {
    nb::class_<ClassifierByOne>(module, "ClassifierByOne", nb::type_slots(kTraverse<ClassifierByOne>),
                                "A classifier of dicts, ready for one example after another. What it cannot do, it "
                                "leaves to the caller, and changes nothing. Without arguments: all.")
        .def(nb::init<>())
        .def(nb::init<nb::object, nb::object, const nb::list&, std::vector<std::int64_t>, nb::dict, bool, bool,
                      std::optional<double>>(),
             "handle"_a, "calibration"_a.none(), "labels"_a, "order"_a, "numbers"_a, "learns"_a, "by_score"_a,
             "margin"_a.none(),
             nb::sig("def __init__(self, handle: OneByOne | CommitteeByOne, calibration: Calibration | None, "
                     "labels: list, order: Sequence[int], numbers: dict, learns: bool, by_score: bool, "
                     "margin: float | None) -> None"),
             "`margin`: the least ratio of the probability of the predicted class to others, or None.")
        .def_prop_ro("is_current", &ClassifierByOne::is_current, "Whether this handle belongs to the current model.")
        .def("retire", &ClassifierByOne::retire, "Leave all work to the caller from now on.")
        .def("predict", &ClassifierByOne::predict, nb::arg().none(), nb::sig("def predict(self, x: object, /) -> typing.Any"),
             "Return the label of a dict, or None.")
        .def("probabilities", &ClassifierByOne::probabilities, nb::arg().none(),
             nb::sig("def probabilities(self, x: object, /) -> dict | None"),
             "Return the probability of each class by label, in their order, or None.")
        .def("learn", &ClassifierByOne::learn, nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::sig("def learn(self, x: object, y: object, w: float, /) -> bool"),
             "Learn from a dict, and calibrate; return whether it did.");
}

}  // namespace scwlearn
