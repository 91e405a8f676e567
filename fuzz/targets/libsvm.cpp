// Fuzz the LIBSVM parser: no input may cause an invalid read or write, a hang, or a broken promise.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "inputs.hpp"
#include "parse/libsvm.hpp"

namespace scwlearn {

template <class Value, class Index>
void run(std::string_view lines, LibsvmForm form) {
    form.max_features = std::min<std::int64_t>(form.max_features, std::numeric_limits<Index>::max());
    const Measure most = measure(lines);
    // Exactly as large as promised, so that the sanitizer detects any access beyond.
    Examples<Value, Index> out(most);
    const LibsvmParsed parsed = LibsvmParser<Value, Index>(out, form).parse(lines);
    const auto& [labels, places, values, indices, offsets] = out;

    promise(parsed.lines <= most.lines && parsed.rows + parsed.faulty <= parsed.lines);
    promise(form.skip_faults ? parsed.lines == most.lines : parsed.faulty <= 1);
    promise(parsed.found.size() == std::min(static_cast<std::size_t>(parsed.faulty), form.most_found));
    promise(offsets[0] == 0 && offsets[parsed.rows] == parsed.stored && parsed.stored <= most.colons);
    std::int64_t width = 0;
    for (std::int64_t i = 0; i < parsed.rows; ++i) {
        promise(form.labels_optional || acceptable(labels[i]));
        promise(places[i] > (i > 0 ? places[i - 1] : 0) && places[i] <= parsed.lines);
        promise(offsets[i] <= offsets[i + 1]);
        for (Index j = offsets[i]; j < offsets[i + 1]; ++j) {
            promise(indices[j] >= 0 && indices[j] < form.max_features && acceptable(values[j]));
            promise(j == offsets[i] || indices[j] > indices[j - 1]);
            width = std::max(width, std::int64_t{indices[j]} + 1);
        }
    }
    promise(width == parsed.width);
    for (const Found& one : parsed.found) promise_place(lines, one.line, one.column, one.text);
}

}  // namespace scwlearn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scwlearn;
    const Chosen chosen(data, size);
    LibsvmForm form;
    form.zero_based = chosen.flag(0);
    form.labels_optional = chosen.flag(1);
    form.labels_ignored = form.labels_optional && chosen.flag(7);
    form.skip_faults = chosen.flag(2);
    form.most_found = chosen.flag(3) ? 2 : 1;
    form.max_features = chosen.flag(4) ? 100 : std::numeric_limits<std::int64_t>::max();
    if (chosen.flag(5))
        run<double, std::int64_t>(chosen.lines(), form);
    else if (chosen.flag(6))
        run<float, std::int32_t>(chosen.lines(), form);
    else
        run<double, std::int32_t>(chosen.lines(), form);
    return 0;
}
