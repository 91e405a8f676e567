// LIBSVM text: memory for what a text may hold, filled with the GIL released and handed over to NumPy.
#include "bind.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "libsvm.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

using Text = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Vector = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig>;

// What was parsed: labels, values, indices and offsets; lines and columns; the fault with its line, its column and
// what was found there.
using ParsedText = std::tuple<std::tuple<Vector, Vector, Vector, Vector>, std::tuple<std::int64_t, std::int64_t>,
                              std::tuple<std::string, std::int64_t, std::int64_t, nb::bytes>>;

// Hands memory over to NumPy.
template <class T>
Vector vector_of(std::unique_ptr<T[]> memory, std::int64_t size) {
    T* const data = memory.get();
    const nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
    static_cast<void>(memory.release());
    return Vector(nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(data, {static_cast<std::size_t>(size)}, owner));
}

// Nothing where an index is allowed but does not fit.
template <class Value, class Index>
std::optional<ParsedText> parse_as(std::string_view lines, bool zero_based, std::int64_t max_features) {
    constexpr std::int64_t kWidest = std::numeric_limits<Index>::max();
    std::unique_ptr<double[]> labels;
    std::unique_ptr<Value[]> values;
    std::unique_ptr<Index[]> indices, offsets;
    Parsed parsed;
    {
        nb::gil_scoped_release nobody_waits;
        const Measure most = measure(lines);
        const auto rows = static_cast<std::size_t>(most.lines);
        const auto features = static_cast<std::size_t>(most.colons);
        labels = std::make_unique_for_overwrite<double[]>(rows);
        values = std::make_unique_for_overwrite<Value[]>(features);
        indices = std::make_unique_for_overwrite<Index[]>(features);
        offsets = std::make_unique_for_overwrite<Index[]>(rows + 1);
        const Examples<Value, Index> out{labels.get(), values.get(), indices.get(), offsets.get()};
        parsed = LibsvmParser<Value, Index>(out, zero_based, std::min(max_features, kWidest)).parse(lines);
    }
    if (parsed.fault == Fault::index && max_features > kWidest) return std::nullopt;
    constexpr std::size_t kShown = 100;  // enough for a message
    const std::string_view found = parsed.found.substr(0, kShown);
    return ParsedText{{vector_of(std::move(labels), parsed.rows), vector_of(std::move(values), parsed.stored),
                       vector_of(std::move(indices), parsed.stored), vector_of(std::move(offsets), parsed.rows + 1)},
                      {parsed.lines, parsed.width},
                      {kFaultNames[static_cast<int>(parsed.fault)], parsed.fault == Fault::none ? 0 : parsed.lines,
                       parsed.column, nb::bytes(found.data(), found.size())}};
}

template <class Value>
ParsedText parse_lines(std::string_view lines, bool zero_based, std::int64_t max_features) {
    // Indices are short unless one is not, which hardly a text has: then it is read again.
    std::optional<ParsedText> parsed;
    if (lines.size() <= std::numeric_limits<std::int32_t>::max())
        parsed = parse_as<Value, std::int32_t>(lines, zero_based, max_features);
    return parsed ? *parsed : *parse_as<Value, std::int64_t>(lines, zero_based, max_features);
}

ParsedText parse_libsvm(const Text& text, bool zero_based, std::int64_t max_features, bool single) {
    require(max_features >= 0, "max_features must not be negative");
    const std::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
    require(lines.empty() || lines.back() == '\n', "the text must end with a newline");
    return single ? parse_lines<float>(lines, zero_based, max_features)
                  : parse_lines<double>(lines, zero_based, max_features);
}

}  // namespace

void bind_libsvm(nb::module_& module) {
    module.def("parse_libsvm", &parse_libsvm, "text"_a, "zero_based"_a, "max_features"_a, "single"_a,
               "The examples in a text of whole lines: labels, values, indices and offsets; how many lines and columns "
               "there are; the first fault, its line and column, counted from 1, and what was found there.");
}

}  // namespace scwlearn
