// Parser of Vowpal Wabbit text, one example per line: [label [weight]] ['tag]|[namespace[:scale]] name[:value] ... |...
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scan.hpp"
#include "parse/lines.hpp"
#include "parse/number.hpp"
#include "parse/utf8.hpp"
#include "records/labels.hpp"
#include "records/row_builder.hpp"

namespace scwlearn {

// What the labels of a text are.
enum class VwLabels { none, numbers, words };

struct VwForm : LineForm {
    // Labels of another kind are an error; with `none`, what precedes the bar is ignored, except the tag.
    VwLabels labels = VwLabels::numbers;
};

// Words and tags are views of the text.
struct VwParsed : ParsedLines {
    std::vector<double> labels;             // NaN if it is a word or missing
    std::vector<std::int32_t> label_words;  // number of the word, or -1
    std::vector<double> weights;
    std::vector<std::string_view> tags;
    std::vector<std::int64_t> places;  // the line of each row, counted from 1
    NameTable words;                   // labels
    std::int64_t unlabelled = 0;       // lines that were left out because they have no label
    bool weighted = false;
    bool tagged = false;

    std::size_t rows() const noexcept { return labels.size(); }
};

// A namespace is a key of the records: the spec may ignore it, or cross its features, which are called namespace^name. If the
// whole name is that of a feature of another key, as a table has it, the feature belongs to that key.
class VwParser : LineParser<VwForm, VwParsed> {
public:
    // The spec must outlive the parser.
    VwParser(VwForm form, const FeatureSpec& spec) : LineParser(std::move(form)), spec_(spec), builder_(spec) {
        const auto has_caret = [](std::string_view name) { return name.find('^') != std::string_view::npos; };
        declares_ = !spec.kinds.empty() || !spec.groups.empty() || spec.others == Kind::ignore;
        declares_in_spaces_ = std::any_of(spec.groups.begin(), spec.groups.end(), has_caret) ||
                              std::any_of(spec.kinds.begin(), spec.kinds.end(), [&](const auto& each) { return has_caret(each.first); });
    }

    // Parses whole lines, of less than 2^31 bytes in all, up to the first error unless errors are skipped. Allocates
    // only to grow vectors. The rows are those of the builder.
    VwParsed parse(std::string_view lines) {
        parsed_ = VwParsed();
        end_ = lines.data() + lines.size();
        is_clean_ = std::all_of(lines.begin(), lines.end(),
                                [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; });
        parsed_.used = lines.size();
        for (const char* p = lines.data(); p != end_;) {
            begin_line(p);
            if (!read_line() && !form_.skip_faults) break;
            p = next_;
            if (form_.in_parts && builder_.is_full()) {
                parsed_.used = static_cast<std::size_t>(p - lines.data());
                break;
            }
        }
        return std::move(parsed_);
    }

    RowBuilder& builder() noexcept { return builder_; }

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
        return is_one_of(word, {"nan", "inf", "infinity"});
    }

    // Returns false after an error.
    bool read_line() {
        Head head;
        if (!read_head(head)) return fail("bar", skip_blanks(line_));
        if (head.bar == nullptr) return true;
        double label = std::numeric_limits<double>::quiet_NaN();
        double weight = 1.0;
        std::int32_t word = -1;
        if (head.count == 0 && !form_.labels_optional) {
            if (head.glued) return fail("glued", head.tag.data());
            ++parsed_.unlabelled;
            return true;
        }
        if (form_.labels == VwLabels::none) head.count = 0;
        if (head.count > 0 && !read_label(head.words[0], label, word)) return false;
        if (head.count > 2) return fail("base", head.words[2].data());
        if (head.count > 1 && !read_weight(head.words[1], weight)) return false;
        if (!is_name(head.tag)) return fail("name", head.tag.data());
        builder_.begin_row();
        if (!read_features(head.bar)) return false;
        if (!builder_.end_row()) return fail(builder_.fault().fault, head.bar);
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
            names_.clear();
            for (p = skip_blanks(p); p != stop_ && *p != '|'; p = skip_blanks(p)) {
                p = read_feature(p);
                if (p == nullptr) return false;
            }
            if (spec_.text.ngram > 1 && !builder_.add_named_grams(*key_, key_->words, names_))
                return fail(builder_.fault().fault, p);
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
        if (!is_name(name)) return fault("name", p);
        if (utf8_count(name) > kLongestKey) return fault("prefix", p);
        key_ = &key_of(name);
        looks_at_names_ = name.empty() ? declares_ : declares_in_spaces_;
        return after;
    }

    // Returns the key of a namespace, with the space of its features.
    RowBuilder::Key& key_of(std::string_view name) {
        RowBuilder::Key& key = builder_.key(name);
        if (key.words == 0 && !name.empty()) key.words = builder_.prefix(start_.assign(name).append("^"));
        return key;
    }

    const char* read_feature(const char* p) {
        const char* after = skip_name(p);
        const std::string_view name = view(p, after);
        if (name.empty()) return fault("feature", p);
        if (!is_name(name)) return fault("name", p);
        double value = 1.0;
        const char* number = p;
        const bool numeric = after != stop_ && *after == ':';
        if (numeric) {
            number = after + 1;
            after = read_value(number, value);
            if (after == nullptr) return fault("value", number);
        }
        value *= scale_;
        if (!acceptable(value)) return fault("value", number);
        const Use use = looks_at_names_ ? use_of(name, numeric) : Use{key_->kind, key_->groups, numeric};
        if (use.kind == Kind::ignore) return after;
        if (!add(name, value, use)) return fault(builder_.fault().fault, p);
        if (use.joins && spec_.text.ngram > 1) names_.push_back(name);
        return after;
    }

    // What the spec says about a feature: what it says about the namespace, unless it concerns the name.
    struct Use {
        Kind kind;
        std::uint64_t groups;
        bool numeric;
        bool joins = true;  // whether it is part of the n-grams of its namespace
    };

    Use use_of(std::string_view name, bool numeric) {
        const std::string_view whole = key_->name.empty() ? name : start_.assign(key_->name).append("^").append(name);
        const std::optional<Owner> owner = spec_.kinds.owner_of(whole);
        Use use{key_->kind, builder_.groups_of(whole, owner), numeric};
        if (!owner) return use;
        use.kind = spec_.kind_of(owner);
        if (owner->mark == '^') return use;
        use.joins = false;
        // As in a record, whose words have no value.
        if (use.kind == Kind::numeric || use.kind == Kind::date) use.numeric = !owner->has_word();
        return use;
    }

    bool add(std::string_view name, double value, const Use& use) {
        const std::size_t caret = key_->name.empty() ? name.find('^') : std::string_view::npos;
        if (caret == std::string_view::npos || caret == 0)
            return builder_.add_named(*key_, use.groups, key_->words, name, value, use.numeric);
        // A name with a caret outside a namespace is the same as in the namespace that it begins with.
        const RowBuilder::Key& key = key_of(name.substr(0, caret));
        return builder_.add_named(key, use.groups, key.words, name.substr(caret + 1), value, use.numeric);
    }

    // Names without control characters in a clean text need no other check.
    bool is_name(std::string_view name) const noexcept { return is_clean_ || is_text(name); }

    // Reads a number that ends with its word; returns its end, or null.
    const char* read_value(const char* p, double& value) const noexcept {
        const char* const after = read_number(p, end_, value);
        const bool ends = after != nullptr && (after == stop_ || is_blank(*after) || *after == '|');
        return ends && acceptable(value) ? after : nullptr;
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
    const FeatureSpec& spec_;
    RowBuilder builder_;
    RowBuilder::Key* key_ = nullptr;  // the namespace
    bool looks_at_names_ = false;     // whether the spec may concern some of its names
    // Whether the spec may concern names outside of namespaces, and within them.
    bool declares_ = false, declares_in_spaces_ = false;
    double scale_ = 1.0;
    bool is_clean_ = false;                // ASCII without control characters
    std::vector<std::string_view> names_;  // of the features of the namespace, for n-grams
    std::string start_;
};

}  // namespace scwlearn
