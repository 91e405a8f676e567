// The diagonal of Sigma^-1, from the factors of Sigma.
#pragma once

#include "core/scratch.hpp"
#include "full/triangle.hpp"

namespace scwlearn::SCWLEARN_SET {

// Computes the diagonal of (U D U')^-1 = U'^-1 D^-1 U^-1 by place. The rows w of U^-1 solve w U = e. A strip of them is
// computed a few columns at a time, without the places at which all are zero.
inline void compute_precisions(const Triangle& u, const double* d, std::int64_t n, double* precisions) {
    Scratch scratch;
    double* const w = scratch.take(kStrip * n);
    double* const packed = scratch.take(kStrip * n);
    auto* const present = scratch.take<std::int64_t>(n + 1);
    std::fill(precisions, precisions + n, 0.0);
    for (std::int64_t first = 0; first < n; first += kStrip) {
        double inverse[kStrip] = {};
        for (std::int64_t i = first; i < std::min(first + kStrip, n); ++i) inverse[i - first] = 1.0 / d[i];
        const Vector inverse_low = load(inverse), inverse_high = load(inverse + kWidth);
        std::int64_t count = 0;
        for (std::int64_t begin = first; begin < n; begin += Triangle::kColumns) {
            const std::int64_t end = std::min(begin + Triangle::kColumns, n);
            present[count] = n;
            u.multiply(packed, present, begin, end, w);
            for (std::int64_t j = begin; j < end; ++j) {
                double* const at = w + j * kStrip;
                // Not -w: the places of negative zeros would count as present.
                Vector low = Vector{} - load(at), high = Vector{} - load(at + kWidth);
                for (std::int64_t i = begin; i < j; ++i) {
                    const Vector entry = all(u.column(j)[i]);
                    low -= entry * load(w + i * kStrip);
                    high -= entry * load(w + i * kStrip + kWidth);
                }
                store(at, low);
                store(at + kWidth, high);
                if (j < first + kStrip) at[j - first] += 1.0;
                low = load(at), high = load(at + kWidth);
                precisions[j] += sum_of(low * low * inverse_low + high * high * inverse_high);
            }
            for (std::int64_t j = begin; j < end; ++j) {
                const Vector low = load(w + j * kStrip), high = load(w + j * kStrip + kWidth);
                if (!any(low, high)) continue;
                store(packed + count * kStrip, low);
                store(packed + count * kStrip + kWidth, high);
                present[count++] = j;
            }
        }
    }
}

}  // namespace scwlearn::SCWLEARN_SET
