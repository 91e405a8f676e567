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
public:
    // Gives back, when it ends, all arrays taken since it began.
    class Frame {
    public:
        explicit Frame(Scratch& scratch) noexcept : scratch_(scratch), block_(scratch.block_), used_(scratch.used_) {}
        ~Frame() {
            scratch_.block_ = block_;
            scratch_.used_ = used_;
        }
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;

    private:
        Scratch& scratch_;
        std::size_t block_, used_;
    };

    // Returns an array of numbers, or other plain data, that begins with a cache line. It is not initialized.
    template <class T = double>
    T* take(std::int64_t count) {
        const std::size_t lines = (static_cast<std::size_t>(count) * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
        for (; block_ < blocks_.size() && blocks_[block_].size - used_ < lines; ++block_) used_ = 0;
        if (block_ == blocks_.size()) {
            const std::size_t size = std::max({lines, kLeast, block_ > 0 ? 2 * blocks_.back().size : 0});
            blocks_.push_back({std::make_unique_for_overwrite<Line[]>(size), size});
        }
        used_ += lines;
        return reinterpret_cast<T*>(blocks_[block_].lines.get() + used_ - lines);
    }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    struct Block {
        std::unique_ptr<Line[]> lines;
        std::size_t size;
    };

    static constexpr std::size_t kLeast = 16;

    std::vector<Block> blocks_;
    std::size_t block_ = 0;  // the one in use
    std::size_t used_ = 0;   // lines of it
};

}  // namespace scwlearn
