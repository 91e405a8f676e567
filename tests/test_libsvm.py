"""LIBSVM text: each number to the last bit, all chunks alike, each fault with its place, and no thread left behind.

Most numbers are read by a path for short ones, which keeps away from the ends of a text and leaves what it does not
know to a careful one: tests pad texts to be read by the first, and spell numbers oddly to be read by the second.
"""

import io
import itertools
import lzma
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from scwlearn import Learner
from scwlearn._native import parse_libsvm
from scwlearn.data.libsvm import load_libsvm, read_libsvm
from scwlearn.data.rows import Rows

native = pytest.mark.native
many = settings(max_examples=500, derandomize=True, deadline=None, database=None)
LARGEST = 1e150
PADDING = b"\n" * 30


def loaded(text, **options):
    return load_libsvm(io.BytesIO(text), **options)


def same(one, other):
    """Whether two loaded files are the same, bit for bit and in the order of what is stored."""
    (x, y), (x2, y2) = one, other
    numbers = zip((y, x.data), (y2, x2.data), strict=True)
    places = zip((x.indices, x.indptr), (x2.indices, x2.indptr), strict=True)
    return (
        x.shape == x2.shape
        and all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in numbers)
        and all(np.array_equal(a, b) for a, b in places)
    )


# Numbers


def halfway(x, offset):
    """The exact decimal between a double and the next one, moved by a hair: where rounding is hardest."""
    middle = (Fraction(x) + Fraction(np.nextafter(x, np.inf))) / 2
    places = middle.denominator.bit_length() - 1  # the denominator is a power of two
    digits = middle.numerator * 10**places // middle.denominator
    return f"{digits * 10 + offset}e-{places + 1}"


def spellings(count):
    """Decimal numbers in all the ways that programs and people write them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, count // 4).view(np.float64)
    any_size = bits[np.abs(bits) <= LARGEST].tolist()
    usual = (rng.normal(size=count // 4) * 10.0 ** rng.integers(-6, 7, count // 4)).tolist()
    whole = (rng.integers(0, 2**63, count // 8) >> rng.integers(0, 63, count // 8)).tolist()
    tiny = rng.integers(1, 2**52, count // 50).view(np.float64).tolist()
    near_normal = (rng.integers(-99, 99, count // 100) + 2**52).view(np.float64).tolist()
    forms = [
        f"%{sign}.{digits}{kind}"
        for sign in ("", "+")
        for digits in (0, 1, 3, 6, 9, 15, 16, 17, 20, 25)
        for kind in "geE"
    ]
    forms = [forms[i] for i in rng.integers(0, len(forms), count)]
    texts = [repr(x) for x in any_size + usual + tiny + near_normal]
    texts += [form % x for form, x in zip(forms, usual + any_size, strict=False)]
    texts += [f"{x:.6f}" for x in usual[: count // 8]] + [str(n) for n in whole]
    texts += [f"{n}e{e}" for n, e in zip(whole, rng.integers(-340, 120, len(whole)), strict=True)]
    texts += [f"00{n}.{n}00E+05" for n in whole[::8]] + [f".{n}" for n in whole[::8]] + [f"-{n}." for n in whole[::8]]
    for x in (any_size + usual + tiny)[:: max(1, count // 2000)]:
        texts += [halfway(abs(x), offset) for offset in (-1, 0, 1)]
    texts += ["0", "-0", "+0.0", "0e999999999999999999999", "1e-999999999999999999999", "2.4703282292062327208e-324"]
    texts += [
        "2.4703282292062328e-324",
        "5e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1e150",
        "1e22",
    ]
    texts += ["9007199254740993", "9007199254740992", "9007199254740991e22", "9007199254740993e-22", "1e23", "8.5e-23"]
    texts += ["1" + "0" * 500 + "e-500", "0." + "0" * 500 + "1e501", "3" * 140, "0." + "7" * 3000, "0" * 3000 + "5.5"]
    texts += ["1" + "0" * 400 + "e-800", "0." + "0" * 400 + "1", "0." + "0" * 20 + "123"]
    texts += ["00000000000000000000001", "1844674407370955161600", "18446744073709551615e0"]
    return [text for text in texts if abs(float(text)) <= LARGEST]


def assert_read_as_floats(texts):
    """Each is the value of its own row, and the label of it too: both are read alike."""
    expected = np.array([float(text) for text in texts])
    # A blank before the label and nine digits in the index are nothing for the short path.
    for line in ("{0} 7:{0}", " {0} 000000007:{0}"):
        x, labels = loaded(PADDING + "\n".join(line.format(text) for text in texts).encode() + PADDING)
        wrong = np.flatnonzero(
            (x.data.view(np.int64) != expected.view(np.int64)) | (labels.view(np.int64) != expected.view(np.int64))
        )
        assert [(texts[i], x.data[i], labels[i]) for i in wrong[:5]] == []


def test_a_million_spellings_are_what_python_reads_to_the_last_bit():
    texts = spellings(1_000_000)
    assert len(texts) > 1_000_000
    assert_read_as_floats(texts)


@native
def test_every_kind_of_spelling_is_what_python_reads_to_the_last_bit():
    assert_read_as_floats(spellings(20_000))


@native
@many
@given(st.floats(-LARGEST, LARGEST), st.integers(0, 30), st.sampled_from("eEfg"))
def test_any_double_in_any_format_is_what_python_reads(x, digits, kind):
    assert_read_as_floats([f"{x:.{digits}{kind}}"])


@native
def test_single_precision_is_rounded_from_double():
    texts = [text for text in spellings(5_000) if abs(float(text)) < 1e38]
    x, _ = loaded("\n".join(f"1 1:{text}" for text in texts).encode(), dtype=np.float32)
    assert x.data.tobytes() == np.array([float(text) for text in texts]).astype(np.float32).tobytes()


# Lines


def reference(text, zero_based=False):
    """What a text says, in plain Python: label and features of each line, or None if a line is at fault."""
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
        with pytest.raises(ValueError, match="column" if expected is None else "holds no examples"):
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


@native
def test_a_text_is_read_alike_wherever_it_begins_and_ends():
    text = b"1 12345678:-1234.567 13:1 4:.5\n+2.5 17:1. 18:0.25\n-1 3:1\n"
    for behind, ahead in itertools.product(range(30), range(30)):
        assert_this_is_read_as_reference(b"\n" * behind + text + b"\n" * ahead)


VALID = b"1 1:0.5 3:2 10:1e-3\r\n-1 qid:7 2:1 # words: 1:2\n\n# more\n+1\t4:1\t\t2:.25 3:5. \n2.5\n"
VALID += b"3 00000000000000000000001:12345678901234567890 99:1"


@native
@many
@given(st.lists(st.tuples(st.integers(0, len(VALID)), st.integers(0, 3), st.sampled_from(PIECES)), max_size=4))
def test_a_damaged_text_is_read_as_the_plain_parser_reads_it_or_refused(damages):
    text = VALID
    for at, dropped, piece in damages:
        text = text[:at] + piece + text[at + dropped :]
    assert_read_as_reference(text)


@native
@many
@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(text):
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
def test_indices_are_long_where_one_does_not_fit():
    x, _ = loaded(b"1 2147483647:1\n")
    assert (x.indices.dtype, x.indices[0], x.shape[1]) == (np.int32, 2**31 - 2, 2**31 - 1)
    for dtype in (np.float64, np.float32):
        x, _ = loaded(b"1 1:1 2147483648:1\n-1 2:3", dtype=dtype)
        assert (x.indices.dtype, x.indices.tolist(), x.shape[1]) == (np.int64, [0, 2**31 - 1, 1], 2**31)
        assert x.dtype == dtype
    batches = [*read_libsvm(io.BytesIO(b"1 1:1\n1 9223372036854775807:1\n"), chunk_bytes=8)]
    assert [batch.rows.width for batch in batches] == [1, 2**63 - 1]


# Faults

NUMBER = r"a finite number of at most 1e\+150 in size"
FAULTS = {
    "a word": (b"1 1:1\nspam 1:1", rf"line 2, column 1: a line begins with its label, {NUMBER}; found 'spam'"),
    "no label": (b"  1:1 2:2", r"line 1, column 3: a line begins with its label, .*; found '1:1'"),
    "infinite label": (b"1e999 2:2", rf"column 1: a line begins with its label, {NUMBER}; found '1e999'"),
    "several labels": (b"1,2 1:1", r"column 1: a line has one label; several \(multi-label data\) .*; found '1,2'"),
    "a query": (
        b"1 qid:x 1:1",
        r"column 3: a query is qid:n with a whole number n, right after the label; found 'qid:x'",
    ),
    "a late query": (b"1 1:1 qid:3", r"column 7: a query is .* right after the label; found 'qid:3'"),
    "no query": (b"1 quid:3", r"column 3: a feature is index:value, .*; found 'quid:3'"),
    "no colon": (
        b"1 1:1 7 8:1",
        r"column 7: a feature is index:value, with a whole number as index, as in 7:0.5; found '7'",
    ),
    "a signed index": (b"1 +1:1", r"column 3: a feature is index:value.*; found '\+1:1'"),
    "a negative index": (b"1 -1:1", r"column 3: a feature is index:value.*; found '-1:1'"),
    "a space before the colon": (b"1 7 :1", r"column 3: a feature is index:value.*; found '7'"),
    "index 0": (
        b"1 0:1",
        r"column 3: indices count from 1; for a file that counts from 0 use zero_based=True; found '0:1'",
    ),
    "index 000": (b"1 000:1", r"indices count from 1; .*; found '000:1'"),
    "a huge index": (b"1 18446744073709551617:1", r"column 3: indices go from 1 to 9223372036854775807; found '1844"),
    "no value": (b"1 2:", rf"column 5: a value is {NUMBER}, right behind the colon; found nothing"),
    "a space before the value": (b"1 2: 3", r"column 5: a value is .*; found nothing"),
    "two colons": (b"1 2:3:4", r"column 5: a value is .*; found '3:4'"),
    "a value with more": (b"1 2:3x # c", r"column 5: a value is .*; found '3x'"),
    "no exponent": (b"1 2:3e+", r"column 5: a value is .*; found '3e\+'"),
    "a lone point": (b"1 2:.", r"column 5: a value is .*; found '\.'"),
    "a lone sign": (b"1 2:-", r"column 5: a value is .*; found '-'"),
    "twice": (b"1\n1 7:1 3:1 9:1 07:2 8:1", r"line 2, column 15: a line has each index once; found '07:2'"),
    "a bad byte": (b"1 2:3\x00\xff4", r"column 5: a value is .*; found '3\\x00\\xff4'"),
    "a lone return": (b"1 2:3\r4:5\n", r"column 5: a value is .*; found '3\\r4:5'"),
    "a return and newline": (b"1 2:x\r\n", r"column 5: a value is .*; found 'x'$"),
    "a long word": (b"1 2:" + b"x" * 200, r"column 5: a value is .*; found '" + "x" * 40 + r"'\.\.\.$"),
    "compressed": (b"\x1f\x8b\x08", r"column 1: a line begins with its label.*; found '\\x1f\\x8b\\x08'"),
}
# What Python or C takes for a number, but the format does not; and what is one, but too large for a row.
NO_VALUES = ["nan", "inf", "-inf", "infinity", "1_000", "\u0661", "0x10", "1,5", "1d5", "--1", "1e1.5"]
NO_VALUES += ["1e151", "1e309", "-1e999", "1" * 152, "0." + "0" * 400 + "1e750"]
FAULTS |= {
    f"value {word[:9]}": (
        f"1 2:{word}".encode(),
        rf"line 1, column 5: a value is {NUMBER}, right behind the colon; found '",
    )
    for word in NO_VALUES
}


@native
@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_with_its_place_what_was_found_and_what_is_allowed(text, message):
    with pytest.raises(ValueError, match=f"^the file, .*{message}"):
        loaded(text)


@native
@pytest.mark.parametrize("text", [text for text, _ in FAULTS.values()], ids=FAULTS)
def test_a_fault_is_reported_alike_inside_of_a_text_and_at_its_ends(text):
    def message(text):
        with pytest.raises(ValueError, match=r"^the file, line") as caught:
            loaded(text)
        return str(caught.value)

    line, rest = re.fullmatch(r"the file, line (\d+), (.*)", message(text)).groups()
    assert message(PADDING + text + b"\n" + PADDING) == f"the file, line {int(line) + len(PADDING)}, {rest}"


@native
def test_what_is_allowed_depends_on_what_was_asked_for():
    with pytest.raises(ValueError, match=r"column 7: indices go from 1 to 5 with n_features=5; found '6:1'"):
        loaded(b"1 5:1 6:1", n_features=5)
    with pytest.raises(ValueError, match=r"column 7: indices go from 0 to 4 with n_features=5; found '5:1'"):
        loaded(b"1 4:1 5:1", n_features=5, zero_based=True)
    with pytest.raises(ValueError, match=r"at most 3\.40282e\+38 in size, .*; found '1e39'"):
        loaded(b"1 4:1e39", dtype=np.float32)
    assert loaded(b"1 4:3.4028235e38", dtype=np.float32)[0].data[0] == np.finfo(np.float32).max
    assert loaded(b"1 1:1", n_features=5)[0].shape == loaded(b"1 0:1", n_features=5, zero_based=True)[0].shape == (1, 5)


@native
def test_lines_are_counted_over_all_chunks_and_the_file_is_named(tmp_path):
    path = tmp_path / "some.svm"
    path.write_bytes(b"# c\n\r\n1 1:1\n" * 100 + b"1 1:1 x\n")
    for chunk_bytes in (1, 10, 64, 10_000):
        with pytest.raises(ValueError, match=r"some.svm, line 301, column 7: a feature is"):
            load_libsvm(path, chunk_bytes=chunk_bytes)


def test_a_source_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.svm"):
        load_libsvm(tmp_path / "missing.svm")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        next(read_libsvm(tmp_path))
    with pytest.raises(TypeError, match=r"text mode; open it with mode='rb' or pass its .buffer"):
        read_libsvm(io.StringIO("1 1:1"))
    with pytest.raises(TypeError, match="source must be a path or a binary file, got 5"):
        read_libsvm(5)
    for nothing in (b"", b"\n", b"# only a comment\n\n"):
        with pytest.raises(ValueError, match="the file holds no examples"):
            next(read_libsvm(io.BytesIO(nothing)))


@pytest.mark.parametrize("name", ["n_features", "chunk_bytes", "max_line_bytes"])
def test_a_bad_option_is_refused_at_once(name):
    for value, error in ((0, ValueError), (-1, ValueError), (2**63, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"{name} must be a whole number .*, got {value}"):
            read_libsvm(io.BytesIO(b""), **{name: value})
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
    assert same(load_libsvm(path, n_features=300, zero_based=zero_based, chunk_bytes=1000), peer)


@pytest.mark.data
@pytest.mark.parametrize("name", ["a9a", "cod-rna", "ijcnn1", "mushrooms", "splice", "svmguide3", "usps", "w7a"])
def test_real_files_are_read_as_scikit_learn_reads_them(name, data_file):
    with lzma.open(data_file(name)) as file:
        x, y = load_libsvm(file)
        file.seek(0)
        assert same((x, y), load_svmlight_file(file, n_features=x.shape[1], zero_based=False))


# Batches


class Trickle(io.RawIOBase):
    """A file that gives a few bytes at a time, and counts them; fails or never ends where asked to."""

    def __init__(self, text, step=3, fails_at=None, endless=False):
        self.text, self.step, self.fails_at, self.endless, self.given = text, step, fails_at, endless, 0

    def readable(self):
        return True

    def readinto(self, memory):
        if self.fails_at is not None and self.given >= self.fails_at:
            raise OSError("the disk is gone")
        at = self.given % len(self.text) if self.endless else self.given
        part = self.text[at : at + min(self.step, len(memory))]
        memory[: len(part)] = part
        self.given += len(part)
        return len(part)


class OnlyRead:
    """A file that has nothing but read."""

    def __init__(self, text):
        self.read = io.BytesIO(text).read


@native
def test_chunks_that_end_at_any_byte_give_the_same():
    whole = loaded(VALID)
    for ending in (b"", b"\n", b"\n\n", b"\r\n", b" "):
        for chunk_bytes in range(1, len(VALID) + 5):
            assert same(loaded(VALID + ending, chunk_bytes=chunk_bytes), whole)
            assert same(load_libsvm(Trickle(VALID + ending), chunk_bytes=chunk_bytes), whole)
    assert same(load_libsvm(OnlyRead(VALID), chunk_bytes=10), whole)


@native
@pytest.mark.parametrize("read_ahead", [True, False])
def test_batches_are_rows_that_need_no_check_and_grow_in_width(read_ahead):
    text = b"".join(b"%d %d:1 %d:%d\n" % (i % 2, i, i // 2 + 1, i) for i in range(3, 400))
    batches = [*read_libsvm(io.BytesIO(text), chunk_bytes=300, read_ahead=read_ahead)]
    assert len(batches) > 10
    widths = [rows.width for rows, _ in batches]
    assert widths == sorted(widths)
    assert widths[-1] == 399
    for rows, labels in batches:
        (block,) = rows.blocks(len(rows))
        checked = Rows(block.matrix())
        (again,) = checked.blocks(len(rows))
        assert len(labels) == len(rows) == len(checked)
        assert (rows.stored, block.values.dtype, block.indices.dtype) == (checked.stored, np.float64, np.int32)
        assert np.array_equal(block.indices, again.indices)
        assert np.array_equal(block.offsets, again.offsets)
    assert np.array_equal(np.concatenate([labels for _, labels in batches]), np.arange(3, 400) % 2)


@native
def test_learning_from_batches_is_learning_from_the_whole():
    rng = np.random.default_rng(3)
    text = "".join(f"{rng.choice([-1, 1])} {rng.integers(1, 50)}:{rng.normal()!r} 50:1\n" for _ in range(500)).encode()
    one, many = (Learner("scw1", covariance="diagonal") for _ in range(2))
    one.learn(*loaded(text))
    for rows, labels in read_libsvm(io.BytesIO(text), n_features=50, chunk_bytes=999):
        many.learn(rows, labels)
    assert one.counts == many.counts
    assert np.array_equal(one.gaussian.weights(), many.gaussian.weights())


def test_a_line_without_end_is_refused_before_it_fills_the_memory():
    for text in (b"1" * 1000, b"# words ", b"1 1:1 "):
        endless = Trickle(text, step=100, endless=True)
        with pytest.raises(
            ValueError, match=r"^the file, line 1: a line has at most max_line_bytes=5000 bytes; found '.{40}'\.\.\.$"
        ):
            load_libsvm(endless, chunk_bytes=64, max_line_bytes=5000)
        assert endless.given == 5000
    fits = b"1 1:1\n1 " + b" " * 4980 + b"1:1\n"
    assert loaded(fits, chunk_bytes=64, max_line_bytes=5000)[0].shape == (2, 1)
    with pytest.raises(ValueError, match=r"^the file, line 2: a line has at most max_line_bytes=4900"):
        loaded(fits, chunk_bytes=64, max_line_bytes=4900)


# The threads


@pytest.fixture(params=[1, 2, 5])
def threads(request, monkeypatch):
    monkeypatch.setattr("scwlearn.data.libsvm.allowed_threads", lambda: request.param)
    return request.param


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("scwlearn")]


TEXT = b"1 1:1 2:2\n" * 1000


@native
def test_a_file_is_closed_and_the_threads_ended_however_the_reading_ends(tmp_path, threads):
    path = tmp_path / "some.svm"
    path.write_bytes(TEXT)
    descriptors = len(os.listdir("/dev/fd"))

    def left():
        return reading_threads(), len(os.listdir("/dev/fd"))

    assert sum(len(rows) for rows, _ in read_libsvm(path, chunk_bytes=100)) == 1000
    assert left() == ([], descriptors)
    with closing(read_libsvm(path, chunk_bytes=100)) as batches:
        next(batches)
        assert len(reading_threads()) == threads
    assert left() == ([], descriptors)
    read_libsvm(path).close()
    assert left() == ([], descriptors)
    for rows, _ in read_libsvm(path, chunk_bytes=100):
        assert len(rows) == 10
        break
    assert left() == ([], descriptors)
    path.write_bytes(TEXT + b"1 x\n")
    with pytest.raises(ValueError, match="line 1001"):
        list(read_libsvm(path, chunk_bytes=100))
    assert left() == ([], descriptors)
    batches = read_libsvm(path, chunk_bytes=100)
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt)
    assert left() == ([], descriptors)


def test_a_file_that_was_passed_open_stays_open():
    file = io.BytesIO(TEXT)
    with closing(read_libsvm(file, chunk_bytes=100)) as batches:
        next(batches)
    assert not file.closed


@native
def test_batches_come_in_the_order_of_the_file(threads):
    text = b"".join(b"%d 1:%d\n" % (i, i) for i in range(5000))
    for chunk_bytes in (7, 100, 1000):
        batches = [*read_libsvm(io.BytesIO(text), chunk_bytes=chunk_bytes)]
        assert np.concatenate([labels for _, labels in batches]).tolist() == list(range(5000))


class LateFirst:
    """A parser that is done with a chunk only when the chunks after it, up to a turn, are: the other way round."""

    def __init__(self, chunks, turn):
        self.turn, self.done = turn, [threading.Event() for _ in range(chunks)]

    def __call__(self, characters, *options):
        chunk = int(bytes(characters).split()[0]) - 1
        parsed = parse_libsvm(characters, *options)
        if (chunk + 1) % self.turn:
            assert self.done[chunk + 1].wait(60)
        self.done[chunk].set()
        return parsed


def test_chunks_that_are_parsed_in_another_order_come_out_in_that_of_the_file(threads, monkeypatch):
    monkeypatch.setattr("scwlearn.data.libsvm.parse_libsvm", LateFirst(20, threads))
    text = b"".join(b"%02d %d:1\n" % (i, 30 - i) for i in range(1, 21))
    batches = [*read_libsvm(io.BytesIO(text), chunk_bytes=10)]
    assert [labels.tolist() for _, labels in batches] == [[i] for i in range(1, 21)]
    assert [rows.width for rows, _ in batches] == [29] * 20


def test_the_first_error_of_the_file_is_raised_after_all_batches_before_it(threads, monkeypatch):
    monkeypatch.setattr("scwlearn.data.libsvm.parse_libsvm", LateFirst(20, threads))
    lines = [b"%02d 1:1 # c\n" % i for i in range(1, 21)]
    lines[11], lines[12], lines[14] = b"12 1:x # c\n", b"13 1:y # c\n", b"15 1:z # c\n"
    batches = read_libsvm(io.BytesIO(b"".join(lines)), chunk_bytes=len(lines[0]))
    assert [next(batches).labels.tolist() for _ in range(11)] == [[i] for i in range(1, 12)]
    with pytest.raises(ValueError, match=r"line 12, column 6: a value is .*; found 'x'"):
        next(batches)
    assert next(batches, None) is None
    assert reading_threads() == []


def test_a_long_line_is_counted_after_all_lines_before_it(threads):
    text = TEXT + b"1 " + b" " * 5000 + b"1:1\n" + TEXT
    batches = read_libsvm(io.BytesIO(text), chunk_bytes=64, max_line_bytes=4000)
    # Six lines fit into a chunk.
    assert sum(len(next(batches).labels) for _ in range(166)) == 996
    assert len(next(batches).labels) == 4
    with pytest.raises(ValueError, match=r"^the file, line 1001: a line has at most max_line_bytes=4000"):
        next(batches)


def test_without_reading_ahead_there_is_no_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", None)
    batches = read_libsvm(io.BytesIO(TEXT), chunk_bytes=100, read_ahead=False)
    assert sum(len(rows) for rows, _ in batches) == 1000


def test_an_error_of_a_thread_is_raised_at_the_consumer_with_its_own_traceback(threads):
    batches = read_libsvm(Trickle(TEXT, step=50, fails_at=250), chunk_bytes=100)
    assert [len(next(batches).rows) for _ in range(2)] == [10, 10]
    with pytest.raises(OSError, match="the disk is gone") as caught:
        next(batches)
    assert caught.traceback[-1].name == "readinto"
    assert reading_threads() == []
    assert next(batches, None) is None


def test_no_more_batches_are_read_ahead_than_there_are_threads(threads):
    file = Trickle(TEXT, step=10)
    batches = read_libsvm(file, chunk_bytes=100)
    for taken in range(1, 20):
        next(batches)
        # Those taken and one for each thread.
        assert file.given <= 100 * (taken + threads)
    batches.close()


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_that_says_nothing_does_not_hold_up_the_end(buffering, threads):
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=buffering) as file, open(writer, "wb", buffering=0) as into:
        batches = read_libsvm(file, chunk_bytes=100)
        into.write(TEXT[:150])
        assert len(next(batches).rows) == 10
        batches.close()
        assert reading_threads() == []


def test_ctrl_c_ends_a_program_that_waits_for_standard_input():
    program = """if True:
        import sys
        from scwlearn.data.libsvm import read_libsvm
        for batch in read_libsvm(sys.stdin.buffer, chunk_bytes=100):
            print(len(batch.rows), flush=True)
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        process.stdin.write(TEXT[:150])
        process.stdin.flush()
        assert process.stdout.readline() == b"10\n"
        process.send_signal(signal.SIGINT)
        # Before its input ends.
        assert process.wait(60) == -signal.SIGINT
        assert process.stderr.read().endswith(b"KeyboardInterrupt\n")


# Memory

MEASURE = """if True:
    import sys
    from scwlearn import Learner
    from scwlearn.data.libsvm import load_libsvm, read_libsvm

    def peak():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024

    learner = Learner("scw1", covariance="diagonal")
    learner.learn_batches(read_libsvm(sys.argv[2]))
    before = peak()
    if sys.argv[1] == "learn":
        learner.learn_batches(read_libsvm(sys.argv[3], chunk_bytes=2**20))
    else:
        load_libsvm(sys.argv[3])
    print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read from /proc")
def test_memory_stays_flat_while_a_large_file_is_learned_from(tmp_path):
    # Not ru_maxrss: a child begins with that of its parent.
    line = b"1 " + b" ".join(b"%d:0.25" % i for i in range(100, 120)) + b"\n"
    small, large = tmp_path / "small.svm", tmp_path / "large.svm"
    small.write_bytes(line)
    large.write_bytes(line * (60 * 2**20 // len(line)))

    def grown(how):
        command = [sys.executable, "-c", MEASURE, how, small, large]
        environment = os.environ | {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
        return float(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)

    assert grown("learn") < 20
    assert grown("load") > 60
