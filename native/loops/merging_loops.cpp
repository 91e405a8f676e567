// Merges models without covariance between features, weight by weight. Compiled once per instruction set, as
// loops/row_loops.cpp is; all give the same bits.
#include "core/interface.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

constexpr std::int64_t kBlock = MergeInput::kBlock;
// How much less a model counts that has evidence about other classes only.
constexpr double kWithoutEvidence = 0.25;

double mean(const MergeInput& model, std::int64_t i) noexcept {
    return model.means[i * model.mean_stride] * model.mean_scale;
}

double stored(const MergeInput& model, std::int64_t i) noexcept { return model.variances[i * model.variance_stride]; }

// The larger number, or the first one if it is NaN, so that overflow is found in the end.
double larger(double one, double other) noexcept { return other > one ? other : one; }

// 0 where there is no evidence at all.
double share(double one, double all) noexcept {
    const double part = one / all;
    return all > 0.0 ? part : 0.0;
}

// A block of weights, model by model, so that the compiler can use vector instructions.
class Block {
public:
    Block(MergeRule rule, const MergeInput& prior, double growth, double least, bool same_scale) noexcept
        : rule_(rule), prior_(prior), growth_(growth), least_(least), same_scale_(same_scale) {}

    void merge(MergeInput* models, std::int64_t n_models, std::int64_t first, int count, double* means,
               double* variances) noexcept {
        for (int i = 0; i < count; ++i) {
            middle_[i] = mean(prior_, first + i);
            stored_[i] = stored(prior_, first + i);
            before_[i] = 1.0 / (prior_.spread_scale * stored_[i]);
            precisions_[i] = gains_[i] = counted_[i] = changed_[i] = move_[i] = 0.0;
        }
        for (std::int64_t k = 0; k < n_models; ++k) add(models[k], first, count);
        for (int i = 0; i < count; ++i) precision_[i] = before_[i] / growth_;
        if (rule_ == MergeRule::kEv)
            average(models, n_models, count);
        else
            sum(models, n_models, count);
        const double all_changed = same_scale_ ? 0.0 : 1.0;
        for (int i = 0; i < count; ++i) {
            const double mean = middle_[i] + move_[i], variance = 1.0 / precision_[i];
            const bool has_changed = changed_[i] + all_changed > 0.0;
            means[i] = has_changed ? mean : middle_[i];
            variances[i] = has_changed ? variance : prior_.spread_scale * stored_[i];
        }
    }

private:
    // Notes what a model knows of each weight, and adds it up.
    void add(MergeInput& model, std::int64_t first, int count) noexcept {
        // Models have means and variances side by side.
        for (int i = 0; i < count; ++i) {
            model.moved[i] = mean(model, first + i);
            model.precision[i] = stored(model, first + i);
        }
        const double weight = model.weight, growth = model.growth, scale = model.spread_scale, least = least_;
        for (int i = 0; i < count; ++i) {
            const double mean = model.moved[i], variance = model.precision[i];
            const double faded = before_[i] / growth, precision = 1.0 / (scale * variance), least_gain = least * faded;
            const double gain = larger(precision - faded, 0.0), moved = mean - middle_[i];
            const double counts = larger(gain, moved != 0.0 ? least_gain : 0.0);
            changed_[i] = mean != middle_[i] ? 1.0 : changed_[i];
            changed_[i] = variance != stored_[i] ? 1.0 : changed_[i];
            model.moved[i] = moved;
            model.precision[i] = weight * precision;
            model.gain[i] = weight * gain;
            model.evidence[i] = weight * counts;
        }
        if (model.counted != nullptr)
            for (int i = 0; i < count; ++i) {
                const double least_gain = weight * (least * (before_[i] / growth));
                model.evidence[i] = model.counted[first + i] * (model.gain[i] > least_gain ? 1.0 : kWithoutEvidence);
            }
        for (int i = 0; i < count; ++i) {
            precisions_[i] += model.precision[i];
            gains_[i] += model.gain[i];
            counted_[i] += model.evidence[i];
        }
    }

    // ev
    void average(const MergeInput* models, std::int64_t n_models, int count) noexcept {
        double squares[kBlock] = {};
        for (std::int64_t k = 0; k < n_models; ++k) {
            const MergeInput& model = models[k];
            for (int i = 0; i < count; ++i) {
                squares[i] += model.gain[i] * share(model.gain[i], gains_[i]);
                move_[i] += share(model.evidence[i], counted_[i]) * model.moved[i];
            }
        }
        for (int i = 0; i < count; ++i) precision_[i] += squares[i];
    }

    // bcm and kl, whose weights sum to 1.
    void sum(const MergeInput* models, std::int64_t n_models, int count) noexcept {
        const bool is_kl = rule_ == MergeRule::kKl;
        for (int i = 0; i < count; ++i) precision_[i] = is_kl ? precisions_[i] : precision_[i] + gains_[i];
        for (std::int64_t k = 0; k < n_models; ++k)
            for (int i = 0; i < count; ++i) move_[i] += models[k].precision[i] / precision_[i] * models[k].moved[i];
    }

    MergeRule rule_;
    const MergeInput& prior_;
    double growth_, least_;
    bool same_scale_;
    // Of the prior, before and after the scale.
    double middle_[kBlock], stored_[kBlock], before_[kBlock];
    // Sums over the models.
    double precisions_[kBlock], gains_[kBlock], counted_[kBlock];
    // Whether any of them has changed a weight.
    double changed_[kBlock];
    // Of the merged model.
    double precision_[kBlock], move_[kBlock];
};

void merge(MergeRule rule, const MergeInput& prior, MergeInput* models, std::int64_t count, double growth, double least,
           std::int64_t size, double* means, double* variances) {
    bool same_scale = true;
    for (std::int64_t k = 0; k < count; ++k)
        same_scale = same_scale && models[k].growth == 1.0 && models[k].spread_scale == prior.spread_scale;
    Block block(rule, prior, growth, least, same_scale);
    for (std::int64_t first = 0; first < size; first += kBlock) {
        const std::int64_t left = size - first;
        block.merge(models, count, first, static_cast<int>(left < kBlock ? left : kBlock), means + first,
                    variances + first);
    }
}

}  // namespace

extern constinit const MergingLoops merging_loops{merge};

}  // namespace scwlearn::SCWLEARN_SET
