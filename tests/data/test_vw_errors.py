"""Errors in VW text: their exact messages, raised or skipped."""

import gzip
import io

import pytest

from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from table_text import Reading
from vw_text import native, read

NUMBER = "a finite number of at most 1e+150 in magnitude"
BAR = "a line must have a bar before its features, as in 1 |words some more"
LABEL = f"a line must start with a label, a word or {NUMBER}"
LABELS = "a label must be one number or word; several labels, costs and actions are not supported"
WEIGHT = "a weight must be 0 or a number from 1e-100 to 1e+100; a tag starts with ' or touches the bar"
BASE = "only a label, a weight and a tag may precede the bar; a base is not supported"
SPACE = "a namespace must be name or name:scale, right after the bar, and its name must not contain ^"
SCALE = f"a scale must be {NUMBER}, right after the colon"
FEATURE = "a feature must be name or name:value"
VALUE = f"a value, times the scale of its namespace, must be {NUMBER}, right after the colon"
WORDS = "words must be UTF-8 text without control characters"

# Third line, column of the error, and message.
FAULTS = {
    "no bar": (b"1 a b", 1, f"{BAR}; found '1'"),
    "a comment": (b"  # words", 3, f"{BAR}; found '#'"),
    "binary garbage": (b"\x89PNG\x00\x1a", 1, f"{BAR}; found '\\x89PNG\\x00\\x1a'"),
    "a label that touches the bar": (
        b"1|n a",
        1,
        "a line must start with a label and a space; text that touches the bar is a tag; found '1' "
        "(use format=... if bars separate the cells of a table)",
    ),
    "nan for a label": (b"NaN |n a", 1, f"{LABEL}; found 'NaN'"),
    "inf for a label": (b"-inf |n a", 1, f"{LABEL}; found '-inf'"),
    "a large label": (b"1e151 |n a", 1, f"{LABEL}; found '1e151'"),
    "a word among numbers": (b"spam |n a", 1, "all labels must be numbers, as the first one is; found 'spam'"),
    "a bandit's label": (b"1:2:0.5 |n a", 1, f"{LABELS}; found '1:2:0.5'"),
    "costs": (b"1:0 2:1 3:0.5 |n a", 1, f"{LABELS}; found '1:0'"),
    "several labels": (b"1,2 |n a", 1, f"{LABELS}; found '1,2'"),
    "a bad weight": (b"1 zebra |n a", 3, f"{WEIGHT}; found 'zebra'"),
    "a negative weight": (b"1 -1 |n a", 3, f"{WEIGHT}; found '-1'"),
    "a large weight": (b"1 1e101 |n a", 3, f"{WEIGHT}; found '1e101'"),
    "a small weight": (b"1 1e-101 |n a", 3, f"{WEIGHT}; found '1e-101'"),
    "nan for a weight": (b"1 nan |n a", 3, f"{WEIGHT}; found 'nan'"),
    "a base": (b"1 2 0.5 |n a", 5, f"{BASE}; found '0.5'"),
    "a base and a tag": (b"1 2 0.5 t|n a", 5, f"{BASE}; found '0.5'"),
    "a namespace without a name": (b"1 |:2 a", 4, f"{SPACE}; found ':2'"),
    "a namespace with a caret": (b"1 |a^b a", 4, f"{SPACE}; found 'a^b'"),
    "a bad scale": (b"1 |n:x a", 6, f"{SCALE}; found 'x'"),
    "no scale": (b"1 |n: a", 6, f"{SCALE}; found nothing"),
    "an infinite scale": (b"1 |n:inf a", 6, f"{SCALE}; found 'inf'"),
    "a feature without a name": (b"1 |n a :2", 8, f"{FEATURE}; found ':2'"),
    "a word for a value": (b"1 |n city:paris", 11, f"{VALUE}; found 'paris'"),
    "no value": (b"1 |n a: b", 8, f"{VALUE}; found nothing"),
    "two values": (b"1 |n a:1:2", 8, f"{VALUE}; found '1:2'"),
    "nan": (b"1 |n a:nan|m", 8, f"{VALUE}; found 'nan'"),
    "inf": (b"1 |n a:-inf", 8, f"{VALUE}; found '-inf'"),
    "a large value": (b"1 |n:1e100 a:1e100", 14, f"{VALUE}; found '1e100'"),
    "a large sum": (
        b"1 |n a:1e150 a:1e150",
        14,
        f"the values of a repeated feature must add up to {NUMBER}; found 'a:1e150'",
    ),
    "NUL in a name": (b"1 |n a\x00b", 6, f"{WORDS}; found 'a\\x00b'"),
    "NUL in a namespace": (b"1 |\x00 a", 4, f"{WORDS}; found '\\x00'"),
    "NUL in a tag": (b"1 '\x00 | a", 4, f"{WORDS}; found '\\x00'"),
    "NUL in a value": (b"1 | a:1\x00", 7, f"{VALUE}; found '1\\x00'"),
    "a broken character": (b"1 |n a\xe4b c", 6, f"{WORDS}; found 'a\\xe4b'"),
    "half a character": (b"1 |n \xc3 c", 6, f"{WORDS}; found '\\xc3'"),
    "half a pair": (b"1 |n \xed\xa0\x80", 6, f"{WORDS}; found '\\xed\\xa0\\x80'"),
    "too long a spelling": (b"1 |n \xc0\xaf", 6, f"{WORDS}; found '\\xc0\\xaf'"),
    "a broken label": (b"\xff\xfe |n a", 1, f"{LABEL}; found '\\xff\\xfe'"),
    "a lone return": (b"1 |n a\rb", 6, f"{WORDS}; found 'a\\rb'"),
}
at_hand = pytest.mark.parametrize(("line", "column", "message"), FAULTS.values(), ids=FAULTS)


def fault_of(source, **options):
    with pytest.raises(ValueError, match=r"^(the file|/)") as caught:
        [*Reading(source, Schema("vw"), ReaderOptions(**options))]
    return str(caught.value)


@native
@at_hand
def test_an_error_is_raised_with_file_line_and_column(line, column, message, tmp_path):
    text = b"1 |n a\n\n" + line + b"\n1 |n b\n"
    path = tmp_path / "some.vw"
    for data in (text, text.replace(b"\n", b"\r\n"), gzip.compress(text), b"\xef\xbb\xbf" + text, text[:-8]):
        path.write_bytes(data)
        assert fault_of(path) == f"{path}, line 3, column {column}: {message}"
    assert fault_of(path, chunk_bytes=1) == f"{path}, line 3, column {column}: {message}"


@native
@at_hand
def test_a_bad_line_is_skipped_and_recorded(line, column, message):
    # A name that occurs only in a bad line is not in the batch.
    text = b"1 |n a\n" + line.replace(b"|n ", b"|n gone ") + b"\n" + line + b"\n2 t| b |n c\n"
    for chunk_bytes in (1, 12, 2**20):
        faults = SkippedRecords()
        batches = read(text, on_error="skip", skipped=faults, chunk_bytes=chunk_bytes)
        assert [y for batch in batches for y in batch.labels.tolist()] == [1, 2]
        assert [at for batch in batches for at in batch.lines.tolist()] == [1, 4]
        assert [name for batch in batches for name in batch.x.names] == ["n^a", "b", "n^c"]
        assert faults.count == 2
        assert str(faults.first[1]) == f"the file, line 3, column {column}: {message}"


@native
def test_labels_that_are_words_stay_words_over_all_chunks():
    text = b"| a\nspam | a\n1 | a\nham | a\n"
    for chunk_bytes in (1, 2**20):
        message = "the file, line 3, column 1: all labels must be words, as the first one is; found '1'"
        assert fault_of(io.BytesIO(text), labels="optional", chunk_bytes=chunk_bytes) == message
        faults = SkippedRecords()
        batches = read(text, labels="optional", on_error="skip", skipped=faults, chunk_bytes=chunk_bytes)
        assert sum(map(len, batches)) == 3
        assert [str(fault) for fault in faults.first] == [message]


@native
def test_the_length_of_a_label_is_limited():
    longest = "ß" * 256
    assert [batch.labels.tolist() for batch in read(f"spam | a\n{longest} | a\n".encode())] == [["spam", longest]]
    message = f"a label must have at most 256 characters; found '{'x' * 40}'..."
    text = b"spam | a\n" + b"x" * 10**6 + b" | a\nham | a\n"
    assert fault_of(io.BytesIO(text)) == f"the file, line 2, column 1: {message}"
    faults = SkippedRecords()
    (batch,) = read(text, on_error="skip", skipped=faults)
    # Each label takes the memory of the longest.
    assert (batch.labels.tolist(), batch.labels.dtype.itemsize) == (["spam", "ham"], 4 * len("spam"))
    assert [*map(str, faults.first)] == [f"the file, line 2, column 1: {message}"]


@native
def test_the_length_of_a_namespace_is_limited():
    longest = "ß" * 256
    assert [batch.x.names for batch in read(f"1 |{longest} a b\n".encode())] == [[f"{longest}^a", f"{longest}^b"]]
    message = "the file, line 1, column 4: the name of a namespace must have at most 256 characters; found "
    assert fault_of(io.BytesIO(f"1 |{longest}x a\n".encode())).startswith(message)


@native
def test_a_bad_label_does_not_decide_the_kind_of_labels():
    faults = SkippedRecords()
    (batch,) = read(b"nan | a\n1:2 | a\nspam | a\n1 | a\n", on_error="skip", skipped=faults)
    assert batch.labels.tolist() == ["spam"]
    assert [(fault.line, fault.column) for fault in faults.first] == [(1, 1), (2, 1), (4, 1)]


@native
def test_optional_labels_are_still_checked():
    message = f"the file, line 2, column 1: {LABELS}; found '1:2'"
    assert fault_of(io.BytesIO(b"| a\n1:2 | a\n"), labels="optional") == message


def test_files_without_examples_are_rejected(tmp_path):
    path = tmp_path / "none.vw"
    for text in (b"", b"\n\r\n \t\n", b"\xef\xbb\xbf"):
        path.write_bytes(text)
        assert fault_of(path) == f"{path}: no examples; a line is label |namespace name:value ... name:value"


def test_a_line_that_is_too_long_is_rejected_or_left_out():
    text = b"1 | a\n1 | " + b"b" * 10_000 + b"\n1 | c\n"
    message = "the file, line 2: a line has at most 1000 bytes; found '1 | " + "b" * 36 + "'..."
    message += " (raise the limit with max_line_bytes=...)"
    options = {"chunk_bytes": 100, "max_line_bytes": 1000}
    assert fault_of(io.BytesIO(text), **options) == message
    faults = SkippedRecords()
    assert [batch.x.names for batch in read(text, on_error="skip", skipped=faults, **options)] == [["a"], ["c"]]
    assert [str(fault) for fault in faults.first] == [message]
