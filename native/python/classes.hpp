// The models of several classes as Python holds them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/one_at_a_time.hpp"

namespace scwlearn {

using ClassNumbers = nb::ndarray<const ClassNumber, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

// The arrays of the models of all classes, held so that they stay where they are.
struct HeldClasses {
    MultiForm form;
    std::int64_t size, lanes;
    Numbers entries, scalars;
    Tally known, tally;
    double initial_variance, variance_floor;

    HeldClasses(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
                Numbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance,
                double variance_floor);

    static void check_room(const MultiForm& form, std::int64_t size, std::int64_t lanes, std::size_t entries);

    std::int64_t classes() const { return known.data()[0]; }
    MultiMemory memory(double* work) const;
    MultiWeights weights() const;
    // Adds to what Python sees: rows seen, mistakes and updates.
    void count(std::int64_t rows, const Counts& counts) const;
};

Rivals rivals_of(const std::string& name);

// Several classes, one example at a time. The labels are their numbers; what there is to say of an example is a score
// for each class.
class SeveralClasses {
public:
    // A number of any kind that is whole.
    using Label = double;
    using Answer = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
    using LabelArray = ClassNumbers;

    static constexpr const char* kScore = "def score(self, x: object, /) -> NDArray";
    static constexpr const char* kLearn = "def learn(self, x: object, y: float, w: float, /) -> NDArray | None";
    static constexpr const char* kScoreNamed = "def score_named(self, x: dict, /) -> NDArray";
    static constexpr const char* kLookNamed = "def look_named(self, x: dict, /) -> tuple[NDArray, float]";
    static constexpr const char* kLearnNamed = "def learn_named(self, x: dict, y: float, w: float, /) -> NDArray | None";

    SeveralClasses(HeldRule rule, HeldClasses classes, const std::string& rivals, bool intercept);

    std::int64_t width() const noexcept { return classes_.size - intercept_; }
    bool intercept() const noexcept { return intercept_; }
    // Whether the features of a row have to come by their index.
    bool in_order() const noexcept { return classes_.form.kind == kFull; }
    nb::handle function() const { return rule_.function(); }
    // Whether the rule may raise.
    bool can_fail() const { return !rule_.is_compiled(); }

    std::int64_t scores() const { return classes_.classes(); }
    std::int64_t scores_after(double y) const { return std::max(scores(), static_cast<std::int64_t>(y) + 1); }
    // Of the first so many classes.
    bool can_tell(std::int64_t count) const { return count <= scores(); }
    bool has_room(double y) const noexcept { return y < static_cast<double>(classes_.lanes); }
    void check(double y) const;

    // What is written where there is a score for each class, and for a new one as well.
    template <class Write>
    Answer answer(const Write& write) const {
        return filled(scores(), write);
    }
    template <class Write>
    Answer answer(double y, const Write& write) const {
        return filled(scores_after(y), write);
    }

    // The scores of the first so many classes for a row; and x'Sigma x of the one with the largest.
    void score(const Rows& row, double* scores, std::int64_t count);
    void look(const Rows& row, double* scores, std::int64_t count, double& variance);
    // Learns from a row of a class that is known, or the next; so many scores before, -infinity for a new class, and the
    // variance where it is wanted.
    void learn(const Rows& row, double y, double w, double* scores, std::int64_t count, double* variance);

private:
    template <class Write>
    static Answer filled(std::int64_t count, const Write& write) {
        const auto size = static_cast<std::size_t>(count);
        double* scores = new double[size];
        const nb::capsule owner(scores, [](void* p) noexcept { delete[] static_cast<double*>(p); });
        write(scores, count);
        return Answer(scores, {size}, owner);
    }

    HeldRule rule_;
    HeldClasses classes_;
    Rivals rivals_;
    bool intercept_;
    std::vector<double> work_;
    // Their own: a rule of the user's may score while it is asked.
    std::vector<double> score_work_, look_work_;
};

}  // namespace scwlearn
