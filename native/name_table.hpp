// Names in a text, numbered in the order in which they come: a hash table of views, which owns nothing but numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace scwlearn {

class NameTable {
public:
    // A name belongs to a space; the same name in another one is another.
    struct Name {
        std::string_view text;
        std::uint32_t space;
    };

    std::size_t size() const noexcept { return names_.size(); }
    const Name& operator[](std::size_t number) const noexcept { return names_[number]; }

    // The number of a name, which is the size there was before if it is new.
    std::uint32_t number(std::string_view text, std::uint32_t space) {
        if (3 * names_.size() >= 2 * slots_.size()) grow();
        Slot wanted = slot_for(text, space);
        std::size_t at = wanted.hash & mask_;
        for (; slots_[at].number != kFree; at = (at + 1) & mask_) {
            const Slot& other = slots_[at];
            if (same_beginning(other, wanted) && same_rest(names_[other.number].text, text)) return other.number;
        }
        wanted.number = static_cast<std::uint32_t>(names_.size());
        names_.push_back({text, space});
        slots_[at] = wanted;
        return wanted.number;
    }

    // Forgets the names that came last. Each is the last to have looked for a free slot, also if the table has grown
    // since: so no other is found through its slot.
    void shrink(std::size_t size) noexcept {
        for (; names_.size() > size; names_.pop_back()) {
            const Name& last = names_.back();
            std::size_t at = slot_for(last.text, last.space).hash & mask_;
            while (slots_[at].number != names_.size() - 1) at = (at + 1) & mask_;
            slots_[at].number = kFree;
        }
    }

private:
    static constexpr std::uint32_t kFree = ~std::uint32_t{0};
    static constexpr std::size_t kBeginning = 16;

    // Most names are short, so that the slot alone tells whether it is theirs: one line of the cache for each.
    struct Slot {
        std::uint64_t beginning[2];  // zeros behind the end of the name
        std::uint32_t size;
        std::uint32_t space;
        std::uint32_t hash;
        std::uint32_t number = kFree;
    };

    template <class Word>
    static std::uint64_t word_at(const char* p) noexcept {
        Word word;
        std::memcpy(&word, p, sizeof(word));
        return word;
    }

    // Up to eight bytes, and zeros behind them. Halves may overlap: where they do, they agree.
    static std::uint64_t load(const char* p, std::size_t count) noexcept {
        if (count >= 8) return word_at<std::uint64_t>(p);
        if (count >= 4) return word_at<std::uint32_t>(p) | word_at<std::uint32_t>(p + count - 4) << 8 * (count - 4);
        if (count >= 2) return word_at<std::uint16_t>(p) | word_at<std::uint16_t>(p + count - 2) << 8 * (count - 2);
        return word_at<std::uint8_t>(p);
    }

    static Slot slot_for(std::string_view text, std::uint32_t space) noexcept {
        constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
        Slot slot{{0, 0}, static_cast<std::uint32_t>(text.size()), space, 0};
        std::uint64_t hash = (text.size() + kOdd) ^ (std::uint64_t{space} << 32);
        const char* p = text.data();
        std::size_t left = text.size();
        for (std::size_t i = 0; left > 0; ++i) {
            const std::uint64_t word = load(p, left);
            if (i < 2) slot.beginning[i] = word;
            hash = std::rotl((hash ^ word) * kOdd, 29);
            const std::size_t taken = left < 8 ? left : 8;
            p += taken;
            left -= taken;
        }
        slot.hash = static_cast<std::uint32_t>((hash * kOdd) >> 32);
        return slot;
    }

    static bool same_beginning(const Slot& one, const Slot& other) noexcept {
        return one.hash == other.hash && one.size == other.size && one.space == other.space &&
               one.beginning[0] == other.beginning[0] && one.beginning[1] == other.beginning[1];
    }

    static bool same_rest(std::string_view one, std::string_view other) noexcept {
        return other.size() <= kBeginning || one.substr(kBeginning) == other.substr(kBeginning);
    }

    void grow() {
        std::vector<Slot> slots(slots_.empty() ? 256 : 2 * slots_.size());
        mask_ = slots.size() - 1;
        for (std::uint32_t i = 0; i < names_.size(); ++i) {
            Slot slot = slot_for(names_[i].text, names_[i].space);
            slot.number = i;
            std::size_t at = slot.hash & mask_;
            while (slots[at].number != kFree) at = (at + 1) & mask_;
            slots[at] = slot;
        }
        slots_ = std::move(slots);
    }

    std::vector<Name> names_;
    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
};

}  // namespace scwlearn
