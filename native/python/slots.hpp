// Names hashed into a fixed number of slots; each slot remembers its most frequent name.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "parse/murmur.hpp"
#include "python/names.hpp"

namespace scwlearn {

// Slots and signs are those of scikit-learn's FeatureHasher, by MurmurHash3.
class Slots {
public:
    // The hash has 32 bits, one of which is the sign.
    static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

    struct Owner {
        nb::object name;
        std::uint32_t hash = 0;
        std::uint32_t shared : 1 = 0;  // whether other names fell into this slot, too
        std::uint32_t votes : 31 = 0;
    };

    explicit Slots(std::int64_t count = 0) : count_(count) {}

    std::int64_t count() const noexcept { return count_; }
    const std::vector<Owner>& owners() const noexcept { return owners_; }

    const NamesAtHand<1>& keys() const noexcept { return keys_; }

    // Returns the hash of a plain name.
    std::uint32_t hash(const Name& name) {
        if (name.is_made()) return hash_in(pairs_, {name.key.ptr(), name.word.ptr()});
        return hash_in(keys_, {name.key.ptr()});
    }

    std::int64_t slot(std::uint32_t hash) const noexcept {
        const std::int64_t number = static_cast<std::int32_t>(hash);
        // FeatureHasher has a special case for the one number whose absolute value does not fit into 32 bits.
        if (number == std::numeric_limits<std::int32_t>::min()) return (kMost - (count_ - 1)) % count_;
        return static_cast<std::uint32_t>(std::abs(number)) % static_cast<std::uint32_t>(count_);
    }

    static double sign(std::uint32_t hash) noexcept { return static_cast<std::int32_t>(hash) < 0 ? -1.0 : 1.0; }

    // Majority vote: the owner of a slot loses a vote to every other name, and the slot when none is left, so that a
    // name that is more frequent than all others together owns it in the end. Names with the same hash count as one.
    void vote(std::uint32_t hash, const Name& name, std::int64_t times = 1) noexcept {
        Owner& owner = owners_[static_cast<std::size_t>(slot(hash))];
        if (owner.name.is_valid() && owner.hash == hash) {
            owner.votes = static_cast<std::uint32_t>(std::min<std::int64_t>(owner.votes + times, kMostVotes)) & kMostVotes;
            return;
        }
        if (times <= 0) return;
        owner.shared = owner.name.is_valid();
        if (owner.votes >= times) {
            owner.votes = static_cast<std::uint32_t>(owner.votes - times) & kMostVotes;
            return;
        }
        nb::object taking = name.object();
        if (!taking.is_valid()) {
            PyErr_Clear();  // out of memory: the slot stays as it is
            return;
        }
        owner.name = std::move(taking);
        owner.hash = hash;
        owner.votes = static_cast<std::uint32_t>(std::min<std::int64_t>(times - owner.votes, kMostVotes)) & kMostVotes;
    }

    // Must be called before the first vote.
    void prepare() { owners_.resize(static_cast<std::size_t>(count_)); }

    void put(std::int64_t slot, nb::object name, bool shared, std::uint32_t votes) {
        require(slot >= 0 && slot < count_ && votes <= kMostVotes, "slot or votes out of range");
        prepare();
        const std::uint32_t hash = this->hash({name, {}});
        Owner& owner = owners_[static_cast<std::size_t>(slot)];
        owner.name = std::move(name);
        owner.hash = hash;
        owner.shared = shared;
        owner.votes = votes;
    }

    // Merges the slots of another vocabulary; the name with more votes owns a slot.
    void unite(const Slots& others) {
        if (others.owners_.empty()) return;
        prepare();
        for (std::size_t slot = 0; slot < owners_.size(); ++slot) {
            Owner& ours = owners_[slot];
            const Owner& theirs = others.owners_[slot];
            if (!theirs.name.is_valid()) continue;
            const bool shared = ours.shared || theirs.shared || (ours.name.is_valid() && ours.hash != theirs.hash);
            if (!ours.name.is_valid() || theirs.votes > ours.votes) ours = theirs;
            ours.shared = shared;
        }
    }

private:
    static constexpr std::uint32_t kMostVotes = 0x7fffffff;

    template <std::size_t kParts>
    std::uint32_t hash_in(NamesAtHand<kParts>& at_hand, const std::array<PyObject*, kParts>& parts) {
        if (const std::int64_t* known = at_hand.find(parts)) return static_cast<std::uint32_t>(*known);
        text_.clear();
        append(parts[0]);
        if constexpr (kParts == 2) {
            text_ += '=';
            append(parts[1]);
        }
        const std::uint32_t hash = murmur3(text_);
        at_hand.keep(parts, hash);
        return hash;
    }

    void append(nb::handle part) {
        const nb::object text = PyLong_CheckExact(part.ptr()) ? nb::steal(PyObject_Str(part.ptr())) : nb::borrow(part);
        Py_ssize_t size = 0;
        const char* bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
        if (bytes == nullptr) nb::raise_python_error();
        text_.append(bytes, static_cast<std::size_t>(size));
    }

    std::int64_t count_;
    std::vector<Owner> owners_;  // empty before the first vote
    NamesAtHand<1> keys_;
    NamesAtHand<2> pairs_;
    std::string text_;
};

}  // namespace scwlearn
