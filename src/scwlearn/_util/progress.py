"""Progress of long work."""

from __future__ import annotations

from typing import Protocol


class ProgressReporter(Protocol):
    """Receiver of progress, in whatever unit the work counts."""

    def advance(self, amount: float, note: str = "") -> None:
        """Report that `amount` more is done."""

    def done_before(self, amount: float) -> None:
        """Report that `amount` was done in an earlier run."""

    def note(self, text: str) -> None:
        """Show a message."""
