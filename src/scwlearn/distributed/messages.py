"""Messages between processes of this machine: pickles through pipes, with large bytes in files beside them.

A model that goes through a pipe would be copied several times, also by the process in the middle, which never looks
at it. So a worker writes it to a file, in memory where the system offers that, and sends the path. The client holds it
as a `StoredBytes` and passes it on, and the next worker maps the file.
"""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from mmap import ACCESS_READ, mmap
from typing import Any, BinaryIO
from weakref import finalize

from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.temporary import make_locked_directory, remove_leftovers

_LENGTH = 8
# Fewer bytes go through the pipe.
_LARGE = 2**16
_IN_MEMORY = "/dev/shm"
# Begins the names of directories, and tells leftovers of killed processes from the directories of others.
_MARK = "scwlearn-"
# Errors after which the next directory may have room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Storage:
    """Directories for large bytes; the next is used when one is full.

    Parameters
    ----------
    directories : sequence of str
        Where to write.
    """

    def __init__(self, directories: Sequence[str]) -> None:
        self.directories = directories

    def put(self, content: bytes) -> str:
        """Write a new file and return its path."""
        *others, last = self.directories
        for directory in others:
            try:
                return _new_file(directory, content)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
        return _new_file(last, content)


class OwnStorage(Storage):
    """Directories of this process, in memory and on disk, which exist until `close`.

    They are locked: those of killed processes are removed by the next one.
    """

    def __init__(self) -> None:
        parents = [_IN_MEMORY] if os.access(_IN_MEMORY, os.W_OK) else []
        directories: list[str] = []
        locks: list[int] = []
        super().__init__(directories)
        self.close = finalize(self, _remove_directories, directories, locks, os.getpid())
        for parent in (*parents, tempfile.gettempdir()):
            remove_leftovers(parent, _MARK)
            with interrupts_held():
                path, lock = make_locked_directory(parent, _MARK)
                directories.append(path)
                if lock is not None:
                    locks.append(lock)


class StoredBytes:
    """Bytes in a file, which is removed when this object is."""

    def __init__(self, path: str) -> None:
        self.path = path
        finalize(self, _remove_file, path, os.getpid())

    def __bytes__(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def __len__(self) -> int:
        return os.path.getsize(self.path)


# A process that was forked from the owner removes nothing.


def _remove_directories(directories: Sequence[str], locks: Sequence[int], owner: int) -> None:
    if os.getpid() == owner:
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)
    for lock in locks:
        os.close(lock)


def _remove_file(path: str, owner: int) -> None:
    if os.getpid() == owner:
        with suppress(OSError):
            os.unlink(path)


def _new_file(directory: str, content: bytes) -> str:
    file, path = tempfile.mkstemp(dir=directory)
    try:
        with open(file, "wb", buffering=0) as raw:
            _write(raw, content)
    except BaseException:
        os.unlink(path)
        raise
    return path


def _write(raw: Any, content: bytes) -> None:
    """Write all of it; an unbuffered file may write less at a time."""
    left = memoryview(content)
    while left:
        left = left[raw.write(left) :]


class _Pickler(pickle.Pickler):
    def __init__(self, file: BinaryIO, storage: Storage | None) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._storage = storage

    def persistent_id(self, value: Any) -> str | None:
        if isinstance(value, StoredBytes):
            return value.path
        if self._storage is None or not isinstance(value, bytes) or len(value) < _LARGE:
            return None
        return self._storage.put(value)


class _Mapping(pickle.Unpickler):
    def persistent_load(self, path: str) -> mmap:
        with open(path, "rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)


class _Keeping(pickle.Unpickler):
    def persistent_load(self, path: str) -> StoredBytes:
        return StoredBytes(path)


def send(file: BinaryIO, message: Any, storage: Storage | None = None) -> None:
    """Write a message; with a storage, large bytes go there."""
    pickled = BytesIO()
    _Pickler(pickled, storage).dump(message)
    content = pickled.getbuffer()
    file.write(len(content).to_bytes(_LENGTH, "little"))
    file.write(content)
    file.flush()


def receive(file: BinaryIO, *, keep: bool = False) -> Any:
    """Read a message, with large bytes mapped, or with `keep` as `StoredBytes`.

    Raises EOFError if the other side has ended.
    """
    content = BytesIO(_read(file, int.from_bytes(_read(file, _LENGTH), "little")))
    return (_Keeping if keep else _Mapping)(content).load()


def _read(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return content
