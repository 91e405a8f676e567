// A secret key for hash tables, so that names cannot be chosen to fall into the same places.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace scwlearn {

    // Combines both halves of the product, which depend on all bits of both factors.
    inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{a} * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
        const std::uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), high = (a >> 32) * (b >> 32);
        const std::uint64_t one = (a >> 32) * (b & 0xffffffff), other = (a & 0xffffffff) * (b >> 32);
        const std::uint64_t middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
        return (a * b) ^ (high + (one >> 32) + (other >> 32) + (middle >> 32));
#endif
    }

// Random in each process.
inline const std::array<std::uint64_t, 3>& secret_key() {
    static const std::array<std::uint64_t, 3> key = [] {
        std::random_device chance;
        std::array<std::uint64_t, 3> drawn;
        for (std::uint64_t& word : drawn) word = std::uint64_t{chance()} << 32 | chance();
        return drawn;
    }();
    return key;
}

}  // namespace scwlearn
