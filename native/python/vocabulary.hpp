// The names of the features of dicts; python/dict_reader.hpp reads dicts by it.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "python/example.hpp"
#include "python/last_keys.hpp"
#include "python/names.hpp"
#include "python/sparse_rows.hpp"

namespace scwlearn {

// What an example is read for: to find errors, to count unknown names, to score (known names only), or to learn (all names).
enum class Purpose { check, count_unknown, score, learn };

// The names of the features of dicts, apart from the model. Learning adds the names of each example, at most `most` of
// them, or hashes them into that many slots.
//
// Reading has no visible effect. To learn from an example: read it, begin an `Adding`, let the model learn, and end
// with `keep`; no other example may be added in between.
class Vocabulary {
public:
    // Adds the new names of an example, and removes them on destruction unless they are kept.
    class Adding {
    public:
        Adding(Vocabulary& vocabulary, Example& example) : vocabulary_(vocabulary), example_(example) {
            if (!example.votes.empty()) vocabulary.slots_.prepare();
            if (!example.new_names.is_valid()) return;
            if (vocabulary.count() != example.known)
                throw std::runtime_error("the vocabulary has changed since x was read");
            try {
                for (const auto [name, feature] : nb::borrow<nb::dict>(example.new_names))
                    vocabulary.names_.add(name, feature);
            } catch (...) {
                remove();
                throw;
            }
        }
        ~Adding() {
            if (!kept_ && example_.new_names.is_valid()) remove();
        }
        Adding(const Adding&) = delete;
        Adding& operator=(const Adding&) = delete;

        // To be called after the model has learned from the example.
        void keep() noexcept {
            kept_ = true;
            if (example_.key_type.is_valid()) vocabulary_.key_type_ = example_.key_type;
            for (const Example::Vote& vote : example_.votes) vocabulary_.slots_.vote(vote.hash, {vote.key, vote.word});
        }

    private:
        void remove() noexcept {
            vocabulary_.last_keys_.clear();
            for (const auto [name, feature] : nb::borrow<nb::dict>(example_.new_names)) vocabulary_.names_.remove(name);
        }

        Vocabulary& vocabulary_;
        Example& example_;
        bool kept_ = false;
    };

    Vocabulary(std::optional<std::int64_t> most, bool hashed) : most_(most), slots_(hashed ? most.value_or(0) : 0) {
        require(!most || *most >= 1, "max_features must be at least 1");
        require(!hashed || (most && *most <= Slots::kMost),
                "max_features must be from 1 to 2147483647 if names are hashed");
    }

    bool hashed() const noexcept { return slots_.count() > 0; }
    std::optional<std::int64_t> most() const noexcept { return most_; }
    // The number of features.
    std::int64_t count() const noexcept { return hashed() ? slots_.count() : names_.count(); }

    // Reads x into an empty example. Values of 0 are skipped, and when scoring also names without a feature below
    // `room`. `row` is for messages: the position of x in a list, or -1. A name or value of the user's class may run
    // any code. Returns the number of features if it is read to check it, and that of unknown names to count them,
    // repeated ones included.
    template <Purpose kPurpose>
    std::int64_t read(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example);
    // The same, with the features sorted; quicker if x has the keys of the last dict.
    template <Purpose kPurpose>
    void read_sorted(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example);

    // Raises an error for the first invalid dict of a list. All keys must have one type. Returns whether learning from
    // the dicts may bring more names than there is `room` for, which is a guess where finding out takes too long.
    bool check(const nb::tuple& rows, std::int64_t room);

    // Returns the feature of each name; for an unknown name the next free one (`learns`) or -1. Hashed names always
    // have one.
    NewArray find(const nb::list& names, bool learns) {
        check_names(names);
        std::vector<std::int64_t> features;
        features.reserve(names.size());
        nb::dict coming;
        for (const nb::handle name : names) {
            std::int64_t feature = hashed() ? slots_.slot(slots_.hash({name, {}})) : names_.find({name, {}});
            if (feature < 0 && learns) {
                // A repeated new name is one feature, as it will be once it is known.
                const nb::int_ next(count() + static_cast<std::int64_t>(coming.size()));
                PyObject* const known = PyDict_SetDefault(coming.ptr(), name.ptr(), next.ptr());
                if (known == nullptr) nb::raise_python_error();
                feature = nb::cast<std::int64_t>(nb::handle(known));
            }
            features.push_back(feature);
        }
        return array_of(std::move(features));
    }

    // Returns the slot and the sign of each hash, where names are hashed.
    std::tuple<NewArray, NewArray> slots(const Column<std::uint32_t>& hashes) const {
        require(hashed(), "the names of this vocabulary are not hashed");
        std::vector<std::int64_t> slots(hashes.size());
        std::vector<double> signs(hashes.size());
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            slots[i] = slots_.slot(hashes(i));
            signs[i] = Slots::sign(hashes(i));
        }
        return {array_of(std::move(slots)), array_of(std::move(signs))};
    }

    // Returns the hash of each name.
    NewArray hashes(const nb::list& names) {
        require(hashed(), "the names of this vocabulary are not hashed");
        check_names(names);
        std::vector<std::uint32_t> hashes;
        hashes.reserve(names.size());
        for (const nb::handle name : names) hashes.push_back(slots_.hash({name, {}}));
        return array_of(std::move(hashes));
    }

    // Adds names that are not hashed.
    void add(const nb::list& names) {
        require(!hashed(), "the names of this vocabulary are hashed");
        check_names(names);
        for (const nb::handle name : names)
            if (names_.find({name, {}}) < 0) names_.add(name, nb::int_(count()));
        if (!key_type_.is_valid() && names.size() > 0) key_type_ = nb::borrow(names[0].type());
    }

    // Counts the occurrences of hashed names in rows, one after the other, so that it does not matter how the rows are cut
    // into batches. Columns without a name are None, and `hashes` has a number for each column.
    void vote(const nb::list& names, const Column<std::uint32_t>& hashes, const Column<double>& values,
              const Column<std::int32_t>& columns, const Column<std::int32_t>& offsets,
              const std::optional<Column<std::int64_t>>& order) {
        require(hashed(), "the names of this vocabulary are not hashed");
        require(hashes.size() == names.size(), "hashes must have one number per name");
        const OccurringColumns occurring(values, columns, offsets, order, names.size());
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(key_type_.ptr());
        // Borrowed: counting references would write to every name.
        const auto name_of = [&names](std::size_t column) {
            return nb::handle(PyList_GET_ITEM(names.ptr(), static_cast<Py_ssize_t>(column)));
        };
        enum class Seen : std::uint8_t { no, without_name, named };
        std::vector<Seen> seen(names.size());
        occurring.each([&](std::size_t column) {
            if (seen[column] != Seen::no) return;
            const nb::handle name = name_of(column);
            if (!name.is_none()) check_name(name, type);
            seen[column] = name.is_none() ? Seen::without_name : Seen::named;
        });
        slots_.prepare();
        occurring.each_row([&](std::size_t column) { slots_.prefetch(hashes(column)); },
                           [&](std::size_t column) {
                               if (seen[column] == Seen::named) slots_.vote(hashes(column), {name_of(column), {}});
                           });
        if (type != nullptr) key_type_ = nb::borrow(reinterpret_cast<PyObject*>(type));
    }

    // Returns a vocabulary with these features only, in this order.
    std::unique_ptr<Vocabulary> kept(const Column<std::int64_t>& features) const {
        require(!hashed(), "features of a hashed vocabulary cannot be dropped");
        std::vector<nb::object> names(static_cast<std::size_t>(count()));
        for (const auto [name, feature] : names_.features()) names.at(nb::cast<std::size_t>(feature)) = nb::borrow(name);
        nb::dict left;
        for (std::size_t i = 0; i < features.size(); ++i) {
            require(features(i) >= 0 && features(i) < count(), "features must be known");
            require(names[static_cast<std::size_t>(features(i))].is_valid(), "the features of the names must be distinct");
            left[names[static_cast<std::size_t>(features(i))]] = i;
        }
        require(left.size() == features.size(), "features must be distinct");
        auto other = std::make_unique<Vocabulary>(most_, false);
        other->key_type_ = key_type_;
        other->names_ = Names(std::move(left));
        return other;
    }

    // Appends the names of `other`, possibly more than `most`, and returns the feature here of each of its named
    // features. The name with more votes owns a slot; what both have learned from counts once. After an error, some of
    // the names may have been added.
    NewArray unite(const Vocabulary& other) {
        require(most_ == other.most_ && hashed() == other.hashed(),
                "the vocabularies must have the same max_features and hashing");
        require(!key_type_.is_valid() || !other.key_type_.is_valid() || key_type_.is(other.key_type_),
                "the vocabularies have keys of different types");
        if (!key_type_.is_valid()) key_type_ = other.key_type_;
        const nb::dict all = names_.features();
        // Lists, because a name of the user's class may run any code.
        const nb::list names(other.names_.features().keys()), features(other.names_.features().values());
        std::vector<std::int64_t> here(names.size(), -1);
        for (std::size_t i = 0; i < names.size(); ++i) {
            PyObject* const feature =
                PyDict_SetDefault(all.ptr(), nb::handle(names[i]).ptr(), nb::int_(all.size()).ptr());
            if (feature == nullptr) nb::raise_python_error();
            here.at(nb::cast<std::size_t>(features[i])) = nb::cast<std::int64_t>(nb::handle(feature));
        }
        require(std::find(here.begin(), here.end(), -1) == here.end(), "the features of the names must be distinct");
        slots_.unite(other.slots_);
        return array_of(std::move(here));
    }

    // None before the first key.
    nb::object key_type() const { return key_type_.is_valid() ? key_type_ : nb::none(); }

    // {name: feature}; for slots, of the names that own them.
    nb::dict names() const {
        if (!hashed()) return names_.features();
        nb::dict names;
        slots_.each_owner([&](std::size_t slot, const Slots::Owner& owner) { names[owner.name] = slot; });
        return names;
    }

    // {feature: (name, whether others share it)}.
    nb::dict features() const {
        nb::dict features;
        for (const auto [name, feature] : names_.features()) features[feature] = nb::make_tuple(name, false);
        slots_.each_owner([&](std::size_t slot, const Slots::Owner& owner) {
            features[nb::int_(slot)] = nb::make_tuple(owner.name, owner.shared != 0);
        });
        return features;
    }

    nb::tuple state() const {
        nb::list owners;
        slots_.each_owner([&](std::size_t slot, const Slots::Owner& owner) {
            owners.append(nb::make_tuple(slot, owner.name, owner.shared != 0, std::uint32_t{owner.votes}));
        });
        return nb::make_tuple(most_, hashed(), key_type(), names_.features(), owners);
    }

    static std::unique_ptr<Vocabulary> of_state(const nb::tuple& state) {
        const auto [most, hashed, type, features, owners] =
            nb::cast<std::tuple<std::optional<std::int64_t>, bool, nb::object, nb::dict, nb::list>>(state);
        auto vocabulary = std::make_unique<Vocabulary>(most, hashed);
        require(type.is_none() || PyType_Check(type.ptr()), "the type of the keys must be a type or None");
        if (!type.is_none()) vocabulary->key_type_ = type;
        vocabulary->names_ = Names(nb::steal<nb::dict>(checked(PyDict_Copy(features.ptr())).release()));
        for (const nb::handle owner : owners) {
            const auto [slot, name, shared, votes] =
                nb::cast<std::tuple<std::int64_t, nb::object, bool, std::uint32_t>>(owner);
            vocabulary->slots_.put(slot, name, shared, votes);
        }
        return vocabulary;
    }

    // For Python's garbage collector: a name of the user's class, or the class, may refer to the owner of this.
    int visit(visitproc visit, void* arg) const {
        Py_VISIT(key_type_.ptr());
        Py_VISIT(names_.features().ptr());
        return 0;
    }

private:
    template <Purpose kPurpose>
    class Reader;

    // Copying a model, for a batch that may bring names, takes less time than to look up a feature of the batch for every
    // so many features of the model.
    static constexpr std::int64_t kManyFeatures = 4;

    // Whether an example may not have that many features.
    bool is_too_many(std::int64_t features) const noexcept { return most_ && !hashed() && features > *most_; }

    static nb::object name_of_type(PyTypeObject* type) {
        return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__name__"));
    }

    // Raises an error unless the names are plain and have the type of the known names.
    void check_names(const nb::list& names) const {
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(key_type_.ptr());
        for (const nb::handle name : names) check_name(name, type);
    }

    // The same for a name; null takes its type.
    static void check_name(nb::handle name, PyTypeObject*& type) {
        if (type == nullptr) type = Py_TYPE(name.ptr());
        if (!Name{name, {}}.is_plain())
            refuse(PyExc_TypeError, "got the name %R; a name is a string or a whole number", name);
        if (Py_TYPE(name.ptr()) == type) return;
        if (type == &PyLong_Type)
            refuse(PyExc_TypeError,
                   "keys of mixed types: got the name %R, but all names before are whole numbers, and the columns of a "
                   "frame, table or file are strings; pass dicts with whole numbers as keys, such as frame.to_dict('records')",
                   name);
        refuse(PyExc_TypeError, "keys of mixed types: got the name %R, where all before are of type %S; use one type", name,
               name_of_type(type));
    }

    std::optional<std::int64_t> most_;
    nb::object key_type_;  // null before the first key
    Names names_;
    Slots slots_;
    LastKeys last_keys_;  // if names are not hashed
};

}  // namespace scwlearn
