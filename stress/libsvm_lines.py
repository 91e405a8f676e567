"""LIBSVM text against scikit-learn's reader: lines that both accept have the same labels and features.

Where only one accepts a line, the difference is one of these:

* Ours accepts exactly the grammar of `is_in_grammar`. scikit-learn also accepts values over 1e150, nan and infinities,
  1_000, other white space than blanks and tabs, NUL, signs of indices, and anything after "qid:".
* scikit-learn refuses indices that do not increase, and those of 2^31 - 1 and more.
"""

from __future__ import annotations

import io
import re
from itertools import pairwise
from random import Random
from typing import Any

from sklearn.datasets import load_svmlight_file

from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from stress.hard_inputs import LARGEST
from stress.trial import Trial

_LINES = 1000
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GRAMMAR = re.compile(
    rf"[ \t]*(?P<label>{_NUMBER})(?:[ \t]+qid:[0-9]+)?(?P<features>(?:[ \t]+[0-9]+:{_NUMBER})*)[ \t]*(?:#.*)?\r?",
    re.DOTALL,
)
EDITS = [
    "",
    " ",
    "\t",
    ":",
    "#",
    "0",
    "1",
    "9",
    ".",
    "-",
    "+",
    "e",
    "E5",
    "1e400",
    "inf",
    "nan",
    "0x1",
    "_",
    ",",
    "qid:",
    "qid:3",
]
EDITS += ["\x00", "\x0b", "\x0c", "\r", "\x85", "é", "\ufeff", "::", " 3:", "1:1", " 0:1", "-1:2", "4294967296:1", "  "]


def draw_lines(random: Random, count: int, broken: float) -> list[str]:
    """Return lines of LIBSVM text, some of them slightly broken."""
    return [
        _broken(random, line) if random.random() < broken else line for line in (_line(random) for _ in range(count))
    ]


def _line(random: Random) -> str:
    blank = random.choice([" ", " ", " ", "\t", "  "])
    label = random.choice(["1", "-1", "+1", "0", "2.5", repr(random.gauss(0, 1))])
    indices = sorted(random.sample(range(1, random.choice([6, 50, 10**6])), random.randint(0, 5)))
    features = [f"{i}:{random.choice(_VALUES)(random)}" for i in indices]
    middle = [f"qid:{random.randint(0, 99)}"] if random.random() < 0.05 else []
    end = random.choice(["", "", "", "", " ", " # a comment 1:2", "#", "\r"])
    return blank.join([label, *middle, *features]) + end


_VALUES: list[Any] = [
    lambda random: repr(random.gauss(0, 1)),
    lambda random: str(random.randint(-9, 9)),
    lambda random: f"{random.random():.3f}",
    lambda random: f"{random.randint(0, 99)}e{random.randint(-30, 30)}",
    lambda random: random.choice(["0", "-0", ".5", "5.", "+3", "1E-5", "00.10", "1e-400", "1e140"]),
]


def _broken(random: Random, line: str) -> str:
    for _ in range(random.choice([1, 1, 2])):
        at = random.randint(0, len(line))
        line = line[:at] + random.choice(EDITS) + line[at + random.randint(0, 2) :]
    return line


def _case(random: Random) -> int:
    lines = draw_lines(random, _LINES, random.choice([0.0, 0.01, 0.05]))
    # Lines end here only; an edit may not add one.
    text = "\n".join(lines).encode() + b"\n"
    skipped = ReaderOptions(on_error="skip", labels="required")
    accepted = _accepted(text, skipped)
    kept = [line for line, has in zip(lines, accepted, strict=True) if has]
    assert all(map(is_in_grammar, kept)), [line for line in kept if not is_in_grammar(line)][:3]
    ours = _ours("\n".join(kept))
    theirs = _theirs("\n".join(kept))
    if theirs is None:
        # One line at a time.
        refused = [line for line in kept if _theirs(line) is None]
        unknown = [line for line in refused if not _is_known_to_be_refused(line)]
        assert not unknown, f"scikit-learn refuses {unknown[:3]}"
        kept = [line for line in kept if line not in refused]
        ours, theirs = _ours("\n".join(kept)), _theirs("\n".join(kept))
    assert theirs is not None
    assert ours is not None
    assert ours[1].tobytes() == theirs[1].tobytes(), "labels differ"
    (x, _), (other, _) = ours, theirs
    assert x.indptr.tolist() == other.indptr.tolist(), _first_difference(kept)
    assert x.indices.tolist() == other.indices.tolist(), _first_difference(kept)
    assert x.data.tobytes() == other.data.tobytes(), _first_difference(kept)
    for line, has in zip(lines, accepted, strict=True):
        if not has and _theirs(line) is not None and line.partition("#")[0].strip():
            assert not is_in_grammar(line), f"scikit-learn accepts {line!r}"
    return len(lines)


def _accepted(text: bytes, options: ReaderOptions) -> list[bool]:
    found = [False] * text.count(b"\n")
    for batch in read_libsvm(io.BytesIO(text), options):
        for number in batch.lines.tolist():
            found[number - 1] = True
    return found


def _ours(text: str) -> Any:
    try:
        return load_libsvm(io.BytesIO(text.encode() + b"\n"), n_features=2**40)
    except DataError:
        return None


def _theirs(text: str) -> Any:
    try:
        return load_svmlight_file(io.BytesIO(text.encode() + b"\n"), n_features=2**40, zero_based=False)
    except (ValueError, OverflowError):
        return None


def _first_difference(lines: list[str]) -> str:
    for line in lines:
        (x, y), (other, labels) = _ours(line), _theirs(line)
        if (x.indices.tolist(), x.data.tolist(), y.tolist()) != (
            other.indices.tolist(),
            other.data.tolist(),
            labels.tolist(),
        ):
            return f"{line!r}: {x.indices}, {x.data}, {y} and {other.indices}, {other.data}, {labels}"
    return "lines differ only together"


def _is_known_to_be_refused(line: str) -> bool:
    indices = [int(word) for word in re.findall(r"(?:^|[ \t])([0-9]+):", line.partition("#")[0])]
    return any(a >= b for a, b in pairwise(indices)) or any(index >= 2**31 - 1 for index in indices)


def is_in_grammar(line: str) -> bool:
    """Return whether a line is LIBSVM text as docs/data.md describes it."""
    found = _GRAMMAR.fullmatch(line)
    if found is None or not abs(float(found["label"])) <= LARGEST:
        return False
    pairs = [pair.split(":") for pair in found["features"].split()]
    indices = [int(index) for index, _ in pairs]
    small = all(abs(float(value)) <= LARGEST for _, value in pairs)
    return small and len({*indices}) == len(indices) and all(0 < index < 2**63 for index in indices)


TRIAL = Trial(
    claim="LIBSVM text is read as scikit-learn reads it: the same labels, indices and values, to the bit",
    unit="lines",
    case=_case,
    quick=5,
    long=10_000,
)
