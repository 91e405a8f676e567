"""Opening sources: files, patterns, URLs, pipes and standard input, decompressed if necessary."""

from __future__ import annotations

import codecs
import errno
import glob
import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event
from typing import Any, BinaryIO

from scwlearn.data.io.decompress import Decompressed, compression_of, may_be_compressed
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.remote import RemoteFile, find_remote, is_url, without_credentials
from scwlearn.data.io.transcode import Transcoded

#: A path or URL, or a file open for reading bytes.
Source = str | os.PathLike[str] | BinaryIO | io.RawIOBase | RemoteFile

#: The path that stands for standard input.
STDIN = "-"

# How long to wait for a silent pipe before looking whether to stop (milliseconds).
_POLL_TIME = 100
#: Largest number of bytes that are inspected to find out the format.
HEAD_BYTES = 2**16
# Byte order marks. That of UTF-32 comes first: in little-endian order, it begins with that of UTF-16.
_BOMS = {
    "UTF-8": (codecs.BOM_UTF8,),
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def check_source(source: Any) -> None:
    """Raise a TypeError if `source` is neither a path nor a binary file."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("source is a file in text mode; open it with mode='rb' or pass its .buffer")
    if not (isinstance(source, str | os.PathLike | RemoteFile) or hasattr(source, "read")):
        raise TypeError(f"source must be a path or a binary file, got {source!r}")


def source_name(source: Source) -> str:
    """Return the name of a source for messages."""
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    if name in ("<stdin>", STDIN):
        return "standard input"
    return without_credentials(name) if isinstance(name, str) else "the file"


def expand_sources(sources: Iterable[Source]) -> list[Source]:
    """Return the sources with each pattern (``*``, ``?``, ``[...]``, ``**``) replaced by its files, sorted.

    A path that exists is that file, even if it looks like a pattern or a URL. Raises FileNotFoundError for a missing
    file before any file is read.
    """
    expanded: list[Source] = []
    for source in sources:
        check_source(source)
        if not isinstance(source, str | os.PathLike) or source == STDIN:
            expanded.append(source)
            continue
        path = os.fspath(source)
        exists = os.path.lexists(path)
        if is_url(path) and not exists:
            expanded += find_remote(path)
            continue
        if exists or not glob.has_magic(path):
            os.stat(path)
            expanded.append(path)
            continue
        found = sorted(match for match in glob.glob(path, recursive=True) if not os.path.isdir(match))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", path)
        expanded += found
    return expanded


@contextmanager
def open_source(source: Source, on_read: Callable[[int], None] | None = None) -> Iterator[Stream]:
    """Open a source for reading bytes, decompressed, in UTF-8 and without a byte order mark.

    Compression (gzip, bzip2, xz, zstd) is recognized by the first bytes, not by the name. UTF-16 and UTF-32 are
    recognized by their byte order mark. Sources are only read, never rewound, so pipes work.

    Parameters
    ----------
    source : path, URL, "-" or binary file
        "-" is standard input. A file that is passed open stays open.
    on_read : callable or None
        Called with the number of bytes of each read from the source, before decompression.

    Yields
    ------
    Stream
        A binary file with `peek`.

    Raises
    ------
    DataError
        If the data is compressed with zstd and no decoder is installed.

    Examples
    --------
    >>> import gzip, io
    >>> from scwlearn.data.io.streams import open_source
    >>> with open_source(io.BytesIO(gzip.compress(b"+1 3:0.5\\n"))) as stream:
    ...     stream.read()
    b'+1 3:0.5\\n'
    """
    check_source(source)
    name, stopped = source_name(source), Event()
    if source == STDIN:
        if sys.stdin is None:
            raise DataError("closed; there is nothing to read", source=name)
        source = sys.stdin.buffer
    with _opened(source) as file:
        stream = Stream(file, name, stopped, on_read)
        compression = compression_of(stream.peek(lambda head: not may_be_compressed(head)))
        if compression is not None:
            stream = Stream(Decompressed(stream, compression, name, stopped), name, stopped)
        head = stream.peek(lambda head: not any(bom.startswith(head) for boms in _BOMS.values() for bom in boms))
        encoding = encoding_of(head)
        if encoding == "UTF-8":
            stream.skip(len(codecs.BOM_UTF8))
        elif encoding is not None:
            stream = Stream(Transcoded(stream, encoding, name), name, stopped)
        yield stream


def encoding_of(head: bytes) -> str | None:
    """Return the encoding that a byte order mark at the beginning of text names, or None."""
    return next((each for each, boms in _BOMS.items() if head.startswith(boms)), None)


def _opened(source: Source) -> AbstractContextManager[Any]:
    """Open a source, unless it is an open file."""
    if isinstance(source, str) and is_url(source) and not os.path.lexists(source):
        found = find_remote(source)
        if len(found) > 1:
            raise DataError(f"a pattern that {len(found)} files match; give one of them", source=source_name(source))
        source = found[0]
    if isinstance(source, RemoteFile):
        return source.open()
    return open(source, "rb", buffering=0) if isinstance(source, str | os.PathLike) else nullcontext(source)


class Stream(io.RawIOBase):
    """Binary file that can be peeked at. It can seek if the underlying file can: not in pipes or compressed data."""

    def __init__(self, file: Any, name: str, stopped: Event, on_read: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.name = name
        #: When set, a read that waits for a pipe returns as if the pipe had ended.
        self.stopped = stopped
        self._file = file
        self._into = _pipe_reader(file, stopped) or getattr(file, "readinto", None)
        self._next = b""
        self._error: Exception | None = None
        self._on_read = on_read
        self._begin = _position(file)
        #: Which units of a table to read; None for all.
        self.units: range | None = getattr(file, "units", None)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and return the number of bytes: 0 at the end, or when stopped."""
        view = memoryview(memory).cast("B")
        if not self._next:
            return self._read(view)
        count = min(len(view), len(self._next))
        view[:count] = self._next[:count]
        self._next = self._next[count:]
        return count

    def _read(self, view: memoryview) -> int:
        if self._error is not None:
            raise self._error
        if self._into is not None:
            count = self._into(view)
        else:
            data = self._file.read(len(view))
            count = None if data is None else len(data)
            view[: count or 0] = data or b""
        if count is None:
            raise BlockingIOError(f"{self.name} is in non-blocking mode; open it in blocking mode")
        if self._on_read is not None:
            self._on_read(int(count))
        return int(count)

    def peek(self, enough: Callable[[bytes], bool], most: int = HEAD_BYTES) -> bytes:
        """Return the next bytes without consuming them: as many as `enough` asks for, up to `most`."""
        while len(self._next) < most and not enough(self._next):
            buffer = bytearray(most - len(self._next))
            count = self._read(memoryview(buffer))
            if not count:
                break
            self._next += buffer[:count]
        return self._next

    def ahead(self, count: int) -> bytes:
        """Return the next bytes without consuming them; an error that comes earlier is raised when they are read."""
        try:
            self.peek(lambda head: False, count)
        except (DataError, OSError) as error:
            self._error = error
        return self._next[:count]

    def skip(self, count: int) -> None:
        """Drop bytes at the beginning that have been peeked at."""
        self._next = self._next[count:]
        self._begin += count

    def seekable(self) -> bool:
        """Return whether the underlying file can seek."""
        can = getattr(self._file, "seekable", None)
        return can is not None and bool(can())

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to an offset, counted from where the file stood when it was opened."""
        if whence == os.SEEK_CUR:
            offset, whence = offset + self.tell(), os.SEEK_SET
        at = self._file.seek(offset + self._begin if whence == os.SEEK_SET else offset, whence)
        self._next = b""
        return int(at) - self._begin

    def tell(self) -> int:
        """Return the offset, counted from where the file stood when it was opened."""
        return int(self._file.tell()) - len(self._next) - self._begin


def _position(file: Any) -> int:
    """Return where a file stands, or 0 if it cannot seek. Whether it can is not asked: it may take a request."""
    try:
        return int(file.tell())
    except (AttributeError, OSError):
        return 0


def _pipe_reader(file: Any, stopped: Event) -> Callable[[memoryview], int] | None:
    """Return a function that reads from a pipe or terminal; None for other files.

    A thread inside a blocking read cannot be stopped, and Python aborts at exit if one blocks on standard input. So the
    function polls, and reads only what is there.
    """
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.FileIO) or stat.S_ISREG(os.fstat(raw.fileno()).st_mode) or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(raw, select.POLLIN)
    # Polling does not see what a BufferedReader holds: the first read empties it, and later ones bypass it.
    buffered = file if isinstance(file, io.BufferedReader) else None
    left = b""

    def read(view: memoryview) -> int:
        nonlocal buffered, left
        while not left and not poll.poll(_POLL_TIME):
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
