"""Examples taken apart again, to be written: single features, and the columns of a table that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples
from scwlearn.data.rows import Rows
from scwlearn.data.tables.columns import words_of


class Cells(NamedTuple):
    """All features of some rows, one after the other."""

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def cells_of(rows: Rows) -> Cells:
    """What is not zero in the rows."""
    if not len(rows):
        return Cells(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    (block,) = rows.blocks(len(rows))
    if block.indices is None or block.offsets is None:
        at, numbers = np.nonzero(block.values)
        offsets = np.append(0, np.cumsum(np.bincount(at, minlength=block.count)))
        return Cells(offsets, numbers.astype(np.int64), block.values[at, numbers].astype(np.float64))
    begin, end = int(block.offsets[0]), int(block.offsets[-1])
    kept = block.values[begin:end] != 0
    offsets = np.append(0, np.cumsum(kept))[np.asarray(block.offsets, dtype=np.int64) - begin]
    numbers = block.indices[begin:end][kept].astype(np.int64)
    return Cells(offsets, numbers, block.values[begin:end][kept].astype(np.float64))


def named_cells(examples: Examples, *, zero_based: bool = False) -> tuple[list[str], Cells]:
    """The features of examples, and their names: the index of one that has only a number."""
    if not isinstance(examples.x, Rows):
        return [*map(str, examples.x.names)], cells_of(examples.x.rows)
    cells = cells_of(examples.x)
    used, numbers = np.unique(cells.numbers, return_inverse=True)
    names = [str(number) for number in (used + (not zero_based)).tolist()]
    return names, Cells(cells.offsets, numbers.astype(np.int64), cells.values)


def number_text(value: float) -> str:
    """A number as the shortest text that is read as the same."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def place(examples: Examples, row: int) -> str:
    """Where an example came from, for a message."""
    return f"{examples.source}, line {examples.lines[row]}"


class Home(NamedTuple):
    """The column that a feature came from, and the string in it; None for the column's number."""

    column: str
    string: str | None


def home_of(name: str, columns: Mapping[str, str]) -> Home | None:
    """Where a feature belongs among columns of these kinds; None if nowhere."""
    if columns.get(name) == "numeric":
        return Home(name, None)
    at = name.find("=")
    while at >= 0:
        if columns.get(name[:at], "numeric") != "numeric":
            return Home(name[:at], name[at + 1 :])
        at = name.find("=", at + 1)
    return None


def table_of(examples: Examples, columns: Mapping[str, str], *, zero_based: bool = False) -> dict[str, list[Any]]:
    """The cells of a table with these columns: a number, a string, a list of strings, or None for nothing."""
    names, cells = named_cells(examples, zero_based=zero_based)
    table: dict[str, list[Any]] = {column: [None] * len(examples) for column in columns}
    order = np.argsort(cells.numbers, kind="stable")
    rows, values = cells.rows[order].tolist(), cells.values[order].tolist()
    ends = np.cumsum(np.bincount(cells.numbers, minlength=len(names))).tolist()
    begin = 0
    for name, end in zip(names, ends, strict=True):
        begin, own = end, slice(begin, end)
        home = home_of(name, columns)
        if home is not None:
            for row, value in zip(rows[own], values[own], strict=True):
                _fill(table[home.column], row, value, home, columns, examples)
        elif rows[own]:
            raise ValueError(
                f"{place(examples, rows[own][0])}: the feature {name!r} belongs to no column; "
                f"the columns are {', '.join(map(repr, columns)) or 'none'}"
            )
    return table


def _fill(
    column: list[Any], row: int, value: float, home: Home, columns: Mapping[str, str], examples: Examples
) -> None:
    if home.string is None:
        column[row] = value
    elif columns[home.column] == "categorical":
        if column[row] is not None or value != 1:
            what = f"{column[row]!r} and {home.string!r}" if value == 1 else f"{home.string!r} with {value}"
            raise ValueError(
                f"{place(examples, row)}: the column {home.column!r} holds one string that counts 1; found {what}"
            )
        column[row] = home.string
    else:
        if value < 0 or not value.is_integer():
            message = f"the column {home.column!r} counts words; found {home.string!r} with {value}"
            raise ValueError(f"{place(examples, row)}: {message}")
        column[row] = (column[row] or []) + [home.string] * int(value)


def plain_words(words: list[str]) -> str | None:
    """A text that has exactly these words; None where there is none."""
    text = " ".join(words)
    return text if words_of(text) == words else None


def label_texts(examples: Examples) -> list[str | None]:
    """The labels as text, exact; None for none."""
    labels = label_values(examples)
    return [
        None if label is None else number_text(label) if isinstance(label, float) else str(label) for label in labels
    ]


def label_values(examples: Examples) -> list[Any]:
    """The labels as Python has them, with bools as numbers; None for none."""
    if examples.labels is None:
        return [None] * len(examples)
    labels = examples.labels.astype(np.int64) if examples.labels.dtype.kind == "b" else examples.labels
    there = [True] * len(examples) if examples.labelled is None else examples.labelled.tolist()
    return [label if has else None for label, has in zip(labels.tolist(), there, strict=True)]
