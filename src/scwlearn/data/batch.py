"""Batches of examples, the one type that all readers yield and all learners and writers accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import place_rows
from scwlearn.data.rows import Rows, same_type


@dataclass(frozen=True)
class NamedRows:
    """Rows with a unique name for each column; another batch may have other names or another order.

    Parameters
    ----------
    rows : Rows
        The values.
    names : list
        One name per column.

    Examples
    --------
    >>> from scwlearn.data.batch import NamedRows
    >>> from scwlearn.data.rows import Rows, same_type
    >>> [*NamedRows(Rows([[1.0, 0.0], [0.5, 2.0]]), ["free", "offer"]).dicts()]
    [{'free': 1.0}, {'free': 0.5, 'offer': 2.0}]
    """

    rows: Rows
    names: list[Any]

    def __post_init__(self) -> None:
        if len(self.names) != self.rows.width:
            raise ValueError(f"names must have {self.rows.width} names, one per column, got {len(self.names)}")

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, stop: int) -> NamedRows:
        """Return consecutive rows; a few rows come with the names that occur in them only."""
        rows = self.rows.slice(start, stop)
        return NamedRows(rows, self.names) if rows.stored >= len(self.names) else _with_used_names(rows, self.names)

    def take(self, rows: NDArray[np.intp]) -> NamedRows:
        """Return rows by number, with the names that occur in them."""
        return _with_used_names(self.rows.take(rows), self.names)

    @staticmethod
    def concatenate(parts: Sequence[NamedRows]) -> NamedRows:
        """Return the rows of all parts; equal names become one column."""
        numbers: dict[Any, int] = {}
        columns = [np.array([numbers.setdefault(n, len(numbers)) for n in part.names], np.int64) for part in parts]
        values, indices, offsets = Rows.concatenate([part.rows for part in parts]).compressed(np.int64)
        stored = np.diff(offsets[np.cumsum([0, *map(len, parts)])])
        first_names = np.cumsum([0, *(len(part.names) for part in parts[:-1])])
        indices = np.concatenate(columns)[indices + np.repeat(first_names, stored)]
        order = np.lexsort((indices, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        rows = Rows.from_csr(values[order], indices[order].astype(np.int32), offsets, len(numbers))
        return NamedRows(rows, [*numbers])

    @staticmethod
    def of_numbers(rows: Rows) -> NamedRows:
        """Return rows whose features are named by their numbers, from 0."""
        values, columns, offsets = rows.compressed(np.int64)
        numbers, places = np.unique(columns, return_inverse=True)
        return NamedRows(Rows.from_csr(values, places.astype(np.int32), offsets, len(numbers)), numbers.tolist())

    @staticmethod
    def summed(
        rows: NDArray[np.int64], numbers: NDArray[np.int64], values: NDArray[np.float64], names: list[str], count: int
    ) -> NamedRows:
        """Return `count` rows from the row, name number and value of each feature; equal features are added."""
        width = max(1, len(names))
        cells, cell_of = np.unique(rows * width + numbers, return_inverse=True)
        sums = np.bincount(cell_of, weights=values, minlength=len(cells)).astype(np.float64)
        offsets = np.append(0, np.cumsum(np.bincount(cells // width, minlength=count)))
        return NamedRows(Rows.from_csr(sums, *same_type((cells % width).astype(np.int32), offsets), len(names)), names)

    def dicts(self) -> Iterator[dict[Any, float]]:
        """Yield each row as a dict, without zeros."""
        values, columns, offsets = self.rows.compressed()
        for begin, end in pairwise(offsets.tolist()):
            pairs = zip(columns[begin:end].tolist(), values[begin:end].tolist(), strict=True)
            yield {self.names[column]: value for column, value in pairs if value}

    def in_columns(self, features: Sequence[int] | NDArray[np.int64], signs: list[float] | None, width: int) -> Rows:
        """Return the rows in the columns of a model.

        Parameters
        ----------
        features : sequence of int
            The model's column for each name; names whose column is not from 0 to `width` - 1 are dropped.
        signs : list of float or None
            Factor of each name. The values of names that share a column are added.
        width : int
            Number of columns of the model.
        """
        signed = None if signs is None else np.array(signs)
        arrays = place_rows(*self.rows.compressed(), np.asarray(features, dtype=np.int64), signed, width)
        return Rows.from_csr(*arrays, width, checked=False)

    def occurrences(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """Return the number of rows of non-zero weight in which each name has a non-zero value."""
        values, columns, offsets = self.rows.compressed()
        counts = values != 0
        if weights is not None and not weights.all():
            counts &= np.repeat(weights != 0, np.diff(offsets))
        return np.bincount(columns if counts.all() else columns[counts], minlength=len(self.names)).astype(np.int64)


def _with_used_names(rows: Rows, names: list[Any]) -> NamedRows:
    """Return named rows without the names that do not occur, which would only be looked up in vain."""
    values, columns, offsets = rows.compressed()
    used = np.zeros(len(names), dtype=bool)
    used[columns] = True
    if used.all():
        return NamedRows(rows, names)
    new_columns = (np.cumsum(used) - 1).astype(np.int32)[columns]
    kept = [names[i] for i in np.flatnonzero(used).tolist()]
    return NamedRows(Rows.from_csr(values, new_columns, offsets, len(kept)), kept)


@dataclass(frozen=True)
class Batch:
    """Consecutive examples from one source.

    Parameters
    ----------
    x : Rows or NamedRows
        Features by number (column j means the same in every batch, and later batches may be wider) or by name.
    labels : array or None
        Numbers, strings or bools; undefined where `labelled` is False. None if the source has no labels.
    weights : array or None
        Sample weights. None if the source has none.
    lines : array of int
        Line of each example in its source, from 1; the record number in Parquet and Arrow files.
    source : str
        Name of the source, for messages.
    labelled : array of bool or None
        Whether each example has a label. None if all have one, or none has (then `labels` is None).
    tags : list of str or None
        Names of the examples (VW tags). None if the source has none.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.data.batch import Batch
    >>> from scwlearn.data.rows import Rows, same_type
    >>> batch = Batch(Rows([[1.0], [2.0], [3.0]]), np.array(["a", "b", "a"]), None, np.arange(1, 4), "memory")
    >>> batch.take(np.array([2, 0])).labels.tolist(), len(batch.slice(1, 3))
    (['a', 'a'], 2)
    """

    x: Rows | NamedRows
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    lines: NDArray[np.int64]
    source: str
    labelled: NDArray[np.bool_] | None = None
    tags: list[str] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def widened(self, width: int) -> Batch:
        """Return the batch with at least `width` numbered features; the new ones are zero."""
        if isinstance(self.x, NamedRows) or self.x.width >= width:
            return self
        return replace(self, x=self.x.widened(width))

    def with_labels(self, labels: NDArray[Any], labelled: NDArray[np.bool_]) -> Batch:
        """Return the batch with labels, some or all of which may be missing."""
        if not labelled.any():
            return replace(self, labels=None, labelled=None)
        return replace(self, labels=labels, labelled=None if labelled.all() else labelled)

    def slice(self, start: int, stop: int) -> Batch:
        """Return consecutive examples."""
        return self._select(self.x.slice(start, stop), slice(start, stop), self.tags and self.tags[start:stop])

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Return examples by number, in the given order."""
        return self._select(self.x.take(rows), rows, self.tags and [self.tags[i] for i in rows.tolist()])

    def _select(self, x: Rows | NamedRows, rows: Any, tags: list[str] | None) -> Batch:
        def pick(values: Any) -> Any:
            return None if values is None else values[rows]

        arrays = pick(self.labels), pick(self.weights), self.lines[rows]
        return Batch(x, *arrays, self.source, pick(self.labelled), tags)

    @staticmethod
    def concatenate(batches: Sequence[Batch]) -> Batch:
        """Return the examples of all batches, whose features are all numbered or all named."""
        if len(batches) == 1:
            return batches[0]
        parts: list[Any] = [batch.x for batch in batches]
        labelled = [np.full(len(b), b.labels is not None) if b.labelled is None else b.labelled for b in batches]
        tags = [batch.tags or [""] * len(batch) for batch in batches]
        sources = {batch.source for batch in batches}
        return Batch(
            type(parts[0]).concatenate(parts),
            None,
            _weights(batches),
            np.concatenate([batch.lines for batch in batches]),
            sources.pop() if len(sources) == 1 else "several sources",
            tags=None if all(batch.tags is None for batch in batches) else [tag for part in tags for tag in part],
        ).with_labels(_labels(batches), np.concatenate(labelled))


def _labels(batches: Sequence[Batch]) -> NDArray[Any]:
    types = [batch.labels.dtype for batch in batches if batch.labels is not None]
    # NumPy would turn a mixture of numbers and strings into strings.
    dtype = np.result_type(*types) if len({dtype.kind for dtype in types}) == 1 else np.dtype(object)
    return np.concatenate(
        [np.zeros(len(batch), dtype) if batch.labels is None else batch.labels.astype(dtype) for batch in batches]
    )


def _weights(batches: Sequence[Batch]) -> NDArray[np.float64] | None:
    if all(batch.weights is None for batch in batches):
        return None
    return np.concatenate([np.ones(len(batch)) if batch.weights is None else batch.weights for batch in batches])
