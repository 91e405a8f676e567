// Arrays of Arrow's C data interface, which any library can hand over, and their values.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parse/number.hpp"
#include "records/dates.hpp"

namespace scwlearn {

// As https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html define them.
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

enum class ArrowType : std::uint8_t {
    null,
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float32,
    float64,
    float16,
    decimal,
    text,
    large_text,
    text_view,
    date32,
    date64,
    timestamp,
    list,
    large_list,
    structure,
    other,
};

// How the format of a type starts, and its name for messages.
struct ArrowTypeName {
    std::string_view format;
    ArrowType type;
    std::string_view name;
};

inline const ArrowTypeName& arrow_type(std::string_view format) noexcept {
    using enum ArrowType;
    static constexpr ArrowTypeName kTypes[] = {
        {"n", null, "null"},
        {"b", boolean, "bool"},
        {"c", int8, "int8"},
        {"C", uint8, "uint8"},
        {"s", int16, "int16"},
        {"S", uint16, "uint16"},
        {"i", int32, "int32"},
        {"I", uint32, "uint32"},
        {"l", int64, "int64"},
        {"L", uint64, "uint64"},
        {"e", float16, "float16"},
        {"f", float32, "float32"},
        {"g", float64, "float64"},
        {"d:", decimal, "decimal"},
        {"u", text, "string"},
        {"U", large_text, "large_string"},
        {"vu", text_view, "string_view"},
        {"tdD", date32, "date32"},
        {"tdm", date64, "date64"},
        {"tss:", timestamp, "timestamp[s]"},
        {"tsm:", timestamp, "timestamp[ms]"},
        {"tsu:", timestamp, "timestamp[us]"},
        {"tsn:", timestamp, "timestamp[ns]"},
        {"+l", list, "list"},
        {"+L", large_list, "large_list"},
        {"+s", structure, "struct"},
        {"z", other, "binary"},
        {"Z", other, "large_binary"},
        {"vz", other, "binary_view"},
        {"w:", other, "fixed_size_binary"},
        {"tt", other, "time"},
        {"tD", other, "duration"},
        {"ti", other, "interval"},
        {"+w:", other, "fixed_size_list"},
        {"+v", other, "list_view"},
        {"+m", other, "map"},
        {"+u", other, "union"},
        {"+r", other, "run_end_encoded"},
        {"_pli128", other, "int128"},
    };
    static constexpr ArrowTypeName kUnknown = {"", other, ""};
    for (const ArrowTypeName& each : kTypes)
        if (format.starts_with(each.format)) return each;
    return kUnknown;
}

// The values of an array. It is made for a type, and bound to one array after the other; the arrays are valid.
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

    // Borrows an array; index i of this object is i + before in the array.
    void bind(const ArrowArray& array, std::int64_t before) {
        offset_ = array.offset + before;
        validity_ = type_ == ArrowType::null || array.n_buffers == 0 ? nullptr : buffer<std::uint8_t>(array, 0);
        data_ = array.n_buffers > 1 ? array.buffers[1] : nullptr;
        texts_ = array.n_buffers > 2 ? array.buffers + 2 : nullptr;
        if (dictionary_) dictionary_->bind(*array.dictionary, 0);
        if (items_) items_->bind(*array.children[0], 0);
    }

    bool is_null(std::int64_t i) const noexcept {
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
            case ArrowType::list: return sink.list(*items_, data<std::int32_t>()[at], data<std::int32_t>()[at + 1]);
            case ArrowType::large_list: return sink.list(*items_, data<std::int64_t>()[at], data<std::int64_t>()[at + 1]);
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
    std::string_view text(std::int64_t i) const noexcept {
        if (dictionary_) return dictionary_->text(index(i));
        const std::int64_t at = offset_ + i;
        if (type_ == ArrowType::text_view) return viewed(static_cast<const char*>(data_) + 16 * at);
        if (type_ == ArrowType::large_text) return between(data<std::int64_t>()[at], data<std::int64_t>()[at + 1]);
        return between(data<std::int32_t>()[at], data<std::int32_t>()[at + 1]);
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
    std::int64_t index(std::int64_t i) const noexcept {
        return with_type([&]<class T>(T) { return static_cast<std::int64_t>(data<T>()[offset_ + i]); });
    }

    template <class Offset>
    std::string_view between(Offset begin, Offset end) const noexcept {
        return {static_cast<const char*>(texts_[0]) + begin, static_cast<std::size_t>(end - begin)};
    }

    // A view has the length, and the text if it is short; else its beginning, buffer and offset.
    std::string_view viewed(const char* view) const noexcept {
        std::int32_t parts[4];
        std::memcpy(parts, view, sizeof(parts));
        const auto size = static_cast<std::size_t>(parts[0]);
        return {size <= 12 ? view + 4 : static_cast<const char*>(texts_[parts[2]]) + parts[3], size};
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
    std::int64_t offset_ = 0;
    const std::uint8_t* validity_ = nullptr;
    const void* data_ = nullptr;
    const void* const* texts_ = nullptr;
};

}  // namespace scwlearn
