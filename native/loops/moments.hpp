// The running statistics of a feature, and what its values become. A Number is a double or a register of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

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

// How many lanes of a comparison are true.
inline std::int64_t count_of(bool is_true) noexcept { return is_true; }

inline std::int64_t count_of(Bits are_true) noexcept {
    std::int64_t count = 0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) count -= are_true[lane];
    return count;
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
// Smaller values count as zeros: their squares underflow. Those of the largest values that rows may hold do not overflow.
inline constexpr double kLeastValue = 1e-150;

// Variance, count and mean of the values that are not 0; all 0 for a feature never seen. Values that are all 2^k times
// as large give the same bits.
template <class Number>
struct Moments {
    Number variance, count, mean;

    void add(Number x) noexcept {
        const Number now = count + 1.0, part = 1.0 / now, from = x - mean;
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

    // Centres the value of a dense feature and divides it by the deviation, both over all rows, of which `part` is one.
    Number by_deviation(Number x, double rows, double part) const noexcept {
        const Number one = number<Number>(1.0), none{};
        const Number zeros = (count < rows ? rows - count : none) * part, share = 1.0 - zeros;
        const Number centre = share * mean, divisor = root_of(share * (variance + zeros * (mean * mean)));
        const Number distance = (x - centre) / (divisor == 0.0 ? one : divisor);
        return clipped(divisor <= kRounding * size_of(centre) ? none : distance, kMostDeviations);
    }
};

// The moments of a register of features, whose lines (core/interface.hpp) are next to each other or scattered.
class Lines {
public:
    static Lines next_to_each_other(const double* lines) noexcept {
        return Lines(load(lines), load(lines + kWidth), load(lines + 2 * kWidth), load(lines + 3 * kWidth));
    }

    static Lines scattered(const double* lines, const std::int64_t* at) noexcept {
        const auto from = [lines, at](std::int64_t lane) { return lines + kLine * at[lane]; };
#if SCWLEARN_WIDTH == 8
        using Line = double __attribute__((vector_size(kLine * sizeof(double))));
        const auto two = [from](std::int64_t lane) {
            return __builtin_shufflevector(load_as<Line>(from(lane)), load_as<Line>(from(lane + 1)), 0, 1, 2, 3, 4, 5, 6, 7);
        };
        return Lines(two(0), two(2), two(4), two(6));
#elif SCWLEARN_WIDTH == 4
        return Lines(load(from(0)), load(from(1)), load(from(2)), load(from(3)));
#else
        return Lines(load(from(0)), load(from(0) + 2), load(from(1)), load(from(1) + 2));
#endif
    }

    void store_next_to_each_other(double* lines) const noexcept {
        Vector to[4];
        join(to);
        for (std::int64_t k = 0; k < 4; ++k) store(lines + k * kWidth, to[k]);
    }

    void store_scattered(double* lines, const std::int64_t* at) const noexcept {
        Vector to[4];
        join(to);
        double numbers[4 * kWidth];
        for (std::int64_t k = 0; k < 4; ++k) store(numbers + k * kWidth, to[k]);
        for (std::int64_t lane = 0; lane < kWidth; ++lane)
            std::memcpy(lines + kLine * at[lane], numbers + kLine * lane, kLine * sizeof(double));
    }

    Moments<Vector> moments;

private:
    // From four registers with one line after the other.
    Lines(Vector a, Vector b, Vector c, Vector d) noexcept {
        const Vector even = firsts(a, b), odd = seconds(a, b), more_even = firsts(c, d), more_odd = seconds(c, d);
        moments = {firsts(even, more_even), firsts(odd, more_odd), seconds(even, more_even)};
        listed_ = seconds(odd, more_odd);
    }

    void join(Vector* to) const noexcept {
        const Vector even = low(moments.variance, moments.mean), more_even = high(moments.variance, moments.mean);
        const Vector odd = low(moments.count, listed_), more_odd = high(moments.count, listed_);
        to[0] = low(even, odd);
        to[1] = high(even, odd);
        to[2] = low(more_even, more_odd);
        to[3] = high(more_even, more_odd);
    }

    static Vector firsts(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_FIRSTS); }
    static Vector seconds(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_SECONDS); }
    static Vector low(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_LOW); }
    static Vector high(Vector a, Vector b) noexcept { return __builtin_shufflevector(a, b, SCWLEARN_HIGH); }

    Vector listed_;
};

}  // namespace scwlearn::SCWLEARN_SET
