// Vector registers, as wide as the instruction set that this is compiled for.
#pragma once

#include <cstdint>
#include <cstring>

namespace scwlearn::SCWLEARN_SET {

#if defined(__AVX512F__)
inline constexpr std::int64_t kWidth = 8;
#elif defined(__AVX__)
inline constexpr std::int64_t kWidth = 4;
#else
inline constexpr std::int64_t kWidth = 2;
#endif

// The vector extension of GCC and Clang: + and * work on all lanes, whatever the processor.
using Vector = double __attribute__((vector_size(kWidth * sizeof(double))));

inline Vector load(const double* from) noexcept {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

inline void store(double* to, Vector vector) noexcept { std::memcpy(to, &vector, sizeof vector); }

// x - 0 is x whatever x is, which the compiler knows; 0 + x is not, for -0.
inline Vector all(double value) noexcept { return value - Vector{}; }

inline double sum_of(Vector vector) noexcept {
    double sum = 0.0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) sum += vector[lane];
    return sum;
}

}  // namespace scwlearn::SCWLEARN_SET
