"""Weights as text that anybody can read: JSON with all of it, CSV with a line for each weight."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.export.checking import checked_weights
from scwlearn.export.weights import Array, Weights
from scwlearn.files.json_reader import parse_json as parsed
from scwlearn.learning.explain import CONSTANT

#: What the beginning of a JSON file says.
FORMAT = "scwlearn weights"
VERSION = 1

_COLUMNS = ("class", "feature", "weight", "deviation")
# Of two classes the weights are those of the one against the other.
_AGAINST = "against"


def to_json(weights: Weights) -> bytes:
    """All fields of the weights."""
    told = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(weights).items()}
    text = json.dumps({"format": FORMAT, "version": VERSION, "library": __version__, **told}, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def from_json(content: bytes, where: str) -> Weights:
    """Weights as `to_json` writes them, or just classes and coef_ and intercept_ of a scikit-learn model."""
    try:
        told = parsed(content.decode("utf-8", "surrogatepass"), where)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} is no JSON: {error}") from None
    if not isinstance(told, dict):
        raise ValueError(f"{where} must hold an object with classes and coef, got {type(told).__name__}")
    if told.get("format") == FORMAT and told.get("version") != VERSION:
        raise ValueError(f"{where} is of version {told.get('version')!r}; {VERSION} can be read")
    return checked_weights(told, where)


def to_csv(weights: Weights, first: int = 1) -> Iterator[bytes]:
    """A line for each weight; numbered features count from `first`."""
    two = len(weights.classes) == 2
    names = weights.features
    if names is None:
        names = [str(number) for number in range(first, first + weights.coef.shape[1])]
    if CONSTANT in names:
        raise ValueError(f"a feature is called {CONSTANT!r}, as CSV calls the constant; take json or safetensors")
    yield _csv([(*_COLUMNS, _AGAINST)] if two else [_COLUMNS])
    for number, label in enumerate(weights.classes[1:] if two else weights.classes):
        rest = (weights.classes[0],) if two else ()
        deviations = _deviations(weights.variance, number, len(names))
        pairs = zip(names, weights.coef[number].tolist(), deviations, strict=True)
        yield _csv((label, name, repr(weight), deviation, *rest) for name, weight, deviation in pairs)
        if weights.intercept is not None:
            deviation = _deviations(weights.intercept_variance, slice(number, number + 1), 1)[0]
            yield _csv([(label, CONSTANT, repr(float(weights.intercept[number])), deviation, *rest)])


def from_csv(content: bytes, where: str, *, named: bool | None = None, first: int = 1) -> Weights:
    """What `to_csv` writes. Features are numbered if all their names are whole numbers, unless they are to be names.

    Labels are numbers where all of them can be.
    """
    try:
        lines = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        columns = lines.fieldnames or []
        if missing := [name for name in _COLUMNS[:3] if name not in columns]:
            raise ValueError(f"{where} has no column {missing[0]!r}; weights have {', '.join(_COLUMNS)}")
        cells = [(lines.line_num, line) for line in lines]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{where} is no CSV of UTF-8 text: {error}") from None
    table = _Table(where)
    for line, cell in cells:
        table.add(line, cell)
    return table.weights(named=named, first=first)


class _Table:
    """Weights as their lines come."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._against: str | None = None
        #: By class and feature: weight and variance.
        self._found: dict[str, dict[str, tuple[float, float | None]]] = {}

    def add(self, line: int, cell: dict[str, Any]) -> None:
        """One more line."""
        place = f"{self._where}, line {line}"
        label, name = cell["class"], cell["feature"]
        weight, deviation = _number(cell["weight"], place), None
        if cell.get("deviation"):
            deviation = _number(cell["deviation"], place)
            if not deviation > 0:
                raise ValueError(f"{place}: a deviation is a positive number; found {cell['deviation']!r}")
        own = self._found.setdefault(label, {})
        if name in own:
            raise ValueError(f"{place}: the feature {name!r} of {label!r} stands twice")
        own[name] = (weight, None if deviation is None else deviation * deviation)
        if cell.get(_AGAINST):
            if self._against not in (None, cell[_AGAINST]):
                raise ValueError(f"{place}: {_AGAINST} is {cell[_AGAINST]!r}, but was {self._against!r} before")
            self._against = cell[_AGAINST]

    def weights(self, *, named: bool | None, first: int) -> Weights:
        """All that came."""
        labels = [*self._found]
        if self._against is not None and len(labels) == 1:
            labels = [self._against, *labels]
        elif len(labels) < 3:
            raise ValueError(
                f"{self._where} has weights of {len(labels)} classes; two classes have one line for each feature, and "
                f"a column {_AGAINST!r} that says what the other one is"
            )
        names = [*dict.fromkeys(name for own in self._found.values() for name in own if name != CONSTANT)]
        places, features = _places(names, self._where, named=named, first=first)
        width = max(places.values(), default=-1) + 1
        coef, variance = np.zeros((len(self._found), width)), np.full((len(self._found), width), np.nan)
        intercept, spread = np.zeros(len(coef)), np.full(len(coef), np.nan)
        has_constant = any(CONSTANT in own for own in self._found.values())
        for number, own in enumerate(self._found.values()):
            for name, (weight, square) in own.items():
                target, at = (intercept, number) if name == CONSTANT else (coef[number], places[name])
                target[at] = weight
                if square is not None:
                    (spread if name == CONSTANT else variance[number])[at] = square
        told: dict[str, Any] = {"classes": _typed(labels), "coef": coef, "features": features}
        if has_constant:
            told["intercept"] = intercept
        if not np.isnan(variance).all():
            told["variance"] = variance
            told["intercept_variance"] = spread if has_constant else None
        return checked_weights(told, self._where)


def _places(names: list[str], where: str, *, named: bool | None, first: int) -> tuple[dict[str, int], list[str] | None]:
    """Which column each feature is, and the names of the columns where they have some."""
    numbers = all(name.isascii() and name.isdecimal() for name in names)
    if named or (named is None and not numbers):
        return {name: place for place, name in enumerate(names)}, names
    if not numbers:
        odd = next(name for name in names if not (name.isascii() and name.isdecimal()))
        raise ValueError(f"{where}: numbered features have whole numbers as names; found {odd!r}")
    places = {name: int(name) - first for name in names}
    if places and not 0 <= min(places.values()) <= max(places.values()) < 2**27:
        raise ValueError(f"{where}: the numbers of features go from {first} to {2**27}")
    return places, None


def _typed(labels: list[str]) -> list[Any]:
    """Numbers where all labels are."""
    kinds: tuple[type, ...] = (int, float)
    for kind in kinds:
        try:
            values = [kind(label) for label in labels]
        except ValueError:
            continue
        if all(math.isfinite(value) for value in values):
            return values
    return list(labels)


def _number(text: Any, place: str) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{place}: expected a finite number, found {text!r:.60}")
    return number


def _deviations(variance: Array | None, at: Any, count: int) -> list[str]:
    return [""] * count if variance is None else [repr(value) for value in np.sqrt(variance[at]).tolist()]


def _csv(lines: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "surrogatepass")
