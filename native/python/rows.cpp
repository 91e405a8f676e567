// Batches of rows over the arrays of Python: what they hold, their scales, and columns with names.
#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "core/scan.hpp"
#include "python/bindings.hpp"
#include "python/row_scales.hpp"
#include "python/row_slice.hpp"
#include "python/sparse_rows.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

template <class T>
bool holds(const Array& array) {
    return array.dtype() == nb::dtype<T>();
}

}  // namespace

Rows rows_of(const Array& values, const std::optional<Array>& indices, const std::optional<Array>& offsets,
             std::int64_t width, bool intercept) {
    const bool wide = holds<double>(values);
    require(wide || holds<float>(values), "values must be float32 or float64");
    require(indices.has_value() == offsets.has_value(), "indices and offsets must be given together");
    if (!indices) {
        require(values.ndim() == 2 && values.shape(1) == static_cast<std::size_t>(width),
                "dense values must be a matrix with `width` columns");
        const auto count = static_cast<std::int64_t>(values.shape(0));
        return {wide ? kDense64 : kDense32, values.data(), nullptr, nullptr, length(values), count, width, intercept};
    }
    const bool far = holds<std::int64_t>(*indices);
    require(far || holds<std::int32_t>(*indices), "indices must be int32 or int64");
    require(indices->dtype() == offsets->dtype(), "indices and offsets must have the same type");
    require(values.ndim() == 1 && indices->ndim() == 1 && offsets->ndim() == 1 && offsets->size() > 0 &&
                values.size() == indices->size(),
            "sparse rows must be three vectors: n values, n indices, rows + 1 offsets");
    const RowKind kind = wide ? (far ? kSparse64i64 : kSparse64i32) : (far ? kSparse32i64 : kSparse32i32);
    return {kind, values.data(), indices->data(), offsets->data(), length(values), length(*offsets) - 1, width, intercept};
}

ScaleKind scale_kind(const std::string& name) {
    for (int kind = 0; kind < kScaleKinds; ++kind)
        if (name == kScaleNames[kind]) return static_cast<ScaleKind>(kind);
    throw nb::value_error("kind must be rms, standard or unit");
}

namespace {

Finding scan(const Rows& rows) {
    switch (rows.kind) {
        case kDense32: return scan_dense<float>(rows);
        case kDense64: return scan_dense<double>(rows);
        case kSparse32i32: return scan_sparse<float, std::int32_t>(rows);
        case kSparse32i64: return scan_sparse<float, std::int64_t>(rows);
        case kSparse64i32: return scan_sparse<double, std::int32_t>(rows);
        default: return scan_sparse<double, std::int64_t>(rows);
    }
}

std::tuple<std::string, std::int64_t, std::int64_t, bool> scan_rows(const Array& values,
                                                                    const std::optional<Array>& indices,
                                                                    const std::optional<Array>& offsets,
                                                                    std::int64_t width) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    Finding found;
    {
        const ReleaseGil release_gil;
        found = scan(rows);
    }
    static const char* const names[] = {"", "value", "index", "offset"};
    return {names[static_cast<int>(found.problem)], found.row, found.column, found.sorted};
}

// Sparse rows with entries of their own: values, indices and offsets.
using NewRows = std::tuple<NewArray, NewArray, NewArray>;

// Calls scale(rows, first, to), which returns the row that there is no room for, until all rows are scaled. Returns the
// scaled rows if they have entries of their own, else writes their values to `scaled`.
template <class Scale>
std::optional<NewRows> scale_all(ScaleKind kind, const double* states, const Rows& given,
                                 const std::optional<Numbers>& scaled, const Scale& scale) {
    const bool in_place = !given.is_sparse() || kind != kStandard;
    require(scaled.has_value() == in_place, "scaled must be given unless sparse rows are standardised");
    RowSlice slice;
    const Rows rows = slice.take(given, 0, given.count);
    require(!scaled || length(*scaled) == rows.stored, "scaled must have one number per value");
    ScaledRows to{};
    if (in_place) {
        const ReleaseGil release_gil;
        to.values[kind] = scaled->data();
        scale(rows, 0, to);
        return std::nullopt;
    }
    std::vector<double> values;
    std::vector<std::int64_t> indices, offsets;
    {
        const ReleaseGil release_gil;
        scale_gaining(rows, states, to, values, indices, offsets, scale);
        values.resize(static_cast<std::size_t>(offsets.back()));
        indices.resize(static_cast<std::size_t>(offsets.back()));
    }
    return NewRows{array_of(std::move(values)), array_of(std::move(indices)), array_of(std::move(offsets))};
}

std::optional<NewRows> learn_scales(const std::string& kind, const HeldScale& states, const Array& values,
                                    const std::optional<Array>& indices, const std::optional<Array>& offsets,
                                    std::int64_t width, const std::optional<ReadOnly>& weights,
                                    const std::optional<Numbers>& scaled) {
    const Rows given = rows_of(values, indices, offsets, width, false);
    require(!weights || length(*weights) == given.count, "weights must have one weight per row");
    const double* const weighed = weights ? weights->data() : nullptr;
    const auto lines = scale_lines<double>(states, width);
    const auto learn = loops().scales.learn[given.kind];
    return scale_all(scale_kind(kind), lines.first, given, scaled,
                     [&](const Rows& rows, std::int64_t first, const ScaledRows& to) {
                         return learn(lines, rows, first, weighed, to);
                     });
}

std::optional<NewRows> apply_scales(const std::string& kind, const ReadOnlyScale& states, const Array& values,
                                    const std::optional<Array>& indices, const std::optional<Array>& offsets,
                                    std::int64_t width, const std::optional<Numbers>& scaled) {
    const Rows given = rows_of(values, indices, offsets, width, false);
    const auto lines = scale_lines<const double>(states, width);
    const auto apply = loops().scales.apply[given.kind];
    return scale_all(scale_kind(kind), lines.first, given, scaled,
                     [&](const Rows& rows, std::int64_t first, const ScaledRows& to) {
                         return apply(lines, rows, first, to);
                     });
}

// Copies rows by number. The arrays may change meanwhile: each offset is read once, and none leads outside.
template <class Value, class Index>
NewRows copy_rows(const Rows& rows, const Column<std::int64_t>& order) {
    const std::size_t count = order.size();
    std::vector<std::int64_t> begins(count), offsets(count + 1);
    const auto* const from = static_cast<const Index*>(rows.offsets);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t row = order.data()[i];
        require(row >= 0 && row < rows.count, "order must hold numbers of rows");
        begins[i] = std::clamp<std::int64_t>(from[row], 0, rows.stored);
        offsets[i + 1] = offsets[i] + std::clamp<std::int64_t>(from[row + 1], begins[i], rows.stored) - begins[i];
    }
    const auto total = static_cast<std::size_t>(offsets[count]);
    auto values = std::make_unique_for_overwrite<Value[]>(total);
    auto indices = std::make_unique_for_overwrite<Index[]>(total);
    {
        const ReleaseGil release_gil;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t stored = offsets[i + 1] - offsets[i];
            std::copy_n(static_cast<const Value*>(rows.values) + begins[i], stored, values.get() + offsets[i]);
            std::copy_n(static_cast<const Index*>(rows.indices) + begins[i], stored, indices.get() + offsets[i]);
        }
    }
    const auto stored = static_cast<std::int64_t>(total);
    // Offsets have the type of the indices if they fit.
    const bool fits = stored <= std::numeric_limits<Index>::max();
    NewArray ends = fits ? array_of(std::vector<Index>(offsets.begin(), offsets.end())) : array_of(std::move(offsets));
    return {array_of(std::move(values), stored), array_of(std::move(indices), stored), std::move(ends)};
}

NewRows take_rows(const Array& values, const Array& indices, const Array& offsets, const Column<std::int64_t>& order) {
    const Rows rows = rows_of(values, indices, offsets, 0, false);
    switch (rows.kind) {
        case kSparse32i32: return copy_rows<float, std::int32_t>(rows, order);
        case kSparse32i64: return copy_rows<float, std::int64_t>(rows, order);
        case kSparse64i32: return copy_rows<double, std::int32_t>(rows, order);
        default: return copy_rows<double, std::int64_t>(rows, order);
    }
}

// Sorts the values of a row by feature and adds those of one feature, in their order, so that sums have the same bits
// everywhere.
class RowSorter {
public:
    // Returns how many values are left, none of which is 0.
    std::size_t sort(std::int32_t* features, double* values, std::size_t count) {
        count <= kShort ? sort_by_rank(features, values, count) : sort_long(features, values, count);
        std::size_t left = 0;
        for (std::size_t i = 0; i < count;) {
            const std::int32_t feature = features[i];
            double sum = values[i++];
            for (; i < count && features[i] == feature; ++i) sum += values[i];
            features[left] = feature;
            values[left] = sum;
            left += sum != 0.0;
        }
        return left;
    }

private:
    // Up to this many, counting how many features are smaller than each is faster than sorting, because it is vectorized.
    static constexpr std::size_t kShort = 64, kStep = 16;

    static void sort_by_rank(std::int32_t* features, double* values, std::size_t count) noexcept {
        std::int32_t own_features[kShort];
        double own_values[kShort];
        std::copy(features, features + count, own_features);
        std::copy(values, values + count, own_values);
        const std::size_t padded = (count + kStep - 1) / kStep * kStep;
        std::fill(own_features + count, own_features + padded, std::numeric_limits<std::int32_t>::max());
        std::uint64_t taken = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::int32_t rank = 0;
            for (std::size_t j = 0; j < padded; j += kStep)
                for (std::size_t k = 0; k < kStep; ++k) rank += own_features[j + k] < own_features[i];
            while (taken >> rank & 1) ++rank;  // equal features stay in order
            taken |= std::uint64_t{1} << rank;
            features[rank] = own_features[i];
            values[rank] = own_values[i];
        }
    }

    void sort_long(std::int32_t* features, double* values, std::size_t count) {
        entries_.clear();
        for (std::size_t i = 0; i < count; ++i) entries_.emplace_back(features[i], values[i]);
        std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < count; ++i) std::tie(features[i], values[i]) = entries_[i];
    }

    std::vector<std::pair<std::int32_t, double>> entries_;
};

std::tuple<NewArray, NewArray, NewArray> place_rows(const Column<double>& values, const Column<std::int32_t>& columns,
                                                    const Column<std::int32_t>& given,
                                                    const Column<std::int64_t>& features,
                                                    const std::optional<Column<double>>& signs, std::int64_t width) {
    const std::vector<std::int32_t> offset = checked_offsets(values, columns, given, features.size());
    require(!signs || signs->size() == features.size(), "signs must have one sign per name");
    require(width <= std::numeric_limits<std::int32_t>::max(), "width must fit into 32 bits");
    const std::size_t rows = offset.size() - 1, names = features.size();
    // A value that is left out is written behind the last one.
    const auto most = static_cast<std::size_t>(offset.back() - offset.front()) + 1;
    auto placed = std::make_unique_for_overwrite<double[]>(most);
    auto indices = std::make_unique_for_overwrite<std::int32_t[]>(most);
    std::vector<std::int32_t> ends(rows + 1);
    std::size_t stored = 0;
    {
        const ReleaseGil release_gil;
        const std::int32_t* const columns_read = columns.data();
        const std::int64_t* const feature_of = features.data();
        const double* const sign_of = signs ? signs->data() : nullptr;
        RowSorter sorter;
        for (std::size_t i = 0; i < rows; ++i) {
            const std::size_t begin = stored;
            std::int64_t last = -1;
            bool is_sorted = true;
            for (std::int32_t j = offset[i]; j < offset[i + 1]; ++j) {
                const auto column = static_cast<std::uint32_t>(columns_read[j]);
                if (column >= names) continue;
                const std::int64_t feature = feature_of[column];
                const double value = sign_of ? sign_of[column] * values.data()[j] : values.data()[j];
                const bool is_left = feature >= 0 && feature < width && value != 0.0;
                indices[stored] = static_cast<std::int32_t>(feature);
                placed[stored] = value;
                stored += is_left;
                is_sorted &= !is_left || feature > last;
                last = is_left ? feature : last;
            }
            if (!is_sorted) stored = begin + sorter.sort(&indices[begin], &placed[begin], stored - begin);
            ends[i + 1] = static_cast<std::int32_t>(stored);
        }
    }
    const auto count = static_cast<std::int64_t>(stored);
    return {array_of(std::move(placed), count), array_of(std::move(indices), count), array_of(std::move(ends))};
}

// The columns of sparse rows by first appearance, and in how many rows each occurs; values of 0 do not count.
std::tuple<NewArray, NewArray> appearances(const Column<double>& values, const Column<std::int32_t>& columns,
                                           const Column<std::int32_t>& offsets,
                                           const std::optional<Column<std::int64_t>>& order, std::int64_t width) {
    require(width >= 0, "width must be >= 0");
    const OccurringColumns occurring(values, columns, offsets, order, static_cast<std::size_t>(width));
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(width));
    {
        const ReleaseGil release_gil;
        occurring.each([&](std::size_t column) {
            if (counts[column]++ == 0) first.push_back(static_cast<std::int64_t>(column));
        });
    }
    return {array_of(std::move(first)), array_of(std::move(counts))};
}

}  // namespace

void bind_rows(nb::module_& module) {
    module.def("scan_rows", &scan_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
               "Return the first problem of a batch (value, index, offset, or an empty string), its row and position, and "
               "whether the indices of each row strictly increase.");
    module.def("learn_scales", &learn_scales, "kind"_a, "states"_a.noconvert(), "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "weights"_a.none(), "scaled"_a.noconvert().none(),
               "For each row of a scanned batch in order: update the states of its features, unless its weight is 0, then "
               "write the scaled values. Standardised sparse rows are returned instead: values, indices and offsets.");
    module.def("apply_scales", &apply_scales, "kind"_a, "states"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "scaled"_a.noconvert().none(),
               "Write the scaled values of a scanned batch. Standardised sparse rows are returned instead.");
    module.def("take_rows", &take_rows, "values"_a, "indices"_a, "offsets"_a, "order"_a,
               "Return copies of compressed sparse rows by number: values, indices and offsets.");
    module.def("appearances", &appearances, "values"_a, "columns"_a, "offsets"_a, "order"_a.none(), "width"_a,
               "Return the columns of compressed sparse rows in the order of their first appearance, and the number of "
               "values other than 0 of each column.");
    module.def("place_rows", &place_rows, "values"_a, "columns"_a, "offsets"_a, "features"_a, "signs"_a.none(), "width"_a,
               "Map the columns of compressed sparse rows to features, in order; return values, indices and offsets. "
               "Features outside the width are dropped; values of one feature are added.");
}

}  // namespace scwlearn
