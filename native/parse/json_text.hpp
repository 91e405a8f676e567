// What the text of JSON is made of: white space, strings, and the elements of an array.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "parse/utf8.hpp"

namespace scwlearn {

inline bool is_json_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Reads the parts of a text that ends with a newline. What starts with `read_` returns the end of what it reads, or null
// after a fault, whose name and place it leaves behind.
class JsonText {
protected:
    static std::string_view view(const char* begin, const char* end) noexcept {
        return {begin, static_cast<std::size_t>(end - begin)};
    }
    static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    // Skips white space up to the newline at `stop_`.
    const char* skip(const char* p) const noexcept {
        if (*p > ' ') [[likely]] return p;
        if (*p == ' ' && p[1] > ' ') [[likely]] return p + 1;
        while (p != stop_ && is_json_space(*p)) ++p;
        return p;
    }

    const char* read_literal(const char* p, std::string_view literal) noexcept {
        const bool same = static_cast<std::size_t>(stop_ - p) >= literal.size() && view(p, p + literal.size()) == literal;
        return same ? p + literal.size() : fault("value", p);
    }

    // Reads a string at its opening quote. The text is a view of the source, or of the buffer if it has escapes.
    const char* read_string(const char* p, std::string& buffer, std::string_view& text) {
        const char* const begin = p + 1;
        const char* q = skip_plain(begin);
        while (is_wide(*q)) {
            q = read_wide(q);
            if (q == nullptr) return nullptr;
            q = skip_plain(q);
        }
        if (*q == '"') {
            text = view(begin, q);
            return q + 1;
        }
        buffer.assign(begin, q);
        while (*q != '"') {
            const char* const from = q;
            if (*q == '\\') {
                q = read_escape(q, buffer);
            } else if (is_wide(*q)) {
                q = read_wide(q);
            } else if (*q == '\n' || (*q == '\r' && q[1] == '\n')) {
                return fault("string", p);
            } else {
                return fault("control", q);
            }
            if (q == nullptr) return nullptr;
            const char* const after = skip_plain(q);
            buffer.append(*from == '\\' ? q : from, after);
            q = after;
        }
        text = buffer;
        return q + 1;
    }

    // Reports a fault; returns null.
    const char* fault(const char* name, const char* at) noexcept {
        fault_ = name;
        at_ = at;
        return nullptr;
    }

    const char* stop_ = nullptr;  // the newline that ends a line, or the text of an array
    const char* end_ = nullptr;   // end of the text
    const char* fault_ = nullptr;
    const char* at_ = nullptr;  // where the fault is

private:
    static bool is_wide(char c) noexcept { return static_cast<unsigned char>(c) >= 0x80; }

    // Skips the characters that a string holds as they are: ASCII but control characters, the quote and the backslash.
    const char* skip_plain(const char* p) const noexcept {
        constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
        while (end_ - p >= 8) {
            std::uint64_t word = 0;
            for (int i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
            const std::uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
            // The highest bit of each byte that ends the run. A borrow can only mark bytes behind the first one.
            const std::uint64_t ends =
                (word | (word - kOnes * ' ') | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHigh;
            if (ends != 0) return p + std::countr_zero(ends) / 8;
            p += 8;
        }
        // The newline at the end is a control character.
        while (*p >= ' ' && *p != '"' && *p != '\\') ++p;
        return p;
    }

    const char* read_wide(const char* p) noexcept {
        const std::size_t length = utf8_length(view(p, end_));
        return length == 0 ? fault("utf8", p) : p + length;
    }

    const char* read_escape(const char* p, std::string& buffer) {
        static constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const std::size_t number = kNames.find(p[1]);
        if (number != std::string_view::npos) {
            buffer.push_back(kMeant[number]);
            return p + 2;
        }
        char32_t letter = 0;
        const char* q = p[1] == 'u' ? read_hex(p + 2, letter) : nullptr;
        if (q == nullptr) return fault("escape", p);
        if (letter >= 0xd800 && letter < 0xe000) {
            char32_t low = 0;
            q = letter < 0xdc00 && q[0] == '\\' && q[1] == 'u' ? read_hex(q + 2, low) : nullptr;
            if (q == nullptr || low < 0xdc00 || low >= 0xe000) return fault("surrogate", p);
            letter = 0x10000 + ((letter - 0xd800) << 10) + (low - 0xdc00);
        }
        char encoded[4];
        buffer.append(encoded, write_utf8(letter, encoded));
        return q;
    }

    // Reads four hexadecimal digits.
    static const char* read_hex(const char* p, char32_t& number) noexcept {
        number = 0;
        for (const char* const end = p + 4; p != end; ++p) {
            const char lower = static_cast<char>(*p | 0x20);
            const int digit = is_digit(*p) ? *p - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
            if (digit < 0) return nullptr;
            number = number << 4 | static_cast<char32_t>(digit);
        }
        return p;
    }
};

// Finds the elements of an array in text that comes piece by piece and need not be valid. Between the braces of an object,
// brackets do not count, and a string ends with its line, so that a missing one does not join many records.
class JsonElements {
public:
    // Continues at `p`. Returns the end of the last element from there on, or the comma behind it; the end of the text if
    // the array ends in it; null if there is none of these.
    const char* last_end(const char* p, const char* end) noexcept {
        const char* last = nullptr;
        while ((p = next(p, end)) != end) {
            const char c = *p++;
            if (step(c)) last = c == ',' ? p - 1 : p;
            if (is_closed()) return end;
        }
        return last;
    }

    // Returns the end of the element at p, or the comma or bracket behind it; else the end of the text.
    static const char* end_of(const char* p, const char* end) noexcept {
        JsonElements elements;
        elements.brackets_ = 1;
        for (; (p = elements.next(p, end)) != end; ++p)
            if (elements.step(*p) || elements.is_closed()) return *p == ',' || elements.is_closed() ? p : p + 1;
        return end;
    }

    // Calls action(element) for the first elements of a text, which starts with the array or behind an element. Returns where
    // the rest starts.
    template <class Action>
    static const char* each(std::string_view text, bool from_start, std::size_t most, const Action& action) {
        const char *p = text.data(), *const end = p + text.size();
        const auto skip = [&p, end](std::string_view others) {
            while (p != end && (is_json_space(*p) || others.find(*p) != std::string_view::npos)) ++p;
        };
        skip("");
        if (from_start && (p == end || *p++ != '[')) return end;
        for (skip(","); most > 0 && p != end && *p != ']'; --most, skip(",")) {
            const char* const begin = p;
            p = end_of(begin, end);
            action(std::string_view(begin, static_cast<std::size_t>(p - begin)));
        }
        return p;
    }

    // Whether the text so far has the end of the array, or starts with something else.
    bool is_closed() const noexcept { return brackets_ == kClosed; }

private:
    static constexpr std::int64_t kClosed = -1;
    using Set = std::array<bool, 256>;

    static constexpr Set set_of(std::string_view characters) noexcept {
        Set set{};
        for (const char c : characters) set[static_cast<unsigned char>(c)] = true;
        return set;
    }

    // Returns the next character that `step` has to see.
    const char* next(const char* p, const char* end) noexcept {
        static constexpr Set kOutside = set_of("\"{}[],"), kInObject = set_of("\"{}"), kInString = set_of("\"\\\n");
        if (brackets_ == 0) {
            while (p != end && is_json_space(*p)) ++p;
            return p;
        }
        if (escaped_ && p != end) {
            escaped_ = false;
            ++p;
        }
        const Set& seen = in_string_ ? kInString : braces_ > 0 ? kInObject : kOutside;
        while (p != end && !seen[static_cast<unsigned char>(*p)]) ++p;
        return p;
    }

    // Takes a character; returns whether it ends an element, or is the comma behind one.
    bool step(char c) noexcept {
        if (brackets_ == 0) {
            brackets_ = c == '[' ? 1 : kClosed;
        } else if (in_string_) {
            escaped_ = c == '\\';
            in_string_ = escaped_;
        } else if (c == '"') {
            in_string_ = true;
        } else if (c == '{') {
            ++braces_;
        } else if (c == '}') {
            braces_ -= braces_ > 0;
            return braces_ == 0 && brackets_ == 1;
        } else if (braces_ == 0) {
            if (c == '[') ++brackets_;
            if (c == ']' && --brackets_ == 0) brackets_ = kClosed;
            return brackets_ == 1 && c != '[';
        }
        return false;
    }

    std::int64_t brackets_ = 0, braces_ = 0;
    bool in_string_ = false, escaped_ = false;
};

}  // namespace scwlearn
