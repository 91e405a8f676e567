// What the readers of tables share: the labels and weights beside the rows, and the errors of records.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/lines.hpp"
#include "records/labels.hpp"
#include "records/row_builder.hpp"

namespace scwlearn {

struct TableForm : LineForm {
    LabelKind labels = LabelKind::any;
};

// A fault and the place of its record.
struct PlacedFault : RecordFault {
    std::int64_t place = 0;
};

struct ParsedTable {
    LabelColumn labels;
    std::vector<double> weights;          // if there is a column for them
    std::vector<std::int64_t> places;     // of the records, counted from 1: lines of text, or numbers of records
    std::int64_t lines = 0;               // that were read
    std::size_t used = 0;                 // characters or records of these; all, unless the rows fill a batch
    std::int64_t faulty = 0;              // records with an error
    std::vector<std::int64_t> faulty_places = {};  // of these records
    std::vector<PlacedFault> found = {};  // the first errors
    bool weighted = false;
};

template <class Form>
class TableParser {
protected:
    using Key = RowBuilder::Key;

    TableParser(const Form& form, RowBuilder& builder)
        : form_(form), builder_(builder), parsed_{LabelColumn(form.labels), {}, {}} {}

    void begin_record() noexcept {
        builder_.begin_row();
        has_label_ = has_weight_ = false;
    }

    // The label and the weight have these keys, which must outlive the parser.
    void set_label_key(const Key& key) noexcept { label_key_ = &key; }
    void set_weight_key(const Key& key) noexcept {
        weight_key_ = &key;
        parsed_.weighted = true;
    }
    bool has_label_key() const noexcept { return label_key_ != nullptr; }
    bool has_weight_key() const noexcept { return weight_key_ != nullptr; }

    bool has_label() const noexcept { return has_label_; }
    bool has_words() const noexcept { return parsed_.labels.kind() == LabelKind::words; }

    bool add_label_text(const Key& key, std::string_view text, bool may_be_number) {
        const std::string_view content = trimmed(text);
        double value = 0.0;
        if (text.empty() || builder_.is_marked_missing(text) || (may_be_number && is_missing_number(content)))
            return add_missing_label(key, text);
        const bool is_number = may_be_number && builder_.read_number_text(content, value);
        if (is_number && builder_.is_marked_missing(value)) return add_missing_label(key, text);
        return added(is_number ? parsed_.labels.add_number(value) : parsed_.labels.add_word(text), key, text);
    }

    // Reports the fault of a label, unless it is null.
    bool added(const char* fault, const Key& key, std::string_view found) {
        has_label_ = fault == nullptr;
        return has_label_ || builder_.fail(fault, key, found);
    }

    bool add_missing_label(const Key& key, std::string_view found) {
        if (!form_.labels_optional) return builder_.fail("label missing", key, found);
        parsed_.labels.add_missing();
        return has_label_ = true;
    }

    bool set_weight(const Key& key, double weight, std::string_view found) {
        if (has_weight_) return builder_.fail("weight twice", key, found);
        weight_ = weight;
        has_weight_ = true;
        const bool usual = weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight);
        return usual || builder_.fail("weight", key, found);
    }

    bool set_weight_text(const Key& key, std::string_view text) {
        double weight = 0.0;
        if (!builder_.read_number_text(trimmed(text), weight)) return builder_.fail("weight", key, text);
        return set_weight(key, weight, text);
    }

    // A record may have no value at all for a key, not even null: in JSON, and within an object that is null.
    bool end_record(std::int64_t place) {
        if (has_weight_key() && !has_weight_) return builder_.fail("weight", *weight_key_, {});
        if (!has_label_ && !add_missing_label(has_label_key() ? *label_key_ : Key{}, {})) return false;
        if (!builder_.end_row()) return false;
        if (has_weight_key()) parsed_.weights.push_back(weight_);
        parsed_.places.push_back(place);
        return true;
    }

    // Leaves out the record because of an error; returns whether to continue.
    bool add_fault(RecordFault fault, std::int64_t place) {
        if (has_label_) parsed_.labels.pop();
        ++parsed_.faulty;
        parsed_.faulty_places.push_back(place);
        if (parsed_.found.size() < form_.most_found) parsed_.found.push_back({std::move(fault), place});
        return form_.skip_faults;
    }

    Form form_;
    RowBuilder& builder_;
    ParsedTable parsed_;

private:
    const Key* label_key_ = nullptr;
    const Key* weight_key_ = nullptr;
    bool has_label_ = false;  // whether the record has added its label
    bool has_weight_ = false;
    double weight_ = 1.0;
};

}  // namespace scwlearn
