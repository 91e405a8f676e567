"""JSON lines: one object per line, whose keys name the features."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE, LARGEST_WEIGHT, SMALLEST_WEIGHT
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import ALLOWED_NUMBER
from scwlearn.data.formats import Format
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import Parsed, Reader
from scwlearn.data.schema import (
    MAX_LABEL_LENGTH,
    MAX_PREFIX_LENGTH,
    Schema,
    default_label,
    split_words,
)
from scwlearn.data.weights import ALLOWED_WEIGHT
from scwlearn.data.writer import Writer, error_at, label_values, table_of, with_names

#: How deep objects may be nested.
MAX_DEPTH = 32

_TOO_DEEP = "lists or objects are nested too deeply"
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)')
_LARGEST_INT64 = 2**63 - 1

#: Names and values of the features, the label and the weight of an object.
_Example = tuple[list[tuple[str, float]], Any, float]
T = TypeVar("T")
R = TypeVar("R")


class _Reader(Reader):
    """Reader of JSON lines. The first label decides the kind of all.

    A number is the value of the feature "key", and true is 1. A string is the feature "key=string", and each string of
    a list adds 1 to its feature. The keys of a nested object are "key.nested key". null is a missing value.
    """

    expected = 'a line must be an object, such as {"label": 1, "feature": 0.5}'
    is_resolved = False
    max_threads = 1  # Python makes the objects, so more threads would wait for each other

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self._decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_reject_constant).decode
        self._label_kind: str | None = None

    def parse(self, chunk: memoryview) -> Parsed:
        """Parse lines; the keys of the first objects complete the schema."""
        lines = bytes(chunk).split(b"\n")
        texts = {line: text for line, text in enumerate(lines, 1) if text and not text.isspace()}
        errors: list[DataError] = []
        objects = _each(self._object, texts, errors)
        if objects and not self.is_resolved:
            self._resolve(objects.values())
        batch = self._batch(_each(self._example, objects, errors))
        return Parsed([batch], len(lines) - 1, sorted(errors, key=lambda error: error.line))

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            text = line.decode()
            value = self._decode(text)
        except UnicodeDecodeError as error:
            rest = line[error.start :]
            raise DataError("a line must be UTF-8", found=shown(rest), column=error.start + 1) from None
        except json.JSONDecodeError as error:
            rest = text[error.pos : error.pos + 100].rstrip().encode()
            problem = f"a line must be a JSON object: {error.msg}"
            raise DataError(problem, found=shown(rest), column=error.pos + 1) from None
        except _ConstantError as error:
            place = next(match.start(1) for match in _STRING_OR_CONSTANT.finditer(text) if match[1])
            raise DataError("numbers must be finite", found=str(error), column=place + 1) from None
        except RecursionError:
            raise DataError(_TOO_DEEP) from None
        except DataError:
            raise
        except ValueError as error:  # an integer with more digits than Python reads
            raise DataError(str(error)) from None
        if not isinstance(value, dict):
            raise DataError('a line must be a JSON object, such as {"label": 1}', found=shown(value))
        if "\\u" in text:
            _check_characters(value)
        return value

    def _resolve(self, objects: Iterable[dict[str, Any]]) -> None:
        """Complete the schema with the label; each value shows what kind its key is."""
        if self.schema.label is None:
            keys = dict.fromkeys(key for each in objects for key in each if key not in self.schema.ignore)
            self.schema = replace(
                self.schema, label=default_label([*keys], optional=self.options.optional_labels, what="key")
            )
        schema = self.schema
        roles = {name: "ignore" for name in (schema.label, schema.weight) if name is not None}
        declared = {"ignore": None, None: None}.get(kind := schema.features.kinds.get(schema.label or ""), kind)
        self.schema = replace(schema, features=schema.features.declare(roles), label_kind=schema.label_kind or declared)
        self.is_resolved = True

    def _batch(self, examples: dict[int, _Example]) -> Batch:
        """Return the batch of examples, given by line."""
        features = [features for features, _, _ in examples.values()]
        labels = [label for _, label, _ in examples.values()]
        names: dict[str, int] = {}
        numbers = [names.setdefault(name, len(names)) for each in features for name, _ in each]
        values = [value for each in features for _, value in each]
        rows = np.repeat(np.arange(len(features)), np.array([*map(len, features)], dtype=np.int64))
        arrays = np.array(numbers, dtype=np.int64), np.array(values, dtype=np.float64)
        labelled = np.array([label is not None for label in labels], dtype=bool)
        has_labels = self.schema.label is not None
        return Batch(
            NamedRows.summed(rows, *arrays, [*names], len(features)),
            _label_array(labels, self._label_kind or "numeric") if has_labels else None,
            None if self.schema.weight is None else np.array([weight for _, _, weight in examples.values()]),
            np.array([*examples], dtype=np.int64),
            self.stream.name,
            labelled if has_labels and not labelled.all() else None,
        )

    def _example(self, given: dict[str, Any]) -> _Example:
        """Return the features, the label and the weight of an object."""
        schema = self.schema
        features: list[tuple[str, float]] = []
        roles: dict[str, Any] = dict.fromkeys(filter(None, (schema.label, schema.weight)))
        for key, value in _flattened(given, frozenset(schema.ignore)):
            if key in roles:
                roles[key] = value
            else:
                features += _features(key, value, schema.features.kinds.get(key))
        weight = 1.0 if schema.weight is None else _weight(schema.weight, roles[schema.weight])
        label = None if schema.label is None else self._label(schema.label, roles[schema.label])
        return features, label, weight

    def _label(self, key: str, value: Any) -> Any:
        if value is None:
            if not self.options.optional_labels:
                raise DataError("an object needs a label", found="nothing", column=key)
            return None
        if self._label_kind is None:
            declared = self.schema.label_kind
            self._label_kind = declared or ("string" if isinstance(value, str) else "numeric")
        if self._label_kind == "numeric":
            if isinstance(value, str | list):
                raise DataError("labels must be numbers, as the first one is", found=shown(value), column=key)
            _number(key, value, "a label")
            return value
        if isinstance(value, list) or (not isinstance(value, str) and self._label_kind == "string"):
            raise DataError("labels must be strings, as the first one is", found=shown(value), column=key)
        if len(str(value)) > MAX_LABEL_LENGTH:
            limit = f"a label must have at most {MAX_LABEL_LENGTH} characters"
            raise DataError(limit, found=shown(value), column=key)
        return str(value)


def _each(function: Callable[[T], R], items: dict[int, T], errors: list[DataError]) -> dict[int, R]:
    """Apply a function to the item of each line; leave out those that cannot be read, and append their errors."""
    results = {}
    for line, item in items.items():
        try:
            results[line] = function(item)
        except DataError as error:
            error.line = line
            errors.append(error)
    return results


class _ConstantError(ValueError):
    """NaN or an infinity."""


def _reject_constant(constant: str) -> NoReturn:
    raise _ConstantError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    united = dict(pairs)
    if len(united) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated = next(key for key in counts if counts[key] > 1)
        raise DataError("keys must not repeat within an object", found=f"{shown(repeated)} twice")
    return united


def _check_characters(value: dict[str, Any]) -> None:
    """Raise a DataError for lone surrogates, which escapes can spell."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError("strings must be valid Unicode", found=repr(error.object[error.start])) from None
    except RecursionError:  # writing needs a little more depth than reading
        raise DataError(_TOO_DEEP) from None


def _flattened(
    given: Mapping[str, Any], ignore: frozenset[str], prefix: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of an object and of the objects in it; skip nulls."""
    if depth > MAX_DEPTH:
        raise DataError(f"objects must be nested at most {MAX_DEPTH} deep", column=prefix[:40])
    for key, value in given.items():
        name = prefix + key
        if name in ignore or value is None:
            continue
        if isinstance(value, dict):
            _check_prefix(name)
            yield from _flattened(value, ignore, name + ".", depth + 1)
        else:
            yield name, value


def _check_prefix(key: str) -> None:
    if len(key) > MAX_PREFIX_LENGTH:
        limit = f"the key of several features must have at most {MAX_PREFIX_LENGTH} characters, with those above it"
        raise DataError(limit, found=shown(key), column=key[:40])


def _number(key: str, value: Any, what: str) -> float:
    if isinstance(value, int | float) and -LARGEST_VALUE <= value <= LARGEST_VALUE:
        return float(value)
    raise DataError(f"{what} must be {ALLOWED_NUMBER}", found=shown(value), column=key)


def _weight(key: str, value: Any) -> float:
    if isinstance(value, int | float) and (value == 0 or SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT):
        return float(value)
    raise DataError(f"a weight must be {ALLOWED_WEIGHT}", found=shown(value), column=key)


def _features(key: str, value: Any, kind: str | None) -> Iterator[tuple[str, float]]:
    """Yield the names and values of the features of a value, whose key may have a declared kind."""
    if isinstance(value, list):
        _check_prefix(key)
        for word in value:
            if not isinstance(word, str):
                raise DataError("a list must hold strings, each a feature", found=shown(word), column=key)
            yield f"{key}={word}", 1.0
    elif isinstance(value, str):
        if kind == "numeric":
            raise DataError("the value of a numeric key must be a number", found=shown(value), column=key)
        if kind == "text":
            _check_prefix(key)
            for word in split_words(value):
                yield f"{key}={word}", 1.0
        else:
            yield f"{key}={value}", 1.0
    elif kind == "categorical":
        yield f"{key}={value}", 1.0
    elif kind == "text":
        problem = "the value of a text key must be a string or a list of strings"
        raise DataError(problem, found=shown(value), column=key)
    elif value != 0:
        yield key, _number(key, value, "a number")


def _label_array(labels: list[Any], kind: str) -> NDArray[Any]:
    """Return labels of one kind as an array; None stands for a missing label."""
    if kind != "numeric":
        return np.array(["" if label is None else label for label in labels], dtype=str)
    if all(label is None or isinstance(label, bool) for label in labels):
        return np.array([bool(label) for label in labels])
    numbers = [0 if label is None else label for label in labels]
    if all(float(number).is_integer() and abs(number) <= _LARGEST_INT64 for number in numbers):
        return np.array([int(number) for number in numbers], dtype=np.int64)
    return np.array(numbers, dtype=np.float64)


class _Writer(Writer):
    """Writer of JSON lines: features by name, or as the values of given columns."""

    def write(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        objects = self._objects(batch)
        label_key, weight_key = self.options.label, self.options.weight
        for key in (label_key, weight_key):
            row = next((row for row, features in enumerate(objects) if key in features), None)
            if row is not None:
                hint = "choose other keys with {label} and {weight}"
                raise error_at(batch, row, f"the feature {key!r} has the name of the label or the weight", hint=hint)
        weights = [None] * len(batch) if batch.weights is None else batch.weights.tolist()
        lines = []
        for label, weight, features in zip(label_values(batch), weights, objects, strict=True):
            own = {label_key: _shortest(label), weight_key: _shortest(weight)}
            whole = {key: value for key, value in own.items() if value is not None} | features
            lines.append(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n")
        self.file.write("".join(lines).encode())

    def _objects(self, batch: Batch) -> list[dict[str, Any]]:
        zero_based = self.options.zero_based
        if self.options.columns is not None:
            table = table_of(batch, self.options.columns, zero_based=zero_based)
            return [
                {key: _shortest(column[row]) for key, column in table.items() if column[row] is not None}
                for row in range(len(batch))
            ]
        rows = with_names(batch, zero_based=zero_based).dicts()
        return [{name: _shortest(value) for name, value in features.items()} for features in rows]


def _shortest(value: Any) -> Any:
    """Return an integral float as an int, which is written shorter."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


FORMAT = Format(
    suffixes=(".jsonl", ".ndjson", ".json"),
    reader=_Reader,
    writer=_Writer,
    confidence=lambda line: 50 if line.startswith(b"{") else 0,
    sign="{",
)
