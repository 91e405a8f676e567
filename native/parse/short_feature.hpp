// Short features and labels, which nearly all are: sixteen characters read at once, without branches on their content.
// The length of the next number, and whether it has a point, are unpredictable.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace scwlearn {

// What comes before a value: an index and a colon, or, for a label, the newline of the previous line.
enum class Before { index, newline };

#ifdef __SSE2__

// The characters that `read_short` may read, behind p and, including p, ahead of it.
inline constexpr std::ptrdiff_t kShortBehind = 8;
inline constexpr std::ptrdiff_t kShortAhead = 17;

namespace short_feature {

// Masks for the last n of eight characters.
inline constexpr std::uint64_t kLast[] = {0,
                                          0xFF00000000000000,
                                          0xFFFF000000000000,
                                          0xFFFFFF0000000000,
                                          0xFFFFFFFF00000000,
                                          0xFFFFFFFFFF000000,
                                          0xFFFFFFFFFFFF0000,
                                          0xFFFFFFFFFFFFFF00,
                                          0xFFFFFFFFFFFFFFFF};

// 10^n, and -10^n for numbers with a minus sign.
inline constexpr double kTens[2][8] = {{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7},
                                       {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7}};

inline std::uint32_t at_most(__m128i bytes, char limit) noexcept {
    const __m128i is = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(limit)), bytes);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(is));
}

inline __m128i two_words(const void* one, const void* other) noexcept {
    const __m128i low = _mm_loadl_epi64(static_cast<const __m128i*>(one));
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), static_cast<const __m64*>(other)));
}

// Combines two numbers of eight digits each, from digits to pairs to groups of four.
inline __m128i join_digits(__m128i digits) noexcept {
    const __m128i tens = _mm_and_si128(digits, _mm_set1_epi16(0xFF));
    const __m128i pairs = _mm_add_epi16(_mm_mullo_epi16(tens, _mm_set1_epi16(10)), _mm_srli_epi16(digits, 8));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(100 + (1 << 16)));
    return _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(10000 + (1 << 16)));
}

}  // namespace short_feature

// Reads an index of up to 8 digits, a colon, and a value of up to 7 digits with an optional sign and point; or the
// value after a newline at p. Returns the blank or control character after it, or null for anything else, valid or not.
// The value is that of `read_number`. Inlined, so that the results stay in registers.
template <Before kBefore>
[[gnu::always_inline]] inline const char* read_short(const char* p, std::uint64_t& index, double& value) noexcept {
    using namespace short_feature;
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // One bit per character.
    const __m128i from_zero = _mm_xor_si128(text, _mm_set1_epi8('0'));
    auto others = at_most(from_zero, 9) ^ 0xFFFF;
    auto blanks = at_most(text, ' ');
    if constexpr (kBefore == Before::newline) blanks &= blanks - 1;  // the newline takes the place of the colon
    if (blanks == 0) return nullptr;
    others &= blanks ^ (blanks - 1);  // up to the first blank
    const auto end = static_cast<std::size_t>(std::countr_zero(blanks));
    const auto colon = static_cast<std::size_t>(std::countr_zero(others));
    const std::uint32_t colon_bit = others & (~others + 1);
    const std::size_t has_sign = (others & (2 * colon_bit)) != 0;
    // What is neither digit, colon nor sign: a point, if there is one, and the blank.
    const std::uint32_t left = others & ~(3 * colon_bit);
    if (left == 0) return nullptr;
    const auto point = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint32_t blank = left & (left - 1);
    const std::size_t has_point = blank != 0;
    const std::size_t places = end - point - has_point;
    const std::size_t digits = end - colon - 1 - has_sign - has_point;
    if (kBefore == Before::index && (p[colon] != ':' || colon - 1 >= 8)) return nullptr;
    if (digits - 1 >= 7) return nullptr;
    const std::size_t minus = p[colon + 1] == '-';
    if ((minus | (p[colon + 1] == '+')) != has_sign) return nullptr;
    if ((blank & (blank - 1)) != 0 || (p[point] == '.') != has_point) return nullptr;
    // The digits before the point are taken from one character earlier, which closes the gap that it leaves.
    const __m128i closed = two_words(p + colon - 8, p + end - has_point - 8);
    const __m128i open = two_words(p + colon - 8, p + end - 8);
    const __m128i fraction = two_words(kLast, kLast + places);
    const __m128i wanted = two_words(kLast + colon, kLast + digits);
    const __m128i joined = _mm_xor_si128(closed, _mm_and_si128(_mm_xor_si128(closed, open), fraction));
    const __m128i numbers = join_digits(_mm_and_si128(_mm_xor_si128(joined, _mm_set1_epi8('0')), wanted));
    index = static_cast<std::uint32_t>(_mm_cvtsi128_si32(numbers));
    // Both are exact, so that the quotient is rounded once.
    value = _mm_cvtsd_f64(_mm_cvtepi32_pd(_mm_shuffle_epi32(numbers, 1))) / kTens[minus][places];
    return p + end;
}

#else

inline constexpr std::ptrdiff_t kShortBehind = 0;
inline constexpr std::ptrdiff_t kShortAhead = 1;

// Without SSE2 no feature counts as short.
template <Before>
inline const char* read_short(const char*, std::uint64_t&, double&) noexcept {
    return nullptr;
}

#endif

}  // namespace scwlearn
