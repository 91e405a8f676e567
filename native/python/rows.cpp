// Batches of rows over the arrays of Python: what they hold, their scales, and columns with names.
#include <algorithm>
#include <limits>

#include "core/scan.hpp"
#include "python/bindings.hpp"

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
        const nb::gil_scoped_release release_gil;
        found = scan(rows);
    }
    static const char* const names[] = {"", "value", "index", "offset"};
    return {names[static_cast<int>(found.problem)], found.row, found.column, found.sorted};
}

void check_sizes(const Rows& rows, std::size_t states, const Numbers& scaled) {
    require(static_cast<std::int64_t>(states) == kScaleEntries * rows.width,
            "states must have a scale and a count per feature");
    require(length(scaled) == rows.stored, "scaled must have one number per value");
}

void learn_scales(Numbers states, const Array& values, const std::optional<Array>& indices,
                  const std::optional<Array>& offsets, std::int64_t width, const std::optional<ReadOnly>& weights,
                  Numbers scaled) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    check_sizes(rows, states.size(), scaled);
    require(!weights || length(*weights) == rows.count, "weights must have one weight per row");
    const auto learn = loops().scales.learn[rows.kind];
    const double* const weighed = weights ? weights->data() : nullptr;
    const nb::gil_scoped_release release_gil;
    learn(rows, states.data(), weighed, scaled.data());
}

void apply_scales(const ReadOnly& states, const Array& values, const std::optional<Array>& indices,
                  const std::optional<Array>& offsets, std::int64_t width, Numbers scaled) {
    const Rows rows = rows_of(values, indices, offsets, width, false);
    check_sizes(rows, states.size(), scaled);
    const auto apply = loops().scales.apply[rows.kind];
    const nb::gil_scoped_release release_gil;
    apply(rows, states.data(), scaled.data());
}

void check_columns(const Column<double>& values, const Column<std::int32_t>& columns,
                   const Column<std::int32_t>& offsets, std::size_t names) {
    require(offsets.size() >= 1 && values.size() == columns.size(), "values and columns must have the same length");
    require(offsets(0) >= 0, "offsets must be >= 0");
    for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets(i) >= offsets(i - 1), "offsets must not decrease");
    const auto last = static_cast<std::size_t>(offsets(offsets.size() - 1));
    require(last <= values.size(), "offsets must not exceed the number of values");
    for (std::size_t j = 0; j < columns.size(); ++j)
        require(columns(j) >= 0 && static_cast<std::size_t>(columns(j)) < names,
                "columns must be below the number of names");
}

// The values of a row, to be sorted by feature; those of one feature stay in order, so that sums have the same bits
// everywhere.
class RowOrder {
public:
    struct Place {
        std::int32_t feature, at;
    };

    void clear() noexcept {
        places_.clear();
        is_sorted_ = true;
    }

    void add(std::int32_t feature, std::int32_t at) {
        is_sorted_ = is_sorted_ && (places_.empty() || places_.back().feature <= feature);
        places_.push_back({feature, at});
    }

    const std::vector<Place>& sorted() {
        if (is_sorted_) return places_;
        if (places_.size() <= kShort) return by_rank();
        std::stable_sort(places_.begin(), places_.end(),
                         [](const Place& a, const Place& b) { return a.feature < b.feature; });
        return places_;
    }

private:
    // Up to this many, counting how many values precede each is faster than sorting, because it is vectorized.
    static constexpr std::size_t kShort = 64;

    const std::vector<Place>& by_rank() {
        const std::size_t count = places_.size();
        std::int32_t features[kShort];
        for (std::size_t i = 0; i < count; ++i) features[i] = places_[i].feature;
        ranked_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            std::int32_t before = 0;
            for (std::size_t j = 0; j < i; ++j) before += features[j] <= features[i];
            for (std::size_t j = i + 1; j < count; ++j) before += features[j] < features[i];
            ranked_[static_cast<std::size_t>(before)] = places_[i];
        }
        return ranked_;
    }

    std::vector<Place> places_, ranked_;
    bool is_sorted_ = true;
};

std::tuple<NewArray, NewArray, NewArray> place_rows(const Column<double>& values, const Column<std::int32_t>& columns,
                                                    const Column<std::int32_t>& offsets,
                                                    const Column<std::int64_t>& features,
                                                    const std::optional<Column<double>>& signs, std::int64_t width) {
    check_columns(values, columns, offsets, features.size());
    require(!signs || signs->size() == features.size(), "signs must have one sign per name");
    require(width <= std::numeric_limits<std::int32_t>::max(), "width must fit into 32 bits");
    std::vector<double> placed;
    std::vector<std::int32_t> indices, ends;
    {
        const nb::gil_scoped_release release_gil;
        const std::int32_t *const column = columns.data(), *const offset = offsets.data();
        const std::size_t rows = offsets.size() - 1;
        const auto most = static_cast<std::size_t>(offset[rows] - offset[0]);
        placed.resize(most);
        indices.resize(most);
        ends.resize(rows + 1);
        std::size_t stored = 0;
        RowOrder row;
        for (std::size_t i = 0; i < rows; ++i) {
            row.clear();
            for (std::int32_t j = offset[i]; j < offset[i + 1]; ++j) {
                const std::int64_t feature = features.data()[column[j]];
                if (feature >= 0 && feature < width) row.add(static_cast<std::int32_t>(feature), j);
            }
            const std::vector<RowOrder::Place>& places = row.sorted();
            for (std::size_t k = 0; k < places.size();) {
                const std::int32_t feature = places[k].feature;
                double sum = 0.0;
                for (; k < places.size() && places[k].feature == feature; ++k) {
                    const auto j = static_cast<std::size_t>(places[k].at);
                    sum += (signs ? signs->data()[column[j]] : 1.0) * values.data()[j];
                }
                if (sum == 0.0) continue;
                indices[stored] = feature;
                placed[stored++] = sum;
            }
            ends[i + 1] = static_cast<std::int32_t>(stored);
        }
        placed.resize(stored);
        indices.resize(stored);
    }
    return {array_of(std::move(placed)), array_of(std::move(indices)), array_of(std::move(ends))};
}

// The columns of sparse rows by first appearance, and in how many rows each occurs; values of 0 do not count.
std::tuple<NewArray, NewArray> appearances(const Column<double>& values, const Column<std::int32_t>& columns,
                                           const Column<std::int32_t>& offsets,
                                           const std::optional<Column<std::int64_t>>& order, std::int64_t width) {
    require(width >= 0, "width must be >= 0");
    check_columns(values, columns, offsets, static_cast<std::size_t>(width));
    const std::size_t rows = offsets.size() - 1;
    if (order)
        for (std::size_t i = 0; i < order->size(); ++i)
            require((*order)(i) >= 0 && static_cast<std::size_t>((*order)(i)) < rows, "order must hold row numbers");
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(width));
    {
        const nb::gil_scoped_release release_gil;
        for (std::size_t k = 0; k < (order ? order->size() : rows); ++k) {
            const auto row = order ? static_cast<std::size_t>((*order)(k)) : k;
            for (std::int32_t j = offsets(row); j < offsets(row + 1); ++j) {
                const auto at = static_cast<std::size_t>(j);
                if (values(at) == 0.0) continue;
                if (counts[static_cast<std::size_t>(columns(at))]++ == 0) first.push_back(columns(at));
            }
        }
    }
    return {array_of(std::move(first)), array_of(std::move(counts))};
}

}  // namespace

void bind_rows(nb::module_& module) {
    module.def("scan_rows", &scan_rows, "values"_a, "indices"_a.none(), "offsets"_a.none(), "width"_a,
               "Return the first problem of a batch (value, index, offset, or an empty string), its row and position, and "
               "whether the indices of each row strictly increase.");
    module.def("learn_scales", &learn_scales, "states"_a.noconvert(), "values"_a, "indices"_a.none(),
               "offsets"_a.none(), "width"_a, "weights"_a.none(), "scaled"_a.noconvert(),
               "For each row of a scanned batch in order: update the states (scale and count) of its features, unless its "
               "weight is 0, then write the scaled values.");
    module.def("apply_scales", &apply_scales, "states"_a, "values"_a, "indices"_a.none(), "offsets"_a.none(),
               "width"_a, "scaled"_a.noconvert(), "Write the scaled values of a scanned batch.");
    module.def("appearances", &appearances, "values"_a, "columns"_a, "offsets"_a, "order"_a.none(), "width"_a,
               "Return the columns of compressed sparse rows in the order of their first appearance, and the number of "
               "values other than 0 of each column.");
    module.def("place_rows", &place_rows, "values"_a, "columns"_a, "offsets"_a, "features"_a, "signs"_a.none(), "width"_a,
               "Map the columns of compressed sparse rows to features, in order; return values, indices and offsets. "
               "Features outside the width are dropped; values of one feature are added.");
}

}  // namespace scwlearn
