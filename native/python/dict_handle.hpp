// A learner of dicts that is ready for single examples, whatever its model.
#pragma once

#include "python/bindings.hpp"
#include "python/lock.hpp"

namespace scwlearn {

class DictHandle {
public:
    virtual ~DictHandle() = default;

    // Held while something is learned; null for a handle that is its caller's alone.
    virtual Lock* lock() const = 0;
    // Whether the learner still has this handle.
    virtual bool is_current() const = 0;

    virtual bool is_binary() const = 0;
    // The number of scores of an example, and after learning from one of label y.
    virtual std::int64_t scores() const = 0;
    virtual std::int64_t scores_after(double y) const = 0;

    // Computes the first `count` scores of an example, and the variance of the largest unless it is null.
    virtual void score_dict(const nb::dict& x, double* scores, std::int64_t count, double* variance) = 0;

    // Learns from an example; computes its scores before, and the variance of the largest. Returns false if there is no
    // room for new names or for the class; then, and after an exception, all is as it was.
    virtual bool learn_dict(const nb::dict& x, double y, double w, double* scores, std::int64_t count,
                            double& variance) = 0;
};

// The handle behind a Python OneByOne or CommitteeByOne.
DictHandle& dict_handle(nb::handle handle);

}  // namespace scwlearn
