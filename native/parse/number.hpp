// Decimal numbers in text, converted to the same bits as by Python's float().
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace scwlearn {

// All functions read text that ends with a newline. No number contains one, so that nothing is read behind the end;
// only `load8`, which reads several characters, needs to know it.

// Loads the next eight characters, the first in the lowest byte, padded with zeros.
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

// Reads the digits at p and appends them to `number`, eight at a time without branches, because the length of numbers
// is unpredictable. With 20 digits or more, `number` is meaningless.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& number) noexcept {
    static constexpr std::uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        std::uint64_t word = load8(p, end) ^ 0x3030303030303030;  // a digit is now its value
        // The highest bit of each byte that is not a digit; carries affect only bytes after the first.
        const std::uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
        const int count = std::countr_zero(others) / 8;
        if (count == 0) return p;
        word <<= 64 - 8 * count;  // drops non-digits at the top, and adds leading zeros
        word = word * 10 + (word >> 8);
        word = ((word & 0x000000FF000000FF) * (100 + (1000000ULL << 32)) +
                ((word >> 16) & 0x000000FF000000FF) * (1 + (10000ULL << 32))) >>
               32;
        number = number * kTens[count] + word;
        p += count;
        if (count < 8) return p;
    }
}

#if defined(__SIZEOF_INT128__) && !defined(_MSC_VER)  // MSVC's library cannot divide them

// 5^27 is the largest power that fits.
inline constexpr std::int64_t kMostPlaces = 27;

// mantissa / 10^places, correctly rounded, for a nonzero mantissa and up to `kMostPlaces` places.
inline double divide_by_tens(std::uint64_t mantissa, std::int64_t places) noexcept {
    __extension__ using Wide = unsigned __int128;
    static constexpr auto kFives = [] {
        std::array<std::uint64_t, kMostPlaces + 1> fives{1};
        for (std::size_t i = 1; i < fives.size(); ++i) fives[i] = 5 * fives[i - 1];
        return fives;
    }();
    // 10^places is 5^places 2^places. With the highest bits of both set, the integer quotient has 62 or 63 bits, at
    // least nine more than a double, and its lowest bit can stand for the remainder.
    const std::uint64_t five = kFives[static_cast<std::size_t>(places)];
    const int up = std::countl_zero(mantissa);
    const int down = std::countl_zero(five);
    const Wide dividend = Wide{mantissa << up} << 62;
    const std::uint64_t divisor = five << down;
    const auto quotient = static_cast<std::uint64_t>(dividend / divisor);
    const bool remains = Wide{quotient} * divisor != dividend;
    const std::int64_t exponent = down - up - 62 - places;
    const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
    return static_cast<double>(static_cast<std::int64_t>(quotient | remains)) * power;
}

#else

inline constexpr std::int64_t kMostPlaces = -1;
inline double divide_by_tens(std::uint64_t, std::int64_t) noexcept { return 0.0; }

#endif

// Reads a number without its sign: `whole` digits, a point, more digits, and a power of ten. For what the short path
// below cannot do.
inline double read_hard_number(const char* begin, const char* end, std::int64_t whole, std::int64_t exponent) noexcept {
    double value = 0.0;
    if (std::from_chars(begin, end, value).ec != std::errc::result_out_of_range) return value;
    // from_chars does not say which end of the range was exceeded: the first nonzero digit does.
    std::int64_t place = whole;
    for (const char* p = begin; *p == '0' || *p == '.'; ++p) place -= *p == '0';
    return place + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// Reads a number at p: digits with an optional sign, point and exponent; in JSON without a plus, and with digits before
// and behind a point, but no zeros in front. Returns its end, or null if there is no number (infinity and NaN are not
// numbers here). Overflows to infinity.
template <bool kJson = false>
const char* read_number(const char* p, const char* end, double& value) noexcept {
    const bool negative = *p == '-';
    p += negative || (!kJson && *p == '+');
    const char* const begin = p;
    std::uint64_t mantissa = 0;
    p = read_digits(p, end, mantissa);
    const std::int64_t whole = p - begin;
    std::int64_t places = 0;
    if (*p == '.') {
        const char* const fraction = p + 1;
        p = read_digits(fraction, end, mantissa);
        places = p - fraction;
        if (kJson && places == 0) return nullptr;
    }
    if (whole + places == 0 || (kJson && (whole == 0 || (whole > 1 && *begin == '0')))) return nullptr;
    std::int64_t exponent = 0;
    if (*p == 'e' || *p == 'E') {
        ++p;
        const bool below = *p == '-';
        p += below || *p == '+';
        const char* const digits = p;
        // Capped where it still outweighs the digits of any text.
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
    } else if (whole + places <= 19 && mantissa != 0 && power <= 0 && power >= -kMostPlaces) {
        value = divide_by_tens(mantissa, -power);
    } else {
        value = read_hard_number(begin, p, whole, exponent);
    }
    value = negative ? -value : value;
    return p;
}

}  // namespace scwlearn
