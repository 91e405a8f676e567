// MurmurHash3 with 32 bits (Austin Appleby, public domain): a fixed function of the bytes, the same on every platform.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scwlearn {

// With seed 0, as in scikit-learn's FeatureHasher.
inline std::uint32_t murmur3(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const auto scrambled = [](std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    std::uint32_t hash = 0;
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        const std::uint32_t block = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
        hash = std::rotl(hash ^ scrambled(block), 13) * 5 + 0xe6546b64u;
    }
    std::uint32_t rest = 0;
    for (std::size_t j = text.size(); j > i; --j) rest = rest << 8 | byte(j - 1);
    hash ^= scrambled(rest);
    hash ^= static_cast<std::uint32_t>(text.size());
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

}  // namespace scwlearn
