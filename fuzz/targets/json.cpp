// Fuzz the JSON parser: no input may cause an invalid read or write, a hang, or a broken promise.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "inputs.hpp"
#include "parse/json.hpp"

namespace scwlearn {

namespace {

FeatureSpec spec_of(const Chosen& chosen) {
    FeatureSpec spec;
    spec.kinds = {{"y", Kind::label}, {"w", Kind::weight}};
    if (chosen.flag(4)) {
        spec.kinds.insert({{"n", Kind::numeric}, {"c", Kind::categorical}, {"t", Kind::text}, {"d", Kind::date}});
        spec.kinds.insert({{"i", Kind::ignore}, {"o.i", Kind::ignore}});
        spec.text = {true, 2, 1, 2, 3, 10, {}};
        spec.missing = {"NA"};
        spec.nan_is_missing = true;
    }
    if (chosen.flag(5)) {
        spec.groups = {"*", "o"};
        spec.interactions = {{0, 1}};
        spec.slots = 16;
    }
    if (chosen.flag(6)) spec.kinds.erase("w");
    return spec;
}

// What a parser returns, and the rows that it has built.
struct Result {
    ParsedTable parsed;
    std::vector<TextPlace> places;
    BuiltRows rows;

    // Whether the array breaks off.
    bool broken() const {
        constexpr std::string_view kNames[] = {"array", "bracket", "between", "trailing", "behind"};
        return !parsed.found.empty() && std::ranges::find(kNames, parsed.found.back().fault) != std::end(kNames);
    }
};

Result parse(const FeatureSpec& spec, const JsonForm& form, std::string_view text) {
    RowBuilder builder(spec);
    auto [parsed, places] = JsonParser(form, builder).parse(text);
    promise_rows(builder, parsed.places.size());
    return {std::move(parsed), std::move(places), std::move(builder.rows())};
}

void check(Result& result, const JsonForm& form, std::string_view text) {
    ParsedTable& parsed = result.parsed;
    const auto rows = static_cast<std::int64_t>(parsed.places.size());
    const std::int64_t bad = parsed.faulty - result.broken();
    promise(rows + bad <= parsed.lines && (form.skip_faults || parsed.faulty <= 1));
    const std::size_t described = std::min(static_cast<std::size_t>(bad), form.most_found) + result.broken();
    promise(parsed.found.size() == described && result.places.size() == described);
    promise(!result.broken() || form.part != JsonPart::lines);
    promise(parsed.weights.size() == (parsed.weighted ? parsed.places.size() : 0));
    promise(parsed.labels.numbers().size() == parsed.places.size());
    for (std::size_t i = 0; i < parsed.places.size(); ++i) {
        promise(parsed.places[i] > (i > 0 ? parsed.places[i - 1] : 0) && parsed.places[i] <= parsed.lines);
        const std::int32_t word = parsed.labels.word_numbers()[i];
        promise(word < static_cast<std::int64_t>(parsed.labels.words().size()));
        promise(form.labels_optional || word >= 0 || acceptable(parsed.labels.numbers()[i]));
        if (!parsed.weighted) continue;
        const double weight = parsed.weights[i];
        promise(weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight));
    }
    for (std::size_t i = 0; i < parsed.labels.words().size(); ++i) {
        const std::string_view word = parsed.labels.words()[i].text;
        promise(is_utf8(word) && utf8_count(word) <= kLongestLabel);
    }
    const std::int64_t lines = std::count(text.begin(), text.end(), '\n');
    for (const auto& [line, column] : result.places) promise(line >= 1 && line <= lines && column >= 1);
    for (const PlacedFault& one : parsed.found) promise(one.place <= parsed.lines);
}

// Parses an array as a reader does, which gets it in pieces of that size.
void check_pieces(const FeatureSpec& spec, JsonForm form, std::string_view text, std::size_t size, const Result& whole) {
    JsonElements elements;
    std::int64_t records = 0, faulty = 0;
    std::size_t rows = 0, begin = 0, seen = 0;
    std::vector<double> values;
    bool broken = false;
    while (!broken && !(seen == text.size() && form.is_last)) {
        const std::size_t next = std::min(text.size(), seen + size);
        const char* const last = elements.last_end(text.data() + seen, text.data() + next);
        seen = next;
        form.is_last = last == nullptr && seen == text.size();
        if (last == nullptr && !form.is_last) continue;
        const std::size_t end = form.is_last ? text.size() : static_cast<std::size_t>(last - text.data());
        // In memory that ends with the piece.
        const auto piece = std::make_unique<char[]>(end - begin + 1);
        std::copy(text.data() + begin, text.data() + end, piece.get());
        piece[end - begin] = '\n';
        const Result result = parse(spec, form, {piece.get(), end - begin + 1});
        records += result.parsed.lines;
        faulty += result.parsed.faulty;
        rows += result.parsed.places.size();
        values.insert(values.end(), result.rows.values.begin(), result.rows.values.end());
        broken = result.broken();
        begin = end;
        form.part = elements.is_closed() ? JsonPart::array_end : JsonPart::array_rest;
    }
    promise(broken == whole.broken());
    promise(records == whole.parsed.lines && faulty == whole.parsed.faulty);
    promise(rows == whole.parsed.places.size() && values == whole.rows.values);
}

}  // namespace

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size);
    const std::string_view text = chosen.lines();
    const FeatureSpec spec = spec_of(chosen);
    JsonForm form;
    form.part = chosen.flag(0) ? JsonPart::array_start : JsonPart::lines;
    form.labels_optional = chosen.flag(1);
    form.skip_faults = chosen.flag(2);
    form.most_found = chosen.flag(3) ? 2 : 1;
    form.labels = chosen.flag(7) ? LabelKind::words : LabelKind::any;
    form.numbers_as_words = chosen.flag(7);
    Result whole = parse(spec, form, text);
    check(whole, form, text);
    if (form.part == JsonPart::lines) {
        const std::int64_t lines = std::count(text.begin(), text.end(), '\n');
        promise(form.skip_faults ? whole.parsed.lines == lines : whole.parsed.lines <= lines);
    } else if (form.skip_faults && form.labels == LabelKind::words) {
        check_pieces(spec, form, text, 1 + size % 7, whole);
    }
    return 0;
}
