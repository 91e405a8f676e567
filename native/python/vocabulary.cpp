// The Python interface of the vocabulary.
#include <nanobind/stl/unique_ptr.h>

#include "python/dict_reader.hpp"

using namespace nanobind::literals;

namespace scwlearn {

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

}  // namespace

void bind_vocabulary(nb::module_& module) {
    nb::class_<Vocabulary>(module, "Vocabulary", nb::type_slots(kTraverse<Vocabulary>),
                           "The names of the features of dicts, apart from the model.")
        .def(nb::init<std::optional<std::int64_t>, bool>(), "max_features"_a.none() = nb::none(), "hashed"_a = false)
        .def("__len__", &Vocabulary::count)
        .def_prop_ro("max_features", &Vocabulary::most)
        .def_prop_ro("hashed", &Vocabulary::hashed)
        .def_prop_ro("key_type", &Vocabulary::key_type, nb::sig("def key_type(self) -> type | None"),
                     "What all keys are; None before the first.")
        .def_prop_ro("names", &Vocabulary::names, nb::sig("def names(self) -> dict"),
                     "The feature of each name, read-only; if hashed, of the names that own a slot.")
        .def_prop_ro("features", &Vocabulary::features, nb::sig("def features(self) -> dict[int, tuple[object, bool]]"),
                     "The name of each feature, and whether other names share it.")
        .def("read", &read_one, "x"_a, nb::sig("def read(self, x: dict) -> tuple[list[int], list[float], list]"),
             "Return the features of an example, their values, and its new names. Changes nothing.")
        .def("check", &Vocabulary::check, "rows"_a, "room"_a,
             "Raise an error for the first invalid example. Return whether learning from them may bring more names than "
             "there is room for. Changes nothing.")
        .def("find", &Vocabulary::find, "names"_a, "learns"_a,
             "Return the feature of each name; for an unknown name the next free one if `learns`, else -1. Changes nothing.")
        .def("hashes", &Vocabulary::hashes, "names"_a, nb::sig("def hashes(self, names: list) -> NDArray[numpy.uint32]"),
             "Return the hash of each name.")
        .def("slots", &Vocabulary::slots, "hashes"_a, "Return the slot and the sign of each hash of a name.")
        .def("add", &Vocabulary::add, "names"_a, "Add names that are not hashed.")
        .def("vote", &Vocabulary::vote, "names"_a, "hashes"_a, "values"_a, "columns"_a, "offsets"_a, "order"_a.none(),
             "Count the occurrences of hashed names in the values other than 0 of compressed sparse rows, one after the "
             "other. A column without a name has None.")
        .def("kept", &Vocabulary::kept, "features"_a, "Return a vocabulary with these features only, in this order.")
        .def("unite", &Vocabulary::unite, "other"_a,
             "Append the names of the other, possibly more than max_features; return the feature of each here.")
        .def("__getstate__", &Vocabulary::state)
        .def("__setstate__", [](Vocabulary& self, const nb::tuple& state) {
            new (&self) Vocabulary(std::move(*Vocabulary::of_state(state)));
        })
        .def("__copy__", [](const Vocabulary& self) { return Vocabulary::of_state(self.state()); });
}

}  // namespace scwlearn
