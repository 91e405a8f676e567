"""Named rows assembled from the features of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows, same_type


class Features(NamedTuple):
    """Features of one column, row by row."""

    #: Names of the features, each of which occurs.
    names: list[str]
    #: Number of features in each row; bools if no row has more than one.
    counts: NDArray[np.bool_] | NDArray[np.int64]
    #: Name number, increasing within a row, and value of each feature.
    numbers: NDArray[np.int32]
    values: NDArray[np.float64]


def joined(columns: Sequence[Features], count: int) -> NamedRows:
    """Return `count` rows with the features of all columns."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for column in columns:
        offsets[1:] += column.counts
    np.cumsum(offsets, out=offsets)
    values = np.empty(int(offsets[-1]), dtype=np.float64)
    numbers = np.empty(len(values), dtype=np.int32)
    names: list[str] = []
    free = offsets[:-1].copy()
    for column in columns:
        places = _places(column, free)
        values[places] = column.values
        numbers[places] = column.numbers + np.int32(len(names))
        free += column.counts
        names += column.names
    unique = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(unique) < len(names):
        # "a=b" may be a numeric column, and also the string "b" in the column "a".
        united = np.array([unique[name] for name in names], dtype=np.int64)[numbers]
        return summed(np.repeat(np.arange(count), np.diff(offsets)), united, values, [*unique], count)
    return NamedRows(Rows.from_csr(values, *same_type(numbers, offsets), len(names)), names)


def _places(column: Features, free: NDArray[np.int64]) -> NDArray[np.int64]:
    if column.counts.dtype == np.bool_:
        return free if len(column.values) == len(free) else free[column.counts]
    counts = column.counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(free - before, counts) + np.arange(len(column.values)))


def summed(
    rows: NDArray[np.int64], numbers: NDArray[np.int64], values: NDArray[np.float64], names: list[str], count: int
) -> NamedRows:
    """Return `count` named rows from the row, name number and value of each feature; equal features are added."""
    width = max(1, len(names))
    cells, cell_of = np.unique(rows * width + numbers, return_inverse=True)
    sums = np.bincount(cell_of, weights=values, minlength=len(cells)).astype(np.float64)
    offsets = np.append(0, np.cumsum(np.bincount(cells // width, minlength=count)))
    return NamedRows(Rows.from_csr(sums, *same_type((cells % width).astype(np.int32), offsets), len(names)), names)


def word_counts(rows: NDArray[np.int64], codes: NDArray[np.int32], names: list[str], count: int) -> Features:
    """Return the features of a text column from the row and the name number of each word."""
    width = max(1, len(names))
    cells, values = np.unique(rows * width + codes, return_counts=True)
    counts = np.bincount(cells // width, minlength=count)
    return Features(names, counts, (cells % width).astype(np.int32), values.astype(np.float64))
