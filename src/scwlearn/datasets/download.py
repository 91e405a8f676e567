"""A file from a web server: one that was cut goes on where it stopped, one that is too long is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from scwlearn import __version__

TIMEOUT = 30.0
_CHUNK = 2**16
_ATTEMPTS = 3
_PACKED: dict[bytes, Callable[[Path], Any]] = {b"\xfd7zXZ\0": lzma.open, b"BZh": bz2.open, b"\x1f\x8b": gzip.open}

#: Told which share of a file is there, and whether it was before this run.
Progress = Callable[[float, bool], None]


class DownloadError(OSError):
    """A file that could not be had, and why."""


class _CutError(Exception):
    """The connection broke; what came before is kept."""


def download(url: str, file: Path, *, limit: int, progress: Progress, timeout: float = TIMEOUT) -> bool:
    """Everything that the server has, in `file`, behind what is in it already; whether it was put together.

    A file that was put together from several answers is right only if its checksum is: the server's may have changed
    in between.
    """
    joined = False
    for _ in range(_ATTEMPTS):
        joined |= _size(file) > 0
        try:
            _get(url, file, limit, progress, timeout)
        except _CutError as cut:
            reason = cut
        else:
            return joined
    raise DownloadError(f"the connection broke {_ATTEMPTS} times ({reason}); {_size(file)} bytes are kept")


def _get(url: str, file: Path, limit: int, progress: Progress, timeout: float) -> None:
    have = _size(file)
    headers = {"User-Agent": f"scwlearn/{__version__}"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            if error.code != 416 or not have:
                raise DownloadError(f"the server answered {error.code} {error.reason}") from None
            # Nothing follows what we have: either it is all, or it is no beginning of what the server has.
            if error.headers.get("Content-Range") != f"bytes */{have}":
                file.unlink(missing_ok=True)
                raise _CutError("the server has another file") from None
            progress(1.0, True)
            return
    except URLError as error:
        raise DownloadError(f"no connection ({error.reason})") from None
    except (OSError, HTTPException) as error:
        raise _CutError(error or "no answer") from None
    with answer:
        goes_on = answer.status == 206 and str(answer.headers.get("Content-Range")).startswith(f"bytes {have}-")
        if answer.status == 206 and not goes_on:
            file.unlink(missing_ok=True)
            raise _CutError("the server sent another range than was asked for")
        _save(answer, file, have if goes_on else 0, limit, progress)


def _save(answer: Any, file: Path, start: int, limit: int, progress: Progress) -> None:
    length = answer.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else None
    count = start
    if total is not None and start:
        progress(start / total, True)
    with open(file, "ab" if start else "wb") as out:
        for chunk in _chunks(answer):
            count += len(chunk)
            if count > limit or (total or 0) > limit:
                break
            out.write(chunk)
            if total is not None:
                progress(count / total, False)
    if count > limit or (total or 0) > limit:
        file.unlink(missing_ok=True)
        raise DownloadError(f"the answer is longer than the {limit} bytes that are allowed")
    if total is not None and count < total:
        raise _CutError(f"{count} of {total} bytes came")


def _chunks(answer: Any) -> Iterator[bytes]:
    """What the server sends. Only its faults count as a cut, not those of our disk."""
    try:
        while chunk := answer.read(_CHUNK):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _CutError(error) from None


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def unpacked(path: Path, limit: int) -> BinaryIO:
    """The file open, through whatever packed it, which its first bytes say; an error beyond `limit` bytes."""
    with open(path, "rb") as file:
        beginning = file.read(8)
    opener = next((how for magic, how in _PACKED.items() if beginning.startswith(magic)), None)
    return io.BufferedReader(_Limited(opener(path) if opener else open(path, "rb"), limit), 2**20)


class _Limited(io.RawIOBase):
    """A file that may be read so far and no further: a small packed file can be large inside."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._limit = self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        view = memoryview(memory)
        data = self._file.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"it is longer than the {self._limit} bytes that are allowed")
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
