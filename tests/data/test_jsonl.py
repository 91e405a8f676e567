"""JSON lines: values are the same features as in dicts, and errors name the line and the key."""

import io
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn._native import DEEPEST, Vocabulary
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.schema import Schema
from table_text import Reading, batches, exactly, examples, features, label_list, schema_of

LINES = b"""{"y": "spam", "words": ["free", "offer", "offer"], "from": {"known": true, "name": "A B"}, "size": 3e2}
{"y": "ham", "words": [], "from": {"known": false, "name": null, "more": {"deep": 1}}, "size": 0}

{"from": "nobody", "y": "ham"}
"""


def lines(*objects):
    return "\n".join(map(json.dumps, objects)).encode()


def test_values_are_features_as_in_dicts():
    assert examples(LINES, "jsonl") == [
        ({"words=free": 1, "words=offer": 2, "from.known": 1, "from.name=A B": 1, "size": 300}, "spam", None),
        ({"from.more.deep": 1}, "ham", None),
        ({"from=nobody": 1}, "ham", None),
    ]
    (batch,) = batches(LINES, "jsonl")
    assert batch.lines.tolist() == [1, 2, 4]


values = st.one_of(
    st.integers(-1000, 1000),
    st.floats(-1e150, 1e150),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=5),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(lambda key: key != "y")


@given(st.lists(st.dictionaries(keys, values, max_size=5), min_size=1, max_size=10), st.booleans(), st.integers(1, 200))
@settings(deadline=None)
def test_any_object_has_the_features_that_it_has_as_a_dict(objects, ascii_only, chunk_bytes):
    text = "\n".join(json.dumps({**row, "y": i % 2}, ensure_ascii=ascii_only) for i, row in enumerate(objects))
    read = examples(text.encode(), "jsonl", label="y", options={"chunk_bytes": chunk_bytes, "read_ahead": False})
    assert [row for row, _, _ in read] == [*map(as_dict, objects)]
    assert [label for _, label, _ in read] == [i % 2 for i in range(len(objects))]


def as_dict(row):
    """The features of an example, as models read it."""
    numbers, found, names = Vocabulary().read(row)
    return {names[number]: value for number, value in zip(numbers, found, strict=True)}


def test_kinds_can_be_declared():
    text = lines({"y": 1, "zip": 123, "about": "To be or not to be", "n": 1})
    read = examples(text, "jsonl", columns={"zip": "categorical", "about": "text", "y": "categorical"})
    words = {"about=to": 2, "about=be": 2, "about=or": 1, "about=not": 1}
    assert read == [({"zip=123": 1, "n": 1} | words, "1", None)]


@pytest.mark.parametrize(
    "labels", [[1, 2, -3], [1.5, 2.0, 1], [True, False, True], ["a", "b", "1"], [2**53 - 1, 0, 1], ["x", None, "y"]]
)
def test_labels_keep_their_type(labels):
    text = lines(*({"x": 1, "y": label} for label in labels))
    (batch,) = batches(text, "jsonl", options={"labels": "optional"})
    assert label_list(batch) == labels
    assert {type(label) for label in label_list(batch)} == {type(labels[0]), *(type(None) for x in labels if x is None)}


def test_a_number_may_mark_a_missing_label():
    data = b'{"x": 1, "y": -9}\n{"x": -9, "y": 3}\n'
    marked = Schema("jsonl", label="y", features=Features(missing=["-9"]))
    (batch,) = batches(data, "jsonl", schema=marked, options={"labels": "optional"})
    assert (features(batch), label_list(batch)) == ([{"x": 1}, {}], [None, 3])


def test_integer_labels_beyond_53_bits_are_exact_as_categories():
    text = lines({"x": 1, "y": 2**60}, {"x": 2, "y": 2**60 + 1}, {"x": 3, "y": 1e3})
    (batch,) = batches(text, "jsonl", columns={"y": "categorical"})
    assert label_list(batch) == [str(2**60), str(2**60 + 1), "1000"]


def test_labels_and_weights_are_found_regardless_of_case():
    read = batches(lines({"Label": "a", "W": 2, "x": 1}), "jsonl", weight="w")
    assert (read.schema.label, read.schema.weight) == ("Label", "W")
    assert examples(lines({"Gold": {"Class": "a"}, "x": 1}), "jsonl", label="gold.class") == [({"x": 1}, "a", None)]


def test_empty_labels_are_missing():
    (batch,) = batches(lines({"x": 1, "y": ""}, {"x": 2, "y": "a"}), "jsonl", options={"labels": "optional"})
    assert label_list(batch) == [None, "a"]


def test_label_weight_and_what_is_ignored():
    text = lines({"id": 7, "in": {"id": 8, "k": 9}, "gold": {"class": "a"}, "w": 2}, {"gold": {"class": "b"}, "w": 0})
    assert examples(text, "jsonl", label="gold.class", weight="w", ignore=("id", "in.id")) == [
        ({"in.k": 9}, "a", 2.0),
        ({}, "b", 0.0),
    ]
    assert examples(text, "jsonl", label="gold.class", ignore=("in", "id", "w"))[0][0] == {}


def test_objects_may_be_nested_as_deep_as_the_limit():
    nested = 1
    for _ in range(DEEPEST):
        nested = {"a": nested}
    assert examples(lines({"y": 1} | nested), "jsonl") == [({".".join("a" * DEEPEST): 1}, 1, None)]


def test_labels_may_be_missing_if_they_are_optional():
    (batch,) = batches(lines({"x": 1}, {"x": 2}), "jsonl", options={"labels": "optional"})
    assert batch.labels is None
    (batch,) = batches(lines({"x": 1}, {"x": 2, "y": 3}), "jsonl", options={"labels": "optional"})
    assert label_list(batch) == [None, 3]


def test_the_schema_says_which_key_is_the_label():
    read = batches(lines({"x": 1}, {"x": 2, "target": 3}), "jsonl", options={"on_error": "skip"})
    assert read.schema == schema_of("jsonl", label="target", label_kind="numeric", ignore=("target",))
    assert [row for batch in read for row in features(batch)] == [{"x": 2}]


@pytest.mark.parametrize(
    "text", [LINES, LINES.replace(b"\n", b"\r\n"), LINES[:-1], b"\xef\xbb\xbf" + LINES, b"\n" + LINES]
)
def test_line_ends_marks_and_blank_lines_do_not_matter(text):
    for chunk_bytes in (1, 100, 10**6):
        assert examples(text, "jsonl", options={"chunk_bytes": chunk_bytes}) == examples(LINES, "jsonl")


GOOD = b'{"y": 1, "x": 1}\n'
ALLOWED = "a finite number of at most 1e+150 in magnitude"
CORRECT = 'correct the value, leave such records out with on_error="skip"'
ONE_LINE = "(an object must be on one line, unless it is in an array of objects)"
COLUMNS = '(an object of columns must become an array of records: in pandas, to_json(orient="records"))'
FAULTS = [
    (b"", {}, 'data.jsonl: no examples; a line must be an object, such as {"label": 1, "feature": 0.5}'),
    (b"\n \n", {}, 'data.jsonl: no examples; a line must be an object, such as {"label": 1, "feature": 0.5}'),
    (
        GOOD + b'{"y": 1, x: 1}',
        {},
        "data.jsonl, line 2, column 10: a key must be a string in double quotes; found 'x: 1}'",
    ),
    (
        GOOD + b'{"y": 1',
        {},
        f"data.jsonl, line 2, column 8: a comma or }} must follow a value; found nothing {ONE_LINE}",
    ),
    (b"{\n", {}, f"data.jsonl, line 1, column 2: a key must be a string in double quotes; found nothing {ONE_LINE}"),
    (GOOD + b'{"y" 1}', {}, "data.jsonl, line 2, column 6: a colon must follow a key; found '1}'"),
    (
        GOOD + b'{"y": 1, "x": ["a" "b"]}',
        {},
        "data.jsonl, line 2, column 20: a comma or ] must follow an item of a list; found '\"b\"]}'",
    ),
    (
        GOOD + b'{"y": 1, "x": yes}',
        {},
        "data.jsonl, line 2, column 15: a value must be a string, a number, true, false, null, an object or a list; "
        "found 'yes}'",
    ),
    (
        GOOD + b'{"y": 1, "x": 01}',
        {},
        "data.jsonl, line 2, column 15: a number must have digits on both sides of a point, and no 0 in front; "
        "found '01}'",
    ),
    (
        GOOD + b'{"y": 1} 2',
        {},
        "data.jsonl, line 2, column 10: a line must hold one object and nothing else; found '2'",
    ),
    (
        GOOD + b"[1]",
        {},
        "data.jsonl, line 2, column 1: a line must be an object, such as {\"label\": 1}; found '[1]' "
        '(use format="json" for an array of objects)',
    ),
    (GOOD + b"3", {}, "data.jsonl, line 2, column 1: a line must be an object, such as {\"label\": 1}; found '3'"),
    (
        GOOD + b'{"y": 1, "t": "NaN", "x": NaN}',
        {},
        'data.jsonl, line 2, column 27: numbers must be finite; found NaN (drop missing values with missing="ignore")',
    ),
    (GOOD + b'{"y": 1, "x": -Infinity}', {}, "data.jsonl, line 2, column 15: numbers must be finite; found -Infinity"),
    (GOOD + b'{"y": 1, "x": 1e999}', {}, f"data.jsonl, line 2, column 'x': a number must be {ALLOWED}; found 'inf'"),
    (
        GOOD + b'{"y": 1, "x": -2e150}',
        {},
        f"data.jsonl, line 2, column 'x': a number must be {ALLOWED}; found '-2e+150'",
    ),
    (
        GOOD + b'{"y": 1, "x": 1%s}' % (b"0" * 200),
        {},
        f"data.jsonl, line 2, column 'x': a number must be {ALLOWED}; found '1e+200'",
    ),
    (
        GOOD + b'{"y": 1, "x": 1, "x": 2}',
        {},
        "data.jsonl, line 2, column 18: keys must not repeat within an object; found 'x' twice",
    ),
    (
        GOOD + b'{"y": 1, "x": [1]}',
        {},
        "data.jsonl, line 2, column 'x': a list must hold strings, each a feature, and its column must not be numeric "
        f"or a date; found '1' ({CORRECT}, or declare another kind)",
    ),
    (
        GOOD + b'{"y": 1, "x": "a"}',
        {"columns": {"x": "numeric"}},
        f"data.jsonl, line 2, column 'x': a value of a numeric column must be missing or {ALLOWED}; found 'a' "
        f'({CORRECT}, name the column in kinds={{...: "categorical"}}, or list markers of missing values in '
        "missing=...)",
    ),
    (
        GOOD,
        {"columns": {"x": "text"}},
        "data.jsonl, line 1, column 'x': a value of a text column must be a string or a list of strings; found '1' "
        f"({CORRECT}, or declare another kind)",
    ),
    (GOOD + b'{"x": 1}', {}, "data.jsonl, line 2, column 'y': a record needs a label; found nothing"),
    (GOOD + b'{"y": null}', {}, "data.jsonl, line 2, column 'y': a record needs a label; found nothing"),
    (
        GOOD + b'{"y": "a"}',
        {},
        f"data.jsonl, line 2, column 'y': a label must be a number, as the first ones are: {ALLOWED}; found 'a'",
    ),
    (
        b'{"y": "a"}\n' + GOOD,
        {},
        "data.jsonl, line 2, column 'y': a label must be a string, as the first ones are; found '1'",
    ),
    (
        GOOD + b'{"y": ["a"]}',
        {},
        "data.jsonl, line 2, column 'y': a label must be a string or a number; found '[\"a\"]'",
    ),
    (GOOD + b'{"y": 1e999}', {}, f"data.jsonl, line 2, column 'y': a label must be {ALLOWED}; found '1e999'"),
    (
        b'{"y": 9007199254740992}',
        {},
        "data.jsonl, line 1, column 'y': an integer label must be less than 2^53 in magnitude, so that it is exact; "
        "found '9007199254740992' (name it in kinds={...: \"categorical\"})",
    ),
    (
        b'{"a.y": 1, "a": {"y": 2}}',
        {"label": "a.y"},
        "data.jsonl, line 1, column 'a.y': a record must have one label; found '2'",
    ),
    (
        b'{"y": "%s"}' % (b"x" * 257),
        {},
        f"data.jsonl, line 1, column 'y': a label must have at most 256 characters; found '{'x' * 40}'...",
    ),
    *(
        (
            b'{"y": 1, "%s": %s}' % (b"x" * 257, value),
            {"columns": {"x" * 257: "text"}} if value == b'"a"' else {},
            f"data.jsonl, line 1, column '{'x' * 40}'...: the key of several features must have at most 256 "
            f"characters, with those above it; found '{'x' * 40}'...",
        )
        for value in (b'{"a": 1}', b'["a"]', b'"a"')
    ),
    (
        b'{"y": 1, "w": -1}',
        {"weight": "w"},
        "data.jsonl, line 1, column 'w': a weight must be 0 or a number from 1e-100 to 1e+100; found '-1'",
    ),
    (
        b'{"y": 1, "w": 1}\n' + GOOD,
        {"weight": "w"},
        "data.jsonl, line 2, column 'w': a weight must be 0 or a number from 1e-100 to 1e+100; found nothing",
    ),
    (GOOD, {"weight": "w"}, "data.jsonl: no key 'w' for the weight; the keys are 'y', 'x'"),
    (GOOD, {"label": "z"}, "data.jsonl: no key 'z' for the label; the keys are 'y', 'x'"),
    (GOOD + b'{"y": 1, "\xff": 1}', {}, "data.jsonl, line 2, column 11: text must be UTF-8; found '\\xff\": 1}'"),
    (
        GOOD + b'{"y": 1, "a\0": 1}',
        {},
        "data.jsonl, line 2, column 12: control characters in a string must be escaped; found '\\x00\": 1}'",
    ),
    (
        GOOD + b'{"y": 1, "a": "b}',
        {},
        "data.jsonl, line 2, column 15: a string must end with a quote, in the same line; found '\"b}'",
    ),
    (
        GOOD + b'{"y": 1, "a": "\\x41"}',
        {},
        'data.jsonl, line 2, column 16: a backslash must be followed by one of "\\/bfnrt, or by u and four hexadecimal '
        "digits; found '\\\\x41\"}'",
    ),
    (
        GOOD + b'{"y": 1, "a": "\\ud800"}',
        {},
        "data.jsonl, line 2, column 16: strings must be valid Unicode; found '\\ud800'",
    ),
    (
        GOOD + b'{"y": 1, "a": ' + b'{"a": ' * 32 + b"1" + b"}" * 33,
        {},
        f"data.jsonl, line 2, column '{'a.' * 20}'...: objects must be nested at most 32 deep",
    ),
    (
        b'{"y": 1, "x": ' + b"[" * 10**5,
        {"ignore": ("x",)},
        f"data.jsonl, line 1, column 515: lists and objects must be nested at most 500 deep; found '{'[' * 40}'...",
    ),
    (
        b'{"a": 1}',
        {},
        "data.jsonl: which key is the label? none is called 'label', 'target', 'class' or 'y'; "
        "the keys are 'a' (name it with label=...)",
    ),
    (
        b'{"x": [1, 2], "y": [0, 1]}',
        {},
        f"data.jsonl: the label 'y' must be a string or a number, not a list {COLUMNS}",
    ),
    (
        b'{"x": {"0": 1, "1": 2}, "y": {"0": 0, "1": 1}}',
        {},
        f"data.jsonl: the label 'y' must be a string or a number, not an object {COLUMNS}",
    ),
    (GOOD, {"label": "y", "ignore": ("y",)}, "'y' cannot be both the label and ignored"),
    (
        GOOD,
        {"columns": {"x": "words"}},
        "the kind of 'x' must be one of auto, numeric, categorical, text, date, ignore, got 'words'",
    ),
]


@pytest.mark.parametrize(("text", "said", "message"), FAULTS, ids=range(len(FAULTS)))
def test_errors_name_the_place_the_problem_and_the_excerpt(text, said, message):
    with pytest.raises(ValueError, match=exactly(message)):
        examples(text, "jsonl", **said)


def test_a_number_of_thousands_of_digits_is_rejected():
    message = f"data.jsonl, line 1, column 'x': a number must be {ALLOWED}; found 'inf'"
    with pytest.raises(ValueError, match=exactly(message)):
        examples(b'{"y": 1, "x": %s}' % (b"9" * 10**4), "jsonl")


def test_a_repeated_key_among_many_is_found():
    text = b'{"y": 1, %s, "k7": 1}' % b", ".join(b'"k%d": 1' % i for i in range(300_000))
    with pytest.raises(
        ValueError,
        match=exactly("data.jsonl, line 1, column 4088900: keys must not repeat within an object; found 'k7' twice"),
    ):
        examples(text, "jsonl")


@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"a": ', b"}")], ids=["lists", "objects"])
def test_nesting_that_cannot_be_written_is_rejected_too(opens, closes):
    for depth in range(DEEPEST, sys.getrecursionlimit() + 10):
        innermost = b"0" if opens != b"[" else b""
        text = b'{"x": "\\u0041", "y": 1, "b": %s}' % (opens * depth + innermost + closes * depth)
        with pytest.raises(ValueError, match=r"\Adata.jsonl, line 1"):
            examples(text, "jsonl")


def test_bad_lines_are_skipped_and_counted():
    faults = SkippedRecords(keep=3)
    text = GOOD + b'{\n{"y": "a"}\n' + b'{"y": 1, "x": "%s"}\n' % (b"x" * 1000) + b'{"y": 2, "x": [0]}\n' + GOOD
    options = {"on_error": "skip", "skipped": faults, "max_line_bytes": 200, "chunk_bytes": 50}
    assert examples(text, "jsonl", options=options) == [({"x": 1}, 1, None)] * 2
    assert faults.count == 4
    assert [(fault.line, fault.column) for fault in faults.first] == [(2, 2), (3, "y"), (4, None)]
    assert 'a line has at most 200 bytes; found \'{"y": 1, "x": "xxx' in str(faults.first[2])


def test_lines_after_one_that_is_too_long_have_their_numbers():
    text = GOOD + b"x" * 5000 + b"\n" + GOOD * 2
    read = batches(text, "jsonl", options={"on_error": "skip", "max_line_bytes": 100, "chunk_bytes": 10})
    assert [line for batch in read for line in batch.lines.tolist()] == [1, 3, 4]


def test_a_file_in_text_mode_is_rejected():
    with pytest.raises(TypeError, match="text mode"):
        Reading(io.StringIO(), Schema("jsonl"))
