"""Fetch data sets from their public sources into a data directory, checking the content of every file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from scwlearn._util.atomic import lock_file
from scwlearn._util.progress import ProgressReporter
from scwlearn.datasets.content import Labelled, content_sha256, write_labelled
from scwlearn.datasets.declare import DataFile, NamedSet
from scwlearn.datasets.download import TIMEOUT, DownloadError, download, open_limited
from scwlearn.datasets.load import file_state
from scwlearn.datasets.sources import Source

# Share of the progress of a file that is its download; the rest is checking and compressing.
_DOWNLOAD_SHARE = 0.9


class FetchError(OSError):
    """A data set that could not be fetched: what was tried, and what to do."""


def fetch(named: NamedSet, cache: Path, report: ProgressReporter, *, timeout: float = TIMEOUT) -> list[Path]:
    """Fetch the files of a data set that are missing or different; return their paths. Each file counts as 1."""
    for file in named.files:
        _fetch_file(named, file, cache, report, timeout)
    return [cache / file.path for file in named.files]


def _fetch_file(named: NamedSet, file: DataFile, cache: Path, report: ProgressReporter, timeout: float) -> None:
    path = cache / file.path
    state = file_state(file, cache)
    if state == "good":
        report.done_before(1.0)
        return
    if not file.sources:
        found = "has other content" if state == "different" else "is missing"
        raise FetchError(
            f"{named.name} cannot be fetched, and {path} {found}. Make it by hand, as LIBSVM text compressed with xz: "
            f"{file.by_hand}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    progress = _FileProgress(report, named.name)
    with _locked(cache, report):
        # Another process may have fetched it in the meantime.
        if file_state(file, cache) != "good":
            _from_sources(named, file, path, progress, timeout)
        progress.reach(1.0)


def _from_sources(named: NamedSet, file: DataFile, path: Path, progress: _FileProgress, timeout: float) -> None:
    """Write a file from the first source that has it."""
    failures = []
    for source in file.sources:
        try:
            found = _from_source(source, file, path.parent, progress, timeout)
        except DownloadError as error:
            failures.append(str(error))
        else:
            write_labelled(path, *found)
            for used in file.sources:
                _remove_downloads(used, path.parent)
            return
    raise FetchError(
        "\n  ".join([f"{named.name}: {file.path} could not be fetched:", *failures])
        + f"\nTry again later (what was received is kept), or put the file into a directory as {file.path} and name "
        "the directory with --data-dir or SCWLEARN_DATA"
    )


def _from_source(
    source: Source, file: DataFile, folder: Path, progress: _FileProgress, timeout: float, *, retry: bool = True
) -> Labelled:
    """Download and convert the files of a source, and check the result."""
    joined = False
    for i, url in enumerate(source.urls):
        target, report = _download_path(url, folder), partial(progress.downloaded, i, len(source.urls))
        try:
            joined |= download(url, target, max_bytes=source.max_bytes, progress=report, timeout=timeout)
        except DownloadError as error:
            raise DownloadError(f"{url}: {error}") from None
    try:
        return _converted(source, file, folder)
    except ValueError as error:
        _remove_downloads(source, folder)
        # A file put together from several responses may mix two versions; any other is simply wrong.
        if joined and retry:
            return _from_source(source, file, folder, progress, timeout, retry=False)
        raise DownloadError(f"{source.urls[0]}: {error}; nothing was kept") from None


def _converted(source: Source, file: DataFile, folder: Path) -> Labelled:
    with ExitStack() as stack:
        files = [
            stack.enter_context(open_limited(_download_path(url, folder), source.max_bytes)) for url in source.urls
        ]
        x, labels = source.read(files)
    found = content_sha256(x, labels)
    if found != file.sha256:
        raise ValueError(f"other content than expected (sha256 {found}, not {file.sha256})")
    return x, labels


def _download_path(url: str, folder: Path) -> Path:
    """Return the path of an unfinished download; sources may have files of the same name."""
    return folder / f"{url.rpartition('/')[2]}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"


def _remove_downloads(source: Source, folder: Path) -> None:
    for url in source.urls:
        _download_path(url, folder).unlink(missing_ok=True)


class _FileProgress:
    """The progress of one file from 0 to 1; a second attempt does not move it back."""

    def __init__(self, report: ProgressReporter, note: str) -> None:
        self._report, self._note, self._reached = report, note, 0.0

    def downloaded(self, i: int, count: int, share: float, before: bool) -> None:
        """Report the share of the i-th of `count` downloads."""
        self.reach(_DOWNLOAD_SHARE * (i + share) / count, before)

    def reach(self, share: float, before: bool = False) -> None:
        """Report the share of the whole file."""
        more = share - self._reached
        if more <= 0:
            return
        self._reached = share
        if before:
            self._report.done_before(more)
        else:
            self._report.advance(more, self._note)


@contextmanager
def _locked(cache: Path, report: ProgressReporter) -> Iterator[None]:
    """Let one process at a time write unfinished downloads."""
    with open(cache / ".lock", "wb") as file:
        if not lock_file(file):
            report.note(f"waiting for another process that fetches into {cache}")
            lock_file(file, wait=True)
        yield
