"""Batches of rows as every linear learner goes through them: what is checked, cut and put back, whatever the model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.rows import Block, Rows, UnsortedError, row_numbers
from scwlearn.data.weights import check_weights, rows_that_weigh
from scwlearn.learning.counters import Restorable, all_or_nothing
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, is_spelled

Array = NDArray[np.float64]

#: Up to this many features "auto" keeps a full covariance (docs/covariances.md has the measurements).
AUTO_FULL_LIMIT = 500

#: And with several classes, while the covariances of all of them together have at most this many numbers (64 MB).
AUTO_FULL_ENTRIES = 2**23

#: A block takes about this many multiplications: long enough that Python costs nothing, short enough that
#: Ctrl-C is answered at once.
WORK_OF_A_BLOCK = 1e9

# So many values tell which features are rare.
_VALUES_COUNTED = 2**20


@dataclass(frozen=True)
class Batch:
    """Rows to learn from, their labels and weights, and in which order to go through them."""

    rows: Rows
    labels: NDArray[Any]
    weights: Array | None
    #: None for the order of the rows.
    places: NDArray[np.intp] | None
    #: Which of the rows given these are, where some weigh nothing and were left out.
    numbers: NDArray[np.intp] | None

    @classmethod
    def of(
        cls, rows: Rows, labels: NDArray[Any], order: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Batch:
        """The batch, checked but for its rows."""
        weighed = check_weights(weights, len(rows))
        places = None if order is None else row_numbers(order, len(rows))
        if weighed is None or weighed.all():
            return cls(rows, labels, weighed, places, None)
        # Not there at all: a row that is only skipped would still say which features are common.
        rows.check()
        kept = np.flatnonzero(weighed)
        if places is not None:
            places = np.searchsorted(kept, rows_that_weigh(places, weighed))
        return cls(rows.chosen(kept), labels[kept], weighed[kept], places, kept)

    @property
    def labels_in_order(self) -> NDArray[Any]:
        """The labels as the learner meets them."""
        return self.labels if self.places is None else self.labels[self.places]

    def in_order(self, rows: Rows) -> Batch:
        """The same with its rows, changed, as the learner meets them."""
        if self.places is None:
            return replace(self, rows=rows)
        weights = None if self.weights is None else self.weights[self.places]
        numbers = self.places if self.numbers is None else self.numbers[self.places]
        return Batch(rows, self.labels_in_order, weights, None, numbers)

    @property
    def stored(self) -> float:
        """How many values a row has on average."""
        return self.rows.stored / max(1, len(self.rows))


@dataclass(frozen=True)
class BatchBlock:
    """Some rows of a batch as the native loops take them."""

    block: Block
    labels: NDArray[Any]
    weights: Array | None
    #: Where these rows stand in the order of the batch, and which of the rows given they are.
    part: slice
    numbers: slice | NDArray[np.intp]


class Costs(NamedTuple):
    """What a batch costs with a model."""

    #: Multiplications for a row.
    work: float
    #: Rows that the native loop takes at a time.
    at_once: int
    #: Numbers that the model keeps.
    entries: int


def go_through(
    batch: Batch,
    model: Restorable,
    tally: NDArray[np.int64],
    costs: Costs,
    *,
    spelled: bool,
    begun: bool,
    own: bool,
    take: Callable[[], None],
    learn: Callable[[BatchBlock], None],
) -> None:
    """Learn from a batch block by block, or from none of it: after an error model and tally are as they were.

    `begun` says whether the learner has a model already, `own` whether it is this one; `take` makes it so.
    """
    rows = batch.rows
    block_rows = max(1, int(WORK_OF_A_BLOCK / costs.work))
    if costs.at_once > 1:
        # Blocks are full, and so much work that a check of their own costs nothing.
        rows.check()
    # Nothing can stop a spelled rule within a block, so that a single short one needs no way back, once it is
    # checked; a copy of the model would cost more than the work. Nor does a model that is thrown away.
    safe = begun and spelled and len(rows) <= block_rows and len(rows) * costs.work < 8 * costs.entries
    if safe:
        # One call of the loop, which Ctrl-C comes before or after.
        rows.check()
        take()
    with nullcontext() if safe else all_or_nothing(model if own else None, tally):
        for block in rows.blocks(block_rows, batch.places):
            part = slice(block.start, block.start + block.count)
            chosen = part if batch.places is None else batch.places[part]
            weights = None if batch.weights is None else batch.weights[chosen]
            numbers = chosen if batch.numbers is None else batch.numbers[chosen]
            learn(BatchBlock(block, batch.labels[chosen], weights, part, numbers))
        take()


def once_in_order(rows: Rows, rule: Rule | OwnRule, learn: Callable[[], None]) -> None:
    """Learn, and where that finds rows whose features are out of order, put them in order and learn again."""
    if not is_spelled(rule):
        # A function of the user's is not asked twice about a row.
        rows.check()
    try:
        learn()
    except UnsortedError:
        rows.check()
        learn()


def auto_covariance(rule: Rule | OwnRule, width: int, *, named: bool = False, sigmas: int = 1) -> str:
    """The covariance that "auto" stands for with so many features, or with features that come by name.

    `sigmas` is how many of them are known to be needed: with several classes one for each, unless they share one.
    """
    if isinstance(rule, Rule) and rule.order == 1:
        return "identity"
    # How many names will come is not known.
    if width <= AUTO_FULL_LIMIT and sigmas * width**2 <= AUTO_FULL_ENTRIES and not named:
        return "full"
    return rule.diagonal if isinstance(rule, Rule) else "diagonal"


def by_block(rows: Rows, per_row: int, of_block: Callable[[Block], Array]) -> list[Array]:
    """What comes of each block, where what a row becomes on the way (a converted copy, x R) takes so many numbers."""
    rows.check()
    # Some 10 MB at a time.
    return [of_block(block) for block in rows.blocks(max(1, 2**20 // max(1, per_row)))]


def with_constant(block: Block, intercept: bool) -> Any:
    """The block as a matrix, the constant feature of an intercept included."""
    x = block.matrix()
    if not intercept:
        return x
    ones = np.ones((block.count, 1))
    if block.indices is None:
        return np.hstack([x, ones])
    from scipy.sparse import hstack

    return hstack([x, ones], format="csr")


def occurrences(rows: Rows, intercept: bool) -> NDArray[np.intp]:
    """In how many rows each feature is not zero, the constant one included; of many rows the first tell."""
    rows.check()
    counted = len(rows) * _VALUES_COUNTED // max(1, rows.stored)
    return np.append(rows.part(0, max(1, counted)).occurrences(), [len(rows)] * intercept)


def as_vector(x: ArrayLike) -> Array:
    """A single example as the native loops read it, where it lies if they can."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and x.flags.c_contiguous and x.flags.aligned:
        return x
    return np.require(x, np.float64, ["C", "A"])
