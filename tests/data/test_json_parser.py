"""The native parser of JSON finds the features that Python's parser and the reader of dicts find."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn._native import JsonArrayCutter, parse_json
from scwlearn.data.features import PLAIN
from scwlearn.data.io.errors import DataError

pytestmark = pytest.mark.native

KINDS = {"n": "numeric", "c": "categorical", "t": "text", "d": "date", "i": "ignore", "o.i": "ignore"}
SPECS = [
    Features(),
    Features(kinds=KINDS, missing="ignore", interactions=["*:*"]),
    Features(
        kinds=KINDS | {"o": "auto"}, others="ignore", missing=("-", "NA", "0.1"), separator="/", ngram=2, decimal=","
    ),
]


def array(text):
    return np.frombuffer(text, dtype=np.uint8)


def parse(text, features=PLAIN, *, labels="any", label=None, weight=None, part="lines", is_last=True, **flags):
    """Rows, labels, weights, places and number of records, the number of bad ones and the first faults, of a text."""
    optional, skip, most = (flags.get(name) for name in ("optional", "skip", "most"))
    spec = features.spec(label=label, weight=weight)
    flags = bool(optional) or label is None, bool(skip), most or 1
    (*arrays, (bad, first)), places = parse_json(array(text), spec, labels, *flags, part, is_last)
    return (
        *arrays,
        bad,
        [(kind, record, *place, *rest) for (kind, record, *rest), place in zip(first, places, strict=True)],
    )


def rows_of(result):
    """The features of each row, as a dict."""
    values, columns, offsets, names, _ = result[0]
    rows = []
    for begin, end in pairwise(offsets.tolist()):
        row = {}
        for column, value in zip(columns[begin:end].tolist(), values[begin:end].tolist(), strict=True):
            row[names[column]] = row.get(names[column], 0.0) + value
        rows.append(row)
    return rows


def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key repeats")
    return dict(pairs)


def expected(line, features):
    """The features that Python's parser and the reader of dicts find; None if they refuse the text."""

    def constant(name):
        if name == "NaN" and features.missing == "ignore":
            return math.nan
        raise ValueError(name)

    try:
        value = json.loads(line.decode(), object_pairs_hook=unique, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode()
        return features.read(value) if isinstance(value, dict) else None
    except (ValueError, DataError):
        return None


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


def pieces(text, size):
    """The pieces of an array, which comes `size` bytes at a time; what they are; and whether each is the last."""
    cutter, buffer, part = JsonArrayCutter(), b"", "array start"
    for at in range(0, len(text), size):
        buffer += text[at : at + size]
        end = cutter.last_end(array(buffer))
        if end:
            yield buffer[:end], part, False
            buffer = buffer[end:]
            part = "array end" if cutter.is_closed else "array rest"
    yield buffer, part, True


BREAKS = ("array", "bracket", "between", "trailing", "behind")
BROKEN = [
    (b"", "array", 1, 1),
    (b"  ", "array", 1, 3),
    (b'{"a": [1, 2]}', "array", 1, 1),
    (b"[", "bracket", 1, 2),
    (b'[{"a": 1}', "bracket", 1, 10),
    (b'[{"a": 1},\n', "bracket", 2, 1),
    (b'[\n{"a": 1},\n ]', "trailing", 3, 2),
    (b'[{"a": 1} {"a": 2}]', "between", 1, 11),
    (b'[{"a": 1}:]', "between", 1, 10),
    (b'[{"a": 1}]\n x', "behind", 2, 2),
    (b'[{"a": 1}] []', "behind", 1, 12),
    (b"[]]", "behind", 1, 3),
]


@pytest.mark.parametrize(("text", "kind", "line", "column"), BROKEN, ids=range(len(BROKEN)))
def test_an_array_that_is_broken_off_gives_the_records_before_it(text, kind, line, column):
    for skip in (False, True):
        result = parse(text + b"\n", part="array start", skip=skip)
        ((found, _, *place, key, _),) = result[6]
        assert (found, *place, key) == (kind, line, column, "")
        assert rows_of(result) == [{"a": 1.0}] * (text.startswith(b"[") and b"}" in text)
        # The same in pieces: all but the last are good.
        results = [parse(piece + b"\n", part=p, is_last=last, skip=skip) for piece, p, last in pieces(text, 1)]
        assert next(fault[0] for each in results for fault in each[6]) == kind


ELEMENTS = [
    (b"1", "object"),
    (b'"{"', "object"),
    (b"[[{}], 2]", "object"),
    (b"null", "object"),
    (b'{"a": ["b"}', "list comma"),
    (b'{"a": {"b": 1]}}', "comma"),
    (b'{"a": "},{"]}', "comma"),
    (b'{"a": "\\"},{\\\\"]}', "comma"),
    (b'{"a": "open\n}', "string"),
    (b'{"a" 1}', "colon"),
    (b"{a: 1}", "key"),
    (b'{"a": 1, }', "key"),
    (b'{"a": +1}', "value"),
    (b'{"a": [1]}', "list"),
    (b'{"a": {"b": 1, "\\u0062": 2}}', "repeat"),
]


@pytest.mark.parametrize(("element", "kind"), ELEMENTS, ids=range(len(ELEMENTS)))
def test_reading_continues_behind_an_element_that_is_bad(element, kind):
    text = b'[{"x": 1}, %s, {"x": 2}, {"x": 3}]\n' % element
    result = parse(text, part="array start", skip=True, most=9)
    assert rows_of(result) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert result[5] == 1
    assert result[6][0][:2] == (kind, 2)
    assert rows_of(parse(text, part="array start")) == [{"x": 1}]


def test_an_object_without_its_brace_takes_in_the_rest():
    result = parse(b'[{"x": 1}, {"a": 1, {"x": 2}, {"x": 3}]\n', part="array start", skip=True)
    assert rows_of(result) == [{"x": 1}]
    assert result[5] == 2
    assert [fault[0] for fault in result[6]] == ["key", "bracket"]


FAULTS = [
    (b"[1]", "object", 1, "", b"[1]"),
    (b"1", "object", 1, "", b"1"),
    (b'{"a": 1} 2', "extra", 10, "", b"2"),
    (b'{"a": 1}}', "extra", 9, "", b"}"),
    (b"{", "key", 2, "", b""),
    (b'{"a": 1', "comma", 8, "", b""),
    (b'{"a": 1 "b": 2}', "comma", 9, "", b'"b": 2}'),
    (b'{"a": 1, b: 2}', "key", 10, "", b"b: 2}"),
    (b'{"a": 1,}', "key", 9, "", b"}"),
    (b'{"a"; 1}', "colon", 5, "", b"; 1}"),
    (b'{"a": }', "value", 7, "", b"}"),
    (b'{"a": tru}', "value", 7, "", b"tru}"),
    (b'{"a": nul', "value", 7, "", b"nul"),
    (b'{"a": 01}', "number", 7, "", b"01}"),
    (b'{"a": 1.}', "number", 7, "", b"1.}"),
    (b'{"a": -x}', "number", 7, "", b"-x}"),
    ('{"é": NaN}'.encode(), "constant", 7, "", b"NaN}"),
    (b'{"a": -Infinity}', "constant", 7, "", b"-Infinity}"),
    (b'{"a": "b}', "string", 7, "", b'"b}'),
    (b'{"a": "b\\"}', "string", 7, "", b'"b\\"}'),
    (b'{"a": "b\tc"}', "control", 9, "", b'\tc"}'),
    (b'{"a": "b\\x"}', "escape", 9, "", b'\\x"}'),
    (b'{"a": "\\u12g4"}', "escape", 8, "", b'\\u12g4"}'),
    (b'{"a": "\\u12', "escape", 8, "", b"\\u12"),
    (b'{"a": "\\udc00"}', "surrogate", 8, "", b'\\udc00"}'),
    (b'{"a": "\\ud800\\u0041"}', "surrogate", 8, "", b'\\ud800\\u0041"}'),
    (b'{"a": "\\ud800"}', "surrogate", 8, "", b'\\ud800"}'),
    ('{"é": "'.encode() + b'\xff"}', "utf8", 8, "", b'\xff"}'),
    (b'{"a": "\xe2\x82', "utf8", 8, "", b"\xe2\x82"),
    (b'{"a": 1, "a": 2}', "repeat", 10, "", b"a"),
    (b'{"i": [{"k": 1, "k": 2}]}', "repeat", 17, "", b"k"),
    (b'{"a": {"b": [1, 2]}}', "list", 14, "a.b", b"1"),
    (b'{"a": ["x", {"y": [2]}, 3]}', "list", 13, "a", b'{"y": [2]}'),
    (b'{"a": ["x" "y"]}', "list comma", 12, "", b'"y"]}'),
    (b'{"a": ["x",]}', "value", 12, "", b"]}"),
    (b'{"a": 1e200}', "range", 7, "a", b"1e+200"),
    (b'{"n": "x"}', "numeric", 7, "n", b"x"),
    (b'{"t": 1}', "text", 7, "t", b"1"),
    (b'{"i": ' + b"[" * 501 + b"]" * 501 + b"}", "deep", 506, "", b"[" * 2 + b"]" * 98),
    (b'{"a": ' * 33 + b"1" + b"}" * 33, "depth", 193, ".".join("a" * 32), b""),
    (b'{"%s": {"a": 1}}' % (b"x" * 257), "prefix", 263, "x" * 257, b"x" * 100),
]


@pytest.mark.parametrize(("line", "kind", "column", "key", "found"), FAULTS, ids=range(len(FAULTS)))
def test_faults_name_the_kind_the_place_and_the_text(line, kind, column, key, found):
    features = Features(kinds={"i": "ignore", "n": "numeric", "t": "text"})
    text = b'{"a": 1}\n\n' + line + b'\n{"a": 2}\n'
    result = parse(text, features)
    assert result[5:] == (1, [(kind, 3, 3, column, key, found)])
    assert (rows_of(result), result[4]) == ([{"a": 1.0}], 3)
    result = parse(text, features, skip=True)
    assert result[5:] == (1, [(kind, 3, 3, column, key, found)])
    assert (rows_of(result), result[3].tolist(), result[4]) == ([{"a": 1.0}, {"a": 2.0}], [1, 4], 4)


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
