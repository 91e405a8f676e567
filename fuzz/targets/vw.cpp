// Fuzz the VW parser: no input may cause an invalid read or write, a hang, or a broken promise.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "inputs.hpp"
#include "parse/vw.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size);
    const std::string_view lines = chosen.lines();
    VwForm form;
    FeatureSpec spec;
    if (chosen.flag(4)) spec.kinds = {{"n", Kind::ignore}, {"", Kind::ignore}, {"c", Kind::categorical}, {"n^d", Kind::numeric}};
    if (chosen.flag(5)) spec.text.ngram = 2;
    if (chosen.flag(6)) {
        spec.groups = {"n", "*"};
        spec.interactions = {{0, 1}, {1, 1}};
    }
    if (chosen.flag(7)) spec.slots = 64;
    const VwLabels kind = VwParser(form, spec).kind_of_labels(lines);
    form.labels = chosen.flag(0) ? VwLabels::words : kind == VwLabels::none ? VwLabels::numbers : kind;
    form.labels_optional = chosen.flag(1);
    // Labels that are ignored.
    if (chosen.flag(0) && form.labels_optional && kind == VwLabels::numbers) form.labels = VwLabels::none;
    form.skip_faults = chosen.flag(2);
    form.most_found = chosen.flag(3) ? 2 : 1;
    VwParser parser(form, spec);
    const VwParsed parsed = parser.parse(lines);
    RowBuilder& builder = parser.builder();
    promise_rows(builder, parsed.rows());

    const auto rows = static_cast<std::int64_t>(parsed.rows());
    const auto all = static_cast<std::int64_t>(std::count(lines.begin(), lines.end(), '\n'));
    promise(parsed.lines <= all && rows + parsed.faulty + parsed.unlabelled <= parsed.lines);
    promise(form.skip_faults ? parsed.lines == all : parsed.faulty <= 1);
    promise(parsed.found.size() == std::min(static_cast<std::size_t>(parsed.faulty), form.most_found));
    promise(parsed.label_words.size() == parsed.rows() && parsed.weights.size() == parsed.rows());
    promise(parsed.tags.size() == parsed.rows() && parsed.places.size() == parsed.rows());

    for (std::size_t i = 0; i < parsed.rows(); ++i) {
        const bool is_word = parsed.label_words[i] >= 0;
        promise(!is_word || static_cast<std::size_t>(parsed.label_words[i]) < parsed.words.size());
        promise(form.labels_optional || is_word || acceptable(parsed.labels[i]));
        promise(!is_word || form.labels == VwLabels::words);
        const double weight = parsed.weights[i];
        promise(weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight));
        promise(is_text(parsed.tags[i]));
        if (is_word) {
            const auto& word = parsed.words[static_cast<std::size_t>(parsed.label_words[i])];
            promise(utf8_count(word.text) <= kLongestLabel);
        }
        promise(parsed.places[i] > (i > 0 ? parsed.places[i - 1] : 0) && parsed.places[i] <= parsed.lines);
    }
    // No two full names are equal, unless they are crossed: "a*b" is also a name of its own.
    std::set<std::string> names;
    std::string name;
    for (std::size_t i = 0; i < builder.columns().size(); ++i) {
        if (!builder.columns().has_name(i)) continue;
        builder.columns().name_of(i, name);
        promise(is_text(name));
        promise(names.insert(name).second || spec.text.ngram > 1 || !spec.interactions.empty() || spec.slots > 0);
    }
    for (std::size_t i = 0; i < parsed.words.size(); ++i) promise(is_text(parsed.words[i].text));
    for (const Found& one : parsed.found) promise_place(lines, one.line, one.column, one.text);
    return 0;
}
