"""Container of a model: a safetensors file with a format version and a checksum over all of its bytes.

The metadata begins as _PREFIX says in this and all later formats, so that an older library can tell a file of a newer
format from a damaged one. The checksum is the SHA-256 of the file with zeros in place of its own 64 digits.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from itertools import chain, cycle
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NamedTuple, NoReturn

from numpy.typing import NDArray

from scwlearn import __version__
from scwlearn._util.atomic import Path, atomic_file, check_path, start_writeback
from scwlearn._util.memory import receive, start_thread
from scwlearn.files import safetensors
from scwlearn.files.json_reader import InvalidModelFile, read_fields

#: Format of the files that this version writes, and the newest that it reads.
FORMAT = 1

_ZEROS = b"0" * 64
_PREFIX = re.compile(
    rb'\{"__metadata__":\{"format":"scwlearn","version":"(\d{1,9})","library":"([0-9A-Za-z.+-]{1,64})",'
    rb'"checksum":"([0-9a-f]{64})",'
)
_MAX_PREFIX_BYTES = 512
_CHUNK_BYTES = 2**22


class _Metadata(NamedTuple):
    """The metadata of the header."""

    format: str
    version: str
    library: str
    checksum: str
    model: str


class Contents(NamedTuple):
    """Content of a container: JSON text, arrays, and the version of the library that wrote it."""

    text: str
    arrays: dict[str, NDArray[Any]]
    library: str


def write_container(path: Path, text: str, arrays: safetensors.Arrays) -> None:
    """Write a file atomically. The checksum covers exactly the chunks that are written."""
    metadata = _Metadata("scwlearn", str(FORMAT), __version__, _ZEROS.decode(), text)
    chunks = safetensors.encode(metadata._asdict(), arrays)
    header = bytes(next(chunks))
    # Copies, because another thread may be changing the arrays; one is added to the checksum while the other is filled.
    copies = cycle((bytearray(), bytearray()))
    with atomic_file(path) as file, _Checksum() as checksum:
        for chunk, copy in zip(chain([header], chunks), copies, strict=False):
            copy[:] = chunk
            checksum.add(copy)
            file.write(copy)
            start_writeback(file, len(copy))
        file.seek(header.index(_ZEROS))
        file.write(checksum.hexdigest().encode())


class _Checksum:
    """SHA-256 that a thread computes while another one writes the same bytes."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._begun: SimpleQueue[bytearray | None] = SimpleQueue()
        self._done: SimpleQueue[None] = SimpleQueue()
        self._thread: Thread | None = None

    def __enter__(self) -> _Checksum:
        thread = Thread(target=self._run, name="scwlearn checksum", daemon=True)
        # There are no new threads when Python exits, where a model may be saved, too.
        self._thread = thread if start_thread(thread) else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._begun.put(None)
            self._thread.join()

    def add(self, chunk: bytearray) -> None:
        """Begin to add a chunk, which must stay as it is until the next call of `add` or `hexdigest` returns."""
        if self._thread is None:
            self._sha256.update(chunk)
        else:
            receive(self._done, [self._thread])
            self._begun.put(chunk)

    def hexdigest(self) -> str:
        """Return the checksum of all chunks."""
        if self._thread is not None:
            receive(self._done, [self._thread])
        return self._sha256.hexdigest()

    def _run(self) -> None:
        # A lack of memory ends the thread, which the other one notices.
        with suppress(MemoryError):
            self._done.put(None)
            while (chunk := self._begun.get()) is not None:
                self._sha256.update(chunk)
                self._done.put(None)


def read_container(path: Path) -> Contents:
    """Read a file after verifying its checksum."""
    mode = os.stat(check_path(path)).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        # Opening a pipe could block forever.
        raise InvalidModelFile("not a regular file")
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        library = _verify(file, before.st_size)
        metadata, arrays = safetensors.decode(file, before.st_size)
        text = read_fields(_Metadata, metadata, "__metadata__").model
        after = os.fstat(file.fileno())
        if (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size):
            # The checksum may be that of the earlier content.
            raise InvalidModelFile("the file changed while it was read")
        return Contents(text, arrays, library)


def _verify(file: BinaryIO, size: int) -> str:
    """Check prefix, checksum and format; return the version of the library that wrote the file."""
    start = file.read(_MAX_PREFIX_BYTES)
    prefix = _PREFIX.match(start, 8)
    if not prefix:
        _raise_no_prefix(start)
    version, library, checksum = (group.decode() for group in prefix.groups())
    actual = hashlib.sha256(start[: prefix.start(3)] + _ZEROS + start[prefix.end(3) :])
    while chunk := file.read(_CHUNK_BYTES):
        actual.update(chunk)
    if actual.hexdigest() != checksum:
        _raise_damaged(file, size)
    if int(version) > FORMAT:
        raise InvalidModelFile(
            f"format {version}, written by scwlearn {library}, is newer than this version ({__version__}) can read; "
            "update scwlearn"
        )
    if int(version) != FORMAT:
        raise InvalidModelFile(f"unknown format {version}")
    return library


def _raise_no_prefix(start: bytes) -> NoReturn:
    if not start:
        raise InvalidModelFile("the file is empty")
    if b'"format":"scwlearn"' in start:
        raise InvalidModelFile("damaged model file: the first fields of the header are wrong")
    raise InvalidModelFile("not a scwlearn model file")


def _raise_damaged(file: BinaryIO, size: int) -> NoReturn:
    """Explain a wrong checksum by the size that the header describes, where possible."""
    expected = safetensors.described_size(file, size)
    if expected > size:
        raise InvalidModelFile(f"truncated model file: {size} of {expected} bytes")
    if expected < size:
        raise InvalidModelFile(f"damaged model file: {size} bytes, expected {expected}")
    raise InvalidModelFile("damaged model file: wrong checksum")
