// Arrow's C data interface, which any library can hand over, and the types that it names.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace scwlearn
