"""Records in JSON: an object per line, or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable
from dataclasses import replace
from functools import partial
from itertools import chain
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import JsonArrayCutter, parse_json, split_json, text_extent
from scwlearn.data.detect import MOST_DIGITS, SAMPLE, detect, is_missing, values_by_key
from scwlearn.data.features import PLAIN
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import SAMPLE_BYTES, Parsed, Reader, TooLong, rest_of
from scwlearn.data.records import record_batches, record_error
from scwlearn.data.schema import Schema, check_roles, listed, spec_of
from scwlearn.data.tables.resolve import (
    find_column,
    is_complete,
    keys_of,
    missing_keys,
    unclear_label,
    usual_key,
    usual_keys,
    wanted_columns,
)

Text = NDArray[np.uint8]

_NEWLINE = ord("\n")
# What the parser calls the labels of which the first one is of a kind.
_FIRST_KINDS = {None: None, "numeric": "numeric", "categorical": "strings"}
_DECODER = json.JSONDecoder(parse_int=lambda text: int(text) if len(text) <= MOST_DIGITS else float(text))
_CONSTANT = re.compile(rb"-?\w+")
_COLUMNS_HINT = 'an object of columns must become an array of records: in pandas, to_json(orient="records")'
_PROBLEMS = {
    "extra": "a line must hold one object and nothing else",
    "key": "a key must be a string in double quotes",
    "colon": "a colon must follow a key",
    "comma": "a comma or } must follow a value",
    "list comma": "a comma or ] must follow an item of a list",
    "value": "a value must be a string, a number, true, false, null, an object or a list",
    "number": "a number must have digits on both sides of a point, and no 0 in front",
    "constant": "numbers must be finite",
    "string": "a string must end with a quote, in the same line",
    "control": "control characters in a string must be escaped",
    "escape": r'a backslash must be followed by one of "\/bfnrt, or by u and four hexadecimal digits',
    "surrogate": "strings must be valid Unicode",
    "utf8": "text must be UTF-8",
    "repeat": "keys must not repeat within an object",
    "deep": "lists and objects must be nested at most 500 deep",
    "label list": "a label must be a string or a number",
    "label twice": "a record must have one label",
    "weight twice": "a record must have one weight",
}
# Errors after which an array cannot be read.
_BREAKS = {
    "array": "the data must be an array of objects",
    "bracket": "an array must end with ]",
    "between": "a comma must separate the records of an array",
    "trailing": "no comma may follow the last record of an array",
    "behind": "nothing may follow the array",
}


class _Piece(NamedTuple):
    """Piece of a text, and its role for the parser."""

    text: Text
    part: str = "lines"
    is_last: bool = True
    #: Lines before it, and characters of its first line before it.
    lines: int = 0
    columns: int = 0

    def cut(self, rest: Text) -> _Piece:
        """Return the piece that is left of this one."""
        newlines, behind = text_extent(self.text[: len(self.text) - len(rest)])
        columns = behind if newlines else self.columns + behind
        part = self.part if self.part == "lines" else "array rest"
        return _Piece(rest, part, self.is_last, self.lines + newlines, columns)


class JsonReader(Reader):
    """Reader of JSON lines, each of which is an object. Blank lines are ignored."""

    expected = 'a line must be an object, such as {"label": 1, "feature": 0.5}'
    first_part = "lines"
    chunk_bytes = 8 * 2**20  # JSON repeats the keys, so that this is about as many values as in other chunks
    is_resolved = False

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        # Until the schema is complete, to count records that cannot be read.
        self._spec, self._labels = PLAIN.spec(), "any"
        # Keys that may be the label or features.
        self._unclear: list[str] = []

    def chunks(self) -> Generator[Any, None, None]:
        """Yield chunks of lines, and look for the first label in all of them, in order."""
        for chunk in super().chunks():
            if not isinstance(chunk, TooLong):
                self.look_for_label(_Piece(np.frombuffer(chunk, dtype=np.uint8)))
            yield chunk

    def look_for_label(self, piece: _Piece) -> None:
        """Set the kind of the labels if the first one is in this piece, unless it is known."""
        if not self.is_resolved or self._labels != "any" or self.schema.label is None or self.options.ignores_labels:
            return
        rest: Text | None = piece.text
        while self._labels == "any" and rest is not None:
            # A record that is left out has no label.
            used = np.zeros(1, dtype=np.int64)
            (_, (numbers, _, words, _), *_), _ = parse_json(
                piece.text, self._spec, "any", True, True, 1, piece.part, piece.is_last, used
            )
            if words:
                self._labels, self.decided_labels = "strings", "categorical"
            elif not np.isnan(numbers).all():
                self._labels = self.decided_labels = "numeric"
            if (rest := rest_of(piece.text, used)) is not None:
                piece = piece.cut(rest)

    def may_begin(self, text: memoryview) -> bool:
        """Return whether some record has a key that the model of a table knows, or whether there are enough records."""
        if not is_complete(self.schema):
            return True
        sample = _sample(_Piece(np.frombuffer(text, dtype=np.uint8), self.first_part))
        owners = _owners(self.schema, values_by_key(sample, self.schema.features))
        return len(sample) == SAMPLE or not {*wanted_columns(self.schema)}.isdisjoint(owners.values())

    def parse(self, chunk: memoryview) -> Parsed:
        """Parse lines."""
        return self.parse_piece(_Piece(np.frombuffer(chunk, dtype=np.uint8)))

    def parse_piece(self, piece: _Piece) -> Parsed:
        """Parse records; the first ones complete the schema."""
        if not self.is_resolved:
            self._resolve(piece)
        optional, skips, most = self.flags
        used = np.zeros(1, dtype=np.int64)
        (rows, labels, weights, places, count, (bad, first)), found_at = parse_json(
            piece.text,
            self._spec,
            self._labels,
            optional or not self.is_resolved,
            skips,
            most,
            piece.part,
            piece.is_last,
            used,
        )
        errors = [self._error(*fault, place, piece) for fault, place in zip(first, found_at, strict=True)]
        broken = errors.pop() if first and first[-1][0] in _BREAKS else None
        # Made here, in the thread that parses.
        source = self.stream.name, self.options.slots
        batches = [*record_batches(rows, labels, weights, places, *source)] if self.is_resolved else ()
        if self._unclear and (found := keys_of(self._unclear, rows[3], self.schema.features.separator)):
            raise unclear_label(min(found), "key")
        parsed, rest = Parsed(batches, count, errors, len(bad) - len(first), broken), rest_of(piece.text, used)
        return parsed if rest is None else parsed._replace(rest=partial(self.parse_piece, piece.cut(rest)))

    def _resolve(self, piece: _Piece) -> None:
        """Complete the schema, if there are records."""
        text = np.concatenate([piece.text, np.frombuffer(self.ahead, dtype=np.uint8)])
        # A chunk may be larger. What is behind these bytes counts only if they have no record.
        sample = _sample(piece._replace(text=text[:SAMPLE_BYTES])) or _sample(piece._replace(text=text))
        if not sample:
            return
        if self.schema.label is None and self.options.ignores_labels and self.options.known_names is not None:
            # Which records have arrived must not matter.
            ignored, self._unclear = usual_keys(self.schema, self.options)
            self.schema = replace(self.schema, features=self.schema.features.declare(ignored))
        schema, features = self.schema, self.schema.features
        objects: set[str] = set()
        values = values_by_key(sample, features, objects)
        names = [*values]
        # Where such a key has no other value, it cannot be the label.
        nested = {name for name in objects if all(value is None for value in values.get(name, ()))}
        label, weight = self._roles([*dict.fromkeys(chain.from_iterable(sample))], names, nested)
        if not self.options.ignores_labels:
            _check_label(label, sample)
        self.schema = replace(schema, label=label, weight=weight)
        if is_complete(schema):
            self.schema = replace(self.schema, notes=_missing_notes(self.schema, names))
        labels = () if label is None else values.get(label, ())
        first = next((value for value in labels if not is_missing(value, features)), None)
        declared = schema.label_kind
        if declared is None and (known := self.options.known_label_kind) is not None:
            declared = _FIRST_KINDS[known()]
        if not schema.is_fixed:
            check_roles(self.schema)
            declared = declared or features.kinds.get(label or "")
            found = detect(values, features, label=label, weight=weight, objects=objects)
            kind = found.label_kind
            if not declared:
                kind = None if first is None else "categorical" if isinstance(first, str) else "numeric"
            self.schema = replace(
                self.schema, features=found.features, label_kind=kind, notes=found.notes, is_fixed=True
            )
        # Where the first label decides, numbers among strings are no labels.
        self._labels = declared or ("any" if first is None else "strings" if isinstance(first, str) else "numeric")
        self._spec = spec_of(self.schema, self.options)
        self.is_resolved = True
        self.look_for_label(piece)

    def _roles(self, keys: list[str], names: list[str], nested: set[str]) -> tuple[str | None, str | None]:
        """Return the label and the weight, given the keys of the first records, the names of values, and of objects."""
        schema, optional = self.schema, self.options.optional_labels
        if schema.label is None:
            label = usual_key(keys, nested, schema, self.options)
        else:
            label = find_column(schema.label, names)
        weight = None if schema.weight is None else find_column(schema.weight, names)
        for role, key in () if optional or self.options.skips else (("label", label), ("weight", weight)):
            if key is not None and key not in names and key not in keys:
                raise DataError(f"no key {key!r} for the {role}; the keys are {listed(names)}")
        return label, weight

    def _error(
        self, kind: str, record: int, key: str, found: bytes, place: tuple[int, int], piece: _Piece
    ) -> DataError:
        line, column = place
        if kind == "object":
            problem, hint = 'a line must be an object, such as {"label": 1}', None
            if piece.part != "lines":
                problem = 'a record of an array must be an object, such as {"label": 1}'
                found = split_json(np.frombuffer(found, dtype=np.uint8), "array rest", 1)[0][0]
            elif found.startswith(b"["):
                hint = "use {format=json} for an array of objects"
            error = DataError(problem, found=_excerpt(kind, found), column=column, hint=hint)
        elif kind in _BREAKS:
            hint = "is the file complete?" if kind == "bracket" else None
            if kind == "array" and found.startswith(b"{"):
                hint = f"{_COLUMNS_HINT}; for an object per line, use {{format=jsonl}}"
            error = DataError(_BREAKS[kind], found=_excerpt(kind, found), column=column, hint=hint)
        elif kind in _PROBLEMS:
            error = DataError(
                _PROBLEMS[kind], found=_excerpt(kind, found), column=key or column, hint=_hint(kind, found, piece)
            )
        else:
            error = record_error(kind, key, found, line=record)
        return self.placed(error, kind, record, line, piece)

    def placed(self, error: DataError, kind: str, record: int, line: int, piece: _Piece) -> DataError:
        """Return an error with its place."""
        error.line = record
        return error


def _missing_notes(schema: Schema, names: list[str]) -> tuple[DataError, ...]:
    """Return what to say about keys that do not fit the model of a table; raise a DataError if none does."""
    owners = _owners(schema, names)
    present, wanted = {*owners.values()}, wanted_columns(schema)
    missing = [name for name in wanted if name not in present]
    new = [name for name, owner in owners.items() if owner is None and name not in (schema.label, schema.weight)]
    if missing and missing == wanted:
        raise missing_keys("records", missing, new)
    if not (missing and new):
        return ()
    hint = "check that they are named as in the training data"
    return (DataError(f"missing keys: {listed(missing)}; new ones, which are ignored: {listed(new)}", hint=hint),)


def _owners(schema: Schema, names: Iterable[str]) -> dict[str, str | None]:
    """Return the declared key that each name belongs to."""
    owner_of = schema.features.spec().owner_of
    return {name: owner_of(name) for name in names}


def _check_label(label: str | None, sample: list[dict[str, Any]]) -> None:
    """Raise a DataError if the label of all records is a list or an object, as in an object of columns."""
    labels = [record.get(label or "") for record in sample]
    if label is not None and all(isinstance(value, list | dict) for value in labels):
        what = "a list" if isinstance(labels[0], list) else "an object"
        raise DataError(f"the label {label!r} must be a string or a number, not {what}", hint=_COLUMNS_HINT)


def _sample(piece: _Piece) -> list[dict[str, Any]]:
    """Return the first records that Python can read; the native parser will say what is wrong with the others."""
    sample: list[dict[str, Any]] = []
    text, part = piece.text, piece.part
    while len(text) and len(sample) < SAMPLE:
        records, end = split_json(text, part, SAMPLE)
        if not records:
            break
        sample += [record for record in map(_decoded, records) if record is not None]
        text, part = text[end:], "lines" if part == "lines" else "array rest"
    return sample[:SAMPLE]


def _decoded(text: bytes) -> dict[str, Any] | None:
    try:
        record = _DECODER.decode(text.decode(json.detect_encoding(text), "surrogatepass"))
        # Keys with half a character cannot be declared.
        if b"\\u" in text:
            json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _excerpt(kind: str, found: bytes) -> str:
    """Return what was found, for a message."""
    if kind == "repeat":
        return f"{shown(found.decode(errors='ignore'))} twice"
    if kind == "constant" and (match := _CONSTANT.match(found)):
        return match[0].decode()
    if kind == "surrogate":
        return f"'{found[:6].decode()}'"
    return shown(found if kind == "utf8" else found.decode(errors="ignore").rstrip())


def _hint(kind: str, found: bytes, piece: _Piece) -> str | None:
    if kind == "constant" and found.startswith(b"NaN"):
        return "drop missing values with {missing=ignore}"
    if piece.part == "lines" and not found.strip():
        return "an object must be on one line, unless it is in an array of objects"
    return None


class JsonArrayReader(JsonReader):
    """Reader of an array of objects, on one line or several."""

    expected = 'the data must be an array of objects, such as [{"label": 1, "feature": 0.5}]'
    first_part = "array start"

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self.max_bytes = options.max_record_bytes
        self._cutter = JsonArrayCutter()
        self._is_cut = False

    def last_end(self, buffer: mmap, used: int) -> int:
        """Return the end of the last whole record in the first bytes of a buffer, or 0."""
        end = self._cutter.last_end(np.frombuffer(buffer, np.uint8, used))
        self._is_cut = end > 0
        return end

    def chunks(self) -> Generator[Any, None, None]:
        """Yield pieces of the array, the last of which must end it."""
        part, lines, columns, is_last = self.first_part, 0, 0, False
        for chunk in Reader.chunks(self):
            if isinstance(chunk, TooLong):
                yield chunk
                return
            # What is left at the end of the stream has not been cut.
            is_last, self._is_cut = not self._is_cut, False
            text = _ended(chunk)
            piece = _Piece(text, part, is_last, lines, columns)
            self.look_for_label(piece)
            yield piece
            newlines, behind = text_extent(text[: len(chunk)])
            lines, columns = lines + newlines, behind if newlines else columns + behind
            part = "array end" if self._cutter.is_closed else "array rest"
        if not is_last and not self.stream.stopped.is_set():
            yield _Piece(np.frombuffer(b"\n", dtype=np.uint8), part, True, lines, columns)

    def too_long(self, beginning: bytes) -> DataError:
        """Raise the error: nothing shows where the next record starts."""
        problem = f"a record has at most {self.max_bytes} bytes; is a brace or a quote not closed?"
        hint = "raise the limit with {max_record_bytes}"
        raise DataError(problem, found=shown(beginning), line=1, unit="record", hint=hint)

    def parse(self, chunk: Any) -> Parsed:
        """Parse a piece."""
        return self.parse_piece(chunk)

    def placed(self, error: DataError, kind: str, record: int, line: int, piece: _Piece) -> DataError:
        """Return an error with its place."""
        if isinstance(error.column, int) and line == 1:
            error.column += piece.columns
        if kind in _BREAKS:
            error.source, error.line = self.stream.name, piece.lines + line
        else:
            error.line, error.unit = record, f"line {piece.lines + line}, record"
        return error


def _ended(chunk: memoryview) -> Text:
    """Return the text of a chunk, and a newline behind it: in its buffer, the rest of which has been copied."""
    buffer = chunk.obj
    if chunk[-1] == _NEWLINE:
        return np.frombuffer(chunk, dtype=np.uint8)
    if isinstance(buffer, mmap) and len(buffer) > len(chunk):
        buffer[len(chunk)] = _NEWLINE
        return np.frombuffer(buffer, dtype=np.uint8, count=len(chunk) + 1)
    return np.frombuffer(bytes(chunk) + b"\n", dtype=np.uint8)
