// Text that Python passes to the parsers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "python/bindings.hpp"

namespace scwlearn {

using Text = Column<std::uint8_t>;

inline std::string_view view_of(const Text& text) { return {reinterpret_cast<const char*>(text.data()), text.size()}; }

// A copy of a text. Parsers look at a character more than once, and rely on what they saw first: on the newline at the end,
// on counts of lines. Another thread may change the memory of an array meanwhile, but not the copy, which takes a fiftieth of
// the time of parsing.
class OwnText {
public:
    explicit OwnText(const Text& text)
        : size_(text.size()), characters_(std::make_unique_for_overwrite<char[]>(text.size())) {
        const ReleaseGil release_gil;
        std::copy_n(view_of(text).data(), size_, characters_.get());
    }

    std::string_view view() const noexcept { return {characters_.get(), size_}; }
    bool ends_with(std::string_view any_of) const noexcept {
        return size_ == 0 || any_of.find(characters_[size_ - 1]) != std::string_view::npos;
    }

private:
    std::size_t size_;
    std::unique_ptr<char[]> characters_;
};

// Returns text of whole lines.
inline OwnText lines_of(const Text& text) {
    OwnText lines(text);
    require(lines.ends_with("\n"), "the text must end with a newline");
    return lines;
}

// Returns text of whole lines whose rows count in 31 bits.
inline OwnText short_lines_of(const Text& text) {
    require(text.size() <= std::numeric_limits<std::int32_t>::max(), "the text must be shorter than 2 GiB");
    return lines_of(text);
}

}  // namespace scwlearn
