"""Numbers in LIBSVM text are read as Python reads them, to the last bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libsvm_text import LARGEST, PADDING, loaded, many, native

pytestmark = pytest.mark.slow


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
    texts += ["0", "-0", "+0.0", "0e999999999999999999999", "1e-999999999999999999999", "1e-18446744073709551617"]
    texts += ["2.4703282292062327208e-324"]
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
    # Small modulo 2^64.
    texts += ["18446744073709551617", "1.8446744073709551617", "18446744073709551617e-19"]
    return [text for text in texts if abs(float(text)) <= LARGEST]


def assert_read_as_floats(texts):
    """Each is the value of its own row, and the label of it too: both are read alike."""
    expected = np.array([float(text) for text in texts])
    # The short path reads neither a blank before the label nor nine digits in the index.
    for line in ("{0} 7:{0}", " {0} 000000007:{0}"):
        x, labels = loaded(PADDING + "\n".join(line.format(text) for text in texts).encode() + PADDING)
        wrong = np.flatnonzero(
            (x.data.view(np.int64) != expected.view(np.int64)) | (labels.view(np.int64) != expected.view(np.int64))
        )
        assert [(texts[i], x.data[i], labels[i]) for i in wrong[:5]] == []


def test_a_million_spellings_of_numbers_are_read_as_python_reads_them():
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
