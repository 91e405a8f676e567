// Vector registers of the instruction set that this is compiled for.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

// Permutations that separate pairs of numbers into two registers, and join them again; and one that shifts a register by
// a lane, with the last lane of another before it.
#if defined(__AVX512F__)
#define SCWLEARN_WIDTH 8
#define SCWLEARN_SHIFTED 7, 8, 9, 10, 11, 12, 13, 14
#define SCWLEARN_FIRSTS 0, 2, 4, 6, 8, 10, 12, 14
#define SCWLEARN_SECONDS 1, 3, 5, 7, 9, 11, 13, 15
#define SCWLEARN_EVENS 0, 8, 2, 10, 4, 12, 6, 14
#define SCWLEARN_ODDS 1, 9, 3, 11, 5, 13, 7, 15
#define SCWLEARN_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define SCWLEARN_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif defined(__AVX__)
#define SCWLEARN_WIDTH 4
#define SCWLEARN_SHIFTED 3, 4, 5, 6
#define SCWLEARN_FIRSTS 0, 2, 4, 6
#define SCWLEARN_SECONDS 1, 3, 5, 7
#define SCWLEARN_EVENS 0, 4, 2, 6
#define SCWLEARN_ODDS 1, 5, 3, 7
#define SCWLEARN_LOW 0, 4, 1, 5
#define SCWLEARN_HIGH 2, 6, 3, 7
#else
#define SCWLEARN_WIDTH 2
#define SCWLEARN_SHIFTED 1, 2
#define SCWLEARN_FIRSTS 0, 2
#define SCWLEARN_SECONDS 1, 3
#define SCWLEARN_EVENS 0, 2
#define SCWLEARN_ODDS 1, 3
#define SCWLEARN_LOW 0, 2
#define SCWLEARN_HIGH 1, 3
#endif

namespace scwlearn::SCWLEARN_SET {

inline constexpr std::int64_t kWidth = SCWLEARN_WIDTH;

// Vector extension of GCC and Clang: operators work on all lanes, on any processor.
using Vector = double __attribute__((vector_size(kWidth * sizeof(double))));
using Bits = std::int64_t __attribute__((vector_size(kWidth * sizeof(std::int64_t))));
using FloatVector = float __attribute__((vector_size(kWidth * sizeof(float))));

// Registers of any width.
template <class Register>
Register load_as(const double* from) noexcept {
    Register vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

template <class Register>
void store(double* to, Register vector) noexcept {
    std::memcpy(to, &vector, sizeof vector);
}

using TwoNumbers = double __attribute__((vector_size(2 * sizeof(double))));
using FourNumbers = double __attribute__((vector_size(4 * sizeof(double))));


// Joins two halves of a register.
template <class Half>
auto join(Half a, Half b) noexcept {
    if constexpr (sizeof(Half) == sizeof(TwoNumbers))
        return __builtin_shufflevector(a, b, 0, 1, 2, 3);
    else
        return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

inline Vector load(const double* from) noexcept { return load_as<Vector>(from); }

inline Vector load(const float* from) noexcept {
    FloatVector vector;
    std::memcpy(&vector, from, sizeof vector);
    return __builtin_convertvector(vector, Vector);
}

inline Bits load(const std::int64_t* from) noexcept {
    Bits vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

inline Bits load(const std::int32_t* from) noexcept {
    std::int32_t __attribute__((vector_size(kWidth * sizeof(std::int32_t)))) vector;
    std::memcpy(&vector, from, sizeof vector);
    return __builtin_convertvector(vector, Bits);
}

// The compiler knows that x - 0 is x; 0 + x is not, for x = -0.
inline Vector all(double value) noexcept { return value - Vector{}; }

// Whether any lane of either is not 0.
inline bool any(Vector a, Vector b) noexcept {
    const auto bits = std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b);
    std::int64_t some = 0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) some |= bits[lane];
    return some != 0;
}

// Whether any lane is negative.
inline bool any_negative(Bits vector) noexcept {
    std::int64_t all = 0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) all |= vector[lane];
    return all < 0;
}

inline double sum_of(Vector vector) noexcept {
    double sum = 0.0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) sum += vector[lane];
    return sum;
}

// A register of pairs: the first numbers and the second numbers.
struct Pairs {
    Vector first, second;
};

inline Pairs load_pairs(const double* from) noexcept {
    const Vector a = load(from), b = load(from + kWidth);
    return {__builtin_shufflevector(a, b, SCWLEARN_FIRSTS), __builtin_shufflevector(a, b, SCWLEARN_SECONDS)};
}

inline void store_pairs(double* to, const Pairs& pairs) noexcept {
    store(to, __builtin_shufflevector(pairs.first, pairs.second, SCWLEARN_LOW));
    store(to + kWidth, __builtin_shufflevector(pairs.first, pairs.second, SCWLEARN_HIGH));
}

// The same for pairs that are scattered, each at its address. They are loaded and stored whole, so that a load does not
// wait for two stores, and kept in two registers, of the pairs at even and at odd positions, so that no number crosses
// 128 bits when firsts and seconds are separated.
template <std::int64_t kPairs = kWidth / 2>
auto gather_every_second(double* const* at) noexcept {
    if constexpr (kPairs == 1)
        return load_as<TwoNumbers>(*at);
    else
        return join(gather_every_second<kPairs / 2>(at), gather_every_second<kPairs / 2>(at + kPairs));
}

template <std::int64_t kPair = 0>
void scatter_every_second(double* const* at, Vector pairs) noexcept {
    store(*at, __builtin_shufflevector(pairs, pairs, 2 * kPair, 2 * kPair + 1));
    if constexpr (2 * kPair + 2 < kWidth) scatter_every_second<kPair + 1>(at + 2, pairs);
}

inline Pairs gather_pairs(double* const* at) noexcept {
    const Vector even = gather_every_second(at), odd = gather_every_second(at + 1);
    return {__builtin_shufflevector(even, odd, SCWLEARN_EVENS), __builtin_shufflevector(even, odd, SCWLEARN_ODDS)};
}

inline void scatter_pairs(double* const* at, const Pairs& pairs) noexcept {
    scatter_every_second(at, __builtin_shufflevector(pairs.first, pairs.second, SCWLEARN_EVENS));
    scatter_every_second(at + 1, __builtin_shufflevector(pairs.first, pairs.second, SCWLEARN_ODDS));
}

// Over an array, those of two features kStride apart.
template <std::int64_t kStride>
Pairs gather_pairs(const double* from, const std::int64_t* at) noexcept {
    Vector first, second;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) {
        first[lane] = from[kStride * at[lane]];
        second[lane] = from[kStride * at[lane] + 1];
    }
    return {first, second};
}

template <std::int64_t kStride>
void scatter_pairs(double* to, const std::int64_t* at, const Pairs& pairs) noexcept {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) {
        to[kStride * at[lane]] = pairs.first[lane];
        to[kStride * at[lane] + 1] = pairs.second[lane];
    }
}

}  // namespace scwlearn::SCWLEARN_SET
