"""Sets from their public sources into a data directory: nothing gets its name before its content is checked."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from scwlearn._util.atomic import lock_file
from scwlearn._util.progress import ProgressReporter
from scwlearn.datasets.content import Examples, content_sha256, write_examples
from scwlearn.datasets.declare import NamedSet, Part
from scwlearn.datasets.download import TIMEOUT, DownloadError, download, unpacked
from scwlearn.datasets.load import state_of
from scwlearn.datasets.sources import Source

# What is left of the bar for reading, checking and packing.
_DOWNLOADED = 0.9


class FetchError(OSError):
    """A set that could not be had: what was tried, and what one can do."""


def fetch(named: NamedSet, cache: Path, report: ProgressReporter, *, timeout: float = TIMEOUT) -> list[Path]:
    """The files of a set in `cache`, fetched unless they are there and good; where they are. Each counts as 1."""
    for part in named.parts:
        _fetch_part(named, part, cache, report, timeout)
    return [cache / part.path for part in named.parts]


def _fetch_part(named: NamedSet, part: Part, cache: Path, report: ProgressReporter, timeout: float) -> None:
    path = cache / part.path
    state = state_of(part, cache)
    if state == "good":
        report.done_before(1.0)
        return
    if not part.sources:
        found = "is another one" if state == "different" else "is missing"
        raise FetchError(
            f"{named.name} cannot be fetched, and {path} {found}. It has to be made by hand, as LIBSVM text packed "
            f"with xz: {part.by_hand}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    share = _Share(report, named.name)
    with _one_at_a_time(cache, report):
        # Who was waited for may have fetched it.
        if state_of(part, cache) != "good":
            _from_sources(named, part, path, share, timeout)
        share.reached(1.0)


def _from_sources(named: NamedSet, part: Part, path: Path, share: _Share, timeout: float) -> None:
    """Write the file from the first source that has it, or say what each of them answered."""
    failures = []
    for source in part.sources:
        try:
            examples = _examples(source, part, path.parent, share, timeout)
        except DownloadError as error:
            failures.append(str(error))
        else:
            write_examples(path, *examples)
            for used in part.sources:
                _forget(used, path.parent)
            return
    raise FetchError(
        "\n  ".join([f"{named.name}: {part.path} could not be fetched:", *failures])
        + f"\nTry again later (what came is kept), or put the file into a directory as {part.path} and name the "
        "directory with --data-dir or SCWLEARN_DATA"
    )


def _examples(
    source: Source, part: Part, folder: Path, share: _Share, timeout: float, *, again: bool = True
) -> Examples:
    """The examples that a source has; an error unless their checksum is that of the part."""
    joined = False
    for i, url in enumerate(source.urls):
        progress = partial(share.of_file, i, len(source.urls))
        try:
            joined |= download(url, _loading(url, folder), limit=source.limit, progress=progress, timeout=timeout)
        except DownloadError as error:
            raise DownloadError(f"{url}: {error}") from None
    try:
        return _converted(source, part, folder)
    except ValueError as error:
        _forget(source, folder)
        # What was put together may be pieces of two files. What came in one piece is simply wrong.
        if joined and again:
            return _examples(source, part, folder, share, timeout, again=False)
        raise DownloadError(f"{source.urls[0]}: {error}; nothing of it is kept") from None


def _converted(source: Source, part: Part, folder: Path) -> Examples:
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(unpacked(_loading(url, folder), source.limit)) for url in source.urls]
            x, labels = source.read(files)
    # gzip and bz2 say OSError of a broken file.
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"it cannot be read ({error})") from None
    found = content_sha256(x, labels)
    if found != part.sha256:
        raise ValueError(f"it has other content than expected (sha256 {found}, not {part.sha256})")
    return x, labels


def _loading(url: str, folder: Path) -> Path:
    """Where a file is while it comes. Copies of the same name elsewhere are other files."""
    return folder / f"{url.rpartition('/')[2]}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"


def _forget(source: Source, folder: Path) -> None:
    for url in source.urls:
        _loading(url, folder).unlink(missing_ok=True)


class _Share:
    """How far one file is, from 0 to 1; a second try does not go back."""

    def __init__(self, report: ProgressReporter, note: str) -> None:
        self._report, self._note, self._reached = report, note, 0.0

    def of_file(self, i: int, count: int, share: float, before: bool) -> None:
        """How far the i-th of so many downloads is."""
        self.reached(_DOWNLOADED * (i + share) / count, before)

    def reached(self, share: float, before: bool = False) -> None:
        more = share - self._reached
        if more <= 0:
            return
        self._reached = share
        if before:
            self._report.done_before(more)
        else:
            self._report.advance(more, self._note)


@contextmanager
def _one_at_a_time(cache: Path, report: ProgressReporter) -> Iterator[None]:
    """Two processes that write to the same .part would spoil it."""
    with open(cache / ".lock", "wb") as file:
        if not lock_file(file):
            report.note(f"waiting for another process that fetches into {cache}")
            lock_file(file, wait=True)
        yield
