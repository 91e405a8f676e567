// Names of features: their parts, a cache of frequent names, the dict of all names, and names hashed into slots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "parse/murmur.hpp"
#include "python/bindings.hpp"
#include "python/example.hpp"

namespace scwlearn {

// Whether an int is one of those that model files hold.
inline bool has_64_bits(nb::handle number) noexcept {
    int overflow = 0;
    static_cast<void>(PyLong_AsLongLongAndOverflow(number.ptr(), &overflow));
    return overflow == 0;
}

// Whether a key or a value is a bool, also NumPy's.
inline bool is_bool(nb::handle object) noexcept {
    return PyBool_Check(object.ptr()) || std::string_view(Py_TYPE(object.ptr())->tp_name).starts_with("numpy.bool");
}

// The string or the integer that a key is, whatever its class; null if it is neither.
inline nb::object spelled(nb::handle key) {
    if (PyUnicode_Check(key.ptr())) return checked(PyUnicode_FromObject(key.ptr()));
    if (!PyIndex_Check(key.ptr()) || is_bool(key)) return {};
    nb::object number = nb::steal(python_code([&] { return PyNumber_Index(key.ptr()); }));
    if (!number.is_valid()) {
        // NumPy's durations have the slot, but are no integers.
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
        PyErr_Clear();
    } else if (!has_64_bits(number)) {
        refuse(PyExc_ValueError, "got the key %U; a key that is a whole number must be from -2**63 to 2**63 - 1", shown(key));
    }
    return number;
}

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

// Most names are short, and calling memcmp costs more than comparing them.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) noexcept {
    if (size < 8 || size > 16) return std::memcmp(a, b, size) == 0;
    const auto differ = [a, b](std::size_t at) {
        std::uint64_t x, y;
        std::memcpy(&x, a + at, 8);
        std::memcpy(&y, b + at, 8);
        return x ^ y;
    };
    return (differ(0) | differ(size - 8)) == 0;
}

// Whether two strings, or integers, are equal. The first must be plain.
inline bool equal_names(PyObject* a, PyObject* b) noexcept {
    if (a == b) return true;
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyLong_CheckExact(a)) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    const int kind = PyUnicode_KIND(a);
    return length == PyUnicode_GET_LENGTH(b) && kind == PyUnicode_KIND(b) &&
           equal_bytes(static_cast<const char*>(PyUnicode_DATA(a)), static_cast<const char*>(PyUnicode_DATA(b)),
                       static_cast<std::size_t>(length * kind));
}

// The text of a short name whose characters take a byte each: comparing it reads nothing of the object that is kept.
struct ShortText {
    std::uint64_t first = 0, last = 0;  // its first and last eight characters
    Py_ssize_t length = 0;              // 0 for any other name

    static ShortText of(PyObject* name) noexcept {
        if (!PyUnicode_CheckExact(name) || PyUnicode_KIND(name) != PyUnicode_1BYTE_KIND) return {};
        ShortText text;
        const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
        if (length < 8 || length > 16) return text;
        const auto* const characters = static_cast<const char*>(PyUnicode_DATA(name));
        std::memcpy(&text.first, characters, 8);
        std::memcpy(&text.last, characters + length - 8, 8);
        text.length = length;
        return text;
    }

    bool operator==(const ShortText&) const = default;
};

// A cache of plain names, with a number for each. A dict lookup touches four places in memory (slot, entry, name, number),
// this one one, or two if the name is not short.
class NameCache {
public:
    // Returns the number of a name, or null.
    const std::int64_t* find(PyObject* key, PyObject* word = nullptr) const noexcept {
        const std::size_t hash = hash_of(key, word);
        const ShortText text = ShortText::of(key);
        std::size_t at = first_slot(hash);
        for (std::size_t way = 0; way < kFarthest; ++way, at = (at + 1) & last_) {
            const Entry& entry = entries_[at];
            if (!entry.key.is_valid()) return nullptr;
            if (entry.hash == hash && (text.length > 0 ? entry.text == text : equal_names(entry.key.ptr(), key)) &&
                (word == nullptr ? !entry.word.is_valid() : entry.word.is_valid() && equal_names(entry.word.ptr(), word)))
                return &entry.number;
        }
        return nullptr;
    }

    // Returns the number of a name; asks for it if it is not here, and keeps it unless it is negative.
    template <class Ask>
    std::int64_t number(const Name& name, const Ask& ask) {
        if (const std::int64_t* known = find(name.key.ptr(), name.word.ptr())) return *known;
        const std::int64_t number = ask();
        if (number >= 0) keep(name, number);
        return number;
    }

    void clear() noexcept {
        std::fill(entries_.begin(), entries_.end(), Entry{});
        count_ = 0;
    }

private:
    struct alignas(64) Entry {
        std::size_t hash = 0;
        nb::object key, word;
        std::int64_t number = 0;
        ShortText text;  // of the key
    };

    // Slots that stay in the cache of a core.
    static constexpr std::size_t kLeast = 64, kMost = 1 << 14;
    // With this many slots per name, collisions are rare.
    static constexpr std::size_t kSparse = 8;
    // A name is kept only this close to its first slot. Names whose hashes collide, as those of integers may, are looked up
    // in the dict instead.
    static constexpr std::size_t kFarthest = 16;

    // Characters of a key or a word: longer ones take much memory, and as long to read as to look up.
    static constexpr Py_ssize_t kLongest = 128;

    static bool is_short(PyObject* text) noexcept {
        return text == nullptr || (PyUnicode_Check(text) ? PyUnicode_GET_LENGTH(text) <= kLongest
                                                         : !PyBytes_Check(text) || PyBytes_GET_SIZE(text) <= kLongest);
    }

    // Adds a new name, if it is short and there is room.
    void keep(const Name& name, std::int64_t number) {
        if (!is_short(name.key.ptr()) || !is_short(name.word.ptr())) return;
        if (kSparse * count_ >= entries_.size() && entries_.size() < kMost) {
            std::vector<Entry> more(4 * entries_.size());  // two bits more
            entries_.swap(more);
            last_ = entries_.size() - 1;
            shift_ -= 2;
            count_ = 0;
            for (Entry& entry : more)
                if (entry.key.is_valid()) place(std::move(entry));
        }
        if (2 * count_ >= entries_.size()) return;
        const std::size_t hash = hash_of(name.key.ptr(), name.word.ptr());
        place({hash, nb::borrow(name.key), nb::borrow(name.word), number, ShortText::of(name.key.ptr())});
    }

    // Puts a new name into the first free slot from its own on, unless that is too far away.
    void place(Entry entry) noexcept {
        std::size_t at = first_slot(entry.hash);
        for (std::size_t way = 0; way < kFarthest; ++way, at = (at + 1) & last_) {
            if (entries_[at].key.is_valid()) continue;
            entries_[at] = std::move(entry);
            ++count_;
            return;
        }
    }

    // The hash of an integer is its value. The highest bits of the product depend on all of it.
    std::size_t first_slot(std::size_t hash) const noexcept {
        return static_cast<std::size_t>((std::uint64_t{hash} * 0x9e3779b97f4a7c15u) >> shift_);
    }

    static std::size_t hash_of(PyObject* key, PyObject* word) noexcept {
        const std::size_t hash = hash_of(key);
        return word == nullptr ? hash : (hash ^ std::rotl(hash_of(word), 17)) * 0x9e3779b97f4a7c15u;
    }

    static std::size_t hash_of(PyObject* part) noexcept {
        // Python caches the hash in the string when it is first computed.
        if (PyUnicode_CheckExact(part))
            if (const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(part)->hash; known != -1)
                return static_cast<std::size_t>(known);
        return static_cast<std::size_t>(PyObject_Hash(part));
    }

    std::vector<Entry> entries_ = std::vector<Entry>(kLeast);
    std::size_t last_ = kLeast - 1;
    int shift_ = 64 - std::countr_zero(kLeast);  // to slots
    std::size_t count_ = 0;
};

// All names and their features, which are 0, 1, ... in order of appearance.
class Names {
public:
    Names() = default;
    explicit Names(nb::dict features) : features_(std::move(features)) {}

    const nb::dict& features() const noexcept { return features_; }
    std::int64_t count() const noexcept { return PyDict_GET_SIZE(features_.ptr()); }

    const NameCache& cache() const noexcept { return cache_; }

    // Returns the feature of a name, or -1. A name that is not plain may run any code.
    std::int64_t find(const Name& name) {
        const auto look_up = [&] { return this->look_up(name.object()); };
        return name.is_plain() ? cache_.number(name, look_up) : look_up();
    }

    void add(nb::handle name, nb::handle feature) {
        if (PyDict_SetItem(features_.ptr(), name.ptr(), feature.ptr()) != 0) nb::raise_python_error();
    }

    // Removes a name, if it is there.
    void remove(nb::handle name) noexcept {
        if (PyDict_DelItem(features_.ptr(), name.ptr()) != 0) PyErr_Clear();
        cache_.clear();
    }

private:
    std::int64_t look_up(const nb::object& name) const {
        if (!name.is_valid()) nb::raise_python_error();
        PyObject* found = python_code([&] { return PyDict_GetItemWithError(features_.ptr(), name.ptr()); });
        if (found == nullptr) {
            if (PyErr_Occurred()) nb::raise_python_error();
            return -1;
        }
        const Py_ssize_t feature = PyLong_AsSsize_t(found);
        if (feature == -1 && PyErr_Occurred()) nb::raise_python_error();
        // Python code can reach the dict.
        require(feature >= 0 && feature < count(), "the features of the names must be 0, 1, and so on");
        return feature;
    }

    nb::dict features_;
    NameCache cache_;
};

// Names hashed into a fixed number of slots, each of which remembers its most frequent name. Slots and signs are those of
// scikit-learn's FeatureHasher, by MurmurHash3.
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

    // Calls action(slot, owner) for each slot that has one.
    template <class Action>
    void each_owner(const Action& action) const {
        for (std::size_t slot = 0; slot < owners_.size(); ++slot)
            if (owners_[slot].name.is_valid()) action(slot, owners_[slot]);
    }

    const NameCache& cache() const noexcept { return cache_; }

    // Returns the hash of a plain name.
    std::uint32_t hash(const Name& name) {
        return static_cast<std::uint32_t>(cache_.number(name, [&] {
            text_.clear();
            append(name.key, name);
            if (name.is_made()) {
                text_ += '=';
                append(name.word, name);
            }
            return std::int64_t{murmur3(text_)};
        }));
    }

    std::int64_t slot(std::uint32_t hash) const noexcept {
        const std::int64_t number = static_cast<std::int32_t>(hash);
        // FeatureHasher has a special case for the one number whose absolute value does not fit into 32 bits.
        if (number == std::numeric_limits<std::int32_t>::min()) return (kMost - (count_ - 1)) % count_;
        return static_cast<std::uint32_t>(std::abs(number)) % static_cast<std::uint32_t>(count_);
    }

    static double sign(std::uint32_t hash) noexcept { return static_cast<std::int32_t>(hash) < 0 ? -1.0 : 1.0; }

    // Majority vote: the owner of a slot loses a vote to every other name, and the slot when no vote is left. So a name
    // that is more frequent than all others together ends up as the owner. Names with the same hash count as one.
    void vote(std::uint32_t hash, const Name& name) noexcept {
        Owner& owner = owners_[static_cast<std::size_t>(slot(hash))];
        if (owner.name.is_valid() && owner.hash == hash) {
            if (owner.votes < kMostVotes) ++owner.votes;
            return;
        }
        owner.shared = owner.name.is_valid();
        if (owner.votes > 0) {
            --owner.votes;
            return;
        }
        nb::object taking = name.object();
        if (!taking.is_valid()) {
            PyErr_Clear();  // out of memory: the slot stays as it is
            return;
        }
        owner.name = std::move(taking);
        owner.hash = hash;
        owner.votes = 1;
    }

    // Loads the slot of a hash, for a vote that follows.
    void prefetch(std::uint32_t hash) const noexcept { __builtin_prefetch(&owners_[static_cast<std::size_t>(slot(hash))]); }

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

    // Appends a part of a name.
    void append(nb::handle part, const Name& name) {
        const nb::object text = PyLong_CheckExact(part.ptr()) ? nb::steal(PyObject_Str(part.ptr())) : nb::borrow(part);
        Py_ssize_t size = 0;
        const char* bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
        if (bytes == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
            PyErr_Clear();
            refuse(PyExc_ValueError,
                   "key %R: %R is not valid Unicode and cannot be hashed; replace what is not: "
                   "text.encode(errors=\"replace\").decode()",
                   name.key, part);
        }
        if (bytes == nullptr) nb::raise_python_error();
        text_.append(bytes, static_cast<std::size_t>(size));
    }

    std::int64_t count_;
    std::vector<Owner> owners_;  // empty before the first vote
    NameCache cache_;
    std::string text_;
};

}  // namespace scwlearn
