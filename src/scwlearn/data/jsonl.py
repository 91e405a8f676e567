"""JSON lines: one object a line, whose keys name the features."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_choice
from scwlearn.data.examples import COLUMN_KINDS, Examples, Schema
from scwlearn.data.io.errors import DataError, excerpt, line_too_long
from scwlearn.data.io.streams import Source, check_source, name_of, stop_of
from scwlearn.data.json_values import BadValueError, features, flat, found, label, label_array, weight
from scwlearn.data.options import ReaderOptions
from scwlearn.data.readers import Made, ReadExamples, RecordSource, Way
from scwlearn.data.tables.assembling import one_by_one
from scwlearn.data.tables.records import Chunk, LongRecord, Records
from scwlearn.data.tables.schemas import check_roles, default_label

_TOO_DEEP = "the line holds too many lists or objects in each other"
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)')


class Objects(NamedTuple):
    """Consecutive lines as objects."""

    records: list[dict[str, Any]]
    lines: NDArray[np.int64]
    faults: list[DataError]


def read_jsonl_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> ReadExamples[Any, Any]:
    """The examples of a file with a JSON object a line, in batches. Blank lines are left out.

    A number is the value of the feature "key"; true counts 1. A string is the feature "key=string", and each string of
    a list adds 1 to its own. The keys of an object in the object are "key.its key". null says nothing.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed or not.
    schema : Schema
        Perhaps the keys of the label and of the weight, keys that are left out, and what some are: strings of a "text"
        key are split into words, numbers of a "categorical" one are taken as strings. The default label is that of
        tables.
    options : ReaderOptions
        What all readers take.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.jsonl import read_jsonl_examples
    >>> text = b'{"y": "spam", "words": ["free", "free"], "from": {"known": false, "name": "x"}, "length": 0.5}'
    >>> (batch,) = read_jsonl_examples(io.BytesIO(text), Schema("jsonl"))
    >>> batch.x.names, batch.x.rows.dense().tolist(), batch.labels.tolist()
    (['words=free', 'from.name=x', 'length'], [[2.0, 1.0, 0.5]], ['spam'])
    """
    check_source(source)
    name = name_of(source)
    for key, kind in schema.columns.items():
        check_choice(f"the kind of the key {key!r}", kind, COLUMN_KINDS)
    text = _Text(name, options.max_line_bytes)
    wanted = 'a line is an object, as in {"label": 1, "feature": 0.5}'
    # More threads would only wait for each other: Python makes the objects.
    origin = RecordSource(name, options, most_threads=1, wanted=wanted)
    stopped = stop_of(source)
    objects = _Objects()
    way = Way(Records(name, None, options).chunks(source, stopped), text.objects, objects.resolved, objects.made)
    return ReadExamples(way, schema, origin, stopped)


class _Text:
    """From text to objects."""

    def __init__(self, name: str, max_line_bytes: int) -> None:
        self._name, self._max_line_bytes = name, max_line_bytes
        self._decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse).decode

    def objects(self, chunk: Chunk | LongRecord) -> Objects:
        """The objects of some lines."""
        if isinstance(chunk, LongRecord):
            error = line_too_long(self._name, chunk.line, self._max_line_bytes, chunk.beginning)
            return Objects([], np.empty(0, dtype=np.int64), [error])
        objects: list[dict[str, Any]] = []
        lines: list[int] = []
        faults: list[DataError] = []
        for line, text in enumerate(chunk.text.split(b"\n"), chunk.line):
            if not text or text.isspace():
                continue
            try:
                objects.append(self._object(text))
                lines.append(line)
            except _LineError as error:
                faults.append(DataError(str(error), source=self._name, line=line, column=error.column))
        return Objects(objects, np.array(lines, dtype=np.int64), faults)

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise _LineError(error.start + 1, f"a line is UTF-8; found {excerpt(line[error.start :])}") from None
        try:
            value = self._decode(text)
        except json.JSONDecodeError as error:
            rest = text[error.pos : error.pos + 100].rstrip()
            message = f"a line is a JSON object: {error.msg}; found {excerpt(rest.encode())}"
            raise _LineError(error.pos + 1, message) from None
        except _ConstantError as error:
            place = next(match.start(1) for match in _STRING_OR_CONSTANT.finditer(text) if match[1])
            raise _LineError(place + 1, f"a number is finite; found {error}") from None
        except RecursionError:
            raise _LineError(None, _TOO_DEEP) from None
        except ValueError as error:
            # A key that is there twice; a whole number of thousands of digits, which Python does not read.
            raise _LineError(None, str(error)) from None
        if not isinstance(value, dict):
            raise _LineError(None, f'a line is a JSON object, as in {{"label": 1}}; found {found(value)}')
        if "\\u" in text:
            _check_characters(value)
        return value


class _LineError(ValueError):
    """What is wrong with a line, and in which column."""

    def __init__(self, column: int | None, message: str) -> None:
        super().__init__(message)
        self.column = column


class _ConstantError(ValueError):
    """NaN or an infinity."""


def _refuse(constant: str) -> NoReturn:
    raise _ConstantError(constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    together = dict(pairs)
    if len(together) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key in times if times[key] > 1)
        raise ValueError(f"an object has each key once; found {found(twice)} twice")
    return together


def _check_characters(value: dict[str, Any]) -> None:
    """Escapes can spell halves of characters, which no text can be made of."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise _LineError(None, f"strings are Unicode; found half of a character, {half!r}") from None
    except RecursionError:
        # To write takes a little more than to read.
        raise _LineError(None, _TOO_DEEP) from None


class _Objects:
    """From objects to examples. The first label shows what kind all are, where nobody says."""

    def __init__(self) -> None:
        self._kind: str | None = None

    def resolved(self, objects: Objects, schema: Schema, origin: RecordSource) -> Schema:
        """With the label that the first objects have; what the other keys are is what each value shows."""
        check_roles(schema, origin.name)
        if schema.label is not None:
            return schema
        names = dict.fromkeys(key for record in objects.records for key in record if key not in schema.ignore)
        return replace(schema, label=default_label([*names], origin, "key"))

    def made(self, objects: Objects, schema: Schema, origin: RecordSource) -> Made:
        """The examples that objects are, without those that cannot be read."""
        batch = _Batch()
        faults = [*objects.faults]
        for line, record in zip(objects.lines.tolist(), objects.records, strict=True):
            try:
                self._add(batch, record, schema, origin)
                batch.lines.append(line)
            except BadValueError as error:
                batch.forget()
                faults.append(DataError(str(error), source=origin.name, line=line, column=error.key))
        faults.sort(key=lambda fault: fault.line)
        return Made(batch.examples(schema, origin.name, self._kind or "numeric"), faults)

    def _add(self, batch: _Batch, record: dict[str, Any], schema: Schema, origin: RecordSource) -> None:
        columns = schema.columns
        own: dict[str, Any] = dict.fromkeys(filter(None, (schema.label, schema.weight)))
        for key, value in flat(record, frozenset(schema.ignore)):
            if key in own:
                own[key] = value
            else:
                batch.row += features(key, value, columns.get(key))
        if schema.weight is not None:
            batch.weight = weight(schema.weight, own[schema.weight])
        if schema.label is not None:
            batch.label = self._label(own[schema.label], schema, origin)
        batch.keep()

    def _label(self, value: Any, schema: Schema, origin: RecordSource) -> Any:
        key = str(schema.label)
        if value is None:
            if origin.options.labels == "required":
                raise BadValueError(key, "an object has a label; found nothing")
            return None
        if self._kind is None:
            self._kind = schema.columns.get(key) or ("string" if isinstance(value, str) else "numeric")
        return label(key, value, self._kind)


class _Batch:
    """Examples on their way; one that turns out to be bad is forgotten."""

    def __init__(self) -> None:
        self.row: list[tuple[str, float]] = []
        self.label: Any = None
        self.weight = 1.0
        self.lines: list[int] = []
        self._labels: list[Any] = []
        self._weights: list[float] = []
        self._names: dict[str, int] = {}
        self._numbers: list[int] = []
        self._values: list[float] = []
        self._counts: list[int] = []

    def keep(self) -> None:
        """What has come is an example."""
        names = self._names
        self._numbers += [names.setdefault(name, len(names)) for name, _ in self.row]
        self._values += [value for _, value in self.row]
        self._counts.append(len(self.row))
        self._labels.append(self.label)
        self._weights.append(self.weight)
        self.forget()

    def forget(self) -> None:
        """Begin the next one."""
        self.row, self.label = [], None

    def examples(self, schema: Schema, source: str, kind: str) -> Examples:
        """All that were kept."""
        count = len(self._counts)
        rows = np.repeat(np.arange(count), self._counts)
        numbers = np.array(self._numbers, dtype=np.int64)
        x = one_by_one(rows, numbers, np.array(self._values, dtype=np.float64), [*self._names], count)
        labelled = np.array([value is not None for value in self._labels], dtype=bool)
        return Examples(
            x,
            None if schema.label is None else label_array(self._labels, kind),
            None if schema.weight is None else np.array(self._weights),
            np.array(self.lines, dtype=np.int64),
            source,
            None if schema.label is None or labelled.all() else labelled,
        )
