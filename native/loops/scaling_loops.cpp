// The loops that scale rows. Compiled once per instruction set, as loops/row_loops.cpp is.
#include "core/round.hpp"
#include "loops/scaling.hpp"

namespace scwlearn::SCWLEARN_SET {

namespace {

// The scaled values of a row have the same offset as its values.
template <class RowSet, class Row>
double* place_of(const RowSet& rows, const Row& row, double* scaled) noexcept {
    return scaled + (row.values() - static_cast<decltype(row.values())>(rows.rows.values));
}

template <class RowSet>
struct LearnOver {
    static void run(const Rows& untyped, double* states, const double* weights, double* scaled) {
        const RowSet rows{untyped};
        const Scales<true> learning(states);
        const Scales<false> as_they_are(states);
        for (std::int64_t i = 0; i < untyped.count; ++i) {
            const auto row = rows[i];
            double* const to = place_of(rows, row, scaled);
            if (weights != nullptr && weights[i] == 0.0)
                as_they_are.scale(row, to);
            else
                learning.scale(row, to);
        }
    }
};

template <class RowSet>
struct ApplyOver {
    static void run(const Rows& untyped, const double* states, double* scaled) {
        const RowSet rows{untyped};
        const Scales<false> scales(states);
        for (std::int64_t i = 0; i < untyped.count; ++i) {
            const auto row = rows[i];
            scales.scale(row, place_of(rows, row, scaled));
        }
    }
};

}  // namespace

extern constinit const ScaleLoops scale_loops{over_rows<LearnOver, LearnScales>(), over_rows<ApplyOver, ApplyScales>()};

}  // namespace scwlearn::SCWLEARN_SET
