// Running scales: the arrays of a batch, those of its scaled values and the states of the features.
#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

void check_sizes(const Rows& rows, std::size_t states, const Numbers& scaled) {
    require(static_cast<std::int64_t>(states) == kScaleEntries * rows.width, "a scale and a count for each feature");
    require(static_cast<std::int64_t>(scaled.size()) == rows.stored, "one scaled value for each value");
}

void learn_scales(Numbers states, const Array& values, const std::optional<Array>& indices,
                  const std::optional<Array>& offsets, std::int64_t width, const std::optional<ReadOnly>& weights,
                  Numbers scaled) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    check_sizes(rows, states.size(), scaled);
    require(!weights || static_cast<std::int64_t>(weights->size()) == rows.count, "one weight for each row");
    const auto learn = scale_loops_in_use().learn[rows.kind];
    const double* const weighed = weights ? weights->data() : nullptr;
    nb::gil_scoped_release release_gil;
    learn(rows, states.data(), weighed, scaled.data());
}

void apply_scales(const ReadOnly& states, const Array& values, const std::optional<Array>& indices,
                  const std::optional<Array>& offsets, std::int64_t width, Numbers scaled) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    check_sizes(rows, states.size(), scaled);
    const auto apply = scale_loops_in_use().apply[rows.kind];
    nb::gil_scoped_release release_gil;
    apply(rows, states.data(), scaled.data());
}

}  // namespace

void bind_scaling(nb::module_& module) {
    module.def("learn_scales", &learn_scales, "states"_a.noconvert(), "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "weights"_a.none(), "scaled"_a.noconvert(),
               "For each row of a scanned batch in order: take its values into the states of their features (scale and "
               "count of each), unless it weighs 0, then write them scaled.");
    module.def("apply_scales", &apply_scales, "states"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "scaled"_a.noconvert(), "Write the values of a scanned batch scaled; the states stay.");
}

}  // namespace scwlearn
