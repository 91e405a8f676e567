// Grids: many models over the same rows, interleaved in batches, or one by one on several threads.
#include <algorithm>
#include <atomic>

#include "python/bindings.hpp"
#include "python/team.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using HeldRules = std::vector<HeldRule>;
using HeldModels = std::vector<HeldModel>;

// The number of threads for that many parts.
int team_of(int threads, std::size_t parts) {
    return static_cast<int>(std::min<std::size_t>({static_cast<std::size_t>(threads), kMostThreads, parts}));
}

void check_alike(const HeldRules& rules, const HeldModels& models) {
    require(!models.empty() && rules.size() == models.size(), "there must be one rule per model");
    for (const HeldRule& rule : rules) require(rule.is_compiled(), "only compiled rules can learn in a batch");
    for (const HeldModel& model : models)
        require(model.is_binary() && model.form.layout == models[0].form.layout &&
                    model.form.kind == models[0].form.kind && model.size == models[0].size,
                "the models must be binary, of one kind, layout and size");
}

// The same for models whose entries are to be interleaved.
void check_packed(const HeldRules& rules, const HeldModels& models) {
    check_alike(rules, models);
    require(models[0].form.kind != kFull, "models with a full covariance cannot learn in a batch");
    require(models[0].form.layout == kPacked, "models that share memory with others cannot learn in a batch");
}

// Models that learn together, in memory of their own: the arrays that they started from are only read.
class ModelBatches {
public:
    ModelBatches(HeldRules rules, HeldModels models, bool intercept, int threads)
        : rules_(std::move(rules)), models_(std::move(models)), intercept_(intercept), threads_(threads) {
        require(threads >= 1, "threads must be at least 1");
        check_packed(rules_, models_);
        for (const HeldModel& model : models_) require(!model.average, "averaged models cannot learn in a batch");
        for (const HeldRule& rule : rules_) asked_.push_back(rule.rule());
        for (const Rule& rule : asked_) require(!rule.uses_norm,
                                                "rules that use the norm of the mean cannot learn in a batch");
        for (const HeldModel& model : models_) scalars_.push_back(*model.memory(nullptr).scalars);
        counts_.resize(models_.size());
        memories_.resize(models_.size());
        make_batches();
        ReleaseGil release_gil;
        share([this](const ModelBatch& batch, std::int64_t first) { gather(batch, first); });
    }

    void learn(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
               std::int64_t width, const Labels& labels) {
        const Rows rows = rows_of(values, indices, offsets, width, intercept_);
        require(size() == rows.size(), "the models have another number of features than the rows");
        const std::int8_t* const signs = labels_of<std::int8_t>(labels, rows.count);
        std::fill(counts_.begin(), counts_.end(), Counts{});
        {
            ReleaseGil release_gil;
            const BatchLoop learn = loops_.loops[kind()];
            share([&](const ModelBatch& batch, std::int64_t) { learn(batch, rows, signs); });
        }
        for (std::size_t i = 0; i < models_.size(); ++i) models_[i].count(rows.count, counts_[i]);
    }

    void write(const HeldModels& to) {
        check_packed(rules_, to);
        require(to[0].form.kind == kind() && to[0].size == size(),
                "the models must have the kind and size that they started with");
        ReleaseGil release_gil;
        share([&](const ModelBatch& batch, std::int64_t first) { scatter(batch, first, to); });
    }

private:
    CovarianceKind kind() const { return models_[0].form.kind; }
    std::int64_t size() const { return models_[0].size; }
    std::int64_t parts() const { return kind() == kIdentity ? 1 : 2; }
    std::int64_t lanes(const ModelBatch& batch) const { return batch.vectors * loops_.width; }
    std::int64_t stride(const ModelBatch& batch) const { return parts() * lanes(batch); }

    // As few batches as hold all models, the same number for each thread, with registers spread evenly.
    void make_batches() {
        const auto count = static_cast<std::int64_t>(models_.size());
        const std::int64_t vectors = up(count, loops_.width);
        const std::int64_t batches = std::min(vectors, up(up(vectors, kMostVectors), threads_) * threads_);
        for (std::int64_t b = 0, first = 0; b < batches; ++b) {
            ModelBatch batch{};
            batch.size = size();
            batch.vectors = vectors * (b + 1) / batches - vectors * b / batches;
            batch.count = std::min(lanes(batch), count - first);
            batch.rules = asked_.data() + first;
            batch.models = memories_.data() + first;
            batch.counts = counts_.data() + first;
            batches_.push_back(batch);
            first += batch.count;
        }
        rows_.reset(new Feature[2 * size() * batches]);
        entries_ = nb::cast<Numbers>(
            nb::module_::import_("numpy").attr("empty")(vectors * loops_.width * parts() * size()));
        double* at = entries_.data();
        for (std::size_t b = 0; b < batches_.size(); ++b) {
            ModelBatch& batch = batches_[b];
            batch.entries = at;
            batch.row = rows_.get() + 2 * size() * b;
            at += stride(batch) * size();
            const std::int64_t first = batch.rules - asked_.data();
            for (std::int64_t lane = 0; lane < batch.count; ++lane)
                memories_[first + lane] = {batch.entries + lane, nullptr, &scalars_[first + lane], size(),
                                           models_[first + lane].initial_variance, models_[first + lane].floor};
        }
    }

    static std::int64_t up(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }

    template <class Work>
    void share(const Work& work) {
        Team team(team_of(threads_, batches_.size()));
        team.share(static_cast<std::int64_t>(batches_.size()), [&](std::int64_t b) {
            work(batches_[b], batches_[b].rules - asked_.data());
        });
    }

    void gather(const ModelBatch& batch, std::int64_t first) const {
        // Lanes without a model compute with zeros.
        if (batch.count < lanes(batch)) std::fill(batch.entries, batch.entries + stride(batch) * size(), 0.0);
        by_stretches(batch, [&](std::int64_t lane, std::int64_t begin, std::int64_t end) {
            const double* from = models_[first + lane].entries.data();
            double* to = batch.models[lane].entries;
            for (std::int64_t i = begin * parts(); i < end * parts(); ++i) to[i * lanes(batch)] = from[i];
        });
    }

    void scatter(const ModelBatch& batch, std::int64_t first, const HeldModels& models) const {
        for (std::int64_t lane = 0; lane < batch.count; ++lane)
            *models[first + lane].memory(nullptr).scalars = *batch.models[lane].scalars;
        by_stretches(batch, [&](std::int64_t lane, std::int64_t begin, std::int64_t end) {
            const double* from = batch.models[lane].entries;
            double* to = models[first + lane].entries.data();
            for (std::int64_t i = begin * parts(); i < end * parts(); ++i) to[i] = from[i * lanes(batch)];
        });
    }

    // Few features at a time, so that they stay in the cache from one model to the next.
    template <class Copy>
    void by_stretches(const ModelBatch& batch, const Copy& copy) const {
        constexpr std::int64_t kStretch = 64;
        for (std::int64_t begin = 0; begin < size(); begin += kStretch)
            for (std::int64_t lane = 0; lane < batch.count; ++lane)
                copy(lane, begin, std::min(begin + kStretch, size()));
    }

    const BatchLoops& loops_ = loops().batches;
    HeldRules rules_;
    HeldModels models_;
    bool intercept_;
    int threads_;
    Numbers entries_;  // a NumPy array, because large ones lie in huge pages, where scattered access is faster
    std::vector<Rule> asked_;
    std::vector<Scalars> scalars_;
    std::vector<Memory> memories_;
    std::vector<Counts> counts_;
    std::vector<ModelBatch> batches_;
    std::unique_ptr<Feature[]> rows_;
};

// Each model by its own loop, several at a time.
void learn_each(const HeldRules& rules, const HeldModels& models, const Array& values,
                const std::optional<Array>& indices, const std::optional<Array>& offsets, std::int64_t width,
                bool intercept, const Labels& labels, std::int64_t block, int threads, int inside) {
    const Rows rows = rows_of(values, indices, offsets, width, intercept);
    check_alike(rules, models);
    require(threads >= 1, "threads must be at least 1");
    require(models[0].size == rows.size(), "the models have another number of features than the rows");
    const ModelForm& form = models[0].form;
    const Given given{labels, {}, block, inside, {}, {}, {}};
    const Task task = checked_task(rules[0], form, models[0].memory(nullptr), rows, given);
    const auto count = static_cast<std::int64_t>(models.size());
    const int workers = team_of(threads, models.size());
    std::vector<Counts> counts(models.size());
    {
        const ReleaseGil release_gil;
        const Loop learn = loop_for(form, true, rows.kind);
        std::atomic<std::int64_t> next{0};
        Team team(workers);
        team.share(workers, [&](std::int64_t) {
            Scratch scratch;
            Task own = task;
            for (std::int64_t i = next++; i < count; i = next++) {
                const Scratch::Frame frame(scratch);
                own.memory = models[i].memory(&scratch);
                own.rule = rules[i].rule();
                counts[i] = learn(own);
            }
        });
    }
    for (std::int64_t i = 0; i < count; ++i) models[i].count(rows.count, counts[i]);
}

}  // namespace

void bind_grid(nb::module_& module) {
    nb::class_<ModelBatches>(module, "ModelBatches",
                             "Models that learn from the same rows together, in memory of their own; of the models that "
                             "they started from, only the tallies are updated.")
        .def(nb::init<HeldRules, HeldModels, bool, int>(), "rules"_a, "models"_a, "intercept"_a, "threads"_a)
        .def("learn", &ModelBatches::learn, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a, "labels"_a,
             "Learn from the rows of a scanned batch in order; add rows, mistakes and updates to the tallies.")
        .def("write", &ModelBatches::write, "models"_a, "Copy the learned state to these models.");
    module.def("learn_each", &learn_each, "rules"_a, "models"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "intercept"_a, "labels"_a, "block"_a, "threads"_a, "inside"_a,
               "Run learn_rows for each model, on `threads` threads, each with `inside` threads of its own.");
}

}  // namespace scwlearn
