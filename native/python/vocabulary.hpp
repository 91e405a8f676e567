// What the features of dicts are called, and how a dict becomes a compressed sparse row.
#pragma once

#include "python/example.hpp"
#include "python/names.hpp"
#include "python/slots.hpp"

namespace scwlearn {

using Features = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

// What is done with an example, and so what is looked for in it: its faults; the names that are known; or all of them.
enum class Purpose { check, score, learn };

// The names of the features of dicts, apart from what is learned of them. They become more with the examples that are
// learned from, up to `most` in one example, or are hashed into that many slots.
//
// Reading changes nothing that can be seen. To learn from an example is to read it, to begin an `Adding`, to let the
// model learn, and to end it by `keep`; no other example may be added between.
class Vocabulary {
public:
    // The new names of an example are known from here on, and forgotten with this unless they are to be kept.
    class Adding {
    public:
        Adding(Vocabulary& vocabulary, Example& example);
        ~Adding();
        Adding(const Adding&) = delete;
        Adding& operator=(const Adding&) = delete;

        // The model has learned from the example.
        void keep() noexcept;

    private:
        Vocabulary& vocabulary_;
        Example& example_;
        bool kept_ = false;
    };

    Vocabulary(std::optional<std::int64_t> most, bool hashed);

    bool hashed() const noexcept { return slots_.count() > 0; }
    std::optional<std::int64_t> most() const noexcept { return most_; }
    // How many features there are.
    std::int64_t count() const noexcept { return hashed() ? slots_.count() : names_.count(); }

    // Reads x into an example that is clear. A value of 0 says nothing; nor does a name without a feature below `room`,
    // to whoever does not learn. `row` is for messages: the number of x in a list, or -1. A name or a value of the
    // user's own class may run any code.
    template <Purpose kPurpose>
    void read(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example);

    // Looks for faults in the dicts of a list. Their keys are of one type.
    void check(const nb::tuple& rows);

    // Which feature each name is: of one that is not known, the next one that is free (`learns`), or -1. For slots,
    // where it belongs.
    std::vector<std::int64_t> find(const nb::list& names, bool learns);
    // With which sign each name counts; they are hashed.
    std::vector<double> signs(const nb::list& names);
    // Makes names known, each of which was met so often.
    void add(const nb::list& names, const Features& counts);

    // One with these features only, in this order.
    std::unique_ptr<Vocabulary> kept(const Features& features) const;

    // One with the names of the other behind those of this, perhaps more than `most`. Who has more votes holds a slot:
    // what both have been told counts once.
    std::unique_ptr<Vocabulary> united(const Vocabulary& other) const;

    // Null before the first key.
    const nb::object& key_type() const noexcept { return key_type_; }
    // {name: feature}; for slots, of the names that hold them.
    nb::dict names() const;
    // {feature: (name, whether others share it)}.
    nb::dict features() const;

    nb::tuple state() const;
    static std::unique_ptr<Vocabulary> of_state(const nb::tuple& state);

    // For Python's garbage collector: a name of the user's own, or its class, may hold on to who holds this.
    int visit(visitproc visit, void* arg) const;

private:
    template <Purpose kPurpose>
    class Reader;

    // The names of a batch are plain, and of the type of those known.
    void check_names(const nb::list& names) const;

    std::optional<std::int64_t> most_;
    nb::object key_type_;  // null before the first key
    Names names_;
    Slots slots_;
};

extern template void Vocabulary::read<Purpose::score>(const nb::dict&, std::int64_t, std::int64_t, Example&);
extern template void Vocabulary::read<Purpose::learn>(const nb::dict&, std::int64_t, std::int64_t, Example&);

}  // namespace scwlearn
