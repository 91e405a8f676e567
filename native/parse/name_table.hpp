// Names in a text, numbered in order of appearance: a hash table of views that owns only numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/secret.hpp"

namespace scwlearn {

class NameTable {
public:
    // A name belongs to a namespace; the same name in another namespace is a different one.
    struct Name {
        std::string_view text;
        std::uint32_t space;
    };

    std::size_t size() const noexcept { return names_.size(); }
    const Name& operator[](std::size_t number) const noexcept { return names_[number]; }

    // Returns the number of a name; a new name gets the current size. `memory.keep(text)` returns the text of a new name
    // in memory that lasts.
    template <class Memory>
    std::uint32_t number(std::string_view text, std::uint32_t space, Memory& memory) {
        if (3 * names_.size() >= 2 * slots_.size()) place_all(slots_.empty() ? 256 : 2 * slots_.size());
        Slot wanted = slot_for(text, space);
        std::size_t at = wanted.hash & mask_;
        for (; slots_[at].number != kFree; at = (at + 1) & mask_) {
            const Slot& other = slots_[at];
            if (same_beginning(other, wanted) && (text.size() <= kBeginning || same_rest(other.number, text)))
                return other.number;
        }
        const std::size_t way = (at - wanted.hash) & mask_;
        ways_ += way;
        if ((way > kFar || ways_ > kFarOnAverage * (names_.size() + kFar)) && !keyed_) [[unlikely]] {
            use_key();
            return number(text, space, memory);
        }
        wanted.number = static_cast<std::uint32_t>(names_.size());
        names_.push_back({memory.keep(text), space});
        slots_[at] = wanted;
        return wanted.number;
    }

    // For a text that lasts.
    std::uint32_t number(std::string_view text, std::uint32_t space) {
        struct {
            std::string_view keep(std::string_view kept) const noexcept { return kept; }
        } memory;
        return number(text, space, memory);
    }

    // Removes the names that were added last. Each of them was the last to probe for a free slot, even if the table has
    // grown since, so that no other name is found through its slot.
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
    // Probe length that does not occur by chance: among a million names the longest is about 190, and 5 on average when
    // the table is fullest. Beyond it, names were probably chosen to collide, and the table switches to a secret key.
    static constexpr std::size_t kFar = 256;
    static constexpr std::size_t kFarOnAverage = 16;

    // Most names are short enough that the slot alone decides equality: one cache line per lookup.
    struct Slot {
        std::uint64_t beginning[2];  // padded with zeros
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

    // Loads up to eight bytes, padded with zeros. Halves may overlap, where they agree.
    static std::uint64_t load(const char* p, std::size_t count) noexcept {
        if (count >= 8) return word_at<std::uint64_t>(p);
        if (count >= 4) return word_at<std::uint32_t>(p) | word_at<std::uint32_t>(p + count - 4) << 8 * (count - 4);
        if (count >= 2) return word_at<std::uint16_t>(p) | word_at<std::uint16_t>(p + count - 2) << 8 * (count - 2);
        return word_at<std::uint8_t>(p);
    }

    // Hash against names chosen to collide. Using it always would cost a tenth of the parsing time.
    static std::uint32_t keyed_hash(std::string_view text, std::uint32_t space) {
        const auto& key = secret_key();
        std::uint64_t hash = mixed((std::uint64_t{space} << 32 | text.size()) ^ key[0], key[1]);
        for (std::size_t at = 0; at < text.size(); at += 8)
            hash = mixed(hash ^ key[1], load(text.data() + at, text.size() - at) ^ key[2]);
        return static_cast<std::uint32_t>(mixed(hash ^ key[2], key[0]));
    }

    Slot slot_for(std::string_view text, std::uint32_t space) const {
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
        if (keyed_) [[unlikely]] slot.hash = keyed_hash(text, space);
        return slot;
    }

    static bool same_beginning(const Slot& one, const Slot& other) noexcept {
        return one.hash == other.hash && one.size == other.size && one.space == other.space &&
               one.beginning[0] == other.beginning[0] && one.beginning[1] == other.beginning[1];
    }

    bool same_rest(std::uint32_t number, std::string_view text) const noexcept {
        return names_[number].text.substr(kBeginning) == text.substr(kBeginning);
    }

    void use_key() {
        keyed_ = true;
        try {
            place_all(slots_.size());
        } catch (...) {
            keyed_ = false;  // as in the slots
            throw;
        }
    }

    // Inserts all names into a table of that many slots, in order of appearance.
    void place_all(std::size_t count) {
        std::vector<Slot> slots(count);
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
    std::size_t ways_ = 0;  // total probe length
    bool keyed_ = false;
};

}  // namespace scwlearn
