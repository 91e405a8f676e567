"""A segment of data: consecutive examples of one source, which are read as if they were a file."""

from __future__ import annotations

import io
import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from scwlearn.data.batch import Batch
from scwlearn.data.formats import get_format
from scwlearn.data.io.errors import DataError, NoExamples, SkippedRecords
from scwlearn.data.io.remote import RemoteFile
from scwlearn.data.io.streams import source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema

# Bytes whose lines are counted at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class Segment:
    """Consecutive examples of one source."""

    #: A path, a remote file, or a batch in memory.
    source: str | RemoteFile | Batch
    #: Bytes of text, rows of Parquet or record batches of Arrow from `begin` to `end`; all if `end` is None.
    begin: int = 0
    end: int | None = None
    #: The number of bytes of a CSV file that precede its records: a mark, and the line that names its columns.
    header: int = 0
    #: The size of the file when it was cut, and when it was last changed, in nanoseconds; None if it is not a file.
    state: tuple[int, int] | None = None
    #: What it is cut at: lines or records of text, as in a `Format`, or units of a table.
    cut_at: Literal["lines", "records", "units"] = "lines"

    def __str__(self) -> str:
        """Return the name of the source, and which of its bytes or rows."""
        name = self.source.source if isinstance(self.source, Batch) else source_name(self.source)
        return name if self.end is None else f"{name}[{self.begin}:{self.end}]"


def read_segment(
    segment: Segment, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> Generator[Batch, None, None]:
    """Yield the examples of a segment in batches; nothing if it has none."""
    is_excerpt = isinstance(segment.source, str) and segment.end is not None
    with _lines_of_the_file(segment, schema.format, options.skipped):
        _check_unchanged(segment)
        opened = Excerpt(segment) if is_excerpt else None
        try:
            source = segment.source if opened is None else opened
            _, batches = read_batches([source], schema, options, format=schema.format)
            with closing(batches):
                yield from batches
        except NoExamples:
            pass
        finally:
            if opened is not None:
                opened.close()


def _check_unchanged(segment: Segment) -> None:
    """Raise a DataError if a file has changed since it was cut."""
    if segment.state is None or not isinstance(segment.source, str):
        return
    size, _ = state = state_of(segment.source)
    if state != segment.state:
        what = f"had {segment.state[0]} bytes" if size != segment.state[0] else "was older"
        raise DataError(f"the file {what} when it was cut into parts", found=f"{size} bytes", source=segment.source)


def state_of(path: str) -> tuple[int, int]:
    """Return the size of a file, and when it was last changed."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


class Excerpt(io.RawIOBase):
    """A file of which only a segment is read: the header and some bytes of text, or some units of a table."""

    def __init__(self, segment: Segment) -> None:
        super().__init__()
        assert isinstance(segment.source, str)
        self.name = segment.source
        self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115
        assert segment.end is not None
        end = segment.end
        #: The units of a table to read.
        self.units = range(segment.begin, end) if segment.cut_at == "units" else None
        header = min(segment.header, segment.begin)
        #: Ranges of bytes that are still to be read; None for the whole file.
        self._left = [[0, header], [segment.begin, end]] if self.units is None else None

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether it is a table."""
        return self._left is None

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move within the file of a table."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position in the file of a table."""
        return self._file.tell() if self._left is None else 0

    def readinto(self, memory: Any) -> int:
        """Read into memory and return the number of bytes: 0 at the end."""
        view = memoryview(memory).cast("B")
        if self._left is None:
            return self._file.readinto(view) or 0
        while self._left and self._left[0][0] >= self._left[0][1]:
            del self._left[0]
        if not self._left:
            return 0
        begin, end = self._left[0]
        self._file.seek(begin)
        count = self._file.readinto(view[: end - begin]) or 0
        self._left[0][0] = begin + count if count else end
        return count

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _lines_of_the_file(segment: Segment, format: str, skipped: SkippedRecords) -> Iterator[None]:
    """Count the lines or records of errors from the beginning of the file, not of the segment."""
    known = len(skipped.first)
    errors: list[DataError] = []
    try:
        yield
    except DataError as error:
        errors.append(error)
        raise
    finally:
        placed = [each for each in [*errors, *skipped.first[known:]] if each.line]
        if segment.begin and placed:
            before = _lines_before(segment, format)
            for each in placed:
                each.line += before


def _lines_before(segment: Segment, format: str) -> int:
    """Return how many lines or records end before a segment, without the header, which is part of every segment."""
    assert isinstance(segment.source, str)
    if segment.cut_at == "units":
        return get_format(format).count_rows(segment.source, segment.begin)
    with open(segment.source, "rb") as file:
        file.seek(segment.header)
        left, lines = segment.begin - segment.header, 0
        # As a table counts them; its \r\n may be cut by a block.
        decoder = io.IncrementalNewlineDecoder(None, translate=segment.cut_at == "records")
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            lines, left = lines + decoder.decode(block.decode("latin-1")).count("\n"), left - len(block)
    return lines + decoder.decode("", final=True).count("\n")
