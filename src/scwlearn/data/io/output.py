"""Opening outputs: atomically replaced files, pipes and open files, compressed by suffix."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO

from scwlearn._util.atomic import atomic_file
from scwlearn._util.special import open_special
from scwlearn.data.io.decompress import import_zstd

Target = str | os.PathLike[str] | BinaryIO


@contextmanager
def open_output(target: Target, *, before_replacing: Callable[[], object] = lambda: None) -> Iterator[Any]:
    """Open a file for writing, compressed if its suffix says so. An existing file is replaced only on success.

    A device or a pipe, or a file that is already open, such as /dev/stdout, is written directly. `before_replacing` is
    called once the output is complete; if it raises an error, an existing file is not replaced.
    """
    if not isinstance(target, str | os.PathLike):
        with _Borrowed(target) as borrowed:
            yield borrowed
            borrowed.flush()
        before_replacing()
        return
    path = os.fspath(target)
    special = open_special(path)
    try:
        with (
            special or atomic_file(path, before_replacing=before_replacing) as file,
            _compressed(file, path) as compressed,
            _Borrowed(compressed) as borrowed,
        ):
            yield borrowed
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = path
        raise
    if special is not None:
        before_replacing()


class _Borrowed(io.RawIOBase):
    """File for a writer that cannot close it, nor write to it after the block.

    Writers of other libraries complete and close their files even when they are discarded after an error or Ctrl-C.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file: BinaryIO | None = file

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Discard what is written from now on."""
        self._file = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of the data, even if the file takes less at a time."""
        left = size = memoryview(data).nbytes
        while left and self._file is not None:
            taken = self._file.write(data)
            if taken == 0 or (taken is None and isinstance(self._file, io.RawIOBase)):
                raise BlockingIOError("the output is in non-blocking mode; open it in blocking mode")
            # File-like objects may not return how much they took.
            left -= left if taken is None else taken
            if left > 0:
                data = memoryview(data).cast("B")[-left:]
        return size

    def flush(self) -> None:
        """Flush the file."""
        if self._file is not None and hasattr(self._file, "flush"):
            self._file.flush()

    def close(self) -> None:
        """Do nothing: the file belongs to the caller."""


@contextmanager
def _compressed(file: BinaryIO, path: str) -> Iterator[Any]:
    compress = _COMPRESSORS.get(os.path.splitext(path)[1].lower())
    if compress is None:
        yield file
        return
    borrowed = _Borrowed(file)
    try:
        opened = compress(borrowed)
    except ImportError:
        raise ValueError(f"{path}: zstd needs the package backports.zstd: pip install 'scwlearn[zstd]'") from None
    with opened as compressed:
        try:
            yield compressed
        except BaseException:
            # With the trailer, the reader of a pipe would take the data for complete.
            borrowed.discard()
            raise


_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    # Without name and time: the same examples make the same file.
    ".gz": lambda file: import_module("gzip").GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    ".bz2": lambda file: import_module("bz2").BZ2File(file, "wb"),
    ".xz": lambda file: import_module("lzma").LZMAFile(file, "wb"),
    ".zst": lambda file: import_zstd().ZstdFile(file, "wb"),
}
