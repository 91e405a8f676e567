// Two classes, one example at a time.
#include "python/bindings.hpp"

#include <utility>
#include <vector>

#include "python/one_at_a_time.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// The labels are -1 and +1; what there is to say of an example is one score.
class TwoClasses {
public:
    using Label = double;
    using Answer = double;
    using LabelArray = Labels;

    static constexpr const char* kScore = "def score(self, x: object, /) -> float";
    static constexpr const char* kLearn = "def learn(self, x: object, y: float, w: float, /) -> float | None";
    static constexpr const char* kScoreNamed = "def score_named(self, x: dict, /) -> float";
    static constexpr const char* kLookNamed = "def look_named(self, x: dict, /) -> tuple[float, float]";
    static constexpr const char* kLearnNamed = "def learn_named(self, x: dict, y: float, w: float, /) -> float | None";

    TwoClasses(HeldRule rule, HeldModel model, bool intercept)
        : rule_(std::move(rule)), model_(std::move(model)), intercept_(intercept) {
        require(model_.size >= (intercept ? 1 : 0), "mean has the wrong length");
        work_.resize(static_cast<std::size_t>(work_entries(model_.kind, model_.size, 1)));
    }

    std::int64_t width() const noexcept { return model_.size - intercept_; }
    bool intercept() const noexcept { return intercept_; }
    // Whether the features of a row have to come by their index.
    bool in_order() const noexcept { return model_.kind == kFull; }
    nb::handle function() const { return rule_.function(); }
    // Whether the rule may raise.
    bool can_fail() const { return !rule_.is_compiled(); }

    std::int64_t scores() const noexcept { return 1; }
    std::int64_t scores_after(double) const noexcept { return 1; }
    bool can_tell(std::int64_t count) const noexcept { return count == 1; }
    bool has_room(double) const noexcept { return true; }
    void check(double y) const {
        if (y != 1.0 && y != -1.0) refuse("a learner's labels are -1 and +1, got y = %R", nb::float_(y));
    }

    template <class Write>
    double answer(const Write& write) const {
        double score = 0.0;
        write(&score, 1);
        return score;
    }
    template <class Write>
    double answer(double, const Write& write) const {
        return answer(write);
    }

    void score(const Rows& row, double* score, std::int64_t) const {
        const Memory memory = model_.memory(nullptr);
        score_for(row.kind)(row, weights_of(model_.kind, memory.entries, memory.scalars), score);
    }

    // A round from which nothing is learned. What it counts is thrown away.
    void look(const Rows& row, double* score, std::int64_t, double& variance) {
        // Its own, because a rule of the user's may look while it is asked.
        look_work_.resize(work_.size());
        Memory memory = model_.memory(look_work_.data());
        Scalars scalars = *memory.scalars;
        memory.scalars = &scalars;
        run(row, 1, 1.0, memory, kNoRule, score, &variance);
    }

    void learn(const Rows& row, double y, double w, double* score, std::int64_t, double* variance) {
        const Memory memory = model_.memory(work_.data());
        const Scalars before = *memory.scalars;
        try {
            model_.count(1, run(row, static_cast<std::int8_t>(y), w, memory, rule_.rule(), score, variance));
        } catch (...) {
            // A rule that is a Python function has raised: the round has begun, but nothing has moved.
            *memory.scalars = before;
            throw;
        }
    }

private:
    Counts run(const Rows& row, std::int8_t y, double w, const Memory& memory, const Rule& rule, double* score,
               double* variance) const {
        double trace[kTraceWidth];
        const Counts counts = loop_for(model_.kind, row.kind)({row, &y, &w, memory, rule, trace, 1, 1});
        *score = trace[0];
        if (variance != nullptr) *variance = trace[1];
        return counts;
    }

    HeldRule rule_;
    HeldModel model_;
    bool intercept_;
    std::vector<double> work_, look_work_;
};

}  // namespace

void bind_one(nb::module_& module) {
    bind_single<TwoClasses>(module, "OneByOne", "A rule and a model, ready for one example after the other.")
        .def(
            "__init__",
            [](Single<TwoClasses>* self, HeldRule rule, HeldModel model, bool intercept, nb::object vocabulary,
               std::optional<Numbers> scales) {
                new (self) Single<TwoClasses>({std::move(rule), std::move(model), intercept}, std::move(vocabulary),
                                              std::move(scales));
            },
            "rule"_a, "model"_a, "intercept"_a, "vocabulary"_a.none(), "scales"_a.noconvert().none(),
            nb::sig("def __init__(self, rule: Rule, model: Model, intercept: bool, vocabulary: Vocabulary | None, "
                    "scales: NDArray | None) -> None"));
}

}  // namespace scwlearn
