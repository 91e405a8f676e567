"""Examples taken apart into plain arrays: to choose some of them, and to put those of several batches together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples, NamedRows
from scwlearn.data.rows import Rows


@dataclass(frozen=True)
class Part:
    """Examples, as `Examples` has them: rows as the arrays of a sparse matrix, and no more names than they need."""

    values: NDArray[Any]
    columns: NDArray[np.int64]
    offsets: NDArray[np.int64]
    width: int
    names: list[Any] | None
    labels: NDArray[Any] | None
    labelled: NDArray[np.bool_]
    weights: NDArray[np.float64] | None
    lines: NDArray[np.int64]
    tags: NDArray[np.object_] | None
    source: str

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def of(cls, examples: Examples) -> Part:
        """What the examples of a batch are."""
        x = examples.x
        rows, names = (x.rows, x.names) if isinstance(x, NamedRows) else (x, None)
        count = len(examples)
        values, columns, offsets = _arrays(rows)
        labelled = examples.labelled
        if labelled is None:
            labelled = np.full(count, examples.labels is not None)
        return cls(
            values=values,
            columns=columns,
            offsets=offsets,
            width=rows.width,
            names=names,
            labels=examples.labels,
            labelled=labelled,
            weights=examples.weights,
            lines=examples.lines,
            tags=None if examples.tags is None else np.array(examples.tags, dtype=object),
            source=examples.source,
        )

    def examples(self) -> Examples:
        """As whoever learns from them wants them."""
        has_labels = self.labels is not None and bool(self.labelled.any())
        rows = Rows.from_checked(self.values, *_one_type(self.columns, self.offsets), self.width)
        return Examples(
            x=rows if self.names is None else NamedRows(rows, self.names),
            labels=self.labels if has_labels else None,
            weights=self.weights,
            lines=self.lines,
            source=self.source,
            labelled=self.labelled if has_labels and not self.labelled.all() else None,
            tags=None if self.tags is None else self.tags.tolist(),
        )

    def chosen(self, rows: NDArray[np.int64]) -> Part:
        """Some of them, in the given order."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        # Where each value comes from: from the beginning of its row on.
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts)
        columns, names, width = self.columns[places], self.names, self.width
        if names is not None:
            # Those that are left keep their order, and so do the features of each row.
            used, columns = np.unique(columns, return_inverse=True)
            names, width = [names[column] for column in used], len(used)
        return Part(
            values=self.values[places],
            columns=columns.astype(np.int64, copy=False),
            offsets=offsets,
            width=width,
            names=names,
            labels=None if self.labels is None else self.labels[rows],
            labelled=self.labelled[rows],
            weights=None if self.weights is None else self.weights[rows],
            lines=self.lines[rows],
            tags=None if self.tags is None else self.tags[rows],
            source=self.source,
        )


def join(parts: Sequence[Part]) -> Part:
    """All of them, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = np.concatenate([part.columns for part in parts])
    values = np.concatenate([part.values for part in parts])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.offsets) for part in parts]))])
    width, names = max(part.width for part in parts), None
    if parts[0].names is not None:
        numbers: dict[Any, int] = {}
        own = [[numbers.setdefault(name, len(numbers)) for name in part.names or ()] for part in parts]
        columns = np.concatenate(
            [np.array(own_numbers, dtype=np.int64)[part.columns] for own_numbers, part in zip(own, parts, strict=True)]
        )
        names, width = [*numbers], len(numbers)
        # Within each row, in the order of their new numbers.
        order = np.lexsort((columns, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        columns, values = columns[order], values[order]
    sources = {part.source for part in parts}
    return Part(
        values=values,
        columns=columns,
        offsets=offsets,
        width=width,
        names=names,
        labels=_labels(parts),
        labelled=np.concatenate([part.labelled for part in parts]),
        weights=_joined([part.weights for part in parts], parts, 1.0, np.dtype(np.float64)),
        lines=np.concatenate([part.lines for part in parts]),
        tags=_joined([part.tags for part in parts], parts, "", np.dtype(object)),
        source=sources.pop() if len(sources) == 1 else "several sources",
    )


def _labels(parts: Sequence[Part]) -> NDArray[Any] | None:
    kinds = {part.labels.dtype.kind for part in parts if part.labels is not None}
    if not kinds:
        return None
    # NumPy would turn numbers into strings.
    mixed = len(kinds) > 1
    dtype = object if mixed else np.result_type(*(part.labels.dtype for part in parts if part.labels is not None))
    return np.concatenate(
        [np.zeros(len(part), dtype) if part.labels is None else part.labels.astype(dtype) for part in parts]
    )


def _joined(arrays: Sequence[Any], parts: Sequence[Part], otherwise: Any, dtype: np.dtype[Any]) -> Any:
    """Arrays one after the other, where those that do not say have what they would say; None where none says."""
    if all(array is None for array in arrays):
        return None
    filled = zip(arrays, parts, strict=True)
    return np.concatenate([np.full(len(part), otherwise, dtype) if array is None else array for array, part in filled])


def _arrays(rows: Rows) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Values, columns and offsets, also of rows that are dense."""
    rows.check()
    for block in rows.blocks(max(len(rows), 1)):
        if block.indices is None or block.offsets is None:
            count, width = block.values.shape
            columns = np.tile(np.arange(width), count)
            return block.values.ravel(), columns, np.arange(count + 1) * width
        # A matrix of the user's may hold more than its offsets point to.
        begin, end = int(block.offsets[0]), int(block.offsets[-1])
        offsets = block.offsets.astype(np.int64) - begin
        return block.values[begin:end], block.indices[begin:end].astype(np.int64), offsets
    none = np.zeros(0, dtype=np.int64)
    return np.zeros(0), none, np.zeros(1, dtype=np.int64)


def _one_type(columns: NDArray[np.int64], offsets: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both short where they can be."""
    most = np.iinfo(np.int32).max
    if columns.max(initial=0) <= most and offsets[-1] <= most:
        return columns.astype(np.int32), offsets.astype(np.int32)
    return columns, offsets
