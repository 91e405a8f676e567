"""A running scale for each feature, which makes values comparable without a pass over the data before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import apply_scales, learn_scales
from scwlearn.data.rows import Block, Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights

Array = NDArray[np.float64]

# The columns of the state.
SCALE, COUNT = range(2)

# Values that are scaled at once: few enough that what is converted for it needs little memory.
_VALUES_AT_ONCE = 2**20


class RunningScale:
    """Divides each feature by the root of the mean square of its values so far, zeros left out.

    Zeros stay zero, so that sparse rows stay sparse; features that are 0 or 1 stay as they are. An example that is
    learned from is taken in first and then scaled: the first value of a feature becomes 1 or -1. To predict changes
    nothing, and a feature never seen is left as it is.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.model.scale import RunningScale
    >>> scale, learner = RunningScale(), Learner("scw1")
    >>> learner.learn(scale.learn([[1000.0, 0.002], [-3000.0, 0.001]]), [1, -1])
    Counts(seen=2, mistakes=0, updates=2)
    >>> learner.scores(scale.apply([[2000.0, 0.0015]])) > 0
    array([ True])
    """

    def __init__(self) -> None:
        #: For each feature its scale and of how many values it is made, both 0 for one never seen; None before the
        #: first rows. All there is to save.
        self.state: Array | None = None

    @property
    def width(self) -> int | None:
        """How many features the rows have; None before the first."""
        return None if self.state is None else len(self.state)

    @property
    def scales(self) -> Array:
        """What each feature is divided by."""
        if self.state is None:
            raise ValueError("this scale has not seen any row yet")
        return np.where(self.state[:, COUNT] > 0, self.state[:, SCALE], 1.0)

    def learn(self, x: Any, weights: ArrayLike | None = None, *, order: ArrayLike | None = None) -> Rows:
        """Take in each row in turn, in their order or the one given; the rows in that order, scaled.

        Each is scaled by what has come up to it, itself included. A row of weight 0 is scaled but not taken in; what
        else the weights are makes no difference. All or nothing: after an error everything is as it was.
        """
        rows = as_rows(x)
        self._check_width(rows)
        weighed = check_weights(weights, len(rows))
        if order is not None:
            places = row_numbers(order, len(rows))
            rows, weighed = rows.take(places), None if weighed is None else weighed[places]
        state = np.zeros((rows.width, 2)) if self.state is None else self.state
        if len(rows) > _rows_at_once(rows) or not state.flags.writeable:
            # Ctrl-C may come between two blocks; a single one is taken in as a whole.
            state = state.copy()

        def scale(block: Block, scaled: Array) -> None:
            part = None if weighed is None else weighed[block.start : block.start + block.count]
            learn_scales(state, block.values, block.indices, block.offsets, block.width, part, scaled)

        scaled = _scaled(rows, scale)
        # In the memory that there is: others may look at it.
        if self.state is None or not self.state.flags.writeable:
            self.state = state
        elif self.state is not state:
            self.state[:] = state
        return scaled

    def apply(self, x: Any) -> Rows:
        """The rows, scaled by what has been seen so far."""
        rows = as_rows(x)
        self._check_width(rows)
        state = np.zeros((rows.width, 2)) if self.state is None else self.state

        def scale(block: Block, scaled: Array) -> None:
            apply_scales(state, block.values, block.indices, block.offsets, block.width, scaled)

        return _scaled(rows, scale)

    def widen(self, n_features: int) -> None:
        """Make room for features never seen before, after the known ones."""
        known = self.width or 0
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        self.state = self.arranged(np.arange(known), n_features).state

    def restore(self, other: RunningScale) -> None:
        """Take on the state of another, in the memory of this one, which others may look at."""
        if self.state is None or other.state is None or self.state.shape != other.state.shape:
            self.state = other.state
        elif self.state is not other.state:
            self.writable_state()[:] = other.state

    def arranged(self, kept: NDArray[np.int64], n_features: int) -> RunningScale:
        """The scale of these features alone, in this order, with room for so many in all."""
        other = RunningScale()
        known = np.zeros((0, 2)) if self.state is None else self.state[kept]
        other.state = _widened(known, n_features)
        return other

    def writable_state(self) -> Array:
        """The state, in memory that can be written to."""
        if self.state is None:
            raise ValueError("this scale has not seen any row yet")
        self.state = np.require(self.state, requirements=["C", "W"])
        return self.state

    def copy(self) -> RunningScale:
        """The same scale in memory of its own."""
        other = RunningScale()
        other.state = None if self.state is None else self.state.copy()
        return other

    __copy__ = copy

    def merged(self, others: Iterable[RunningScale]) -> RunningScale:
        """The scale of all values that this one and the others have seen; features of one index are the same.

        Examples
        --------
        >>> from scwlearn.model.scale import RunningScale
        >>> one, two = RunningScale(), RunningScale()
        >>> one.learn([[3.0]]), two.learn([[1.0], [0.0]])  # doctest: +ELLIPSIS
        (...)
        >>> one.merged([two]).scales
        array([2.23606798])
        """
        states = [scale.state for scale in (self, *others) if scale.state is not None]
        merged = RunningScale()
        if not states:
            return merged
        width = max(map(len, states))
        scales, counts = np.stack([_widened(state, width) for state in states]).transpose(2, 0, 1)
        # The squares are of parts of the largest, so that none overflows.
        largest = scales.max(axis=0)
        parts = np.divide(scales, largest, out=np.zeros_like(scales), where=largest > 0)
        count = counts.sum(axis=0)
        mean = np.divide((counts * parts**2).sum(axis=0), count, out=np.zeros_like(count), where=count > 0)
        merged.state = np.column_stack([largest * np.sqrt(mean), count])
        return merged

    def thin(self, times: int) -> None:
        """Let what was seen count only one part in so many."""
        if self.state is not None:
            self.state[:, COUNT] /= times

    def _check_width(self, rows: Rows) -> None:
        if self.width is not None and rows.width != self.width:
            raise ValueError(f"X has {rows.width} features, but this scale has learned from {self.width}")


def _rows_at_once(rows: Rows) -> int:
    return max(1, len(rows) * _VALUES_AT_ONCE // max(1, rows.stored))


def _scaled(rows: Rows, scale: Callable[[Block, Array], None]) -> Rows:
    """The rows after `scale` has written the values of each block where they belong."""
    scaled = np.zeros(rows.stored)
    for block in rows.blocks(_rows_at_once(rows)):
        first = block.start * block.width
        # The arrays of a sparse block are those of all rows.
        scale(block, scaled if block.indices is not None else scaled[first : first + block.values.size])
    return rows.with_values(scaled)


def _widened(state: Array, width: int) -> Array:
    wider = np.zeros((width, 2))
    wider[: len(state)] = state
    return wider
