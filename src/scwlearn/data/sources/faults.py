"""What could not be read, where the reading goes on: how often, and the first few in full."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Fault(NamedTuple):
    """One example that could not be read. As text it is the message that stopping there would have had."""

    source: str
    #: Line or record, from 1.
    line: int
    #: The place in the line, from 1, or the name of a column of a table; None where that means nothing.
    column: int | str | None
    #: What is allowed and what was found.
    message: str
    #: What `line` counts: "line", or "record" where there are no lines.
    unit: str = "line"

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.source}, {self.unit} {self.line}{column}: {self.message}"


@dataclass
class Faults:
    """Collects what `on_error="skip"` leaves out; one may serve several sources.

    Examples
    --------
    >>> from scwlearn.data.sources.faults import Fault, Faults
    >>> faults = Faults(most=1)
    >>> for line in (3, 7):
    ...     faults.add(Fault("a.svm", line, 5, "a value is a number; found 'x'"))
    >>> faults.count, [str(fault) for fault in faults.first]
    (2, ["a.svm, line 3, column 5: a value is a number; found 'x'"])
    """

    #: How many are remembered in full.
    most: int = 10
    count: int = 0
    first: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first) < self.most:
            self.first.append(fault)


def excerpt(found: bytes, shown: int = 40) -> str:
    """A little of what was found, for a message: each byte that is no plain character escaped."""
    return repr(found[:shown])[1:] + "..." * (len(found) > shown) if found else "nothing"
