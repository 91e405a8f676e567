// What the fuzz targets share: texts and numbers from an input, and checks of the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "records/row_builder.hpp"

namespace scwlearn {

// Aborts, which libFuzzer reports, if a promise is broken.
inline void promise(bool kept) {
    if (!kept) std::abort();
}

// The last bytes of an input choose options, so that a corpus is readable text; the rest are lines, in memory that ends
// with them.
class Chosen {
public:
    Chosen(const std::uint8_t* data, std::size_t size, std::size_t options = 1) {
        const std::size_t length = size > options ? size - options : 0;
        options_.assign(options, '\0');
        std::copy(data + length, data + size, options_.begin());
        size_ = length + 1;
        text_ = std::make_unique<char[]>(size_);
        if (length > 0) std::memcpy(text_.get(), data, length);
        text_[length] = '\n';
    }

    bool flag(int bit) const { return (options_[0] >> bit & 1) != 0; }
    const std::string& options() const { return options_; }
    std::string_view lines() const { return {text_.get(), size_}; }

private:
    std::string options_;
    std::size_t size_;
    std::unique_ptr<char[]> text_;
};

// Draws numbers from an input; behind its end, all are 0.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : p_(data), end_(data + size) {}
    explicit Input(const std::string& text) : Input(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) {}

    bool empty() const noexcept { return p_ == end_; }
    std::uint8_t byte() noexcept { return p_ == end_ ? 0 : *p_++; }
    std::size_t below(std::size_t limit) noexcept { return byte() % limit; }
    bool flag() noexcept { return (byte() & 1) != 0; }
    void fill(void* out, std::size_t size) noexcept {
        const std::size_t count = std::min(size, static_cast<std::size_t>(end_ - p_));
        std::memset(out, 0, size);
        if (count > 0) std::memcpy(out, p_, count);
        p_ += count;
    }

private:
    const std::uint8_t *p_, *end_;
};

// Checks that an error is where it is reported.
inline void promise_place(std::string_view lines, std::int64_t line, std::int64_t column, std::string_view found) {
    std::size_t begin = 0;
    for (std::int64_t i = 1; i < line; ++i) begin = lines.find('\n', begin) + 1;
    promise(lines.data() + begin + column - 1 == found.data());
    promise(found.data() + found.size() <= lines.data() + lines.find('\n', begin));
}

// Checks that a builder holds that many rows of features with valid names, each at most once in a row.
inline void promise_rows(RowBuilder& builder, std::size_t count) {
    const BuiltRows& rows = builder.rows();
    const Columns& columns = builder.columns();
    promise(rows.offsets.size() == count + 1 && rows.offsets[0] == 0);
    promise(std::is_sorted(rows.offsets.begin(), rows.offsets.end()));
    promise(rows.values.size() == rows.columns.size());
    promise(rows.offsets.back() == static_cast<std::int32_t>(rows.values.size()));
    std::vector<std::size_t> row_of(columns.size(), count);
    for (std::size_t row = 0; row < count; ++row) {
        for (auto j = static_cast<std::size_t>(rows.offsets[row]); j < static_cast<std::size_t>(rows.offsets[row + 1]); ++j) {
            promise(acceptable(rows.values[j]) && rows.values[j] != 0.0);
            const auto column = static_cast<std::size_t>(rows.columns[j]);
            promise(rows.columns[j] >= 0 && column < columns.size() && row_of[column] != row);
            row_of[column] = row;
        }
    }
    std::string name;
    for (std::size_t column = 0; column < columns.size(); ++column) {
        if (!columns.has_name(column)) continue;
        columns.name_of(column, name);
        promise(is_utf8(name));
    }
}

}  // namespace scwlearn
