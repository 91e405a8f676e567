// Consecutive rows of a batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/interface.hpp"

namespace scwlearn {

// Keeps offsets of its own, which begin at 0: those of Python may change at any time.
class RowSlice {
public:
    // Valid until the next call.
    Rows take(const Rows& rows, std::int64_t first, std::int64_t count) {
        Rows part = rows;
        part.count = count;
        const std::int64_t size = rows.has_floats() ? sizeof(float) : sizeof(double);
        if (!rows.is_sparse()) {
            part.values = at(rows.values, first * rows.width * size);
            part.stored = count * rows.width;
            return part;
        }
        part.rows_beyond = std::min(kRowsAhead, rows.count - first - count);
        const bool is_short = rows.has_short_indices();
        const std::int64_t begin = is_short ? copy_offsets(rows, first, count + part.rows_beyond, short_)
                                            : copy_offsets(rows, first, count + part.rows_beyond, long_);
        const std::int64_t index_size = is_short ? sizeof(std::int32_t) : sizeof(std::int64_t);
        part.stored = is_short ? short_.back() : long_.back();
        part.offsets = is_short ? static_cast<const void*>(short_.data()) : long_.data();
        part.values = at(rows.values, begin * size);
        part.indices = at(rows.indices, begin * index_size);
        return part;
    }

private:
    // The arrays of rows without values may be null.
    static const void* at(const void* array, std::int64_t bytes) noexcept {
        return array == nullptr ? nullptr : static_cast<const char*>(array) + bytes;
    }

    // Returns where the first row begins.
    template <class Index>
    static std::int64_t copy_offsets(const Rows& rows, std::int64_t first, std::int64_t count, std::vector<Index>& to) {
        const auto* const from = static_cast<const Index*>(rows.offsets) + first;
        const std::int64_t begin = std::clamp<std::int64_t>(from[0], 0, rows.stored);
        to.resize(static_cast<std::size_t>(count) + 1);
        to[0] = 0;
        for (std::size_t i = 1; i < to.size(); ++i) {
            const std::int64_t last = begin + to[i - 1];
            to[i] = static_cast<Index>(std::clamp<std::int64_t>(from[i], last, rows.stored) - begin);
        }
        return begin;
    }

    std::vector<std::int32_t> short_;
    std::vector<std::int64_t> long_;
};

}  // namespace scwlearn
