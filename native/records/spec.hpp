// How records become features: the kind of each key, words of text, missing values, interactions, hashing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/dates.hpp"
#include "records/kinds.hpp"

namespace scwlearn {

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

// An interaction lists groups; `kAllGroups` stands for every key. A key is in a group if it is the group, or if the group
// starts it and the separator, or a mark of the name of a feature, is behind it.
inline constexpr std::size_t kMostGroups = 64;
inline constexpr std::string_view kAllGroups = "*";

struct FeatureSpec {
    Kinds kinds;
    Kind others = Kind::automatic;     // of all other keys
    std::string separator = ".";       // joins the keys of nested objects
    TextForm text;
    char decimal = '.';
    bool nan_is_missing = false;
    std::vector<std::string> missing;  // texts that stand for a missing value of any kind
    std::vector<std::string> groups;
    std::vector<std::vector<std::size_t>> interactions;  // numbers of groups
    std::int64_t slots = 0;  // number of features if names are hashed, else 0

    // A key that is the name of a feature, such as "key=string", is a number, unless the key that it comes from is left out.
    Kind kind_of(const std::optional<Owner>& owner) const noexcept {
        if (!owner) return others;
        if (owner->mark == '\0') return owner->kind;
        if (is_left_out(owner->kind)) return Kind::ignore;
        if (owner->mark != '^') return Kind::numeric;
        return others == Kind::ignore ? Kind::automatic : others;
    }
    Kind kind_of(std::string_view key) const { return kind_of(kinds.owner_of(key)); }

    // The groups that a key, or the name of a feature, is in: one bit for each.
    std::uint64_t groups_of(std::string_view key) const noexcept {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const std::string_view group = groups[i];
            const std::string_view rest = key.starts_with(group) ? key.substr(group.size()) : std::string_view("?");
            const bool inside = rest.empty() || rest.starts_with(separator) || rest[0] == '^' || rest[0] == '=' || rest[0] == '~';
            // "sent.hour" stands for both of its coordinates, whatever joins nested keys.
            const std::size_t point = inside || rest[0] != '.' ? std::string_view::npos : group.rfind('.');
            const bool is_part = point != std::string_view::npos && is_date_part(key.substr(point));
            if (inside || is_part || group == kAllGroups) found |= std::uint64_t{1} << i;
        }
        return found;
    }
};

}  // namespace scwlearn
