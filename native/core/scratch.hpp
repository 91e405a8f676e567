// Scratch memory of the loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace scwlearn {

// A stack of arrays. It grows if an array does not fit, and keeps its memory for the next ones.
class Scratch {
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    // Where the next array begins, and the block of memory that it lies in.
    struct Top {
        Line *next = nullptr, *end = nullptr;
        std::size_t block = 0;
    };

public:
    // Gives back, when it ends, all arrays taken since it began.
    class Frame {
    public:
        explicit Frame(Scratch& scratch) noexcept : scratch_(scratch), top_(scratch.top_) {}
        ~Frame() { scratch_.top_ = top_; }
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;

    private:
        Scratch& scratch_;
        Top top_;
    };

    // Returns an array of numbers, or other plain data, that begins with a cache line. It is not initialized.
    template <class T = double>
    T* take(std::int64_t count) {
        const std::size_t lines = (static_cast<std::size_t>(count) * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
        while (lines > static_cast<std::size_t>(top_.end - top_.next)) next_block(lines);
        top_.next += lines;
        return reinterpret_cast<T*>(top_.next - lines);
    }

private:
    struct Block {
        std::unique_ptr<Line[]> lines;
        std::size_t size;
    };

    // The arrays of a small model fit into one block.
    static constexpr std::size_t kLeast = 512;

    // Goes to the next block; the one after the last has room for an array of this size.
    [[gnu::noinline]] void next_block(std::size_t lines) {
        const std::size_t block = top_.next == nullptr ? 0 : top_.block + 1;
        if (block == blocks_.size()) {
            const std::size_t size = std::max({lines, kLeast, blocks_.empty() ? 0 : 2 * blocks_.back().size});
            blocks_.push_back({std::make_unique_for_overwrite<Line[]>(size), size});
        }
        Line* const first = blocks_[block].lines.get();
        top_ = {first, first + blocks_[block].size, block};
    }

    std::vector<Block> blocks_;
    Top top_;
};

}  // namespace scwlearn
