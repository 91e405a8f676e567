"""The native parser of JSON finds the features that Python's parser and the reader of dicts find."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from json_records import array, expected, parse, pieces, rows_of
from scwlearn import Features
from scwlearn._native import JsonArrayCutter, parse_json

pytestmark = pytest.mark.native

BREAKS = ("array", "bracket", "between", "trailing", "behind")

KINDS = {"n": "numeric", "c": "categorical", "t": "text", "d": "date", "i": "ignore", "o.i": "ignore"}
SPECS = [
    Features(),
    Features(kinds=KINDS, missing="ignore", interactions=["*:*"]),
    Features(
        kinds=KINDS | {"o": "auto"}, others="ignore", missing=("-", "NA", "0.1"), separator="/", ngram=2, decimal=","
    ),
]


letters = st.text(st.sampled_from('abno.i"\\/\n\t é€😀'), max_size=4)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(-1e150, 1e150),
    st.sampled_from([0.1, 5e-324, 2.5e-310, 1e23, 2**53 + 1, 10**40, -0.0]),
    letters,
    st.sampled_from(["2026-11-17", "2026-11-17T14:30:05Z", "1.5", "1,5", "NA", "-", "Two words", ""]),
)
keys = st.one_of(st.sampled_from([*"nctdio", "", "a", "o.i", "o/i"]), letters)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.dictionaries(keys, inner, max_size=4),
        st.lists(st.one_of(letters, st.none()), max_size=4),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)
records = st.dictionaries(keys, values, max_size=6)
layouts = st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", "\t: ")])


@given(st.lists(records, min_size=1, max_size=6), layouts, st.booleans(), st.sampled_from(SPECS))
@settings(deadline=None, max_examples=400)
def test_records_have_the_features_of_their_dicts(objects, separators, ascii_only, features):
    lines = [json.dumps(each, separators=separators, ensure_ascii=ascii_only).encode() for each in objects]
    wanted = [expected(line, features) for line in lines]
    result = parse(b"".join(line + b"\n" for line in lines), features, skip=True)
    assert rows_of(result) == [row for row in wanted if row is not None]
    assert result[3].tolist() == [number for number, row in enumerate(wanted, 1) if row is not None]
    assert result[4:6] == (len(lines), wanted.count(None))


EDITS = [b"", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"+", b"1", b"n", b"null"]
EDITS += [b"true", b"NaN", b"Infinity", b"\\u", b"\\ud83d", b"\\ude00", b"d800", b"\x00", b"\x7f", b"\xff", b"\xc3"]
EDITS += [b"\xed\xa0\x80", b"\xe2\x82\xac", b"\r", b"\t", b"a", b'"a":1', b',"a":1', b"\xf0\x9f\x98\x80", b"E5"]


@given(records, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), st.sampled_from(EDITS)), max_size=3))
@example({"a": "é"}, [(6, 1, b"\xc3")])
@settings(deadline=None, max_examples=1500)
def test_the_same_texts_are_refused(record, edits):
    line = json.dumps(record, ensure_ascii=False).encode()
    for at, removed, put in edits:
        at %= len(line) + 1
        line = line[:at] + put + line[at + removed :]
    if not line.strip(b" \t\r"):
        return
    for features in SPECS:
        wanted = expected(line, features)
        result = parse(line + b"\n", features)
        assert rows_of(result) == ([] if wanted is None else [wanted]), line
        assert result[5] == (wanted is None)


NUMBERS = [
    "0",
    "-0",
    "1",
    "-1.5",
    "1e5",
    "1E+5",
    "1.25e-3",
    "123456789012345678901234567890",
    "0.1e1",
    "1e400",
    "-1e-400",
]
NUMBERS += [
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "-.5",
    "1.e5",
    "1e",
    "1e+",
    "-",
    "--1",
    "1_0",
    "0x1",
    "1 2",
    "\u0661",
    "1,",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_those_of_the_json_grammar(number):
    line = f'{{"x": {number}}}'.encode()
    wanted = expected(line, Features())
    assert rows_of(parse(line + b"\n")) == ([] if wanted is None else [wanted])


@given(st.lists(records, max_size=6), layouts, st.sampled_from([None, 1]), st.integers(1, 60))
@settings(deadline=None, max_examples=200)
def test_an_array_has_the_records_of_its_lines_in_pieces_of_any_size(objects, separators, indent, size):
    text = json.dumps(objects, separators=separators, indent=indent, ensure_ascii=False).encode()
    lines = parse(b"".join(json.dumps(each).encode() + b"\n" for each in objects), skip=True)
    found, places, records = [], [], 0
    for piece, part, is_last in pieces(text, size):
        result = parse(piece + b"\n", part=part, is_last=is_last, skip=True)
        assert all(fault[0] not in BREAKS for fault in result[6])
        found += rows_of(result)
        places += (result[3] + records).tolist()
        records += result[4]
    assert found == rows_of(lines)
    assert places == lines[3].tolist()
    assert records == len(objects)


def labels_of(*values, labels="any", **flags):
    text = b"".join(json.dumps({"y": value} if value != "none" else {}).encode() + b"\n" for value in values)
    result = parse(text, label="y", labels=labels, **flags)
    numbers, word_numbers, words, all_bools = result[1]
    found = [
        words[word] if word >= 0 else None if np.isnan(number) else number
        for number, word in zip(numbers.tolist(), word_numbers.tolist(), strict=True)
    ]
    return found, all_bools, [(fault[0], fault[1], *fault[4:]) for fault in result[6]]


def test_the_first_label_decides_what_all_are():
    assert labels_of(1, 2.5, True) == ([1, 2.5, 1], False, [])
    assert labels_of(True, False) == ([1, 0], True, [])
    assert labels_of("a", "b", "a") == (["a", "b", "a"], False, [])
    assert labels_of(1, "a") == ([1], False, [("label numbers", 2, "y", b"a")])
    assert labels_of("a", 1.5) == (["a"], False, [("label words", 2, "y", b"1.5")])
    assert labels_of(1, labels="strings") == ([], False, [("label words", 1, "y", b"1")])
    assert labels_of("a", labels="numeric") == ([], False, [("label numbers", 1, "y", b"a")])
    # One that is refused decides nothing.
    assert labels_of(1e200, ["b"], "a", skip=True, most=2) == (
        ["a"],
        False,
        [("label", 1, "y", b"1e+200"), ("label list", 2, "y", b'["b"]')],
    )
    text = b'{"y": 1, "x": [1]}\n{"x": [1], "y": true}\n{"y": "a"}\n'
    assert parse(text, label="y", skip=True)[1][2] == ["a"]


def test_categorical_labels_may_be_numbers():
    given = (1, -1.0, 0.5, 2**60 + 1, -0.0, True, "a", "1")
    assert labels_of(*given, labels="categorical")[0] == [
        *("1", "-1", "0.5", "1152921504606846977", "0", "true", "a", "1")
    ]


def test_a_label_may_be_missing_if_it_is_optional():
    for missing in (None, "", "none"):
        assert labels_of(1, missing) == ([1], False, [("label missing", 2, "y", b"")])
        assert labels_of(missing, "a", optional=True) == ([None, "a"], False, [])
    assert labels_of("x" * 256, "x" * 257)[2] == [("label length", 2, "y", b"x" * 100)]


def test_label_and_weight_may_be_nested():
    text = b'{"a": {"y": 1, "w": 2, "x": 3}}\n{"a.y": 2, "a.w": true, "a": {"z": 4, "y": {"deep": 5}}}\n'
    result = parse(text, label="a.y", weight="a.w")
    assert rows_of(result) == [{"a.x": 3}, {"a.z": 4, "a.y.deep": 5}]
    assert result[1][0].tolist() == [1, 2]
    assert result[2].tolist() == [2, 1]
    for line, fault in (
        (b'{"a.y": 1, "a": {"y": 1}, "a.w": 1}', ("label twice", "a.y", b"1")),
        (b'{"a.y": 1, "a.w": 1, "a": {"w": 1}}', ("weight twice", "a.w", b"1")),
        (b'{"a.y": 1}', ("weight", "a.w", b"")),
        (b'{"a.y": 1, "a.w": null}', ("weight", "a.w", b"")),
        (b'{"a.y": 1, "a.w": -1}', ("weight", "a.w", b"-1")),
        (b'{"a.y": 1, "a.w": "1"}', ("weight", "a.w", b"1")),
        (b'{"a.y": 1, "a.w": [1]}', ("list", "a.w", b"1")),
        (b'{"a.y": 1, "a.w": ["1"]}', ("weight", "a.w", b'["1"]')),
    ):
        ((kind, _, _, _, key, found),) = parse(line + b"\n", label="a.y", weight="a.w")[6]
        assert (kind, key, found) == fault


def test_keys_that_change_their_order_and_spelling_are_the_same():
    text = b'{"a": 1, "b": 2, "c": 3}\n{"c": 3, "a": 1}\n{"\\u0061": 1, "b": 2, "c": 3}\n{"b": 2, "c": 3, "d": 4}\n'
    all_keys = {"a": 1, "b": 2, "c": 3}
    assert rows_of(parse(text)) == [all_keys, {"c": 3, "a": 1}, all_keys, {"b": 2, "c": 3, "d": 4}]


def test_a_key_with_an_escape_is_not_that_of_its_letters():
    # The second key is written as the first one is read.
    lines = [{"a\\b": 1}, {"a\b": 2}, {'a"': 3}, {"a": 4}, {"\n": 5}]
    text = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    assert rows_of(parse(text + text)) == lines + lines
    assert parse(text + b'{"a"b": 1}\n')[6][0][0] == "colon"


def test_a_text_needs_its_newline():
    with pytest.raises(ValueError, match="must end with a newline"):
        parse(b"{}")
    with pytest.raises(ValueError, match="part must be lines"):
        parse(b"{}\n", part="whole")
    with pytest.raises(ValueError, match="labels must be any"):
        parse(b"{}\n", labels="odd")
    cutter = JsonArrayCutter()
    cutter.last_end(array(b"[{"))
    with pytest.raises(ValueError, match="must start where the last one was cut"):
        cutter.last_end(array(b"["))


def test_hashed_names_are_those_of_the_features():
    lines = b'{"a": 1, "b": "x"}\n{"b": "y", "a": 2}\n'
    by_name = parse(lines)[0]
    spec = Features().spec(slots=2**18)
    hashed = parse_json(array(lines), spec, "any", True, False, 1, "lines", True)[0][0]
    assert by_name[3] == hashed[3]
    assert by_name[4] is None
    assert len(set(hashed[4].tolist())) == 3
    assert hashed[4].dtype == np.uint32
