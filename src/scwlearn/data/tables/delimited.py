"""CSV and TSV: text with a header, read by Arrow in chunks so that the line of every record is known."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.cells import error_at, joined_words, label_texts, number_text
from scwlearn.data.formats import Format, WriterOptions
from scwlearn.data.io.errors import DataError, excerpt
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from scwlearn.data.tables.columns import require_arrow
from scwlearn.data.tables.quotes import last_record_end, line_count, line_ends, open_quote, record_ends, record_lines
from scwlearn.data.tables.records import Chunk, LongRecord, read_records, record_chunks
from scwlearn.data.tables.table import Piece, Table
from scwlearn.data.tables.writer import TableWriter

_BOM = b"\xef\xbb\xbf"


def delimited_format(delimiter: str, **fields: Any) -> Format:
    """Return a format of delimited text."""
    return Format(
        read=partial(_read, delimiter.encode()),
        writer=partial(_Writer, delimiter),
        fixed_columns=True,
        **fields,
    )


def _read(
    delimiter: bytes, stream: Stream, schema: Schema, options: ReaderOptions
) -> tuple[Schema, Generator[Batch, None, None]]:
    """Read CSV or TSV with a header. Empty cells are missing values, and blank lines are ignored."""
    require_arrow("CSV")
    table = Table(stream.name, schema, options, untyped=True)
    text = _DelimitedText(delimiter, table)
    return read_records(
        text.chunks(stream),
        text.parse,
        table.resolve,
        table.convert,
        stream=stream,
        options=options,
        expected="records must follow the header",
    )


class _DelimitedText:
    """A file of delimited text; its first line that is not blank is the header."""

    def __init__(self, delimiter: bytes, table: Table) -> None:
        self._delimiter, self._table = delimiter, table
        self._header: list[str] = []

    def chunks(self, stream: Stream) -> Generator[Chunk, None, None]:
        """Yield the text after the header in chunks of whole records."""
        options = self._table.options
        last_end = partial(last_record_end, delimiter=self._delimiter)
        most = options.max_record_bytes
        for chunk in record_chunks(stream, options, most, last_end=last_end, count_lines=line_count):
            if isinstance(chunk, LongRecord):
                problem = f"a record has at most {most} bytes; is a quote not closed?"
                hint = "raise the limit with {max_record_bytes}"
                raise self._error(chunk.line, problem, chunk.beginning, hint=hint)
            # Only the last chunk can end inside a quoted cell.
            opened = open_quote(chunk.text, self._delimiter)
            if opened is not None:
                line = chunk.line + len(line_ends(chunk.text[:opened]))
                raise self._error(line, "the file ends before this quote is closed", chunk.text[opened:])
            after_header = chunk if self._header else self._without_header(chunk)
            if after_header.text:
                yield after_header
        if not self._header:
            raise self._table.error("empty file; a table starts with a line that names its columns")

    def _without_header(self, chunk: Chunk) -> Chunk:
        text = chunk.text
        begin = len(text) - len(text.lstrip(b"\r\n"))
        ends = record_ends(text, self._delimiter)
        ends = ends[ends >= begin]
        end = int(ends[0]) + 1 if len(ends) else len(text)
        if begin < end:
            self._header = self._names(text[begin:end], chunk.line + line_count(text[:begin]))
            self._table.check_names(self._header)
        before = line_count(text[:end])
        return Chunk(text[end:], chunk.line + before, chunk.lines - before)

    def _names(self, first: bytes, line: int) -> list[str]:
        try:
            header = first.decode()
        except UnicodeDecodeError as error:
            raise self._error(line, "the header must be UTF-8", first[error.start :]) from None
        if "\0" in header:
            raise self._error(line, "the header must not contain a NUL byte", first)
        try:
            (names,) = csv.reader(io.StringIO(header, newline=""), delimiter=self._delimiter.decode())
        except csv.Error as error:  # a name that is too long for Python's reader
            raise self._error(line, f"the header must name the columns: {error}", first) from None
        return names

    def _error(self, line: int, problem: str, found: bytes, **more: Any) -> DataError:
        return DataError(problem, found=excerpt(found), source=self._table.source, line=line, **more)

    def parse(self, chunk: Chunk) -> Piece:
        """Return the records of a chunk, with all cells as strings; empty cells are null."""
        text, wanted = chunk.text, self._table.wanted(self._header)
        is_clean = b"\0" not in text and (text.isascii() or _is_utf8(text))
        # Arrow needs UTF-8. Else each byte is passed as a character, and the cells are decoded afterwards.
        columns, ragged = self._cells(wanted, text if is_clean else text.decode("latin-1").encode())
        count = len(next(iter(columns.values()))) + len(ragged)
        lines = record_lines(text, chunk.line, chunk.lines, self._delimiter, count)
        problem = f"a record must have {len(self._header)} cells, one for each column of the header"
        errors = [
            DataError(problem, found=str(cells), source=self._table.source, line=int(lines[number - 1]))
            for number, cells in ragged
        ]
        lines = np.delete(lines, [number - 1 for number, _ in ragged])
        if not is_clean:
            columns, lines = self._decoded(columns, lines, errors)
        return Piece(self._header, columns, lines, errors)

    def _cells(self, wanted: list[str], text: bytes) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return some columns, and the number (from 1) and length of records of the wrong length."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        ragged: list[tuple[int, int]] = []

        def skip(row: Any) -> str:
            ragged.append((row.number, row.actual_columns))
            return "skip"

        # A byte order mark in front of a record is text, but Arrow removes one.
        text = _BOM + text if text.startswith(_BOM) else text
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            # Records are numbered only if one thread reads.
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text), column_names=self._header),
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
        ).combine_chunks()
        columns = [table.column(name) for name in wanted]
        arrays = [column.chunk(0) if column.num_chunks else pa.array([], type=pa.string()) for column in columns]
        return dict(zip(wanted, arrays, strict=True)), ragged

    def _decoded(
        self, columns: dict[str, Any], lines: NDArray[np.int64], errors: list[DataError]
    ) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """Return the cells decoded from bytes, without the records that are not valid text."""
        import pyarrow as pa

        bad: dict[int, DataError] = {}
        decoded: dict[str, list[str | None]] = {}
        for name, column in columns.items():
            decoded[name] = []
            for row, characters in enumerate(column.to_pylist()):
                cell = b"" if characters is None else characters.encode("latin-1")
                if b"\0" in cell or not _is_utf8(cell):
                    problem = "a cell must not contain a NUL byte" if b"\0" in cell else "cells must be UTF-8"
                    bad.setdefault(row, self._error(int(lines[row]), problem, cell, column=name))
                decoded[name].append(cell.decode(errors="replace") or None)
        errors += bad.values()
        keep = np.delete(np.arange(len(lines)), [*bad])
        return {name: pa.array(cells, type=pa.string()).take(keep) for name, cells in decoded.items()}, lines[keep]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Writer(TableWriter):
    """Writer of delimited text; missing values and zeros are empty cells."""

    def __init__(self, delimiter: str, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(options)
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")

    def start(self, batch: Batch) -> None:
        """Write the header."""
        label = [self.options.label] if batch.labels is not None else []
        weight = [self.options.weight] if batch.weights is not None else []
        self._csv.writerow([*self.columns, *label, *weight])

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write records."""
        columns = [self._texts(name, column, batch) for name, column in table.items()]
        if batch.labels is not None:
            columns.append(label_texts(batch))
        if batch.weights is not None:
            columns.append([number_text(weight) for weight in batch.weights.tolist()])
        self._csv.writerows(zip(*columns, strict=True))

    def finish(self) -> None:
        """Detach from the file, which stays open."""
        self._text.detach()

    def _texts(self, name: str, column: list[Any], batch: Batch) -> list[str | None]:
        kind = self.columns[name]
        if kind == "numeric":
            return [None if value is None else number_text(value) for value in column]
        if kind == "categorical":
            texts, allowed = column, "a string must not be empty or contain NUL"
        else:
            texts = [None if words is None else joined_words(words) for words in column]
            allowed = "words must be letters, digits and _, in lower case"
        for row, (value, text) in enumerate(zip(column, texts, strict=True)):
            if value is not None and (not text or "\0" in text):
                problem = f"in the column {name!r}, {allowed}; jsonl, parquet and arrow allow any string"
                raise error_at(batch, row, problem, repr(value))
        return texts
