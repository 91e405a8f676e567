"""Weights as CSV, one line for each weight."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from scwlearn.export.weights import Array, Weights
from scwlearn.learning.explain import INTERCEPT

_COLUMNS = ("class", "feature", "weight", "deviation")
# With two classes, the label of the other class.
_AGAINST = "against"
_MAX_FEATURE = 2**27


def encode(weights: Weights, first: int = 1) -> Iterator[bytes]:
    """Yield the lines of each class; numbered features count from `first`."""
    binary = len(weights.classes) == 2
    names = weights.features
    if names is None:
        names = [str(number) for number in range(first, first + weights.coef.shape[1])]
    if INTERCEPT in names:
        raise ValueError(f"a feature is named {INTERCEPT!r}, which CSV uses for the intercept; use json or safetensors")
    yield _lines([(*_COLUMNS, _AGAINST) if binary else _COLUMNS])
    against = weights.classes[:1] if binary else []
    for row, label in enumerate(weights.classes[1:] if binary else weights.classes):
        lines = _class_lines(names, weights.coef[row], None if weights.variance is None else weights.variance[row])
        if weights.intercept is not None:
            at, variance = slice(row, row + 1), weights.intercept_variance
            lines += _class_lines([INTERCEPT], weights.intercept[at], None if variance is None else variance[at])
        yield _lines([label, *line, *against] for line in lines)


def _class_lines(names: list[str], weights: Array, variances: Array | None) -> list[tuple[str, str, str]]:
    """Return name, weight and standard deviation of each feature."""
    deviations = [""] * len(names) if variances is None else map(repr, np.sqrt(variances).tolist())
    return [*zip(names, map(repr, weights.tolist()), deviations, strict=True)]


def _lines(lines: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "surrogatepass")


def decode(content: bytes, *, named: bool | None = None, first: int = 1) -> Weights:
    """Return weights from the output of `encode`.

    Features are numbered if all their names are integers, unless `named`. Labels are numbers if all of them can be.
    """
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        missing = [name for name in _COLUMNS[:3] if name not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"missing column {missing[0]!r}; weights have the columns {', '.join(_COLUMNS)}")
        cells = [(reader.line_num, cell) for cell in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"invalid CSV: {error}") from None
    #: Weight and variance, NaN if unknown, by class and feature.
    found: dict[str, dict[str, tuple[float, float]]] = {}
    against: str | None = None
    for line, cell in cells:
        try:
            against = _add(found, cell, against)
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
    return _weights(found, against, named=named, first=first)


def _add(found: dict[str, dict[str, tuple[float, float]]], cell: dict[str, Any], against: str | None) -> str | None:
    """Add one line, and return the other label of a binary model, if known."""
    label, name, variance = cell["class"], cell["feature"], math.nan
    weight = _number("weight", cell["weight"])
    if cell.get("deviation"):
        deviation = _number("deviation", cell["deviation"])
        if not deviation > 0:
            raise ValueError(f"deviation must be > 0, got {cell['deviation']!r}")
        variance = deviation * deviation
    features = found.setdefault(label, {})
    if name in features:
        raise ValueError(f"duplicate feature {name!r} of class {label!r}")
    features[name] = (weight, variance)
    if cell.get(_AGAINST) and against not in (None, cell[_AGAINST]):
        raise ValueError(f"{_AGAINST} must be {against!r} as above, got {cell[_AGAINST]!r}")
    return cell.get(_AGAINST) or against


def _number(name: str, text: Any) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {text!r:.60}")
    return number


def _weights(
    found: dict[str, dict[str, tuple[float, float]]], against: str | None, *, named: bool | None, first: int
) -> Weights:
    labels = [*found]
    if against is not None and len(labels) == 1:
        labels = [against, *labels]
    elif len(labels) < 3:
        raise ValueError(
            f"found weights of {len(labels)} classes; for two classes, give the weights of one and the label of the "
            f"other in a column {_AGAINST!r}"
        )
    names = [*dict.fromkeys(name for features in found.values() for name in features if name != INTERCEPT)]
    columns, feature_names = _columns(names, named=named, first=first)
    has_intercept = any(INTERCEPT in features for features in found.values())
    # The intercept is the last column of both tables.
    columns[INTERCEPT] = max(columns.values(), default=-1) + 1
    weights = np.zeros((len(found), columns[INTERCEPT] + 1))
    variances = np.full_like(weights, np.nan)
    for row, features in enumerate(found.values()):
        for name, (weight, variance) in features.items():
            weights[row, columns[name]], variances[row, columns[name]] = weight, variance
    fields: dict[str, Any] = {"classes": _parse_labels(labels), "coef": weights[:, :-1], "features": feature_names}
    if has_intercept:
        fields["intercept"] = weights[:, -1]
    if not np.isnan(variances[:, :-1]).all():
        fields["variance"] = variances[:, :-1]
        fields["intercept_variance"] = variances[:, -1] if has_intercept else None
    return Weights.from_fields(fields)


def _columns(names: list[str], *, named: bool | None, first: int) -> tuple[dict[str, int], list[str] | None]:
    """Return the column of each feature, and the names of the columns unless features are numbered."""
    words = [name for name in names if not (name.isascii() and name.isdecimal())]
    if named or (named is None and words):
        return {name: column for column, name in enumerate(names)}, names
    if words:
        raise ValueError(f"numbered features must be integers, got {words[0]!r}")
    columns = {name: int(name) - first for name in names}
    if columns and not 0 <= min(columns.values()) <= max(columns.values()) < _MAX_FEATURE:
        raise ValueError(f"numbered features must be from {first} to {_MAX_FEATURE}")
    return columns, None


def _parse_labels(labels: list[str]) -> list[Any]:
    """Return the labels as numbers if all of them can be."""
    with suppress(ValueError):
        return [int(label) for label in labels]
    with suppress(ValueError):
        values = [float(label) for label in labels]
        if all(map(math.isfinite, values)):
            return values
    return list(labels)
