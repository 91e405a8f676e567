"""Records of delimited text: where they end, which line each begins on, and chunks of whole ones.

A quote opens a cell only where the cell begins, as everywhere where CSV is read; a quote inside of it is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.io.errors import DataError, excerpt
from scwlearn.data.io.streams import Source, Stream, open_source
from scwlearn.data.options import ReaderOptions

#: How much text makes a chunk where nobody says.
CHUNK_BYTES = 2**20

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


class Chunk(NamedTuple):
    """Whole records as text, and the line that they begin on."""

    text: bytes
    line: int
    #: How many lines end in it.
    lines: int


class LongRecord(NamedTuple):
    """What stands in place of a record that is too long to be kept: how it begins, and where."""

    beginning: bytes
    line: int


@dataclass(frozen=True)
class Records:
    """How records are found in text."""

    name: str
    #: What is between cells that may be quoted; None where a record is a line, whatever it holds.
    delimiter: bytes | None
    options: ReaderOptions

    @property
    def chunk_bytes(self) -> int:
        """How much text makes a chunk."""
        return self.options.chunk_bytes or CHUNK_BYTES

    @property
    def max_record_bytes(self) -> int:
        """How long a record may be."""
        return self.options.max_line_bytes if self.delimiter is None else self.options.max_record_bytes

    def chunks(self, source: Source, stopped: Event) -> Generator[Chunk | LongRecord, None, None]:
        """The text of a source in chunks of whole records."""
        with open_source(source, stopped) as stream:
            yield from self._chunks(stream, stopped)

    def _chunks(self, stream: Stream, stopped: Event) -> Iterator[Chunk | LongRecord]:
        rest, line, at_end, size = b"", 1, False, self.chunk_bytes
        while not at_end:
            text, at_end = self._more(stream, rest, size)
            if stopped.is_set():
                return
            end = self._end(text, line) if at_end else self.last_end(text)
            if end:
                chunk = Chunk(text[:end], line, self._lines(text[:end]))
                yield chunk
                line += chunk.lines
            rest = text[end:]
            if len(rest) >= self.max_record_bytes:
                yield LongRecord(rest[:100], line)
                rest = _behind_line(stream, stopped)
                line += 1
            # A record that fills the chunk gets a larger one, until it has been read.
            size = self.chunk_bytes if len(rest) < size else min(2 * size, self.max_record_bytes)

    def _lines(self, text: bytes) -> int:
        # A return is white space in a record that is a line.
        return text.count(b"\n") if self.delimiter is None else line_count(text)

    def _more(self, stream: Stream, rest: bytes, size: int) -> tuple[bytes, bool]:
        """What was left over and as much again as makes it so long; whether it is the last."""
        buffer = bytearray(max(size, len(rest) + 1))
        used = len(rest)
        buffer[:used] = rest
        while used < len(buffer):
            count = stream.readinto(memoryview(buffer)[used:])
            if not count:
                return bytes(buffer[:used]), True
            used += count
            if self.options.eager and buffer.find(b"\n", used - count, used) >= 0:
                break
        return bytes(buffer[:used]), False

    def last_end(self, text: bytes) -> int:
        """Where the last whole record ends."""
        if self.delimiter is None or b'"' not in text:
            return text.rfind(b"\n") + 1
        newlines = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE)
        newlines = newlines[quoted(text, self.delimiter).outside(newlines)]
        return int(newlines[-1]) + 1 if len(newlines) else 0

    def _end(self, text: bytes, line: int) -> int:
        """Where the text ends, if it does not within a quoted cell."""
        if self.delimiter is None or b'"' not in text or quoted(text, self.delimiter).open is None:
            return len(text)
        # Pairs do not tell where a cell with doubled quotes begins.
        place = _quoted_one_by_one(text, self.delimiter).open
        if place is not None:
            at = line + len(breaks(text[:place]))
            problem = "the file ends before this quote is closed"
            raise DataError(problem, found=excerpt(text[place:]), source=self.name, line=at)
        return len(text)


def _behind_line(stream: Stream, stopped: Event) -> bytes:
    """Reads to the end of a line, and returns what was read behind it."""
    buffer = bytearray(2**20)
    while True:
        count = stream.readinto(buffer)
        end = buffer.find(b"\n", 0, count) + 1
        if end or not count or stopped.is_set():
            return bytes(buffer[end:count])


class Spans(NamedTuple):
    """Where quoted cells begin and end, and where one begins that does not end."""

    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    open: int | None

    def outside(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these places lie in no quoted cell."""
        return np.asarray(np.searchsorted(self.begins, places) == np.searchsorted(self.ends, places))


def quoted(text: bytes, delimiter: bytes) -> Spans:
    """The quoted cells of some text that begins with a record."""
    letters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    begins, ends = quotes[0::2], quotes[1::2]
    beside = np.array([delimiter[0], _NEWLINE, _RETURN, _QUOTE], dtype=np.uint8)
    before = letters[begins[begins > 0] - 1]
    after = letters[ends[ends < len(text) - 1] + 1]
    if not (np.isin(before, beside).all() and np.isin(after, beside).all()):
        # Quotes inside of cells that do not begin with one: pairs do not tell.
        return _quoted_one_by_one(text, delimiter)
    return Spans(begins, ends, int(begins[-1]) if len(begins) > len(ends) else None)


def _quoted_one_by_one(text: bytes, delimiter: bytes) -> Spans:
    cell = re.compile(rb'(?<![^\r\n%s])"(?:[^"]++|"")*+("?)' % re.escape(delimiter))
    found = [(match.start(), match.end() - 1, match[1]) for match in cell.finditer(text)]
    closed = [(begin, end) for begin, end, quote in found if quote]
    begins = np.array([begin for begin, _, _ in found], dtype=np.intp)
    ends = np.array([end for _, end in closed], dtype=np.intp)
    return Spans(begins, ends, found[-1][0] if len(found) > len(closed) else None)


def line_count(text: bytes) -> int:
    """How many lines end in some text: with a newline, a return, or both."""
    newlines = text.count(b"\n")
    return newlines + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else newlines


def breaks(text: bytes) -> NDArray[np.intp]:
    """Where lines end in some text."""
    letters = np.frombuffer(text, dtype=np.uint8)
    next_letters = np.append(letters[1:], 0)
    return np.flatnonzero((letters == _NEWLINE) | ((letters == _RETURN) & (next_letters != _NEWLINE)))


def lines_of(chunk: Chunk, delimiter: bytes, count: int) -> NDArray[np.int64]:
    """The line that each of the records begins on, if so many are left when blank lines are left out."""
    text = chunk.text
    if chunk.lines + (not text.endswith((b"\n", b"\r"))) == count:
        return np.arange(chunk.line, chunk.line + count)
    line_ends = breaks(text)
    record_ends = line_ends[quoted(text, delimiter).outside(line_ends)]
    starts = np.append(0, record_ends + 1)
    letters = np.frombuffer(text, dtype=np.uint8)
    starts = starts[starts < len(text)]
    first = letters[starts]
    starts = starts[(first != _NEWLINE) & (first != _RETURN)]
    return np.asarray(chunk.line + np.searchsorted(line_ends, starts), dtype=np.int64)
