// Arithmetic that compiled rules use beyond the standard library.
#pragma once

#include <cmath>

namespace scwlearn {

// sqrt(a^2 + b^2). std::hypot is as slow as the rest of a rule; it is called only if the squares overflow or underflow.
inline double hypotenuse(double a, double b) noexcept {
    const double square = a * a + b * b;
    return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::hypot(a, b);
}

}  // namespace scwlearn
