"""Data cut into parts: text at the ends of records, tables at rows, other files whole."""

from __future__ import annotations

import bisect
import io
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from scwlearn._native import last_csv_end, split_csv
from scwlearn.data.batch import Batch
from scwlearn.data.formats import get_format
from scwlearn.data.io.decompress import compression_of
from scwlearn.data.io.errors import DataError, NoExamples, SkippedRecords
from scwlearn.data.io.remote import RemoteFile
from scwlearn.data.io.streams import HEAD_BYTES, STDIN, Source, encoding_of, expand_sources, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema

# Bytes that are searched for the end of a line or record at a time.
_LINE_BLOCK, _RECORD_BLOCK = 2**16, 2**22


@dataclass(frozen=True)
class Segment:
    """Consecutive examples of one source."""

    #: A path, a remote file, or a batch in memory.
    source: str | RemoteFile | Batch
    #: Bytes of text, rows of Parquet or record batches of Arrow from `begin` to `end`; all if `end` is None.
    begin: int = 0
    end: int | None = None
    #: The number of bytes at the beginning of a CSV file that name its columns.
    header: int = 0
    #: The size of the file when it was cut, and when it was last changed, in nanoseconds; None if it is not a file.
    state: tuple[int, int] | None = None
    is_text: bool = True

    def __str__(self) -> str:
        """Return the name of the source, and which of its bytes or rows."""
        name = self.source.source if isinstance(self.source, Batch) else source_name(self.source)
        return name if self.end is None else f"{name}[{self.begin}:{self.end}]"


@dataclass(frozen=True)
class Part:
    """A part of the data: segments that are read one after the other, or none."""

    segments: tuple[Segment, ...]
    #: The bytes to be read, about.
    size: int = 0

    def __str__(self) -> str:
        """Return what the part consists of."""
        return ", ".join(map(str, self.segments)) or "nothing"


class PartedData:
    """Sources that can be cut at any fractions of their size; the result depends on nothing but the data.

    Compressed and remote files, JSON arrays and text in UTF-16 or UTF-32 stay whole, in the part in which they begin.

    Parameters
    ----------
    sources : iterable of paths, patterns, URLs or batches
        The data. What can be read only once, such as a pipe, is refused.
    schema : Schema
        How they are read.
    options : ReaderOptions
        The longest record.

    Examples
    --------
    >>> import os, tempfile
    >>> from fractions import Fraction
    >>> from scwlearn.data.parts import PartedData, read_part
    >>> from scwlearn.data.schema import Schema
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.libsvm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:1\\n-1 2:1\\n1 3:1\\n")
    ...     data = PartedData([path], Schema("libsvm"))
    ...     halves = [data.part(Fraction(0), Fraction(1, 2)), data.part(Fraction(1, 2), Fraction(1))]
    ...     [[batch.labels.tolist() for batch in read_part(half, Schema("libsvm"))] for half in halves]
    [[[1.0]], [[-1.0, 1.0]]]
    """

    def __init__(
        self, sources: Iterable[Source | Batch], schema: Schema, options: ReaderOptions = ReaderOptions()
    ) -> None:
        expanded: list[Any] = []
        for source in sources:
            expanded += [source] if isinstance(source, Batch) else expand_sources([source])
        self._files = [_file(source, schema, options.max_record_bytes) for source in expanded]
        #: Size of all sources in bytes, about.
        self.size = sum(file.size for file in self._files)

    def estimated_examples(self, first: int, size: int) -> int:
        """Return about how many examples there are, if the first ones take `size` bytes; 0 if that is not known."""
        known = [file.examples for file in self._files]
        return sum(known) if all(known) else -(-first * self.size // size) if size else 0

    def part(self, begin: Fraction, end: Fraction) -> Part:
        """Return the part between two fractions of the data. Consecutive parts do not overlap."""
        segments, size, start = [], 0, 0
        for file in self._files:
            low, high = (min(max(at * self.size - start, Fraction(0)), Fraction(file.size)) for at in (begin, end))
            start += file.size
            if low == high:
                continue
            first, last = file.place(low), file.place(high)
            if first < last:
                segments.append(file.segment(first, last))
                size += int(high) - int(low)
        return Part(tuple(segments), size)


def read_part(part: Part, schema: Schema, options: ReaderOptions = ReaderOptions()) -> Generator[Batch, None, None]:
    """Yield the examples of a part in batches, as they are read in one stream; nothing if it has none."""
    for segment in part.segments:
        is_excerpt = isinstance(segment.source, str) and segment.end is not None
        with _lines_of_the_file(segment, options.skipped):
            _check_unchanged(segment)
            opened = Excerpt(segment) if is_excerpt else None
            try:
                _, batches = read_batches([segment.source if opened is None else opened], schema, options)
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
    size, _ = state = _state(segment.source)
    if state != segment.state:
        what = f"had {segment.state[0]} bytes" if size != segment.state[0] else "was older"
        raise DataError(f"the file {what} when it was cut into parts", found=f"{size} bytes", source=segment.source)


def _state(path: str) -> tuple[int, int]:
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
        self.units = None if segment.is_text else range(segment.begin, end)
        header = min(segment.header, segment.begin)
        #: Ranges of bytes that are still to be read; None for the whole file.
        self._left = [[0, header], [segment.begin, end]] if segment.is_text else None

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
def _lines_of_the_file(segment: Segment, skipped: SkippedRecords) -> Iterator[None]:
    """Count the lines of errors from the beginning of the file, not of the segment."""
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
            before = _lines_before(segment) if segment.is_text else segment.begin
            for each in placed:
                each.line += before


def _lines_before(segment: Segment) -> int:
    assert isinstance(segment.source, str)
    with open(segment.source, "rb") as file:
        header = file.read(segment.header).count(b"\n")
        left, lines = segment.begin - segment.header, 0
        while left > 0 and (block := file.read(min(left, _RECORD_BLOCK))):
            lines, left = lines + block.count(b"\n"), left - len(block)
    # The header is part of every segment; a segment that begins within it does not exist.
    return lines if segment.header else header + lines


def _file(source: Any, schema: Schema, max_record_bytes: int) -> _File:
    if isinstance(source, Batch):
        return _InMemory(source, max(1, source.x.nbytes if hasattr(source.x, "nbytes") else len(source)))
    if isinstance(source, RemoteFile):
        return _File(source, max(1, source.size or 1))
    if not isinstance(source, str) or source == STDIN or not stat.S_ISREG(os.stat(source).st_mode):
        raise DataError("only files can be cut into parts; a pipe can be read only once", source=source_name(source))
    size = os.path.getsize(source)
    with open(source, "rb") as file:
        head = file.read(HEAD_BYTES)
    form = get_format(schema.format)
    if compression_of(head) is not None or encoding_of(head) not in (None, "UTF-8") or not size:
        return _File(source, size)
    if form.count_units is not None:
        return _Table(source, size, *form.count_units(source))
    if form.cut_at == "lines":
        return _Lines(source, size)
    if form.cut_at == "records":
        return _Records(source, size, *_header(source, head, schema), max_record_bytes)
    return _File(source, size)


def _header(source: str, head: bytes, schema: Schema) -> tuple[int, str]:
    """Return the size of the line that names the columns, and the delimiter."""
    from scwlearn.data.tables.delimited import find_delimiter

    delimiter = "\t" if schema.format == "tsv" else find_delimiter(head, schema.delimiter)
    if schema.header is False:
        return 0, delimiter
    with open(source, "rb") as file:
        text = file.read(HEAD_BYTES)
        while not last_csv_end(np.frombuffer(text, dtype=np.uint8), delimiter) and (more := file.read(len(text))):
            text += more
    return split_csv(np.frombuffer(text.removesuffix(b"\n") + b"\n", dtype=np.uint8), delimiter, 1)[2], delimiter


@dataclass
class _File:
    """A file that stays whole."""

    source: Any
    size: int
    #: Size and time of the last change; None if it is not a file of this machine.
    state: tuple[int, int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.state = _state(self.source) if isinstance(self.source, str) else None

    @property
    def examples(self) -> int:
        """About how many it has; 0 if that is not known."""
        return 0

    def place(self, at: Fraction) -> int:
        """Return where the file is cut for a size: here before or after it."""
        return int(at > 0)

    def segment(self, begin: int, end: int) -> Segment:
        """Return what lies between two places."""
        return Segment(self.source, state=self.state)


class _InMemory(_File):
    """A batch, cut at any row."""

    @property
    def examples(self) -> int:
        return len(self.source)

    def place(self, at: Fraction) -> int:
        return int(at * len(self.source) / self.size)

    def segment(self, begin: int, end: int) -> Segment:
        return Segment(self.source.slice(begin, end))


@dataclass
class _Table(_File):
    """A table, cut at any unit."""

    units: int
    rows: int

    @property
    def examples(self) -> int:
        return self.rows

    def place(self, at: Fraction) -> int:
        return int(at * self.units / self.size)

    def segment(self, begin: int, end: int) -> Segment:
        return Segment(self.source, begin, end, state=self.state, is_text=False)


class _Lines(_File):
    """Text, cut after the last line that ends within a size."""

    def place(self, at: Fraction) -> int:
        end = int(at)
        if end == self.size:
            return end
        with open(self.source, "rb") as file:
            while end > 0:
                begin = max(0, end - _LINE_BLOCK)
                file.seek(begin)
                found = file.read(end - begin).rfind(b"\n")
                if found >= 0:
                    return begin + found + 1
                end = begin
        return 0

    def segment(self, begin: int, end: int) -> Segment:
        return Segment(self.source, begin, end, state=self.state)


@dataclass
class _Records(_File):
    """Text with quotes, cut after the last record that ends within a size; it is read once from its beginning."""

    header: int
    delimiter: str
    max_record_bytes: int
    #: Ends of records, about one in every block.
    _ends: list[int] = field(default_factory=lambda: [0])
    _is_whole: bool = False

    def place(self, at: Fraction) -> int:
        target = int(at)
        if target == self.size:
            return target
        while self._ends[-1] <= target and not self._is_whole:
            self._scan()
        known = self._ends[bisect.bisect_right(self._ends, target) - 1]
        with open(self.source, "rb") as file:
            file.seek(known)
            return self._after_header(known + self._end(file.read(target - known)))

    def _scan(self) -> None:
        """Find the end of the last record in the next block, or of the record that fills it."""
        known, size = self._ends[-1], _RECORD_BLOCK
        with open(self.source, "rb") as file:
            file.seek(known)
            block = file.read(size)
            while not (end := self._end(block)) and (more := file.read(len(block))):
                if len(block) > self.max_record_bytes:
                    raise DataError(
                        f"a record must have at most {self.max_record_bytes} bytes; is a quote not closed?",
                        source=self.source,
                    )
                block += more
        self._is_whole = not end or known + end >= self.size
        self._ends.append(known + end if end else self.size)

    def _end(self, text: bytes) -> int:
        return last_csv_end(np.frombuffer(text, dtype=np.uint8), self.delimiter)

    def _after_header(self, end: int) -> int:
        return end if end > self.header else 0

    def segment(self, begin: int, end: int) -> Segment:
        return Segment(self.source, begin, end, self.header, self.state)
