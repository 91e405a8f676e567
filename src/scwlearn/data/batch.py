"""Batches of examples, the one type that all readers yield and all learners and writers accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary, appearances, place_rows
from scwlearn.data.csr import same_type
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.labels import label_kind
from scwlearn.data.rows import Rows


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Rows with a unique name for each column; another batch may have other names or another order.

    Parameters
    ----------
    rows : Rows
        The values. A sparse row has its columns in the order of its record.
    names : list
        One name per column; None for the column of a hashed interaction.
    hashes : array or None
        Hash of the name of each column, where names are hashed.
    in_slots : Rows or None
        The rows in the columns of a model with hashed names, if the thread that read them has placed them.

    Examples
    --------
    >>> from scwlearn.data.batch import NamedRows
    >>> from scwlearn.data.rows import Rows
    >>> [*NamedRows(Rows([[1.0, 0.0], [0.5, 2.0]]), ["free", "offer"]).dicts()]
    [{'free': 1.0}, {'free': 0.5, 'offer': 2.0}]
    """

    rows: Rows
    names: list[Any]
    hashes: NDArray[np.uint32] | None = None
    in_slots: Rows | None = None
    # The vocabulary that was asked last, its length then, and the feature of each name; shared by the parts of a batch.
    _found: list[Any] = field(default_factory=lambda: [(None, 0, None)], repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.names) != self.rows.width:
            raise ValueError(f"names must have {self.rows.width} names, one per column, got {len(self.names)}")

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, stop: int) -> NamedRows:
        """Return consecutive rows; a few rows come with the names that occur in them only."""
        in_slots = None if self.in_slots is None else self.in_slots.slice(start, stop)
        part = replace(self, rows=self.rows.slice(start, stop), in_slots=in_slots)
        return part if part.rows.stored >= len(self.names) else part._with_used_names()

    def take(self, rows: NDArray[np.intp]) -> NamedRows:
        """Return rows by number, with the names that occur in them."""
        return replace(self, rows=self.rows.take(rows), in_slots=None)._with_used_names()

    def _with_used_names(self) -> NamedRows:
        """Return the rows without the names that do not occur, which would only be looked up in vain."""
        values, columns, offsets = self.rows.compressed()
        used = np.zeros(len(self.names), dtype=bool)
        used[columns] = True
        if used.all():
            return self
        new_columns = (np.cumsum(used) - 1).astype(np.int32)[columns]
        kept = [self.names[i] for i in np.flatnonzero(used).tolist()]
        hashes = None if self.hashes is None else self.hashes[used]
        return NamedRows(Rows.from_csr(values, new_columns, offsets, len(kept)), kept, hashes, self.in_slots)

    @staticmethod
    def of_arrays(
        values: NDArray[np.float64],
        columns: NDArray[np.int32],
        offsets: NDArray[np.int32],
        names: list[Any],
        hashes: NDArray[np.uint32] | None = None,
        slots: int = 0,
    ) -> NamedRows:
        """Return the rows of a native reader of records, whose columns may share a name; place hashed ones in slots."""
        if hashes is not None:
            rows = NamedRows(Rows.from_csr(values, columns, offsets, len(names)), names, hashes)
            if not slots:
                return rows
            return replace(rows, in_slots=rows.in_columns(*Vocabulary(slots, True).slots(hashes), slots))
        if len({*names}) == len(names):
            return NamedRows(Rows.from_csr(values, columns, offsets, len(names)), names)
        # "a=b" may be a number of the key "a=b", and also the string "b" of the key "a".
        unique = {name: number for number, name in enumerate(dict.fromkeys(names))}
        united = np.array([unique[name] for name in names], dtype=np.int64)
        order = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return NamedRows.summed(order, united[columns], values, [*unique], len(offsets) - 1)

    @staticmethod
    def concatenate(parts: Sequence[NamedRows]) -> NamedRows:
        """Return the rows of all parts; equal names become one column."""
        numbers: dict[Any, int] = {}
        hashed = parts[0].hashes is not None
        keys: list[list[Any]] = [part.names if part.hashes is None else part.hashes.tolist() for part in parts]
        columns = [np.array([numbers.setdefault(key, len(numbers)) for key in own], np.int64) for own in keys]
        values, indices, offsets = Rows.concatenate([part.rows for part in parts]).compressed(np.int64)
        stored = np.diff(offsets[np.cumsum([0, *map(len, parts)])])
        first_names = np.cumsum([0, *(len(part.names) for part in parts[:-1])])
        indices = np.concatenate(columns)[indices + np.repeat(first_names, stored)]
        rows = Rows.from_csr(values, indices.astype(np.int32), offsets, len(numbers))
        if not hashed:
            return NamedRows(rows, [*numbers])
        names: list[Any] = [None] * len(numbers)
        for part, own in zip(parts, columns, strict=True):
            for column, name in zip(own.tolist(), part.names, strict=True):
                names[column] = names[column] if name is None else name
        return NamedRows(rows, names, np.array([*numbers], dtype=np.uint32))

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

    def in_columns(
        self,
        features: Sequence[int] | NDArray[np.int64],
        signs: Sequence[float] | NDArray[np.float64] | None,
        width: int,
    ) -> Rows:
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
        if self.in_slots is not None and signs is not None and self.in_slots.width == width:
            return self.in_slots
        signed = None if signs is None else np.asarray(signs)
        arrays = place_rows(*self.rows.compressed(), np.asarray(features, dtype=np.int64), signed, width)
        return Rows.from_csr(*arrays, width, checked=False)

    def features_in(self, vocabulary: Any) -> NDArray[np.int64]:
        """Return the feature of each name in a vocabulary, or -1, and remember it."""
        ((asked, count, features),) = self._found
        known = len(vocabulary)
        if asked is not vocabulary:
            features = vocabulary.find(self.names, False)
        elif count != known:
            unknown = np.flatnonzero(features < 0)
            features = features.copy()
            features[unknown] = vocabulary.find([self.names[i] for i in unknown.tolist()], False)
        self.remember(vocabulary, known, features)
        return np.asarray(features)

    def remember(self, vocabulary: Any, known: int, features: NDArray[np.int64]) -> None:
        """Remember the feature of each name in a vocabulary of `known` names, for all parts of the batch."""
        self._found[:] = [(vocabulary, known, features)]

    def appearances(self, order: NDArray[np.intp] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the columns by first appearance, in the given order of rows, and in how many rows each is not zero."""
        return appearances(*self.rows.compressed(), order, len(self.names))


@dataclass(frozen=True, eq=False)
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
    >>> from scwlearn.data.rows import Rows
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


class LabelKind:
    """Whether the labels of all batches are strings or numbers, as those of the first one are; bools are numbers."""

    def __init__(self) -> None:
        self._kind = self._first_source = ""

    def check(self, batch: Batch) -> None:
        """Raise a DataError if the labels of a batch are of the other kind."""
        if batch.labels is None:
            return
        labels = batch.labels if batch.labelled is None else batch.labels[batch.labelled]
        kind = "strings" if label_kind(labels) == "str" else "numbers"
        if not self._kind:
            self._kind, self._first_source = kind, batch.source
        elif kind != self._kind:
            raise DataError(
                f"all labels must be {self._kind}, as those of {self._first_source} are",
                found=shown(labels[:1].tolist()[0]),
                source=batch.source,
                line=int(batch.lines[0 if batch.labelled is None else batch.labelled.argmax()]),
            )


def _labels(batches: Sequence[Batch]) -> NDArray[Any]:
    parts = [batch.labels for batch in batches if batch.labels is not None]
    if len({part.dtype.kind for part in parts}) > 1:
        # A label is a bool only if all labels of its batch are.
        parts = [part.astype(np.int64) if part.dtype.kind == "b" else part for part in parts]
    # NumPy would turn a mixture of numbers and strings into strings, and round large integers among floats.
    dtype = np.result_type(*parts) if len({part.dtype.kind for part in parts}) == 1 else np.dtype(object)
    typed = (part.astype(dtype) for part in parts)
    return np.concatenate([np.zeros(len(batch), dtype) if batch.labels is None else next(typed) for batch in batches])


def _weights(batches: Sequence[Batch]) -> NDArray[np.float64] | None:
    if all(batch.weights is None for batch in batches):
        return None
    return np.concatenate([np.ones(len(batch)) if batch.weights is None else batch.weights for batch in batches])
