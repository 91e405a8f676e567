// Arrays of Arrow's C data interface, and their values.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/arrow_types.hpp"
#include "parse/number.hpp"
#include "records/dates.hpp"

namespace scwlearn {

// Raises an error, which Python sees as a ValueError, if an array contradicts itself. No array says how large its buffers are;
// that they are as large as its lengths and last offsets demand has to be trusted.
inline void require_in_array(bool inside) {
    if (!inside) [[unlikely]]
        throw std::invalid_argument("the table is not valid: an offset, an index or a length lies outside of an array");
}

// The values of an array. It is made for a type, and bound to one array after the other.
class ArrowValues {
public:
    explicit ArrowValues(const ArrowSchema& schema)
        : format_(schema.format), type_(arrow_type(format_).type) {
        if (schema.dictionary != nullptr) {
            dictionary_ = std::make_unique<ArrowValues>(*schema.dictionary);
        } else if (type_ == ArrowType::decimal) {
            set_decimal();
        } else if (type_ == ArrowType::timestamp) {
            constexpr std::int64_t kUnits[] = {1, 1'000, 1'000'000, 1'000'000'000};
            per_second_ = kUnits[std::string_view("smun").find(format_[2])];
        } else if ((type_ == ArrowType::list || type_ == ArrowType::large_list) && schema.n_children == 1) {
            items_ = std::make_unique<ArrowValues>(*schema.children[0]);
        }
    }

    // Of the values: that of the dictionary, if there is one.
    ArrowType type() const noexcept { return dictionary_ ? dictionary_->type() : type_; }
    // Whether the children of the array have its values; not if they are in a dictionary, whose children are not read.
    bool is_structure() const noexcept { return !dictionary_ && type_ == ArrowType::structure; }
    std::string_view zone() const noexcept {
        return dictionary_ ? dictionary_->zone() : type_ == ArrowType::timestamp ? std::string_view(format_).substr(4) : "";
    }

    // Whether its values can be read. Structures are read by their children.
    bool is_readable() const noexcept {
        if (dictionary_)
            return is_index() && !dictionary_->dictionary_ && !dictionary_->is_nested() && dictionary_->is_readable();
        return is_nested() ? items_ && items_->holds_text() : type_ != ArrowType::other && type_ != ArrowType::structure;
    }

    // As other libraries call it.
    std::string name() const {
        if (dictionary_) return "dictionary<" + dictionary_->name() + ">";
        const std::string own(arrow_type(format_).name);
        if (own.empty()) return format_;
        return items_ ? own + "<" + items_->name() + ">" : own;
    }

    // Borrows an array of which `count` values are read; index i of this object is i + before in the array.
    void bind(const ArrowArray& array, std::int64_t before, std::int64_t count) {
        constexpr std::int64_t kMost = std::int64_t{1} << 48;  // more does not fit into memory
        require_in_array(array.offset >= 0 && array.offset <= kMost && array.length <= kMost);
        require_in_array(count >= 0 && array.length >= before + count);
        require_in_array(array.n_buffers >= buffers_needed());
        offset_ = array.offset + before;
        length_ = array.length;
        validity_ = type_ == ArrowType::null || array.n_buffers == 0 ? nullptr : buffer<std::uint8_t>(array, 0);
        data_ = array.n_buffers > 1 ? array.buffers[1] : nullptr;
        texts_ = array.n_buffers > 2 ? array.buffers + 2 : nullptr;
        require_in_array(data_ != nullptr || count == 0 || buffers_needed() < 2);
        if (type_ == ArrowType::text_view) {
            views_ = array.n_buffers - 3;
            view_sizes_ = buffer<std::int64_t>(array, array.n_buffers - 1);
            require_in_array(views_ == 0 || view_sizes_ != nullptr);
        } else if (type_ == ArrowType::text || type_ == ArrowType::large_text) {
            // The last offset is the size of the text.
            const std::int64_t end = array.offset + array.length;
            text_size_ = array.length == 0 || data_ == nullptr ? 0 : offset_at(end);
            require_in_array(text_size_ <= 0 || texts_[0] != nullptr);
        }
        if (dictionary_) {
            require_in_array(array.dictionary != nullptr);
            dictionary_->bind(*array.dictionary, 0, array.dictionary->length);
        }
        if (items_) {
            require_in_array(array.n_children == 1);
            items_->bind(*array.children[0], 0, array.children[0]->length);
        }
    }

    bool is_null(std::int64_t i) const {
        if (type_ == ArrowType::null || (validity_ != nullptr && !bit(validity_, offset_ + i))) return true;
        return dictionary_ && dictionary_->is_null(index(i));
    }

    // Calls the function of the sink that fits the type: number, boolean, text, moment or list. The value is not null, and
    // the type readable.
    template <class Sink>
    bool visit(std::int64_t i, Sink& sink) const {
        if (dictionary_) return dictionary_->visit(index(i), sink);
        const std::int64_t at = offset_ + i;
        if (is_plain_number()) return with_type([&]<class T>(T) { return sink.number(data<T>()[at]); });
        switch (type_) {
            case ArrowType::boolean: return sink.boolean(bit(data<std::uint8_t>(), at));
            case ArrowType::float16: return sink.number(half(data<std::uint16_t>()[at]));
            case ArrowType::decimal: return sink.number(decimal(at));
            case ArrowType::date32: return sink.moment(date(data<std::int32_t>()[at]));
            case ArrowType::date64: return sink.moment(date(whole(data<std::int64_t>()[at], 86'400'000)));
            case ArrowType::timestamp: return sink.moment(timestamp(data<std::int64_t>()[at]));
            case ArrowType::list:
            case ArrowType::large_list: {
                const auto [begin, end] = range(at, items_->length_);
                return sink.list(*items_, begin, end);
            }
            default: return sink.text(text(i));
        }
    }

    // Whether `copy` can read the values.
    bool can_copy() const noexcept { return !dictionary_ && type_ <= ArrowType::float64; }

    // Copies numbers; 0 stands for null.
    void copy(std::int64_t begin, std::int64_t count, double* out) const noexcept {
        const auto copy_each = [&](const auto& value) {
            const std::int64_t from = offset_ + begin;
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = validity_ == nullptr || bit(validity_, from + i) ? static_cast<double>(value(from + i)) : 0.0;
        };
        if (type_ == ArrowType::null) return copy_each([](std::int64_t) { return 0.0; });
        if (type_ == ArrowType::boolean) return copy_each([this](std::int64_t at) { return bit(data<std::uint8_t>(), at); });
        with_type([&]<class T>(T) { copy_each([this](std::int64_t at) { return data<T>()[at]; }); });
    }

    // A string.
    std::string_view text(std::int64_t i) const {
        if (dictionary_) return dictionary_->text(index(i));
        const std::int64_t at = offset_ + i;
        if (type_ == ArrowType::text_view) return viewed(static_cast<const char*>(data_) + 16 * at);
        const auto [begin, end] = range(at, text_size_);
        return {static_cast<const char*>(texts_[0]) + begin, static_cast<std::size_t>(end - begin)};
    }

private:
    template <class T>
    static const T* buffer(const ArrowArray& array, std::int64_t number) noexcept {
        return static_cast<const T*>(array.buffers[number]);
    }
    template <class T>
    const T* data() const noexcept {
        return static_cast<const T*>(data_);
    }
    static bool bit(const std::uint8_t* bits, std::int64_t at) noexcept { return bits[at >> 3] >> (at & 7) & 1; }
    // Rounds down.
    static std::int64_t whole(std::int64_t value, std::int64_t unit) noexcept {
        return value / unit - (value % unit < 0);
    }

    bool is_index() const noexcept { return type_ >= ArrowType::int8 && type_ <= ArrowType::uint64; }
    bool is_plain_number() const noexcept { return type_ >= ArrowType::int8 && type_ <= ArrowType::float64; }

    // Calls an action with a number of the type that C++ has for plain numbers.
    template <class Action>
    auto with_type(const Action& action) const -> decltype(action(double{})) {
        switch (type_) {
            case ArrowType::int8: return action(std::int8_t{});
            case ArrowType::uint8: return action(std::uint8_t{});
            case ArrowType::int16: return action(std::int16_t{});
            case ArrowType::uint16: return action(std::uint16_t{});
            case ArrowType::int32: return action(std::int32_t{});
            case ArrowType::uint32: return action(std::uint32_t{});
            case ArrowType::int64: return action(std::int64_t{});
            case ArrowType::uint64: return action(std::uint64_t{});
            case ArrowType::float32: return action(float{});
            default: return action(double{});
        }
    }
    bool is_nested() const noexcept { return type_ == ArrowType::list || type_ == ArrowType::large_list; }
    bool holds_text() const noexcept {
        const ArrowType own = type();
        const bool is_text = own == ArrowType::text || own == ArrowType::large_text || own == ArrowType::text_view;
        return is_readable() && (is_text || own == ArrowType::null);
    }

    // Place in the dictionary.
    std::int64_t index(std::int64_t i) const {
        const auto place = with_type([&]<class T>(T) { return static_cast<std::int64_t>(data<T>()[offset_ + i]); });
        require_in_array(place >= 0 && place < dictionary_->length_);
        return place;
    }

    std::int64_t offset_at(std::int64_t at) const noexcept {
        const bool large = type_ == ArrowType::large_text || type_ == ArrowType::large_list;
        return large ? data<std::int64_t>()[at] : data<std::int32_t>()[at];
    }

    // Where a text or list begins and ends.
    std::pair<std::int64_t, std::int64_t> range(std::int64_t at, std::int64_t size) const {
        const std::int64_t begin = offset_at(at), end = offset_at(at + 1);
        require_in_array(begin >= 0 && begin <= end && end <= size);
        return {begin, end};
    }

    // The buffers that are read: that of the validity, which may be null, that of the values, and those of the texts.
    std::int64_t buffers_needed() const noexcept {
        if (type_ == ArrowType::null || type_ == ArrowType::other || type_ == ArrowType::structure) return 0;
        const bool has_text = type_ == ArrowType::text || type_ == ArrowType::large_text || type_ == ArrowType::text_view;
        return has_text ? 3 : 2;
    }

    // A view has the length, and the text if it is short; else its beginning, buffer and offset.
    std::string_view viewed(const char* view) const {
        std::int32_t parts[4];
        std::memcpy(parts, view, sizeof(parts));
        const auto [size, beginning, number, begin] = parts;
        if (size >= 0 && size <= 12) return {view + 4, static_cast<std::size_t>(size)};
        require_in_array(size >= 0 && number >= 0 && number < views_ && begin >= 0);
        require_in_array(texts_[number] != nullptr && std::int64_t{begin} + size <= view_sizes_[number]);
        return {static_cast<const char*>(texts_[number]) + begin, static_cast<std::size_t>(size)};
    }

    static double half(std::uint16_t bits) noexcept {
        const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        const double value = exponent == 31  ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : HUGE_VAL)
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(mantissa + 1024, exponent - 25);
        return bits >> 15 ? -value : value;
    }

    // The format is d:precision,scale or d:precision,scale,bits.
    void set_decimal() {
        const char *const end = format_.data() + format_.size(), *p = format_.data() + format_.find(',') + 1;
        p = std::from_chars(p, end, scale_).ptr;
        int bits = 128;
        if (p != end) std::from_chars(p + 1, end, bits);
        words_ = bits == 32 || bits == 64 || bits == 128 || bits == 256 ? bits / 32 : 0;
        if (words_ == 0) type_ = ArrowType::other;
    }

    // An integer divided by a power of ten, rounded once.
    double decimal(std::int64_t at) const noexcept {
        std::uint32_t words[8] = {};  // the lowest first
        std::memcpy(words, static_cast<const char*>(data_) + 4 * words_ * at, static_cast<std::size_t>(4 * words_));
        const bool negative = words[words_ - 1] >> 31;
        if (negative) {
            std::uint64_t carry = 1;
            for (int i = 0; i < words_; ++i) {
                carry += static_cast<std::uint32_t>(~words[i]);
                words[i] = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
        }
        // At most 78 digits, a sign, an exponent and a newline.
        char text[128], *const end = text + 100, *p = end;
        for (int top = words_ - 1; top >= 0;) {
            std::uint64_t rest = 0;
            for (int i = top; i >= 0; --i) {
                rest = rest << 32 | words[i];
                words[i] = static_cast<std::uint32_t>(rest / 10);
                rest %= 10;
            }
            *--p = static_cast<char>('0' + rest);
            while (top >= 0 && words[top] == 0) --top;
        }
        if (negative) *--p = '-';
        *end = 'e';
        char* const last = std::to_chars(end + 1, text + sizeof(text), -scale_).ptr;
        *last = '\n';
        double value = 0.0;
        read_number(p, last + 1, value);
        return value;
    }

    static Moment date(std::int64_t days) noexcept { return {static_cast<double>(days) * 86400.0, 0.0, false}; }

    Moment timestamp(std::int64_t value) const noexcept {
        const std::int64_t rest = value % per_second_;
        const std::int64_t units = rest < 0 ? rest + per_second_ : rest;
        return moment_at(whole(value, per_second_), units * (1'000'000'000 / per_second_));
    }

    std::string format_;
    ArrowType type_;
    int scale_ = 0, words_ = 0;          // of a decimal
    std::int64_t per_second_ = 1;        // of a timestamp
    std::unique_ptr<ArrowValues> items_, dictionary_;
    std::int64_t offset_ = 0, length_ = 0;
    std::int64_t text_size_ = 0;
    std::int64_t views_ = 0;  // number of buffers of texts
    const std::int64_t* view_sizes_ = nullptr;
    const std::uint8_t* validity_ = nullptr;
    const void* data_ = nullptr;
    const void* const* texts_ = nullptr;
};

}  // namespace scwlearn
