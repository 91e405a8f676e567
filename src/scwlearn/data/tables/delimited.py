"""CSV and TSV: text with a header, taken apart by Arrow a chunk at a time, so that it is known what stands where."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator
from contextlib import closing
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Schema
from scwlearn.data.io.errors import DataError, excerpt
from scwlearn.data.io.streams import Source
from scwlearn.data.tables.records import Chunk, LongRecord, Records, breaks, line_count, lines_of, quoted
from scwlearn.data.tables.schemas import Piece, check_names, wanted_columns

_BOM = b"\xef\xbb\xbf"


class Delimited:
    """A file of delimited text, whose first line that is not blank is its header."""

    def __init__(self, schema: Schema, records: Records) -> None:
        self._schema, self._records = schema, records
        self._delimiter = records.delimiter or b","
        self._header: list[str] = []

    def chunks(self, source: Source, stopped: Event) -> Generator[Chunk, None, None]:
        """The text behind the header in chunks of whole records."""
        with closing(self._records.chunks(source, stopped)) as chunks:
            for chunk in chunks:
                if isinstance(chunk, LongRecord):
                    raise self._too_long(chunk)
                behind = chunk if self._header else self._behind_header(chunk)
                if behind.text:
                    yield behind
        if not self._header:
            raise DataError("empty file; a table begins with a line that names its columns", source=self._records.name)

    def piece(self, chunk: Chunk) -> Piece:
        """The records of a chunk, all cells as strings; empty ones are null."""
        return _Cells(self._records.name, self._delimiter, self._header, chunk).piece(
            # At least one: it is their cells that rows are counted by.
            wanted_columns(self._header, self._schema) or self._header[:1]
        )

    def _behind_header(self, chunk: Chunk) -> Chunk:
        text = chunk.text
        begin = len(text) - len(text.lstrip(b"\r\n"))
        ends = breaks(text)
        ends = ends[(ends >= begin) & quoted(text, self._delimiter).outside(ends)]
        end = int(ends[0]) + 1 if len(ends) else len(text)
        if begin < end:
            self._header = self._names(text[begin:end], chunk.line + line_count(text[:begin]))
            check_names(self._header, self._records.name)
        before = line_count(text[:end])
        return Chunk(text[end:], chunk.line + before, chunk.lines - before)

    def _names(self, first: bytes, line: int) -> list[str]:
        try:
            header = first.decode()
        except UnicodeDecodeError as error:
            raise self._error(line, "the header is UTF-8", first[error.start :]) from None
        if "\0" in header:
            raise self._error(line, "the header has no NUL byte", first)
        try:
            (names,) = csv.reader(io.StringIO(header, newline=""), delimiter=self._delimiter.decode())
        except csv.Error as error:  # a name that is longer than Python takes for a cell
            raise self._error(line, f"the header names the columns; {error}", first) from None
        return names

    def _too_long(self, record: LongRecord) -> DataError:
        problem = f"a record has at most {self._records.max_record_bytes} bytes; is a quote not closed?"
        return self._error(record.line, problem, record.beginning, "raise the limit with {max_record_bytes}")

    def _error(self, line: int, problem: str, found: bytes, hint: str | None = None) -> DataError:
        return DataError(problem, found=excerpt(found), source=self._records.name, line=line, hint=hint)


class _Cells:
    """The cells of a chunk."""

    def __init__(self, name: str, delimiter: bytes, header: list[str], chunk: Chunk) -> None:
        self._name, self._delimiter, self._header, self._chunk = name, delimiter, header, chunk
        #: The records that are no rows: their numbers, from 1, and how many cells they have.
        self._ragged: list[tuple[int, int]] = []

    def piece(self, wanted: list[str]) -> Piece:
        """Those of some columns, and which records are at fault."""
        text = self._chunk.text
        good = b"\0" not in text and (text.isascii() or _is_utf8(text))
        # Arrow wants UTF-8. Where it is not, each byte becomes a character of its own, and in the cells a byte again.
        columns = self._read(wanted, text if good else text.decode("latin-1").encode())
        count = len(next(iter(columns.values())))
        lines = lines_of(self._chunk, self._delimiter, count + len(self._ragged))
        faults = self._ragged_faults(lines)
        lines = np.delete(lines, [number - 1 for number, _ in self._ragged])
        if not good:
            columns, lines = self._decoded(columns, lines, faults)
        return Piece(self._header, columns, lines, faults)

    def _read(self, wanted: list[str], text: bytes) -> dict[str, Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        def leave_out(row: Any) -> str:
            self._ragged.append((row.number, row.actual_columns))
            return "skip"

        # What a file may begin with stands for itself in front of any other record: Arrow takes one away.
        text = _BOM + text if text.startswith(_BOM) else text
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            # Records are numbered only where one thread reads.
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text), column_names=self._header),
            arrow_csv.ParseOptions(
                delimiter=self._delimiter.decode(), newlines_in_values=True, invalid_row_handler=leave_out
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                null_values=[""],
                strings_can_be_null=True,
            ),
        ).combine_chunks()
        return {name: _one(table.column(name)) for name in wanted}

    def _ragged_faults(self, lines: NDArray[np.int64]) -> list[DataError]:
        wanted = f"a record has {len(self._header)} cells, one for each column of the header"
        return [
            DataError(wanted, found=str(cells), source=self._name, line=int(lines[number - 1]))
            for number, cells in self._ragged
        ]

    def _decoded(
        self, columns: dict[str, Any], lines: NDArray[np.int64], faults: list[DataError]
    ) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """Bytes as strings, without the records in which some are none."""
        import pyarrow as pa

        bad: dict[int, DataError] = {}
        decoded: dict[str, list[str | None]] = {}
        for name, column in columns.items():
            decoded[name] = []
            for row, characters in enumerate(column.to_pylist()):
                cell = b"" if characters is None else characters.encode("latin-1")
                if b"\0" in cell or not _is_utf8(cell):
                    what = "a cell has no NUL byte" if b"\0" in cell else "cells are UTF-8"
                    place: dict[str, Any] = {"source": self._name, "line": int(lines[row]), "column": name}
                    bad.setdefault(row, DataError(what, found=excerpt(cell), **place))
                decoded[name].append(cell.decode(errors="replace") or None)
        faults += bad.values()
        keep = np.delete(np.arange(len(lines)), [*bad])
        return {name: pa.array(cells, type=pa.string()).take(keep) for name, cells in decoded.items()}, lines[keep]


def _one(column: Any) -> Any:
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks else pa.array([], type=pa.string())


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
