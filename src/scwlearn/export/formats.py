"""Export of models to files of other formats, and import of weights from them.

JSON has a field for each attribute of `Weights`, safetensors an array, and CSV a line for each weight.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn._util.atomic import check_path, write_atomically
from scwlearn._util.checks import check_choice
from scwlearn._util.json_fields import to_json
from scwlearn._util.locks import unchanged
from scwlearn.export.weights import MAX_COLUMNS, Weights, most_cells, to_model
from scwlearn.files import safetensors
from scwlearn.files.json_reader import dump_json, parse_json
from scwlearn.learning.explain import INTERCEPT
from scwlearn.rules import Rule
from scwlearn.runs.trained_model import TrainedModel

#: Formats of exported models; all but the last can be imported.
EXPORT_FORMATS = ("json", "csv", "safetensors", "onnx")

_FORMAT, _VERSION = "scwlearn weights", 1
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_COLUMNS = ("class", "feature", "weight", "deviation")
# With two classes, the label of the other class.
_AGAINST = "against"


def export_model(model: TrainedModel, path: str | Path, format: str | None = None) -> None:
    """Write a linear model to a file, atomically; by default in the format of the suffix of `path`."""
    with unchanged([model.classifier]):
        write_atomically(path, encode_model(model, _format(path, format, EXPORT_FORMATS)))


def encode_model(model: TrainedModel, format: str) -> Iterable[bytes | memoryview]:
    """Return the chunks of a file in one of `EXPORT_FORMATS`."""
    if format == "onnx":
        if find_spec("onnx") is None:
            raise ValueError('writing ONNX needs the onnx package: pip install "scwlearn[onnx]"')
        from scwlearn.export.onnx import to_onnx

        return [to_onnx(model)]
    weights = Weights.from_model(model)
    if format == "csv":
        zero_based = model.schema is not None and model.schema.zero_based
        return _encode_csv(weights, first=0 if zero_based else 1)
    return _encode_json(weights) if format == "json" else _encode_safetensors(weights)


def import_weights(
    path: str | Path,
    format: str | None = None,
    *,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
    named: bool | None = None,
    zero_based: bool = False,
) -> TrainedModel:
    """Return a model with the weights of a file, which can continue to learn.

    By default the format is the suffix of `path`, and the rule, its parameters and the variance of the prior are those
    in the file, or SCW-I, its defaults and 1. Features in CSV are numbers if all of them are integers, unless `named`;
    they start at 1, unless `zero_based`.
    """
    where, kind = check_path(path), _format(path, format, EXPORT_FORMATS[:-1])
    if kind == "onnx":
        raise ValueError(f"{where}: ONNX models cannot be imported; use json, csv or safetensors")
    content = Path(path).read_bytes()
    try:
        if kind == "csv":
            weights = _decode_csv(content, named=named, first=0 if zero_based else 1)
        else:
            weights = _decode_json(content) if kind == "json" else _decode_safetensors(content)
        return to_model(weights, rule, parameters, initial_variance)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _format(path: str | Path, given: str | None, suffixes: tuple[str, ...]) -> str:
    """Return the given format, or the one that the suffix of the file names."""
    if given is not None:
        return check_choice("the format of a model", given, EXPORT_FORMATS)
    suffix = os.path.splitext(check_path(path))[1].lower().removeprefix(".")
    if suffix not in EXPORT_FORMATS:
        raise ValueError(f"{check_path(path)}: unknown format; use a file name that ends in .{', .'.join(suffixes)}")
    return suffix


def _encode_json(weights: Weights) -> Iterator[bytes]:
    """Yield one JSON object."""
    fields = {
        name: value.tolist() if isinstance(value, np.ndarray) else to_json(value, defaults=False)
        for name, value in vars(weights).items()
    }
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "library": __version__, **fields}, ensure_ascii=False)
    yield text.encode("utf-8", "surrogatepass") + b"\n"


def _decode_json(content: bytes) -> Weights:
    """Return weights from the output of `_encode_json`, or from coef_, intercept_ and classes_ of scikit-learn."""
    try:
        fields = parse_json(content.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object with classes and coef, got {type(fields).__name__}")
    if fields.get("format") == _FORMAT and fields.get("version") != _VERSION:
        raise ValueError(f"weights of version {fields.get('version')!r}; only version {_VERSION} can be read")
    return Weights.from_fields(fields)


def _encode_safetensors(weights: Weights) -> Iterator[bytes | memoryview]:
    """Yield a safetensors file with arrays of doubles, and all other fields as JSON in the metadata."""
    fields = {name: value for name, value in vars(weights).items() if value is not None}
    arrays = {name: np.asarray(value, "<f8") for name, value in fields.items() if isinstance(value, np.ndarray)}
    metadata = {name: dump_json(to_json(value, defaults=False)) for name, value in fields.items() if name not in arrays}
    return safetensors.encode({"format": _FORMAT, "version": str(_VERSION), **metadata}, arrays)


def _decode_safetensors(content: bytes) -> Weights:
    """Return weights from the output of `_encode_safetensors`, or from arrays coef_, intercept_ and classes_.

    Classes that are not numbers are a JSON list in the metadata.
    """
    try:
        metadata, arrays = safetensors.decode(io.BytesIO(content), len(content))
    except ValueError as error:
        raise ValueError(f"invalid safetensors file: {error}") from None
    fields: dict[str, Any] = {}
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        try:
            fields[name] = parse_json(value, name)
        except (TypeError, ValueError):  # metadata of other tools
            continue
    for name, array in arrays.items():
        fields[name] = array.tolist() if name.removesuffix("_") == "classes" else array
    return Weights.from_fields(fields)


def _encode_csv(weights: Weights, first: int) -> Iterator[bytes]:
    """Yield the lines of each class; numbered features count from `first`."""
    binary = len(weights.classes) == 2
    names = weights.features
    if names is None:
        names = [str(number) for number in range(first, first + weights.coef.shape[1])]
    _check_csv_labels(weights.classes)
    if INTERCEPT in names:
        raise ValueError(f"a feature is named {INTERCEPT!r}, which CSV uses for the intercept; use json or safetensors")
    _check_csv_lengths([*names, *map(str, weights.classes)])
    names = names if weights.intercept is None else [*names, INTERCEPT]
    means, variances = weights.table, weights.variance_table
    deviations = np.full_like(means, np.nan) if variances is None else np.sqrt(variances)
    yield _csv_lines([(*_COLUMNS, _AGAINST) if binary else _COLUMNS])
    against = weights.classes[:1] if binary else []
    for row, label in enumerate(weights.classes[1:] if binary else weights.classes):
        known = ("" if math.isnan(deviation) else repr(deviation) for deviation in deviations[row].tolist())
        lines = zip(names, map(repr, means[row].tolist()), known, strict=True)
        yield _csv_lines([label, *line, *against] for line in lines)


def _check_csv_labels(labels: list[Any]) -> None:
    """Raise a ValueError if labels are read as others, because cells have no types."""
    read = _parse_labels([*map(str, labels)])
    if "" in labels or [(type(label), label) for label in read] != [(type(label), label) for label in labels]:
        raise ValueError(
            f"CSV has no types, so that the labels {labels!r:.60} would be read as others: no label may be empty or a "
            "bool, and strings must not all be numbers; use json or safetensors"
        )


def _check_csv_lengths(cells: list[str]) -> None:
    longest = max(cells, key=len)
    if len(longest) > csv.field_size_limit():
        raise ValueError(
            f"the name or label {longest!r:.60} has {len(longest)} characters; in CSV, it may have at most "
            f"{csv.field_size_limit()}; use json or safetensors"
        )


def _csv_lines(lines: Iterable[Iterable[Any]]) -> bytes:
    # The csv module does not quote a return, at which readers end the line.
    text = "".join(",".join(map(_csv_cell, line)) + "\n" for line in lines)
    return text.encode("utf-8", "surrogatepass")


def _csv_cell(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _decode_csv(content: bytes, *, named: bool | None, first: int) -> Weights:
    """Return weights from the output of `_encode_csv`.

    Features are numbered if all their names are integers, unless `named`. Labels are numbers if all of them can be.
    """
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig", "surrogatepass"), newline=""), strict=True)
        missing = [name for name in _COLUMNS[:3] if name not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"missing column {missing[0]!r}; weights have the columns {', '.join(_COLUMNS)}")
        cells = [(reader.line_num, cell) for cell in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"invalid CSV: {error}") from None
    # Weight and variance, NaN if unknown, by class and feature; and the other label of a binary model.
    found: dict[str, dict[str, tuple[float, float]]] = {}
    against: str | None = None
    for line, cell in cells:
        try:
            # A short line has no cells for the last columns.
            if cell["class"] is None or cell["feature"] is None:
                raise ValueError("the line ends before its class and its feature")
            features, name, other = found.setdefault(cell["class"], {}), cell["feature"], cell.get(_AGAINST) or against
            weight = _number("weight", cell["weight"])
            deviation = _number("deviation", cell["deviation"]) if cell.get("deviation") else math.nan
            if deviation <= 0:
                raise ValueError(f"deviation must be > 0, got {cell['deviation']!r}")
            if name in features:
                raise ValueError(f"duplicate feature {name!r} of class {cell['class']!r}")
            if against not in (None, other):
                raise ValueError(f"{_AGAINST} must be {against!r} as above, got {other!r}")
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
        features[name], against = (weight, deviation * deviation), other
    return _weights(found, against, named=named, first=first)


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
    given = sum(map(len, found.values()))
    if len(found) * columns[INTERCEPT] > most_cells(given):
        raise ValueError(
            f"{given} weights for features up to number {columns[INTERCEPT] - 1 + first} would make a table that is "
            "nearly empty; number the features without gaps, or read them as names"
        )
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
    if len({*columns.values()}) < len(columns):
        raise ValueError("two numbered features have the same number, such as 1 and 01; name the features instead")
    if columns and not 0 <= min(columns.values()) <= max(columns.values()) < MAX_COLUMNS:
        raise ValueError(f"numbered features must be from {first} to {MAX_COLUMNS}")
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
