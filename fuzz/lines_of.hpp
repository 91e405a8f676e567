// What the fuzz targets of line formats share: options and lines of an input, and checks of the result.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace scwlearn {

// Aborts, which libFuzzer reports, if a promise is broken.
inline void promise(bool kept) {
    if (!kept) std::abort();
}

// The last byte of an input chooses options, so that a corpus is readable text; the rest are lines, in memory that ends
// with them.
class Chosen {
public:
    Chosen(const std::uint8_t* data, std::size_t size) : options_(size > 0 ? data[size - 1] : 0), size_(size > 0 ? size : 1) {
        text_ = std::make_unique<char[]>(size_);
        if (size_ > 1) std::memcpy(text_.get(), data, size_ - 1);
        text_[size_ - 1] = '\n';
    }

    bool flag(int bit) const { return (options_ >> bit & 1) != 0; }
    std::string_view lines() const { return {text_.get(), size_}; }

private:
    std::uint8_t options_;
    std::size_t size_;
    std::unique_ptr<char[]> text_;
};

// Checks that an error is where it is reported.
inline void promise_place(std::string_view lines, std::int64_t line, std::int64_t column, std::string_view found) {
    std::size_t begin = 0;
    for (std::int64_t i = 1; i < line; ++i) begin = lines.find('\n', begin) + 1;
    promise(lines.data() + begin + column - 1 == found.data());
    promise(found.data() + found.size() <= lines.data() + lines.find('\n', begin));
}

}  // namespace scwlearn
