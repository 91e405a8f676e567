// Builds rows from the values of records: what a value of each kind means, for every format and interface.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>

#include "core/scan.hpp"
#include "parse/murmur.hpp"
#include "parse/name_table.hpp"
#include "parse/number.hpp"
#include "records/arena.hpp"
#include "records/dates.hpp"
#include "records/words.hpp"

namespace scwlearn {

// Upper bound on the characters of a key of several features: it is repeated in the name of each.
inline constexpr std::int64_t kLongestKey = 256;
// Upper bound on how deep objects are nested.
inline constexpr int kDeepest = 32;
// Upper bounds on the features of a record, on its interactions, and on the values of a batch.
inline constexpr std::size_t kMostFeatures = std::size_t{1} << 20, kMostCrossed = kMostFeatures,
                             kMostValues = std::size_t{1} << 26;
// Upper bound on the different features of a batch, whose names Python keeps.
inline constexpr std::size_t kMostNames = std::size_t{1} << 22;

// Why a record cannot be read, by the name that Python uses; its key and the value found there.
struct RecordFault {
    const char* fault = nullptr;
    std::string key;
    std::string found;
};

// The rows of a batch, as CSR arrays in the order of the records, and the names of their columns, which are numbered in the
// order of their appearance.
struct BuiltRows {
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> offsets = {0};
};

// For each record: begin with `begin_row`, add its values by key, end with `end_row`. If one of these returns false, `fault`
// says why, and the record is left out. Equal features of a record are added up.
class RowBuilder {
public:
    // A key of records, or a column of a table.
    struct Key {
        std::string_view name;
        Kind kind = Kind::automatic;
        bool long_name = false;
        bool declared = false;                  // whether the spec names it
        std::uint64_t groups = 0;               // one bit for each group of the spec that the key is in
        std::int64_t plain = -1;                // column of the feature that is called as the key
        std::uint32_t words = 0, grams = 0;     // spaces of "key=word" and "key~characters"; 0 if there are none yet
    };

    // The spec must outlive the builder.
    explicit RowBuilder(const FeatureSpec& spec, std::size_t most_values = kMostValues)
        : spec_(spec), words_(spec.text), most_values_(most_values) {
        spaces_.emplace_back();
        space_hashes_.emplace_back();
    }

    // Returns the key of that name; valid as long as the builder.
    Key& key(std::string_view name) {
        const auto keep = [this](std::string_view text) { return arena_.keep(text); };
        const std::uint32_t number = key_names_.number(name, 0, keep);
        if (number == keys_.size()) {
            Key& key = keys_.emplace_back();
            key.name = key_names_[number].text;
            key.kind = spec_.kind_of(name);
            key.declared = spec_.kinds.contains(name);
            key.long_name = utf8_count(name) > kLongestKey;
            key.groups = groups_of(name);
        }
        return keys_[number];
    }

    void begin_row() noexcept {
        has_unused_ |= is_open_;
        is_open_ = true;
        ++serial_;
        entries_.clear();
        fault_ = {};
        drop_open_row();
    }

    // Whether an object, a value of the key, is left out as a whole.
    static bool skips_object(const Key& key) noexcept { return key.kind == Kind::ignore && key.declared; }

    // Whether the value of a key may be an object, within `depth` others; if not, reports the fault.
    bool may_nest(const Key& key, int depth) {
        if (depth >= kDeepest) return fail("depth", key, {});
        return !key.long_name || fail("prefix", key, key.name);
    }

    // A number, or NaN for a missing one where the spec allows it.
    bool add_number(Key& key, double value) {
        if (key.kind == Kind::ignore || (std::isnan(value) && spec_.nan_is_missing)) return true;
        if (!spec_.missing.empty() && is_marked_missing(text_of(value))) return true;
        if (!acceptable(value)) return fail("range", key, text_of(value));
        if (key.kind == Kind::categorical) return add_word(key, text_of(value));
        if (key.kind == Kind::text) return fail("text", key, text_of(value));
        if (key.kind == Kind::date) return fail("date", key, text_of(value));
        return add_plain(key, value);
    }

    // A number. `text()` returns how it is written, for a whole one with all of its digits, which names a category.
    template <class Text>
    bool add_integer(Key& key, double value, const Text& text) {
        if (key.kind != Kind::categorical || !acceptable(value)) [[likely]] return add_number(key, value);
        const std::string written = text();
        return is_marked_missing(written) || add_word(key, written);
    }

    bool add_bool(Key& key, bool value) {
        if (key.kind == Kind::categorical) return add_word(key, value ? "true" : "false");
        return add_number(key, value ? 1.0 : 0.0);
    }

    // Column of the numbers of a key. It may never occur.
    std::int32_t number_column(Key& key) {
        has_unused_ = true;
        if (key.plain < 0) key.plain = column_of(0, key.name);
        return static_cast<std::int32_t>(key.plain);
    }

    // Adds numbers of different columns to a row that has nothing else, and without interactions. `stride` separates them.
    // Adds none and returns false if one is not acceptable.
    bool add_numbers(const double* numbers, std::size_t stride, const std::vector<std::int32_t>& columns) {
        const std::size_t begin = rows_.values.size();
        rows_.values.resize(begin + columns.size());
        rows_.columns.resize(begin + columns.size());
        std::size_t end = begin;
        bool good = true;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const double value = numbers[i * stride];
            rows_.values[end] = value;
            rows_.columns[end] = columns[i];
            end += value != 0.0;
            good &= acceptable(value);
        }
        rows_.values.resize(good ? end : begin);
        rows_.columns.resize(rows_.values.size());
        return good;
    }

    // A string, valid UTF-8.
    bool add_string(Key& key, std::string_view text) {
        if (key.kind == Kind::ignore || text.empty() || is_marked_missing(text)) return true;
        switch (key.kind) {
            case Kind::numeric: return add_number_text(key, text);
            case Kind::date: return add_date_text(key, text);
            case Kind::text: return add_text(key, text);
            default: return add_word(key, text);
        }
    }

    // A list of strings: each adds 1 to its feature, unless it is empty.
    bool add_list(Key& key, const std::vector<std::string_view>& words) {
        if (key.kind == Kind::ignore || words.empty()) return true;
        if (key.kind == Kind::numeric || key.kind == Kind::date) return fail("list", key, words[0]);
        if (!prefix(key, key.words, '=')) return false;
        if (std::find(words.begin(), words.end(), std::string_view()) == words.end()) return add_grams(key, words);
        std::vector<std::string_view> present(words);
        std::erase(present, std::string_view());
        return add_grams(key, present);
    }

    // A point in time.
    bool add_moment(Key& key, const Moment& moment) {
        if (key.kind == Kind::ignore) return true;
        if (key.kind != Kind::automatic && key.kind != Kind::date) return fail("moment", key, text_of(moment.seconds));
        if (key.long_name) return fail("prefix", key, key.name);
        if (!acceptable(moment.seconds)) return fail("range", key, text_of(moment.seconds));
        return each_date_feature(moment, [&](std::string_view suffix, double value) {
            if (suffix.empty()) return add_plain(key, value);
            text_.assign(key.name).append(suffix);
            return add_named(key, 0, text_, value, true);
        });
    }

    // A feature of the key with a name and a value of its own, as in VW text: `space` starts its name.
    bool add_named(Key& key, std::uint32_t space, std::string_view text, double value, bool numeric) {
        return value == 0.0 || add(key, column_of(space, text), value, numeric);
    }

    // Adds interactions; then the row is complete.
    bool end_row() {
        std::erase_if(entries_, [](const Entry& entry) { return entry.value == 0.0; });
        const std::size_t base = entries_.size();
        for (const std::vector<std::size_t>& groups : spec_.interactions)
            if (!cross(groups, base)) return false;
        if (rows_.values.size() + entries_.size() > most_values_ || (!is_hashed() && columns() > kMostNames)) {
            fault_ = {"batch", {}, std::to_string(entries_.size())};
            return false;
        }
        for (const Entry& entry : entries_) {
            if (entry.value == 0.0) continue;
            rows_.columns.push_back(static_cast<std::int32_t>(entry.column));
            rows_.values.push_back(entry.value);
        }
        rows_.offsets.push_back(static_cast<std::int32_t>(rows_.values.size()));
        is_open_ = false;
        return true;
    }

    const RecordFault& fault() const noexcept { return fault_; }
    // Reports a fault of a key; returns false.
    bool fail(const char* fault, const Key& key, std::string_view found) {
        constexpr std::size_t kShown = 100;  // enough for a message
        fault_ = {fault, std::string(key.name), std::string(found.substr(0, kShown))};
        return false;
    }

    const FeatureSpec& spec() const noexcept { return spec_; }
    // Whether there may be columns that occur only in records that were left out.
    bool has_unused() const noexcept { return has_unused_ || is_open_; }

    BuiltRows& rows() noexcept {
        drop_open_row();
        return rows_;
    }
    // Makes room for that many values, so that rows are not moved.
    void reserve(std::size_t values) {
        rows_.values.reserve(values);
        rows_.columns.reserve(values);
    }
    bool is_hashed() const noexcept { return spec_.slots > 0; }
    std::size_t columns() const noexcept { return spec_.slots ? hashes_.size() : names_.size(); }
    // The hash of each column, if names are hashed.
    const std::vector<std::uint32_t>& hashes() const noexcept { return hashes_; }

    // Whether the column has a name: not if it is a hashed interaction.
    bool has_name(std::size_t column) const noexcept { return !spec_.slots || hashed_names_[column].space != kCrossed; }
    void name_of(std::size_t column, std::string& name) const {
        const NameTable::Name& parts = spec_.slots ? hashed_names_[column] : names_[column];
        name.assign(spaces_[parts.space]).append(parts.text);
    }

    // The shortest text that reads back as the number.
    template <std::integral T>
    static std::string text_of(T value) {
        char text[32];
        return {text, std::to_chars(text, text + sizeof(text), value).ptr};
    }
    static std::string text_of(double value) {
        char text[32];
        if (value == std::floor(value) && std::abs(value) < 0x1p53) return text_of(static_cast<std::int64_t>(value));
        return {text, std::to_chars(text, text + sizeof(text), value).ptr};
    }

    // Returns the number of a prefix of names, such as "key=".
    std::uint32_t space(std::string_view start) {
        const auto keep = [this](std::string_view text) { return arena_.keep(text); };
        const std::uint32_t number = space_names_.number(start, 0, keep) + 1;
        if (number == spaces_.size()) {
            spaces_.push_back(space_names_[number - 1].text);
            space_hashes_.emplace_back(spaces_.back());
        }
        return number;
    }

    // Adds the n-grams of two words and more; `space` starts their names.
    bool add_named_grams(Key& key, std::uint32_t space, const std::vector<std::string_view>& words) {
        return words_.each_longer_gram(words, [&](std::string_view gram) { return add(key, column_of(space, gram), 1.0, false); });
    }

    // Adds words of a sequence and their n-grams.
    bool add_grams(Key& key, const std::vector<std::string_view>& words) {
        return words_.each_gram(words, [&](std::string_view gram) { return add(key, column_of(key.words, gram), 1.0, false); });
    }

private:
    struct Entry {
        std::uint32_t column;
        bool numeric;  // rather than the presence of a word
        double value;
        std::uint64_t groups;
    };
    struct Place {
        std::uint32_t hash = 0, column = 0;  // counted from 1; 0 if the place is free
    };
    struct Stamp {
        std::uint64_t serial = 0;
        std::size_t entry = 0;
    };
    static constexpr std::uint32_t kCrossed = ~std::uint32_t{0};

    // Drops the numbers of a row that has not ended.
    void drop_open_row() noexcept {
        rows_.values.resize(static_cast<std::size_t>(rows_.offsets.back()));
        rows_.columns.resize(rows_.values.size());
    }

    std::uint64_t groups_of(std::string_view key) const noexcept {
        std::uint64_t groups = 0;
        for (std::size_t i = 0; i < spec_.groups.size(); ++i) {
            const std::string_view group = spec_.groups[i];
            const std::string_view rest = key.starts_with(group) ? key.substr(group.size()) : std::string_view("?");
            const bool inside = key.starts_with(group) &&
                                (rest.empty() || rest.starts_with(spec_.separator) || rest.starts_with('^'));
            if (inside || group == kAllGroups) groups |= std::uint64_t{1} << i;
        }
        return groups;
    }

    bool add_number_text(Key& key, std::string_view given) {
        const std::string_view text = trimmed(given);
        double value = 0.0;
        if (is_no_number(text)) return true;
        if (is_one_of(text, {"true", "false"})) return add_bool(key, (text[0] | 0x20) == 't');
        if (!read_number_text(text, value)) return fail("numeric", key, given);
        return acceptable(value) ? add_number(key, value) : fail("range", key, given);
    }

public:
    // Whether the spec names a text as a missing value of any kind.
    bool is_marked_missing(std::string_view text) const noexcept {
        for (const std::string& mark : spec_.missing)
            if (mark == text) return true;
        return false;
    }

    // What stands for a missing number in tables.
    static bool is_no_number(std::string_view text) noexcept {
        return is_one_of(text, {"", "na", "n/a", "nan", "nat", "null", "none", "?"});
    }

    // Whether a text, in upper or lower case, is one of some words.
    static bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) noexcept {
        const auto same = [](char c, char lower) { return (c >= 'A' && c <= 'Z' ? c | 0x20 : c) == lower; };
        for (const std::string_view word : words)
            if (std::equal(text.begin(), text.end(), word.begin(), word.end(), same)) return true;
        return false;
    }

    static std::string_view trimmed(std::string_view text) noexcept {
        constexpr std::string_view kBlank = " \t\r\n\f\v";
        const std::size_t begin = text.find_first_not_of(kBlank);
        if (begin == std::string_view::npos) return {};
        return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
    }

    // Reads a whole text as a number with the decimal mark of the spec.
    bool read_number_text(std::string_view text, double& value) {
        number_.assign(text).push_back('\n');
        if (spec_.decimal != '.') {
            if (text.find('.') != std::string_view::npos) return false;
            std::replace(number_.begin(), number_.end(), spec_.decimal, '.');
        }
        return read_number(number_.data(), number_.data() + number_.size(), value) == number_.data() + text.size();
    }

private:
    bool add_date_text(Key& key, std::string_view given) {
        const std::string_view text = trimmed(given);
        if (is_no_number(text)) return true;
        const std::optional<Moment> moment = DateParser(text).parse();
        return moment ? add_moment(key, *moment) : fail("date", key, given);
    }

    bool add_text(Key& key, std::string_view text) {
        const std::vector<std::string_view>& words = words_.split(text);
        if (words.empty()) return true;
        if (!prefix(key, key.words, '=') || !add_grams(key, words)) return false;
        if (spec_.text.char_most == 0) return true;
        if (!prefix(key, key.grams, '~')) return false;
        return words_.each_char_gram(words, [&](std::string_view gram) { return add(key, column_of(key.grams, gram), 1.0, false); });
    }

    bool add_word(Key& key, std::string_view word) {
        return prefix(key, key.words, '=') && add(key, column_of(key.words, word), 1.0, false);
    }

    bool add_plain(Key& key, double value) {
        if (value == 0.0) return true;
        if (key.plain < 0) key.plain = column_of(0, key.name);
        return add(key, static_cast<std::uint32_t>(key.plain), value, true);
    }

    // Makes the space of the key's features, unless it is there.
    bool prefix(Key& key, std::uint32_t& space, char mark) {
        if (space != 0) return true;
        if (key.long_name) return fail("prefix", key, key.name);
        text_.assign(key.name).push_back(mark);
        space = this->space(text_);
        return true;
    }

    std::uint32_t column_of(std::uint32_t space, std::string_view text) {
        const auto keep = [this](std::string_view kept) { return arena_.keep(kept); };
        if (spec_.slots == 0) return names_.number(text, space, keep);
        const auto [column, is_new] = hash_column(space_hashes_[space].with(text));
        if (is_new)
            hashed_names_.push_back({keep(text), space});
        else if (hashed_names_[column].space == kCrossed)
            hashed_names_[column] = {keep(text), space};
        return column;
    }

    std::pair<std::uint32_t, bool> hash_column(std::uint32_t hash) {
        if (2 * hashes_.size() >= places_.size()) {
            places_.assign(std::max<std::size_t>(1024, 4 * places_.size()), {});
            for (std::size_t i = 0; i < hashes_.size(); ++i) place_of(hashes_[i]) = {hashes_[i], static_cast<std::uint32_t>(i + 1)};
        }
        Place& place = place_of(hash);
        if (place.column != 0) return {place.column - 1, false};
        hashes_.push_back(hash);
        place = {hash, static_cast<std::uint32_t>(hashes_.size())};
        return {place.column - 1, true};
    }

    Place& place_of(std::uint32_t hash) noexcept {
        std::size_t at = hash & (places_.size() - 1);
        while (places_[at].column != 0 && places_[at].hash != hash) at = (at + 1) & (places_.size() - 1);
        return places_[at];
    }

    bool add(const Key& key, std::uint32_t column, double value, bool numeric) {
        if (entries_.size() >= kMostFeatures) return fail("many", key, {});
        if (!add_to(column, value, numeric, key.groups)) return fail("sum", key, text_of(value));
        return true;
    }

    // Returns whether the sum is acceptable.
    bool add_to(std::uint32_t column, double value, bool numeric, std::uint64_t groups) {
        if (column >= stamps_.size()) stamps_.resize(std::max<std::size_t>(2 * stamps_.size(), column + 64));
        Stamp& stamp = stamps_[column];
        if (stamp.serial == serial_) {
            Entry& entry = entries_[stamp.entry];
            entry.value += value;
            entry.groups |= groups;
            return acceptable(entry.value);
        }
        stamp = {serial_, entries_.size()};
        entries_.push_back({column, numeric, value, groups});
        return true;
    }

    // Adds the products of one feature from each group, out of the first `base` ones. Features that are in the groups of two
    // places meet once, in the order of their names; a word does not meet itself.
    bool cross(const std::vector<std::size_t>& groups, std::size_t base) {
        if (groups.size() > members_.size()) members_.resize(groups.size());
        std::size_t count = 1;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            members_[i].clear();
            for (std::size_t e = 0; e < base; ++e)
                if (entries_[e].groups >> groups[i] & 1) members_[i].push_back(e);
            count *= members_[i].size();
            if (count > kMostCrossed) {
                fault_ = {"cross", spec_.groups[groups[i]], std::to_string(count)};
                return false;
            }
        }
        chosen_.resize(groups.size());
        return count == 0 || cross_from(groups, 0, 1.0);
    }

    bool cross_from(const std::vector<std::size_t>& groups, std::size_t place, double value) {
        if (place == groups.size()) return add_crossed(value);
        for (const std::size_t entry : members_[place]) {
            if (!is_next(groups, place, entry)) continue;
            chosen_[place] = entry;
            if (!cross_from(groups, place + 1, value * entries_[entry].value)) return false;
        }
        return true;
    }

    // Whether a feature may follow those that are chosen for the places before it.
    bool is_next(const std::vector<std::size_t>& groups, std::size_t place, std::size_t entry) {
        for (std::size_t before = 0; before < place; ++before) {
            const std::size_t other = chosen_[before];
            if (other == entry && !entries_[entry].numeric) return false;
            if (other == entry) continue;
            const bool could_swap = (entries_[entry].groups >> groups[before] & 1) &&
                                    (entries_[other].groups >> groups[place] & 1);
            if (could_swap && is_before(entries_[entry].column, entries_[other].column)) return false;
        }
        return true;
    }

    // Whether the name of a column sorts before that of another.
    bool is_before(std::uint32_t column, std::uint32_t other) {
        name_of(column, text_);
        name_of(other, crossed_);
        return text_ < crossed_;
    }

    bool add_crossed(double value) {
        crossed_.clear();
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            const std::uint32_t column = entries_[chosen_[i]].column;
            const NameTable::Name& parts = spec_.slots ? hashed_names_[column] : names_[column];
            if (i > 0) crossed_ += '*';
            crossed_.append(spaces_[parts.space]).append(parts.text);
        }
        std::uint32_t column = 0;
        if (spec_.slots) {
            const auto [found, is_new] = hash_column(murmur3(crossed_));
            if (is_new) hashed_names_.push_back({{}, kCrossed});
            column = found;
        } else {
            column = names_.number(crossed_, 0, [this](std::string_view kept) { return arena_.keep(kept); });
        }
        if (acceptable(value) && add_to(column, value, true, 0)) return true;
        fault_ = {"sum", crossed_.substr(0, 100), text_of(value)};
        return false;
    }

    const FeatureSpec& spec_;
    Words words_;
    std::size_t most_values_;
    Arena arena_;
    NameTable key_names_;
    std::deque<Key> keys_;
    NameTable space_names_;                   // of the spaces from 1 on
    std::vector<std::string_view> spaces_;    // 0 is the empty one
    std::vector<Murmur3> space_hashes_;
    NameTable names_;                         // of columns, if they are not hashed
    std::vector<NameTable::Name> hashed_names_;
    std::vector<std::uint32_t> hashes_;
    std::vector<Place> places_;               // hash table of columns
    BuiltRows rows_;
    std::uint64_t serial_ = 0;                // of the current row
    bool is_open_ = false;                    // whether it has begun and has not ended
    bool has_unused_ = false;
    std::vector<Entry> entries_;              // of the current row
    std::vector<Stamp> stamps_;               // for each column, its entry in the row of that serial number
    RecordFault fault_;
    std::vector<std::vector<std::size_t>> members_;
    std::vector<std::size_t> chosen_;
    std::string text_, number_, crossed_;
};

}  // namespace scwlearn
