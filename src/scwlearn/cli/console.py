"""What the commands share on the screen: progress on stderr, results on stdout."""

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

#: Seconds between two lines of progress where there is no terminal.
PERIOD = 10.0
_MILESTONES = (0.25, 0.5, 0.75)
# So that no table is cut when it goes to a file; it takes the width that it needs.
_NO_LIMIT = 1000


class Pace:
    """How much is done, how long it took, and how long the rest will take at the speed of this run."""

    def __init__(self, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.now, self.before = total, 0.0, 0.0
        self._clock, self._start = clock, clock()

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, (self.now + self.before) / self.total) if self.total > 0 else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds, or None as long as nothing can be said."""
        left = self.total - self.now - self.before
        if left <= 0:
            return 0.0
        return self.elapsed * left / self.now if self.now > 0 else None

    def __str__(self) -> str:
        left = "" if self.remaining is None else f", {duration(self.remaining)} to go"
        return f"{self.share:.0%}, {duration(self.elapsed)}{left}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Silent:
    """Says nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Nothing."""

    def done_before(self, amount: float) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Lines:
    """A line now and then, for files and pipes: at most one in PERIOD seconds, and one at each quarter."""

    def __init__(self, what: str, pace: Pace) -> None:
        self._what, self._pace = what, pace
        self._last, self._quarters = 0.0, 0
        self.note(f"{what}: started")

    def advance(self, amount: float, note: str = "") -> None:
        """A line if it is time for one."""
        self._pace.now += amount
        quarters = sum(self._pace.share >= share for share in _MILESTONES)
        if quarters > self._quarters or self._pace.elapsed - self._last >= PERIOD:
            self._last, self._quarters = self._pace.elapsed, quarters
            self.note(f"{self._what}: {self._pace}{note and f' ({note})'}")

    def done_before(self, amount: float) -> None:
        """Counted; the next line shows it."""
        self._pace.before += amount
        self._quarters = sum(self._pace.share >= share for share in _MILESTONES)

    def note(self, text: str) -> None:
        """The line, at once: who follows a file wants to see it."""
        print(text, file=sys.stderr, flush=True)


def has_terminal() -> bool:
    """Whether somebody looks at stderr who can see a bar move."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(total: float, quiet: bool, what: str) -> Iterator[ProgressReporter]:
    """Progress on stderr while the block runs: a bar on a terminal, lines elsewhere, nothing if quiet."""
    if quiet:
        yield Silent()
        return
    pace = Pace(total)
    if has_terminal():
        from scwlearn.cli.progress_bar import bar

        with bar(what, pace) as report:
            yield report
        return
    lines = Lines(what, pace)
    yield lines
    lines.note(f"{what}: done in {duration(pace.elapsed)}")


def output() -> Console:
    """Where results go. In them nothing is markup, and brackets are brackets."""
    from rich.console import Console  # takes longer to load than some commands need

    width = None if sys.stdout.isatty() else _NO_LIMIT
    return Console(width=width, markup=False, highlight=False, emoji=False)
