// The columns of the features of a batch, numbered in the order of their appearance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/murmur.hpp"
#include "parse/name_table.hpp"
#include "parse/secret.hpp"
#include "records/arena.hpp"

namespace scwlearn {

// A column is a name or, if names are hashed, the hash of one. Where names are part of those of interactions, two with the same
// hash have two columns: what a record means must not depend on the names in others. A name is a prefix, such as "key=", and a
// text: each prefix is stored, and hashed, once.
class Columns {
public:
    Columns(bool is_hashed, bool has_interactions) : is_hashed_(is_hashed), has_interactions_(has_interactions) {
        prefixes_.emplace_back();
        prefix_hashes_.emplace_back();
    }

    // Returns the number of a prefix; 0 is the empty one.
    std::uint32_t prefix(std::string_view text) {
        const std::uint32_t number = prefix_names_.number(text, 0, arena_) + 1;
        if (number == prefixes_.size()) {
            prefixes_.push_back(prefix_names_[number - 1].text);
            prefix_hashes_.emplace_back(prefixes_.back());
        }
        return number;
    }

    std::string_view prefix_text(std::uint32_t prefix) const noexcept { return prefixes_[prefix]; }

    // Returns the column of a name.
    std::uint32_t number(std::uint32_t prefix, std::string_view text) {
        if (!is_hashed_) return names_.number(text, prefix, arena_);
        if (has_interactions_) return named_column(prefix, text);
        const auto [column, is_new] = hash_column(prefix_hashes_[prefix].with(text));
        if (is_new)
            hashed_names_.push_back({arena_.keep(text), prefix});
        return column;
    }

    // Returns the column of a name that is not kept if it is hashed: that of an interaction.
    std::uint32_t unnamed(std::string_view name) {
        if (!is_hashed_) return number(0, name);
        const auto [column, is_new] = hash_column(murmur3(name));
        if (is_new) hashed_names_.push_back({{}, kUnnamed});
        return column;
    }

    std::size_t size() const noexcept { return is_hashed_ ? hashes_.size() : names_.size(); }
    // The bytes of all names.
    std::size_t bytes() const noexcept { return arena_.kept(); }
    bool is_hashed() const noexcept { return is_hashed_; }
    // The hash of each column, if names are hashed.
    const std::vector<std::uint32_t>& hashes() const noexcept { return hashes_; }

    bool has_name(std::size_t column) const noexcept { return !is_hashed_ || hashed_names_[column].space != kUnnamed; }
    void append_name(std::size_t column, std::string& text) const {
        const NameTable::Name& name = is_hashed_ ? hashed_names_[column] : names_[column];
        text.append(prefixes_[name.space]).append(name.text);
    }
    void name_of(std::size_t column, std::string& name) const {
        name.clear();
        append_name(column, name);
    }

private:
    struct Place {
        std::uint32_t hash = 0, column = 0;  // counted from 1; 0 if the place is free
    };
    static constexpr std::uint32_t kUnnamed = ~std::uint32_t{0};

    std::uint32_t named_column(std::uint32_t prefix, std::string_view text) {
        const std::uint32_t name = names_.number(text, prefix, arena_);
        if (name == named_columns_.size()) {
            named_columns_.push_back(static_cast<std::uint32_t>(hashes_.size()));
            hashes_.push_back(prefix_hashes_[prefix].with(text));
            hashed_names_.push_back(names_[name]);
        }
        return named_columns_[name];
    }

    // Returns the column of a hash, and whether it is new.
    std::pair<std::uint32_t, bool> hash_column(std::uint32_t hash) {
        if (2 * hashes_.size() >= places_.size()) {
            places_.assign(std::max<std::size_t>(1024, 4 * places_.size()), {});
            for (std::size_t i = 0; i < hashes_.size(); ++i)
                if (!has_interactions_ || !has_name(i)) place_of(hashes_[i]) = {hashes_[i], static_cast<std::uint32_t>(i + 1)};
        }
        Place& place = place_of(hash);
        if (place.column != 0) return {place.column - 1, false};
        hashes_.push_back(hash);
        place = {hash, static_cast<std::uint32_t>(hashes_.size())};
        return {place.column - 1, true};
    }

    // The hash is known to everybody, but not where it begins to probe. That changes no column.
    Place& place_of(std::uint32_t hash) {
        const auto& key = secret_key();
        std::size_t at = static_cast<std::size_t>(mixed(hash ^ key[0], key[1])) & (places_.size() - 1);
        while (places_[at].column != 0 && places_[at].hash != hash) at = (at + 1) & (places_.size() - 1);
        return places_[at];
    }

    bool is_hashed_, has_interactions_;
    Arena arena_;
    NameTable prefix_names_;                   // of the prefixes from 1 on
    std::vector<std::string_view> prefixes_;
    std::vector<Murmur3> prefix_hashes_;
    NameTable names_;                          // of the columns, unless they are hashes
    std::vector<std::uint32_t> named_columns_;  // of the names, if hashes are the columns of interactions
    std::vector<NameTable::Name> hashed_names_;
    std::vector<std::uint32_t> hashes_;
    std::vector<Place> places_;                // hash table of columns that are hashes
};

}  // namespace scwlearn
