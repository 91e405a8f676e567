// What the parsers of line formats share: how faults are told.
#pragma once

#include <cstdint>
#include <string_view>

namespace scwlearn {

// A fault, its line and column, counted from 1, and what was found there.
template <class Fault>
struct Found {
    Fault fault;
    std::int64_t line;
    std::int64_t column;
    std::string_view text;
};

}  // namespace scwlearn
