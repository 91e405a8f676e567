// VW text: parsed with the GIL released, except that each distinct name becomes one Python string.
#include "python/text.hpp"

#include <limits>

#include "parse/vw.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

nb::object string_of(std::string_view text) {
    // The text is valid, but memory may run out.
    PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

nb::list tags_of(const std::vector<std::string_view>& texts) {
    nb::list made;
    for (const std::string_view text : texts) made.append(string_of(text));
    return made;
}

nb::list words_of(const NameTable& words) {
    nb::list made;
    for (std::size_t i = 0; i < words.size(); ++i) made.append(string_of(words[i].text));
    return made;
}

// namespace^name, or the name alone outside a namespace.
nb::list names_of(const NameTable& names, const NameTable& spaces) {
    nb::list made;
    std::string whole;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string_view space = spaces[names[i].space].text;
        whole.assign(space);
        if (!space.empty()) whole += '^';
        whole += names[i].text;
        made.append(string_of(whole));
    }
    return made;
}

std::string_view checked_lines(const Text& text) {
    const std::string_view lines = lines_of(text);
    require(lines.size() <= std::numeric_limits<std::int32_t>::max(), "the text must be shorter than 2 GiB");
    return lines;
}

// Values, columns, offsets and the names of the columns; labels, and which words they are; weights; tags; the line of
// each row; number of lines; number of lines with an error, and the first errors.
using ParsedText =
    std::tuple<std::tuple<NewArray, NewArray, NewArray, nb::list>, std::tuple<NewArray, NewArray, nb::list>, std::optional<NewArray>,
               std::optional<nb::list>, NewArray, std::int64_t, std::tuple<std::int64_t, std::vector<FoundFault>>>;

ParsedText parse_vw(const Text& text, bool word_labels, bool labels_optional, bool skip_faults, std::size_t most_found,
                    const std::vector<std::string>& ignored) {
    const std::string_view lines = checked_lines(text);
    VwForm form{word_labels ? VwLabels::words : VwLabels::numbers, labels_optional, skip_faults, most_found, {}};
    form.ignored.assign(ignored.begin(), ignored.end());
    VwParsed parsed;
    {
        nb::gil_scoped_release release_gil;
        parsed = VwParser(form).parse(lines);
    }
    std::optional<NewArray> weights;
    if (parsed.weighted) weights = array_of(std::move(parsed.weights));
    std::optional<nb::list> tags;
    if (parsed.tagged) tags = tags_of(parsed.tags);
    return {{array_of(std::move(parsed.values)), array_of(std::move(parsed.columns)),
             array_of(std::move(parsed.offsets)), names_of(parsed.names, parsed.spaces)},
            {array_of(std::move(parsed.labels)), array_of(std::move(parsed.label_words)), words_of(parsed.words)},
            std::move(weights),
            std::move(tags),
            array_of(std::move(parsed.places)),
            parsed.lines,
            {parsed.faulty, described(parsed.found, kVwFaultNames)}};
}

std::optional<bool> vw_labels_are_words(const Text& text) {
    const std::string_view lines = checked_lines(text);
    const VwForm form;
    const VwLabels kind = VwParser(form).kind_of_labels(lines);
    return kind == VwLabels::none ? std::nullopt : std::optional(kind == VwLabels::words);
}

}  // namespace

void bind_vw(nb::module_& module) {
    module.def("parse_vw", &parse_vw, "text"_a, "word_labels"_a, "labels_optional"_a, "skip_faults"_a, "most_found"_a,
               "ignored"_a,
               "Parse text of whole lines. Return values, columns, offsets and the names of the columns; labels, which words "
               "they are, and all words; weights and tags, or None; the line of each example; the number of lines; and "
               "the errors, as parse_libsvm does.");
    module.def("vw_labels_are_words", &vw_labels_are_words, "text"_a,
               "Return whether the first label in a text of whole lines is a word, or None without labels.");
}

}  // namespace scwlearn
