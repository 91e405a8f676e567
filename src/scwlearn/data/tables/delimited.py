"""CSV and TSV: text with a header, read by Arrow in chunks so that the line of every record is known."""

from __future__ import annotations

import csv
import io
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import Parsed
from scwlearn.data.schema import Schema
from scwlearn.data.tables.table import TableReader

_BOM = b"\xef\xbb\xbf"
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


class DelimitedReader(TableReader):
    """Reader of delimited text with a header. Empty cells are missing values, and blank lines are ignored."""

    untyped = True

    def __init__(self, delimiter: bytes, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self._delimiter = delimiter
        self.max_bytes = options.max_record_bytes
        self.expected = "a table starts with a line that names its columns"

    def last_end(self, buffer: bytearray, used: int) -> int:
        """Return the end of the last whole record in the first bytes of a buffer, or 0."""
        if buffer.find(b'"', 0, used) < 0:
            return super().last_end(buffer, used)
        text = bytes(buffer[:used])
        newlines = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE)
        newlines = newlines[_quoted_cells(text, self._delimiter).are_outside(newlines)]
        return int(newlines[-1]) + 1 if len(newlines) else 0

    def too_long(self, beginning: bytes) -> DataError:
        """Raise the error: nothing shows where the next record starts."""
        problem = f"a record has at most {self.max_bytes} bytes; is a quote not closed?"
        raise _error(1, problem, beginning, hint="raise the limit with {max_record_bytes}")

    def parse(self, chunk: memoryview) -> Parsed:
        """Parse records, after the header in the first chunk; all cells are strings, and empty ones null."""
        text = bytes(chunk)
        # Only the last chunk can end inside a quoted cell.
        opened = _open_quote(text, self._delimiter)
        if opened is not None:
            line = len(_line_ends(text[:opened])) + 1
            raise _error(line, "the file ends before this quote is closed", text[opened:])
        lines = _line_count(text)
        before = 0
        if not self.names:
            end = self._read_header(text)
            text, before = text[end:], _line_count(text[:end])
        if not text:
            return Parsed((), lines)
        is_clean = b"\0" not in text and (text.isascii() or _is_utf8(text))
        # Arrow needs UTF-8. Else each byte is passed as a character, and the cells are decoded afterwards.
        columns, ragged = self._cells(text if is_clean else text.decode("latin-1").encode())
        count = len(next(iter(columns.values()))) + len(ragged)
        places = before + _record_lines(text, lines - before, self._delimiter, count)
        problem = f"a record must have {len(self.names)} cells, one for each column of the header"
        hint = "quote cells that contain the delimiter, or leave such records out with {on_error=skip}"
        errors = [
            DataError(problem, found=str(cells), line=int(places[number - 1]), hint=hint) for number, cells in ragged
        ]
        places = np.delete(places, [number - 1 for number, _ in ragged])
        if not is_clean:
            columns, places = self._decoded(columns, places, errors)
        return self.parsed(columns, places, lines, errors)

    def _read_header(self, text: bytes) -> int:
        """Set the names of the columns, if the text is more than blank lines; return the end of the header."""
        begin = len(text) - len(text.lstrip(b"\r\n"))
        ends = _record_ends(text, self._delimiter)
        ends = ends[ends >= begin]
        end = int(ends[0]) + 1 if len(ends) else len(text)
        if begin < end:
            self.set_names(self._names(text[begin:end], _line_count(text[:begin]) + 1))
            self.expected = "records must follow the header"
        return end

    def _names(self, first: bytes, line: int) -> list[str]:
        try:
            header = first.decode()
        except UnicodeDecodeError as error:
            raise _error(line, "the header must be UTF-8", first[error.start :]) from None
        if "\0" in header:
            raise _error(line, "the header must not contain a NUL byte", first)
        try:
            (names,) = csv.reader(io.StringIO(header, newline=""), delimiter=self._delimiter.decode())
        except csv.Error as error:  # a name that is too long for Python's reader
            raise _error(line, f"the header must name the columns: {error}", first) from None
        return names

    def _cells(self, text: bytes) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return the wanted columns, and the number (from 1) and length of records of the wrong length."""
        wanted = self.wanted()
        ragged: list[tuple[int, int]] = []

        def skip(row: Any) -> str:
            ragged.append((row.number, row.actual_columns))
            return "skip"

        # A byte order mark in front of a record is text, but Arrow removes one.
        text = _BOM + text if text.startswith(_BOM) else text
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            # Records are numbered only if one thread reads.
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text), column_names=self.names),
            arrow_csv.ParseOptions(
                delimiter=self._delimiter.decode(), newlines_in_values=True, invalid_row_handler=skip
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        return {name: table.column(name).combine_chunks() for name in wanted}, ragged

    def _decoded(
        self, columns: dict[str, Any], lines: NDArray[np.int64], errors: list[DataError]
    ) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """Return the cells decoded from bytes, without the records that are not valid text."""
        bad: dict[int, DataError] = {}
        decoded: dict[str, list[str | None]] = {}
        for name, column in columns.items():
            decoded[name] = []
            for row, characters in enumerate(column.to_pylist()):
                cell = b"" if characters is None else characters.encode("latin-1")
                if b"\0" in cell or not _is_utf8(cell):
                    problem = "a cell must not contain a NUL byte" if b"\0" in cell else "cells must be UTF-8"
                    bad.setdefault(row, _error(int(lines[row]), problem, cell, column=name))
                decoded[name].append(cell.decode(errors="replace") or None)
        errors += bad.values()
        keep = np.delete(np.arange(len(lines)), [*bad])
        return {name: pa.array(cells, type=pa.string()).take(keep) for name, cells in decoded.items()}, lines[keep]


def _error(line: int, problem: str, found: bytes, **more: Any) -> DataError:
    return DataError(problem, found=shown(found), line=line, **more)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# Quoted cells. A quote opens a cell only at its start, as in all CSV readers; a quote inside a quoted cell is doubled.


class _QuotedCells(NamedTuple):
    """Offsets of the first and last quotes of quoted cells, and of the first quote of a cell that is not closed."""

    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    open: int | None

    def are_outside(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which offsets are not inside quoted cells."""
        return np.asarray(np.searchsorted(self.begins, places) == np.searchsorted(self.ends, places))


def _quoted_cells(text: bytes, delimiter: bytes) -> _QuotedCells:
    """Find the quoted cells of text that starts with a record."""
    letters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    begins, ends = quotes[0::2], quotes[1::2]
    neighbors = np.array([delimiter[0], _NEWLINE, _RETURN, _QUOTE], dtype=np.uint8)
    before = letters[begins[begins > 0] - 1]
    after = letters[ends[ends < len(text) - 1] + 1]
    if not (np.isin(before, neighbors).all() and np.isin(after, neighbors).all()):
        # Quotes inside cells that do not start with one do not come in pairs.
        return _search_quoted_cells(text, delimiter)
    return _QuotedCells(begins, ends, int(begins[-1]) if len(begins) > len(ends) else None)


def _search_quoted_cells(text: bytes, delimiter: bytes) -> _QuotedCells:
    cell = re.compile(rb'(?<![^\r\n%s])"(?:[^"]++|"")*+("?)' % re.escape(delimiter))
    found = [(match.start(), match.end() - 1, match[1]) for match in cell.finditer(text)]
    closed = [(begin, end) for begin, end, quote in found if quote]
    begins = np.array([begin for begin, _, _ in found], dtype=np.intp)
    ends = np.array([end for _, end in closed], dtype=np.intp)
    return _QuotedCells(begins, ends, found[-1][0] if len(found) > len(closed) else None)


def _open_quote(text: bytes, delimiter: bytes) -> int | None:
    """Return the offset of the quote that opens a cell that is not closed, or None."""
    if b'"' not in text or _quoted_cells(text, delimiter).open is None:
        return None
    # Pairs do not show where a cell with doubled quotes starts.
    return _search_quoted_cells(text, delimiter).open


def _line_count(text: bytes) -> int:
    """Return the number of line ends: newlines, returns, or both together."""
    newlines = text.count(b"\n")
    return newlines + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else newlines


def _line_ends(text: bytes) -> NDArray[np.intp]:
    """Return the offsets of line ends."""
    letters = np.frombuffer(text, dtype=np.uint8)
    next_letters = np.append(letters[1:], 0)
    return np.flatnonzero((letters == _NEWLINE) | ((letters == _RETURN) & (next_letters != _NEWLINE)))


def _record_ends(text: bytes, delimiter: bytes) -> NDArray[np.intp]:
    """Return the offsets of line ends that are not inside quoted cells."""
    ends = _line_ends(text)
    return ends[_quoted_cells(text, delimiter).are_outside(ends)]


def _record_lines(text: bytes, lines: int, delimiter: bytes, count: int) -> NDArray[np.int64]:
    """Return the line, from 1, on which each of the `count` records starts; blank lines are not records."""
    if lines == count:
        return np.arange(1, count + 1)
    starts = np.append(0, _record_ends(text, delimiter) + 1)
    starts = starts[starts < len(text)]
    first = np.frombuffer(text, dtype=np.uint8)[starts]
    starts = starts[(first != _NEWLINE) & (first != _RETURN)]
    return np.asarray(1 + np.searchsorted(_line_ends(text), starts), dtype=np.int64)
