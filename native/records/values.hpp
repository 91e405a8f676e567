// Numbers and markers of missing values, as text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace scwlearn {

// The shortest text that reads back as the number.
template <std::integral T>
std::string text_of(T value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}
inline std::string text_of(double value) {
    char text[32];
    if (value == std::floor(value) && std::abs(value) < 0x1p53) return text_of(static_cast<std::int64_t>(value));
    return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

inline std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view kBlank = " \t\r\n\f\v";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Markers of missing numbers in tables, in upper or lower case.
inline constexpr auto kMissingNumbers =
    std::to_array<std::string_view>({"", "na", "n/a", "nan", "nat", "null", "none", "?"});

// Whether a text, in upper or lower case, is one of some words.
template <class Words = std::initializer_list<std::string_view>>
bool is_one_of(std::string_view text, const Words& words) noexcept {
    const auto same = [](char c, char lower) { return (c >= 'A' && c <= 'Z' ? c | 0x20 : c) == lower; };
    for (const std::string_view word : words)
        if (std::equal(text.begin(), text.end(), word.begin(), word.end(), same)) return true;
    return false;
}

// Whether a text is true or false, in upper or lower case, and which.
inline bool is_bool(std::string_view text) noexcept { return is_one_of(text, {"true", "false"}); }
inline bool is_true(std::string_view text) noexcept { return (text[0] | 0x20) == 't'; }

inline bool is_missing_number(std::string_view text) noexcept { return is_one_of(text, kMissingNumbers); }

}  // namespace scwlearn
