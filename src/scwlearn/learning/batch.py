"""A batch of rows to learn from, with labels, weights and an order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Block, Rows
from scwlearn.data.weights import nonzero_rows as nonzero_rows

Array = NDArray[np.float64]

#: A block takes about this many multiplications: enough that Python costs nothing, few enough that Ctrl-C is answered
#: at once.
WORK_OF_A_BLOCK = 1e9

#: Starting threads takes as long as about this many multiplications.
WORK_FOR_THREADS = 1e6

# This many values are enough to see which features are rare.
_VALUES_COUNTED = 2**20


class LabeledBatch(NamedTuple):
    """Rows of non-zero weight with their labels and weights, and the order in which to learn from them."""

    rows: Rows | NamedRows
    labels: NDArray[Any]
    weights: Array | None
    #: Row indices in learning order; None for the order of the rows.
    places: NDArray[np.intp] | None
    #: The original index of each row, where rows of weight 0 were left out.
    numbers: NDArray[np.intp] | None
    #: The weights without class weights, if they differ: those of probabilities.
    sample_weights: Array | None = None
    #: Whether probabilities are learned from these rows.
    calibrate: bool = True
    #: Threads for what does not depend on each other: the classes of one versus rest, or the members of a committee.
    jobs: int = 1
    #: Whether the bits must be those of learning row by row; a full covariance else learns from several rows together.
    in_turn: bool = False

    @classmethod
    def create(
        cls,
        rows: Rows | NamedRows,
        labels: NDArray[Any],
        places: NDArray[np.intp] | None = None,
        weights: Array | None = None,
        sample_weights: Array | None = None,
    ) -> LabeledBatch:
        """Return a batch without the rows of weight 0. Labels, places and weights must be checked; rows need not be."""
        if weights is None or weights.all():
            return cls(rows, labels, weights, places, None, sample_weights)
        # Removed, not skipped: a skipped row would still count as an occurrence of its features.
        kept = np.flatnonzero(weights)
        if places is not None:
            places = np.searchsorted(kept, nonzero_rows(places, weights))
        taken = rows.take(kept) if isinstance(rows, Rows) else replace(rows, rows=rows.rows.take(kept), in_slots=None)
        own = None if sample_weights is None else sample_weights[kept]
        return cls(taken, labels[kept], weights[kept], places, kept, own)

    @property
    def rounds(self) -> int:
        """The number of rows to learn from."""
        return len(self.rows) if self.places is None else len(self.places)

    @property
    def all_skipped(self) -> bool:
        """Whether there are rows, but none of a weight other than 0."""
        return not self.rounds and (len(self.rows) > 0 or self.numbers is not None)

    def chosen(self, block: Block) -> slice | NDArray[np.intp]:
        """Return the indices of the rows of a block, which are consecutive in learning order."""
        part = slice(block.start, block.start + block.count)
        return part if self.places is None else self.places[part]

    @property
    def labels_in_order(self) -> NDArray[Any]:
        """The labels in learning order."""
        return self.labels if self.places is None else self.labels[self.places]

    @property
    def numbers_in_order(self) -> slice | NDArray[np.intp]:
        """The original row indices in learning order."""
        if self.places is None:
            return slice(None) if self.numbers is None else self.numbers
        return self.places if self.numbers is None else self.numbers[self.places]

    def part(self, chosen: slice) -> LabeledBatch:
        """Return a part of the rounds, with rows, labels and weights in learning order."""
        places: Any = chosen if self.places is None else self.places[chosen]
        rows = self.rows.slice(chosen.start, chosen.stop) if self.places is None else self.rows.take(places)
        weights = None if self.weights is None else self.weights[places]
        own = None if self.sample_weights is None else self.sample_weights[places]
        return LabeledBatch(
            rows, self.labels[places], weights, None, None, own, self.calibrate, self.jobs, self.in_turn
        )

    def sorted(self) -> LabeledBatch:
        """Return the batch with its labels and weights in learning order, for rows that are in that order."""
        if self.places is None:
            return self
        weights = None if self.weights is None else self.weights[self.places]
        numbers = self.places if self.numbers is None else self.numbers[self.places]
        return self._replace(labels=self.labels_in_order, weights=weights, places=None, numbers=numbers)


def map_blocks(rows: Rows, per_row: int, function: Callable[[Block], Array]) -> list[Array]:
    """Apply a function that needs `per_row` temporary floats per row to blocks of rows, of about 10 MB each."""
    rows.check()
    return [function(block) for block in rows.blocks(max(1, 2**20 // max(1, per_row)))]


def with_constant(block: Block, intercept: bool, *, dense: bool = False) -> Any:
    """Return the block as a matrix, dense on request, with the constant feature of an intercept."""
    x = block.matrix()
    is_dense = block.indices is None
    if dense and not is_dense:
        x, is_dense = x.toarray(), True
    if not intercept:
        return x
    ones = np.ones((block.count, 1))
    if is_dense:
        return np.hstack([x, ones])
    from scipy.sparse import hstack

    return hstack([x, ones], format="csr")


def occurrences(rows: Rows, intercept: bool) -> NDArray[np.intp]:
    """Count the rows in which each feature is not zero, the constant one included; a sample of many rows."""
    rows.check()
    counted = len(rows) * _VALUES_COUNTED // max(1, rows.stored)
    return np.append(rows.slice(0, max(1, counted)).occurrences(), [len(rows)] * intercept)
