"""Output to the terminal: notes and progress on standard error, results on standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from scwlearn._util.progress import ProgressReporter

#: Seconds between two lines of progress if standard error is not a terminal.
PERIOD = 10.0
_QUARTERS = (0.25, 0.5, 0.75)
# Wide enough that no table is truncated in a file; a table takes only the width that it needs.
_UNLIMITED = 1000


class Pace:
    """Share of the work that is done, time elapsed, and time remaining at the speed of this run."""

    def __init__(self, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.now, self.before = total, 0.0, 0.0
        self._clock, self._start = clock, clock()

    @property
    def share(self) -> float:
        """Share of the work that is done, from 0 to 1."""
        return min(1.0, (self.now + self.before) / self.total) if self.total > 0 else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float | None:
        """Estimated seconds to go; None while there is no estimate."""
        left = self.total - self.now - self.before
        if left <= 0:
            return 0.0
        return self.elapsed * left / self.now if self.now > 0 else None

    def __str__(self) -> str:
        left = "" if self.remaining is None else f", {duration(self.remaining)} to go"
        return f"{self.share:.0%}, {duration(self.elapsed)}{left}"


def duration(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Silent:
    """Progress reporter that prints nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Do nothing."""

    def done_before(self, amount: float) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class Lines(Silent):
    """Progress reporter for files and pipes: a line every PERIOD seconds, and one at each quarter."""

    def __init__(self, what: str, pace: Pace) -> None:
        self._what, self._pace = what, pace
        self._last, self._quarters = 0.0, 0
        self.note(f"{what}: started")

    def advance(self, amount: float, note: str = "") -> None:
        """Print a line if one is due."""
        self._pace.now += amount
        quarters = self._quarters_done()
        if quarters > self._quarters or self._pace.elapsed - self._last >= PERIOD:
            self._last, self._quarters = self._pace.elapsed, quarters
            self.note(f"{self._what}: {self._pace}{note and f' ({note})'}")

    def done_before(self, amount: float) -> None:
        """Count the amount; the next line shows it."""
        self._pace.before += amount
        self._quarters = self._quarters_done()

    def note(self, text: str) -> None:
        """Print a line and flush it."""
        print(text, file=sys.stderr, flush=True)

    def _quarters_done(self) -> int:
        return sum(self._pace.share >= share for share in _QUARTERS)


class Terminal:
    """Standard error of a command: progress, and notes above the bar if there is one; nothing if quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._bar: ProgressReporter | None = None

    @property
    def has_bar(self) -> bool:
        """Whether progress is shown as a bar, because standard error is a terminal."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def note(self, text: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.note(text)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, total: float, what: str) -> Iterator[ProgressReporter]:
        """Report progress while the block runs: a bar on a terminal, lines elsewhere, nothing if quiet."""
        pace = Pace(total)
        if self.quiet:
            yield Silent()
        elif self.has_bar:
            from scwlearn.cli.progress_bar import bar

            with bar(what, pace) as self._bar:
                yield self._bar
            self._bar = None
        else:
            lines = Lines(what, pace)
            yield lines
            lines.note(f"{what}: done in {duration(pace.elapsed)}")


def output() -> Console:
    """Return a console for results, without markup: brackets are printed as they are."""
    from rich.console import Console  # takes longer to import than some commands run

    width = None if sys.stdout.isatty() else _UNLIMITED
    return Console(width=width, markup=False, highlight=False, emoji=False)
