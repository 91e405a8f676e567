"""Fetch data sets from their public sources into a data directory, checking the content of every file."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from scwlearn import __version__
from scwlearn._util.progress import ProgressReporter
from scwlearn._util.temporary import lock_file
from scwlearn.data.io.streams import open_source
from scwlearn.datasets.catalogue import DataFile, NamedSet
from scwlearn.datasets.load import content_sha256, file_state, write_labelled
from scwlearn.datasets.sources import Labelled, Source

TIMEOUT = 30.0
_CHUNK_BYTES = 2**16
_ATTEMPTS = 3
# Share of the progress of a file that is its download; the rest is checking and compressing.
_DOWNLOAD_SHARE = 0.9

#: Called with the share of a file that is present, and whether it was present before this run.
_Progress = Callable[[float, bool], None]


class FetchError(OSError):
    """A data set that could not be fetched: what was tried, and what to do."""


class _DownloadError(OSError):
    """A file that could not be downloaded, with the reason."""


class _BrokenConnection(Exception):
    """The connection broke; what was received is kept."""


def fetch(named: NamedSet, cache: Path, report: ProgressReporter, *, timeout: float = TIMEOUT) -> list[Path]:
    """Fetch the files of a data set that are missing or different; return their paths. Each file counts as 1."""
    for file in named.files:
        _FileFetcher(named.name, file, cache, report, timeout).run()
    return [cache / file.path for file in named.files]


class _FileFetcher:
    """Fetcher of one file. Its progress goes from 0 to 1; a second attempt does not move it back."""

    def __init__(self, name: str, file: DataFile, cache: Path, report: ProgressReporter, timeout: float) -> None:
        self._name, self._file, self._cache, self._report, self._timeout = name, file, cache, report, timeout
        self._path = cache / file.path
        self._reached = 0.0

    def run(self) -> None:
        state = file_state(self._file, self._cache)
        if state == "good":
            self._report.done_before(1.0)
            return
        if not self._file.sources:
            found = "has other content" if state == "different" else "is missing"
            raise FetchError(
                f"{self._name} cannot be fetched, and {self._path} {found}. Make it by hand, as LIBSVM text compressed "
                f"with xz: {self._file.by_hand}"
            )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # One process at a time writes unfinished downloads.
        with open(self._cache / ".lock", "wb") as lock:
            if not lock_file(lock):
                self._report.note(f"waiting for another process that fetches into {self._cache}")
                lock_file(lock, wait=True)
            # Another process may have fetched the file in the meantime.
            if file_state(self._file, self._cache) != "good":
                write_labelled(self._path, *self._from_sources())
                for source in self._file.sources:
                    self._remove_downloads(source)
            self._reach(1.0, False)

    def _from_sources(self) -> Labelled:
        """Return the content of the file from the first source that has it."""
        failures = []
        for source in self._file.sources:
            try:
                return self._from_source(source)
            except _DownloadError as error:
                failures.append(str(error))
        path = self._file.path
        raise FetchError(
            "\n  ".join([f"{self._name}: {path} could not be fetched:", *failures])
            + f"\nTry again later (what was received is kept), or put the file into a directory as {path} and name the "
            "directory with --data-dir or SCWLEARN_DATA"
        )

    def _from_source(self, source: Source, *, retry: bool = True) -> Labelled:
        """Download and convert the files of a source, and check the result."""
        joined, count = False, len(source.urls)
        for i, url in enumerate(source.urls):

            def progress(share: float, before: bool, i: int = i) -> None:
                self._reach(_DOWNLOAD_SHARE * (i + share) / count, before)

            try:
                joined |= _download(
                    url, download_path(url, self._path.parent), source.max_bytes, progress, self._timeout
                )
            except _DownloadError as error:
                raise _DownloadError(f"{url}: {error}") from None
        try:
            return self._converted(source)
        except ValueError as error:
            self._remove_downloads(source)
            # A file put together from several responses may mix two versions; any other is simply wrong.
            if joined and retry:
                return self._from_source(source, retry=False)
            raise _DownloadError(f"{source.urls[0]}: {error}; nothing was kept") from None

    def _converted(self, source: Source) -> Labelled:
        with ExitStack() as stack:
            streams = [stack.enter_context(open_source(download_path(url, self._path.parent))) for url in source.urls]
            x, labels = source.read([io.BufferedReader(_Limited(each, source.max_bytes), 2**20) for each in streams])
        found = content_sha256(x, labels)
        if found != self._file.sha256:
            raise ValueError(f"other content than expected (sha256 {found}, not {self._file.sha256})")
        return x, labels

    def _remove_downloads(self, source: Source) -> None:
        for url in source.urls:
            download_path(url, self._path.parent).unlink(missing_ok=True)

    def _reach(self, share: float, before: bool) -> None:
        """Report that a share of the file is done, in this run or before."""
        more = share - self._reached
        if more <= 0:
            return
        self._reached = share
        if before:
            self._report.done_before(more)
        else:
            self._report.advance(more, self._name)


def download_path(url: str, folder: Path) -> Path:
    """Return the path of an unfinished download; sources may have files of the same name."""
    return folder / f"{url.rpartition('/')[2]}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"


def _download(url: str, file: Path, max_bytes: int, progress: _Progress, timeout: float) -> bool:
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
    raise _DownloadError(f"the connection broke {_ATTEMPTS} times ({reason}); {_size(file)} bytes are kept")


def _request(url: str, file: Path, max_bytes: int, progress: _Progress, timeout: float) -> None:
    present = _size(file)
    headers = {"User-Agent": f"scwlearn/{__version__}"} | ({"Range": f"bytes={present}-"} if present else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            if error.code != 416 or not present:
                raise _DownloadError(f"the server answered {error.code} {error.reason}") from None
            # Nothing follows: the file is complete, or it is not the server's file.
            if error.headers.get("Content-Range") != f"bytes */{present}":
                file.unlink(missing_ok=True)
                raise _BrokenConnection("the server has another file") from None
            progress(1.0, True)
            return
    except URLError as error:
        raise _DownloadError(f"no connection ({error.reason})") from None
    except (OSError, HTTPException) as error:
        raise _BrokenConnection(error or "no answer") from None
    with response:
        resumed = response.status == 206 and str(response.headers.get("Content-Range")).startswith(f"bytes {present}-")
        if response.status == 206 and not resumed:
            file.unlink(missing_ok=True)
            raise _BrokenConnection("the server sent another range than requested")
        _save(response, file, present if resumed else 0, max_bytes, progress)


def _save(response: Any, file: Path, start: int, max_bytes: int, progress: _Progress) -> None:
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
        raise _DownloadError(f"the file is larger than the allowed {max_bytes} bytes")
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


class _Limited(io.RawIOBase):
    """File that raises a ValueError beyond `max_bytes`: a small file may decompress to a huge one."""

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
