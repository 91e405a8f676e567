"""A running scale per feature: makes values comparable without a first pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import apply_scales, learn_scales
from scwlearn.data.rows import Block, Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights

Array = NDArray[np.float64]

# Columns of the state.
SCALE, COUNT = range(2)

# Number of values to scale at a time: few, since they may be converted first.
_VALUES_AT_ONCE = 2**20


class RunningScale:
    """Running scale that divides each feature by the root mean square of its non-zero values so far.

    Zeros stay zero, so sparse rows stay sparse, and features that are 0 or 1 do not change. `learn` updates the scale
    with a row before scaling the row, so the first value of a feature becomes 1 or -1. `apply` changes nothing, and
    leaves features that were never seen as they are.

    Attributes
    ----------
    state : array of shape (n_features, 2), or None
        Scale and number of values of each feature, both 0 if it was never seen; None before the first rows. This is
        all that has to be saved.

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
        self.state: Array | None = None

    @property
    def width(self) -> int | None:
        """The number of features; None before the first rows."""
        return None if self.state is None else len(self.state)

    @property
    def scales(self) -> Array:
        """What each feature is divided by; 1 for a feature never seen."""
        if self.state is None:
            raise ValueError("this scale has not seen any row yet")
        return np.where(self.state[:, COUNT] > 0, self.state[:, SCALE], 1.0)

    def learn(self, x: Any, weights: ArrayLike | None = None, *, order: ArrayLike | None = None) -> Rows:
        """Update the scale with each row in turn and return the rows, scaled.

        Each row is scaled by the values up to and including its own. All or nothing: after an error the scale is as
        it was.

        Parameters
        ----------
        x : array-like, sparse matrix or Rows
            The rows.
        weights : array-like of shape (n_rows,), optional
            Sample weights. A row of weight 0 is scaled but does not count; other weights make no difference.
        order : array-like of int, optional
            The order in which to process the rows.

        Returns
        -------
        Rows
            The scaled rows, in learning order.

        Raises
        ------
        TypeError, ValueError
            For bad rows, weights or order, and for rows of another width than before.
        """
        rows = as_rows(x)
        self._check_width(rows)
        weighed = check_weights(weights, len(rows))
        if order is not None:
            places = row_numbers(order, len(rows))
            rows, weighed = rows.take(places), None if weighed is None else weighed[places]
        state = np.zeros((rows.width, 2)) if self.state is None else self.state
        if len(rows) > _rows_at_once(rows) or not state.flags.writeable:
            # Ctrl-C may interrupt between two blocks, but not within one.
            state = state.copy()

        def scale(block: Block, scaled: Array) -> None:
            part = None if weighed is None else weighed[block.start : block.start + block.count]
            learn_scales(state, block.values, block.indices, block.offsets, block.width, part, scaled)

        scaled = _scaled(rows, scale)
        # In place: learners may share the memory.
        if self.state is None or not self.state.flags.writeable:
            self.state = state
        elif self.state is not state:
            self.state[:] = state
        return scaled

    def apply(self, x: Any) -> Rows:
        """Return the rows, scaled by the values seen so far.

        Parameters
        ----------
        x : array-like, sparse matrix or Rows
            The rows.

        Returns
        -------
        Rows
            The scaled rows.

        Raises
        ------
        TypeError, ValueError
            For bad rows, and for rows of another width than those learned from.
        """
        rows = as_rows(x)
        self._check_width(rows)
        state = np.zeros((rows.width, 2)) if self.state is None else self.state

        def scale(block: Block, scaled: Array) -> None:
            apply_scales(state, block.values, block.indices, block.offsets, block.width, scaled)

        return _scaled(rows, scale)

    def widen(self, n_features: int) -> None:
        """Append features that have not been seen yet, up to `n_features`."""
        known = self.width or 0
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        self.state = self.arranged(np.arange(known), n_features).state

    def restore(self, other: RunningScale) -> None:
        """Copy the state of another scale, in place if the shapes agree: learners may share the memory."""
        if self.state is None or other.state is None or self.state.shape != other.state.shape:
            self.state = other.state
        elif self.state is not other.state:
            self.writable_state()[:] = other.state

    def arranged(self, kept: NDArray[np.int64], n_features: int) -> RunningScale:
        """Return the scale of the features `kept`, in this order, followed by unseen ones up to `n_features`."""
        other = RunningScale()
        known = np.zeros((0, 2)) if self.state is None else self.state[kept]
        other.state = _widened(known, n_features)
        return other

    def writable_state(self) -> Array:
        """Return the state as a writable array, copied first if it is read-only."""
        if self.state is None:
            raise ValueError("this scale has not seen any row yet")
        self.state = np.require(self.state, requirements=["C", "W"])
        return self.state

    def copy(self) -> RunningScale:
        """Return an independent copy."""
        other = RunningScale()
        other.state = None if self.state is None else self.state.copy()
        return other

    __copy__ = copy

    def merged(self, others: Iterable[RunningScale]) -> RunningScale:
        """Return the scale of all values that this one and the others have seen.

        Parameters
        ----------
        others : iterable of RunningScale
            Scales of the same features in the same order; some may have more features at the end.

        Returns
        -------
        RunningScale
            The merged scale; the order of the parts matters only to rounding.

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
        # Relative to the largest, so that no square overflows.
        largest = scales.max(axis=0)
        parts = np.divide(scales, largest, out=np.zeros_like(scales), where=largest > 0)
        count = counts.sum(axis=0)
        mean = np.divide((counts * parts**2).sum(axis=0), count, out=np.zeros_like(count), where=count > 0)
        merged.state = np.column_stack([largest * np.sqrt(mean), count])
        return merged

    def thin(self, times: int) -> None:
        """Divide the count of each feature by `times`, for parts that share a prior."""
        if self.state is not None:
            self.state[:, COUNT] /= times

    def _check_width(self, rows: Rows) -> None:
        if self.width is not None and rows.width != self.width:
            raise ValueError(f"X has {rows.width} features, but this scale has learned from {self.width}")


def _rows_at_once(rows: Rows) -> int:
    """Return the number of rows with about _VALUES_AT_ONCE values."""
    return max(1, len(rows) * _VALUES_AT_ONCE // max(1, rows.stored))


def _scaled(rows: Rows, scale: Callable[[Block, Array], None]) -> Rows:
    """Return the rows with the values that `scale` writes for each block."""
    scaled = np.zeros(rows.stored)
    for block in rows.blocks(_rows_at_once(rows)):
        first = block.start * block.width
        # A sparse block refers to the arrays of all rows.
        scale(block, scaled if block.indices is not None else scaled[first : first + block.values.size])
    return rows.with_values(scaled)


def _widened(state: Array, width: int) -> Array:
    """Return the state with unseen features appended."""
    wider = np.zeros((width, 2))
    wider[: len(state)] = state
    return wider
