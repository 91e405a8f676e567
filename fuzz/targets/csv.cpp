// Fuzz the CSV parser: no input may cause an invalid read or write, a hang, or a broken promise.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.hpp"
#include "parse/csv.hpp"

namespace {

using namespace scwlearn;

Kind kind_of(std::string_view name) {
    if (name == "y" || name == "label") return Kind::label;
    if (name == "w") return Kind::weight;
    if (name.empty() || name == "about") return name.empty() ? Kind::ignore : Kind::text;
    return name[0] == 'b' ? Kind::categorical : name[0] == 'd' ? Kind::date : Kind::numeric;
}

struct Result {
    RowBuilder builder;
    ParsedTable parsed;

    Result(const FeatureSpec& spec, const CsvForm& form, const std::vector<std::string>& columns, std::string_view text)
        : builder(spec), parsed(CsvParser(form, builder, columns).parse(text)) {}

    std::size_t rows() const { return parsed.places.size(); }
};

void check(Result& result, const CsvForm& form, std::string_view text) {
    const ParsedTable& parsed = result.parsed;
    promise_rows(result.builder, result.rows());
    const auto rows = static_cast<std::int64_t>(result.rows());
    promise(rows + parsed.faulty <= parsed.lines + 1 && (form.skip_faults || parsed.faulty <= 1));
    promise(parsed.lines <= static_cast<std::int64_t>(text.size()));
    const bool open = !parsed.found.empty() && parsed.found.back().fault == std::string_view("quote");
    const std::size_t found = std::min(static_cast<std::size_t>(parsed.faulty), form.most_found);
    promise(parsed.found.size() == found || (open && parsed.found.size() == found + 1));
    promise(result.parsed.labels.numbers().size() == result.rows());
    promise(result.parsed.labels.word_numbers().size() == result.rows());
    promise(parsed.weights.size() == (parsed.weighted ? result.rows() : 0));
    for (std::size_t i = 0; i < result.rows(); ++i) {
        const std::int32_t word = result.parsed.labels.word_numbers()[i];
        promise(word < static_cast<std::int32_t>(parsed.labels.words().size()));
        promise(form.labels_optional || word >= 0 || acceptable(result.parsed.labels.numbers()[i]));
        promise(parsed.places[i] > (i > 0 ? parsed.places[i - 1] : 0) && parsed.places[i] <= parsed.lines);
    }
    for (const double weight : parsed.weights)
        promise(weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight));
    std::int64_t line = 0;
    for (const PlacedFault& one : parsed.found) {
        promise(one.place > 0 && one.place <= parsed.lines && one.place >= line);
        line = one.place;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Chosen chosen(data, size);
    const std::string_view text = chosen.lines();
    CsvForm form;
    form.delimiter = chosen.flag(0) ? '\t' : chosen.flag(1) ? ';' : ',';
    form.labels_optional = chosen.flag(2);
    form.skip_faults = chosen.flag(3);
    form.most_found = chosen.flag(4) ? 3 : 1;
    form.labels = chosen.flag(5) ? LabelKind::words : LabelKind::any;
    FeatureSpec spec;
    spec.text.longest = 20;
    if (chosen.flag(6)) spec.missing = {"NA", "-9"};
    if (chosen.flag(7)) spec.decimal = ',';

    // The first record names the columns.
    CsvCells cells(text, form.delimiter);
    std::vector<std::string> columns;
    std::set<Kind> kinds;  // at most one label and one weight
    std::string_view cell;
    if (cells.next_record())
        while (cells.in_record() && cells.read(cell)) columns.emplace_back(is_utf8(cell) && kinds.insert(kind_of(cell)).second ? cell : "x");
    for (const std::string& name : columns) spec.kinds.emplace(name, kind_of(name));
    const std::string_view body = text.substr(static_cast<std::size_t>(cells.at() - text.data()));
    Result whole(spec, form, columns, body);
    check(whole, form, body);

    // Without an open quote, the text ends with a record; cut between records, it has the same rows and lines.
    CsvCells all(body, form.delimiter);
    while (all.next_record())
        while (all.in_record()) all.read(cell);
    promise(all.at() == body.data() + body.size());
    const std::size_t last = csv_last_end(body, form.delimiter);
    promise(all.open_quote() == nullptr ? last == body.size() : body.data() + last <= all.open_quote());
    const std::size_t cut = csv_last_end(body.substr(0, body.size() / 2), form.delimiter);
    Result first(spec, form, columns, body.substr(0, cut));
    if (first.parsed.faulty == 0 || form.skip_faults) {
        // A cell at the end of another chunk is the same; only whether the first label is a word may depend on the chunk.
        Result second(spec, form, columns, body.substr(cut));
        if (form.labels == LabelKind::words) {
            promise(first.rows() + second.rows() == whole.rows());
            promise(first.parsed.faulty + second.parsed.faulty == whole.parsed.faulty);
            promise(first.parsed.lines + second.parsed.lines == whole.parsed.lines);
            promise(first.builder.rows().values.size() + second.builder.rows().values.size() ==
                    whole.builder.rows().values.size());
        }
    }
    return 0;
}
