// The class Calibration: a calibration curve over a state array that NumPy owns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "python/held_curve.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using calibration::Curve;

class Calibration : public HeldCurve {
public:
    Calibration(std::int64_t n_scores, double window) {
        require(n_scores >= 1 && n_scores <= kMostScores, "n_scores must be from 1 to 2147483647");
        adopt(new_zeros(kCurveEntries + n_scores * kScoreEntries));
        curve().start(window);
    }
    explicit Calibration(const nb::object& state) { set_state(state); }

    // Copies the array, which may be read-only.
    void set_state(const nb::object& state) { adopt(copied_numbers(state)); }
    nb::object state() const { return array_; }
    nb::object state_copy() const { return copied_numbers(array_); }

    // Checks everything before learning anything: a number that is not finite would stay in the sums forever. Writes the
    // probabilities of each row just before it was learned from, if wanted; NaN for those of a row that is not sound.
    void learn(const ReadOnly& scores, const Column<double>& variances, const Column<ClassNumber>& labels,
               const std::optional<Column<double>>& weights, const std::optional<Numbers>& probabilities) {
        const std::size_t rows = variances.size();
        require(labels.size() == rows, "labels must have one class number per row");
        require(!weights || weights->size() == rows, "weights must have one weight per row");
        require(!probabilities || probabilities->size() == scores.size(), "probabilities must have the size of scores");
        for (std::size_t row = 0; weights && row < rows; ++row)
            if (!is_size(weight_of(weights, row))) refuse_row(row, "weight must be finite and >= 0");
        check_looks(scores, variances, weights);
        check_labels(labels, std::max<std::int64_t>(n_scores_, 2));
        const nb::object held = array_;  // learning on, even if another thread replaces the state
        Curve curve = this->curve();
        const std::int64_t width = n_scores_;
        double* const out = probabilities ? probabilities->data() : nullptr;
        std::vector<double> work(static_cast<std::size_t>(3 * width));
        const auto look = [&](std::int64_t row) {
            const double variance = variances(static_cast<std::size_t>(row)), *const own = scores.data() + row * width;
            if (is_sound(own, variance))
                curve.probabilities(own, variance, out + row * width, work.data());
            else
                std::fill_n(out + row * width, width, std::numeric_limits<double>::quiet_NaN());
        };
        const ReleaseGil release_gil;
        if (width == 1) return learn_binary(curve, scores.data(), variances, labels, weights, out != nullptr, look);
        for (std::size_t row = 0; row < rows; ++row) {
            if (out != nullptr) look(static_cast<std::int64_t>(row));
            curve.learn(scores.data() + static_cast<std::int64_t>(row) * width, variances(row), labels(row),
                        weight_of(weights, row), work.data());
        }
    }

    void learn_one(nb::handle scores, double variance, std::int64_t label, double weight) {
        if (n_scores_ == 1) {
            const double score = nb::cast<double>(scores);
            return HeldCurve::learn_one(&score, variance, label, weight);
        }
        const auto all = nb::cast<Column<double>>(scores);
        require(static_cast<std::int64_t>(all.size()) == n_scores_, "scores must have one score per class");
        require(label >= 0 && label < n_scores_, "label must be the number of a known class");
        HeldCurve::learn_one(all.data(), variance, label, weight);
    }

    double probability(double score, double variance) const {
        require(n_scores_ == 1, "probability is for one score per example; use probabilities");
        require(is_sound(&score, variance), "score must be finite, variance finite and >= 0");
        return curve().probability(score, variance);
    }

    nb::ndarray<nb::numpy, double> probabilities(const ReadOnly& scores, const Column<double>& variances) const {
        check_looks(scores, variances, {});
        auto out = std::make_unique_for_overwrite<double[]>(scores.size());
        std::vector<double> state = copied();  // another thread may call learn_one while the GIL is released
        const Curve curve(state.data(), n_scores_);
        {
            const std::int64_t width = n_scores_;
            std::vector<double> work(static_cast<std::size_t>(2 * width));
            const ReleaseGil release_gil;
            for (std::int64_t row = 0; row < static_cast<std::int64_t>(variances.size()); ++row)
                curve.probabilities(scores.data() + row * width, variances.data()[row], out.get() + row * width, work.data());
        }
        std::vector<std::size_t> shape(scores.shape_ptr(), scores.shape_ptr() + scores.ndim());
        const nb::capsule owner(out.get(), [](void* owned) noexcept { delete[] static_cast<double*>(owned); });
        return nb::ndarray<nb::numpy, double>(out.release(), shape.size(), shape.data(), owner);
    }

    void add(const Calibration& other) {
        require(n_scores_ == other.n_scores_, "both calibrations must have the same number of scores");
        std::vector<double> scratch = other.copied();
        curve().add(Curve(scratch.data(), n_scores_));
    }
    void thin(double part, double rows) { curve().thin(part, rows); }
    void mirror() {
        require(n_scores_ == 1, "only a binary calibration can be mirrored");
        curve().mirror();
    }
    void expand(const Calibration& binary) {
        require(binary.n_scores_ == 1 && n_scores_ >= 2,
                "only a binary calibration can be expanded, to 2 or more classes");
        curve().expand(binary.curve());
    }
    void arrange(const Calibration& other, const Column<std::int64_t>& places) {
        std::vector<bool> taken(static_cast<std::size_t>(n_scores_));
        bool distinct = static_cast<std::int64_t>(places.size()) == other.n_scores_;
        for (std::size_t i = 0; i < places.size() && distinct; ++i) {
            distinct = places(i) >= 0 && places(i) < n_scores_ && !taken[static_cast<std::size_t>(places(i))];
            if (distinct) taken[static_cast<std::size_t>(places(i))] = true;
        }
        if (!distinct)
            throw nb::value_error(("places must be " + std::to_string(other.n_scores_) + " different numbers below " +
                                   std::to_string(n_scores_)).c_str());
        curve().arrange(other.curve(), places.data());
    }

    double window() const { return shared().fading.window; }
    std::int64_t rows() const {
        const double rows = shared().fading.rows;
        return rows >= 0.0 && rows <= 0x1p53 ? static_cast<std::int64_t>(rows) : 0;
    }
    std::tuple<double, double> slopes() const { return {shared().slopes[0], shared().slopes[1]}; }
    std::tuple<double, double> limits() const { return {shared().units.limit[0], shared().units.limit[1]}; }
    NewArray constants() const {
        std::vector<double> values;
        for (std::int64_t r = 0; r < n_scores_; ++r) values.push_back(curve().constant(r));
        return array_of(std::move(values));
    }
    NewArray shifts() const {
        return array_of(std::vector<double>(shared().knots.shift, shared().knots.shift + calibration::kKnots));
    }

private:
    // Learns from as many rows at a time as lie between two changes of the curve, and looks at each before, if wanted.
    template <class Look>
    static void learn_binary(Curve& curve, const double* scores, const Column<double>& variances,
                             const Column<ClassNumber>& labels, const std::optional<Column<double>>& weights, bool looks,
                             const Look& look) {
        constexpr std::int64_t kMost = 128;
        const CalibrationLoops& loops = scwlearn::loops().calibration;
        calibration::BinaryColumns<kMost> columns;
        alignas(64) double score[kMost], variance[kMost];
        const auto rows = static_cast<std::int64_t>(variances.size());
        const ClassNumber* const label = labels.data();
        const auto copy = [](const double* from, std::int64_t count, double* to) {
            std::copy_n(from, count, to);
            calibration::pad(to, count);
        };
        for (std::int64_t first = 0, count = 0; first < rows; first += count) {
            // NaN, in the state of a corrupt file, compares false.
            const double due = curve.rows_until_due();
            count = std::min(rows - first, due > 1.0 ? static_cast<std::int64_t>(std::min<double>(due, kMost)) : 1);
            for (std::int64_t row = first; looks && row < first + count; ++row) look(row);
            const calibration::BinaryRows block = columns.rows(count);
            copy(scores + first, count, score);
            copy(variances.data() + first, count, variance);
            if (weights)
                copy(weights->data() + first, count, block.weights);
            else
                std::fill_n(block.weights, kMost, 1.0);
            for (std::int64_t i = 0; i < count; ++i) block.targets[i] = static_cast<double>(label[first + i]);
            calibration::pad(block.targets, count);
            loops.look(curve.line(), score, variance, block);
            for (std::int64_t i = 0; i < count; ++i) block.exponential[i] = std::exp(-std::abs(block.line[i]));
            calibration::pad(block.exponential, count);
            curve.learn(block, loops);
        }
    }

    std::vector<double> copied() const { return {state_, state_ + kCurveEntries + n_scores_ * kScoreEntries}; }
    const CurveState& shared() const noexcept { return curve().shared(); }

    [[noreturn]] static void refuse_row(std::size_t row, const std::string& what) {
        throw nb::value_error(("row " + std::to_string(row) + ": " + what).c_str());
    }
    static void check_labels(const Column<ClassNumber>& labels, std::int64_t classes) {
        const ClassNumber* const label = labels.data();
        const auto last = static_cast<ClassNumber>(classes - 1);
        // Negative if one of the labels is, or the distance of one from the last class.
        ClassNumber outside = 0;
        for (std::size_t row = 0; row < labels.size(); ++row) outside |= label[row] | (last - std::max(label[row], 0));
        for (std::size_t row = 0; outside < 0; ++row)
            if (label[row] < 0 || label[row] > last)
                refuse_row(row, "label must be a class number from 0 to " + std::to_string(last));
    }

    // Whether all scores are finite, and all variances finite and not negative.
    static bool are_finite(const double* scores, const double* variances, std::size_t count) noexcept {
        // Several sums, because each addition waits for the one before.
        constexpr std::size_t kSums = 8;
        double sums[kSums] = {}, least[kSums] = {};
        const auto take = [&](std::size_t row, std::size_t k) {
            sums[k] += 0.0 * scores[row] + 0.0 * variances[row];
            least[k] = std::min(least[k], variances[row]);
        };
        std::size_t row = 0;
        for (; row + kSums <= count; row += kSums)
            for (std::size_t k = 0; k < kSums; ++k) take(row + k, k);
        for (; row < count; ++row) take(row, 0);
        return std::all_of(sums, sums + kSums, [](double sum) { return sum == 0.0; }) &&
               std::all_of(least, least + kSums, [](double variance) { return variance >= 0.0; });
    }
    static double weight_of(const std::optional<Column<double>>& weights, std::size_t row) {
        return weights ? weights->data()[row] : 1.0;
    }

    // Rows of weight 0 may hold anything. Of several classes, one with a score of -infinity is unknown.
    void check_looks(const ReadOnly& scores, const Column<double>& variances,
                     const std::optional<Column<double>>& weights) const {
        const auto width = static_cast<std::size_t>(n_scores_);
        require(n_scores_ == 1 ? scores.ndim() == 1 : scores.ndim() == 2 && scores.shape(1) == width,
                "scores must be a vector, or a matrix with one column per class");
        require(scores.size() == variances.size() * width, "variances must have one variance per row of scores");
        if (n_scores_ == 1 && are_finite(scores.data(), variances.data(), variances.size())) return;
        for (std::size_t row = 0; row < variances.size(); ++row) {
            if (weight_of(weights, row) == 0.0) continue;
            for (std::size_t r = 0; r < width; ++r) {
                const double score = scores.data()[row * width + r];
                if (!(n_scores_ == 1 ? std::isfinite(score) : score < HUGE_VAL)) refuse_row(row, "score must be finite");
            }
            if (!is_size(variances(row))) refuse_row(row, "variance must be finite and >= 0");
        }
    }
};

}  // namespace

HeldCurve& held_curve(nb::handle calibration) { return *nb::cast<Calibration*>(calibration); }

void bind_calibration(nb::module_& module) {
    module.attr("LARGEST_LOGIT") = calibration::kLargestLogit;
    module.attr("LARGEST_SIGNAL") = calibration::kLargestSignal;
    module.attr("NO_LIMIT") = calibration::kNoLimit;
    nb::class_<Calibration>(module, "Calibration", "A curve from scores to probabilities, learned online.")
        .def(nb::init<std::int64_t, double>(), "n_scores"_a, "window"_a)
        .def_prop_rw("state", &Calibration::state, &Calibration::set_state,
                     nb::for_getter(nb::sig("def state(self) -> NDArray[numpy.float64]")),
                     nb::for_setter(nb::sig("def state(self, value: NDArray[numpy.float64], /) -> None")),
                     "The curve and its sums; assigning copies the array.")
        .def_prop_ro("n_scores", &Calibration::n_scores,
                     "Scores per example: 1 in the binary case, else one per class.")
        .def_prop_ro("window", &Calibration::window, "Rows fade as if the stream were never longer than this.")
        .def_prop_ro("rows", &Calibration::rows, "Number of rows learned from.")
        .def_prop_ro("slopes", &Calibration::slopes, "The slopes a and b of the two signals.")
        .def_prop_ro("limits", &Calibration::limits, "Bounds at which the two signals are clipped.")
        .def_prop_ro("constants", &Calibration::constants, nb::rv_policy::move,
                     nb::sig("def constants(self) -> NDArray[numpy.float64]"),
                     "The constant c of each score.")
        .def_prop_ro("shifts", &Calibration::shifts, nb::rv_policy::move,
                     nb::sig("def shifts(self) -> NDArray[numpy.float64]"),
                     "The correction of the log-odds at each knot.")
        .def("learn", &Calibration::learn, "scores"_a, "variances"_a, "labels"_a, "weights"_a.none() = nb::none(),
             "probabilities"_a.none() = nb::none(),
             "Learn from rows in order, given their scores before the model learned from them. All or nothing. "
             "`probabilities` receives those of each row just before.")
        .def("learn_one", &Calibration::learn_one, "scores"_a, "variance"_a, "label"_a, "weight"_a = 1.0,
             nb::sig("def learn_one(self, scores: float | NDArray[numpy.float64], variance: float, label: int, "
                     "weight: float = 1.0) -> None"),
             "Learn from a single row of class `label`; a row whose numbers are not finite is skipped.")
        .def("probability", &Calibration::probability, "score"_a, "variance"_a, "Return P(+1) of a single row.")
        .def("probabilities", &Calibration::probabilities, "scores"_a, "variances"_a,
             nb::sig("def probabilities(self, scores: NDArray[numpy.float64], variances: NDArray[numpy.float64]) -> "
                     "NDArray[numpy.float64]"),
             "Return P(+1) of each row, or P of each class for each row.")
        .def("add", &Calibration::add, "other"_a, "Add another calibration, as if its rows had been interleaved.")
        .def("thin", &Calibration::thin, "part"_a, "rows"_a,
             "Multiply the weight of everything learned so far by `part`; set the number of rows.")
        .def("mirror", &Calibration::mirror, "Swap the classes -1 and +1.")
        .def("expand", &Calibration::expand, "binary"_a,
             "Become what a binary calibration says about the first two classes.")
        .def("arrange", &Calibration::arrange, "other"_a, "places"_a,
             "Copy another calibration, its class i to places[i].")
        .def("__getstate__", &Calibration::state_copy)
        .def("__setstate__", [](Calibration& self, const nb::object& state) { new (&self) Calibration(state); });
}

}  // namespace scwlearn
