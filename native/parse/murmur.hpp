// MurmurHash3 with 32 bits (Austin Appleby, public domain): a fixed function of the bytes, the same on every platform.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scwlearn {

// The hash of a text that comes in two parts, so that the first need not be hashed again. With seed 0, as in scikit-learn's
// FeatureHasher.
class Murmur3 {
public:
    explicit Murmur3(std::string_view begin = {}) noexcept { add(begin); }

    // The hash of the text so far with an end.
    std::uint32_t with(std::string_view end) const noexcept {
        Murmur3 whole(*this);
        whole.add(end);
        std::uint32_t hash = whole.hash_ ^ scrambled(static_cast<std::uint32_t>(whole.rest_));
        hash ^= static_cast<std::uint32_t>(whole.size_);
        hash = (hash ^ hash >> 16) * 0x85ebca6bu;
        hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
        return hash ^ hash >> 16;
    }

private:
    static std::uint32_t scrambled(std::uint32_t block) noexcept { return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

    void add(std::string_view text) noexcept {
        const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
        const std::size_t shift = 8 * (size_ % 4);  // bits that wait for a whole block
        std::size_t i = 0;
        for (; i + 4 <= text.size(); i += 4) {
            const std::uint32_t next = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
            rest_ |= std::uint64_t{next} << shift;
            take_block();
        }
        for (std::size_t at = shift; i < text.size(); ++i, at += 8) rest_ |= std::uint64_t{byte(i)} << at;
        size_ += text.size();
        if (shift / 8 + text.size() % 4 >= 4) take_block();
    }

    void take_block() noexcept {
        hash_ = std::rotl(hash_ ^ scrambled(static_cast<std::uint32_t>(rest_)), 13) * 5 + 0xe6546b64u;
        rest_ >>= 32;
    }

    std::uint32_t hash_ = 0;
    std::uint64_t rest_ = 0;  // bytes that are not part of a whole block, the first in the lowest byte
    std::size_t size_ = 0;
};

inline std::uint32_t murmur3(std::string_view text) noexcept { return Murmur3().with(text); }

}  // namespace scwlearn
