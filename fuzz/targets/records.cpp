// Fuzz the features of records: any settings, any JSON record; a record means the same alone and among others.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "parse/json.hpp"
#include "parse/murmur.hpp"

namespace scwlearn {

namespace {

constexpr std::size_t kOptions = 16;
constexpr std::string_view kKeys[] = {"a", "b", "t", "d", "o", "o.a", "o.t", "", "*", "a^b", "\xc3\xa4"};

std::string_view draw_key(Input& input) { return kKeys[input.below(std::size(kKeys))]; }

// Letters beyond ASCII, of which some have a lower case of another length.
Letters wide_letters() {
    return {[](char32_t c) { return c >= 0x80 || Letters().in_words(c); },
            [](char32_t c) -> char32_t { return c == 0x23a ? 0x2c65 : c == 0x130 ? 'i' : Letters().lower(c); }};
}

FeatureSpec draw_spec(Input& input) {
    FeatureSpec spec;
    spec.kinds = {{"y", Kind::label}, {"w", Kind::weight}};
    const std::uint8_t options = input.byte();
    constexpr std::string_view kSeparators[] = {".", ":", "->", "\xc3\xa4"};
    constexpr std::string_view kMarks[] = {"-1", "NA", "0", "true", "0.5", "", "nan"};
    const auto draw_kind = [&] { return static_cast<Kind>(input.below(static_cast<std::size_t>(Kind::ignore) + 1)); };
    for (std::size_t i = 0, count = input.below(5); i < count; ++i) spec.kinds.emplace(draw_key(input), draw_kind());
    spec.others = draw_kind();
    spec.separator = kSeparators[input.below(std::size(kSeparators))];
    spec.text = {(options & 1) != 0, input.below(9), input.below(4), 0, 0, 1 + input.below(40), {}};
    if ((options & 2) != 0) spec.text.char_least = 1 + input.below(4), spec.text.char_most = spec.text.char_least + input.below(4);
    if ((options & 4) != 0) spec.text.letters = wide_letters();
    if ((options & 8) != 0) spec.decimal = ',';
    spec.nan_is_missing = (options & 16) != 0;
    if ((options & 32) != 0) spec.missing = {std::string(kMarks[input.below(std::size(kMarks))])};
    if ((options & 64) != 0) {
        spec.groups = {std::string(draw_key(input)), "*"};
        spec.interactions = {{0, 1}};
        if ((options & 128) != 0) spec.interactions.push_back({1, 0, 0});
    }
    if ((options & 128) != 0) spec.slots = 64;
    return spec;
}

// The features of one record: by name, or by hash where names are hashed.
using Record = std::map<std::string, std::vector<std::uint64_t>>;

struct Result {
    ParsedTable parsed;
    std::vector<Record> records;
};

Result parse(const FeatureSpec& spec, std::string_view text) {
    JsonForm form;
    form.skip_faults = form.labels_optional = true;
    form.labels = LabelKind::words;
    form.numbers_as_words = true;
    RowBuilder builder(spec);
    auto [parsed, places] = JsonParser(form, builder).parse(text);
    promise_rows(builder, parsed.places.size());
    const BuiltRows& rows = builder.rows();
    const Columns& columns = builder.columns();
    std::vector<Record> records;
    std::string name;
    for (std::size_t i = 0; i < parsed.places.size(); ++i) {
        Record& record = records.emplace_back();
        for (auto j = static_cast<std::size_t>(rows.offsets[i]); j < static_cast<std::size_t>(rows.offsets[i + 1]); ++j) {
            const auto column = static_cast<std::size_t>(rows.columns[j]);
            name.clear();
            if (columns.has_name(column)) columns.name_of(column, name);
            if (columns.is_hashed()) {
                promise(!columns.has_name(column) || murmur3(name) == columns.hashes()[column]);
                name = std::to_string(columns.hashes()[column]);
            }
            record[name].push_back(std::bit_cast<std::uint64_t>(rows.values[j]));
        }
        for (auto& [_, values] : record) std::sort(values.begin(), values.end());
    }
    return {std::move(parsed), std::move(records)};
}

}  // namespace

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size, kOptions);
    Input input(chosen.options());
    const FeatureSpec spec = draw_spec(input);
    const std::string_view text = chosen.lines();
    const Result whole = parse(spec, text);
    promise(whole.parsed.lines == std::count(text.begin(), text.end(), '\n'));

    std::size_t row = 0;
    std::int64_t line = 0;
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
        const Result alone = parse(spec, text.substr(begin, text.find('\n', begin) + 1 - begin));
        ++line;
        if (alone.records.empty()) {
            promise(row == whole.records.size() || whole.parsed.places[row] != line);
            continue;
        }
        promise(row < whole.records.size() && whole.parsed.places[row] == line);
        promise(alone.records.front() == whole.records[row]);
        ++row;
    }
    promise(row == whole.records.size());
    return 0;
}
