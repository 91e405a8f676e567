// Builds rows from the values of records: what a value of each kind means, for every format and interface.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/scan.hpp"
#include "parse/name_table.hpp"
#include "parse/number.hpp"
#include "records/arena.hpp"
#include "records/columns.hpp"
#include "records/dates.hpp"
#include "records/fault.hpp"
#include "records/interactions.hpp"
#include "records/spec.hpp"
#include "records/values.hpp"
#include "records/words.hpp"

namespace scwlearn {

// The rows of a batch, as CSR arrays in the order of the records.
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
        bool is_word = false;                   // whether it is the name of a word's feature, such as "key=string"
        std::uint64_t groups = 0;               // one bit for each group of the spec that the key is in
        bool has_feature_groups = false;        // whether the name of a group starts as those of the features of the key
        std::int64_t plain = -1;                // column of the feature that is called as the key
        std::uint32_t words = 0, grams = 0;     // prefixes "key=" of words and "key~" of characters; 0 if there are none yet
    };

    // The spec must outlive the builder.
    explicit RowBuilder(const FeatureSpec& spec, std::size_t most_values = kMostValues, std::size_t most_names = kMostNames)
        : spec_(spec), words_(spec.text), most_values_(most_values), most_names_(most_names), columns_(spec.slots > 0, !spec.interactions.empty()) {
        for (const std::string& mark : spec.missing) {
            double value = 0.0;
            const std::string_view text = trimmed(mark);
            if (read_number_text(text, value) || read_number_text(text, value, '.')) missing_numbers_.push_back(value);
        }
    }
    RowBuilder(const RowBuilder&) = delete;
    RowBuilder& operator=(const RowBuilder&) = delete;

    // Returns the key of that name; valid as long as the builder.
    Key& key(std::string_view name) {
        const std::uint32_t number = key_names_.number(name, 0, arena_);
        if (number == keys_.size()) {
            Key& key = keys_.emplace_back();
            key.name = key_names_[number].text;
            const std::optional<Owner> owner = spec_.kinds.owner_of(name);
            key.kind = spec_.kind_of(owner);
            key.declared = owner && owner->key == name;
            key.is_word = owner && owner->has_word();
            key.long_name = utf8_count(name) > kLongestKey;
            key.groups = groups_of(name, owner);
            key.has_feature_groups = std::any_of(spec_.groups.begin(), spec_.groups.end(), [&](std::string_view group) {
                return group.size() > name.size() && group.starts_with(name);
            });
        }
        return keys_[number];
    }

    void begin_row() noexcept {
        has_unused_ |= is_open_;
        is_open_ = true;
        features_.clear();
        bytes_before_ = columns_.bytes();
        grams_left_ = kMostFeatures;
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
        if (is_marked_missing(value)) return true;
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
        return is_marked_missing(written) || is_marked_missing(value) || add_word(key, written);
    }

    bool add_bool(Key& key, bool value) {
        const std::string_view word = value ? "true" : "false";
        if (key.kind == Kind::ignore || is_marked_missing(word)) return true;
        return key.kind == Kind::categorical ? add_word(key, word) : add_number(key, value ? 1.0 : 0.0);
    }

    // Column of the numbers of a key. It may never occur.
    std::int32_t number_column(Key& key) {
        has_unused_ = true;
        if (key.plain < 0) key.plain = columns_.number(0, key.name);
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
            // The text of a bool is the bool, as in tables that have no types.
            case Kind::categorical: return is_bool(text) ? add_bool(key, is_true(text)) : add_word(key, text);
            default: return add_word(key, text);
        }
    }

    // A list of strings: each adds 1 to its feature, unless it is empty. Categories have no order, so no n-grams.
    bool add_list(Key& key, const std::vector<std::string_view>& words) {
        if (key.kind == Kind::ignore || words.empty()) return true;
        if (key.kind == Kind::numeric || key.kind == Kind::date) return fail("list", key, words[0]);
        if (!make_prefix(key, key.words, '=')) return false;
        const bool has_order = key.kind != Kind::categorical && spec_.text.ngram > 1;
        std::vector<std::string_view> present;
        for (const std::string_view word : words) {
            if (word.empty()) continue;
            if (!add_text_feature(key, key.words, word)) return false;
            if (has_order) present.push_back(word);
        }
        return !has_order || add_named_grams(key, key.words, present);
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
            return add_named(key, groups_of_feature(key, text_), 0, text_, value, true);
        });
    }

    // A feature of the key with a name, a value and groups of its own, as in VW text: the name is the prefix and the text.
    bool add_named(const Key& key, std::uint64_t groups, std::uint32_t prefix, std::string_view text, double value, bool numeric) {
        return value == 0.0 || add(key, groups, columns_.number(prefix, text), value, numeric);
    }

    // The groups of a key, or of the name of a feature, which belongs to the groups of its owner.
    std::uint64_t groups_of(std::string_view name, const std::optional<Owner>& owner) const noexcept {
        return spec_.groups_of(name) | (owner && owner->mark != '\0' ? spec_.groups_of(owner->key) : 0);
    }

    // Adds interactions; then the row is complete.
    bool end_row() {
        features_.drop_zeros();
        if (!interactions_.add(fault_)) return false;
        if (rows_.values.size() + features_.size() > most_values_ || (!columns_.is_hashed() && columns_.size() > most_names_)) {
            fault_ = {"batch", {}, std::to_string(features_.size())};
            return false;
        }
        for (const RowFeature& feature : features_) {
            if (feature.value == 0.0) continue;
            rows_.columns.push_back(static_cast<std::int32_t>(feature.column));
            rows_.values.push_back(feature.value);
        }
        rows_.offsets.push_back(static_cast<std::int32_t>(rows_.values.size()));
        is_open_ = false;
        if (rows_.offsets.size() == 2) names_of_first_ = columns_.size();
        return true;
    }

    // Whether the rows fill a batch, so that the next record should begin another one.
    bool is_full() const noexcept {
        return rows_.values.size() >= kPartValues || columns_.size() > std::max(kPartNames, 2 * names_of_first_) ||
               columns_.bytes() > std::max(kPartBytes, 2 * kPartBytes / kPartNames * names_of_first_);
    }

    // The number of names that are known, of keys and columns, and their bytes.
    std::size_t names() const noexcept { return keys_.size() + columns_.size(); }
    std::size_t bytes() const noexcept { return arena_.kept() + columns_.bytes(); }

    const RecordFault& fault() const noexcept { return fault_; }
    // Reports a fault of a key; returns false.
    bool fail(const char* fault, const Key& key, std::string_view found) {
        fault_ = {fault, std::string(key.name), std::string(found.substr(0, kShown))};
        return false;
    }

    const FeatureSpec& spec() const noexcept { return spec_; }
    const Columns& columns() const noexcept { return columns_; }
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

    // Returns the number of a prefix of names, such as "key=".
    std::uint32_t prefix(std::string_view text) { return columns_.prefix(text); }

    // Whether the spec lists a text as a marker of missing values, of any kind.
    bool is_marked_missing(std::string_view text) const noexcept {
        return std::find(spec_.missing.begin(), spec_.missing.end(), text) != spec_.missing.end();
    }

    // Whether a number is a marker, however it is written.
    bool is_marked_missing(double value) const noexcept {
        return std::find(missing_numbers_.begin(), missing_numbers_.end(), value) != missing_numbers_.end();
    }

    // Reads a whole text as a number with the decimal mark of the spec.
    bool read_number_text(std::string_view text, double& value) { return read_number_text(text, value, spec_.decimal); }
    bool read_number_text(std::string_view text, double& value, char decimal) {
        number_.assign(text).push_back('\n');
        if (decimal != '.') {
            if (text.find('.') != std::string_view::npos) return false;
            std::replace(number_.begin(), number_.end(), decimal, '.');
        }
        return read_number(number_.data(), number_.data() + number_.size(), value) == number_.data() + text.size();
    }

    // Adds the n-grams of two words and more, each behind the prefix.
    bool add_named_grams(const Key& key, std::uint32_t prefix, const std::vector<std::string_view>& words) {
        allow_grams(words);
        return words_.each_longer_gram(words, [&](std::string_view gram) { return add_gram(key, prefix, gram); });
    }

    // Adds words of a sequence and their n-grams.
    bool add_grams(const Key& key, const std::vector<std::string_view>& words) {
        allow_grams(words);
        return words_.each_gram(words, [&](std::string_view gram) { return add_gram(key, key.words, gram); });
    }

private:
    // Drops the numbers of a row that has not ended.
    void drop_open_row() noexcept {
        rows_.values.resize(static_cast<std::size_t>(rows_.offsets.back()));
        rows_.columns.resize(rows_.values.size());
    }

    bool add_number_text(Key& key, std::string_view given) {
        const std::string_view text = trimmed(given);
        double value = 0.0;
        if (is_missing_number(text)) return true;
        if (is_bool(text)) return add_bool(key, is_true(text));
        if (!read_number_text(text, value)) return fail("numeric", key, given);
        return acceptable(value) ? add_number(key, value) : fail("range", key, given);
    }

    bool add_date_text(Key& key, std::string_view given) {
        const std::string_view text = trimmed(given);
        if (is_missing_number(text)) return true;
        const std::optional<Moment> moment = DateParser(text).parse();
        return moment ? add_moment(key, *moment) : fail("date", key, given);
    }

    bool add_text(Key& key, std::string_view text) {
        const std::vector<std::string_view>& words = words_.split(text);
        if (words.empty()) return true;
        if (!make_prefix(key, key.words, '=') || !add_grams(key, words)) return false;
        if (spec_.text.char_most == 0) return true;
        if (!make_prefix(key, key.grams, '~')) return false;
        allow_grams(words);
        return words_.each_char_gram(words, [&](std::string_view gram) { return add_gram(key, key.grams, gram); });
    }

    // Allows as many more n-grams in the row as the words are long, times a constant. Skips make thousands of n-grams of a word,
    // which are few different features if the words repeat.
    void allow_grams(const std::vector<std::string_view>& words) noexcept {
        for (const std::string_view word : words) grams_left_ += kGramsPerByte * (word.size() + 1);
    }

    bool add_gram(const Key& key, std::uint32_t prefix, std::string_view gram) {
        if (grams_left_ == 0) return fail("many", key, {});
        --grams_left_;
        return add_text_feature(key, prefix, gram);
    }

    bool add_word(Key& key, std::string_view word) {
        return make_prefix(key, key.words, '=') && add_text_feature(key, key.words, word);
    }

    // Adds a feature of a word or characters, behind one of the prefixes of the key.
    bool add_text_feature(const Key& key, std::uint32_t prefix, std::string_view text) {
        std::uint64_t groups = key.groups;
        if (key.has_feature_groups) [[unlikely]] {
            text_.assign(columns_.prefix_text(prefix)).append(text);
            groups = groups_of_feature(key, text_);
        }
        return add(key, groups, columns_.number(prefix, text), 1.0, false);
    }

    std::uint64_t groups_of_feature(const Key& key, std::string_view name) const noexcept {
        return key.has_feature_groups ? key.groups | spec_.groups_of(name) : key.groups;
    }

    bool add_plain(Key& key, double value) {
        if (value == 0.0) return true;
        if (key.plain < 0) key.plain = columns_.number(0, key.name);
        return add(key, key.groups, static_cast<std::uint32_t>(key.plain), value, !key.is_word);
    }

    // Makes a prefix of the key's features, unless there is one.
    bool make_prefix(Key& key, std::uint32_t& prefix, char mark) {
        if (prefix != 0) return true;
        if (key.long_name) return fail("prefix", key, key.name);
        text_.assign(key.name).push_back(mark);
        prefix = columns_.prefix(text_);
        return true;
    }

    bool add(const Key& key, std::uint64_t groups, std::uint32_t column, double value, bool numeric) {
        if (features_.size() >= kMostFeatures || columns_.bytes() - bytes_before_ > kMostNameBytes) return fail("many", key, {});
        if (!features_.add({column, numeric, value, groups})) return fail("sum", key, text_of(value));
        return true;
    }

    const FeatureSpec& spec_;
    Words words_;
    std::size_t most_values_, most_names_;
    Arena arena_;  // of the names of keys
    NameTable key_names_;
    std::deque<Key> keys_;
    Columns columns_;
    RecordFeatures features_;  // of the current row
    Interactions interactions_{spec_, features_, columns_};
    BuiltRows rows_;
    std::size_t names_of_first_ = 0;  // known after the first row
    std::size_t bytes_before_ = 0;    // of the names known before the current row
    std::size_t grams_left_ = 0;      // words and n-grams that the current row may still have, equal ones included
    bool is_open_ = false;     // whether the current row has not ended
    bool has_unused_ = false;
    RecordFault fault_;
    std::vector<double> missing_numbers_;  // the markers of missing values that are numbers
    std::string text_, number_;
};

}  // namespace scwlearn
