// Reader of Arrow tables: records from columns in memory, read in place.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "parse/arrow_arrays.hpp"
#include "parse/utf8.hpp"
#include "records/table_parser.hpp"

namespace scwlearn {

// The seconds that the local time of a zone is ahead of UTC, at a time in seconds since 1970; NaN if the zone is unknown.
using UtcOffset = std::function<double(std::string_view zone, std::int64_t seconds)>;

// Remembers the offsets of whole days, as asking for one is slow.
class ZoneOffsets {
public:
    ZoneOffsets(const UtcOffset& ask, std::string_view zone) : ask_(ask), zone_(zone) {}

    bool is_known() const { return is_utc() || !std::isnan(ask_(zone_, 0)); }

    double at(double seconds) {
        constexpr double kDay = 86400.0, kFar = 1e12;
        if (is_utc() || !(std::abs(seconds) < kFar)) return 0.0;
        const auto second = static_cast<std::int64_t>(std::floor(seconds));
        const auto day = static_cast<std::int64_t>(std::floor(seconds / kDay));
        const auto [place, is_new] = days_.try_emplace(day, 0.0);
        if (is_new) {
            const double offset = ask_(zone_, day * 86400);
            // NaN if it changes on that day.
            place->second = offset == ask_(zone_, day * 86400 + 86399) ? offset : std::numeric_limits<double>::quiet_NaN();
        }
        return std::isnan(place->second) ? ask_(zone_, second) : place->second;
    }

private:
    bool is_utc() const noexcept { return zone_.empty() || zone_ == "UTC"; }

    const UtcOffset& ask_;
    std::string zone_;
    std::unordered_map<std::int64_t, double> days_;
};

class ArrowReader : TableParser<TableForm> {
public:
    // The schema is that of a structure, whose children are the columns. The builder gets the rows.
    ArrowReader(const TableForm& form, RowBuilder& builder, const ArrowSchema& schema, UtcOffset utc_offset)
        : TableParser(form, builder), utc_offset_(std::move(utc_offset)), root_(column_of(schema, 0, {}, 0)) {
        builder_.begin_row();
        is_readable_ = add_children(root_, schema);
        if (!is_readable_) add_fault(builder_.fault(), 0);
        set_numbers();
    }

    // Whether all columns can be read; if not, there is a fault without a place.
    bool is_readable() const noexcept { return is_readable_; }

    // Reads a batch, up to the first error unless errors are skipped, and in parts up to the record that fills the rows;
    // returns whether to continue. Raises an error if the batch contradicts itself. Allocates only to grow vectors.
    bool read(const ArrowArray& batch) {
        root_.bind(batch, 0, batch.length);
        parsed_.used = static_cast<std::size_t>(batch.length);
        for (std::int64_t i = 0; i < batch.length; ++i) {
            const std::int64_t place = ++parsed_.lines;
            if (has_numbers_ && i % block_ == 0) copy_numbers(i, std::min(block_, batch.length - i));
            begin_record();
            const bool good = (root_.values.is_null(i) || read_record(i)) && end_record(place);
            if (!good && !add_fault(builder_.fault(), place)) return false;
            if (form_.in_parts && builder_.is_full()) {
                parsed_.used = static_cast<std::size_t>(i + 1);
                return false;
            }
        }
        return true;
    }

    ParsedTable take() { return std::move(parsed_); }

private:
    struct Column {
        ArrowValues values;
        std::size_t child;  // its number
        Key& key;
        int depth;
        ZoneOffsets offsets;
        std::vector<Column> children;  // of a structure

        // Index i of the values is i + before in the array.
        void bind(const ArrowArray& array, std::int64_t before, std::int64_t count) {
            values.bind(array, before, count);
            for (Column& each : children) {
                require_in_array(static_cast<std::int64_t>(each.child) < array.n_children);
                each.bind(*array.children[each.child], array.offset + before, count);
            }
        }
        bool is_structure() const noexcept { return values.is_structure(); }
    };

    // What becomes of the values of a column.
    struct Feature {
        ArrowReader& reader;
        Column& column;

        bool number(double value) { return reader.builder_.add_number(column.key, value); }
        template <std::integral T>
        bool number(T value) {
            const auto text = [value] { return text_of(value); };
            return reader.builder_.add_integer(column.key, static_cast<double>(value), text);
        }
        bool boolean(bool value) { return reader.builder_.add_bool(column.key, value); }
        bool text(std::string_view value) {
            return reader.is_valid(column.key, value) && reader.builder_.add_string(column.key, value);
        }
        bool moment(Moment value) {
            if (value.has_time) value.offset = column.offsets.at(value.seconds);
            return reader.builder_.add_moment(column.key, value);
        }
        bool list(const ArrowValues& items, std::int64_t begin, std::int64_t end) {
            std::vector<std::string_view>& words = reader.words_;
            words.clear();
            for (std::int64_t i = begin; i < end; ++i) {
                if (items.is_null(i)) continue;
                words.push_back(items.text(i));
                if (!reader.is_valid(column.key, words.back())) return false;
            }
            return reader.builder_.add_list(column.key, words);
        }
    };

    // A label or a weight: the types of other values are refused.
    struct Role {
        ArrowReader& reader;
        Key& key;

        bool moment(const Moment&) { return false; }
        bool list(const ArrowValues&, std::int64_t, std::int64_t) { return false; }
    };

    struct Label : Role {
        template <class T>
        bool number(T value) {
            LabelColumn& labels = reader.parsed_.labels;
            RowBuilder& builder = reader.builder_;
            const auto number = static_cast<double>(value);
            const std::string text = text_of(value);
            if (std::isnan(number) ? builder.spec().nan_is_missing : builder.is_marked_missing(number))
                return reader.add_missing_label(key, text);
            if (reader.has_words() && acceptable(number)) return reader.added(labels.add_word(text), key, text);
            // From 2^53 on, other integers have the same value.
            const bool is_exact = !std::integral<T> || std::abs(number) < 0x1p53;
            return reader.added(is_exact ? labels.add_number(number) : "label integer", key, text);
        }
        bool boolean(bool value) {
            LabelColumn& labels = reader.parsed_.labels;
            const std::string_view text = value ? "true" : "false";
            return reader.added(reader.has_words() ? labels.add_word(text) : labels.add_bool(value), key, text);
        }
        bool text(std::string_view value) {
            const bool may_be_number = reader.parsed_.labels.kind() == LabelKind::numbers;
            return reader.is_valid(key, value) && reader.add_label_text(key, value, may_be_number);
        }
    };

    struct Weight : Role {
        template <class T>
        bool number(T value) {
            return reader.set_weight(key, static_cast<double>(value), text_of(value));
        }
        bool boolean(bool value) { return number(value ? 1 : 0); }
        bool text(std::string_view value) { return reader.is_valid(key, value) && reader.set_weight_text(key, value); }
    };

    Column column_of(const ArrowSchema& schema, std::size_t child, std::string_view name, int depth) {
        ArrowValues values(schema);
        const std::string zone(values.zone());
        return {std::move(values), child, builder_.key(name), depth, ZoneOffsets(utc_offset_, zone), {}};
    }

    // Adds the columns of a structure, without those that are ignored; returns false if one of them cannot be read.
    bool add_children(Column& parent, const ArrowSchema& schema) {
        std::string name(parent.key.name);
        if (parent.depth > 0) name += builder_.spec().separator;
        const std::size_t size = name.size();
        std::unordered_set<std::string_view> names;
        for (std::int64_t i = 0; i < schema.n_children; ++i) {
            const ArrowSchema& own = *schema.children[i];
            const std::string_view own_name = own.name == nullptr ? "" : own.name;
            name.resize(size);
            Column column = column_of(own, static_cast<std::size_t>(i), name.append(own_name), parent.depth + 1);
            if (!names.insert(own_name).second) return builder_.fail("repeated", column.key, {});
            if (column.is_structure() ? RowBuilder::skips_object(column.key) : column.key.kind == Kind::ignore) continue;
            if (!check_type(column)) return false;
            // If it is nested deeper, or has a longer name, its values are refused.
            const bool has_children = column.is_structure() && column.depth <= kDeepest && !column.key.long_name;
            if (has_children && !add_children(column, own)) return false;
            parent.children.push_back(std::move(column));
        }
        return true;
    }

    bool check_type(const Column& column) {
        const ArrowType type = column.values.type();
        const Kind kind = column.key.kind;
        if (!column.is_structure() && !column.values.is_readable())
            return builder_.fail("type", column.key, column.values.name());
        if (!column.offsets.is_known()) return builder_.fail("zone", column.key, column.values.zone());
        if (kind != Kind::label && kind != Kind::weight) return true;
        if (kind == Kind::label ? has_label_key() : has_weight_key()) return builder_.fail("repeated", column.key, {});
        kind == Kind::label ? set_label_key(column.key) : set_weight_key(column.key);
        return type < ArrowType::date32 || builder_.fail(kind == Kind::label ? "label type" : "weight type", column.key,
                                                         column.values.name());
    }

    // If all features are numbers that need no other look, rows of them are copied, a block of each column at a time.
    void set_numbers() {
        has_numbers_ = builder_.spec().interactions.empty() && builder_.spec().missing.empty();
        for (Column& column : root_.children) {
            if (column.key.kind >= Kind::label) continue;
            has_numbers_ = has_numbers_ && column.key.kind <= Kind::numeric && column.values.can_copy();
            if (has_numbers_) number_columns_.push_back(builder_.number_column(column.key));
        }
        // Names may have one hash.
        std::vector<std::int32_t> sorted(number_columns_);
        std::sort(sorted.begin(), sorted.end());
        const bool differ = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
        has_numbers_ = has_numbers_ && differ && !sorted.empty();
        constexpr std::size_t kBlockNumbers = 4096;
        block_ = static_cast<std::int64_t>(1 + kBlockNumbers / (1 + number_columns_.size()));
        numbers_.resize(has_numbers_ ? number_columns_.size() * static_cast<std::size_t>(block_) : 0);
    }

    void copy_numbers(std::int64_t begin, std::int64_t count) {
        double* out = numbers_.data();
        for (const Column& column : root_.children) {
            if (column.key.kind >= Kind::label) continue;
            column.values.copy(begin, count, out);
            out += block_;
        }
    }

    bool read_record(std::int64_t i) {
        if (!has_numbers_) return read_children(root_, i);
        for (Column& column : root_.children)
            if (column.key.kind >= Kind::label && !read_value(column, i)) return false;
        const double* const first = numbers_.data() + i % block_;
        if (builder_.add_numbers(first, static_cast<std::size_t>(block_), number_columns_)) return true;
        // NaN may be missing; another number is a fault.
        for (Column& column : root_.children)
            if (column.key.kind < Kind::label && !read_value(column, i)) return false;
        return true;
    }

    bool read_children(Column& parent, std::int64_t i) {
        for (Column& column : parent.children)
            if (!read_value(column, i)) return false;
        return true;
    }

    bool read_value(Column& column, std::int64_t i) {
        if (column.values.is_null(i)) {
            return column.key.kind != Kind::label || add_missing_label(column.key, {});
        }
        if (column.key.kind < Kind::label) [[likely]] {
            if (column.is_structure()) return builder_.may_nest(column.key, column.depth) && read_children(column, i);
            Feature feature{*this, column};
            return column.values.visit(i, feature);
        }
        if (column.key.kind == Kind::label) {
            Label label{{*this, column.key}};
            return column.values.visit(i, label);
        }
        Weight weight{{*this, column.key}};
        return column.values.visit(i, weight);
    }

    bool is_valid(const Key& key, std::string_view text) { return is_utf8(text) || builder_.fail("utf8", key, text); }

    UtcOffset utc_offset_;
    Column root_;
    bool is_readable_ = false;
    std::vector<std::string_view> words_;  // of a list
    bool has_numbers_ = false;             // whether all features are plain numbers
    std::vector<std::int32_t> number_columns_;
    std::int64_t block_ = 1;       // how many rows of them are copied at a time
    std::vector<double> numbers_;  // blocks of the columns, one behind the other
};

}  // namespace scwlearn
