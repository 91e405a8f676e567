// LIBSVM text: parsed with the GIL released, into memory that is handed over to NumPy.
#include "python/text.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "parse/libsvm.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Labels, values, indices, offsets and the line of each row; number of lines and columns; number of lines with an
// error, and the first errors.
using ParsedText =
    std::tuple<std::tuple<NewArray, NewArray, NewArray, NewArray, NewArray>, std::tuple<std::int64_t, std::int64_t>,
               std::tuple<std::int64_t, std::vector<FoundFault>>>;

// Returns nothing if an index is allowed but does not fit.
template <class Value, class Index>
std::optional<ParsedText> parse_as(std::string_view lines, LibsvmForm form) {
    constexpr std::int64_t kWidest = std::numeric_limits<Index>::max();
    const bool narrowed = form.max_features > kWidest;
    form.max_features = std::min(form.max_features, kWidest);
    std::unique_ptr<double[]> labels;
    std::unique_ptr<std::int64_t[]> places;
    std::unique_ptr<Value[]> values;
    std::unique_ptr<Index[]> indices, offsets;
    Parsed parsed;
    {
        nb::gil_scoped_release release_gil;
        const Measure most = measure(lines);
        const auto rows = static_cast<std::size_t>(most.lines);
        const auto features = static_cast<std::size_t>(most.colons);
        labels = std::make_unique_for_overwrite<double[]>(rows);
        places = std::make_unique_for_overwrite<std::int64_t[]>(rows);
        values = std::make_unique_for_overwrite<Value[]>(features);
        indices = std::make_unique_for_overwrite<Index[]>(features);
        offsets = std::make_unique_for_overwrite<Index[]>(rows + 1);
        const Examples<Value, Index> out{labels.get(), places.get(), values.get(), indices.get(), offsets.get()};
        parsed = LibsvmParser<Value, Index>(out, form).parse(lines);
    }
    if (parsed.beyond && narrowed) return std::nullopt;
    return ParsedText{{array_of(std::move(labels), parsed.rows), array_of(std::move(values), parsed.stored),
                       array_of(std::move(indices), parsed.stored), array_of(std::move(offsets), parsed.rows + 1),
                       array_of(std::move(places), parsed.rows)},
                      {parsed.lines, parsed.width},
                      {parsed.faulty, described(parsed.found, kFaultNames)}};
}

template <class Value>
ParsedText parse_lines(std::string_view lines, const LibsvmForm& form) {
    // Indices are 32-bit, unless one does not fit, which is rare: then the text is parsed again.
    std::optional<ParsedText> parsed;
    if (lines.size() <= std::numeric_limits<std::int32_t>::max()) parsed = parse_as<Value, std::int32_t>(lines, form);
    return parsed ? *parsed : *parse_as<Value, std::int64_t>(lines, form);
}

ParsedText parse_libsvm(const Text& text, bool zero_based, std::int64_t max_features, bool single, bool labels_optional,
                        bool skip_faults, std::size_t most_found) {
    require(max_features >= 0, "max_features must be >= 0");
    const std::string_view lines = lines_of(text);
    const LibsvmForm form{zero_based, max_features, labels_optional, skip_faults, most_found};
    return single ? parse_lines<float>(lines, form) : parse_lines<double>(lines, form);
}

}  // namespace

void bind_libsvm(nb::module_& module) {
    module.def("parse_libsvm", &parse_libsvm, "text"_a, "zero_based"_a, "max_features"_a, "single"_a,
               "labels_optional"_a = false, "skip_faults"_a = false, "most_found"_a = 1,
               "Parse text of whole lines. Return labels, values, indices, offsets and the line of each example; the numbers "
               "of lines and columns; the number of lines with an error, and for the first of them its kind, line and "
               "column, counted from 1, and the text found there. Stops at the first error unless skip_faults.");
}

}  // namespace scwlearn
