// Names of the features of dicts, and the conversion of dicts to compressed sparse rows.
#pragma once

#include "python/example.hpp"
#include "python/names.hpp"
#include "python/slots.hpp"

namespace scwlearn {

using Features = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

// What an example is read for: to find errors, to score (known names only), or to learn (all names).
enum class Purpose { check, score, learn };

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
        Adding(Vocabulary& vocabulary, Example& example);
        ~Adding();
        Adding(const Adding&) = delete;
        Adding& operator=(const Adding&) = delete;

        // To be called after the model has learned from the example.
        void keep() noexcept;

    private:
        Vocabulary& vocabulary_;
        Example& example_;
        bool kept_ = false;
    };

    Vocabulary(std::optional<std::int64_t> most, bool hashed);

    bool hashed() const noexcept { return slots_.count() > 0; }
    std::optional<std::int64_t> most() const noexcept { return most_; }
    // The number of features.
    std::int64_t count() const noexcept { return hashed() ? slots_.count() : names_.count(); }

    // Reads x into an empty example. Values of 0 are skipped, and when scoring also names without a feature below
    // `room`. `row` is for messages: the position of x in a list, or -1. A name or value of the user's class may run
    // any code.
    template <Purpose kPurpose>
    void read(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example);

    // Raises an error for the first invalid dict of a list. All keys must have one type.
    void check(const nb::tuple& rows);

    // Returns the feature of each name; for an unknown name the next free one (`learns`) or -1. Hashed names always
    // have one.
    std::vector<std::int64_t> find(const nb::list& names, bool learns);
    // Returns the sign of each hashed name.
    std::vector<double> signs(const nb::list& names);
    // Adds names, with the number of occurrences of each.
    void add(const nb::list& names, const Features& counts);

    // Returns a vocabulary with these features only, in this order.
    std::unique_ptr<Vocabulary> kept(const Features& features) const;

    // Returns a vocabulary with the names of `other` appended, possibly more than `most`. The name with more votes owns
    // a slot; what both have learned from counts once.
    std::unique_ptr<Vocabulary> united(const Vocabulary& other) const;

    // Null before the first key.
    const nb::object& key_type() const noexcept { return key_type_; }
    // {name: feature}; for slots, of the names that own them.
    nb::dict names() const;
    // {feature: (name, whether others share it)}.
    nb::dict features() const;

    nb::tuple state() const;
    static std::unique_ptr<Vocabulary> of_state(const nb::tuple& state);

    // For Python's garbage collector: a name of the user's class, or the class, may refer to the owner of this.
    int visit(visitproc visit, void* arg) const;

private:
    template <Purpose kPurpose>
    class Reader;

    // Raises an error unless the names are plain and have the type of the known names.
    void check_names(const nb::list& names) const;

    std::optional<std::int64_t> most_;
    nb::object key_type_;  // null before the first key
    Names names_;
    Slots slots_;
};

extern template void Vocabulary::read<Purpose::score>(const nb::dict&, std::int64_t, std::int64_t, Example&);
extern template void Vocabulary::read<Purpose::learn>(const nb::dict&, std::int64_t, std::int64_t, Example&);

}  // namespace scwlearn
