// Fuzz the number parser: it takes what the grammar allows, and gives the bits that strtod gives.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "inputs.hpp"
#include "parse/number.hpp"

namespace scwlearn {

namespace {

// Returns how many characters of a text are a number; 0 if none.
std::size_t number_length(std::string_view text, bool json) {
    const auto digits = [&](std::size_t at) {
        std::size_t count = 0;
        while (text[at + count] >= '0' && text[at + count] <= '9') ++count;
        return count;
    };
    std::size_t at = text[0] == '-' || (!json && text[0] == '+');
    const std::size_t whole = digits(at);
    if (json && (whole == 0 || (whole > 1 && text[at] == '0'))) return 0;
    at += whole;
    std::size_t places = 0;
    if (text[at] == '.') {
        places = digits(++at);
        if (json && places == 0) return 0;
        at += places;
    }
    if (whole + places == 0) return 0;
    if (text[at] != 'e' && text[at] != 'E') return at;
    ++at;
    at += text[at] == '-' || text[at] == '+';
    const std::size_t exponent = digits(at);
    return exponent == 0 ? 0 : at + exponent;
}

template <bool kJson>
void check(std::string_view line) {
    double value = 0.0;
    const char* const end = read_number<kJson>(line.data(), line.data() + line.size(), value);
    const std::size_t length = number_length(line, kJson);
    promise(length == 0 ? end == nullptr : end == line.data() + length);
    if (length == 0) return;
    const double expected = std::strtod(std::string(line.substr(0, length)).c_str(), nullptr);
    promise(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(expected));
}

// In memory that ends with the text.
void check_text(std::string_view text) {
    const auto memory = std::make_unique<char[]>(text.size() + 1);
    text.copy(memory.get(), text.size());
    memory[text.size()] = '\n';
    check<false>({memory.get(), text.size() + 1});
    check<true>({memory.get(), text.size() + 1});
}

// Writes a double, and the middle between it and the next one, where rounding is decided by the last digit.
void check_hard_numbers(Input& input) {
    std::uint64_t bits = 0;
    input.fill(&bits, sizeof(bits));
    // Some of all exponents, more of those that occur.
    if (input.flag()) bits = (bits & 0x800fffffffffffff) | (std::uint64_t{1023} - 64 + input.below(128)) << 52;
    const auto number = std::bit_cast<double>(bits);
    if (!(number - number == 0.0)) return;
    char text[1200];
    std::snprintf(text, sizeof(text), "%.*e", static_cast<int>(input.below(20)), number);
    check_text(text);
    check_text(text_of(number));
    // Both have at most 53 bits, so that 64 are enough for their middle.
    const auto next = std::bit_cast<double>(bits + 1);
    if (!(next - next == 0.0)) return;
    std::snprintf(text, sizeof(text), "%.1100Lf", (static_cast<long double>(number) + static_cast<long double>(next)) / 2);
    check_text(text);
    std::string changed(text);
    changed.resize(1 + input.byte() * 5 % changed.size());
    check_text(changed);
    changed += static_cast<char>('0' + input.below(10));
    check_text(changed + "e" + std::to_string(static_cast<int>(input.byte()) - 128));
}

}  // namespace

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size);
    if (chosen.flag(0)) {
        Input input(data, size);
        check_hard_numbers(input);
        return 0;
    }
    check<false>(chosen.lines());
    check<true>(chosen.lines());
    return 0;
}
