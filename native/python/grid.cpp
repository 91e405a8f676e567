// Many models over the same rows: those that keep little interleaved, the others one by one, on several threads.
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// core/team.hpp for any processor.
#define SCWLEARN_SET binding
#include "core/team.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using binding::Team;

using HeldRules = std::vector<HeldRule>;
using HeldModels = std::vector<HeldModel>;

// As many as there are parts, within reason.
int team_of(int threads, std::size_t parts) {
    return static_cast<int>(std::min<std::size_t>({static_cast<std::size_t>(threads), kMostThreads, parts}));
}

void check_alike(const HeldRules& rules, const HeldModels& models) {
    require(!models.empty() && rules.size() == models.size(), "one rule for each model");
    for (const HeldRule& rule : rules) require(rule.is_compiled(), "only compiled rules can learn in a batch");
    for (const HeldModel& model : models)
        require(model.kind == models[0].kind && model.size == models[0].size, "the models must be of one kind");
}

// Models on their way through the rows, in memory of their own: the arrays they began with are read, and not written.
class Together {
public:
    Together(HeldRules rules, HeldModels models, bool intercept, int threads, Numbers work)
        : rules_(std::move(rules)),
          models_(std::move(models)),
          intercept_(intercept),
          threads_(threads),
          work_(std::move(work)) {
        require(threads >= 1, "there is at least one thread");
        check_alike(rules_, models_);
        require(kind() != kFull, "a full covariance learns by itself");
        for (const HeldRule& rule : rules_) asked_.push_back(rule.rule());
        for (const Rule& rule : asked_) require(!rule.uses_norm, "a rule that asks for |mu|^2 learns by itself");
        for (const HeldModel& model : models_) scalars_.push_back(*model.memory(nullptr).scalars);
        counts_.resize(models_.size());
        memories_.resize(models_.size());
        const std::int64_t needed = entries(loops_, kind(), size(), static_cast<std::int64_t>(models_.size()));
        require(static_cast<std::int64_t>(work_.size()) >= needed, "work is too short");
        make_batches();
        nb::gil_scoped_release release_gil;
        share([this](const ModelBatch& batch, std::int64_t first) { gather(batch, first); });
    }

    // How many numbers the models take when interleaved.
    static std::int64_t entries(const BatchLoops& loops, CovarianceKind kind, std::int64_t size, std::int64_t models) {
        return up(models, loops.width) * loops.width * parts(kind) * size;
    }

    void learn(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
               std::int64_t width, const Labels& labels) {
        const Rows rows = rows_of(values, indices, offsets, width, intercept_);
        require(size() == rows.width + (intercept_ ? 1 : 0), "the models are for rows of another width");
        require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
        std::fill(counts_.begin(), counts_.end(), Counts{});
        {
            nb::gil_scoped_release release_gil;
            const BatchLoop learn = loops_.loops[kind()];
            share([&](const ModelBatch& batch, std::int64_t) { learn(batch, rows, labels.data()); });
        }
        for (std::size_t i = 0; i < models_.size(); ++i) models_[i].count(rows.count, counts_[i]);
    }

    void write(const HeldModels& to) {
        check_alike(rules_, to);
        require(to[0].kind == kind() && to[0].size == size(), "the models must be as they were");
        nb::gil_scoped_release release_gil;
        share([&](const ModelBatch& batch, std::int64_t first) { scatter(batch, first, to); });
    }

private:
    CovarianceKind kind() const { return models_[0].kind; }
    std::int64_t size() const { return models_[0].size; }
    static std::int64_t parts(CovarianceKind kind) { return kind == kIdentity ? 1 : 2; }
    std::int64_t lanes(const ModelBatch& batch) const { return batch.vectors * loops_.width; }
    std::int64_t stride(const ModelBatch& batch) const { return parts(kind()) * lanes(batch); }

    // As few batches as hold all models, and as many for each thread; the registers are dealt out evenly.
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
        double* at = work_.data();
        for (std::size_t b = 0; b < batches_.size(); ++b) {
            ModelBatch& batch = batches_[b];
            batch.entries = at;
            batch.row = rows_.get() + 2 * size() * b;
            at += stride(batch) * size();
            const std::int64_t first = batch.rules - asked_.data();
            for (std::int64_t lane = 0; lane < batch.count; ++lane)
                memories_[first + lane] = {batch.entries + lane, nullptr, &scalars_[first + lane], size(),
                                           models_[first + lane].initial_variance,
                                           models_[first + lane].variance_floor};
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
        // Lanes without a model get something sound to work on.
        if (batch.count < lanes(batch)) std::fill(batch.entries, batch.entries + stride(batch) * size(), 0.0);
        by_stretches(batch, [&](std::int64_t lane, std::int64_t begin, std::int64_t end) {
            const double* from = models_[first + lane].entries.data();
            double* to = batch.models[lane].entries;
            for (std::int64_t i = begin * parts(kind()); i < end * parts(kind()); ++i) to[i * lanes(batch)] = from[i];
        });
    }

    void scatter(const ModelBatch& batch, std::int64_t first, const HeldModels& models) const {
        for (std::int64_t lane = 0; lane < batch.count; ++lane)
            *models[first + lane].memory(nullptr).scalars = *batch.models[lane].scalars;
        by_stretches(batch, [&](std::int64_t lane, std::int64_t begin, std::int64_t end) {
            const double* from = batch.models[lane].entries;
            double* to = models[first + lane].entries.data();
            for (std::int64_t i = begin * parts(kind()); i < end * parts(kind()); ++i) to[i] = from[i * lanes(batch)];
        });
    }

    // So few features at a time that what one model leaves of them is still in the cache for the next.
    template <class Copy>
    void by_stretches(const ModelBatch& batch, const Copy& copy) const {
        constexpr std::int64_t kStretch = 64;
        for (std::int64_t begin = 0; begin < size(); begin += kStretch)
            for (std::int64_t lane = 0; lane < batch.count; ++lane)
                copy(lane, begin, std::min(begin + kStretch, size()));
    }

    const BatchLoops& loops_ = batch_loops_in_use();
    HeldRules rules_;
    HeldModels models_;
    bool intercept_;
    int threads_;
    Numbers work_;  // large arrays of NumPy lie in large pages, where scattered features are found sooner
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
    require(threads >= 1 && inside >= 1 && inside <= kMostThreads, "the threads are from 1 to 256");
    check_alike(rules, models);
    require(models[0].size == rows.width + (intercept ? 1 : 0), "the models are for rows of another width");
    require(static_cast<std::int64_t>(labels.size()) == rows.count, "one label for each row");
    require(block >= 1 && block <= kLargestBlock, "a block has from 1 to 4096 rows");
    const auto count = static_cast<std::int64_t>(models.size());
    const int workers = team_of(threads, models.size());
    const std::int64_t entries = work_entries(models[0].kind, models[0].size, block);
    std::vector<double> work(static_cast<std::size_t>(entries) * workers);
    std::vector<Counts> counts(models.size());
    {
        nb::gil_scoped_release release_gil;
        const Loop learn = loop_for(models[0].kind, rows.kind);
        std::atomic<std::int64_t> next{0};
        Team team(workers);
        team.share(workers, [&](std::int64_t worker) {
            for (std::int64_t i = next++; i < count; i = next++)
                counts[i] = learn({rows, labels.data(), nullptr, models[i].memory(work.data() + worker * entries),
                                   rules[i].rule(), nullptr, block, inside});
        });
    }
    for (std::int64_t i = 0; i < count; ++i) models[i].count(rows.count, counts[i]);
}

}  // namespace

void bind_many(nb::module_& module) {
    nb::class_<Together>(module, "Together",
                         "Models that learn from the same rows at once, in memory of their own; only the tallies of "
                         "those they began as are written to.")
        .def(nb::init<HeldRules, HeldModels, bool, int, Numbers>(), "rules"_a, "models"_a, "intercept"_a, "threads"_a,
             "work"_a.noconvert())
        .def_static(
            "work_entries",
            [](const std::string& covariance, std::int64_t size, std::int64_t models) {
                require(size >= 0 && models >= 0, "sizes are not negative");
                return Together::entries(batch_loops_in_use(), covariance_kind(covariance), size, models);
            },
            "covariance"_a, "size"_a, "models"_a, "How many numbers so many models take.")
        .def("learn", &Together::learn, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a, "labels"_a,
             "Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tallies.")
        .def("write", &Together::write, "models"_a, "Write what they have become to these models.");
    module.def("learn_each", &learn_each, "rules"_a, "models"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "intercept"_a, "labels"_a, "block"_a, "threads"_a, "inside"_a,
               "learn_rows for each model by itself, on `threads` threads, each with `inside` of its own.");
}

}  // namespace scwlearn
