// The curve from scores to probabilities, for Python.
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/calibration.hpp"
#include "calibrate/class_calibration.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Classes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

Calibration& curve_of(const Numbers& state) {
    require(static_cast<std::int64_t>(state.size()) == kCalibrationEntries, "state has the wrong length");
    return *reinterpret_cast<Calibration*>(state.data());
}

const Calibration& curve_of(const ReadOnly& state) {
    require(static_cast<std::int64_t>(state.size()) == kCalibrationEntries, "state has the wrong length");
    return *reinterpret_cast<const Calibration*>(state.data());
}

void refuse_row(const char* what, std::size_t row) {
    throw nb::value_error((std::string(what) + " in row " + std::to_string(row)).c_str());
}

bool size_is_sound(double size) { return size >= 0.0 && std::isfinite(size); }

void check_weights(const std::optional<Column>& weights, std::size_t rows) {
    if (!weights) return;
    require(weights->size() == rows, "one weight for each row");
    for (std::size_t row = 0; row < rows; ++row)
        if (!size_is_sound(weights->data()[row]))
            refuse_row("a weight must be finite and not negative; it is not", row);
}

double weight_of(const std::optional<Column>& weights, std::size_t row) { return weights ? weights->data()[row] : 1.0; }

// Before anything is learned: a number that is not finite would stay in the sums for good. Of a row that weighs nothing
// nothing is looked at.
template <class IsSound>
void check_looks(const double* scores, std::size_t classes, const Column& variances,
                 const std::optional<Column>& weights, const IsSound& is_sound) {
    for (std::size_t row = 0; row < variances.size(); ++row) {
        if (weight_of(weights, row) == 0.0) continue;
        for (std::size_t r = 0; r < classes; ++r)
            if (!is_sound(scores[row * classes + r])) refuse_row("a score must be finite; it is not", row);
        if (!size_is_sound(variances.data()[row]))
            refuse_row("a variance must be finite and not negative; it is not", row);
    }
}

void check_looks(const Column& scores, const Column& variances, const std::optional<Column>& weights = {}) {
    require(scores.size() == variances.size(), "one variance for each row");
    check_looks(scores.data(), 1, variances, weights, [](double score) { return std::isfinite(score); });
}

void calibrate_rows(const Numbers& state, const Column& scores, const Column& variances, const Labels& labels,
                    const std::optional<Column>& weights) {
    Calibration& curve = curve_of(state);
    check_weights(weights, scores.size());
    check_looks(scores, variances, weights);
    require(labels.size() == scores.size(), "one label for each row");
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const std::int8_t label = labels.data()[row];
        if (label != 1 && label != -1) refuse_row("a label must be -1 or +1; it is not", row);
    }
    const nb::gil_scoped_release release_gil;
    for (std::size_t row = 0; row < scores.size(); ++row)
        calibration::learn(curve, scores.data()[row], variances.data()[row], labels.data()[row] > 0,
                           weight_of(weights, row));
}

// A single row, which the model has just learned from: it is too late to refuse one that is beyond what numbers hold, and
// it is left out.
void calibrate_row(const Numbers& state, double score, double variance, bool positive, double weight) {
    if (std::isfinite(score) && size_is_sound(variance) && size_is_sound(weight))
        calibration::learn(curve_of(state), score, variance, positive, weight);
}

double probability(const ReadOnly& state, double score, double variance) {
    require(std::isfinite(score) && size_is_sound(variance), "a score must be finite, a variance not negative either");
    return calibration::probability(curve_of(state), score, variance);
}

void probabilities(const ReadOnly& state, const Column& scores, const Column& variances, const Numbers& out) {
    const Calibration& curve = curve_of(state);
    check_looks(scores, variances);
    require(out.size() == scores.size(), "one probability for each score");
    const nb::gil_scoped_release release_gil;
    for (std::size_t row = 0; row < scores.size(); ++row)
        out.data()[row] = calibration::probability(curve, scores.data()[row], variances.data()[row]);
}

std::int64_t classes_of(std::size_t entries) {
    const std::int64_t own = static_cast<std::int64_t>(entries) - kClassCalibrationEntries;
    require(own >= 0 && own % kEntriesPerClass == 0, "state has the wrong length");
    return own / kEntriesPerClass;
}

calibration::ClassCurve class_curve(const Numbers& state) { return {state.data(), classes_of(state.size())}; }

// Looking at a curve does not change it, though the curve could.
calibration::ClassCurve class_curve(const ReadOnly& state) {
    return {const_cast<double*>(state.data()), classes_of(state.size())};
}

// A score of -infinity says that the class was not known.
void check_class_looks(std::size_t entries, const Matrix& scores, const Column& variances,
                       const std::optional<Column>& weights = {}) {
    require(static_cast<std::int64_t>(scores.shape(1)) == classes_of(entries), "one score for each class");
    require(scores.shape(0) == variances.size(), "one variance for each row");
    check_looks(scores.data(), scores.shape(1), variances, weights, [](double score) { return score < HUGE_VAL; });
}

void calibrate_class_rows(const Numbers& state, const Matrix& scores, const Column& variances, const Classes& labels,
                          const std::optional<Column>& weights) {
    check_weights(weights, variances.size());
    check_class_looks(state.size(), scores, variances, weights);
    require(labels.size() == variances.size(), "one label for each row");
    const std::size_t classes = scores.shape(1);
    for (std::size_t row = 0; row < labels.size(); ++row)
        if (static_cast<std::uint64_t>(labels.data()[row]) >= classes)
            refuse_row("a label must be the number of a class; it is not", row);
    calibration::ClassCurve curve = class_curve(state);
    std::vector<double> work(3 * classes);
    const nb::gil_scoped_release release_gil;
    for (std::size_t row = 0; row < labels.size(); ++row)
        curve.learn(scores.data() + row * classes, variances.data()[row], labels.data()[row], weight_of(weights, row),
                    work.data());
}

// A single row, as calibrate_row. Nobody else reads the curve meanwhile, because the GIL is kept.
void calibrate_class_row(const Numbers& state, const Column& scores, double variance, std::int64_t label, double weight) {
    const std::int64_t classes = classes_of(state.size());
    require(static_cast<std::int64_t>(scores.size()) == classes, "one score for each class");
    require(label >= 0 && label < classes, "a label must be the number of a class");
    const bool sound = std::all_of(scores.data(), scores.data() + scores.size(), [](double s) { return s < HUGE_VAL; });
    if (!(sound && size_is_sound(variance) && size_is_sound(weight))) return;
    std::vector<double> work(3 * scores.size());
    class_curve(state).learn(scores.data(), variance, label, weight, work.data());
}

void class_probabilities(const ReadOnly& state, const Matrix& scores, const Column& variances, const Numbers& out) {
    check_class_looks(state.size(), scores, variances);
    require(out.size() == scores.size(), "one probability for each score");
    const std::size_t classes = scores.shape(1);
    const calibration::ClassCurve curve = class_curve(state);
    std::vector<double> work(2 * classes);
    const nb::gil_scoped_release release_gil;
    for (std::size_t row = 0; row < variances.size(); ++row)
        curve.probabilities(scores.data() + row * classes, variances.data()[row], out.data() + row * classes,
                            work.data());
}

void add_class_calibration(const Numbers& state, const ReadOnly& other) {
    require(state.size() == other.size(), "both must have the same classes");
    const std::int64_t classes = classes_of(state.size());
    std::vector<double> used_up(other.data(), other.data() + other.size());
    class_curve(state).add(calibration::ClassCurve(used_up.data(), classes));
}

}  // namespace

void bind_calibration(nb::module_& module) {
    module.attr("CALIBRATION") = kCalibrationEntries;
    module.def(
        "start_calibration", [](const Numbers& state, double window) { calibration::start(curve_of(state), window); },
        "state"_a.noconvert(), "window"_a, "Nothing learned yet.");
    module.def("calibrate_rows", &calibrate_rows, "state"_a.noconvert(), "scores"_a, "variances"_a, "labels"_a,
               "weights"_a.none(),
               "Learn the curve from rows in order, by their scores before the model learned from them.");
    module.def("calibrate_row", &calibrate_row, "state"_a.noconvert(), "score"_a, "variance"_a, "positive"_a, "weight"_a,
               "Learn the curve from a single row, unless it is beyond what numbers hold.");
    module.def("probability", &probability, "state"_a, "score"_a, "variance"_a, "P(+1) of a single row.");
    module.def("probabilities", &probabilities, "state"_a, "scores"_a, "variances"_a, "out"_a.noconvert(),
               "P(+1) for each row.");
    module.def(
        "add_calibration",
        [](const Numbers& state, const ReadOnly& other) { calibration::add(curve_of(state), curve_of(other)); },
        "state"_a.noconvert(), "other"_a, "As if the rows of the other had come between its own.");
    module.def(
        "thin_calibration",
        [](const Numbers& state, double part, double rows) { calibration::thin(curve_of(state), part, rows); },
        "state"_a.noconvert(), "part"_a, "rows"_a,
        "Let everything so far count for so much of what it did, and for so many rows.");
    module.def(
        "mirror_calibration", [](const Numbers& state) { calibration::mirror(curve_of(state)); },
        "state"_a.noconvert(), "P(-1) for P(+1), with scores of the other sign.");
    module.def(
        "calibration_line",
        [](const ReadOnly& state) {
            const Calibration& curve = curve_of(state);
            return std::tuple(curve.line[0], curve.line[1], curve.line[2]);
        },
        "state"_a, "The line: two slopes and a constant.");
    module.attr("CLASS_CALIBRATION") = kClassCalibrationEntries;
    module.attr("ENTRIES_PER_CLASS") = kEntriesPerClass;
    module.def(
        "start_class_calibration", [](const Numbers& state, double window) { class_curve(state).start(window); },
        "state"_a.noconvert(), "window"_a,
        "Nothing learned yet. A class that comes later begins with zeros, at the end.");
    module.def(
        "class_calibration_from_two",
        [](const Numbers& state, const ReadOnly& two) {
            require(classes_of(state.size()) >= 2, "state has the wrong length");
            class_curve(state).become(curve_of(two));
        },
        "state"_a.noconvert(), "two"_a, "What the curve of -1 and +1 says of the first two classes.");
    module.def("calibrate_class_rows", &calibrate_class_rows, "state"_a.noconvert(), "scores"_a, "variances"_a,
               "labels"_a, "weights"_a.none(),
               "Learn from rows in order: the scores of all classes and the variance of the class with the largest, "
               "before the model learned from them.");
    module.def("calibrate_class_row", &calibrate_class_row, "state"_a.noconvert(), "scores"_a, "variance"_a, "label"_a,
               "weight"_a, "Learn from a single row, unless it is beyond what numbers hold.");
    module.def("class_probabilities", &class_probabilities, "state"_a, "scores"_a, "variances"_a, "out"_a.noconvert(),
               "P of each class for each row.");
    module.def("add_class_calibration", &add_class_calibration, "state"_a.noconvert(), "other"_a,
               "As if the rows of the other had come between its own.");
    module.def(
        "thin_class_calibration",
        [](const Numbers& state, double part, double rows) { class_curve(state).thin(part, rows); },
        "state"_a.noconvert(), "part"_a, "rows"_a,
        "Let everything so far count for so much of what it did, and for so many rows.");
}

}  // namespace scwlearn
