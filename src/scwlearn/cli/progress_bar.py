"""The progress bar on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from scwlearn.cli.console import Pace


class _PaceColumn(ProgressColumn):
    """Percentage, elapsed and remaining time; Rich's own estimate would count work of an earlier run."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(Column(no_wrap=True))
        self._pace = pace

    def render(self, task: Task) -> Text:
        return Text(str(self._pace))


class Bar:
    """Progress reporter with a bar, and notes above it."""

    def __init__(self, what: str, pace: Pace, display: Progress) -> None:
        self._what, self._pace, self._display = what, pace, display
        self._task = display.add_task(what, total=1.0)

    def advance(self, amount: float, note: str = "") -> None:
        """Move the bar."""
        self._pace.now += amount
        description = f"{self._what}: {note}" if note else self._what
        self._display.update(self._task, completed=self._pace.share, description=description)

    def done_before(self, amount: float) -> None:
        """Move the bar without counting the amount as speed."""
        self._pace.before += amount
        self._display.update(self._task, completed=self._pace.share)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._display.console.print(text, soft_wrap=True)


@contextmanager
def bar(what: str, pace: Pace) -> Iterator[Bar]:
    """Show a bar while the block runs."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    # On a narrow terminal the bar shrinks: a second line would stay behind.
    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(),
        _PaceColumn(pace),
    )
    # Remove the bar at the end, so that later notes follow those above it.
    with Progress(*columns, console=console, transient=True) as display:
        yield Bar(what, pace, display)
