"""The table of a run, a line at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scwlearn.runs.record import Point

_WIDTHS = {"examples": 11, "mistakes": 10, "rate": 8, "since last": 11, "updates": 10, "nonzero": 10, "examples/s": 11}


class StepTable:
    """How a run stands at its steps: rates up to there and since the line before."""

    def __init__(self, *, log_loss: bool) -> None:
        self._widths = _WIDTHS | ({"log-loss": 10} if log_loss else {})
        self._last: Point | None = None

    @property
    def is_new(self) -> bool:
        """Whether there is no line yet."""
        return self._last is None

    def header(self) -> str:
        """The names of the columns."""
        return "".join(name.rjust(width) for name, width in self._widths.items())

    def line(self, point: Point) -> str:
        """How it stands now."""
        last = self._last
        seen, mistakes = (0, 0) if last is None else (last.seen, last.mistakes)
        self._last = point
        cells = [
            f"{point.seen}",
            f"{point.mistakes}",
            f"{point.mistakes / max(1, point.seen):.4f}",
            f"{(point.mistakes - mistakes) / max(1, point.seen - seen):.4f}",
            f"{point.updates}",
            "" if point.nonzero is None else f"{point.nonzero}",
            f"{point.seen / point.seconds:.0f}" if point.seconds > 0 else "",
        ]
        if "log-loss" in self._widths:
            cells.append("" if point.log_loss is None else f"{point.log_loss:.4f}")
        return "".join(cell.rjust(width) for cell, width in zip(cells, self._widths.values(), strict=True))
