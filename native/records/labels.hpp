// The labels of records: all of them numbers, or all of them words.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/scan.hpp"
#include "parse/name_table.hpp"
#include "parse/utf8.hpp"
#include "records/arena.hpp"

namespace scwlearn {

// Upper bound on the characters of a label: Python stores labels side by side, each as long as the longest.
inline constexpr std::int64_t kLongestLabel = 256;

// What the labels are; `any` lets the first one decide.
enum class LabelKind { any, numbers, words };

// A function that adds a label returns the name of its fault, or null.
class LabelColumn {
public:
    explicit LabelColumn(LabelKind kind) : kind_(kind) {}

    const char* add_number(double value) {
        if (!acceptable(value)) return "label";
        if (!decide(LabelKind::numbers)) return "label words";
        all_bools_ = false;
        push(value, -1);
        return nullptr;
    }

    const char* add_bool(bool value) {
        if (!decide(LabelKind::numbers)) return "label words";
        push(value ? 1.0 : 0.0, -1);
        return nullptr;
    }

    // The word is valid UTF-8.
    const char* add_word(std::string_view word) {
        if (!decide(LabelKind::words)) return "label numbers";
        if (utf8_count(word) > kLongestLabel) return "label length";
        const auto keep = [this](std::string_view text) { return arena_.keep(text); };
        push(std::numeric_limits<double>::quiet_NaN(), static_cast<std::int32_t>(words_.number(word, 0, keep)));
        return nullptr;
    }

    void add_missing() { push(std::numeric_limits<double>::quiet_NaN(), -1); }

    // Removes the last label.
    void pop() noexcept {
        numbers_.pop_back();
        word_numbers_.pop_back();
    }

    LabelKind kind() const noexcept { return kind_; }
    // Whether there are labels, and all of them are true or false.
    bool all_bools() const noexcept { return kind_ == LabelKind::numbers && all_bools_; }
    std::vector<double>& numbers() noexcept { return numbers_; }                   // NaN if it is a word or missing
    std::vector<std::int32_t>& word_numbers() noexcept { return word_numbers_; }   // -1 if it is no word
    const NameTable& words() const noexcept { return words_; }

private:
    bool decide(LabelKind kind) noexcept {
        if (kind_ == LabelKind::any) kind_ = kind;
        return kind_ == kind;
    }

    void push(double number, std::int32_t word) {
        numbers_.push_back(number);
        word_numbers_.push_back(word);
    }

    LabelKind kind_;
    bool all_bools_ = true;
    std::vector<double> numbers_;
    std::vector<std::int32_t> word_numbers_;
    Arena arena_;
    NameTable words_;
};

}  // namespace scwlearn
