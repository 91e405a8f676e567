"""Decimal numbers in every text format: each is read as Python's float() reads it, to the last bit."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
from numpy.typing import NDArray

from scwlearn import Features
from scwlearn.data.batch import NamedRows
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from stress.hard_inputs import LARGEST
from stress.trial import Trial

Array = NDArray[np.float64]

_ROWS = 10_000
_JSON = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def draw_numbers(random: Random, count: int) -> list[str]:
    """Return decimal numbers as programs and people write them, of every size that may be read."""
    numbers = np.random.default_rng(random.getrandbits(64))
    bits = numbers.integers(0, 2**63, count).view(np.float64)
    usual = numbers.normal(size=count) * 10.0 ** numbers.integers(-6, 7, count)
    wholes = numbers.integers(0, 2**63, count) >> numbers.integers(0, 63, count)
    tens = numbers.integers(-345, 130, count).tolist()
    few = max(1, count // 100)
    any_size = [x for x in bits.tolist() if abs(x) <= LARGEST]
    more = wholes[::-1].tolist()
    forms: list[Callable[[], list[str]]] = [
        lambda: [*map(repr, any_size)],
        lambda: [*map(repr, usual.tolist())],
        lambda: _formatted(random, any_size),
        lambda: _formatted(random, usual.tolist()),
        lambda: [f"{n}e{e}" for n, e in zip(wholes.tolist(), tens, strict=True)],
        lambda: [f"{n}.{m}E{e}" for n, m, e in zip(wholes.tolist(), more, tens, strict=True)],
        lambda: [f"{n}{m}.{n}e{e}" for n, m, e in zip(wholes.tolist(), more, tens, strict=True)],
        lambda: [f"0.{'0' * (n % 40)}{m}" for n, m in zip(wholes.tolist(), more, strict=True)],
        lambda: [repr(x) for x in numbers.integers(1, 2**53, count).view(np.float64).tolist()],
        lambda: [halfway(x, random.choice((-1, 0, 1))) for x in (any_size + usual.tolist())[:: count // few]],
        lambda: [f"{n}{'0' * random.randint(0, 700)}e-{random.randint(600, 900)}" for n in wholes[:few].tolist()],
    ]
    signs = random.choice(["", "-"])
    return [signs + text.removeprefix("-") for text in random.choice(forms)()]


def _formatted(random: Random, values: list[float]) -> list[str]:
    form = f"%.{random.choice([0, 1, 3, 6, 9, 15, 16, 17, 18, 20, 25])}{random.choice('geE')}"
    return [form % value for value in values]


def halfway(x: float, offset: int) -> str:
    """Return the exact decimal between a double and the next one, moved by a hair: where rounding is hardest."""
    middle = (Fraction(abs(x)) + Fraction(float(np.nextafter(abs(x), np.inf)))) / 2
    # The denominator is a power of two.
    places = middle.denominator.bit_length() - 1
    digits = middle.numerator * 10**places // middle.denominator
    return f"{digits * 10 + offset}e-{places + 1}"


def _libsvm(texts: list[str]) -> Array:
    lines = "".join(f"{text} 3:{text}\n" for text in texts)
    x, labels = load_libsvm(io.BytesIO(lines.encode()))
    np.testing.assert_array_equal(x.data, labels)
    return labels


def _read(texts: list[str], format: str, line: str, first: str = "") -> Array:
    text = first + "".join(line.format(text) for text in texts)
    features, options = Features(kinds={"x": "numeric"}), ReaderOptions(labels="optional")
    label = None if format == "vw" else "y"
    _, batches = read_batches([io.BytesIO(text.encode())], None, options, format=format, features=features, label=label)
    found = []
    for batch in batches:
        assert isinstance(batch.x, NamedRows)
        dense = batch.x.rows.dense()
        found.append(dense[:, batch.x.names.index("x")] if "x" in batch.x.names else np.zeros(len(batch)))
    return np.concatenate(found)


FORMATS: dict[str, Callable[[list[str]], Array]] = {
    "libsvm": _libsvm,
    "vw": lambda texts: _read(texts, "vw", "1 | x:{}\n"),
    "csv": lambda texts: _read(texts, "csv", "{},a\n", "x,y\n"),
    "jsonl": lambda texts: _read(texts, "jsonl", '{{"x":{},"y":"a"}}\n'),
}


def _case(random: Random) -> int:
    found, format = 0, random.choice([*FORMATS])
    for _ in range(5):
        texts = draw_numbers(random, _ROWS)
        expected = np.array([*map(float, texts)])
        kept = np.abs(expected) <= LARGEST
        if format == "jsonl":
            kept &= [_JSON.fullmatch(text) is not None for text in texts]
        texts, expected = [text for text, keep in zip(texts, kept, strict=True) if keep], expected[kept]
        if not texts:
            continue
        read = FORMATS[format](texts)
        # Zeros are not stored, so they have no sign.
        wrong = np.flatnonzero((read != expected) | (expected != 0) & (np.signbit(read) != np.signbit(expected)))
        assert not len(wrong), f"{format}: {[(texts[i], read[i]) for i in wrong[:5]]}"
        found += len(texts)
    return found


TRIAL = Trial(
    claim="Numbers in LIBSVM, VW, CSV and JSON text, of any length and halfway between doubles, are read as by float()",
    unit="numbers",
    case=_case,
    quick=8,
    long=6000,
)
