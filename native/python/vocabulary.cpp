// The vocabulary: adding names, selecting and merging, and its Python interface.
#include "python/vocabulary.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <stdexcept>

#include "python/dict_reader.hpp"

using namespace nanobind::literals;

namespace scwlearn {

Vocabulary::Vocabulary(std::optional<std::int64_t> most, bool hashed)
    : most_(most), slots_(hashed ? most.value_or(0) : 0) {
    require(!most || *most >= 1, "max_features must be at least 1");
    require(!hashed || (most && *most <= Slots::kMost),
            "max_features must be from 1 to 2147483647 if names are hashed");
}

template <Purpose kPurpose>
void Vocabulary::read(const nb::dict& x, std::int64_t room, std::int64_t row, Example& example) {
    example.known = count();
    Reader<kPurpose> reader(*this, room, row, example);
    reader.run(x);
    const bool bounded = most_ && !hashed();
    if constexpr (kPurpose == Purpose::check) {
        // Possibly too many features, or values that add up to too much: read it again in full.
        if ((bounded && reader.met() > *most_) || reader.total() > kLargestValue) {
            Example whole;
            read<Purpose::learn>(x, room, row, whole);
        }
    } else if (kPurpose == Purpose::learn && bounded && example.count() > *most_) {
        const nb::object found = checked(PyUnicode_FromFormat("%U has %lld features", example_at(row).ptr(),
                                                              static_cast<long long>(example.count())));
        refuse(PyExc_ValueError, "%U; an example may have max_features = %S at most", found, nb::int_(*most_));
    }
}

template void Vocabulary::read<Purpose::score>(const nb::dict&, std::int64_t, std::int64_t, Example&);
template void Vocabulary::read<Purpose::learn>(const nb::dict&, std::int64_t, std::int64_t, Example&);

void Vocabulary::check(const nb::tuple& rows) {
    Example example;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const nb::handle x = rows[i];
        // The only example needs no number.
        const std::int64_t row = rows.size() == 1 ? -1 : static_cast<std::int64_t>(i);
        if (!PyDict_Check(x.ptr()))
            refuse(PyExc_TypeError, "%U must be a dict of named features, got %R", example_at(row), x);
        read<Purpose::check>(nb::borrow<nb::dict>(x), 0, row, example);
    }
}

Vocabulary::Adding::Adding(Vocabulary& vocabulary, Example& example) : vocabulary_(vocabulary), example_(example) {
    if (!example.votes.empty()) vocabulary.slots_.prepare();
    if (!example.new_names.is_valid()) return;
    if (vocabulary.count() != example.known) throw std::runtime_error("the vocabulary has changed since x was read");
    try {
        for (const auto [name, feature] : nb::borrow<nb::dict>(example.new_names)) vocabulary.names_.add(name, feature);
    } catch (...) {
        for (const auto [name, feature] : nb::borrow<nb::dict>(example.new_names)) vocabulary.names_.remove(name);
        throw;
    }
}

Vocabulary::Adding::~Adding() {
    if (kept_ || !example_.new_names.is_valid()) return;
    for (const auto [name, feature] : nb::borrow<nb::dict>(example_.new_names)) vocabulary_.names_.remove(name);
}

void Vocabulary::Adding::keep() noexcept {
    kept_ = true;
    if (example_.key_type.is_valid()) vocabulary_.key_type_ = example_.key_type;
    for (const Example::Vote& vote : example_.votes) vocabulary_.slots_.vote(vote.hash, {vote.key, vote.word});
}

void Vocabulary::check_names(const nb::list& names) const {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(key_type_.ptr());
    for (const nb::handle name : names) {
        if (type == nullptr) type = Py_TYPE(name.ptr());
        const bool plain = PyUnicode_CheckExact(name.ptr()) || PyLong_CheckExact(name.ptr());
        if (!plain || Py_TYPE(name.ptr()) != type)
            refuse(PyExc_TypeError, "%U; names are strings, or whole numbers, and all of one type",
                   checked(PyUnicode_FromFormat("got the name %R", name.ptr())));
    }
}

std::vector<std::int64_t> Vocabulary::find(const nb::list& names, bool learns) {
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
    return features;
}

std::vector<double> Vocabulary::signs(const nb::list& names) {
    check_names(names);
    std::vector<double> signs;
    signs.reserve(names.size());
    for (const nb::handle name : names) signs.push_back(Slots::sign(slots_.hash({name, {}})));
    return signs;
}

void Vocabulary::add(const nb::list& names, const Features& counts) {
    check_names(names);
    require(counts.size() == names.size(), "counts must have one count per name");
    for (std::size_t i = 0; i < counts.size(); ++i) require(counts(i) >= 0, "counts must be >= 0");
    if (hashed()) slots_.prepare();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const nb::handle name = names[i];
        if (hashed())
            slots_.vote(slots_.hash({name, {}}), {name, {}}, counts(i));
        else if (names_.find({name, {}}) < 0)
            names_.add(name, nb::int_(count()));
    }
    if (!key_type_.is_valid() && names.size() > 0) key_type_ = nb::borrow(names[0].type());
}

std::unique_ptr<Vocabulary> Vocabulary::kept(const Features& features) const {
    require(!hashed(), "features of a hashed vocabulary cannot be dropped");
    std::vector<nb::object> names(static_cast<std::size_t>(count()));
    for (const auto [name, feature] : names_.features()) names.at(nb::cast<std::size_t>(feature)) = nb::borrow(name);
    nb::dict left;
    for (std::size_t i = 0; i < features.size(); ++i) {
        require(features(i) >= 0 && features(i) < count(), "features must be known");
        left[names[static_cast<std::size_t>(features(i))]] = i;
    }
    require(left.size() == features.size(), "features must be distinct");
    auto other = std::make_unique<Vocabulary>(most_, false);
    other->key_type_ = key_type_;
    other->names_ = Names(std::move(left));
    return other;
}

std::unique_ptr<Vocabulary> Vocabulary::united(const Vocabulary& other) const {
    require(most_ == other.most_ && hashed() == other.hashed(),
            "the vocabularies must have the same max_features and hashing");
    require(!key_type_.is_valid() || !other.key_type_.is_valid() || key_type_.is(other.key_type_),
            "the vocabularies have keys of different types");
    auto together = of_state(state());
    if (!key_type_.is_valid()) together->key_type_ = other.key_type_;
    const nb::dict all = together->names_.features();
    // A list, because a name of the user's class may run any code.
    for (const nb::handle name : nb::list(other.names_.features().keys()))
        if (PyDict_SetDefault(all.ptr(), name.ptr(), nb::int_(all.size()).ptr()) == nullptr) nb::raise_python_error();
    together->slots_.unite(other.slots_);
    return together;
}

nb::dict Vocabulary::names() const {
    if (!hashed()) return names_.features();
    nb::dict names;
    for (std::size_t slot = 0; slot < slots_.owners().size(); ++slot)
        if (const Slots::Owner& owner = slots_.owners()[slot]; owner.name.is_valid()) names[owner.name] = slot;
    return names;
}

nb::dict Vocabulary::features() const {
    nb::dict features;
    if (!hashed())
        for (const auto [name, feature] : names_.features()) features[feature] = nb::make_tuple(name, false);
    for (std::size_t slot = 0; slot < slots_.owners().size(); ++slot)
        if (const Slots::Owner& owner = slots_.owners()[slot]; owner.name.is_valid())
            features[nb::int_(slot)] = nb::make_tuple(owner.name, owner.shared != 0);
    return features;
}

nb::tuple Vocabulary::state() const {
    const nb::object type = key_type_.is_valid() ? key_type_ : nb::none();
    nb::list owners;
    for (std::size_t slot = 0; slot < slots_.owners().size(); ++slot)
        if (const Slots::Owner& owner = slots_.owners()[slot]; owner.name.is_valid())
            owners.append(nb::make_tuple(slot, owner.name, owner.shared != 0, std::uint32_t{owner.votes}));
    return nb::make_tuple(most_, hashed(), type, names_.features(), owners);
}

std::unique_ptr<Vocabulary> Vocabulary::of_state(const nb::tuple& state) {
    const auto [most, hashed, type, features, owners] =
        nb::cast<std::tuple<std::optional<std::int64_t>, bool, nb::object, nb::dict, nb::list>>(state);
    auto vocabulary = std::make_unique<Vocabulary>(most, hashed);
    if (!type.is_none()) vocabulary->key_type_ = type;
    vocabulary->names_ = Names(nb::steal<nb::dict>(checked(PyDict_Copy(features.ptr())).release()));
    for (const nb::handle owner : owners) {
        const auto [slot, name, shared, votes] =
            nb::cast<std::tuple<std::int64_t, nb::object, bool, std::uint32_t>>(owner);
        vocabulary->slots_.put(slot, name, shared, votes);
    }
    return vocabulary;
}

int Vocabulary::visit(visitproc visit, void* arg) const {
    Py_VISIT(key_type_.ptr());
    Py_VISIT(names_.features().ptr());
    return 0;
}

namespace {

using Read = std::tuple<std::vector<std::int64_t>, std::vector<double>, nb::list>;

// An example as a learner sees it.
Read read_one(Vocabulary& vocabulary, const nb::dict& x) {
    Example example;
    vocabulary.read<Purpose::learn>(x, 0, -1, example);
    nb::list names;
    if (example.new_names.is_valid()) names.extend(example.new_names);
    return {std::move(example.indices), std::move(example.values), names};
}

int visit(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Vocabulary>(self)->visit(visit, arg) : 0;
}

PyType_Slot kSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)}, {0, nullptr}};

}  // namespace

void bind_vocabulary(nb::module_& module) {
    nb::class_<Vocabulary>(module, "Vocabulary", nb::type_slots(kSlots),
                           "The names of the features of dicts, apart from the model.")
        .def(nb::init<std::optional<std::int64_t>, bool>(), "max_features"_a.none() = nb::none(), "hashed"_a = false)
        .def("__len__", &Vocabulary::count)
        .def_prop_ro("max_features", &Vocabulary::most)
        .def_prop_ro("hashed", &Vocabulary::hashed)
        .def_prop_ro(
            "key_type", [](const Vocabulary& self) { return self.key_type().is_valid() ? self.key_type() : nb::none(); },
            nb::sig("def key_type(self) -> type | None"), "What all keys are; None before the first.")
        .def_prop_ro("names", &Vocabulary::names, nb::sig("def names(self) -> dict"),
                     "The feature of each name, read-only; if hashed, of the names that own a slot.")
        .def_prop_ro("features", &Vocabulary::features, nb::sig("def features(self) -> dict[int, tuple[object, bool]]"),
                     "The name of each feature, and whether other names share it.")
        .def("read", &read_one, "x"_a, nb::sig("def read(self, x: dict) -> tuple[list[int], list[float], list]"),
             "Return the features of an example, their values, and its new names. Changes nothing.")
        .def("check", &Vocabulary::check, "rows"_a, "Raise an error for the first invalid example. Changes nothing.")
        .def("find", &Vocabulary::find, "names"_a, "learns"_a,
             nb::sig("def find(self, names: list, learns: bool) -> list[int]"),
             "Return the feature of each name; for an unknown name the next free one if `learns`, else -1. Changes nothing.")
        .def("signs", &Vocabulary::signs, "names"_a, nb::sig("def signs(self, names: list) -> list[float]"),
             "Return the sign of each hashed name.")
        .def("add", &Vocabulary::add, "names"_a, "counts"_a,
             nb::sig("def add(self, names: list, counts: NDArray[numpy.int64]) -> None"),
             "Add names, with the number of occurrences of each.")
        .def("kept", &Vocabulary::kept, "features"_a, "Return a vocabulary with these features only, in this order.")
        .def("united", &Vocabulary::united, "other"_a,
             "Return a vocabulary with the names of the other appended, possibly more than max_features.")
        .def("__getstate__", &Vocabulary::state)
        .def("__setstate__", [](Vocabulary& self, const nb::tuple& state) {
            new (&self) Vocabulary(std::move(*Vocabulary::of_state(state)));
        })
        .def("__copy__", [](const Vocabulary& self) { return Vocabulary::of_state(self.state()); });
}

}  // namespace scwlearn
