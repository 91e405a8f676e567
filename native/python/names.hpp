// Names of features: their parts, a cache of frequent names, and the dict of all names.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "python/bindings.hpp"

namespace scwlearn {

// A key of a dict, or a key and a word that is its value: "key=word".
struct Name {
    nb::handle key;
    nb::handle word;  // null for a key alone

    bool is_made() const noexcept { return word.is_valid(); }

    // Whether comparing it runs no user code.
    bool is_plain() const noexcept { return PyUnicode_CheckExact(key.ptr()) || PyLong_CheckExact(key.ptr()); }

    // The name as a Python object.
    nb::object object() const {
        return is_made() ? nb::steal(PyUnicode_FromFormat("%S=%U", key.ptr(), word.ptr())) : nb::borrow(key);
    }
};

// A cache of plain names, of a key or of a key and a word, with a number for each. A dict lookup touches four places in
// memory (slot, entry, name, number), this one two.
template <std::size_t kParts>
class NamesAtHand {
public:
    using Parts = std::array<PyObject*, kParts>;

    // Returns its number, or null.
    const std::int64_t* find(Parts name) const noexcept {
        const std::size_t hash = hash_of(name);
        for (std::size_t at = hash & last_;; at = (at + 1) & last_) {
            const Entry& entry = entries_[at];
            if (!entry.name[0].is_valid()) return nullptr;
            if (entry.hash == hash && equal(entry.name[0].ptr(), name[0]) &&
                (kParts == 1 || equal(entry.name[kParts - 1].ptr(), name[kParts - 1])))
                return &entry.number;
        }
    }

    // Adds a new name, if there is room.
    void keep(const Parts& name, std::int64_t number) {
        if (kSparse * count_ >= entries_.size() && entries_.size() < kMost) {
            std::vector<Entry> more(2 * entries_.size());
            entries_.swap(more);
            last_ = entries_.size() - 1;
            for (Entry& entry : more)
                if (entry.name[0].is_valid()) free_from(entry.hash) = std::move(entry);
        }
        if (2 * count_ >= entries_.size()) return;
        const std::size_t hash = hash_of(name);
        Entry& entry = free_from(hash);
        for (std::size_t i = 0; i < kParts; ++i) entry.name[i] = nb::borrow(name[i]);
        entry.hash = hash;
        entry.number = number;
        ++count_;
    }

    void clear() noexcept {
        std::fill(entries_.begin(), entries_.end(), Entry{});
        count_ = 0;
    }

private:
    struct Entry {
        std::size_t hash = 0;
        std::array<nb::object, kParts> name;
        std::int64_t number = 0;
    };

    // Slots that stay in the cache of a core.
    static constexpr std::size_t kLeast = 64, kMost = 1 << 14;
    // With this many slots per name, collisions are rare.
    static constexpr std::size_t kSparse = 8;

    // The first free slot from the one that the hash points to.
    Entry& free_from(std::size_t hash) noexcept {
        std::size_t at = hash & last_;
        while (entries_[at].name[0].is_valid()) at = (at + 1) & last_;
        return entries_[at];
    }

    static std::size_t hash_of(Parts name) noexcept {
        std::size_t hash = hash_of(name[0]);
        if constexpr (kParts == 2) hash = (hash ^ std::rotl(hash_of(name[1]), 17)) * 0x9e3779b97f4a7c15u;
        return hash;
    }

    static std::size_t hash_of(PyObject* part) noexcept {
        // Python caches the hash in the string when it is first computed.
        if (PyUnicode_CheckExact(part))
            if (const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(part)->hash; known != -1)
                return static_cast<std::size_t>(known);
        return static_cast<std::size_t>(PyObject_Hash(part));
    }

    static bool equal(PyObject* a, PyObject* b) noexcept {
        if (a == b) return true;
        if (Py_TYPE(a) != Py_TYPE(b)) return false;
        if (PyLong_CheckExact(a)) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
        const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
        const int kind = PyUnicode_KIND(a);
        return length == PyUnicode_GET_LENGTH(b) && kind == PyUnicode_KIND(b) &&
               equal_bytes(static_cast<const char*>(PyUnicode_DATA(a)), static_cast<const char*>(PyUnicode_DATA(b)),
                           static_cast<std::size_t>(length * kind));
    }

    // Most names are short, and calling memcmp costs more than comparing them.
    static bool equal_bytes(const char* a, const char* b, std::size_t size) noexcept {
        if (size < 8 || size > 16) return std::memcmp(a, b, size) == 0;
        const auto differ = [a, b](std::size_t at) {
            std::uint64_t x, y;
            std::memcpy(&x, a + at, 8);
            std::memcpy(&y, b + at, 8);
            return x ^ y;
        };
        return (differ(0) | differ(size - 8)) == 0;
    }

    std::vector<Entry> entries_ = std::vector<Entry>(kLeast);
    std::size_t last_ = kLeast - 1;
    std::size_t count_ = 0;
};

// All names and their features, which are 0, 1, ... in order of appearance.
class Names {
public:
    Names() = default;
    explicit Names(nb::dict features) : features_(std::move(features)) {}

    const nb::dict& features() const noexcept { return features_; }
    std::int64_t count() const noexcept { return PyDict_GET_SIZE(features_.ptr()); }

    const NamesAtHand<1>& keys() const noexcept { return keys_; }

    // Returns the feature of a name, or -1. A name that is not plain may run any code.
    std::int64_t find(const Name& name) {
        if (!name.is_plain()) return look_up(name.object());
        if (name.is_made()) return find_in(pairs_, {name.key.ptr(), name.word.ptr()}, name);
        return find_in(keys_, {name.key.ptr()}, name);
    }

    void add(nb::handle name, nb::handle feature) {
        if (PyDict_SetItem(features_.ptr(), name.ptr(), feature.ptr()) != 0) nb::raise_python_error();
    }

    // Removes a name, if it is there.
    void remove(nb::handle name) noexcept {
        if (PyDict_DelItem(features_.ptr(), name.ptr()) != 0) PyErr_Clear();
        keys_.clear();
        pairs_.clear();
    }

private:
    template <std::size_t kParts>
    std::int64_t find_in(NamesAtHand<kParts>& at_hand, const std::array<PyObject*, kParts>& parts, const Name& name) {
        if (const std::int64_t* feature = at_hand.find(parts)) return *feature;
        const std::int64_t feature = look_up(name.object());
        if (feature >= 0) at_hand.keep(parts, feature);
        return feature;
    }

    std::int64_t look_up(const nb::object& name) const {
        if (!name.is_valid()) nb::raise_python_error();
        PyObject* found = PyDict_GetItemWithError(features_.ptr(), name.ptr());
        if (found == nullptr) {
            if (PyErr_Occurred()) nb::raise_python_error();
            return -1;
        }
        const Py_ssize_t feature = PyLong_AsSsize_t(found);
        if (feature == -1 && PyErr_Occurred()) nb::raise_python_error();
        require(feature >= 0, "the feature of a name must be >= 0");
        return feature;
    }

    nb::dict features_;
    NamesAtHand<1> keys_;
    NamesAtHand<2> pairs_;
};

}  // namespace scwlearn
