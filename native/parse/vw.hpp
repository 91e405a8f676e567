// Parser of Vowpal Wabbit text, one example per line: [label [weight]] ['tag]|[namespace[:scale]] name[:value] ... |...
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scan.hpp"
#include "parse/lines.hpp"
#include "parse/name_table.hpp"
#include "parse/number.hpp"
#include "parse/utf8.hpp"
#include "records/labels.hpp"

namespace scwlearn {

// Upper bound on the characters of a namespace, whose name is repeated with each of its features.
inline constexpr std::int64_t kLongestPrefix = 256;

// What the labels of a text are.
enum class VwLabels { none, numbers, words };

struct VwForm : LineForm {
    // Labels of another kind are an error.
    VwLabels labels = VwLabels::numbers;
    // Namespaces whose features are ignored.
    std::vector<std::string_view> ignored = {};
};

// All names are views of the text.
struct VwParsed : ParsedLines {
    std::vector<double> labels;             // NaN if it is a word or missing
    std::vector<std::int32_t> label_words;  // number of the word, or -1
    std::vector<double> weights;
    std::vector<std::string_view> tags;
    std::vector<std::int64_t> places;  // the line of each row, counted from 1
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> offsets = {0};
    NameTable spaces;
    NameTable names;  // of columns, each with the number of its namespace
    NameTable words;  // labels
    bool weighted = false;
    bool tagged = false;

    std::size_t rows() const noexcept { return labels.size(); }
};

class VwParser : LineParser<VwForm, VwParsed> {
public:
    explicit VwParser(VwForm form) : LineParser(std::move(form)) {}

    // Parses whole lines, of less than 2^31 bytes in all, up to the first error unless errors are skipped. Allocates
    // only to grow vectors.
    VwParsed parse(std::string_view lines) {
        parsed_ = VwParsed();
        end_ = lines.data() + lines.size();
        for (const char* p = lines.data(); p != end_;) {
            begin_line(p);
            const std::size_t names = parsed_.names.size();
            if (!read_line()) {
                parsed_.names.shrink(names);
                parsed_.values.resize(static_cast<std::size_t>(parsed_.offsets.back()));
                parsed_.columns.resize(parsed_.values.size());
                if (!form_.skip_faults) break;
            }
            p = next_;
        }
        return std::move(parsed_);
    }

    // Returns the kind of the first valid label.
    VwLabels kind_of_labels(std::string_view lines) {
        end_ = lines.data() + lines.size();
        for (const char* p = lines.data(); p != end_; p = next_) {
            begin_line(p);
            Head head;
            if (!read_head(head) || head.count == 0) continue;
            double number = 0.0;
            const VwLabels kind = label_kind(head.words[0], number);
            if (kind != VwLabels::none) return kind;
        }
        return VwLabels::none;
    }

private:
    // The part of a line before the first bar.
    struct Head {
        std::array<std::string_view, 3> words;  // the first words that are not the tag
        std::size_t count = 0;                  // number of such words
        std::string_view tag = {};
        const char* bar = nullptr;  // null for a blank line
        bool glued = false;         // whether the tag touches the bar
    };

    static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

    void begin_line(const char* p) {
        ++parsed_.lines;
        line_ = p;
        next_ = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p))) + 1;
        stop_ = next_ - 1;
        if (stop_ != p && stop_[-1] == '\r') --stop_;
    }

    const char* skip_blanks(const char* p) const noexcept {
        while (p != stop_ && is_blank(*p)) ++p;
        return p;
    }

    const char* skip_word(const char* p) const noexcept {
        while (p != stop_ && !is_blank(*p) && *p != '|') ++p;
        return p;
    }

    // Stops at a blank, a bar, a colon or the end of the line.
    const char* skip_name(const char* p) const noexcept {
        static constexpr auto kEnds = [] {
            std::array<bool, 256> ends{};
            for (const unsigned char c : {' ', '\t', '|', ':', '\n'}) ends[c] = true;
            return ends;
        }();
        while (!kEnds[static_cast<unsigned char>(*p)]) ++p;
        return std::min(p, stop_);
    }

    // Returns whether the line has a bar or is blank.
    bool read_head(Head& head) const noexcept {
        const char* p = skip_blanks(line_);
        if (p == stop_) return true;
        head.bar = static_cast<const char*>(std::memchr(p, '|', static_cast<std::size_t>(stop_ - p)));
        if (head.bar == nullptr) return false;
        std::string_view last;
        while (p != head.bar) {
            const char* const after = skip_word(p);
            last = view(p, after);
            if (head.count < head.words.size()) head.words[head.count] = last;
            ++head.count;
            head.glued = after == head.bar;
            p = skip_blanks(after);
        }
        if (head.glued || last.starts_with('\'')) {
            --head.count;
            head.tag = last.substr(last.starts_with('\'') ? 1 : 0);
        }
        return true;
    }

    VwLabels label_kind(std::string_view word, double& number) const noexcept {
        const char* const after = read_number(word.data(), end_, number);
        if (after == word.data() + word.size()) return acceptable(number) ? VwLabels::numbers : VwLabels::none;
        const bool several = word.find_first_of(":,") != std::string_view::npos;
        return several || is_no_number(word) || !is_text(word) ? VwLabels::none : VwLabels::words;
    }

    // Words for numbers that a label may not be.
    static bool is_no_number(std::string_view word) noexcept {
        if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
        const auto is = [word](std::string_view name) {
            return std::equal(word.begin(), word.end(), name.begin(), name.end(),
                              [](char c, char lower) { return (c | 0x20) == lower; });
        };
        return is("nan") || is("inf") || is("infinity");
    }

    // Returns false after an error.
    bool read_line() {
        Head head;
        if (!read_head(head)) return fail("bar", skip_blanks(line_));
        if (head.bar == nullptr) return true;
        double label = std::numeric_limits<double>::quiet_NaN();
        double weight = 1.0;
        std::int32_t word = -1;
        if (head.count == 0 && !form_.labels_optional)
            return head.glued ? fail("glued", head.tag.data()) : fail("label", head.bar);
        if (head.count > 0 && !read_label(head.words[0], label, word)) return false;
        if (head.count > 2) return fail("base", head.words[2].data());
        if (head.count > 1 && !read_weight(head.words[1], weight)) return false;
        if (!is_text(head.tag)) return fail("name", head.tag.data());
        if (!read_features(head.bar) || !end_row(head.bar)) return false;
        parsed_.labels.push_back(label);
        parsed_.label_words.push_back(word);
        parsed_.weights.push_back(weight);
        parsed_.tags.push_back(head.tag);
        parsed_.places.push_back(parsed_.lines);
        parsed_.weighted |= head.count > 1;
        parsed_.tagged |= !head.tag.empty();
        return true;
    }

    bool read_label(std::string_view text, double& label, std::int32_t& word) {
        double number = 0.0;
        const VwLabels kind = label_kind(text, number);
        if (kind == VwLabels::none) {
            const bool several = text.find_first_of(":,") != std::string_view::npos;
            return fail(several ? "labels" : "label", text.data());
        }
        if (kind != form_.labels) return fail("mixed", text.data());
        if (kind == VwLabels::words && utf8_count(text) > kLongestLabel) return fail("length", text.data());
        if (kind == VwLabels::numbers)
            label = number;
        else
            word = static_cast<std::int32_t>(parsed_.words.number(text, 0));
        return true;
    }

    bool read_weight(std::string_view text, double& weight) {
        const char* const after = read_number(text.data(), end_, weight);
        const bool usual = weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight);
        return (after == text.data() + text.size() && usual) || fail("weight", text.data());
    }

    bool read_features(const char* p) {
        while (p != stop_) {
            p = read_space(p + 1);
            if (p == nullptr) return false;
            for (p = skip_blanks(p); p != stop_ && *p != '|'; p = skip_blanks(p)) {
                p = read_feature(p);
                if (p == nullptr) return false;
            }
        }
        return true;
    }

    // Reads a namespace, right behind its bar.
    const char* read_space(const char* p) {
        const char* after = skip_name(p);
        const std::string_view name = view(p, after);
        scale_ = 1.0;
        if (after != stop_ && *after == ':') {
            if (name.empty()) return fault("space", p);
            const char* const number = after + 1;
            after = read_value(number, scale_);
            if (after == nullptr) return fault("scale", number);
        }
        // The caret joins namespace and feature names; without it in either, two pairs never give the same name.
        if (name.find('^') != std::string_view::npos) return fault("space", p);
        if (!is_text(name)) return fault("name", p);
        if (utf8_count(name) > kLongestPrefix) return fault("prefix", p);
        space_ = parsed_.spaces.number(name, 0);
        unnamed_ = name.empty();
        ignored_ = std::find(form_.ignored.begin(), form_.ignored.end(), name) != form_.ignored.end();
        return after;
    }

    const char* read_feature(const char* p) {
        const char* after = skip_name(p);
        const std::string_view name = view(p, after);
        if (name.empty()) return fault("feature", p);
        double value = 1.0;
        const char* number = p;
        if (after != stop_ && *after == ':') {
            number = after + 1;
            after = read_value(number, value);
            if (after == nullptr) return fault("value", number);
        }
        value *= scale_;
        if (!acceptable(value)) return fault("value", number);
        if (ignored_) return is_text(name) ? after : fault("name", p);
        const std::size_t before = parsed_.names.size();
        const std::uint32_t column = column_of(name);
        if (parsed_.names.size() > before && !is_text(name)) return fault("name", p);
        parsed_.columns.push_back(static_cast<std::int32_t>(column));
        parsed_.values.push_back(value);
        return after;
    }

    std::uint32_t column_of(std::string_view name) {
        const std::size_t caret = unnamed_ ? name.find('^') : std::string_view::npos;
        if (caret == std::string_view::npos || caret == 0) return parsed_.names.number(name, space_);
        // A name with a caret outside a namespace is the same as in the namespace that it begins with.
        const std::uint32_t space = parsed_.spaces.number(name.substr(0, caret), 0);
        return parsed_.names.number(name.substr(caret + 1), space);
    }

    // Reads a number that ends with its word; returns its end, or null.
    const char* read_value(const char* p, double& value) const noexcept {
        const char* const after = read_number(p, end_, value);
        const bool ends = after != nullptr && (after == stop_ || is_blank(*after) || *after == '|');
        return ends && acceptable(value) ? after : nullptr;
    }

    // Sorts the features of the row, and adds up repeated ones.
    bool end_row(const char* bar) {
        const auto begin = static_cast<std::size_t>(parsed_.offsets.back());
        std::int32_t* const columns = parsed_.columns.data() + begin;
        double* const values = parsed_.values.data() + begin;
        const std::size_t count = parsed_.values.size() - begin;
        if (std::adjacent_find(columns, columns + count, std::greater_equal<>()) != columns + count) {
            order_.resize(count);
            for (std::size_t j = 0; j < count; ++j) order_[j] = static_cast<std::uint64_t>(columns[j]) << 32 | j;
            std::sort(order_.begin(), order_.end());
            unsorted_.assign(values, values + count);
            std::size_t kept = 0;
            for (const std::uint64_t key : order_) {
                const auto column = static_cast<std::int32_t>(key >> 32);
                const double value = unsorted_[key & 0xffffffff];
                if (kept > 0 && columns[kept - 1] == column) {
                    values[kept - 1] += value;
                    if (!acceptable(values[kept - 1])) return fail("sum", bar);
                } else {
                    columns[kept] = column;
                    values[kept++] = value;
                }
            }
            parsed_.columns.resize(begin + kept);
            parsed_.values.resize(begin + kept);
        }
        parsed_.offsets.push_back(static_cast<std::int32_t>(parsed_.values.size()));
        return true;
    }

    bool fail(const char* fault, const char* at) {
        // A bar is not part of a word; it is reported where it stands.
        add_fault(fault, at, at != stop_ && *at == '|' ? at + 1 : skip_word(at));
        return false;
    }

    const char* fault(const char* fault, const char* at) {
        fail(fault, at);
        return nullptr;
    }

    const char* stop_ = nullptr;  // end of the line
    const char* next_ = nullptr;  // start of the next line
    double scale_ = 1.0;
    std::uint32_t space_ = 0;
    bool unnamed_ = true;
    bool ignored_ = false;
    std::vector<std::uint64_t> order_;
    std::vector<double> unsorted_;
};

}  // namespace scwlearn
