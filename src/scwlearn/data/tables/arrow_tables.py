"""Tables in Parquet files, Arrow files (Feather) and Arrow streams."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError
from scwlearn.data.reader import Parsed
from scwlearn.data.tables.table import TableReader
from scwlearn.data.writer import TableWriter, error_at

# A stream that cannot be rewound is copied to memory up to this size, else to disk.
_MAX_IN_MEMORY = 64 * 2**20
_READ = 2**20
_ARROW_FILE = b"ARROW1"


class _RecordBatchReader(TableReader):
    """Reader of record batches."""

    unit = "record"
    expected = "the table is empty"

    @abstractmethod
    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the stream, set the names of all columns, and return record batches with the wanted ones."""

    def chunks(self) -> Generator[Any, None, None]:
        """Yield record batches of limited length."""
        most = self.options.batch_rows
        with _data_errors(self.schema.format), ExitStack() as opened:
            for batch in self.record_batches(opened):
                # Arrow trusts what a file says about its arrays, and would read outside of them.
                batch.validate(full=True)
                yield from (batch.slice(start, most) for start in range(0, batch.num_rows, most))

    def parse(self, chunk: Any) -> Parsed:
        """Convert a record batch."""
        columns = {name: chunk.column(name) for name in chunk.schema.names}
        return self.parsed(columns, np.arange(1, chunk.num_rows + 1), chunk.num_rows, [])

    def seekable(self, opened: ExitStack) -> _BoundedReads:
        """Return the stream, or a copy of it that can seek; Parquet and Arrow files list their contents at the end."""
        if self.stream.seekable():
            return _BoundedReads(self.stream)
        copy = opened.enter_context(SpooledTemporaryFile(_MAX_IN_MEMORY))  # noqa: SIM115
        shutil.copyfileobj(self.stream, copy, _READ)
        copy.seek(0)
        return _BoundedReads(copy)


class ParquetReader(_RecordBatchReader):
    """Reader of Parquet files."""

    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file."""
        file = parquet.ParquetFile(self.seekable(opened), pre_buffer=False)
        self.set_names(file.schema_arrow.names)
        batches: Iterable[Any] = file.iter_batches(self.options.batch_rows, columns=self.wanted(), use_threads=False)
        return batches


class ArrowReader(_RecordBatchReader):
    """Reader of Arrow files and streams."""

    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file or stream."""
        if self.stream.peek(lambda head: len(head) >= len(_ARROW_FILE)).startswith(_ARROW_FILE):
            reader = ipc.open_file(self.seekable(opened))
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            reader = batches = ipc.open_stream(_BoundedReads(self.stream))
        self.set_names(reader.schema.names)
        wanted = self.wanted()
        return (batch.select(wanted) for batch in batches)


class _BoundedReads:
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
def _data_errors(format: str) -> Iterator[None]:
    """Turn Arrow's errors into DataErrors."""
    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # by the system: Arrow's own errors have no number
        reason = str(error).split("\n")[0] or "it asks for more memory than there is"
        raise DataError(f"invalid {format} data: {reason}") from None


class ArrowWriter(TableWriter):
    """Writer of Arrow files: numbers, strings and lists of strings; missing values and zeros are null."""

    new_writer: Any = staticmethod(ipc.new_file)

    def start(self, batch: Batch, names: list[str]) -> None:
        """Write the schema."""
        kinds = {"numeric": pa.float64(), "categorical": pa.string(), "text": pa.list_(pa.string())}
        types = {name: kinds[self.columns.get(name, "numeric")] for name in names}
        if batch.labels is not None:
            label_types = {"U": pa.string(), "f": pa.float64()}
            types[self.options.label] = label_types.get(batch.labels.dtype.kind, pa.int64())
        self._schema = pa.schema(types)
        self._writer = self.new_writer(pa.PythonFile(self.file, mode="w"), self._schema)

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write a record batch."""
        try:
            arrays = [pa.array(column, type=self._schema.field(name).type) for name, column in table.items()]
        except pa.ArrowException as error:
            # Only the type of the labels can change between batches.
            label_type = self._schema.field(self.options.label).type
            raise error_at(batch, 0, f"all labels must have the type {label_type}: {error}") from None
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def finish(self) -> None:
        """Write the footer."""
        self._writer.close()


class ParquetWriter(ArrowWriter):
    """Writer of Parquet files."""

    new_writer = parquet.ParquetWriter
