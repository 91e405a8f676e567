// Rows with names over the arrays of Python, read in the order in which they are learned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "python/bindings.hpp"

namespace scwlearn {

// Checks rows with names and returns their offsets, which cannot change any more. The columns can: what reads them must
// check each again.
inline std::vector<std::int32_t> checked_offsets(const Column<double>& values, const Column<std::int32_t>& columns,
                                                 const Column<std::int32_t>& given, std::size_t names) {
    require(given.size() >= 1 && values.size() == columns.size(), "values and columns must have the same length");
    std::vector<std::int32_t> offsets(given.data(), given.data() + given.size());
    require(offsets.front() >= 0, "offsets must be >= 0");
    require(std::is_sorted(offsets.begin(), offsets.end()), "offsets must not decrease");
    require(static_cast<std::size_t>(offsets.back()) <= values.size(), "offsets must not exceed the number of values");
    bool known = true;  // without branches, so that the loop is vectorized
    for (std::size_t j = 0; j < columns.size(); ++j)
        known &= static_cast<std::uint32_t>(columns.data()[j]) < names;
    require(known, "columns must be below the number of names");
    return offsets;
}

// The columns of the values other than 0, row by row, in the order of the rows or in another one.
class OccurringColumns {
public:
    OccurringColumns(const Column<double>& values, const Column<std::int32_t>& columns,
                     const Column<std::int32_t>& offsets, const std::optional<Column<std::int64_t>>& order,
                     std::size_t names)
        : values_(values.data()), columns_(columns.data()), names_(names),
          offsets_(checked_offsets(values, columns, offsets, names)) {
        const std::size_t rows = offsets_.size() - 1;
        count_ = order ? order->size() : rows;
        order_ = order ? order->data() : nullptr;
        for (std::size_t i = 0; order && i < count_; ++i)
            require(order_[i] >= 0 && static_cast<std::size_t>(order_[i]) < rows, "order must hold row numbers");
    }

    // Calls action(column) for each value other than 0.
    template <class Action>
    void each(const Action& action) const {
        for (std::size_t row = 0; row < count_; ++row) each_of(row, action);
    }

    // Calls both actions for each row, the first for all of its columns before the second.
    template <class First, class Second>
    void each_row(const First& first, const Second& second) const {
        for (std::size_t row = 0; row < count_; ++row) {
            each_of(row, first);
            each_of(row, second);
        }
    }

private:
    template <class Action>
    void each_of(std::size_t number, const Action& action) const {
        const auto row = order_ ? static_cast<std::size_t>(order_[number]) : number;
        for (std::int32_t j = offsets_[row]; j < offsets_[row + 1]; ++j) {
            const auto column = static_cast<std::uint32_t>(columns_[j]);
            if (column < names_ && values_[j] != 0.0) action(std::size_t{column});
        }
    }

    const double* values_;
    const std::int32_t* columns_;
    const std::int64_t* order_ = nullptr;
    std::size_t names_, count_ = 0;
    std::vector<std::int32_t> offsets_;
};

}  // namespace scwlearn
