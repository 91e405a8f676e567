// Parser of delimited text: records of cells, which may be quoted, in lines that end with \n, \r\n or \r.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scan.hpp"
#include "parse/number.hpp"
#include "parse/utf8.hpp"
#include "records/table_parser.hpp"
#include "records/values.hpp"

namespace scwlearn {

// Whether a character may separate cells: none that is part of a number, of a quote or of a line end.
inline bool is_delimiter(char c) noexcept {
    const bool in_numbers = (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || (c | 0x20) == 'e';
    return c > 0 && c < 0x7f && !in_numbers && c != '"' && c != '\n' && c != '\r';
}

// Reads the cells of records in order. The text starts with a record and ends with a line end. A quote at the start of a
// cell opens it: up to the closing quote, delimiters and line ends are part of the cell, and a quote is doubled. White
// space around other cells is left out. Lines of white space are not records.
class CsvCells {
public:
    CsvCells(std::string_view text, char delimiter)
        : delimiter_(delimiter), p_(text.data()), end_(text.data() + text.size()) {
        for (const char c : {delimiter, '\n', '\r'}) ends_[static_cast<unsigned char>(c)] = true;
    }

    // Moves to the next record; returns false if there is none.
    bool next_record() noexcept {
        while (p_ != end_) {
            const char* const first = skip_blanks(p_);
            if (*first != '\n' && *first != '\r') {
                in_record_ = true;
                line_ = lines_ + 1;
                return true;
            }
            end_line(first);
        }
        return false;
    }

    // Whether the record has another cell; after a delimiter, the cell may be empty.
    bool in_record() const noexcept { return in_record_; }

    // Reads the next cell if it is a number and nothing else; otherwise returns false and stays in front of it.
    bool read_plain_number(double& value) noexcept {
        const char* const after = read_number(skip_blanks(p_), end_, value);
        if (after == nullptr || !is_end(after) || !acceptable(value)) return false;
        end_cell(after);
        return true;
    }

    // Reads the next cell, which is valid until the next call. Returns false if its quote is not closed: then the text
    // has been read.
    bool read(std::string_view& cell) {
        if (*p_ == '"') return read_quoted(cell);
        const char* const begin = skip_blanks(p_);
        const char* const after = find_end(begin);
        cell = trimmed(begin, after);
        end_cell(after);
        return true;
    }

    // First line of the record, from 1, and the number of lines so far.
    std::int64_t line() const noexcept { return line_; }
    std::int64_t lines() const noexcept { return lines_; }
    // First character that has not been read.
    const char* at() const noexcept { return p_; }
    // The quote that is not closed, and its line.
    const char* open_quote() const noexcept { return open_; }
    std::int64_t open_line() const noexcept { return open_line_; }

private:
    static std::string_view view(const char* begin, const char* end) noexcept {
        return {begin, static_cast<std::size_t>(end - begin)};
    }

    bool is_blank(char c) const noexcept { return (c == ' ' || c == '\t') && c != delimiter_; }
    bool is_end(const char* p) const noexcept { return ends_[static_cast<unsigned char>(*p)]; }

    // No blank is a line end, so that nothing is read behind the text.
    const char* skip_blanks(const char* p) const noexcept {
        while (is_blank(*p)) ++p;
        return p;
    }

    const char* find_end(const char* p) const noexcept {
        while (!is_end(p)) ++p;
        return p;
    }

    // Without the blanks at the end.
    std::string_view trimmed(const char* begin, const char* end) const noexcept {
        while (end != begin && is_blank(end[-1])) --end;
        return view(begin, end);
    }

    void end_cell(const char* after) noexcept {
        if (*after == delimiter_) {
            p_ = after + 1;
        } else {
            in_record_ = false;
            end_line(after);
        }
    }

    void end_line(const char* at) noexcept {
        ++lines_;
        p_ = at + (*at == '\r' && at + 1 != end_ && at[1] == '\n' ? 2 : 1);
    }

    bool read_quoted(std::string_view& cell) {
        const char* const first = p_;
        const char* begin = first + 1;
        const std::int64_t line = lines_ + 1;
        unquoted_.clear();
        for (;;) {
            const char* const quote = find_quote(begin);
            count_lines(begin, quote == nullptr ? end_ : quote);
            if (quote == nullptr) {
                open_ = first;
                open_line_ = line;
                in_record_ = false;
                p_ = end_;
                return false;
            }
            // The last character is a line end, so that one follows the quote.
            if (quote[1] != '"') {
                end_quoted(cell, begin, quote);
                return true;
            }
            unquoted_.append(begin, quote + 1);
            begin = quote + 2;
        }
    }

    const char* find_quote(const char* p) const noexcept {
        return static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end_ - p)));
    }

    void count_lines(const char* p, const char* end) noexcept {
        // The character behind \r is in the text unless it is the last one.
        if (p == end) return;
        const char* const last = end - 1;
        for (; p != last; ++p) lines_ += *p == '\n' || (*p == '\r' && p[1] != '\n');
        lines_ += *last == '\n' || (*last == '\r' && (end == end_ || *end != '\n'));
    }

    // Ends a cell at its closing quote; text between it and the delimiter is part of the cell.
    void end_quoted(std::string_view& cell, const char* begin, const char* quote) {
        const char* const after = find_end(quote + 1);
        const std::string_view rest = trimmed(quote + 1, after);
        if (unquoted_.empty() && rest.empty())
            cell = view(begin, quote);
        else
            cell = unquoted_.append(begin, quote).append(rest);
        end_cell(after);
    }

    char delimiter_;
    std::array<bool, 256> ends_{};
    const char* p_;
    const char* end_;
    std::int64_t line_ = 0, lines_ = 0;
    bool in_record_ = false;
    const char* open_ = nullptr;
    std::int64_t open_line_ = 0;
    std::string unquoted_;
};

// Returns the end of the last whole record of a text that starts with a record but may end anywhere, or 0.
inline std::size_t csv_last_end(std::string_view text, char delimiter) noexcept {
    const char *const begin = text.data(), *const end = begin + text.size();
    const auto quote_from = [end](const char* p) {
        return static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
    };
    std::size_t last = 0;
    // Between quoted cells, and behind the last one. A return at the end may be the first half of a line end.
    const auto look_between = [&](const char* from, const char* to) {
        for (const char* p = to; p != from; --p) {
            if (p[-1] == '\n' || (p[-1] == '\r' && p != end && *p != '\n')) {
                last = static_cast<std::size_t>(p - begin);
                return;
            }
        }
    };
    const char* from = begin;
    for (const char* quote = begin; (quote = quote_from(quote)) != nullptr;) {
        const bool opens = quote == begin || quote[-1] == delimiter || quote[-1] == '\n' || quote[-1] == '\r';
        if (!opens) {
            ++quote;
            continue;
        }
        look_between(from, quote);
        do {
            quote = quote_from(quote + 1);
            if (quote == nullptr) return last;
            ++quote;
        } while (quote != end && *quote == '"');
        from = quote;
    }
    look_between(from, end);
    return last;
}

struct CsvForm : TableForm {
    char delimiter = ',';
};

class CsvParser : TableParser<CsvForm> {
public:
    // The columns are those of all records, in order. The builder gets the rows.
    CsvParser(const CsvForm& form, RowBuilder& builder, const std::vector<std::string>& columns)
        : TableParser(form, builder) {
        columns_.reserve(columns.size());
        const FeatureSpec& spec = builder.spec();
        // A mark of a missing value may look like a number.
        const auto looks_like_a_number = [](const std::string& mark) {
            return !mark.empty() && std::string_view("+-.0123456789").find(mark[0]) != std::string_view::npos;
        };
        const bool plain = spec.decimal == '.' && std::none_of(spec.missing.begin(), spec.missing.end(), looks_like_a_number);
        for (const std::string& name : columns) {
            const Kind kind = spec.kind_of(name);
            columns_.push_back({kind == Kind::ignore ? nullptr : &builder.key(name), plain && kind == Kind::numeric});
            if (kind == Kind::weight) set_weight_key(*columns_.back().key);
        }
    }

    // Parses whole records, up to the first error unless errors are skipped. Nothing is read behind a quote that is not
    // closed. Allocates only to grow vectors.
    ParsedTable parse(std::string_view text) {
        is_clean_ = is_utf8(text) && text.find('\0') == std::string_view::npos;
        CsvCells cells(text, form_.delimiter);
        // Few values are shorter. Memory that is not used costs nothing.
        builder_.reserve(text.size() / 4);
        parsed_.used = text.size();
        while (cells.next_record()) {
            begin_record();
            if (!(read_record(cells) && end_record(cells.line())) && !add_fault(cells)) break;
            if (form_.in_parts && builder_.is_full()) {
                parsed_.used = static_cast<std::size_t>(cells.at() - text.data());
                break;
            }
        }
        parsed_.lines = cells.lines();
        return std::move(parsed_);
    }

private:
    struct Column {
        RowBuilder::Key* key;  // null if the column is ignored
        bool plain;            // whether its numbers need no other look
    };

    bool read_record(CsvCells& cells) {
        std::size_t count = 0;
        bool good = true;
        std::string_view skipped;
        for (; cells.in_record(); ++count) {
            if (good && count < columns_.size())
                good = read_cell(cells, columns_[count]);
            else
                cells.read(skipped);
        }
        count_ = count;
        return good && count == columns_.size();
    }

    bool read_cell(CsvCells& cells, const Column& column) {
        double value = 0.0;
        if (column.plain && cells.read_plain_number(value)) return builder_.add_number(*column.key, value);
        std::string_view cell;
        if (!cells.read(cell)) return false;
        if (column.key == nullptr) return true;
        RowBuilder::Key& key = *column.key;
        if (!is_clean_) {
            if (cell.find('\0') != std::string_view::npos) return builder_.fail("nul", key, cell);
            if (!is_utf8(cell)) return builder_.fail("utf8", key, cell);
        }
        if (key.kind == Kind::label) return add_label_text(key, cell, !has_words());
        if (key.kind == Kind::weight) return set_weight_text(key, cell);
        if (key.kind == Kind::automatic) {
            // As no cell has a type, the text of a bool or a number is one.
            if (is_bool(cell)) return builder_.add_bool(key, is_true(cell));
            double value = 0.0;
            if (builder_.read_number_text(trimmed(cell), value) && acceptable(value)) return builder_.add_number(key, value);
        }
        return builder_.add_string(key, cell);
    }

    bool add_fault(const CsvCells& cells) {
        if (cells.open_quote() != nullptr) {
            constexpr std::ptrdiff_t kShown = 100;  // enough for a message
            const char* const open = cells.open_quote();
            const auto shown = static_cast<std::size_t>(std::min(kShown, cells.at() - open));
            // The last fault, because nothing behind it can be read; it is always described.
            form_.most_found = std::max(form_.most_found, parsed_.found.size() + 1);
            return TableParser::add_fault({"quote", {}, std::string(open, shown)}, cells.open_line());
        }
        if (count_ != columns_.size())
            return TableParser::add_fault({"ragged", {}, std::to_string(count_)}, cells.line());
        return TableParser::add_fault(builder_.fault(), cells.line());
    }

    std::vector<Column> columns_;
    bool is_clean_ = false;  // whether all text is valid
    std::size_t count_ = 0;  // cells of the record
};

}  // namespace scwlearn
