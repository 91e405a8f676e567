// Fuzz the tables of names against a map: names that an attacker chose to collide, and names that are taken back.
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "parse/name_table.hpp"
#include "records/arena.hpp"
#include "records/columns.hpp"

namespace scwlearn {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

constexpr std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;
    for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
    return inverse;
}

// Returns a name of 16 bytes that has, without a key, the same hash as all others of its namespace.
std::string colliding_name(std::uint32_t number, std::uint32_t space) {
    std::uint64_t words[2] = {number, 0};
    const std::uint64_t start = (16 + kOdd) ^ (std::uint64_t{space} << 32);
    words[1] = std::rotl((start ^ words[0]) * kOdd, 29) ^ std::rotr(std::uint64_t{7}, 29) * inverse_of(kOdd);
    return {reinterpret_cast<const char*>(words), sizeof(words)};
}

std::string draw_name(Input& input, std::uint32_t space) {
    switch (input.below(4)) {
        case 0: return std::to_string(input.byte());
        case 1: return std::string(input.below(40), static_cast<char>(input.byte()));
        case 2: return colliding_name(static_cast<std::uint32_t>(input.below(256)), space);
        default: {
            std::string name(input.below(24), '\0');
            input.fill(name.data(), name.size());
            return name;
        }
    }
}

void run_table(Input& input) {
    NameTable table;
    Arena arena;
    std::vector<std::pair<std::string, std::uint32_t>> names;
    std::unordered_map<std::string, std::uint32_t> numbers[3];  // of each namespace
    const auto look_up = [&](const std::string& name, std::uint32_t space) {
        const auto [found, is_new] = numbers[space].try_emplace(name, static_cast<std::uint32_t>(names.size()));
        if (is_new) names.emplace_back(name, space);
        promise(table.number(name, space, arena) == found->second);
    };
    for (int bulk = 2; !input.empty();) {
        const auto space = static_cast<std::uint32_t>(input.below(3));
        switch (input.below(8)) {
            case 0: {
                const std::size_t size = names.size() - std::min(names.size(), input.below(64) * input.below(8));
                table.shrink(size);
                for (; names.size() > size; names.pop_back()) numbers[names.back().second].erase(names.back().first);
                break;
            }
            case 1:  // many names that differ, or collide; a few times only, so that inputs are quick
                for (std::uint32_t i = 0, count = bulk > 0 ? input.byte() * 2u : 0; i < count; ++i)
                    look_up(space == 0 ? std::to_string(i) : colliding_name(i, space), space);
                --bulk;
                break;
            default: look_up(draw_name(input, space), space);
        }
        promise(table.size() == names.size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        promise(table[i].text == names[i].first && table[i].space == names[i].second);
        look_up(names[i].first, names[i].second);
    }
}

void run_columns(Input& input) {
    const bool hashed = input.flag(), crossed = input.flag();
    Columns columns(hashed, crossed);
    std::map<std::string, std::uint32_t> numbers;  // by name, or by hash
    while (!input.empty()) {
        const std::string prefix = input.flag() ? "" : draw_name(input, 0) + "=";
        const std::string text = draw_name(input, 1), name = prefix + text;
        const bool named = !crossed || input.flag();
        const std::uint32_t column = named ? columns.number(prefix.empty() ? 0 : columns.prefix(prefix), text) : columns.unnamed(name);
        const std::uint32_t hash = murmur3(name);
        if (hashed) promise(columns.hashes()[column] == hash && columns.has_name(column) == named);
        std::string key = std::to_string(hash);
        if (!hashed || (crossed && named)) {
            // Another prefix gives the same name another column: "a=" and "b", or "" and "a=b".
            std::string found;
            columns.name_of(column, found);
            promise(found == name);
            key = (named ? std::to_string(prefix.size()) : "0") + "|" + name;
        }
        promise(numbers.try_emplace(key, column).first->second == column);
    }
    promise(hashed ? columns.size() == numbers.size() : columns.size() <= numbers.size());
}

}  // namespace

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    Input input(data, size);
    if (input.flag()) run_table(input);
    else run_columns(input);
    return 0;
}
