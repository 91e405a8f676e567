"""LIBSVM text: lines are read as a plain parser reads them, and errors name the place.

Most numbers are read by a path for short ones, which keeps away from the ends of a text and leaves what it does not
know to a careful one: tests pad texts to be read by the first, and spell numbers oddly to be read by the second.
"""

import io
import itertools
import lzma
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from libsvm_text import LARGEST, PADDING, VALID, loaded, many, native, same
from scwlearn._native import parse_libsvm
from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
from scwlearn.data.options import ReaderOptions

# Lines


def reference(text, zero_based=False):
    """Read a text in plain Python: label and features of each line, or None if a line is bad."""
    number, first = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", 0 if zero_based else 1
    line_form = re.compile(rf"[ \t]*({number})(?:[ \t]+qid:\d+)?((?:[ \t]+\d+:{number})*)[ \t]*".encode())
    rows = []
    for line in text.removesuffix(b"\n").split(b"\n"):
        line = line.removesuffix(b"\r").partition(b"#")[0]
        if not line.strip(b" \t"):
            continue
        match = line_form.fullmatch(line)
        if match is None:
            return None
        features = [feature.split(b":") for feature in match[2].split()]
        row = {int(index) - first: float(value) for index, value in features}
        sound = len(row) == len(features) and min(row, default=0) >= 0 and max(row, default=0) < 2**63 - 1
        if not sound or not all(abs(value) <= LARGEST for value in (float(match[1]), *row.values())):
            return None
        rows.append((float(match[1]), row))
    return rows


def assert_read_as_reference(text, **options):
    for padded in (text, PADDING + text + PADDING):
        assert_this_is_read_as_reference(padded, **options)


def assert_this_is_read_as_reference(text, **options):
    expected = reference(text, **options)
    if not expected:
        with pytest.raises(ValueError, match="column" if expected is None else "no examples"):
            loaded(text, **options)
        return
    x, labels = loaded(text, **options)
    own = [slice(*pair) for pair in zip(x.indptr[:-1], x.indptr[1:], strict=True)]
    read = [dict(zip(x.indices[part].tolist(), x.data[part].tolist(), strict=True)) for part in own]
    # repr: -0.0 is not 0.0.
    assert repr([*zip(labels.tolist(), read, strict=True)]) == repr(
        [(y, dict(sorted(row.items()))) for y, row in expected]
    )
    assert x.shape[1] == 1 + max((max(row, default=-1) for _, row in expected), default=-1)


PIECES = [b"1", b"-1", b"+1", b"0", b"2.5", b".5", b"5.", b"1e5", b"1E-05", b"1e200", b"nan", b"inf", b"qid:3", b"qid:"]
PIECES += [
    b"1:1",
    b"2:0.25",
    b"7:-3",
    b"3:.5",
    b"0:1",
    b"12345678:1",
    b"123456789012:1",
    b"1" * 20 + b":1",
    b"0" * 20 + b"4:1",
]
PIECES += [
    b" ",
    b" ",
    b" ",
    b"\t",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"#",
    b":",
    b",",
    b".",
    b"e",
    b"+",
    b"_",
    b"\0",
    b"\xff",
    b"\x0b",
]


@pytest.mark.slow
@native
@many
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), st.booleans())
def test_any_text_is_read_as_the_plain_parser_reads_it(text, zero_based):
    assert_read_as_reference(text, zero_based=zero_based)


def assert_each_is_read_as_reference(texts):
    """Like the one above, for many short texts at a time: those without a fault become one."""
    sound = []
    for text in texts:
        if reference(text, zero_based=True) is not None:
            sound.append(text)
        else:
            padded = np.frombuffer(PADDING + text + PADDING, dtype=np.uint8)
            assert parse_libsvm(padded, True, 2**63 - 1, False)[2][0], text
    assert 0 < len(sound) < len(texts)
    assert_read_as_reference(b"\n".join(sound), zero_based=True)


@native
def test_short_features_are_read_as_the_plain_parser_reads_them_whatever_their_form():
    rng = np.random.default_rng(4)
    digits = "".join(map(str, rng.integers(0, 10, 1000)))

    def some(count):
        at = rng.integers(0, 980)
        return digits[at : at + count]

    points = [".", *("." + "d" * places for places in range(1, 10)), ""]
    forms = itertools.product(range(10), ("", "-", "+", "."), range(10), points, (" ", "\t", "  ", " \r", " #", "x"))
    texts = []
    for index_digits, sign, whole, point, after in forms:
        number = sign + some(whole) + point[:1] + some(len(point[1:]))
        texts += [f"{number} 1:1{after}", f"1 {some(index_digits)}:{number}{after}"]
    assert_each_is_read_as_reference([text.encode() for text in texts])


@native
def test_any_byte_at_any_place_of_short_features_is_read_as_the_plain_parser_reads_it():
    text = b"-1 12345678:-1234.567 3:1 4:.5\n+2.5 17:1. 18:0.25"
    changes = itertools.product(range(len(text)), range(256))
    assert_each_is_read_as_reference([text[:at] + bytes([byte]) + text[at + 1 :] for at, byte in changes])


@pytest.mark.slow
@native
def test_a_text_is_read_the_same_at_any_offset():
    text = b"1 12345678:-1234.567 13:1 4:.5\n+2.5 17:1. 18:0.25\n-1 3:1\n"
    for behind, ahead in itertools.product(range(30), range(30)):
        assert_this_is_read_as_reference(b"\n" * behind + text + b"\n" * ahead)


# How a file begins that is unpacked or decoded before the parser sees it.
MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb", b"\x1f\x8b", b"\x28\xb5", b"\xfd7")
VALID += b"3 00000000000000000000001:12345678901234567890 99:1"


@pytest.mark.slow
@native
@many
@given(st.lists(st.tuples(st.integers(0, len(VALID)), st.integers(0, 3), st.sampled_from(PIECES)), max_size=4))
def test_a_damaged_text_is_read_as_the_plain_parser_reads_it_or_rejected(damages):
    text = VALID
    for at, dropped, piece in damages:
        text = text[:at] + piece + text[at + dropped :]
    assert_read_as_reference(text)


@pytest.mark.slow
@native
@many
@given(st.binary(max_size=200).filter(lambda text: not text.startswith(MARKS)))
def test_random_bytes_are_read_or_rejected(text):
    assert_read_as_reference(text)


@native
def test_a_text_is_read_to_its_end_and_no_further():
    # Under the sanitizers, where memory ends with the array.
    for text in (
        VALID + b"\n",
        b"1\n",
        b"\n",
        b"1 1:1\n",
        b"-1 12345678:12345678.12345678e-12\n",
        b"1 1:x\n",
        b"x\n",
        b"1,2\n",
        b"#\n",
        b"-1 12345678:-1234.567 3:1 4:.5\n+2.5 17:1. 18:0.25\n+1 12345678:-1234.567\n",
    ):
        for start in range(len(text)):
            exact = np.frombuffer(text[start:], dtype=np.uint8).copy()
            assert parse_libsvm(exact, False, 1000, False)[1][0] <= text.count(b"\n")
    with pytest.raises(ValueError, match="must end with a newline"):
        parse_libsvm(np.frombuffer(b"1 1:1", dtype=np.uint8), False, 1000, False)


@native
def test_features_come_out_sorted_whatever_their_order():
    rng = np.random.default_rng(1)
    lines, rows = [], []
    for _ in range(200):
        row = {
            int(i): float(v)
            for i, v in zip(rng.permutation(500)[: rng.integers(0, 40)], rng.normal(size=40), strict=False)
        }
        lines.append("1 " + " ".join(f"{i}:{v!r}" for i, v in row.items()))
        rows.append(row)
    x, _ = loaded("\n".join(lines).encode(), zero_based=True, n_features=500)
    assert x.indices.tolist() == [i for row in rows for i in sorted(row)]
    assert x.data.tolist() == [row[i] for row in rows for i in sorted(row)]


@native
def test_indices_are_int64_if_one_does_not_fit_int32():
    x, _ = loaded(b"1 2147483647:1\n")
    assert (x.indices.dtype, x.indices[0], x.shape[1]) == (np.int32, 2**31 - 2, 2**31 - 1)
    for dtype in (np.float64, np.float32):
        x, _ = loaded(b"1 1:1 2147483648:1\n-1 2:3", dtype=dtype)
        assert (x.indices.dtype, x.indices.tolist(), x.shape[1]) == (np.int64, [0, 2**31 - 1, 1], 2**31)
        assert x.dtype == dtype
    batches = [*read_libsvm(io.BytesIO(b"1 1:1\n1 9223372036854775807:1\n"), ReaderOptions(chunk_bytes=8))]
    assert [batch.x.width for batch in batches] == [1, 2**63 - 1]


# Errors

NUMBER = r"a finite number of at most 1e\+150 in magnitude"
FAULTS = {
    "a word": (b"1 1:1\nspam 1:1", rf"line 2, column 1: a line must start with a label, {NUMBER}; found 'spam'"),
    "no label": (b"  1:1 2:2", r"line 1, column 3: a line must start with a label, .*; found '1:1'"),
    "infinite label": (b"1e999 2:2", rf"column 1: a line must start with a label, {NUMBER}; found '1e999'"),
    "several labels": (b"1,2 1:1", r"column 1: a line must have one label; .*; found '1,2'"),
    "a query": (
        b"1 qid:x 1:1",
        r"column 3: a query must be qid:n, with an integer n, after the label; found 'qid:x'",
    ),
    "a query without a number": (b"1 qid: 1:1", r"column 3: a query must be .* after the label; found 'qid:'"),
    "a late query": (b"1 1:1 qid:3", r"column 7: a query must be .* after the label; found 'qid:3'"),
    "no query": (b"1 quid:3", r"column 3: a feature must be index:value, .*; found 'quid:3'"),
    "no colon": (
        b"1 1:1 7 8:1",
        r"column 7: a feature must be index:value, with an integer index, such as 7:0.5; found '7'",
    ),
    "a signed index": (b"1 +1:1", r"column 3: a feature must be index:value.*; found '\+1:1'"),
    "a negative index": (b"1 -1:1", r"column 3: a feature must be index:value.*; found '-1:1'"),
    "a space before the colon": (b"1 7 :1", r"column 3: a feature must be index:value.*; found '7'"),
    "index 0": (
        b"1 0:1",
        r"column 3: indices start at 1; found '0:1' \(use zero_based=True for a file that counts from 0\)",
    ),
    "index 000": (b"1 000:1", r"indices start at 1; found '000:1'"),
    "a huge index": (
        b"1 18446744073709551617:1",
        r"column 3: indices must be from 1 to 9223372036854775807; found '1844",
    ),
    "no value": (b"1 2:", rf"column 5: a value must be {NUMBER}, right after the colon; found nothing"),
    "a space before the value": (b"1 2: 3", r"column 5: a value must be .*; found nothing"),
    "two colons": (b"1 2:3:4", r"column 5: a value must be .*; found '3:4'"),
    "a value with more": (b"1 2:3x # c", r"column 5: a value must be .*; found '3x'"),
    "no exponent": (b"1 2:3e+", r"column 5: a value must be .*; found '3e\+'"),
    "a lone point": (b"1 2:.", r"column 5: a value must be .*; found '\.'"),
    "a lone sign": (b"1 2:-", r"column 5: a value must be .*; found '-'"),
    "twice": (b"1\n1 7:1 3:1 9:1 07:2 8:1", r"line 2, column 15: indices must not repeat within a line; found '07:2'"),
    "a bad byte": (b"1 2:3\x00\xff4", r"column 5: a value must be .*; found '3\\x00\\xff4'"),
    "a lone return": (b"1 2:3\r4:5\n", r"column 5: a value must be .*; found '3\\r4:5'"),
    "a return and newline": (b"1 2:x\r\n", r"column 5: a value must be .*; found 'x'$"),
    "a long word": (b"1 2:" + b"x" * 200, r"column 5: a value must be .*; found '" + "x" * 40 + r"'\.\.\.$"),
    "no text": (b"\x1f\x00\x80", r"column 1: a line must start with a label.*; found '\\x1f\\x00\\x80'"),
}
# What Python or C takes for a number, but the format does not; and what is one, but too large for a row.
NO_VALUES = ["nan", "inf", "-inf", "infinity", "1_000", "\u0661", "0x10", "1,5", "1d5", "--1", "1e1.5"]
NO_VALUES += ["1e151", "1e309", "-1e999", "1" * 152, "0." + "0" * 400 + "1e750"]
# An exponent that is small modulo 2^64.
NO_VALUES += ["1e18446744073709551617"]
FAULTS |= {
    f"value {word[:9]}": (
        f"1 2:{word}".encode(),
        rf"line 1, column 5: a value must be {NUMBER}, right after the colon; found '",
    )
    for word in NO_VALUES
}


@native
@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_an_error_is_reported_with_its_place_what_was_found_and_what_is_allowed(text, message):
    with pytest.raises(ValueError, match=f"^the file, .*{message}"):
        loaded(text)


@native
@pytest.mark.parametrize("text", [text for text, _ in FAULTS.values()], ids=FAULTS)
def test_an_error_is_reported_alike_inside_of_a_text_and_at_its_ends(text):
    def message(text):
        with pytest.raises(ValueError, match=r"^the file, line") as caught:
            loaded(text)
        return str(caught.value)

    line, rest = re.fullmatch(r"the file, line (\d+), (.*)", message(text)).groups()
    assert message(PADDING + text + b"\n" + PADDING) == f"the file, line {int(line) + len(PADDING)}, {rest}"


@native
def test_error_messages_state_the_limits_in_force():
    # Inside of a text, another path reads short features.
    for padding in (b"", PADDING):
        with pytest.raises(ValueError, match=r"column 7: indices must be from 1 to 5 \(n_features=5\); found '6:1'"):
            loaded(padding + b"1 5:1 6:1\n" + padding, n_features=5)
        with pytest.raises(ValueError, match=r"column 7: indices must be from 0 to 4 \(n_features=5\); found '5:1'"):
            loaded(padding + b"1 4:1 5:1\n" + padding, n_features=5, zero_based=True)
    with pytest.raises(ValueError, match=r"at most 3\.40282e\+38 in magnitude, .*; found '1e39'"):
        loaded(b"1 4:1e39", dtype=np.float32)
    assert loaded(b"1 4:3.4028235e38", dtype=np.float32)[0].data[0] == np.finfo(np.float32).max
    assert loaded(b"1 1:1", n_features=5)[0].shape == loaded(b"1 0:1", n_features=5, zero_based=True)[0].shape == (1, 5)


@native
def test_lines_are_counted_over_all_chunks_and_the_file_is_named(tmp_path):
    path = tmp_path / "some.svm"
    path.write_bytes(b"# c\n\r\n1 1:1\n" * 100 + b"1 1:1 x\n")
    for chunk_bytes in (1, 10, 64, 10_000):
        with pytest.raises(ValueError, match=r"some.svm, line 301, column 7: a feature must be"):
            load_libsvm(path, ReaderOptions(chunk_bytes=chunk_bytes))


def test_a_source_that_cannot_be_read_is_rejected(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.svm"):
        load_libsvm(tmp_path / "missing.svm")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        next(read_libsvm(tmp_path))
    with pytest.raises(TypeError, match=r"text mode; open it with mode='rb' or pass its .buffer"):
        read_libsvm(io.StringIO("1 1:1"))
    with pytest.raises(TypeError, match="source must be a path or a binary file, got 5"):
        read_libsvm(5)
    for nothing in (b"", b"\n", b"# only a comment\n\n"):
        with pytest.raises(ValueError, match="the file: no examples"):
            next(read_libsvm(io.BytesIO(nothing)))


@pytest.mark.parametrize("name", ["n_features", "chunk_bytes", "max_line_bytes"])
def test_a_bad_option_is_rejected_at_once(name):
    for value, error in ((0, ValueError), (-1, ValueError), (2**63, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"{name} must be an integer .*, got {value}"):
            loaded(b"", **{name: value})
    with pytest.raises(TypeError, match="zero_based must be True or False, got 'auto'"):
        read_libsvm(io.BytesIO(b""), zero_based="auto")
    with pytest.raises(TypeError, match="dtype must be float64 or float32, got int32"):
        read_libsvm(io.BytesIO(b""), dtype=np.int32)


# Peers


@pytest.mark.parametrize("zero_based", [False, True])
def test_files_are_read_as_scikit_learn_reads_them(tmp_path, zero_based):
    rng = np.random.default_rng(2)
    lines = []
    for i in range(500):
        columns = np.flatnonzero(rng.random(300) < 0.05) + (not zero_based)
        features = " ".join(f"{j}:{v!r}" for j, v in zip(columns, rng.normal(size=300).tolist(), strict=False))
        label = rng.choice(["+1", "-1", "2.5", "3"])
        lines.append(f"{label} {f'qid:{i // 7} ' * (i % 2)}{features}{' # 1:2' * (i % 3 == 0)}\n")
        lines.append("# a comment\n" * (i % 11 == 0) + "\n" * (i % 13 == 0))
    path = tmp_path / "generated.svm"
    path.write_text("".join(lines))
    peer = load_svmlight_file(str(path), n_features=300, zero_based=zero_based)
    assert same(load_libsvm(path, ReaderOptions(chunk_bytes=1000), n_features=300, zero_based=zero_based), peer)


@pytest.mark.data
@pytest.mark.parametrize("name", ["a9a", "cod-rna", "ijcnn1", "mushrooms", "splice", "svmguide3", "usps", "w7a"])
def test_real_files_are_read_as_scikit_learn_reads_them(name, data_file):
    with lzma.open(data_file(name)) as file:
        x, y = load_libsvm(file)
        file.seek(0)
        assert same((x, y), load_svmlight_file(file, n_features=x.shape[1], zero_based=False))


@pytest.mark.parametrize("labels", ["optional", "ignored"])
def test_a_matrix_is_loaded_with_a_label_for_each_row(labels):
    with pytest.raises(ValueError, match=f"labels must be 'required' to load them; .* got '{labels}'"):
        load_libsvm(io.BytesIO(b"1 1:1\n1:1\n"), ReaderOptions(labels=labels))
