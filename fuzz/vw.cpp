// Fuzz the VW parser: no input may cause an invalid read or write, a hang, or a broken promise.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "lines_of.hpp"
#include "parse/vw.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size);
    const std::string_view lines = chosen.lines();
    VwForm form;
    const VwLabels kind = VwParser(form).kind_of_labels(lines);
    form.labels = chosen.flag(0) ? VwLabels::words : kind == VwLabels::none ? VwLabels::numbers : kind;
    form.labels_optional = chosen.flag(1);
    form.skip_faults = chosen.flag(2);
    form.most_found = chosen.flag(3) ? 2 : 1;
    if (chosen.flag(4)) form.ignored = {"n", ""};
    const VwParsed parsed = VwParser(form).parse(lines);

    const auto rows = static_cast<std::int64_t>(parsed.rows());
    const auto all = static_cast<std::int64_t>(std::count(lines.begin(), lines.end(), '\n'));
    promise(parsed.lines <= all && rows + parsed.faulty <= parsed.lines);
    promise(form.skip_faults ? parsed.lines == all : parsed.faulty <= 1);
    promise(parsed.found.size() == std::min(static_cast<std::size_t>(parsed.faulty), form.most_found));
    promise(parsed.label_words.size() == parsed.rows() && parsed.weights.size() == parsed.rows());
    promise(parsed.tags.size() == parsed.rows() && parsed.places.size() == parsed.rows());
    promise(parsed.offsets.size() == parsed.rows() + 1 && parsed.offsets[0] == 0);
    promise(parsed.values.size() == parsed.columns.size());
    promise(parsed.offsets.back() == static_cast<std::int64_t>(parsed.values.size()));

    std::set<std::int32_t> used;
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
        for (std::int32_t j = parsed.offsets[i]; j < parsed.offsets[i + 1]; ++j) {
            const auto at = static_cast<std::size_t>(j);
            promise(acceptable(parsed.values[at]));
            promise(j == parsed.offsets[i] || parsed.columns[at] > parsed.columns[at - 1]);
            used.insert(parsed.columns[at]);
        }
    }
    // Every name is used, and no two full names are equal.
    promise(used.size() == parsed.names.size());
    promise(used.empty() || (*used.begin() == 0 && *used.rbegin() + 1 == static_cast<std::int64_t>(used.size())));
    std::set<std::string> names;
    for (std::size_t i = 0; i < parsed.names.size(); ++i) {
        const std::string space(parsed.spaces[parsed.names[i].space].text);
        const std::string whole = space + (space.empty() ? "" : "^") + std::string(parsed.names[i].text);
        promise(is_text(whole) && names.insert(whole).second);
    }
    for (std::size_t i = 0; i < parsed.words.size(); ++i) promise(is_text(parsed.words[i].text));
    for (const Found& one : parsed.found) promise_place(lines, one.line, one.column, one.text);
    return 0;
}
