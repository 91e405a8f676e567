// Tables of other libraries, by Arrow's C data interface: read with the GIL released while they are borrowed.
#include "parse/arrow.hpp"

#include "python/records.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

// Upper bound on the values of a table that is read as a whole: rows count in 31 bits.
constexpr std::size_t kMostWhole = std::numeric_limits<std::int32_t>::max();

// A structure of the interface, which its producer releases.
template <class T>
struct Released {
    T held{};
    Released() = default;
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() {
        if (held.release != nullptr) held.release(&held);
    }
};

template <class T>
T& unpacked(const nb::handle& capsule, const char* name) {
    void* const held = PyCapsule_GetPointer(capsule.ptr(), name);
    if (held == nullptr) nb::raise_python_error();
    return *static_cast<T*>(held);
}

void check_columns(const ArrowSchema& schema) {
    if (std::string_view(schema.format) == "+s") return;
    const std::string problem = "a table must have columns, got an array of type " + ArrowValues(schema).name();
    throw nb::type_error(problem.c_str());
}

// Reads the batches of a stream.
void read_stream(ArrowArrayStream& stream, const std::function<ArrowReader&(const ArrowSchema&)>& start) {
    const auto check = [&stream](int code) {
        if (code == 0) return;
        const char* const reason = stream.get_last_error(&stream);
        const std::string problem = std::string("the table cannot be read: ") + (reason == nullptr ? "unknown error" : reason);
        throw nb::value_error(problem.c_str());
    };
    require(stream.release != nullptr, "the stream of the table has been read already");
    Released<ArrowSchema> schema;
    {
        const ReleaseGil release_gil;
        check(stream.get_schema(&stream, &schema.held));
    }
    check_columns(schema.held);
    ArrowReader& reader = start(schema.held);
    for (bool more = reader.is_readable(); more;) {
        Released<ArrowArray> batch;
        const ReleaseGil release_gil;
        check(stream.get_next(&stream, &batch.held));
        more = batch.held.release != nullptr && reader.read(batch.held);
    }
}

TableArrays read_arrow(const nb::object& data, const FeatureSpec& spec, const std::string& labels, bool labels_optional,
                       bool skip_faults, std::size_t most_found, const nb::callable& utc_offset, const Used& used) {
    const TableForm form{{labels_optional, skip_faults, most_found, used.has_value()}, label_kind(labels)};
    RowBuilder builder(spec, used ? kMostValues : kMostWhole, used ? kMostNames : kMostWhole);
    std::optional<ArrowReader> reader;
    const auto start = [&](const ArrowSchema& schema) -> ArrowReader& {
        return reader.emplace(form, builder, schema, [&utc_offset](std::string_view zone, std::int64_t seconds) {
            const AcquireGil acquire_gil;
            const nb::object name = string_of(zone), moment = nb::int_(seconds);
            return nb::cast<double>(called(utc_offset, {name.ptr(), moment.ptr()}));
        });
    };
    if (nb::isinstance<nb::tuple>(data)) {
        const ArrowSchema& schema = unpacked<ArrowSchema>(data[0], "arrow_schema");
        const ArrowArray& batch = unpacked<ArrowArray>(data[1], "arrow_array");
        check_columns(schema);
        const ReleaseGil release_gil;
        if (start(schema).is_readable()) reader->read(batch);
    } else {
        read_stream(unpacked<ArrowArrayStream>(data, "arrow_array_stream"), start);
    }
    ParsedTable parsed = reader->take();
    report(used, parsed.used);
    return table_arrays(builder, parsed);
}

}  // namespace

void bind_arrow(nb::module_& module) {
    module.def("read_arrow", &read_arrow, "data"_a, "spec"_a, "labels"_a, "labels_optional"_a, "skip_faults"_a,
               "most_found"_a, "utc_offset"_a, "used"_a.none() = nb::none(),
               "Read the batches of a table, which is what __arrow_c_stream__ or __arrow_c_array__ return, or if the array "
               "`used` is given, as many records of a single batch as fill the rows, and store their number there. "
               "`utc_offset(zone, seconds)` returns how many seconds a zone is ahead of UTC, or NaN if it is unknown. Return "
               "what parse_csv returns, with the number of each record in place of its line; 0 is the table as a whole.");
}

}  // namespace scwlearn
