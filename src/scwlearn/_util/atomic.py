"""Files that are whole or not there: written beside their place, then put into it in one step."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

Path = str | os.PathLike[str]
Bytes = bytes | bytearray | memoryview


def write_atomically(path: Path, content: Bytes | Iterable[Bytes]) -> None:
    """Write a file as a whole, from bytes or from parts of them.

    What was there stays until the new file is safe on disk.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn._util.atomic import write_atomically
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_atomically(os.path.join(directory, "page.html"), [b"<p>", b"Hello"])
    ...     os.listdir(directory)
    ['page.html']
    """
    with whole_file(path) as file:
        for part in [content] if isinstance(content, Bytes) else content:
            file.write(part)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to and to seek in, which takes its place when the block ends, and never does if it fails.

    Then the temporary file beside it is removed; only a process that is killed leaves one. A link stays: what it points
    to is replaced. The new file has the mode of the old one.
    """
    target = os.path.realpath(path)
    mode = _mode_of(target, path)
    directory = os.path.dirname(target)
    # Its length is fixed, because a name that just fits would not with an ending.
    temporary = os.path.join(directory, f".{os.urandom(8).hex()}.scwlearn.tmp")
    try:
        with _removed_on_failure(temporary):
            # With the mode that the system gives to new files.
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with open(descriptor, "r+b") as file:
                yield file
                file.flush()
                if mode is not None:
                    os.chmod(temporary, mode)
                os.fsync(file.fileno())
            os.replace(temporary, target)
    except OSError as error:
        if error.filename in (None, temporary):
            # Nobody has asked for the temporary file.
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync_directory(directory)


def _mode_of(target: str, path: Path) -> int | None:
    """The mode of a file that is to be replaced; None where there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        # To put a file in the place of a device or a pipe is never what was meant.
        raise OSError(errno.EINVAL, "Not a regular file, which is all that can be replaced", os.fspath(path))
    return stat.S_IMODE(mode)


@contextmanager
def _removed_on_failure(temporary: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _sync_directory(directory: str) -> None:
    # Not every system can do it. The file is whole either way; it is its name that might be lost with the power.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
