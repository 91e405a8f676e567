// Running scales over the arrays of a batch.
#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

void check_sizes(const Rows& rows, std::size_t states, const Numbers& scaled) {
    require(static_cast<std::int64_t>(states) == kScaleEntries * rows.width,
            "states must have a scale and a count per feature");
    require(static_cast<std::int64_t>(scaled.size()) == rows.stored, "scaled must have one number per value");
}

void learn_scales(Numbers states, const Array& values, const std::optional<Array>& indices,
                  const std::optional<Array>& offsets, std::int64_t width, const std::optional<ReadOnly>& weights,
                  Numbers scaled) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    check_sizes(rows, states.size(), scaled);
    require(!weights || static_cast<std::int64_t>(weights->size()) == rows.count,
            "weights must have one weight per row");
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
               "For each row of a scanned batch in order: update the states (scale and count) of its features, unless its "
               "weight is 0, then write the scaled values.");
    module.def("apply_scales", &apply_scales, "states"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "scaled"_a.noconvert(), "Write the scaled values of a scanned batch.");
}

}  // namespace scwlearn
