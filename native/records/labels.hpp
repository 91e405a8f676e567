// The labels of records: all of them numbers, or all of them words.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
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
    explicit LabelColumn(LabelKind kind) : given_(kind), kind_(kind) {}

    const char* add_number(double value) {
        if (!acceptable(value)) return "label";
        if (kind_ == LabelKind::words) return "label words";
        kind_ = LabelKind::numbers;
        push(Type::number, value, -1);
        return nullptr;
    }

    const char* add_bool(bool value) {
        if (kind_ == LabelKind::words) return "label words";
        kind_ = LabelKind::numbers;
        push(Type::boolean, value ? 1.0 : 0.0, -1);
        return nullptr;
    }

    // The word is valid UTF-8.
    const char* add_word(std::string_view word) {
        if (kind_ == LabelKind::numbers) return "label numbers";
        if (utf8_count(word) > kLongestLabel) return "label length";
        // NumPy would remove it.
        if (word.ends_with('\0')) return "label nul";
        kind_ = LabelKind::words;
        push(Type::word, kNaN, static_cast<std::int32_t>(words_.number(word, 0, arena_)));
        return nullptr;
    }

    void add_missing() { push(Type::missing, kNaN, -1); }

    // Removes the label that was added last, which then has decided nothing.
    void pop() noexcept {
        numbers_.pop_back();
        word_numbers_.pop_back();
        --count(last_);
        if (count(Type::number) + count(Type::boolean) + count(Type::word) == 0) kind_ = given_;
    }

    LabelKind kind() const noexcept { return kind_; }
    // Whether there are labels, and all of them are true or false.
    bool all_bools() const noexcept { return count(Type::boolean) > 0 && count(Type::number) == 0; }
    std::vector<double>& numbers() noexcept { return numbers_; }                   // NaN if it is a word or missing
    std::vector<std::int32_t>& word_numbers() noexcept { return word_numbers_; }   // -1 if it is no word
    const NameTable& words() const noexcept { return words_; }

private:
    enum class Type { missing, number, boolean, word };
    static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

    void push(Type type, double number, std::int32_t word) {
        last_ = type;
        ++count(type);
        numbers_.push_back(number);
        word_numbers_.push_back(word);
    }

    std::int64_t& count(Type type) noexcept { return counts_[static_cast<std::size_t>(type)]; }
    std::int64_t count(Type type) const noexcept { return counts_[static_cast<std::size_t>(type)]; }

    LabelKind given_, kind_;
    Type last_ = Type::missing;
    std::array<std::int64_t, 4> counts_{};
    std::vector<double> numbers_;
    std::vector<std::int32_t> word_numbers_;
    Arena arena_;
    NameTable words_;
};

}  // namespace scwlearn
