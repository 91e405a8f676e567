"""CSV and TSV: lines of cells, with or without a line that names the columns."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import last_csv_end, parse_csv, split_csv
from scwlearn.data.features import Features
from scwlearn.data.formats import number_pattern
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import SAMPLE_BYTES, Parsed, Reader, TooLong, rest_of
from scwlearn.data.records import LabelArrays, record_batches, record_error
from scwlearn.data.schema import Schema, spec_of
from scwlearn.data.tables.resolve import (
    is_complete,
    is_position,
    missing_columns,
    names_label,
    resolve_columns,
    resolve_kinds,
    sample_size,
    wanted_columns,
)

Text = NDArray[np.uint8]

# Delimiters that are looked for, first those that seldom occur inside cells.
_DELIMITERS = "\t;|,"
# How many of the first records show the delimiter.
_SNIFFED_RECORDS = 50
_NUMBER = number_pattern("[.,]")


class DelimitedReader(Reader):
    """Reader of delimited text. Empty cells are missing values, and blank lines are ignored."""

    chunk_bytes = 4 * 2**20
    is_table = True
    is_resolved = False

    def __init__(self, delimiter: str | None, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self.max_bytes = options.max_record_bytes
        self.expected = "a table starts with a line that names its columns"
        if schema.header is False:
            self.expected = "a table has a line for each record"
        #: What separates cells; empty until the first chunk is read.
        self._delimiter = delimiter or ""
        self._names: list[str] = []
        self._spec = Features(others="ignore").spec()
        # Kind of the labels of the next chunk. Unless the first records show it, the first label decides.
        self._labels = "any"

    def chunks(self) -> Generator[Any, None, None]:
        """Find out the delimiter; then yield chunks of whole records, each with the kind of its labels."""
        if not self._delimiter:
            self._delimiter = find_delimiter(self.schema, self.stream.peek)
            self.schema = replace(self.schema, delimiter=self._delimiter)
        for chunk in super().chunks():
            if isinstance(chunk, TooLong):
                yield chunk
                continue
            labels = self._labels
            if self.is_resolved:
                self._look_for_label(np.frombuffer(chunk, dtype=np.uint8))
            yield chunk, labels

    def last_end(self, buffer: mmap, used: int) -> int:
        """Return the end of the last whole record in the first bytes of a buffer, or 0."""
        return last_csv_end(np.frombuffer(buffer, np.uint8, used), self._delimiter)

    def too_long(self, beginning: bytes) -> DataError:
        """Raise the error: nothing shows where the next record starts."""
        problem = f"a record has at most {self.max_bytes} bytes; is a quote not closed?"
        raise DataError(problem, found=shown(beginning), line=1, hint="raise the limit with {max_record_bytes}")

    def parse(self, chunk: tuple[memoryview, str]) -> Parsed:
        """Parse records, after the header in the first chunk."""
        text, labels = np.frombuffer(chunk[0], dtype=np.uint8), chunk[1]
        before = 0
        if not self.is_resolved:
            sample = self._sample(text)
            if not self._names:
                end, before = self._read_names(text, sample)
                text, sample = text[end:], sample[end:]
                if not self._names:
                    return Parsed((), before)
            self._resolve(sample)
            if self.is_resolved:
                labels = self._labels
                self._look_for_label(text)
        return self._parse_records(text, before, labels)

    def _parse_records(self, text: Text, before: int, kind: str) -> Parsed:
        """Parse records, before which the chunk has some lines."""
        used = np.zeros(1, dtype=np.int64)
        rows, labels, weights, lines, count, (bad, first) = parse_csv(
            text, self._spec, self._names, self._delimiter, kind, *self.flags, used
        )
        errors = [self._error(kind, before + line, name, found) for kind, line, name, found in first]
        broken = errors.pop() if first and first[-1][0] == "quote" else None
        source = self.stream.name, self.options.slots
        batches = record_batches(rows, labels, weights, lines + before, *source) if self.is_resolved else ()
        parsed = Parsed(batches, before + count, errors, len(bad) - len(first), broken, before + bad)
        rest = rest_of(text, used)
        return (
            parsed
            if rest is None
            else parsed._replace(rest=partial(self._parse_records, rest, 0, _decided(kind, labels)))
        )

    def _look_for_label(self, text: Text) -> None:
        """Set the kind of the labels behind these records, unless it is known."""
        label = self.schema.label
        if label not in self._names or self.options.ignores_labels:
            return
        rest: Text | None = text
        while self._labels == "any" and rest is not None:
            # A record that is left out has no label.
            used = np.zeros(1, dtype=np.int64)
            _, labels, *_ = parse_csv(rest, self._spec, self._names, self._delimiter, "any", True, True, 1, used)
            self._labels, rest = _decided("any", labels), rest_of(rest, used)
            self.decided_labels = None if self._labels == "any" else self._labels

    def _sample(self, text: Text) -> Text:
        """Return the text of a chunk, and the whole records behind it."""
        sample = np.concatenate([text, np.frombuffer(self.ahead, dtype=np.uint8)])
        return sample[: max(len(text), last_csv_end(sample, self._delimiter))]

    def _read_names(self, text: Text, sample: Text) -> tuple[int, int]:
        """Set the names of the columns, if there is a record; return the end of the header and the lines up to it."""
        records, lines, end, count, opened = split_csv(text, self._delimiter, 1)
        if opened is not None:
            line, offset = opened
            raise _open_quote(line, text[offset : offset + 100].tobytes())
        if not records:
            return end, count
        names, sample = records[0], sample[end:]
        if self.schema.header is None and is_position(self.schema.label, names) and self._data_cell(names, sample):
            # A position says that there are no names.
            self.schema = replace(self.schema, header=False)
        if self.schema.header is False:
            end = count = 0
            names = [str(number) for number in range(1, len(names) + 1)]
        else:
            self._check_header(text[:end].tobytes(), names, lines[0], sample)
            self.expected = "records must follow the header"
        self.schema = resolve_columns(self.schema, names, self.options)
        self._names = names
        return end, count

    def _data_cell(self, names: list[str], text: Text) -> str | None:
        """Return a cell that shows the first line to be a record: a number, or a value that its column repeats."""
        if names_label(self.schema.label, names):
            return None
        if names in [[str(first + i) for i in range(len(names))] for first in (0, 1)]:
            return None
        for name in names:
            if _NUMBER.fullmatch(name):
                return name
        records = split_csv(text, self._delimiter, min(_SNIFFED_RECORDS, sample_size(len(names))))[0]
        # A header may be repeated, in files that were joined.
        records = [cells for cells in records if len(cells) == len(names) and cells != names]
        return next((name for i, name in enumerate(names) if name and name in (cells[i] for cells in records)), None)

    def _check_header(self, header: bytes, names: list[str], line: int, text: Text) -> None:
        place: dict[str, Any] = {"found": shown(header.strip(b"\r\n")), "line": line}
        try:
            header.decode()
        except UnicodeDecodeError as error:
            place["found"] = shown(header[error.start :].rstrip(b"\r\n"))
            raise DataError("the header must be UTF-8", **place) from None
        if b"\0" in header:
            raise DataError("the header must not contain a NUL byte", **place)
        if self.schema.header is None and (cell := self._data_cell(names, text)) is not None:
            place["found"] = shown(cell)
            hint = "use {no_header} if the first line is a record, or {header} if it names the columns"
            raise DataError("the first line looks like a record, not like the names of columns", hint=hint, **place)

    def _resolve(self, text: Text) -> None:
        """Complete the schema, if there are records with a cell for each column."""
        names, most = self._names, sample_size(len(self._names))
        sample: list[list[str]] = []
        # A chunk may be larger. What is behind these bytes counts only if they have no record.
        size = last_csv_end(text[:SAMPLE_BYTES], self._delimiter) or len(text)
        while not sample and len(text):
            records, _, end, _, _ = split_csv(text[:size], self._delimiter, most)
            sample = [cells for cells in records if len(cells) == len(names)]
            text = text[end:]
            size = len(text)
        if sample:
            values = dict(zip(names, zip(*sample, strict=True), strict=True))
            self.schema = resolve_kinds(self.schema, names, values, self.options, untyped=True)
            self._spec = spec_of(self.schema, self.options)
            self._labels = self.schema.label_kind or "any"
            self.is_resolved = True

    def _error(self, kind: str, line: int, name: str, found: bytes) -> DataError:
        if kind == "ragged":
            whose = "one for each column of the header" if self.schema.header is not False else "as the first one has"
            problem = f"a record must have {len(self._names)} cells, {whose}"
            hint = "quote cells that contain the delimiter, or leave such records out with {on_error=skip}"
            return DataError(problem, found=found.decode(), line=line, hint=hint)
        if kind in ("utf8", "nul"):
            problem = "cells must be UTF-8" if kind == "utf8" else "a cell must not contain a NUL byte"
            return DataError(problem, found=shown(found), line=line, column=name)
        if kind == "quote":
            return _open_quote(line, found)
        # What a number in a cell must be includes its range.
        return record_error("numeric" if kind == "range" else kind, name, found, line=line)


def _decided(kind: str, labels: LabelArrays) -> str:
    """Return the kind of labels behind these ones."""
    numbers, _, words, _ = labels
    return kind if kind != "any" else "categorical" if words else "any" if np.isnan(numbers).all() else "numeric"


def _open_quote(line: int, found: bytes) -> DataError:
    return DataError("the file ends before this quote is closed", found=shown(found), line=line)


def find_delimiter(schema: Schema, peek: Callable[[Callable[[bytes], bool]], bytes]) -> str:
    """Return what separates the cells of a table: what the user has named, or what its beginning shows.

    `peek` returns the beginning, as much of it as a function asks for. It does not matter how much more it returns.
    """
    given = schema.delimiter
    if given is not None and (schema.is_delimiter_given or not is_complete(schema)):
        return given

    def is_enough(head: bytes) -> bool:
        first = {delimiter: _first_record(head, delimiter) for delimiter in _DELIMITERS}
        if None in first.values():
            return False
        possible = [delimiter for delimiter, cells in first.items() if cells is not None and len(cells) > 1]
        if len(possible) < 2 or given in possible or known_delimiter(schema, head) is not None:
            return True
        return all(len(_records(head, delimiter)) == _SNIFFED_RECORDS for delimiter in possible)

    head = peek(is_enough)
    return known_delimiter(schema, head) or detect_delimiter(head, given)


def known_delimiter(schema: Schema, head: bytes) -> str | None:
    """Return what separates the columns of a model in the first record of a table; None if they are not there."""
    if not (is_complete(schema) and wanted_columns(schema)):
        return None
    own = "\t" if schema.format == "tsv" else schema.delimiter or ","
    for delimiter in [own] if schema.header is False else dict.fromkeys([own, *_DELIMITERS]):
        cells = _first_record(head, delimiter) or []
        if schema.header is False:
            # Any text is a record of one cell.
            cells = [str(number) for number in range(1, len(cells) + 1)] if len(cells) > 1 else []
        if cells and not missing_columns(schema, cells):
            return delimiter
    return None


def known_format(schema: Schema, line: bytes) -> str | None:
    """Return "csv" or "tsv" if a line names the columns of a model, or is a record of them without names; else None."""
    delimiter = known_delimiter(schema, line + b"\n")
    if delimiter is None:
        return None
    if schema.format == "csv" and delimiter == schema.delimiter:
        return "csv"
    return "tsv" if delimiter == "\t" else "csv"


def splits_evenly(head: bytes, delimiter: str) -> bool:
    """Return whether a delimiter splits all of the first records into the same number of cells, more than one."""
    counts = [*map(len, _records(head, delimiter))]
    return len(counts) > 1 and counts[0] > 1 and len({*counts}) == 1


def _records(head: bytes, delimiter: str, most: int = _SNIFFED_RECORDS) -> list[list[str]]:
    """Return the cells of the first whole records."""
    text = np.frombuffer(head, dtype=np.uint8)
    return split_csv(text[: last_csv_end(text, delimiter)], delimiter, most)[0]


def has_record(head: bytes, delimiter: str) -> bool:
    """Return whether a text has a whole record."""
    return _first_record(head, delimiter) is not None


def _first_record(head: bytes, delimiter: str) -> list[str] | None:
    return next(iter(_records(head, delimiter, 1)), None)


def detect_delimiter(head: bytes, preferred: str | None = None) -> str:
    """Return what separates the cells of a table, given its beginning.

    It splits all of the first records into the same number of cells, more than one. Of several, it is the first that
    leaves the fewest quotes within cells: a wrong one splits quoted cells. If there is none, it is the one that splits
    the first record most. The preferred one only has to split the first record.
    """
    text = np.frombuffer(head + b"\n", dtype=np.uint8)
    cells: dict[str, list[int]] = {}
    quotes: dict[str, int] = {}
    for delimiter in dict.fromkeys([preferred or ",", *_DELIMITERS]):
        # The last record may be cut.
        end = last_csv_end(text[:-1], delimiter) or len(text)
        records = split_csv(text[:end], delimiter, _SNIFFED_RECORDS)[0]
        cells[delimiter] = [*map(len, records)] or [1]
        quotes[delimiter] = sum('"' in cell for record in records for cell in record)
    if preferred is not None and cells[preferred][0] > 1:
        return preferred
    same = [delimiter for delimiter in _DELIMITERS if cells[delimiter][0] > 1 and len({*cells[delimiter]}) == 1]
    if same:
        return min(same, key=quotes.__getitem__)
    return max(cells, key=lambda delimiter: cells[delimiter][0])
