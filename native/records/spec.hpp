// How records become features: the kind of each key, words of text, missing values, interactions, hashing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scwlearn {

// What the values of a key are. `automatic`: the type of each value decides. The label and the weight are not features.
enum class Kind : std::uint8_t { automatic, numeric, categorical, text, date, ignore, label, weight };

// Unicode tables; the defaults know ASCII only.
struct Letters {
    bool (*in_words)(char32_t) = [](char32_t c) {
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
    };
    char32_t (*lower)(char32_t) = [](char32_t c) -> char32_t { return c >= 'A' && c <= 'Z' ? c + U' ' : c; };
};

// How text becomes words.
struct TextForm {
    bool lowercase = true;
    std::size_t ngram = 1;  // words in a feature: from 1 to this many; 0 leaves words out
    std::size_t skips = 0;  // words that an n-gram may skip
    std::size_t char_least = 0, char_most = 0;  // n-grams of characters; none if char_most is 0
    std::size_t longest = 0;                    // characters of a word; the rest of a longer one is cut off
    Letters letters;
};

// Allows lookups by views.
struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// An interaction lists groups; `kAllGroups` stands for every key. A key is in a group if it is the group, or if the group
// with the separator or ^ behind it starts the key.
inline constexpr std::size_t kMostGroups = 64;
inline constexpr std::string_view kAllGroups = "*";

struct FeatureSpec {
    TextMap<Kind> kinds;
    Kind others = Kind::automatic;     // of all other keys
    std::string separator = ".";       // joins the keys of nested objects
    TextForm text;
    char decimal = '.';
    bool nan_is_missing = false;
    std::vector<std::string> missing;  // texts that stand for a missing value of any kind
    std::vector<std::string> groups;
    std::vector<std::vector<std::size_t>> interactions;  // numbers of groups
    std::int64_t slots = 0;  // number of features if names are hashed, else 0

    Kind kind_of(std::string_view key) const {
        const auto found = kinds.find(key);
        return found == kinds.end() ? others : found->second;
    }
};

}  // namespace scwlearn
