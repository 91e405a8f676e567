// The declared kinds of keys, and the key that a feature comes from, as its name says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "records/dates.hpp"

namespace scwlearn {

// What the values of a key are. `automatic`: the type of each value decides. `string`: a category that is written as it is, even
// if it is the text of a bool. The label and the weight are not features.
enum class Kind : std::uint8_t { automatic, numeric, categorical, string, text, date, ignore, label, weight };

inline bool is_left_out(Kind kind) noexcept { return kind == Kind::ignore || kind == Kind::label || kind == Kind::weight; }

// The declared key that a name belongs to, and what follows it there: nothing if the name is the key, '=' before a string, '~'
// before characters, '^' behind a namespace, '.' before a part of a date.
struct Owner {
    std::string_view key;
    Kind kind;
    char mark;

    // Whether the name is that of a word's feature.
    bool has_word() const noexcept { return mark == '=' || mark == '~'; }
};

class Kinds {
public:
    Kinds() = default;
    Kinds(std::initializer_list<std::pair<const std::string, Kind>> given) { insert(given); }

    void insert(std::initializer_list<std::pair<const std::string, Kind>> given) {
        for (const auto& [key, kind] : given) emplace(key, kind);
    }
    void emplace(std::string_view key, Kind kind) {
        const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), key.size(), std::greater<>());
        if (at == lengths_.end() || *at != key.size()) lengths_.insert(at, key.size());
        kinds_.emplace(key, kind);
    }
    // The length stays, which only costs time.
    void erase(const std::string& key) { kinds_.erase(key); }

    bool empty() const noexcept { return kinds_.empty(); }
    bool contains(std::string_view key) const { return kinds_.contains(key); }
    auto begin() const noexcept { return kinds_.begin(); }
    auto end() const noexcept { return kinds_.end(); }

    // The longest declared key that a name belongs to, if there is one. The work is bounded by what is declared, not by the
    // name.
    std::optional<Owner> owner_of(std::string_view name) const {
        const auto first = std::lower_bound(lengths_.begin(), lengths_.end(), name.size(), std::greater<>());
        for (auto length = first; length != lengths_.end(); ++length) {
            const std::string_view rest = name.substr(*length);
            if (!rest.empty() && std::string_view("=~^").find(rest[0]) == std::string_view::npos && !is_date_part(rest)) continue;
            const auto found = kinds_.find(name.substr(0, *length));
            if (found == kinds_.end() || !has_feature(found->second, rest)) continue;
            return Owner{found->first, found->second, rest.empty() ? '\0' : rest[0]};
        }
        return std::nullopt;
    }

private:
    // Allows lookups by views.
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    // Whether a key of that kind has features whose names go on so behind it.
    static bool has_feature(Kind kind, std::string_view rest) noexcept {
        if (rest.empty() || is_left_out(kind)) return true;
        switch (rest[0]) {
            case '=': return kind == Kind::categorical || kind == Kind::string || kind == Kind::text || kind == Kind::automatic;
            case '~': return kind == Kind::text;
            case '.': return kind == Kind::date || kind == Kind::automatic;
            default: return kind == Kind::automatic;  // a namespace has no other kind
        }
    }

    std::unordered_map<std::string, Kind, Hash, std::equal_to<>> kinds_;
    std::vector<std::size_t> lengths_;  // of the keys, each once, the longest first
};

}  // namespace scwlearn
