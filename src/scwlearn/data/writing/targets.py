"""Where examples are written to: files that are whole or not there, pipes, files of others; compressed as named."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO

from scwlearn._util.atomic import atomic_file

Target = str | os.PathLike[str] | BinaryIO


@contextmanager
def opened(target: Target) -> Iterator[Any]:
    """A file to write to, compressed as its name says. What was there is replaced when all went well, not before."""
    if not isinstance(target, str | os.PathLike):
        with _Lent(target) as lent:
            yield lent
        return
    path = os.path.realpath(os.fspath(target))
    with _place(path) as file, _packed(file, path) as packed, _Lent(packed) as lent:
        yield lent


def _place(path: str) -> AbstractContextManager[BinaryIO]:
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        # A pipe or a terminal: there is nothing to replace. A directory says so itself.
        return open(path, "wb")
    return atomic_file(path)


class _Lent:
    """A file for a writer, which can neither close it nor write to it when the block is over.

    Writers of others complete and close their files also when they are thrown away after an error, or Ctrl-C.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.take_back()

    def take_back(self) -> None:
        """What is written from here on is lost."""
        self._file = None

    def write(self, data: Any) -> int:
        """Write all of it, also to a file that takes less at a time."""
        left = size = memoryview(data).nbytes
        while left and self._file is not None:
            taken = self._file.write(data)
            if taken == 0 or (taken is None and isinstance(self._file, io.RawIOBase)):
                raise BlockingIOError("the file does not wait until it can take more; open it in blocking mode")
            # Files of others may not say how much they took.
            left -= left if taken is None else taken
            if left > 0:
                data = memoryview(data).cast("B")[-left:]
        return size

    def flush(self) -> None:
        """Pass on what has been written."""
        if self._file is not None and hasattr(self._file, "flush"):
            self._file.flush()

    def close(self) -> None:
        """Nothing."""

    def readable(self) -> bool:
        """No."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """No: it is written from beginning to end."""
        return False


@contextmanager
def _packed(file: BinaryIO, path: str) -> Iterator[Any]:
    pack = _PACKERS.get(os.path.splitext(path)[1].lower())
    if pack is None:
        yield file
        return
    lent = _Lent(file)
    with pack(lent, path) as packed:
        try:
            yield packed
        except BaseException:
            # With what comes at its end, whoever reads a pipe would take it for whole.
            lent.take_back()
            raise


def _gzip(file: Any, path: str) -> Any:
    import gzip

    # Without name and time: the same examples make the same file.
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)


def _bz2(file: Any, path: str) -> Any:
    import bz2

    return bz2.BZ2File(file, "wb")


def _xz(file: Any, path: str) -> Any:
    import lzma

    return lzma.LZMAFile(file, "wb")


def _zstd(file: Any, path: str) -> Any:
    from importlib import import_module

    try:
        return import_module("compression.zstd").ZstdFile(file, "wb")  # from Python 3.14 on
    except ImportError:
        pass
    try:
        return import_module("zstandard").ZstdCompressor().stream_writer(file, closefd=False)
    except ImportError:
        message = "is to be compressed with zstd, which needs the package zstandard: pip install 'scwlearn[zstd]'"
        raise ValueError(f"{path} {message}") from None


_PACKERS = {".gz": _gzip, ".bz2": _bz2, ".xz": _xz, ".zst": _zstd}
