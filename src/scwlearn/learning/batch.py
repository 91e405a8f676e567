"""A batch of rows to learn from: checked once, cut into blocks, learned as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import NamedRows
from scwlearn.data.rows import Block, Rows, UnsortedError
from scwlearn.data.weights import rows_that_weigh as nonzero_rows
from scwlearn.learning.rollback import all_or_nothing
from scwlearn.model.gaussian import Gaussian

Array = NDArray[np.float64]

#: A block takes about this many multiplications: enough that Python costs nothing, few enough that Ctrl-C is answered
#: at once.
WORK_OF_A_BLOCK = 1e9

# This many values are enough to see which features are rare.
_VALUES_COUNTED = 2**20


@dataclass(frozen=True)
class Batch:
    """Rows of non-zero weight with their labels and weights, and the order in which to learn from them."""

    rows: Rows | NamedRows
    labels: NDArray[Any]
    weights: Array | None
    #: Row indices in learning order; None for the order of the rows.
    places: NDArray[np.intp] | None
    #: The original index of each row, where rows of weight 0 were left out.
    numbers: NDArray[np.intp] | None

    @classmethod
    def create(
        cls,
        rows: Rows | NamedRows,
        labels: NDArray[Any],
        places: NDArray[np.intp] | None = None,
        weights: Array | None = None,
    ) -> Batch:
        """Leave out rows of weight 0. Labels, places and weights are checked already, the rows need not be."""
        if weights is None or weights.all():
            return cls(rows, labels, weights, places, None)
        # Removed, not skipped: a skipped row would still count as an occurrence of its features.
        kept = np.flatnonzero(weights)
        if places is not None:
            places = np.searchsorted(kept, nonzero_rows(places, weights))
        return cls(rows.chosen(kept), labels[kept], weights[kept], places, kept)

    @property
    def rounds(self) -> int:
        """The number of rows to learn from."""
        return len(self.rows) if self.places is None else len(self.places)

    @property
    def all_skipped(self) -> bool:
        """Whether there are rows, but none of a weight other than 0."""
        return not self.rounds and (len(self.rows) > 0 or self.numbers is not None)

    @property
    def labels_in_order(self) -> NDArray[Any]:
        """The labels in learning order."""
        return self.labels if self.places is None else self.labels[self.places]

    @property
    def numbers_in_order(self) -> NDArray[np.intp]:
        """The original row indices in learning order."""
        places = np.arange(len(self.rows)) if self.places is None else self.places
        return places if self.numbers is None else self.numbers[places]

    def sorted(self) -> Batch:
        """Return the batch with its labels and weights in learning order, for rows that are in that order."""
        if self.places is None:
            return self
        weights = None if self.weights is None else self.weights[self.places]
        return replace(self, labels=self.labels_in_order, weights=weights, places=None, numbers=self.numbers_in_order)

    def part(self, chosen: slice) -> Batch:
        """Return the rows at these positions of the learning order."""
        places = np.arange(len(self.rows)) if self.places is None else self.places
        kept = np.sort(places[chosen])
        numbers = kept if self.numbers is None else self.numbers[kept]
        order = None if self.places is None else np.searchsorted(kept, places[chosen])
        weights = None if self.weights is None else self.weights[kept]
        return Batch(self.rows.chosen(kept), self.labels[kept], weights, order, numbers)


@dataclass(frozen=True)
class BatchBlock:
    """Some rows of a batch as the native loops take them."""

    block: Block
    labels: NDArray[Any]
    weights: Array | None
    #: Positions of these rows in learning order.
    part: slice


def learn_blocks(
    batch: Batch,
    rows: Rows,
    gaussian: Gaussian,
    tally: NDArray[np.int64],
    *,
    classes: int,
    at_once: int,
    compiled: bool,
    current: Gaussian | None,
    commit: Callable[[], None],
    learn: Callable[[BatchBlock], None],
) -> None:
    """Learn from a batch block by block; after an error the model and the tally are as they were.

    Parameters
    ----------
    batch : Batch
        Labels, weights and order.
    rows : Rows
        The rows of the batch in the columns of the model.
    gaussian, tally : Gaussian, array
        What `learn` updates.
    classes, at_once : int
        The number of classes after the batch, and of rows that the native loop processes together.
    compiled : bool
        Whether the rule is compiled, so that nothing can stop it within a block.
    current : Gaussian or None
        The model that the learner has now; None before the first row.
    commit : function
        Makes `gaussian` and `tally` those of the learner.
    learn : function
        Learns from a block.
    """
    stored = rows.stored / max(1, len(rows))
    work = gaussian.covariance.work(gaussian.size, stored, gaussian.lanes, classes, gaussian.joint)
    block_rows = max(1, int(WORK_OF_A_BLOCK / work))
    if at_once > 1:
        # Blocks must be full, and are so much work that a check of their own costs nothing.
        rows.check()
    # A single short block of a compiled rule cannot fail once it is checked; a copy of the model to go back to would
    # cost more than the work.
    safe = current is not None and compiled and len(rows) <= block_rows and len(rows) * work < 8 * gaussian.memory.size
    if safe:
        # One call of the loop, before or after which Ctrl-C comes.
        rows.check()
        commit()
    with nullcontext() if safe else all_or_nothing(gaussian if gaussian is current else None, tally):
        for block in rows.blocks(block_rows, batch.places):
            part = slice(block.start, block.start + block.count)
            chosen = part if batch.places is None else batch.places[part]
            weights = None if batch.weights is None else batch.weights[chosen]
            learn(BatchBlock(block, batch.labels[chosen], weights, part))
        commit()


def retry_sorted(rows: Rows, compiled: bool, learn: Callable[[], None]) -> None:
    """Learn; if that finds rows whose features are out of order, sort them and learn again."""
    if not compiled:
        # A user's function is never called twice for a row.
        rows.check()
    try:
        learn()
    except UnsortedError:
        rows.check()
        learn()


def map_blocks(rows: Rows, per_row: int, function: Callable[[Block], Array]) -> list[Array]:
    """Apply a function to each block of rows, where a row takes `per_row` floats on the way: some 10 MB at a time."""
    rows.check()
    return [function(block) for block in rows.blocks(max(1, 2**20 // max(1, per_row)))]


def with_constant(block: Block, intercept: bool) -> Any:
    """Return the block as a matrix, with the constant feature of an intercept."""
    x = block.matrix()
    if not intercept:
        return x
    ones = np.ones((block.count, 1))
    if block.indices is None:
        return np.hstack([x, ones])
    from scipy.sparse import hstack

    return hstack([x, ones], format="csr")


def occurrences(rows: Rows, intercept: bool) -> NDArray[np.intp]:
    """Count the rows in which each feature is not zero, the constant one included; a sample of many rows."""
    rows.check()
    counted = len(rows) * _VALUES_COUNTED // max(1, rows.stored)
    return np.append(rows.part(0, max(1, counted)).occurrences(), [len(rows)] * intercept)
