// Merges models without covariance between features, weight by weight; src/scwlearn/learning/merging chooses the rule.
#include <algorithm>
#include <array>

#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Means and variances before their scales, the two scales, the weight of the evidence, and the growth of Sigma since the
// prior.
using HeldShard = std::tuple<ReadOnlyStrided, ReadOnlyStrided, double, double, double, double>;

class Shard {
public:
    Shard(const HeldShard& held, std::int64_t size)
        : weight(std::get<4>(held)), growth(std::get<5>(held)), spread_scale(std::get<3>(held)),
          mean_scale_(std::get<2>(held)), means_(std::get<0>(held).data()), variances_(std::get<1>(held).data()),
          mean_stride_(stride(std::get<0>(held), size)), variance_stride_(stride(std::get<1>(held), size)) {}

    double mean(std::int64_t i) const noexcept { return means_[i * mean_stride_] * mean_scale_; }
    double stored(std::int64_t i) const noexcept { return variances_[i * variance_stride_]; }

    double weight, growth, spread_scale;

private:
    static std::int64_t stride(const ReadOnlyStrided& array, std::int64_t size) {
        require(array.ndim() == 1 && length(array) == size, "models must have means and variances of the same length");
        return array.stride(0);
    }

    double mean_scale_;
    const double *means_, *variances_;
    std::int64_t mean_stride_, variance_stride_;
};

enum class MergeRule { kBcm, kEv, kKl };

MergeRule merge_rule(const std::string& name) {
    require(name == "bcm" || name == "ev" || name == "kl", "rule must be bcm, ev or kl");
    return name == "bcm" ? MergeRule::kBcm : name == "ev" ? MergeRule::kEv : MergeRule::kKl;
}

// The larger number, or the first one if it is NaN, so that overflow is found in the end.
double larger(double one, double other) noexcept { return other > one ? other : one; }

// Merges a block of weights at a time, model by model, so that the compiler can use vector instructions.
class Merge {
public:
    Merge(MergeRule rule, const Shard& prior, std::vector<Shard> shards, double growth, double least)
        : rule_(rule), prior_(prior), shards_(std::move(shards)), growth_(growth), least_(least),
          known_(shards_.size()) {
        for (const Shard& shard : shards_)
            same_scale_ = same_scale_ && shard.growth == 1.0 && shard.spread_scale == prior.spread_scale;
    }

    void write(std::int64_t size, double* means, double* variances) noexcept {
        for (std::int64_t first = 0; first < size; first += kBlock) {
            const int count = static_cast<int>(std::min(size - first, kBlock));
            merge(first, count, means + first, variances + first);
        }
    }

private:
    static constexpr std::int64_t kBlock = 64;
    using Block = std::array<double, kBlock>;

    // What a model knows of each weight: its precision, the gain over the prior, the move of the mean, and how much the
    // move counts for ev; all but the move times the weight of the model.
    struct Known {
        Block precision, gain, moved, evidence;
    };

    void merge(std::int64_t first, int count, double* means, double* variances) noexcept {
        Block middle, stored, before, precisions{}, gains{}, counted{}, changed{};
        for (int i = 0; i < count; ++i) {
            middle[i] = prior_.mean(first + i);
            stored[i] = prior_.stored(first + i);
            before[i] = 1.0 / (prior_.spread_scale * stored[i]);
        }
        for (std::size_t k = 0; k < shards_.size(); ++k) {
            const Shard& shard = shards_[k];
            Known& known = known_[k];
            // Models have means and variances side by side.
            for (int i = 0; i < count; ++i) {
                known.moved[i] = shard.mean(first + i);
                known.precision[i] = shard.stored(first + i);
            }
            const double weight = shard.weight, growth = shard.growth, scale = shard.spread_scale, least = least_;
            for (int i = 0; i < count; ++i) {
                const double mean = known.moved[i], variance = known.precision[i];
                const double faded = before[i] / growth, precision = 1.0 / (scale * variance), least_gain = least * faded;
                const double gain = larger(precision - faded, 0.0), moved = mean - middle[i];
                const double counts = larger(gain, moved != 0.0 ? least_gain : 0.0);
                changed[i] = mean != middle[i] ? 1.0 : changed[i];
                changed[i] = variance != stored[i] ? 1.0 : changed[i];
                known.moved[i] = moved;
                known.precision[i] = weight * precision;
                known.gain[i] = weight * gain;
                known.evidence[i] = weight * counts;
                precisions[i] += weight * precision;
                gains[i] += weight * gain;
                counted[i] += weight * counts;
            }
        }
        Block precision, move{};
        for (int i = 0; i < count; ++i) precision[i] = before[i] / growth_;
        if (rule_ == MergeRule::kEv) {
            Block squares{};
            for (const Known& known : known_) {
                for (int i = 0; i < count; ++i) {
                    squares[i] += known.gain[i] * share(known.gain[i], gains[i]);
                    move[i] += share(known.evidence[i], counted[i]) * known.moved[i];
                }
            }
            for (int i = 0; i < count; ++i) precision[i] += squares[i];
        } else {
            for (int i = 0; i < count; ++i)
                // The weights of kl sum to 1.
                precision[i] = rule_ == MergeRule::kKl ? precisions[i] : precision[i] + gains[i];
            for (const Known& known : known_)
                for (int i = 0; i < count; ++i) move[i] += known.precision[i] / precision[i] * known.moved[i];
        }
        const double all_changed = same_scale_ ? 0.0 : 1.0;
        for (int i = 0; i < count; ++i) {
            const double mean = middle[i] + move[i], variance = 1.0 / precision[i];
            const bool has_changed = changed[i] + all_changed > 0.0;
            means[i] = has_changed ? mean : middle[i];
            variances[i] = has_changed ? variance : prior_.spread_scale * stored[i];
        }
    }

    // 0 where there is no evidence at all.
    static double share(double one, double all) noexcept {
        const double part = one / all;
        return all > 0.0 ? part : 0.0;
    }

    MergeRule rule_;
    Shard prior_;
    std::vector<Shard> shards_;
    double growth_, least_;
    bool same_scale_ = true;
    std::vector<Known> known_;
};

void merge_diagonal(const std::string& rule, const HeldShard& prior, const std::vector<HeldShard>& held, double growth,
                    double least, const Numbers& means, const Numbers& variances) {
    const std::int64_t size = length(means);
    require(means.ndim() == 1 && variances.ndim() == 1 && length(variances) == size,
            "means and variances must have the same length");
    std::vector<Shard> shards;
    for (const HeldShard& each : held) shards.emplace_back(each, size);
    Merge merge(merge_rule(rule), Shard(prior, size), std::move(shards), growth, least);
    const nb::gil_scoped_release release_gil;
    merge.write(size, means.data(), variances.data());
}

}  // namespace

void bind_merging(nb::module_& module) {
    module.def("merge_diagonal", &merge_diagonal, "rule"_a, "prior"_a, "shards"_a, "growth"_a, "least_evidence"_a,
               "means"_a, "variances"_a,
               "Merge means and variances, weight by weight; those that no model has changed keep the bits of the prior.");
}

}  // namespace scwlearn
