// Validation of text: UTF-8, as strict as Python; names have no control characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace scwlearn {

// The length of the first character, or 0 if it is invalid.
inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return first < ' ' || first == 0x7f ? 0 : 1;
    const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Overlong encodings, surrogates, and code points beyond the last.
    const unsigned char second = byte(1);
    const bool beyond = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return beyond ? 0 : length;
}

// The number of characters of a text.
inline std::int64_t utf8_count(std::string_view text) noexcept {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return std::count_if(text.begin(), text.end(), begins);
}

// Whether a text is valid; it may have control characters.
inline bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        std::uint64_t word = 0;
        if (text.size() >= sizeof(word)) std::memcpy(&word, text.data(), sizeof(word));
        const bool ascii = text.size() >= sizeof(word) && (word & 0x8080808080808080) == 0;
        const std::size_t length = ascii ? sizeof(word) : static_cast<unsigned char>(text[0]) < 0x80 ? 1 : utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

// Writes a character and returns its end.
inline char* write_utf8(char32_t letter, char* out) noexcept {
    const auto put = [&out](char32_t byte) { *out++ = static_cast<char>(byte); };
    if (letter < 0x80) {
        put(letter);
        return out;
    }
    if (letter < 0x800) {
        put(0xc0 | letter >> 6);
    } else {
        if (letter < 0x10000) {
            put(0xe0 | letter >> 12);
        } else {
            put(0xf0 | letter >> 18);
            put(0x80 | (letter >> 12 & 0x3f));
        }
        put(0x80 | (letter >> 6 & 0x3f));
    }
    put(0x80 | (letter & 0x3f));
    return out;
}

inline bool is_text(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace scwlearn
