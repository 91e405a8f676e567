"""Errors in input data, and the record of examples skipped because of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How Python code sets an option that an error suggests; any other one is `name=...`.
_PYTHON_SPELLING = {
    "zero_based": "zero_based=True",
    "header": "header=True",
    "no_header": "header=False",
    **{kind: f'kinds={{...: "{kind}"}}' for kind in ("numeric", "categorical", "text", "ignore")},
}
# Length of an excerpt of the input in a message.
_SHOWN = 40


def python_argument(option: str) -> str:
    """Return how Python code sets an option that an error suggests."""
    name, _, value = option.partition("=")
    return f'{name}="{value}"' if value else _PYTHON_SPELLING.get(name, f"{name}=...")


class DataError(ValueError):
    """Error in input data, kept in fields so that any user interface can present it.

    ``str(error)`` is the message for Python users. `render` spells the suggested options differently, such as
    command-line flags.

    Parameters
    ----------
    problem : str
        What is wrong, or what is allowed, without the place: "indices must not repeat within a line".
    found : str or None
        What was found instead, ready to print: a quoted excerpt, or "nothing".
    source : str
        Name of the file or stream; empty if the error concerns none.
    line : int
        Number of the line or record, from 1; 0 if the error concerns the whole source.
    column : int, str or None
        Position in the line, from 1, or the name of a table column or JSON key.
    unit : {"line", "record"}
        What `line` counts; Parquet and Arrow files have no lines.
    hint : str or None
        What to do next. Options appear as ``{name}`` or ``{name=value}``: "use {zero_based} for a file that counts
        from 0".

    Examples
    --------
    >>> from scwlearn.data.io.errors import DataError
    >>> place = {"source": "a.svm", "line": 7, "column": 3}
    >>> error = DataError("indices start at 1", found="'0:1'", hint="use {zero_based}", **place)
    >>> str(error)
    "a.svm, line 7, column 3: indices start at 1; found '0:1' (use zero_based=True)"
    >>> error.render(lambda option: "--" + option.replace("_", "-"))
    "a.svm, line 7, column 3: indices start at 1; found '0:1' (use --zero-based)"
    """

    def __init__(
        self,
        problem: str,
        *,
        found: str | None = None,
        source: str = "",
        line: int = 0,
        column: int | str | None = None,
        unit: str = "line",
        hint: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.found = problem, found
        self.source, self.line, self.column, self.unit = source, line, column, unit
        self.hint = hint

    def render(self, spell: Callable[[str], str | None] = python_argument) -> str:
        """Return the whole message.

        Parameters
        ----------
        spell : callable
            Returns the spelling of an option, given its name. If it returns None, the user cannot set the option, and
            the hint is left out; of a hint of several clauses, with semicolons between them, the clause.

        Returns
        -------
        str
            The place, the problem, what was found and the hint, on one line.
        """
        place = [self.source] if self.source else []
        if self.line:
            place.append(f"{self.unit} {self.line}")
        if self.column is not None:
            place.append(f"column {shown(self.column)}")
        message = (", ".join(place) + ": " if place else "") + self.problem
        if self.found is not None:
            message += f"; found {self.found}"
        clauses = []
        for clause in self.hint.split("; ") if self.hint else ():
            spelled = {name: spell(name) for name in re.findall(r"{([^{}]+)}", clause)}
            if None not in spelled.values():
                clauses.append(clause.format(**spelled))
        return f"{message} ({'; '.join(clauses)})" if clauses else message

    def at(self, source: str, lines_before: int) -> DataError:
        """Place an error whose line counts from the beginning of a chunk, and return it."""
        if not self.source:
            self.source = source
            self.line += lines_before if self.line else 0
        return self

    def __str__(self) -> str:
        return self.render()


class NoExamples(DataError):
    """A source without examples."""


@dataclass
class SkippedRecords:
    """Count of the examples that ``on_error="skip"`` left out, with the first few errors.

    One object may serve several sources.

    Examples
    --------
    >>> from scwlearn.data.io.errors import DataError, SkippedRecords
    >>> skipped = SkippedRecords(keep=1)
    >>> for line in (3, 7):
    ...     skipped.add(DataError("values must be numbers", found="'x'", source="a.svm", line=line, column=5))
    >>> skipped.count, [str(error) for error in skipped.first]
    (2, ["a.svm, line 3, column 5: values must be numbers; found 'x'"])
    """

    #: How many errors are kept in `first`.
    keep: int = 10
    count: int = 0
    #: Examples that were left out because they have no label, in a format where that is no error.
    unlabelled: int = 0
    first: list[DataError] = field(default_factory=list)

    def add(self, error: DataError) -> None:
        """Count one more skipped record."""
        self.count += 1
        if len(self.first) < self.keep:
            self.first.append(error)

    def begin(self) -> None:
        """Note that another source begins."""

    def leave_out(self, places: NDArray[np.int64]) -> None:
        """Note the places of records of a table that are left out, before the examples around them are read."""

    def reach(self, line: int | None) -> None:
        """Note that all examples so far have been read, up to this line; None if the source is a table."""


def shown(value: Any) -> str:
    """Return a value of the input for a message, quoted and shortened."""
    if value is None or value in ("", b""):
        return "nothing"
    if isinstance(value, str | bytes):
        return repr(value[:_SHOWN]).removeprefix("b") + "..." * (len(value) > _SHOWN)
    text = repr(value)
    return text[:_SHOWN] + "..." * (len(text) > _SHOWN)
