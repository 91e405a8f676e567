"""Tables in files that Arrow reads and writes: Parquet, Arrow files (Feather) and streams."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from scwlearn.data.batch import Batch
from scwlearn.data.cells import error_at, label_values
from scwlearn.data.formats import Format, WriterOptions
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from scwlearn.data.tables.columns import require_arrow
from scwlearn.data.tables.records import read_records
from scwlearn.data.tables.table import Piece, Table
from scwlearn.data.tables.writer import TableWriter

# A stream that cannot be rewound is copied to memory up to this size, else to disk.
_MAX_IN_MEMORY = 64 * 2**20
_READ = 2**20

#: Opens a table: returns the names of its columns, and the record batches with the wanted columns.
OpenTable = Callable[[Stream, Table, int, ExitStack], tuple[list[str], Iterable[Any]]]


def arrow_format(what: str, open_table: OpenTable, new_writer: Callable[[Any, Any], Any], **fields: Any) -> Format:
    """Return a format that Arrow reads and writes."""
    return Format(
        read=partial(_read, what, open_table), writer=partial(_Writer, what, new_writer), fixed_columns=True, **fields
    )


def _read(
    what: str, open_table: OpenTable, stream: Stream, schema: Schema, options: ReaderOptions
) -> tuple[Schema, Generator[Batch, None, None]]:
    require_arrow(what)
    table = Table(stream.name, schema, options, unit="record")
    return read_records(
        _pieces(what, open_table, stream, table, options.batch_rows),
        lambda piece: piece,
        table.resolve,
        table.convert,
        stream=stream,
        options=options,
        expected="the table is empty",
    )


def _pieces(
    what: str, open_table: OpenTable, stream: Stream, table: Table, batch_rows: int
) -> Generator[Piece, None, None]:
    before = 0
    with _named_errors(stream.name, what), ExitStack() as opened:
        names, batches = open_table(stream, table, batch_rows, opened)
        for batch in batches:
            # Arrow trusts what a file says about its arrays, and would read outside of them.
            batch.validate(full=True)
            for start in range(0, batch.num_rows, batch_rows):
                part = batch.slice(start, batch_rows)
                columns = {name: part.column(name) for name in part.schema.names}
                yield Piece(names, columns, np.arange(before + 1, before + part.num_rows + 1), [])
                before += part.num_rows


def seekable(stream: Stream, opened: ExitStack) -> BoundedReads:
    """Return the stream, or a copy of it that can seek; Parquet and Arrow files list their contents at the end."""
    if stream.seekable():
        return BoundedReads(stream)
    # Detecting a format imports this module, and these would double the time that takes.
    import shutil
    from tempfile import SpooledTemporaryFile

    copy = opened.enter_context(SpooledTemporaryFile(_MAX_IN_MEMORY))  # noqa: SIM115
    shutil.copyfileobj(stream, copy, _READ)
    copy.seek(0)
    return BoundedReads(copy)


class BoundedReads:
    """File whose reads allocate no more memory than there is to read, even if a corrupt file makes Arrow ask for it."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or all that are left."""
        pieces = []
        while size > 0 and (piece := self._file.read(min(size, _READ))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: the file belongs to the caller."""


@contextmanager
def _named_errors(name: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors into DataErrors."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # by the system: Arrow's own errors have no number
        reason = str(error).split("\n")[0] or "it asks for more memory than there is"
        raise DataError(f"invalid {what} data: {reason}", source=name) from None


class _Writer(TableWriter):
    """Writer of numbers, strings and lists of strings; missing values and zeros are null."""

    def __init__(
        self, what: str, new_writer: Callable[[Any, Any], Any], file: BinaryIO, options: WriterOptions
    ) -> None:
        require_arrow(what)
        super().__init__(options)
        self._new_writer, self._file = new_writer, file

    def start(self, batch: Batch) -> None:
        """Write the schema."""
        import pyarrow as pa

        kinds = {"numeric": pa.float64(), "categorical": pa.string(), "text": pa.list_(pa.string())}
        types = [(name, kinds[kind]) for name, kind in self.columns.items()]
        if batch.labels is not None:
            labels = {"U": pa.string(), "f": pa.float64()}
            types.append((self.options.label, labels.get(batch.labels.dtype.kind, pa.int64())))
        if batch.weights is not None:
            types.append((self.options.weight, pa.float64()))
        self._schema = pa.schema(types)
        self._writer = self._new_writer(pa.PythonFile(self._file, mode="w"), self._schema)

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write a record batch."""
        import pyarrow as pa

        columns: dict[str, Any] = dict(table)
        if batch.labels is not None:
            columns[self.options.label] = label_values(batch)
        if batch.weights is not None:
            columns[self.options.weight] = batch.weights
        try:
            arrays = [pa.array(column, type=self._schema.field(name).type) for name, column in columns.items()]
        except pa.ArrowException as error:
            # Only the type of the labels can change between batches.
            label_type = self._schema.field(self.options.label).type
            raise error_at(batch, 0, f"all labels must have the type {label_type}: {error}") from None
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def finish(self) -> None:
        """Write the footer."""
        self._writer.close()
