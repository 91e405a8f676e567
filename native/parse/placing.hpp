// Rows whose columns are names of a batch, mapped to the features of a model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace scwlearn {

// Compressed sparse rows under construction, with room for the most they can hold.
struct PlacedRows {
    std::unique_ptr<double[]> values;
    std::unique_ptr<std::int32_t[]> indices, offsets;
    std::int64_t rows = 0, stored = 0;
};

// The feature of each column of a batch and its sign (null: all +1). Features outside [0, width) are dropped. The
// values of several columns of one feature are added.
struct Placing {
    const std::int64_t* features;
    const double* signs;
    std::int64_t width;
};

// Maps each row and sorts it by feature. Offsets and columns have been checked.
inline PlacedRows place_rows(const double* values, const std::int32_t* columns, const std::int32_t* offsets,
                             std::int64_t rows, const Placing& placing) {
    const auto most = static_cast<std::size_t>(offsets[rows] - offsets[0]);
    PlacedRows placed{std::make_unique_for_overwrite<double[]>(most), std::make_unique_for_overwrite<std::int32_t[]>(most),
                      std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(rows) + 1), rows, 0};
    std::vector<std::pair<std::int32_t, double>> row;
    placed.offsets[0] = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        row.clear();
        for (std::int32_t j = offsets[i]; j < offsets[i + 1]; ++j) {
            const std::int64_t feature = placing.features[columns[j]];
            if (feature < 0 || feature >= placing.width) continue;
            const double sign = placing.signs == nullptr ? 1.0 : placing.signs[columns[j]];
            row.emplace_back(static_cast<std::int32_t>(feature), sign * values[j]);
        }
        // A stable sort, so that sums have the same order everywhere.
        std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t k = 0; k < row.size();) {
            const std::int32_t feature = row[k].first;
            double sum = row[k].second;
            for (++k; k < row.size() && row[k].first == feature; ++k) sum += row[k].second;
            if (sum == 0.0) continue;
            placed.indices[static_cast<std::size_t>(placed.stored)] = feature;
            placed.values[static_cast<std::size_t>(placed.stored++)] = sum;
        }
        placed.offsets[static_cast<std::size_t>(i) + 1] = static_cast<std::int32_t>(placed.stored);
    }
    return placed;
}

}  // namespace scwlearn
