// The models of several classes as Python holds them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"

namespace scwlearn {

// The arrays of the models of all classes, held so that they stay where they are.
struct HeldClasses {
    MultiForm form;
    std::int64_t size, lanes;
    Numbers entries, scalars;
    Tally known, tally;
    double initial_variance;

    HeldClasses(const std::string& covariance, bool joint, bool shared, std::int64_t size, std::int64_t lanes,
                Numbers entries, Numbers scalars, Tally known, Tally tally, double initial_variance);

    static void check_room(const MultiForm& form, std::int64_t size, std::int64_t lanes, std::size_t entries);

    std::int64_t classes() const { return known.data()[0]; }
    MultiMemory memory(double* work) const;
    MultiWeights weights() const;
    // Adds to what Python sees: rows seen, mistakes and updates.
    void count(std::int64_t rows, const Counts& counts) const;
};

Rivals rivals_of(const std::string& name);

// A rule and the models of several classes, ready for one example after the other.
class ClassesOneByOne {
public:
    ClassesOneByOne(HeldRule rule, HeldClasses classes, const std::string& rivals, bool intercept);

    std::int64_t width() const noexcept { return classes_.size - intercept_; }
    std::int64_t known() const { return classes_.classes(); }
    bool has_room(std::int64_t y) const { return y < classes_.lanes; }

    // The scores of the known classes for a row.
    void score(const Rows& row, double* scores);
    // Learns from a row of a class that is known, or the next; the scores before, -infinity for a new class.
    void learn(const Rows& row, std::int64_t y, double w, double* scores);

    nb::handle function() const { return rule_.function(); }
    bool intercept() const { return intercept_; }

private:
    HeldRule rule_;
    HeldClasses classes_;
    Rivals rivals_;
    bool intercept_;
    std::vector<double> work_;
    std::vector<double> score_work_;  // its own: a rule of the user's may score while it is asked
};

}  // namespace scwlearn
