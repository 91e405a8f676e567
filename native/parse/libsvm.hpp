// Parser of LIBSVM and SVMlight text, one example per line: label [qid:n] index:value index:value ... [# comment]
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scan.hpp"
#include "parse/lines.hpp"
#include "parse/number.hpp"
#include "parse/short_feature.hpp"

namespace scwlearn {

struct LibsvmParsed : ParsedLines {
    std::int64_t rows = 0;
    std::int64_t stored = 0;
    std::int64_t width = 0;  // the largest index, counted from 0, plus one
    bool beyond = false;     // whether an index was too large
};

// A line without a label begins with its features; its label is NaN.
struct LibsvmForm : LineForm {
    bool zero_based = false;
    // Upper bound on indices, counted from 0.
    std::int64_t max_features = 0;
    bool labels_ignored = false;  // whether a label may be any word
};

struct Measure {
    std::int64_t lines = 0;
    std::int64_t colons = 0;
};

inline Measure measure(std::string_view text) noexcept {
    Measure total;
    while (!text.empty()) {
        // Blocks whose counts fit a byte, so that the loop is vectorized.
        const std::string_view block = text.substr(0, 128);
        std::uint8_t lines = 0;
        std::uint8_t colons = 0;
        for (const char c : block) {
            lines = static_cast<std::uint8_t>(lines + (c == '\n'));
            colons = static_cast<std::uint8_t>(colons + (c == ':'));
        }
        total.lines += lines;
        total.colons += colons;
        text.remove_prefix(block.size());
    }
    return total;
}

// Memory for the most that a text can hold: one row per line, one feature per colon.
template <class Value, class Index>
struct Examples {
    std::unique_ptr<double[]> labels;
    std::unique_ptr<std::int64_t[]> lines;  // the line of each row, counted from 1
    std::unique_ptr<Value[]> values;
    std::unique_ptr<Index[]> indices, offsets;  // one offset more than rows

    Examples() = default;
    explicit Examples(const Measure& most)
        : labels(room<double>(most.lines)),
          lines(room<std::int64_t>(most.lines)),
          values(room<Value>(most.colons)),
          indices(room<Index>(most.colons)),
          offsets(room<Index>(most.lines + 1)) {}

private:
    template <class T>
    static std::unique_ptr<T[]> room(std::int64_t count) {
        return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
    }
};

// Sorts the features of a row. Returns the position of a feature with a repeated index, or -1.
template <class Value, class Index>
std::int64_t sort_row(Value* values, Index* indices, std::int64_t count) {
    std::vector<std::pair<Index, std::int64_t>> order;
    order.reserve(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) order.emplace_back(indices[j], j);
    std::sort(order.begin(), order.end());
    const std::vector<Value> unsorted(values, values + count);
    std::int64_t j = 0;
    for (const auto& [index, place] : order) {
        if (j > 0 && index == indices[j - 1]) return place;
        indices[j] = index;
        values[j++] = unsorted[static_cast<std::size_t>(place)];
    }
    return -1;
}

template <class Value, class Index>
class LibsvmParser : LineParser<LibsvmForm, LibsvmParsed> {
public:
    // `max_features` must fit an Index.
    LibsvmParser(Examples<Value, Index>& out, const LibsvmForm& form)
        : LineParser(form),
          out_(out),
          first_index_(form.zero_based ? 0 : 1),
          max_features_(static_cast<std::uint64_t>(form.max_features)) {}

    // Parses whole lines, up to the first error unless errors are skipped. Allocates, and so may throw, only to sort a
    // row and to describe an error.
    LibsvmParsed parse(std::string_view lines) {
        parsed_ = {};
        out_.offsets[0] = 0;
        begin_ = lines.data();
        end_ = begin_ + lines.size();
        const std::ptrdiff_t size = end_ - begin_ - kShortBehind - kShortAhead + 1;
        short_size_ = static_cast<std::size_t>(std::max(size, std::ptrdiff_t{0}));
        for (const char* p = lines.data(); p != end_ && p != nullptr;) {
            line_ = p;
            ++parsed_.lines;
            p = read_line(p);
            if (p == nullptr && form_.skip_faults) p = next_line(line_);
        }
        return std::move(parsed_);
    }

private:
    // Few characters are either; one comparison excludes the others.
    static bool is_blank(const char* p) noexcept { return *p <= ' ' && (*p == ' ' || *p == '\t'); }
    static bool ends_line(const char* p) noexcept {
        return *p <= '#' && (*p == '\n' || *p == '#' || (*p == '\r' && p[1] == '\n'));
    }
    static bool ends_word(const char* p) noexcept { return is_blank(p) || ends_line(p); }
    static const char* skip_blanks(const char* p) noexcept {
        while (is_blank(p)) ++p;
        return p;
    }
    static const char* skip_word(const char* p) noexcept {
        while (!ends_word(p)) ++p;
        return p;
    }

    // Returns the start of the next line, or null after an error.
    const char* read_line(const char* p) {
        p = skip_blanks(p);
        if (ends_line(p)) return next_line(p);
        const char* after = read_label(p, out_.labels[parsed_.rows]);
        if (after == nullptr) after = without_label(p, out_.labels[parsed_.rows]);
        if (after == nullptr) return bad_label(p);
        p = skip_blanks(after);
        if (*p == 'q') {
            p = read_query(p);
            if (p == nullptr) return nullptr;
        }
        const char* const features = p;
        Value* const values = out_.values.get();
        Index* const indices = out_.indices.get();
        const std::int64_t begin = parsed_.stored;
        std::int64_t stored = begin;
        std::int64_t before = -1;
        bool sorted = true;
        while (!ends_line(p)) {
            std::uint64_t place = 0;
            after = read_short_feature(p, place, values[stored]);
            if (after == nullptr) after = read_feature(p, place, values[stored]);
            if (after == nullptr) return nullptr;
            indices[stored++] = static_cast<Index>(place);
            sorted &= static_cast<std::int64_t>(place) > before;
            before = static_cast<std::int64_t>(place);
            p = skip_blanks(after);
        }
        if (!sorted) {
            const std::int64_t again = sort_row(values + begin, indices + begin, stored - begin);
            if (again >= 0) return fail("twice", nth_word(features, again));
        }
        if (stored > begin) parsed_.width = std::max(parsed_.width, std::int64_t{indices[stored - 1]} + 1);
        parsed_.stored = stored;
        out_.lines[parsed_.rows] = parsed_.lines;
        out_.offsets[++parsed_.rows] = static_cast<Index>(stored);
        return next_line(p);
    }

    bool may_be_short(const char* p) const noexcept {
        // Wraps around below 0, to a number far out of range.
        return static_cast<std::size_t>(p - begin_ - kShortBehind) < short_size_;
    }

    const char* read_label(const char* p, double& value) const noexcept {
        std::uint64_t none = 0;
        if (p == line_ && may_be_short(p - 1)) {
            const char* const after = read_short<Before::newline>(p - 1, none, value);
            if (after != nullptr && ends_word(after)) return after;
        }
        return read_value(p, value);
    }

    // Returns p if the line may begin with features and does, and the end of a label that is ignored; otherwise null.
    const char* without_label(const char* p, double& value) const noexcept {
        if (!form_.labels_optional) return nullptr;
        const char* const word_end = skip_word(p);
        const bool is_label = std::find(p, word_end, ':') == word_end;
        if (is_label && !form_.labels_ignored) return nullptr;
        value = std::numeric_limits<double>::quiet_NaN();
        return is_label ? word_end : p;
    }

    // Returns the end of the feature, or null if `read_feature` must read it.
    const char* read_short_feature(const char* p, std::uint64_t& place, Value& value) const noexcept {
        if (!may_be_short(p)) return nullptr;
        std::uint64_t index = 0;
        double number = 0.0;
        const char* const after = read_short<Before::index>(p, index, number);
        place = index - first_index_;
        if (after == nullptr || place >= max_features_ || !ends_word(after)) return nullptr;
        value = static_cast<Value>(number);
        return after;
    }

    // Not inlined, which leaves the loop more registers.
    [[gnu::noinline]] const char* read_feature(const char* p, std::uint64_t& place, Value& value) {
        std::uint64_t index = 0;
        const char* const colon = read_digits(p, end_, index);
        if (colon == p || *colon != ':') return fail(is_query(p, end_) ? "query" : "feature", p);
        // Wraps around below 0, to a number far out of range.
        place = index - first_index_;
        if (place >= max_features_ || colon - p > kSafeDigits) {
            const char* const fault = index_fault(p, colon);
            if (fault != nullptr) return fail(fault, p);
        }
        const char* const after = read_value(colon + 1, value);
        return after != nullptr ? after : fail("value", colon + 1);
    }

    // Reads a number that ends with its word and that a row may hold; returns its end, or null.
    template <class Number>
    const char* read_value(const char* p, Number& value) const noexcept {
        double number = 0.0;
        p = read_number(p, end_, number);
        if (p == nullptr || !ends_word(p) || !acceptable(number)) return nullptr;
        value = static_cast<Number>(number);
        return std::isfinite(value) ? p : nullptr;
    }

    // qid:n groups examples for ranking; it is read and ignored.
    const char* read_query(const char* p) {
        std::uint64_t number = 0;
        if (!is_query(p, end_)) return fail("feature", p);
        const char* const after = read_digits(p + 4, end_, number);
        if (after == p + 4 || !ends_word(after)) return fail("query", p);
        return skip_blanks(after);
    }

    // The number of digits that `read_digits` reads exactly.
    static constexpr std::int64_t kSafeDigits = 19;

    // The error of an index that is too large as it stands, if it is one: zeros may lead.
    const char* index_fault(const char* p, const char* colon) noexcept {
        while (*p == '0') ++p;
        if (p == colon && first_index_ > 0) return "base";
        std::uint64_t index = 0;
        read_digits(p, end_, index);
        if (colon - p <= kSafeDigits && index - first_index_ < max_features_) return nullptr;
        parsed_.beyond = true;
        return "index";
    }

    const char* bad_label(const char* p) {
        return fail(std::find(p, skip_word(p), ',') == skip_word(p) ? "label" : "labels", p);
    }

    static bool is_query(const char* p, const char* end) noexcept {
        return end - p > 4 && std::memcmp(p, "qid:", 4) == 0;
    }

    const char* fail(const char* fault, const char* at) {
        add_fault(fault, at, skip_word(at));
        return nullptr;
    }

    static const char* nth_word(const char* p, std::int64_t n) noexcept {
        for (; n > 0; --n) p = skip_blanks(skip_word(p));
        return p;
    }

    const char* next_line(const char* p) const noexcept {
        if (*p == '\n') return p + 1;
        return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p))) + 1;
    }

    Examples<Value, Index>& out_;
    std::uint64_t first_index_;
    std::uint64_t max_features_;
    const char* begin_ = nullptr;
    std::size_t short_size_ = 0;  // the number of positions at which `read_short` may read
};

}  // namespace scwlearn
