// CSV text: parsed with the GIL released, into memory that is handed over to NumPy.
#include "parse/csv.hpp"

#include "python/records.hpp"
#include "python/text.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Text that ends with a line end.
OwnText records_of(const Text& text) {
    OwnText records(text);
    require(records.ends_with("\n\r"), "the text must end with a line end");
    return records;
}

char delimiter_of(const std::string& given) {
    require(given.size() == 1 && is_delimiter(given[0]), "delimiter must be one character that is not part of numbers");
    return given[0];
}

TableArrays parse_csv(const Text& text, const FeatureSpec& spec, const std::vector<std::string>& columns,
                      const std::string& delimiter, const std::string& labels, bool labels_optional, bool skip_faults,
                      std::size_t most_found, const Used& used) {
    const OwnText records = records_of(text);
    const CsvForm form{{{labels_optional, skip_faults, most_found, used.has_value()}, label_kind(labels)}, delimiter_of(delimiter)};
    const auto labelled = std::count_if(columns.begin(), columns.end(),
                                        [&](const std::string& name) { return spec.kind_of(name) == Kind::label; });
    require(labelled <= 1, "at most one column can be the label");
    RowBuilder builder(spec);
    ParsedTable parsed{LabelColumn(form.labels), {}, {}};
    {
        ReleaseGil release_gil;
        parsed = CsvParser(form, builder, columns).parse(records.view());
    }
    report(used, parsed.used);
    return table_arrays(builder, parsed);
}

// The cells of the first records, and the line of each; the end of the last one, and the lines up to it; and the line and
// offset of a quote that is not closed.
using CsvCellLists = std::tuple<std::vector<nb::list>, std::vector<std::int64_t>, std::size_t, std::int64_t,
                                std::optional<std::tuple<std::int64_t, std::size_t>>>;

CsvCellLists split_csv(const Text& text, const std::string& delimiter, std::size_t most_records) {
    const OwnText own = records_of(text);
    const std::string_view records = own.view();
    CsvCells cells(records, delimiter_of(delimiter));
    CsvCellLists split;
    auto& [lists, lines, end, passed, open] = split;
    std::string_view cell;
    while (lists.size() < most_records && cells.next_record()) {
        nb::list list;
        while (cells.in_record() && cells.read(cell)) list.append(string_of(cell, "replace"));
        if (cells.open_quote() != nullptr) {
            open.emplace(cells.open_line(), cells.open_quote() - records.data());
            break;
        }
        lists.push_back(list);
        lines.push_back(cells.line());
    }
    end = static_cast<std::size_t>(cells.at() - records.data());
    passed = cells.lines();
    return split;
}

std::size_t last_csv_end(const Text& text, const std::string& delimiter) {
    const char separator = delimiter_of(delimiter);
    ReleaseGil release_gil;
    return csv_last_end(view_of(text), separator);
}

}  // namespace

void bind_tables(nb::module_& module) {
    module.def("parse_csv", &parse_csv, "text"_a, "spec"_a, "columns"_a, "delimiter"_a, "labels"_a, "labels_optional"_a,
               "skip_faults"_a, "most_found"_a, "used"_a.none() = nb::none(),
               "Parse text of whole records with these columns, or if the array `used` is given, as many as fill a batch, and "
               "set it to the number of bytes up to there. Return values, columns and offsets of the rows, the names of "
               "their columns and their hashes; labels as numbers, which words they are, all words, and whether all are "
               "bools; weights or None; the line of each record; the number of lines; the places of the records with an error, "
               "and for the first of them its kind, line, column and the value found there; a quote that is not closed is "
               "the last one. Stops at the first error unless skip_faults.");
    module.def("split_csv", &split_csv, "text"_a, "delimiter"_a, "most_records"_a,
               "Return the cells of the first records of a text of whole records, the line of each; the end of the last one, "
               "and the number of lines up to it; and the line and offset of a quote that is not closed, or None.");
    module.def("last_csv_end", &last_csv_end, "text"_a, "delimiter"_a,
               "Return the end of the last whole record of a text that starts with a record, or 0.");
}

}  // namespace scwlearn
