"""Parquet files, and Arrow's own: files, streams, Feather. A batch of rows at a time."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from threading import Event
from typing import Any

import numpy as np

from scwlearn.data.examples import Schema
from scwlearn.data.io.streams import Source, Stream, name_of, open_source
from scwlearn.data.tables.schemas import Piece, check_names, wanted_columns

# So much of what cannot be read again is kept in memory, and more of it on disk.
_IN_MEMORY = 64 * 2**20
_AT_ONCE = 2**20


def parquet_pieces(source: Source, schema: Schema, batch_rows: int, stopped: Event) -> Generator[Piece, None, None]:
    """The rows of a Parquet file, one row group after the other."""
    from pyarrow import parquet

    name = name_of(source)
    with open_source(source, stopped) as stream, _to_seek_in(stream) as file, _told(name, "a Parquet file"):
        table = parquet.ParquetFile(file, pre_buffer=False)
        names = table.schema_arrow.names
        check_names(names, name)
        wanted = wanted_columns(names, schema)
        batches = table.iter_batches(batch_rows, columns=wanted or names[:1], use_threads=False)
        yield from _pieces(batches, names, batch_rows)


def arrow_pieces(source: Source, schema: Schema, batch_rows: int, stopped: Event) -> Generator[Piece, None, None]:
    """The rows of an Arrow file or stream, one record batch after the other."""
    from pyarrow import ipc

    name = name_of(source)
    with open_source(source, stopped) as stream, _told(name, "an Arrow file or stream"):
        if stream.peek(lambda head: len(head) >= len(b"ARROW1")).startswith(b"ARROW1"):
            with _to_seek_in(stream) as file:
                reader = ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
                yield from _checked_pieces(batches, reader.schema.names, name, schema, batch_rows)
        else:
            reader = ipc.open_stream(_Piecewise(stream))
            yield from _checked_pieces(reader, reader.schema.names, name, schema, batch_rows)


def _checked_pieces(
    batches: Iterator[Any], names: list[str], name: str, schema: Schema, batch_rows: int
) -> Iterator[Piece]:
    check_names(names, name)
    wanted = wanted_columns(names, schema)
    yield from _pieces((batch.select(wanted or names[:1]) for batch in batches), names, batch_rows)


def _pieces(batches: Iterator[Any], names: list[str], batch_rows: int) -> Iterator[Piece]:
    before = 0
    for batch in batches:
        # Arrow trusts what a file says of its own arrays; a lie would be read outside of them.
        batch.validate(full=True)
        for start in range(0, batch.num_rows, batch_rows):
            part = batch.slice(start, batch_rows)
            columns = {name: part.column(name) for name in part.schema.names}
            yield Piece(names, columns, np.arange(before + 1, before + part.num_rows + 1), [])
            before += part.num_rows


@contextmanager
def _to_seek_in(stream: Stream) -> Iterator[Any]:
    """The stream, or a copy of it that can be read from any place, as these files are: their contents come last."""
    if stream.seekable():
        yield _Piecewise(stream)
        return
    with SpooledTemporaryFile(_IN_MEMORY) as copy:
        shutil.copyfileobj(stream, copy, _AT_ONCE)
        copy.seek(0)
        yield _Piecewise(copy)


class _Piecewise:
    """A file that takes no more memory for what is read than there is to read, whatever Arrow was told to ask for."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int) -> bytes:
        """As many bytes, or all that are left."""
        pieces = []
        while size > 0 and (piece := self._file.read(min(size, _AT_ONCE))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """It is closed by whoever opened it."""


@contextmanager
def _told(name: str, what: str) -> Iterator[None]:
    """Arrow's complaints, with the name of the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system: Arrow's own have no number
        found = str(error).split("\n")[0] or "it asks for more memory than there is"
        raise ValueError(f"{name} cannot be read as {what}: {found}") from None
