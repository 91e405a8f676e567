"""Temporary files and directories, locked by their process, so that a later one removes what a killed one has left."""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from functools import cache
from typing import BinaryIO
from zlib import crc32

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Whether this system can lock files; without locks, nothing is taken for a leftover.
HAS_LOCKS = fcntl is not None

# The system releases the lock of a process when that ends, so a temporary file that can be locked was left by a killed
# process. On network file systems, locks may be known to one machine only: the name has a mark of the machine, and the
# files of others are left alone for a day.
_FOR_OTHERS = 24 * 3600
_SUFFIX = ".scwlearn.tmp"


def temporary_path(directory: str, mark: str) -> str:
    """Return a new path in a directory; `mark`, with which the name begins, says what it is for."""
    return os.path.join(directory, f"{mark}{_machine()}.{os.urandom(8).hex()}{_SUFFIX}")


def create_file(path: str, mode: int) -> int:
    """Create a file and return its descriptor; raise FileExistsError if there is one."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)


def open_locked(path: str) -> BinaryIO | None:
    """Create a file for its user alone, and lock it; return None if another process took it for a leftover."""
    file = open(create_file(path, 0o600), "r+b")  # noqa: SIM115
    if _is_locked(file.fileno(), path):
        return file
    file.close()
    return None


def make_locked_directory(parent: str, mark: str) -> tuple[str, int | None]:
    """Make a directory for its user alone; return its path, and the descriptor that has its lock while it is open."""
    while True:
        path = temporary_path(parent, mark)
        os.mkdir(path, 0o700)
        if not HAS_LOCKS:
            return path, None
        # If it is gone, another process took it for a leftover.
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            if _is_locked(descriptor, path):
                return path, descriptor
            os.close(descriptor)


def remove_leftovers(directory: str, mark: str) -> None:
    """Remove the temporary files and directories with this mark whose processes were killed."""
    if not HAS_LOCKS:
        return
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(mark) and name.endswith(_SUFFIX):
                with suppress(OSError):
                    _remove_leftover(os.path.join(directory, name), ours=name.startswith(mark + _machine()))


def lock_file(file: BinaryIO | int, *, wait: bool = False) -> bool:
    """Lock an open file against other processes until it is closed; return whether that succeeded.

    The system releases the lock of a killed process. Without support for locks, every process succeeds.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        pass
    return True


@cache
def _machine() -> str:
    """Return a mark of this machine since its start; containers on it have the same."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            known = file.read()
    except OSError:
        known = os.uname().nodename.encode() if hasattr(os, "uname") else b""
    return f"{crc32(known):08x}"


def _is_locked(descriptor: int, path: str) -> bool:
    """Lock a new file or directory; return whether it is still there."""
    try:
        return lock_file(descriptor) and os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove_leftover(path: str, *, ours: bool) -> None:
    descriptor = _open_leftover(path)
    try:
        found = os.fstat(descriptor)
        is_directory = stat.S_ISDIR(found.st_mode)
        # In a directory that everybody may write to, another user's may hold anything.
        if not (found.st_uid == os.geteuid() if is_directory else stat.S_ISREG(found.st_mode)):
            return
        if not (ours or time.time() - found.st_mtime > _FOR_OTHERS):
            return
        # Raises an OSError where it is locked, or nothing can be.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_directory:
            shutil.rmtree(path)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)


def _open_leftover(path: str) -> int:
    # No link is followed, and no pipe waited for.
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags)
    except IsADirectoryError:
        return os.open(path, os.O_RDONLY | flags)
