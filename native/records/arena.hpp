// Memory for texts that are kept as long as a batch is built.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace scwlearn {

class Arena {
public:
    std::string_view keep(std::string_view text) {
        if (text.empty()) return {};
        kept_ += text.size();
        if (text.size() > left_) {
            const std::size_t size = text.size() > kBlock / 4 ? text.size() : kBlock;
            blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
            if (size == text.size()) {  // a block of its own
                std::memcpy(blocks_.back().get(), text.data(), size);
                return {blocks_.back().get(), size};
            }
            free_ = blocks_.back().get();
            left_ = size;
        }
        std::memcpy(free_, text.data(), text.size());
        const std::string_view kept(free_, text.size());
        free_ += text.size();
        left_ -= text.size();
        return kept;
    }

    // The number of bytes that are kept.
    std::size_t kept() const noexcept { return kept_; }

private:
    static constexpr std::size_t kBlock = 1 << 16;

    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t left_ = 0, kept_ = 0;
};

}  // namespace scwlearn
