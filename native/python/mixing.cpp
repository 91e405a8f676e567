// The class Mixture: the calibrated members of a committee, mixed, over a state array that NumPy owns.
#include "calibrate/mixing.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using calibration::Mixing;

class Mixture {
public:
    Mixture(std::int64_t members, std::int64_t n_scores, double window) : members_(members), n_scores_(n_scores) {
        require(members >= 1 && members <= calibration::kMostMembers, "a committee has from 1 to 16 members");
        require(n_scores >= 1 && n_scores <= kMostScores, "n_scores must be from 1 to 2147483647");
        adopt(new_zeros(Mixing::entries(members, n_scores)));
        mixing().start(window);
    }

    // Copies the array, which may be read-only.
    void set_state(const nb::object& state) { adopt(copied_numbers(state)); }
    nb::object state() const { return array_; }
    std::int64_t members() const noexcept { return members_; }
    std::int64_t n_scores() const noexcept { return n_scores_; }
    std::int64_t own_entries() const noexcept { return Mixing::own_entries(members_); }

    void mix(const std::vector<ReadOnly>& scores, const std::vector<Column<double>>& variances, const Numbers& out) const {
        const Table rows(*this, scores, variances, out);
        // Copied, because another thread may learn while the GIL is released.
        std::vector<double> state(state_, state_ + Mixing::entries(members_, n_scores_));
        const Mixing mixing(state.data(), members_, n_scores_, loops().calibration);
        const ReleaseGil release_gil;
        std::vector<double> work(work_entries());
        mixing.mix(rows.looks.data(), rows.count, rows.out, work.data());
    }

    // Writes the mixed scores of each row before learning from it. Labels are class numbers.
    void learn(const std::vector<ReadOnly>& scores, const std::vector<Column<double>>& variances,
               const Column<std::int64_t>& labels, const std::optional<Column<double>>& weights, const Numbers& out) {
        const Table rows(*this, scores, variances, out);
        const std::int64_t classes = std::max<std::int64_t>(n_scores_, 2);
        require(length(labels) == rows.count, "labels must have one class number per row");
        require(!weights || length(*weights) == rows.count, "weights must have one weight per row");
        for (std::int64_t row = 0; row < rows.count; ++row) {
            require(labels.data()[row] >= 0 && labels.data()[row] < classes, "labels must be numbers of known classes");
            require(!weights || (weights->data()[row] >= 0.0 && std::isfinite(weights->data()[row])),
                    "weights must be finite and >= 0");
        }
        const nb::object held = array_;
        Mixing mixing = this->mixing();
        const ReleaseGil release_gil;
        std::vector<double> work(work_entries());
        const auto label = [&labels](std::int64_t row) { return labels.data()[row]; };
        const auto weight = [&weights](std::int64_t row) { return weights ? weights->data()[row] : 1.0; };
        mixing.learn(rows.looks.data(), rows.count, label, weight, rows.out, work.data());
    }

    void weigh() { mixing().weigh(); }

private:
    // Rows of all members side by side.
    struct Table {
        std::int64_t count;
        double* out;
        std::vector<calibration::MemberScores> looks;

        Table(const Mixture& mixture, const std::vector<ReadOnly>& scores,
              const std::vector<Column<double>>& variances, const Numbers& mixed)
            : count(length(mixed) / mixture.n_scores_), out(mixed.data()) {
            const auto members = static_cast<std::size_t>(mixture.members_);
            const std::int64_t width = mixture.n_scores_;
            require(scores.size() == members && variances.size() == members, "each member must give scores and variances");
            require(length(mixed) == count * width, "out must have a score per row and class");
            for (std::size_t m = 0; m < members; ++m) {
                require(length(scores[m]) == count * width, "each member must give a score per row and class");
                require(length(variances[m]) == count, "each member must give a variance per row");
                looks.push_back({scores[m].data(), width, variances[m].data(), 1});
            }
        }
    };

    std::size_t work_entries() const { return static_cast<std::size_t>(Mixing::work(members_, n_scores_)); }

    void adopt(nb::object array) {
        const auto numbers = nb::cast<Numbers>(array);
        require(numbers.ndim() == 1 && length(numbers) == Mixing::entries(members_, n_scores_),
                "state has the wrong length for a mixture");
        array_ = std::move(array);
        state_ = numbers.data();
    }

    Mixing mixing() const noexcept { return {state_, members_, n_scores_, loops().calibration}; }

    nb::object array_;
    double* state_ = nullptr;
    std::int64_t members_, n_scores_;
};

}  // namespace

void bind_mixing(nb::module_& module) {
    module.attr("SUREST_LOGIT") = calibration::kSurest;
    module.attr("KEPT_BY_MIXTURES") = calibration::kKept;
    nb::class_<Mixture>(module, "Mixture", "The calibrated members of a committee, mixed by an online logistic regression.")
        .def(nb::init<std::int64_t, std::int64_t, double>(), "members"_a, "n_scores"_a, "window"_a)
        .def_prop_rw("state", &Mixture::state, &Mixture::set_state,
                     nb::for_getter(nb::sig("def state(self) -> NDArray[numpy.float64]")),
                     nb::for_setter(nb::sig("def state(self, value: NDArray[numpy.float64], /) -> None")),
                     "Weights, pull, curvature, then the state of each member's calibration; assigning copies the array.")
        .def_prop_ro("members", &Mixture::members, "The number of members.")
        .def_prop_ro("n_scores", &Mixture::n_scores, "Scores per example: 1 in the binary case, else one per class.")
        .def_prop_ro("own_entries", &Mixture::own_entries, "Entries of the state before those of the calibrations.")
        .def("mix", &Mixture::mix, "scores"_a, "variances"_a, "out"_a.noconvert(),
             "Write the mixed scores of rows, given the scores of each member and the variance of its largest.")
        .def("learn", &Mixture::learn, "scores"_a, "variances"_a, "labels"_a, "weights"_a.none(), "out"_a.noconvert(),
             "Write the mixed scores of each row in turn, then learn from its class.")
        .def("weigh", &Mixture::weigh, "Recompute the weights from pull and curvature.");
}

}  // namespace scwlearn
