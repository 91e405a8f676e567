// Decimal numbers in text: to the last bit what Python's float() makes of them.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace scwlearn {

// Every function here reads text that ends with a newline. No number contains one, so that nothing is read behind the
// end although only `load8`, which takes more than one character, asks for it.

// The next eight characters, the first in the lowest byte; zeros behind the end.
inline std::uint64_t load8(const char* p, const char* end) noexcept {
    char next[8] = {};
    if (end - p >= 8)
        std::memcpy(next, p, 8);
    else
        std::memcpy(next, p, static_cast<std::size_t>(end - p));
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(next[i])} << (8 * i);
    return word;
}

// Reads the digits at p and appends them to `number`, eight at a time without a branch for each: how long the numbers
// of a text are is what a processor cannot foresee. From 20 digits on `number` is of no use.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& number) noexcept {
    static constexpr std::uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        std::uint64_t word = load8(p, end) ^ 0x3030303030303030;  // a digit is now its value
        // The highest bit of each byte that is no digit; carries spoil only what comes after the first.
        const std::uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
        const int count = std::countr_zero(others) / 8;
        if (count == 0) return p;
        word <<= 64 - 8 * count;  // what is no digit falls out at the top, zeros come in front
        word = word * 10 + (word >> 8);
        word = ((word & 0x000000FF000000FF) * (100 + (1000000ULL << 32)) +
                ((word >> 16) & 0x000000FF000000FF) * (1 + (10000ULL << 32))) >>
               32;
        number = number * kTens[count] + word;
        p += count;
        if (count < 8) return p;
    }
}

// A number without its sign: `whole` digits, a point, more digits, and a power of ten to multiply it by.
// For what the short path below cannot do.
inline double read_hard_number(const char* begin, const char* end, std::int64_t whole, std::int64_t exponent) noexcept {
    double value = 0.0;
    if (std::from_chars(begin, end, value).ec != std::errc::result_out_of_range) return value;
    // Which end of the range it left, from_chars does not say: the first digit that is not zero does.
    std::int64_t place = whole;
    for (const char* p = begin; *p == '0' || *p == '.'; ++p) place -= *p == '0';
    return place + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// Reads a number at p: digits with or without a sign, a point and an exponent. Returns what comes after it, or null
// where there is no number (infinity and NaN are words, not numbers). Overflows to infinity.
inline const char* read_number(const char* p, const char* end, double& value) noexcept {
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const char* const begin = p;
    std::uint64_t mantissa = 0;
    p = read_digits(p, end, mantissa);
    const std::int64_t whole = p - begin;
    std::int64_t places = 0;
    if (*p == '.') {
        const char* const fraction = p + 1;
        p = read_digits(fraction, end, mantissa);
        places = p - fraction;
    }
    if (whole + places == 0) return nullptr;
    std::int64_t exponent = 0;
    if (*p == 'e' || *p == 'E') {
        ++p;
        const bool below = *p == '-';
        p += below || *p == '+';
        const char* const digits = p;
        // Held where it still outweighs the digits of any text.
        for (; *p >= '0' && *p <= '9'; ++p)
            if (exponent < 100'000'000'000'000'000) exponent = exponent * 10 + (*p - '0');
        if (p == digits) return nullptr;
        if (below) exponent = -exponent;
    }
    const std::int64_t power = exponent - places;
    // Both factors are exact, so that their product or quotient is rounded once: the short path.
    static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (whole + places <= 19 && mantissa <= (1ULL << 53) && power >= -22 && power <= 22) {
        const auto exact = static_cast<double>(static_cast<std::int64_t>(mantissa));
        value = power < 0 ? exact / kTens[-power] : exact * kTens[power];
    } else {
        value = read_hard_number(begin, p, whole, exponent);
    }
    value = negative ? -value : value;
    return p;
}

}  // namespace scwlearn
