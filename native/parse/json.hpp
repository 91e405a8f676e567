// Parser of records in JSON, as strict as RFC 8259: an object per line, or an array of objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scan.hpp"
#include "parse/json_text.hpp"
#include "parse/number.hpp"
#include "records/table_parser.hpp"

namespace scwlearn {

// Upper bound on how deep lists and objects are nested, where they are ignored.
inline constexpr int kDeepestIgnored = 500;

// What a text is: lines with an object each; or a piece of an array that `JsonElements` has cut behind an element.
enum class JsonPart { lines, array_start, array_rest, array_end };

struct JsonForm : TableForm {
    bool numbers_as_words = false;  // whether a label that is a number is its text
    JsonPart part = JsonPart::lines;
    bool is_last = true;  // whether the array must end
};

using TextPlace = std::pair<std::int64_t, std::int64_t>;  // line and column, counted from 1

// Records are lines, or the elements of an array. Where an array breaks off is the last fault, and is always described.
struct JsonParsed {
    ParsedTable table;
    std::vector<TextPlace> fault_places;  // of the faults that are described
};

class JsonParser : JsonText, TableParser<JsonForm> {
public:
    JsonParser(JsonForm form, RowBuilder& builder) : TableParser(form, builder) {
        for (const auto& [name, kind] : builder.spec().kinds) {
            if (kind == Kind::label) set_label_key(builder.key(name));
            if (kind == Kind::weight) set_weight_key(builder.key(name));
        }
    }

    // Parses a text that ends with a newline, up to the first error unless errors are skipped. Allocates only to grow
    // vectors.
    JsonParsed parse(std::string_view text) {
        begin_ = text.data();
        end_ = begin_ + text.size();
        parsed_.used = text.size();
        if (!text.empty()) form_.part == JsonPart::lines ? parse_lines() : parse_array();
        return {std::move(parsed_), std::move(fault_places_)};
    }

private:
    struct Node;

    // A key of the objects in one place. Each guesses the key behind it: most records have the same keys in the same order.
    struct Child {
        std::string_view text;
        bool plain = false;  // whether it is written as it is
        Key* key = nullptr;
        Node* node = nullptr;     // of its objects
        Node* ignored = nullptr;  // of its values, if they are ignored
        Child* next = nullptr;    // what followed it last
        std::uint64_t seen = 0;   // the object that had it last
    };

    // A place of objects: the record itself, or the value of a key.
    struct Node {
        std::uint32_t number = 0;
        bool ignored = false;
        const Key* key = nullptr;
        Child* first = nullptr;  // what came first last
        Node* items = nullptr;   // of the lists in the same place
    };

    void parse_lines() {
        for (const char* p = begin_; p != end_; p = stop_ + 1) {
            ++parsed_.lines;
            line_ = p;
            stop_ = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p)));
            p = skip(p);
            if (p == stop_) continue;
            p = read_record(p);
            if (p != nullptr && skip(p) != stop_) p = fault("extra", skip(p));
            if (!(p != nullptr && end_record(parsed_.lines)) && !add_fault()) return;
            if (fills_a_part(stop_ + 1)) return;
        }
    }

    // Whether the rows fill a batch; then the next one begins at p.
    bool fills_a_part(const char* p) noexcept {
        const bool is_full = form_.in_parts && builder_.is_full();
        if (is_full) parsed_.used = static_cast<std::size_t>(p - begin_);
        return is_full;
    }

    void parse_array() {
        stop_ = end_ - 1;
        line_ = begin_;
        const char* p = skip(begin_);
        bool is_first = form_.part == JsonPart::array_start;
        if (is_first && *p != '[') return break_off("array", p);
        if (is_first) p = skip(p + 1);
        while (form_.part != JsonPart::array_end && *p != ']') {
            if (!is_first) {
                if (p == stop_ && !form_.is_last) return;
                if (*p != ',') return break_off(p == stop_ ? "bracket" : "between", p);
                p = skip(p + 1);
                if (*p == ']') return break_off("trailing", p);
            }
            is_first = false;
            if (p == stop_ && form_.is_last) return break_off("bracket", p);
            ++parsed_.lines;
            const char* after = read_record(p);
            if (!(after != nullptr && end_record(parsed_.lines))) {
                if (!add_fault()) return;
                after = JsonElements::end_of(p, stop_);
            }
            p = skip(after);
            if (fills_a_part(p)) return;
        }
        if (form_.part != JsonPart::array_end) p = skip(p + 1);
        if (p != stop_) break_off("behind", p);
    }

    const char* read_record(const char* p) {
        begin_record();
        fault_ = nullptr;
        at_ = p;
        if (*p != '{') return fault("object", p);
        return read_object(p, root_, 1);
    }

    const char* read_object(const char* p, Node& node, int depth) {
        const std::uint64_t serial = ++serial_;
        p = skip(p + 1);
        if (*p == '}') return p + 1;
        for (Child** guess = &node.first;;) {
            if (*p != '"') return fault("key", p);
            const char* const key_at = p;
            Child* child = *guess;
            if (child != nullptr && is_at(*child, p)) {
                p += child->text.size() + 2;
            } else {
                p = read_key(p, node, child);
                if (p == nullptr) return nullptr;
                *guess = child;
            }
            if (child->seen == serial) {
                repeated_ = child->text;
                return fault("repeat", key_at);
            }
            child->seen = serial;
            guess = &child->next;
            p = skip(p);
            if (*p != ':') return fault("colon", p);
            p = skip(p + 1);
            p = node.ignored ? skip_value(p, child->ignored, depth) : read_value(p, node, *child, depth);
            if (p == nullptr) return nullptr;
            p = skip(p);
            if (*p == '}') return p + 1;
            if (*p != ',') return fault("comma", p);
            p = skip(p + 1);
        }
    }

    // Whether the key is written at p, in quotes.
    bool is_at(const Child& child, const char* p) const noexcept {
        const std::size_t size = child.text.size();
        return child.plain && static_cast<std::size_t>(stop_ - p) > size + 1 && p[size + 1] == '"' &&
               view(p + 1, p + 1 + size) == child.text;
    }

    const char* read_key(const char* p, const Node& node, Child*& child) {
        std::string_view text;
        p = read_string(p, key_text_, text);
        if (p == nullptr) return nullptr;
        const std::uint32_t number = child_names_.number(text, node.number, arena_);
        if (number == children_.size()) {
            const auto is_special = [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); };
            Child& made = children_.emplace_back();
            made.text = child_names_[number].text;
            made.plain = std::none_of(text.begin(), text.end(), is_special);
        }
        child = &children_[number];
        return p;
    }

    Key& key_of(const Node& node, Child& child) {
        if (child.key == nullptr) {
            name_.clear();
            if (node.key != nullptr) name_.assign(node.key->name).append(builder_.spec().separator);
            child.key = &builder_.key(name_.append(child.text));
        }
        return *child.key;
    }

    Node& node_at(Node*& place, const Key* key) {
        if (place == nullptr) {
            place = &nodes_.emplace_back();
            *place = {static_cast<std::uint32_t>(nodes_.size()), key == nullptr, key};
        }
        return *place;
    }

    const char* read_value(const char* p, const Node& node, Child& child, int depth) {
        if (*p == 'n') return read_literal(p, "null");
        Key& key = key_of(node, child);
        if (key.kind == Kind::ignore && (*p != '{' || RowBuilder::skips_object(key)))
            return skip_value(p, child.ignored, depth);
        switch (*p) {
            case '"': {
                std::string_view text;
                const char* const after = read_string(p, value_text_, text);
                return after == nullptr || add_string(key, text) ? after : fault(nullptr, p);
            }
            case '{':
                if (!builder_.may_nest(key, depth)) return fault(nullptr, p);
                return read_object(p, node_at(child.node, &key), depth + 1);
            case '[': return read_list(p, key);
            case 't':
            case 'f': {
                const char* const after = read_literal(p, *p == 't' ? "true" : "false");
                return after == nullptr || add_bool(key, *p == 't', view(p, after)) ? after : fault(nullptr, p);
            }
            default: {
                double value = 0.0;
                const char* const after = read_json_number(p, value);
                return after == nullptr || add_number(key, value, view(p, after)) ? after : fault(nullptr, p);
            }
        }
    }

    const char* read_json_number(const char* p, double& value) noexcept {
        const char* const after = read_number<true>(p, end_, value);
        if (after != nullptr) [[likely]] return after;
        const auto starts = [this, p](std::string_view word) { return view(p, stop_).starts_with(word); };
        if (starts("NaN") && builder_.spec().nan_is_missing) {
            value = std::numeric_limits<double>::quiet_NaN();
            return p + 3;
        }
        if (starts("NaN") || starts("Infinity") || starts("-Infinity")) return fault("constant", p);
        return fault(is_digit(*p) || *p == '-' ? "number" : "value", p);
    }

    bool add_number(Key& key, double value, std::string_view text) {
        const auto is_integer = [text] { return text.find_first_of(".eE") == std::string_view::npos; };
        // An integer is exactly its text.
        const auto exact = [&] { return is_integer() && value != 0.0 ? std::string(text) : text_of(value); };
        if (key.kind < Kind::label) [[likely]] return builder_.add_integer(key, value, exact);
        if (key.kind == Kind::weight) return set_weight(key, value, text);
        if (std::isnan(value) || builder_.is_marked_missing(value)) return true;
        if (form_.numbers_as_words && acceptable(value)) return add_word_label(key, exact());
        // From 2^53 on, other integers have the same value.
        const bool is_exact = std::abs(value) < 0x1p53 || !acceptable(value) || !is_integer();
        if (!is_exact) return builder_.fail("label integer", key, text);
        return may_add_label(key, text) && added(parsed_.labels.add_number(value), key, text);
    }

    bool add_bool(Key& key, bool value, std::string_view text) {
        if (key.kind < Kind::label) return builder_.add_bool(key, value);
        if (key.kind == Kind::weight) return add_number(key, value ? 1.0 : 0.0, text);
        if (form_.numbers_as_words) return add_word_label(key, text);
        return may_add_label(key, text) && added(parsed_.labels.add_bool(value), key, text);
    }

    bool add_string(Key& key, std::string_view text) {
        if (key.kind < Kind::label) [[likely]] return builder_.add_string(key, text);
        if (key.kind == Kind::weight) return builder_.fail("weight", key, text);
        return text.empty() || builder_.is_marked_missing(text) || add_word_label(key, text);
    }

    bool add_word_label(const Key& key, std::string_view word) {
        return may_add_label(key, word) && added(parsed_.labels.add_word(word), key, word);
    }

    // Two ways to write a nested key give it two values.
    bool may_add_label(const Key& key, std::string_view found) {
        return !has_label() || builder_.fail("label twice", key, found);
    }

    // Reads a list of strings; null is no string and left out.
    const char* read_list(const char* p, Key& key) {
        const char* const begin = p;
        words_.clear();
        std::size_t decoded = 0;
        p = skip(p + 1);
        for (bool is_first = true; *p != ']'; is_first = false) {
            if (!is_first) {
                if (*p != ',') return fault("list comma", p);
                p = skip(p + 1);
            }
            if (*p == '"') {
                if (decoded == texts_.size()) texts_.emplace_back();
                std::string_view word;
                p = read_string(p, texts_[decoded], word);
                if (p == nullptr) return nullptr;
                decoded += word.data() == texts_[decoded].data();
                words_.push_back(word);
            } else if (*p == 'n') {
                p = read_literal(p, "null");
                if (p == nullptr) return nullptr;
            } else {
                const char* const after = skip_value(p, odd_items_, 1);
                if (after == nullptr) return nullptr;
                builder_.fail("list", key, view(p, after));
                return fault(nullptr, p);
            }
            p = skip(p);
        }
        const bool is_feature = key.kind < Kind::label;
        const char* const role = key.kind == Kind::label ? "label list" : "weight";
        const bool good = is_feature ? builder_.add_list(key, words_) : builder_.fail(role, key, view(begin, p + 1));
        return good ? p + 1 : fault(nullptr, begin);
    }

    // Reads a value that is ignored; `place` keeps the keys of its objects.
    const char* skip_value(const char* p, Node*& place, int depth) {
        double value = 0.0;
        std::string_view text;
        switch (*p) {
            case '"': return read_string(p, value_text_, text);
            case 'n': return read_literal(p, "null");
            case 't': return read_literal(p, "true");
            case 'f': return read_literal(p, "false");
            case '{':
            case '[': break;
            default: return read_json_number(p, value);
        }
        if (depth >= kDeepestIgnored) return fault("deep", p);
        Node& node = node_at(place, nullptr);
        if (*p == '{') return read_object(p, node, depth + 1);
        p = skip(p + 1);
        for (bool is_first = true; *p != ']'; is_first = false) {
            if (!is_first) {
                if (*p != ',') return fault("list comma", p);
                p = skip(p + 1);
            }
            p = skip_value(p, node.items, depth + 1);
            if (p == nullptr) return nullptr;
            p = skip(p);
        }
        return p + 1;
    }

    // Leaves out the record because of an error; returns whether to continue.
    bool add_fault() {
        if (parsed_.found.size() < form_.most_found) fault_places_.push_back(place());
        if (fault_ == nullptr) return TableParser::add_fault(builder_.fault(), parsed_.lines);
        constexpr std::ptrdiff_t kShown = 100;  // enough for a message
        std::string_view found = view(at_, at_ + std::min(kShown, stop_ - at_));
        if (fault_ == std::string_view("repeat")) found = repeated_.substr(0, kShown);
        return TableParser::add_fault({fault_, {}, std::string(found)}, parsed_.lines);
    }

    // Reports that the rest of an array cannot be read.
    void break_off(const char* name, const char* at) {
        begin_record();
        fault(name, at);
        form_.most_found = parsed_.found.size() + 1;
        add_fault();
    }

    // Where the fault is.
    TextPlace place() const noexcept {
        const std::int64_t line = form_.part == JsonPart::lines ? parsed_.lines : 1 + std::count(begin_, at_, '\n');
        const std::size_t newline = view(line_, at_).rfind('\n');
        const char* const begin = newline == std::string_view::npos ? line_ : line_ + newline + 1;
        return {line, utf8_count(view(begin, at_)) + 1};
    }

    std::vector<TextPlace> fault_places_;
    const char* begin_ = nullptr;  // of the text
    const char* line_ = nullptr;   // start of the current line, or of an array
    std::uint64_t serial_ = 0;  // of the current object
    Node root_;
    Node* odd_items_ = nullptr;
    std::deque<Node> nodes_;
    std::deque<Child> children_;
    NameTable child_names_;  // each with the number of its node
    Arena arena_;
    std::string_view repeated_;
    std::vector<std::string_view> words_;
    std::deque<std::string> texts_;  // of words with escapes
    std::string key_text_, value_text_, name_;
};

}  // namespace scwlearn
