// The running statistics of a feature, and what its values become. A Number is a double or a register of them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "core/interface.hpp"
#include "core/vector.hpp"

namespace scwlearn::SCWLEARN_SET {

template <class Number>
Number number(double value) noexcept {
    return value - Number{};
}

inline double root_of(double x) noexcept { return std::sqrt(x); }

inline Vector root_of(Vector x) noexcept {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
}

// The number of each lane.
inline Bits lane_numbers() noexcept {
    Bits lanes{};
    for (std::int64_t lane = 0; lane < kWidth; ++lane) lanes[lane] = lane;
    return lanes;
}

// How many lanes of a comparison are true.
inline std::int64_t count_of(bool is_true) noexcept { return is_true; }

inline std::int64_t count_of(Bits are_true) noexcept {
#if defined(__AVX512DQ__)
    return std::popcount(static_cast<unsigned>(_mm512_movepi64_mask(std::bit_cast<__m512i>(are_true))));
#elif defined(__AVX2__)
    return std::popcount(static_cast<unsigned>(_mm256_movemask_pd(std::bit_cast<__m256d>(are_true))));
#else
    std::int64_t count = 0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) count -= are_true[lane];
    return count;
#endif
}

template <class Number>
Number size_of(Number x) noexcept {
    return x < 0.0 ? -x : x;
}

template <class Number>
Number clipped(Number x, double limit) noexcept {
    const Number high = number<Number>(limit);
    return x > high ? high : x < -high ? -high : x;
}

// Standardised values are clipped at this many deviations (docs/scaling.md has the measurements).
inline constexpr double kMostDeviations = 3.0;
// A deviation below this part of the mean is rounding.
inline constexpr double kRounding = 0x1p-40;
// Smaller values are left out of the statistics: their squares could underflow. Those of the largest values that rows may
// hold do not overflow.
inline constexpr double kLeastValue = 1e-150;

// Variance, count and mean of the values that are not 0; all 0 for a feature never seen. Values that are all 2^k times
// as large give the same bits.
template <class Number>
struct Moments {
    Number variance, count, mean;

    void add(Number x) noexcept { add(x, 1.0 / (count + 1.0)); }

    // Given 1/(count + 1).
    void add(Number x, Number part) noexcept {
        const Number now = count + 1.0, from = x - mean;
        const auto counts = size_of(x) >= kLeastValue;
        variance = counts ? count * part * (variance + from * from * part) : variance;
        mean = counts ? mean + from * part : mean;
        count = counts ? now : count;
    }

    auto dense(double rows) const noexcept { return (count > 0.0) & (2.0 * count >= rows); }

    // Divides a value by the root mean square; one of a feature never seen stays as it is. A value far beyond all values
    // seen is clipped to what rows may hold.
    Number by_size(Number x) const noexcept {
        const Number size = root_of(variance + mean * mean);
        return clipped(x / (size == 0.0 ? number<Number>(1.0) : size), kLargestValue);
    }

    // Centres the value of a dense feature and divides it by the deviation, both over all rows; `part` is 1/rows.
    Number by_deviation(Number x, double rows, double part) const noexcept {
        const Number one = number<Number>(1.0), none{};
        const Number zeros = (count < rows ? rows - count : none) * part, share = 1.0 - zeros;
        const Number centre = share * mean, divisor = root_of(share * (variance + zeros * (mean * mean)));
        const Number distance = (x - centre) / (divisor == 0.0 ? one : divisor);
        return clipped(divisor <= kRounding * size_of(centre) ? none : distance, kMostDeviations);
    }
};

// The moments of a register of features, whose lines (core/interface.hpp) are 2^shift numbers apart.
class Lines {
public:
    static Lines scattered(const double* lines, const std::int64_t* at, int shift) noexcept {
        return Lines([=](std::int64_t lane) { return lines + (at[lane] << shift); });
    }

    static Lines consecutive(const double* lines, int shift) noexcept {
        if (shift == 2) return Lines(load(lines), load(lines + kWidth), load(lines + 2 * kWidth), load(lines + 3 * kWidth));
        return Lines([=](std::int64_t lane) { return lines + (lane << shift); });
    }

    void store_scattered(double* lines, const std::int64_t* at, int shift) const noexcept {
        write([=](std::int64_t lane) { return lines + (at[lane] << shift); });
    }

    void store_consecutive(double* lines, int shift) const noexcept {
        write([=](std::int64_t lane) { return lines + (lane << shift); });
    }

    Moments<Vector> moments;

private:
    // From the place of each line.
    template <class Place>
    explicit Lines(Place place) noexcept
#if SCWLEARN_WIDTH == 8
        : Lines(two(place, 0), two(place, 2), two(place, 4), two(place, 6)) {}

    using Line = double __attribute__((vector_size(kLine * sizeof(double))));
    template <class Place>
    static Vector two(Place place, std::int64_t lane) noexcept {
        return __builtin_shufflevector(load_as<Line>(place(lane)), load_as<Line>(place(lane + 1)), 0, 1, 2, 3, 4, 5, 6, 7);
    }
#elif SCWLEARN_WIDTH == 4
        : Lines(load(place(0)), load(place(1)), load(place(2)), load(place(3))) {}
#else
        : Lines(load(place(0)), load(place(0) + 2), load(place(1)), load(place(1) + 2)) {}
#endif

    // From four registers with one line after the other.
    Lines(Vector a, Vector b, Vector c, Vector d) noexcept {
        const Vector even = firsts(a, b), odd = seconds(a, b), more_even = firsts(c, d), more_odd = seconds(c, d);
        moments = {firsts(even, more_even), firsts(odd, more_odd), seconds(even, more_even)};
        behind_ = seconds(odd, more_odd);
    }

    template <class Place>
    void write(Place place) const noexcept {
        const Vector even = low(moments.variance, moments.mean), more_even = high(moments.variance, moments.mean);
        const Vector odd = low(moments.count, behind_), more_odd = high(moments.count, behind_);
        const Vector to[] = {low(even, odd), high(even, odd), low(more_even, more_odd), high(more_even, more_odd)};
        for (std::int64_t k = 0; k < 4; ++k) {
#if SCWLEARN_WIDTH == 8
            store(place(2 * k), __builtin_shufflevector(to[k], to[k], 0, 1, 2, 3));
            store(place(2 * k + 1), __builtin_shufflevector(to[k], to[k], 4, 5, 6, 7));
#elif SCWLEARN_WIDTH == 4
            store(place(k), to[k]);
#else
            store(place(k / 2) + 2 * (k % 2), to[k]);
#endif
        }
    }

    static Vector firsts(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_FIRSTS); }
    static Vector seconds(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_SECONDS); }
    static Vector low(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_LOW); }
    static Vector high(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_HIGH); }

    Vector behind_;  // the fourth number of each line, written back unchanged
};

}  // namespace scwlearn::SCWLEARN_SET
