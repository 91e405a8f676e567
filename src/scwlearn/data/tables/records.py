"""Reading of records, the first of which determine the schema."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.io.chunks import TooLong, read_ahead, whole_records
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import MAX_THREADS, ReaderOptions
from scwlearn.data.schema import Schema

_CHUNK_BYTES = 2**20


class Records(Protocol):
    """Consecutive records, before the schema is known."""

    @property
    def lines(self) -> NDArray[np.int64]:
        """Line of each record."""

    @property
    def errors(self) -> list[DataError]:
        """Errors of records that could not be parsed, and are left out."""


class Converted(NamedTuple):
    """Batch made of records, and the errors of those that could not be read, in order."""

    batch: Batch
    errors: list[DataError]


C = TypeVar("C")
R = TypeVar("R", bound=Records)


def read_records(
    chunks: Generator[C, None, None],
    parse: Callable[[C], R],
    resolve: Callable[[R], Schema],
    convert: Callable[[R, Schema], Converted],
    *,
    stream: Stream,
    options: ReaderOptions,
    expected: str,
    max_threads: int = MAX_THREADS,
) -> tuple[Schema, Generator[Batch, None, None]]:
    """Return the schema that the first records determine, and the batches.

    `parse` makes records of a chunk and `convert` a batch of records, both in parallel with others. `resolve` completes
    the schema, given the first records. `expected` says what the source should contain, if there are no examples.
    """
    skipped = 0

    def handle(errors: list[DataError]) -> None:
        nonlocal skipped
        skipped += len(errors)
        options.handle(errors)

    def no_examples() -> DataError:
        unread = f" ({skipped} records could not be read)" if skipped else ""
        return DataError(f"no examples{unread}; {expected}", source=stream.name)

    for first in map(parse, chunks):
        if len(first.lines):
            break
        handle(first.errors)
    else:
        raise no_examples()
    schema = resolve(first)

    def batches() -> Generator[Batch, None, None]:
        found = False
        threads = options.threads(max_threads)
        rest = read_ahead(chunks, lambda chunk: convert(parse(chunk), schema), threads, stream.stopped)
        with closing(rest):
            for batch, errors in chain([convert(first, schema)], rest):
                if options.skips:
                    handle(errors)
                elif errors:
                    batch = batch.slice(0, int(np.searchsorted(batch.lines, errors[0].line)))
                if len(batch):
                    found = True
                    yield batch
                if not options.skips:
                    handle(errors)
        if not found:
            raise no_examples()

    return schema, batches()


class Chunk(NamedTuple):
    """Text of whole records."""

    text: bytes
    #: Number of its first line, and number of its lines.
    line: int
    lines: int


class LongRecord(NamedTuple):
    """Beginning of a record that is too long to be kept, and its line."""

    beginning: bytes
    line: int


def record_chunks(
    stream: Stream,
    options: ReaderOptions,
    max_bytes: int,
    *,
    last_end: Callable[[bytearray, int], int] | None = None,
    count_lines: Callable[[bytes], int] = lambda text: text.count(b"\n"),
) -> Generator[Chunk | LongRecord, None, None]:
    """Yield the text of a stream in chunks of whole records, with their lines."""
    line = 1
    for chunk in whole_records(stream, options, chunk_bytes=_CHUNK_BYTES, max_bytes=max_bytes, last_end=last_end):
        if isinstance(chunk, TooLong):
            yield LongRecord(chunk.beginning, line)
            line += 1
        else:
            text = bytes(chunk)
            lines = count_lines(text)
            yield Chunk(text, line, lines)
            line += lines
