// Fuzz the reader of Arrow's C data interface: tables of any types, whose offsets, indices and lengths may lie.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "parse/arrow.hpp"

namespace scwlearn {

namespace {

// A table, in buffers that are exactly as large as its lengths and last offsets demand.
class Table {
public:
    Table(Input& input, bool lies) : input_(input), lies_(lies) {
        const auto rows = static_cast<std::int64_t>(input_.below(9));
        root_ = node("+s", "", rows, 0, false);
        for (std::size_t i = 0, count = input_.below(5); i < count; ++i) {
            const std::string_view names[] = {"y", "w", "a", "b", "n", "c", "t", "d", "i", "o.i", "o"};
            add_child(*root_, column(names[input_.below(std::size(names))], rows + root_->array.offset, 1));
        }
        finish(*root_);
    }

    const ArrowSchema& schema() const { return root_->schema; }
    const ArrowArray& array() const { return root_->array; }

private:
    struct Node {
        std::string format, name;
        ArrowSchema schema{};
        ArrowArray array{};
        std::vector<std::unique_ptr<char[]>> memory;
        std::vector<const void*> buffers;
        std::vector<ArrowSchema*> schemas;
        std::vector<ArrowArray*> arrays;
    };

    Node* node(std::string_view format, std::string_view name, std::int64_t length, std::int64_t offset, bool validity) {
        Node& made = nodes_.emplace_back();
        made.format = format;
        made.name = name;
        made.array.length = length;
        made.array.offset = offset;
        made.buffers.push_back(nullptr);
        if (validity) made.buffers[0] = add_memory(made, static_cast<std::size_t>(length + offset + 7) / 8);
        return &made;
    }

    static void add_child(Node& parent, Node* child) {
        parent.schemas.push_back(&child->schema);
        parent.arrays.push_back(&child->array);
    }

    static void finish(Node& made) {
        made.schema.format = made.format.c_str();
        made.schema.name = made.name.c_str();
        made.schema.n_children = made.array.n_children = static_cast<std::int64_t>(made.schemas.size());
        made.schema.children = made.schemas.data();
        made.array.children = made.arrays.data();
        made.array.n_buffers = static_cast<std::int64_t>(made.buffers.size());
        made.array.buffers = made.buffers.data();
    }

    // Memory with bytes of the input.
    char* add_memory(Node& made, std::size_t size) {
        made.memory.push_back(std::make_unique<char[]>(size));
        input_.fill(made.memory.back().get(), size);
        return made.memory.back().get();
    }

    Node* column(std::string_view name, std::int64_t length, int depth) {
        static constexpr std::string_view kFormats[] = {
            "n", "b", "c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "d:5,2", "d:38,-9", "d:70,30,256", "d:9,2,32",
            "d:18,0,64", "d:5,2,7", "u", "U", "vu", "tdD", "tdm", "tss:", "tsm:UTC", "tsu:+01:00", "tsn:Mars", "z", "+s", "+l",
            "+L"};
        const std::uint8_t choice = input_.byte();
        std::string_view format = kFormats[(choice & 0x7f) % std::size(kFormats)];
        if (depth > 6 && format.starts_with('+')) format = "u";
        const auto offset = static_cast<std::int64_t>(input_.below(4) == 3);
        // Arrays may be longer than what is read, and lies shorter.
        length += static_cast<std::int64_t>(input_.below(3)) - (lies_ && input_.below(8) == 7);
        length = std::max(length, std::int64_t{0});
        Node& made = *node(format, name, length, offset, input_.flag());
        const bool large = format == "U" || format == "+L";
        const auto count = static_cast<std::size_t>(length + offset);
        if ((choice & 0x80) != 0 && format.size() == 1 && std::string_view("cCsSiIlL").find(format) != std::string_view::npos) {
            // No place is in an empty dictionary.
            const auto size = static_cast<std::int64_t>(input_.below(4) + !lies_);
            Node* const words = column("", size, depth + 1);
            char* const places = add_memory(made, count * 8);
            if (!lies_) keep_below(places, count, width_of(format), words->array.length);
            made.buffers.push_back(places);
            finish(made);
            made.schema.dictionary = &words->schema;
            made.array.dictionary = &words->array;
            return &made;
        }
        if (format == "+s") {
            for (std::size_t i = 0, children = input_.below(4); i < children; ++i)
                add_child(made, column(i == 0 ? "i" : i == 1 ? "x" : "y", length + offset, depth + 1));
        } else if (format == "u" || format == "U") {
            const std::int64_t size = add_offsets(made, count, large);
            made.buffers.push_back(add_memory(made, static_cast<std::size_t>(size)));
        } else if (format == "vu") {
            add_views(made, count);
        } else if (format == "+l" || format == "+L") {
            add_child(made, column("item", add_offsets(made, count, large), depth + 1));
        } else if (format != "n") {
            made.buffers.push_back(add_memory(made, count * 32));
        } else {
            made.buffers.clear();
        }
        finish(made);
        return &made;
    }

    static std::size_t width_of(std::string_view format) {
        return std::size_t{1} << std::string_view("csil").find(static_cast<char>(format[0] | 0x20));
    }

    // Makes unsigned numbers of places in an array.
    static void keep_below(char* numbers, std::size_t count, std::size_t width, std::int64_t limit) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto first = static_cast<std::uint8_t>(numbers[i * width]);
            std::memset(numbers + i * width, 0, width);
            numbers[i * width] = static_cast<char>(limit == 0 ? 0 : first % limit);
        }
    }

    // Adds offsets, of which the last is true; returns it.
    std::int64_t add_offsets(Node& made, std::size_t count, bool large) {
        std::int64_t end = 0;
        char* const memory = add_memory(made, (count + 1) * 8);
        for (std::size_t i = 0; i <= count; ++i) {
            if (i > 0) end += static_cast<std::int64_t>(input_.below(20));
            const bool lie = lies_ && i < count && input_.below(4) == 3;
            std::int64_t offset = end;
            if (lie) input_.fill(&offset, 8);
            if (large) {
                std::memcpy(memory + 8 * i, &offset, 8);
            } else {
                std::memcpy(memory + 4 * i, &offset, 4);  // the lower half: processors that libFuzzer runs on
            }
        }
        made.buffers.push_back(memory);
        return end;
    }

    void add_views(Node& made, std::size_t count) {
        char* const views = add_memory(made, count * 16);
        made.buffers.push_back(views);
        std::vector<std::int64_t> sizes;
        for (std::size_t i = 0, texts = input_.below(3); i < texts; ++i) {
            sizes.push_back(static_cast<std::int64_t>(input_.below(40)));
            made.buffers.push_back(add_memory(made, static_cast<std::size_t>(sizes.back())));
        }
        for (std::size_t i = 0; i < count && !(lies_ && input_.flag()); ++i) {
            const std::size_t number = sizes.empty() ? 0 : input_.below(sizes.size());
            const std::int64_t room = sizes.empty() ? 0 : sizes[number];
            const auto begin = room == 0 ? 0 : static_cast<std::int64_t>(input_.below(static_cast<std::size_t>(room)));
            const std::int64_t size = room - begin > 12 ? room - begin : static_cast<std::int64_t>(input_.below(13));
            const std::int32_t parts[] = {static_cast<std::int32_t>(size), 0, static_cast<std::int32_t>(number),
                                          static_cast<std::int32_t>(begin)};
            std::memcpy(views + 16 * i, parts, 4);
            if (size > 12) std::memcpy(views + 16 * i, parts, 16);
        }
        char* const lengths = add_memory(made, 8 * sizes.size());
        if (!sizes.empty()) std::memcpy(lengths, sizes.data(), 8 * sizes.size());
        made.buffers.push_back(lengths);
    }

    Input& input_;
    bool lies_;
    std::deque<Node> nodes_;
    Node* root_ = nullptr;
};

FeatureSpec spec_of(std::uint8_t options) {
    FeatureSpec spec;
    spec.kinds = {{"y", Kind::label}, {"w", Kind::weight}};
    if ((options & 1) != 0) {
        spec.kinds.insert({{"n", Kind::numeric}, {"c", Kind::categorical}, {"t", Kind::text}, {"d", Kind::date}});
        spec.kinds.insert({{"i", Kind::ignore}, {"o.i", Kind::ignore}});
        spec.text = {true, 2, 1, 2, 3, 10, {}};
    }
    if ((options & 2) != 0) spec.nan_is_missing = true;
    if ((options & 4) != 0) {
        spec.groups = {"*", "o"};
        spec.interactions = {{0, 1}};
        spec.slots = 16;
    }
    if ((options & 8) != 0) spec.missing = {"-1", "NA"};
    return spec;
}

void check(ParsedTable& parsed, RowBuilder& builder, const TableForm& form, std::int64_t rows) {
    promise_rows(builder, parsed.places.size());
    const auto read = static_cast<std::int64_t>(parsed.places.size());
    promise(parsed.lines <= rows && read + parsed.faulty <= parsed.lines && (form.skip_faults || parsed.faulty <= 1));
    promise(!form.skip_faults || parsed.lines == rows);
    promise(parsed.found.size() == std::min(static_cast<std::size_t>(parsed.faulty), form.most_found));
    promise(parsed.labels.numbers().size() == parsed.places.size());
    promise(parsed.labels.word_numbers().size() == parsed.places.size());
    promise(parsed.weights.size() == (parsed.weighted ? parsed.places.size() : 0));
    for (std::size_t i = 0; i < parsed.places.size(); ++i)
        promise(parsed.places[i] > (i > 0 ? parsed.places[i - 1] : 0) && parsed.places[i] <= parsed.lines);
    for (const double weight : parsed.weights)
        promise(weight == 0.0 || (weight >= kSmallestWeight && weight <= kLargestWeight));
}

}  // namespace

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    static_assert(std::endian::native == std::endian::little);
    Input input(data, size);
    const std::uint8_t options = input.byte(), form_options = input.byte();
    const bool lies = (form_options & 16) != 0;
    Table table(input, lies);
    const FeatureSpec spec = spec_of(options);
    TableForm form;
    form.labels_optional = (form_options & 1) != 0;
    form.skip_faults = (form_options & 2) != 0;
    form.most_found = (form_options & 4) != 0 ? 3 : 1;
    form.labels = (form_options & 8) != 0 ? LabelKind::words : LabelKind::any;
    RowBuilder builder(spec);
    // Half an hour ahead, and it changes within days of even number.
    const auto offset = [](std::string_view, std::int64_t seconds) { return seconds / 43200 % 4 == 0 ? 3600.0 : 1800.0; };
    try {
        ArrowReader reader(form, builder, table.schema(), offset);
        const bool readable = reader.is_readable();
        if (readable) reader.read(table.array());
        ParsedTable parsed = reader.take();
        if (readable) check(parsed, builder, form, table.array().length);
        else promise(parsed.faulty == 1 && parsed.places.empty());
    } catch (const std::invalid_argument&) {
        promise(lies);
    }
    return 0;
}
