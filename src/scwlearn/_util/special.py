"""Outputs that cannot be replaced, and are written directly: devices, pipes, and files that are already open."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

Path = str | os.PathLike[str]

# Directories with an entry for each open file of this process.
_OPEN_FILES = ("/dev/fd", "/proc/self/fd", "/proc/thread-self/fd")
#: Symbolic links that are followed, as by Linux.
MOST_LINKS = 40


def open_special(path: Path) -> BinaryIO | None:
    """Open a character device, a pipe or a file that is already open for writing; return None for any other path.

    What is already open, as in /dev/stdout or /dev/fd/3, is continued where it stands.
    """
    if not is_special(path):
        return None
    number = open_descriptor(path)
    try:
        if number is not None:
            descriptor = os.dup(number)
        else:
            descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    return open(descriptor, "wb")


@contextmanager
def whole_special(path: Path) -> Iterator[Any]:
    """Open a temporary file, the content of which is written to a special path when the block ends without an error."""
    # Imported here because few programs need them, and they import all modules of compression.
    from shutil import copyfileobj
    from tempfile import TemporaryFile

    with TemporaryFile() as whole:
        yield whole
        whole.seek(0)
        special = open_special(path)
        if special is None:
            raise FileNotFoundError(errno.ENOENT, "no longer a device or a pipe", os.fspath(path))
        try:
            with special:
                copyfileobj(whole, special)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def is_special(path: Path) -> bool:
    """Return whether a path names a character device, a pipe or a file that is already open."""
    if open_descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def names_directory(path: Path) -> bool:
    """Return whether a path can only be a directory: it ends with a slash, a dot or two dots.

    Such a path must be refused before it is resolved, because notes.txt/ becomes the file notes.txt.
    """
    return os.path.basename(os.fspath(path)) in ("", os.curdir, os.pardir)


def open_descriptor(path: Path) -> int | None:
    """Return the descriptor that a path such as /dev/stdout or /proc/self/fd/1 stands for, or None.

    The file behind such a path must not be replaced: standard output may have been redirected to the end of a log.
    """
    place = os.path.abspath(path)
    for _ in range(MOST_LINKS):
        directory, name = os.path.split(place)
        if name.isascii() and name.isdecimal() and os.path.realpath(directory) in map(os.path.realpath, _OPEN_FILES):
            return int(name)
        try:
            place = os.path.join(directory, os.readlink(place))
        except OSError:
            return None
    return None
