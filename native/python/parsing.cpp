// LIBSVM and VW text: parsed with the GIL released, into memory that is handed over to NumPy.
#include <algorithm>
#include <limits>
#include <string_view>

#include "parse/libsvm.hpp"
#include "parse/vw.hpp"
#include "python/records.hpp"
#include "python/text.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// The number of lines with an error; and of the first errors the name, line, column and text.
using Faults = std::tuple<std::int64_t, std::vector<std::tuple<std::string, std::int64_t, std::int64_t, nb::bytes>>>;

Faults faults_of(const ParsedLines& parsed) {
    constexpr std::size_t kShown = 100;  // enough for a message
    Faults faults{parsed.faulty, {}};
    for (const Found& one : parsed.found)
        std::get<1>(faults).emplace_back(one.fault, one.line, one.column,
                                         nb::bytes(one.text.data(), std::min(one.text.size(), kShown)));
    return faults;
}

// Labels, values, indices, offsets and the line of each row; number of lines and columns; errors.
using LibsvmArrays = std::tuple<std::tuple<NewArray, NewArray, NewArray, NewArray, NewArray>,
                                std::tuple<std::int64_t, std::int64_t>, Faults>;

// Returns nothing if an index is allowed but does not fit.
template <class Value, class Index>
std::optional<LibsvmArrays> parse_as(std::string_view lines, LibsvmForm form) {
    constexpr std::int64_t kWidest = std::numeric_limits<Index>::max();
    const bool narrowed = form.max_features > kWidest;
    form.max_features = std::min(form.max_features, kWidest);
    Examples<Value, Index> out;
    LibsvmParsed parsed;
    {
        ReleaseGil release_gil;
        out = Examples<Value, Index>(measure(lines));
        parsed = LibsvmParser<Value, Index>(out, form).parse(lines);
    }
    if (parsed.beyond && narrowed) return std::nullopt;
    return LibsvmArrays{{array_of(std::move(out.labels), parsed.rows), array_of(std::move(out.values), parsed.stored),
                         array_of(std::move(out.indices), parsed.stored),
                         array_of(std::move(out.offsets), parsed.rows + 1), array_of(std::move(out.lines), parsed.rows)},
                        {parsed.lines, parsed.width},
                        faults_of(parsed)};
}

template <class Value>
LibsvmArrays parse_lines(std::string_view lines, const LibsvmForm& form) {
    // Indices are 32-bit, unless one does not fit, which is rare: then the text is parsed again.
    std::optional<LibsvmArrays> parsed;
    if (lines.size() <= std::numeric_limits<std::int32_t>::max()) parsed = parse_as<Value, std::int32_t>(lines, form);
    return parsed ? *parsed : *parse_as<Value, std::int64_t>(lines, form);
}

LibsvmArrays parse_libsvm(const Text& text, bool zero_based, std::int64_t max_features, bool single,
                          bool labels_optional, bool skip_faults, std::size_t most_found, bool labels_ignored) {
    require(max_features >= 0, "max_features must be >= 0");
    const OwnText lines = lines_of(text);
    const LibsvmForm form{{labels_optional, skip_faults, most_found}, zero_based, max_features, labels_ignored};
    return single ? parse_lines<float>(lines.view(), form) : parse_lines<double>(lines.view(), form);
}

// The rows; labels, and which words they are; weights; tags; the line of each row; number of lines, and of lines that are
// left out for lack of a label; errors.
using VwArrays = std::tuple<RowArrays, std::tuple<NewArray, NewArray, nb::list>, std::optional<NewArray>,
                            std::optional<nb::list>, NewArray, std::tuple<std::int64_t, std::int64_t>, Faults>;

VwArrays parse_vw(const Text& text, const FeatureSpec& spec, std::optional<bool> word_labels, bool labels_optional,
                  bool skip_faults, std::size_t most_found, const Used& used) {
    const OwnText lines = short_lines_of(text);
    const VwLabels labels = !word_labels ? VwLabels::none : *word_labels ? VwLabels::words : VwLabels::numbers;
    const VwForm form{{labels_optional, skip_faults, most_found, used.has_value()}, labels};
    VwParser parser(form, spec);
    VwParsed parsed;
    {
        ReleaseGil release_gil;
        parsed = parser.parse(lines.view());
    }
    report(used, parsed.used);
    nb::list words;
    for (std::size_t i = 0; i < parsed.words.size(); ++i) words.append(string_of(parsed.words[i].text));
    std::optional<NewArray> weights;
    if (parsed.weighted) weights = array_of(std::move(parsed.weights));
    std::optional<nb::list> tags;
    if (parsed.tagged) {
        tags.emplace();
        for (const std::string_view tag : parsed.tags) tags->append(string_of(tag));
    }
    return {row_arrays(parser.builder()),
            {array_of(std::move(parsed.labels)), array_of(std::move(parsed.label_words)), words},
            std::move(weights),
            std::move(tags),
            array_of(std::move(parsed.places)),
            {parsed.lines, parsed.unlabelled},
            faults_of(parsed)};
}

std::optional<bool> vw_labels_are_words(const Text& text) {
    const FeatureSpec spec;
    const OwnText lines = short_lines_of(text);
    const VwLabels kind = VwParser({}, spec).kind_of_labels(lines.view());
    return kind == VwLabels::none ? std::nullopt : std::optional(kind == VwLabels::words);
}

}  // namespace

void bind_parsing(nb::module_& module) {
    module.def("parse_libsvm", &parse_libsvm, "text"_a, "zero_based"_a, "max_features"_a, "single"_a,
               "labels_optional"_a = false, "skip_faults"_a = false, "most_found"_a = 1, "labels_ignored"_a = false,
               "Parse text of whole lines. Return labels, values, indices, offsets and the line of each example; the numbers "
               "of lines and columns; the number of lines with an error, and for the first of them its kind, line and "
               "column, counted from 1, and the text found there. Stops at the first error unless skip_faults.");
    module.def("parse_vw", &parse_vw, "text"_a, "spec"_a, "word_labels"_a.none(), "labels_optional"_a, "skip_faults"_a,
               "most_found"_a, "used"_a.none() = nb::none(),
               "Parse text of whole lines, or in parts as parse_csv does. Labels are words or numbers, or ignored if word_labels is None. Return values, "
               "columns, offsets, names of columns and their hashes or None; "
               "labels, which words they are, and all words; weights and tags, or None; the line of each example; the "
               "number of lines, and of lines without a label that are left out; and the errors, as parse_libsvm does.");
    module.def("vw_labels_are_words", &vw_labels_are_words, "text"_a,
               "Return whether the first label in a text of whole lines is a word, or None without labels.");
}

}  // namespace scwlearn
