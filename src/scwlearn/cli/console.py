"""Output to the terminal: notes and progress on standard error, results on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from scwlearn.display.formatting import without_controls

if TYPE_CHECKING:
    from rich.progress import Progress

#: Seconds between two lines of progress if standard error is not a terminal.
PERIOD = 10.0


class Silent:
    """Progress reporter that prints nothing; keeps the share of the work that is done and the time remaining."""

    def __init__(self, what: str, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._total = what, total
        self._now = self._before = 0.0
        self._clock, self._start = clock, clock()

    @property
    def share(self) -> float:
        """Share of the work that is done, from 0 to 1."""
        return min(1.0, (self._now + self._before) / self._total) if self._total > 0 else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float | None:
        """Estimated seconds to go, at the speed of this run; None while there is no estimate."""
        left = self._total - self._now - self._before
        if left <= 0:
            return 0.0
        return self.elapsed * left / self._now if self._now > 0 else None

    def __str__(self) -> str:
        left = "" if self.remaining is None else f", {duration(self.remaining)} to go"
        return f"{self.share:.0%}, {duration(self.elapsed)}{left}"

    def advance(self, amount: float, note: str = "") -> None:
        """Count work that is done."""
        self._now += amount

    def done_before(self, amount: float) -> None:
        """Count work of an earlier run, which says nothing about the speed; the next advance shows it."""
        self._before += amount

    def note(self, text: str) -> None:
        """Print nothing."""


class Lines(Silent):
    """Progress reporter for files and pipes: a line every PERIOD seconds, and one at each quarter."""

    def __init__(self, what: str, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(what, total, clock)
        self._last, self._quarters = 0.0, 0
        self.note(f"{what}: started")

    def advance(self, amount: float, note: str = "") -> None:
        """Print a line if one is due."""
        super().advance(amount)
        quarters = min(3, int(4 * self.share))
        if quarters > self._quarters or self.elapsed - self._last >= PERIOD:
            self._last, self._quarters = self.elapsed, quarters
            self.note(f"{self._what}: {self}{note and f' ({note})'}")

    def note(self, text: str) -> None:
        """Print a line and flush it."""
        print(without_controls(text), file=sys.stderr, flush=True)


class Bar(Silent):
    """Progress reporter for a terminal: a bar, and notes above it."""

    def __init__(self, what: str, total: float, display: Progress) -> None:
        super().__init__(what, total)
        # Rich's own estimate of the time would count work of an earlier run.
        self._display, self._task = display, display.add_task(what, total=1.0, pace=self)

    def advance(self, amount: float, note: str = "") -> None:
        """Move the bar."""
        super().advance(amount)
        description = f"{self._what}: {note}" if note else self._what
        self._display.update(self._task, completed=self.share, description=description)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._display.console.print(without_controls(text), soft_wrap=True)


@contextmanager
def bar(what: str, total: float) -> Iterator[Bar]:
    """Show a bar while the block runs."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    # On a narrow terminal the bar shrinks: a second line would stay behind.
    texts = [
        TextColumn(text, markup=False, table_column=Column(no_wrap=True))
        for text in ("{task.description}", "{task.fields[pace]}")
    ]
    # Remove the bar at the end, so that later notes follow those above it.
    with Progress(texts[0], BarColumn(), texts[1], console=console, transient=True) as display:
        yield Bar(what, total, display)


def duration(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Terminal:
    """Standard error of a command: progress, and notes above the bar if there is one; nothing if quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._bar: Bar | None = None

    @property
    def has_bar(self) -> bool:
        """Whether progress is shown as a bar, because standard error is a terminal."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def note(self, text: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.note(text)
        elif not self.quiet:
            print(without_controls(text), file=sys.stderr, flush=True)

    def warn(self, texts: Iterable[str]) -> None:
        """Print warnings, one per line."""
        for text in texts:
            self.note(f"warning: {text}")

    @contextmanager
    def progress(self, total: float, what: str) -> Iterator[Silent]:
        """Report progress while the block runs: a bar on a terminal, lines elsewhere, nothing if quiet."""
        if self.quiet:
            yield Silent(what, total)
        elif self.has_bar:
            with bar(what, total) as self._bar:
                yield self._bar
            self._bar = None
        else:
            lines = Lines(what, total)
            yield lines
            lines.note(f"{what}: done in {duration(lines.elapsed)}")


def columns(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Return the lines of a table; the columns numbered in `right` are aligned to the right."""
    table = [*rows]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = []
    for row in table:
        padded = zip(row, widths, strict=True)
        cells = [cell.rjust(width) if n in right else cell.ljust(width) for n, (cell, width) in enumerate(padded)]
        lines.append("  ".join(cells).rstrip())
    return lines


def print_text(text: str) -> None:
    """Print lines of text for people."""
    click.echo(without_controls(text))


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; a dataclass is an object with its fields."""
    click.echo(json.dumps(value, ensure_ascii=False, default=asdict))
