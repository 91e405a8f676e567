"""VW text against VW itself: the same labels, weights, tags and features.

VW is compared where the package vowpalwabbit is installed: run this trial in the environment of the benchmarks
(`make bench` sets it up: `build/bench/bin/python -m stress vw_lines`). Elsewhere, the reference is the plain parser of
the tests. VW parses numbers approximately, in single precision, so values are equal up to its rounding. Only lines as
programs write them are compared with it, because VW guesses what a broken line means and ours refuses it.
"""

from __future__ import annotations

import io
import math
from functools import cache
from random import Random
from typing import Any

from scwlearn.data.batch import NamedRows
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from stress.trial import Trial

_LINES = 200
# Single precision, from digits that are added one by one.
_ROUNDING = 2e-6
_EDITS = [
    "",
    " ",
    "\t",
    ":",
    "|",
    "'",
    "^",
    "0",
    "1",
    "-",
    "e",
    ".",
    "||",
    "| ",
    "a:",
    ":1",
    "nan",
    "1e200",
    "é",
    "\r",
    "\x01",
]
Example = tuple[Any, float, str, dict[str, float]]


def _draw_line(random: Random) -> str:
    label = random.choice(["1", "-1", "0", "2.5", f"{random.gauss(0, 3):.4f}"])
    weight = random.choice(["", "", f" {random.choice([2, 0.5, 1.25, 3e-2])}"])
    tag = random.choice(["", "", "", " 'tag", f" 'row{random.randint(0, 99)}"])
    spaces = [_draw_space(random) for _ in range(random.randint(0, 4))]
    return f"{label}{weight}{tag} " + " ".join(spaces or ["|"])


def _draw_space(random: Random) -> str:
    name = random.choice(["", "a", "b", "user", "été", "x1"])
    scale = f":{random.choice([2, 0.5, 0.125, 3])}" if name and random.random() < 0.2 else ""
    words = [_draw_feature(random) for _ in range(random.randint(0, 6))]
    return " ".join([f"|{name}{scale}", *words])


def _draw_feature(random: Random) -> str:
    name = random.choice(["red", "w7", "12", "007", "x-ray", "é", "a.b", "price", f"f{random.randint(0, 30)}"])
    kind = random.randrange(4)
    if kind == 0:
        return name
    value = [
        f"{random.randint(-9, 9)}",
        f"{random.gauss(0, 1):.5f}",
        f"{random.randint(1, 99)}e{random.randint(-6, 6)}",
    ]
    return f"{name}:{value[kind - 1]}"


def _ours(text: str) -> list[Example]:
    _, batches = read_batches([io.BytesIO(text.encode())], None, ReaderOptions(), format="vw")
    found: list[Example] = []
    for batch in batches:
        assert isinstance(batch.x, NamedRows)
        assert batch.labels is not None
        for i, features in enumerate(batch.x.dicts()):
            weight = 1.0 if batch.weights is None else float(batch.weights[i])
            found.append((batch.labels[i].item(), weight, "" if batch.tags is None else batch.tags[i], features))
    return found


@cache
def _workspace() -> Any:
    """Return VW; None where it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None
    return Workspace(arg_list=["--quiet", "--noconstant", "-b", "22"])


def _compare_with_vw(lines: list[str], workspace: Any) -> None:
    mask = (1 << 22) - 1
    for line, (label, weight, tag, features) in zip(lines, _ours("\n".join(lines) + "\n"), strict=True):
        example = workspace.parse(line)
        example = example[0] if isinstance(example, list) else example
        wanted: dict[int, float] = {}
        for name, value in features.items():
            space, mark, feature = name.rpartition("^")
            key = workspace.hash_feature(feature, workspace.hash_space(space) if mark else 0) & mask
            wanted[key] = wanted.get(key, 0.0) + value
        found: dict[int, float] = {}
        for key, value in example.iter_features():
            found[key & mask] = found.get(key & mask, 0.0) + value
        assert math.isclose(example.get_simplelabel_label(), label, rel_tol=_ROUNDING), line
        assert math.isclose(example.get_simplelabel_weight(), weight, rel_tol=_ROUNDING), line
        assert example.get_tag() == tag, f"{line}: {example.get_tag()!r}"
        # Values of the same feature may cancel.
        size = sum(abs(value) for _, value in example.iter_features())
        for key in wanted.keys() | found.keys():
            difference = abs(wanted.get(key, 0.0) - found.get(key, 0.0))
            assert difference <= _ROUNDING * size, f"{line}: {wanted}, by VW {found}"
        workspace.finish_example(example)


def _compare_with_plain_parser(random: Random, lines: list[str]) -> None:
    from vw_text import examples, read_plainly

    broken = random.choice([0.0, 0.2])
    for i in range(1, len(lines)):
        if random.random() < broken:
            at = random.randint(0, len(lines[i]))
            lines[i] = lines[i][:at] + random.choice(_EDITS) + lines[i][at + random.randint(0, 2) :]
    text = ("\n".join(lines) + "\n").encode()
    found = examples(text, on_error="skip")
    expected, _ = read_plainly(text)
    assert len(found) == len(expected), {one[-1] for one in found} ^ {one[-1] for one in expected}
    for one, other in zip(found, expected, strict=True):
        assert one == other, f"{lines[one[-1] - 1]!r}: {one}, not {other}"


def _case(random: Random) -> int:
    lines = [_draw_line(random) for _ in range(_LINES)]
    workspace = _workspace()
    if workspace is not None:
        _compare_with_vw(lines, workspace)
    else:
        _compare_with_plain_parser(random, lines)
    return len(lines)


TRIAL = Trial(
    claim="VW text is read as VW reads it: the same labels, weights, tags and features",
    unit="lines",
    case=_case,
    quick=10,
    long=50_000,
)
