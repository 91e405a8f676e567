"""Download files with a size limit, resuming after a broken connection."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from scwlearn import __version__
from scwlearn.data.io.streams import open_source

TIMEOUT = 30.0
_CHUNK_BYTES = 2**16
_ATTEMPTS = 3

#: Called with the share of a file that is present, and whether it was present before this run.
Progress = Callable[[float, bool], None]


class DownloadError(OSError):
    """A file that could not be downloaded, with the reason."""


class _BrokenConnection(Exception):
    """The connection broke; what was received is kept."""


def download(url: str, file: Path, *, max_bytes: int, progress: Progress, timeout: float = TIMEOUT) -> bool:
    """Download a file, resuming an incomplete one; return whether it was put together from several responses.

    Such a file has to be checked: the server's file may have changed in between.
    """
    joined = False
    for _ in range(_ATTEMPTS):
        joined |= _size(file) > 0
        try:
            _request(url, file, max_bytes, progress, timeout)
        except _BrokenConnection as error:
            reason = error
        else:
            return joined
    raise DownloadError(f"the connection broke {_ATTEMPTS} times ({reason}); {_size(file)} bytes are kept")


def _request(url: str, file: Path, max_bytes: int, progress: Progress, timeout: float) -> None:
    present = _size(file)
    headers = {"User-Agent": f"scwlearn/{__version__}"} | ({"Range": f"bytes={present}-"} if present else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            if error.code != 416 or not present:
                raise DownloadError(f"the server answered {error.code} {error.reason}") from None
            # Nothing follows: the file is complete, or it is not the server's file.
            if error.headers.get("Content-Range") != f"bytes */{present}":
                file.unlink(missing_ok=True)
                raise _BrokenConnection("the server has another file") from None
            progress(1.0, True)
            return
    except URLError as error:
        raise DownloadError(f"no connection ({error.reason})") from None
    except (OSError, HTTPException) as error:
        raise _BrokenConnection(error or "no answer") from None
    with response:
        resumed = response.status == 206 and str(response.headers.get("Content-Range")).startswith(f"bytes {present}-")
        if response.status == 206 and not resumed:
            file.unlink(missing_ok=True)
            raise _BrokenConnection("the server sent another range than requested")
        _save(response, file, present if resumed else 0, max_bytes, progress)


def _save(response: Any, file: Path, start: int, max_bytes: int, progress: Progress) -> None:
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else None
    count = start
    if total is not None and start:
        progress(start / total, True)
    with open(file, "ab" if start else "wb") as out:
        for chunk in _chunks(response):
            count += len(chunk)
            if max(count, total or 0) > max_bytes:
                break
            out.write(chunk)
            if total is not None:
                progress(count / total, False)
    if max(count, total or 0) > max_bytes:
        file.unlink(missing_ok=True)
        raise DownloadError(f"the file is larger than the allowed {max_bytes} bytes")
    if total is not None and count < total:
        raise _BrokenConnection(f"received {count} of {total} bytes")


def _chunks(response: Any) -> Iterator[bytes]:
    """Read a response; only errors of the connection count as broken, not those of our disk."""
    try:
        while chunk := response.read(_CHUNK_BYTES):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _BrokenConnection(error) from None


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextmanager
def open_limited(path: Path, max_bytes: int) -> Iterator[BinaryIO]:
    """Open a file, decompressing it; raise ValueError beyond `max_bytes`: a small file may decompress to a huge one."""
    with open_source(path) as stream:
        yield io.BufferedReader(_Limited(stream, max_bytes), 2**20)


class _Limited(io.RawIOBase):
    def __init__(self, file: Any, max_bytes: int) -> None:
        self._file, self._max_bytes, self._left = file, max_bytes, max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        count: int = self._file.readinto(memory)
        self._left -= count
        if self._left < 0:
            raise ValueError(f"the file is larger than the allowed {self._max_bytes} bytes")
        return count
