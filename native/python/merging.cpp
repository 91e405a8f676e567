// Merges models without covariance between features; src/scwlearn/learning/merging chooses the rule.
#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Means and variances before their scales, the two scales, the weight of the evidence, the growth of Sigma since the
// prior, and how much each feature counts for ev in all classes, if not by the evidence of this one.
using Held = std::tuple<ReadOnlyStrided, ReadOnlyStrided, double, double, double, double, std::optional<ReadOnlyStrided>>;

std::int64_t stride(const ReadOnlyStrided& array, std::int64_t size) {
    require(array.ndim() == 1 && length(array) == size, "models must have means and variances of the same length");
    return array.stride(0);
}

MergeInput merge_input(const Held& held, std::int64_t size) {
    const auto& [means, variances, mean_scale, spread_scale, weight, growth, counted] = held;
    MergeInput model{};
    model.means = means.data();
    model.variances = variances.data();
    model.mean_stride = stride(means, size);
    model.variance_stride = stride(variances, size);
    model.mean_scale = mean_scale;
    model.spread_scale = spread_scale;
    model.weight = weight;
    model.growth = growth;
    if (counted) {
        require(stride(*counted, size) == 1 || size <= 1, "what counts must be contiguous");
        model.counted = counted->data();
    }
    return model;
}

MergeRule merge_rule(const std::string& name) {
    require(name == "bcm" || name == "ev" || name == "kl", "rule must be bcm, ev or kl");
    return name == "bcm" ? MergeRule::kBcm : name == "ev" ? MergeRule::kEv : MergeRule::kKl;
}

void merge_diagonal(const std::string& rule, const Held& prior, const std::vector<Held>& held, double growth,
                    double least, const Numbers& means, const Numbers& variances) {
    const std::int64_t size = length(means);
    require(means.ndim() == 1 && variances.ndim() == 1 && length(variances) == size,
            "means and variances must have the same length");
    std::vector<MergeInput> models;
    for (const Held& each : held) models.push_back(merge_input(each, size));
    const MergeInput start = merge_input(prior, size);
    const MergeRule by = merge_rule(rule);
    const ReleaseGil release_gil;
    loops().merging.merge(by, start, models.data(), static_cast<std::int64_t>(models.size()), growth, least, size,
                          means.data(), variances.data());
}

}  // namespace

void bind_merging(nb::module_& module) {
    module.def("merge_diagonal", &merge_diagonal, "rule"_a, "prior"_a, "shards"_a, "growth"_a, "least_evidence"_a,
               "means"_a, "variances"_a,
               "Merge means and variances, weight by weight; those that no model has changed keep the bits of the prior.");
}

}  // namespace scwlearn
