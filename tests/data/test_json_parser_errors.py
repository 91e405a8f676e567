"""Faults in JSON: their kind and place, and the records around them."""

import pytest

from json_records import parse, pieces, rows_of
from scwlearn import Features

pytestmark = pytest.mark.native


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
