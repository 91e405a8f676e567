// What the bindings of the parsers share: text, new arrays and errors.
#pragma once

#include "python/bindings.hpp"

#include <string_view>

#include "parse/faults.hpp"

namespace scwlearn {

using Text = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

// An error, its line and column, counted from 1, and the text found there.
using FoundFault = std::tuple<std::string, std::int64_t, std::int64_t, nb::bytes>;

inline std::string_view lines_of(const Text& text) {
    const std::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
    require(lines.empty() || lines.back() == '\n', "the text must end with a newline");
    return lines;
}

// Hands memory over to NumPy.
template <class T>
NewArray array_of(std::vector<T>&& values) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    const nb::capsule owner(held.get(), [](void* owned) noexcept { delete static_cast<std::vector<T>*>(owned); });
    std::vector<T>& kept = *held.release();
    return NewArray(nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(kept.data(), {kept.size()}, owner));
}

template <class Fault, std::size_t Count>
std::vector<FoundFault> described(const std::vector<Found<Fault>>& found, const char* const (&names)[Count]) {
    constexpr std::size_t kShown = 100;  // enough for a message
    std::vector<FoundFault> faults;
    for (const Found<Fault>& one : found) {
        const std::string_view text = one.text.substr(0, kShown);
        faults.emplace_back(names[static_cast<std::size_t>(one.fault)], one.line, one.column,
                            nb::bytes(text.data(), text.size()));
    }
    return faults;
}

}  // namespace scwlearn
