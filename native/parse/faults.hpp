// How the parsers of line formats report errors.
#pragma once

#include <cstdint>
#include <string_view>

namespace scwlearn {

// An error, its line and column, counted from 1, and the text found there.
template <class Fault>
struct Found {
    Fault fault;
    std::int64_t line;
    std::int64_t column;
    std::string_view text;
};

}  // namespace scwlearn
