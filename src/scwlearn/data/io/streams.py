"""From what a user names to bytes: files, pipes, standard input, compressed or not, told by what is in them."""

from __future__ import annotations

import errno
import glob
import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, BinaryIO

from scwlearn.data.io.decompress import Unpacked, may_be_packed, packed_as

#: A path, or a file that is open for reading bytes.
Source = str | os.PathLike[str] | BinaryIO | io.RawIOBase

#: What stands for standard input.
STDIN = "-"

# How long to wait at a time for a pipe that has nothing to say (milliseconds).
_WAIT = 100
#: How much is looked at, at most, to see what it is.
HEAD_BYTES = 2**16
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


def check_source(source: Any) -> None:
    """A TypeError for what is neither a path nor a binary file."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("source is a file in text mode; open it with mode='rb' or pass its .buffer")
    if not (isinstance(source, str | os.PathLike) or hasattr(source, "read")):
        raise TypeError(f"source must be a path or a binary file, got {source!r}")


def name_of(source: Source) -> str:
    """What to call a source in a message."""
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    if name in ("<stdin>", STDIN):
        return "standard input"
    return name if isinstance(name, str) else "the file"


def expand(sources: Iterable[Source]) -> list[Source]:
    """Patterns (``*``, ``?``, ``[...]``, ``**``) that no shell has expanded become the files they match, in order.

    What exists under the very name is that file. A file that is missing is an error here, before any is read.
    """
    expanded: list[Source] = []
    for source in sources:
        check_source(source)
        if not isinstance(source, str | os.PathLike) or source == STDIN:
            expanded.append(source)
            continue
        path = os.fspath(source)
        if os.path.lexists(path) or not glob.has_magic(path):
            os.stat(path)
            expanded.append(path)
            continue
        found = sorted(match for match in glob.glob(path, recursive=True) if not os.path.isdir(match))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", path)
        expanded += found
    return expanded


@contextmanager
def open_source(source: Source, stopped: Event | None = None) -> Iterator[Stream]:
    """The bytes of a path, of standard input (``"-"``) or of a binary file, which stays open.

    They are unpacked where they are compressed (gzip, bzip2, xz, zstd: their first bytes tell, not the name), and
    without the mark that UTF-8 may begin with. Nothing is asked of the source but reading: pipes will do. What
    `open_source` gave is taken as it is. When `stopped` is set, a read that waits for a pipe ends, as if the pipe had.

    Examples
    --------
    >>> import gzip, io
    >>> from scwlearn.data.io.streams import open_source
    >>> with open_source(io.BytesIO(gzip.compress(b"+1 3:0.5\\n"))) as stream:
    ...     stream.read()
    b'+1 3:0.5\\n'
    """
    check_source(source)
    stopped = Event() if stopped is None else stopped
    if isinstance(source, Stream):
        yield source
    elif source == STDIN:
        if sys.stdin is None:
            raise ValueError("standard input is closed; there is nothing to read from it")
        yield _unpacked(sys.stdin.buffer, name_of(source), stopped)
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb", buffering=0) as file:
            yield _unpacked(file, name_of(source), stopped)
    else:
        yield _unpacked(source, name_of(source), stopped)


def stop_of(source: Source) -> Event:
    """What to set when nobody wants more of a source, opened or yet to be opened."""
    return source.stopped if isinstance(source, Stream) else Event()


class Stream(io.RawIOBase):
    """Bytes that can be looked at before they are read. It can seek where the file can: not in pipes, nor unpacked."""

    def __init__(self, file: Any, name: str, stopped: Event) -> None:
        super().__init__()
        self.name = name
        #: A read that waits for a pipe ends when this is set, as if the pipe had ended.
        self.stopped = stopped
        self._file = file
        self._into = _pipe_reader(file, stopped) or getattr(file, "readinto", None)
        self._next = b""
        self._begin = int(file.tell()) if self.seekable() else 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and say how much: 0 at the end, or when stopped."""
        view = memoryview(memory).cast("B")
        if not self._next:
            return self._read(view)
        count = min(len(view), len(self._next))
        view[:count] = self._next[:count]
        self._next = self._next[count:]
        return count

    def _read(self, view: memoryview) -> int:
        if self._into is not None:
            count = self._into(view)
        else:
            data = self._file.read(len(view))
            count = None if data is None else len(data)
            view[: count or 0] = data or b""
        if count is None:
            raise BlockingIOError(f"{self.name} does not wait for more to read; open it in blocking mode")
        return int(count)

    def peek(self, enough: Callable[[bytes], bool], most: int = HEAD_BYTES) -> bytes:
        """What comes next, which stays to be read: as much as there has to be for `enough`, up to `most` bytes."""
        while len(self._next) < most and not enough(self._next):
            buffer = bytearray(most - len(self._next))
            count = self._read(memoryview(buffer))
            if not count:
                break
            self._next += buffer[:count]
        return self._next

    def skip(self, count: int) -> None:
        """Leave out bytes at the beginning that were peeked at."""
        self._next = self._next[count:]
        self._begin += count

    def seekable(self) -> bool:
        """Whether the file can."""
        can = getattr(self._file, "seekable", None)
        return can is not None and bool(can())

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place, counted from the beginning: where the file stood when it was opened."""
        if whence == os.SEEK_CUR:
            offset, whence = offset + self.tell(), os.SEEK_SET
        at = self._file.seek(offset + self._begin if whence == os.SEEK_SET else offset, whence)
        self._next = b""
        return int(at) - self._begin

    def tell(self) -> int:
        """Where it stands, counted from the beginning."""
        return int(self._file.tell()) - len(self._next) - self._begin


def _unpacked(file: Any, name: str, stopped: Event) -> Stream:
    stream = Stream(file, name, stopped)
    kind = packed_as(stream.peek(lambda head: not may_be_packed(head)))
    if kind is not None:
        stream = Stream(Unpacked(stream, kind, name, stopped), name, stopped)
    head = stream.peek(lambda head: len(head) >= len(_BOM) or not _BOM.startswith(head))
    if head.startswith(_BOM):
        stream.skip(len(_BOM))
    if head.startswith(_WIDE_BOMS):
        raise ValueError(f"{name} is UTF-16 text; UTF-8 is read: iconv -f UTF-16 -t UTF-8 turns the one into the other")
    return stream


def _pipe_reader(file: Any, stopped: Event) -> Callable[[memoryview], int] | None:
    """How to read from a pipe or a terminal; None for what is neither.

    A thread that waits inside a read cannot be stopped, and Python aborts at its end if it finds one in standard input.
    So we wait outside, and read what is there.
    """
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.FileIO) or stat.S_ISREG(os.fstat(raw.fileno()).st_mode) or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(raw, select.POLLIN)
    # What a buffer holds cannot be waited for. It is emptied by the first read, and left alone from then on.
    buffered = file if isinstance(file, io.BufferedReader) else None
    left = b""

    def read(view: memoryview) -> int:
        nonlocal buffered, left
        while not left and not poll.poll(_WAIT):
            if stopped.is_set():
                return 0
        if buffered is not None:
            left = buffered.peek()
            buffered.read(len(left))
            buffered = None
        elif not left:
            return raw.readinto(view)
        count = min(len(view), len(left))
        view[:count] = left[:count]
        left = left[count:]
        return count

    return read
