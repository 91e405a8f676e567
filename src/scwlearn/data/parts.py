"""Data cut into parts: text at the ends of records, tables at rows, other files whole."""

from __future__ import annotations

import bisect
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from scwlearn._native import last_csv_end, split_csv
from scwlearn.data.batch import Batch, LabelKind
from scwlearn.data.formats import get_format
from scwlearn.data.io.decompress import compression_of
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.remote import RemoteFile
from scwlearn.data.io.streams import HEAD_BYTES, STDIN, Source, encoding_of, expand_sources, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from scwlearn.data.segments import Segment, read_segment, state_of

# Bytes that are searched for the end of a line or record at a time.
_LINE_BLOCK, _RECORD_BLOCK = 2**16, 2**22


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
    label_kind = LabelKind()
    for segment in part.segments:
        with closing(read_segment(segment, schema, options)) as batches:
            for batch in batches:
                label_kind.check(batch)
                yield batch


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
    """Return how many bytes precede the records, a mark and the line that names the columns, and the delimiter."""
    from scwlearn.data.tables.delimited import find_delimiter, has_record

    mark = len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0
    delimiter = "\t" if schema.format == "tsv" else find_delimiter(schema, lambda enough: head[mark:])
    if schema.header is False:
        return mark, delimiter
    with open(source, "rb") as file:
        file.seek(mark)
        text = file.read(HEAD_BYTES)
        while not has_record(text, delimiter) and (more := file.read(len(text))):
            text += more
    end = split_csv(np.frombuffer(text.removesuffix(b"\n") + b"\n", dtype=np.uint8), delimiter, 1)[2]
    return mark + end, delimiter


@dataclass
class _File:
    """A file that stays whole."""

    source: Any
    size: int
    #: Size and time of the last change; None if it is not a file of this machine.
    state: tuple[int, int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.state = state_of(self.source) if isinstance(self.source, str) else None

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
        return Segment(self.source, begin, end, state=self.state, cut_at="units")


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
    """Text with quotes, cut after the last record that ends within a size; it is read once, from its first record."""

    header: int
    delimiter: str
    max_record_bytes: int
    #: Ends of records, about one in every block, after that of the header.
    _ends: list[int] = field(init=False)
    _is_whole: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._ends = [self.header]

    def place(self, at: Fraction) -> int:
        target = int(at)
        if target == self.size:
            return target
        if target <= self.header:
            return 0
        while self._ends[-1] <= target and not self._is_whole:
            self._scan()
        known = self._ends[bisect.bisect_right(self._ends, target) - 1]
        with open(self.source, "rb") as file:
            file.seek(known)
            end = known + self._end(file.read(target - known))
        return end if end > self.header else 0

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

    def segment(self, begin: int, end: int) -> Segment:
        return Segment(self.source, begin, end, self.header, self.state, "records")
