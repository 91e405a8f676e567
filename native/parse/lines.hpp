// What the parsers of line formats share: their options, and how they report errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace scwlearn {

struct LineForm {
    bool labels_optional = false;
    // Whether to continue after a line with an error, and how many errors to describe.
    bool skip_faults = false;
    std::size_t most_found = 1;
    // Whether to stop before the end of the text once the rows fill a batch.
    bool in_parts = false;
};

// An error, by the name that Python uses, its line and column, counted from 1, and the text found there.
struct Found {
    const char* fault;
    std::int64_t line;
    std::int64_t column;
    std::string_view text;
};

struct ParsedLines {
    std::int64_t lines = 0;
    std::int64_t faulty = 0;        // lines with an error
    std::size_t used = 0;           // characters of these lines; all of the text, unless the rows fill a batch
    std::vector<Found> found = {};  // the first errors
};

// The text ends with a newline.
template <class Form, class Parsed>
class LineParser {
protected:
    explicit LineParser(Form form) : form_(std::move(form)) {}

    static std::string_view view(const char* begin, const char* end) noexcept {
        return {begin, static_cast<std::size_t>(end - begin)};
    }

    // Reports an error in the current line.
    void add_fault(const char* fault, const char* begin, const char* end) {
        ++parsed_.faulty;
        if (parsed_.found.size() < form_.most_found)
            parsed_.found.push_back({fault, parsed_.lines, begin - line_ + 1, view(begin, end)});
    }

    Form form_;
    Parsed parsed_;
    const char* line_ = nullptr;  // start of the current line
    const char* end_ = nullptr;   // end of the text
};

}  // namespace scwlearn
