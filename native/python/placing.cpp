// Rows with named columns, mapped to the features of a model.
#include "python/bindings.hpp"

#include <limits>

#include "parse/placing.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Short = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Long = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

void check(const Doubles& values, const Short& columns, const Short& offsets, std::size_t names) {
    require(offsets.size() >= 1 && values.size() == columns.size(), "values and columns must have the same length");
    require(offsets(0) >= 0, "offsets must be >= 0");
    for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets(i) >= offsets(i - 1), "offsets must not decrease");
    const auto last = static_cast<std::size_t>(offsets(offsets.size() - 1));
    require(last <= values.size(), "offsets must not exceed the number of values");
    for (std::size_t j = 0; j < columns.size(); ++j)
        require(columns(j) >= 0 && static_cast<std::size_t>(columns(j)) < names,
                "columns must be below the number of names");
}

std::tuple<NewArray, NewArray, NewArray> place(const Doubles& values, const Short& columns, const Short& offsets,
                                         const Long& features, const std::optional<Doubles>& signs,
                                         std::int64_t width) {
    check(values, columns, offsets, features.size());
    require(!signs || signs->size() == features.size(), "signs must have one sign per name");
    require(width <= std::numeric_limits<std::int32_t>::max(), "width must fit into 32 bits");
    PlacedRows placed;
    {
        const nb::gil_scoped_release release_gil;
        const Placing placing{features.data(), signs ? signs->data() : nullptr, width};
        placed = place_rows(values.data(), columns.data(), offsets.data(),
                            static_cast<std::int64_t>(offsets.size()) - 1, placing);
    }
    return {array_of(std::move(placed.values), placed.stored), array_of(std::move(placed.indices), placed.stored),
            array_of(std::move(placed.offsets), placed.rows + 1)};
}

}  // namespace

void bind_placing(nb::module_& module) {
    module.def("place_rows", &place, "values"_a, "columns"_a, "offsets"_a, "features"_a, "signs"_a.none(), "width"_a,
               "Map the columns of compressed sparse rows to features, in order; return values, indices and offsets. "
               "Features outside the width are dropped; values of one feature are added.");
}

}  // namespace scwlearn
