"""Named rows put together from what each column gives to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import NamedRows
from scwlearn.data.rows import Rows


class Part(NamedTuple):
    """What one column gives, row after row: features of its own, each of which occurs, and their values."""

    names: list[str]
    #: How many features each row has of it; of bools where none has more than one.
    counts: NDArray[np.bool_] | NDArray[np.int64]
    #: Which of the names, growing within a row, and how much.
    numbers: NDArray[np.int32]
    values: NDArray[np.float64]


def together(parts: Sequence[Part], count: int) -> NamedRows:
    """The features of so many rows, each name once."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for part in parts:
        offsets[1:] += part.counts
    np.cumsum(offsets, out=offsets)
    values = np.empty(int(offsets[-1]), dtype=np.float64)
    numbers = np.empty(len(values), dtype=np.int32)
    names: list[str] = []
    free = offsets[:-1].copy()
    for part in parts:
        places = _places(part, free)
        values[places] = part.values
        numbers[places] = part.numbers + np.int32(len(names))
        free += part.counts
        names += part.names
    # "a=b" may be a column of numbers, and also what the string "b" is in a column "a".
    if len(set(names)) < len(names):
        return _united(values, numbers, offsets, names)
    return NamedRows(_rows(values, numbers, offsets, len(names)), names)


def _places(part: Part, free: NDArray[np.int64]) -> NDArray[np.int64]:
    if part.counts.dtype == np.bool_:
        return free if len(part.values) == len(free) else free[part.counts]
    counts = part.counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(free - before, counts) + np.arange(len(part.values)))


def _united(
    values: NDArray[np.float64], numbers: NDArray[np.int32], offsets: NDArray[np.int64], names: list[str]
) -> NamedRows:
    once = {name: number for number, name in enumerate(dict.fromkeys(names))}
    united = np.array([once[name] for name in names], dtype=np.int64)[numbers]
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return one_by_one(rows, united, values, [*once], len(offsets) - 1)


def one_by_one(
    rows: NDArray[np.int64], numbers: NDArray[np.int64], values: NDArray[np.float64], names: list[str], count: int
) -> NamedRows:
    """Named rows from single features: the row of each, which of the names, and how much.

    The values of features of the same name are added, as in a dict of features.
    """
    width = max(1, len(names))
    cells, cell_of = np.unique(rows * width + numbers, return_inverse=True)
    sums = np.bincount(cell_of, weights=values, minlength=len(cells)).astype(np.float64)
    offsets = np.append(0, np.cumsum(np.bincount(cells // width, minlength=count)))
    return NamedRows(_rows(sums, (cells % width).astype(np.int32), offsets, len(names)), names)


def _rows(values: NDArray[np.float64], numbers: NDArray[np.int32], offsets: NDArray[np.int64], width: int) -> Rows:
    if len(values) <= np.iinfo(np.int32).max:
        return Rows.from_checked(values, numbers, offsets.astype(np.int32), width)
    return Rows.from_checked(values, numbers.astype(np.int64), offsets, width)


def counted(rows: NDArray[np.int64], codes: NDArray[np.int32], names: list[str], count: int) -> Part:
    """A bag for each of so many rows, of words that occur in this row as this name: each time adds 1."""
    width = max(1, len(names))
    cells, values = np.unique(rows * width + codes, return_counts=True)
    counts = np.bincount(cells // width, minlength=count)
    return Part(names, counts, (cells % width).astype(np.int32), values.astype(np.float64))
