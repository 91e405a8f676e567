"""The native CSV parser: records, cells, numbers and lines are those of Python's csv module and float()."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn._native import FeatureSpec, last_csv_end, parse_csv, split_csv
from table_text import ends_open, records

DELIMITERS = st.sampled_from(",;|\t: ")
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NO_NUMBER = ("", "na", "n/a", "nan", "nat", "null", "none", "?")
FORM = {
    "others": "auto",
    "separator": ".",
    "lowercase": True,
    "ngram": 1,
    "skips": 0,
    "char_ngrams": (0, 0),
    "longest_word": 100,
    "decimal": ".",
    "nan_is_missing": False,
    "missing": [],
    "interactions": [],
    "slots": 0,
}


def octets(text):
    """Text as the parser reads it."""
    return np.frombuffer(text.encode() if isinstance(text, str) else text, dtype=np.uint8)


def parsed(text, kinds, *, delimiter=",", labels="any", optional=False, skip=False, most=99, **form):
    """Features, label, weight and line of each record; the number of lines; and the errors."""
    spec = FeatureSpec(kinds=kinds, **FORM | form)
    arrays = parse_csv(octets(text), spec, [*kinds], delimiter, labels, optional, skip, most)
    (values, columns, offsets, names, _), (numbers, words, all_words, _), weights, lines, count, (bad, first) = arrays
    errors = len(bad), first
    found = []
    for row, line in enumerate(lines.tolist()):
        at = slice(offsets[row], offsets[row + 1])
        features = {names[j]: x for j, x in zip(columns[at].tolist(), values[at].tolist(), strict=True)}
        number, word = numbers[row].item(), words[row]
        label = all_words[word] if word >= 0 else None if math.isnan(number) else number
        found.append((features, label, None if weights is None else weights[row].item(), line))
    return found, count, errors


def quoted(cell):
    """A cell in quotes."""
    return '"' + cell.replace('"', '""') + '"'


@given(st.text(st.sampled_from('ab",,;\n\r0é'), max_size=60), st.sampled_from(",;"))
@settings(deadline=None, max_examples=500)
def test_records_cells_and_lines_are_those_of_pythons_csv(text, delimiter):
    cells, lines, end, count, opened = split_csv(octets(text + "\n"), delimiter, 1000)
    expected = records(text + "\n", delimiter)
    assert end == len(f"{text}\n".encode())
    assert count == len(re.findall(r"\r\n|\r|\n", text + "\n"))
    assert (opened is not None) == ends_open(text, delimiter)
    if opened is not None:
        expected = expected[:-1]
        line, offset = opened
        before = f"{text}\n".encode()[:offset].decode()
        assert line == 1 + len(re.findall(r"\r\n|\r|\n", before))
        assert not ends_open(before, delimiter)
    assert [*zip(lines, cells, strict=True)] == expected


CELL = st.text(st.sampled_from('ab",;\n\r\t 0é'), max_size=6)


@given(
    st.lists(st.lists(st.tuples(CELL, st.booleans(), st.sampled_from(["", " ", "  "])), min_size=1)),
    DELIMITERS,
    LINE_ENDS,
)
@settings(deadline=None)
def test_a_table_is_read_as_it_was_written(table, delimiter, line_end):
    text, expected = "", []
    blanks = " \t".replace(delimiter, "")
    for row in table:
        written, cells = [], []
        for cell, in_quotes, blank in row:
            if in_quotes or set(cell) & {'"', "\n", "\r", delimiter}:
                written.append(quoted(cell))
                cells.append(cell)
            else:
                blank = "" if delimiter == " " else blank
                written.append(blank + cell + blank)
                cells.append(cell.strip(blanks))
        text += delimiter.join(written) + line_end
        if written[0].strip(blanks) or len(written) > 1:
            expected.append(cells)
    assert split_csv(octets(text), delimiter, 1000)[0] == expected


@given(st.text(st.sampled_from('ab",\n\r'), max_size=40))
@settings(deadline=None, max_examples=500)
def test_a_chunk_ends_with_the_last_whole_record(text):
    data = text.encode()
    # A return at the end may be the first half of a line end.
    ends = [
        i
        for i in range(1, len(text) + 1)
        if (text[i - 1] == "\n" or (text[i - 1] == "\r" and i < len(text) and text[i] != "\n"))
        and not ends_open(text[:i])
    ]
    assert last_csv_end(octets(data), ",") == max(ends, default=0)


NUMBERS = st.one_of(
    st.floats(-1e150, 1e150).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(NUMBER, fullmatch=True),
    st.sampled_from(["", "NA", "?", "nan", "inf", "1e151", "-1e999", "0x1", "1_0", "1 2", "-", ".", "1e", "+ 1", "x"]),
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.booleans(), st.sampled_from(["", " ", "\t "]))), DELIMITERS, LINE_ENDS)
@settings(deadline=None)
def test_numbers_are_those_of_float(rows, delimiter, line_end):
    blanks = " \t".replace(delimiter, "")
    text, expected, bad = "", [], []
    for line, (a, b, in_quotes, blank) in enumerate(rows, 1):
        blank = "".join(set(blank) & set(blanks))
        cells = [quoted(a) if in_quotes or set(a) & set(delimiter) else blank + a + blank, quoted(b)]
        text += delimiter.join([*cells, "yes"]) + line_end
        values = []
        for name, cell in (("a", a), ("b", b)):
            if cell.lower() in NO_NUMBER:
                continue
            value = float(cell) if NUMBER.fullmatch(cell) else math.inf
            if abs(value) > 1e150:
                bad.append(("range" if NUMBER.fullmatch(cell) else "numeric", line, name, cell.encode()[:100]))
                break
            values += [(name, value)] if value else []
        else:
            expected.append((dict(values), "yes", None, line))
    found, lines, (count, errors) = parsed(
        text, {"a": "numeric", "b": "numeric", "y": "label"}, delimiter=delimiter, skip=True, most=1000
    )
    assert (found, lines, count, errors) == (expected, len(rows), len(bad), bad)


def test_cells_go_to_the_features_of_their_kind():
    kinds = {"n": "numeric", "c": "categorical", "t": "text", "d": "date", "i": "ignore", "y": "label", "w": "weight"}
    text = '1,x,"Big, big house",1970-01-01,?,yes,2\n0,,,,"\n",no,0.5\n'
    found, lines, _ = parsed(text, kinds)
    assert lines == 3
    (first, label, weight, line), other = found
    assert (label, weight, line, other) == ("yes", 2, 1, ({}, "no", 0.5, 2))
    assert first.items() >= {"n": 1, "c=x": 1, "t=big": 2, "t=house": 1}.items()
    assert {*first} - {"n", "c=x", "t=big", "t=house"} == {"d.weekday.sin", "d.weekday.cos"}


@pytest.mark.parametrize(
    ("labels", "cells", "expected"),
    [
        ("any", ["1", "-2.5", ' " 3"'], [1, -2.5, "label numbers"]),
        ("any", ['" 1 "', " 2 "], [1, 2]),
        ("any", ["yes", "1"], ["yes", "1"]),
        ("numeric", ["1", "x", "1e151", "inf"], [1, "label numbers", "label", "label numbers"]),
        ("categorical", ["1", "NA", "x" * 256, "x" * 257], ["1", "NA", "x" * 256, "label length"]),
    ],
)
def test_labels_are_numbers_or_words(labels, cells, expected):
    found, _, (_, errors) = parsed("".join(f"{cell}\n" for cell in cells), {"y": "label"}, labels=labels, skip=True)
    by_line = {line: label for _, label, _, line in found} | {line: fault for fault, line, _, _ in errors}
    assert [by_line[line + 1] for line in range(len(cells))] == expected


@pytest.mark.parametrize("labels", ["any", "numeric", "categorical"])
def test_labels_may_be_missing_if_they_are_optional(labels):
    text = '1,1\n2,\n3,""\n4,-9\n'
    kinds = {"a": "numeric", "y": "label"}
    found, _, _ = parsed(text, kinds, labels=labels, optional=True, missing=["-9"])
    assert [label for _, label, _, _ in found] == [1 if labels != "categorical" else "1", None, None, None]
    found, _, (count, errors) = parsed(text, kinds, labels=labels, skip=True, most=2, missing=["-9"])
    assert (len(found), count) == (1, 3)
    assert errors == [("label missing", 2, "y", b""), ("label missing", 3, "y", b"")]
    without = {"a": "numeric", "y": "ignore"}
    assert [label for _, label, _, _ in parsed(text, without, labels=labels, optional=True)[0]] == [None] * 4
    assert parsed(text, without, labels=labels)[2] == (1, [("label missing", 1, "", b"")])


def test_a_mark_of_a_missing_value_may_be_a_number():
    text = "-9,-90\n9,-9.0\n-9e0,-9\n"
    found, _, _ = parsed(text, {"a": "numeric", "b": "numeric"}, optional=True, missing=["-9"])
    assert [features for features, _, _, _ in found] == [{"b": -90}, {"a": 9}, {}]
    found, _, _ = parsed(text, {"a": "categorical", "b": "ignore"}, optional=True, missing=["-9"])
    assert [features for features, _, _, _ in found] == [{}, {"a=9": 1}, {"a=-9e0": 1}]


def test_numbers_may_have_a_decimal_comma():
    found, _, (_, errors) = parsed(
        "1,5;2\n-,25e1;1.5\n", {"a": "numeric", "b": "numeric"}, delimiter=";", optional=True, decimal=",", skip=True
    )
    assert [features for features, _, _, _ in found] == [{"a": 1.5, "b": 2}]
    assert errors == [("numeric", 2, "b", b"1.5")]


ABC = {"a": "numeric", "b": "categorical", "y": "label"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"1,x\n", ("ragged", 1, "", b"2")),
        (b"\n1,x,1,\n", ("ragged", 2, "", b"4")),
        (b"x,\xff\n", ("ragged", 1, "", b"2")),
        (b'1,"\n\r\n\r",1\n\n1,"x\n\n', ("quote", 6, "", b'"x\n\n')),
        (b'1,"a"",1\n', ("quote", 1, "", b'"a"",1\n')),
        (b"1,a\xffb,1\n", ("utf8", 1, "b", b"a\xffb")),
        (b"1,a\0,1\n", ("nul", 1, "b", b"a\0")),
        (b"1,x,\xed\xa0\x80\n", ("utf8", 1, "y", b"\xed\xa0\x80")),
        (b"1,x,1\n1e200,x,1\n", ("range", 2, "a", b"1e200")),
    ],
)
def test_errors_have_a_line_and_a_column(text, error):
    _, _, (count, errors) = parsed(text, ABC)
    assert (count, errors) == (1, [error])


@pytest.mark.parametrize(
    ("cell", "good"),
    [
        ("0", True),
        ("1e-100", True),
        ("1e100", True),
        (" 1 ", True),
        ("1e-101", False),
        ("-1", False),
        ("", False),
        ("NA", False),
    ],
)
def test_weights_are_checked(cell, good):
    _, _, errors = parsed(f"{cell},1\n", {"w": "weight", "y": "label"})
    assert errors == ((0, []) if good else (1, [("weight", 1, "w", cell.strip().encode())]))


def test_ignored_cells_may_hold_any_bytes():
    text = b'\xff\0,1\n"\xff,\n",2\n'
    found, lines, (count, _) = parsed(text, {"a": "ignore", "y": "label"})
    assert ([(label, line) for _, label, _, line in found], lines, count) == ([(1, 1), (2, 2)], 3, 0)


def test_a_record_with_an_error_leaves_nothing_behind():
    text = "1,x,1\n2,y,\nz,z,3\n4,x,4\n"
    found, lines, (count, _) = parsed(text, ABC, skip=True)
    assert found == [({"a": 1, "b=x": 1}, 1, None, 1), ({"a": 4, "b=x": 1}, 4, None, 4)]
    assert (lines, count) == (4, 2)


def test_reading_stops_at_the_first_error_and_at_an_open_quote():
    assert parsed("1,x,1\n1,x\n1\n", ABC)[2] == (1, [("ragged", 2, "", b"2")])
    found, _, (count, errors) = parsed('1,x,1\n1,x\n1,"x,1\n1,x,1\n', ABC, skip=True, most=1)
    assert (len(found), count, [fault for fault, _, _, _ in errors]) == (1, 2, ["ragged", "quote"])


@pytest.mark.parametrize("delimiter", ["", "ab", "1", "e", ".", "-", '"', "\n", "\r", "é", "\0"])
def test_a_delimiter_is_one_character_that_no_number_has(delimiter):
    with pytest.raises(ValueError, match="delimiter must be one character that is not part of numbers"):
        split_csv(octets("a\n"), delimiter, 1)


def test_text_that_does_not_end_with_a_line_end_is_refused():
    for text in ("1", "1\n2"):
        with pytest.raises(ValueError, match="the text must end with a line end"):
            parsed(text, {"y": "label"})
    assert parsed("1\r2\r", {"y": "label"})[1] == 2
    with pytest.raises(ValueError, match="at most one column can be the label"):
        parsed("1,2\n", {"y": "label", "z": "label"})
