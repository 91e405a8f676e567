"""A running scale per feature: makes values comparable without a first pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import apply_scales, learn_scales, replace_attributes
from scwlearn._util.interrupts import check_interrupts, interrupts_held
from scwlearn.data.rows import Block, Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights
from scwlearn.model.covariance import zeros
from scwlearn.model.scales import SCALE_NAMES

Array = NDArray[np.float64]

# Columns of the state: variance, count and mean of each feature's non-zero values. The first line has the number of
# rows and that of dense features.
VARIANCE, COUNT, MEAN = range(3)
_COLUMNS, _PADDED_COLUMNS = 3, 4

# As in native/loops/moments.hpp: where standardised values are clipped, and the part of the mean below which a
# deviation is rounding.
MOST_DEVIATIONS = 3.0
_ROUNDING = 2.0**-40

# Number of values to scale at a time: few, since they may be converted first.
_VALUES_AT_ONCE = 2**20

# The scaled values of a block, or its scaled rows as CSR arrays.
_Parts = tuple[Array, NDArray[np.int64], NDArray[np.int64]]
_ScaleBlock = Callable[[Block, Array | None], _Parts | None]


class RunningScale:
    """Running scale: makes each feature comparable by what it has seen of it so far.

    `learn` updates the scale with a row before scaling the row; `apply` changes nothing, and leaves features that were
    never seen as they are. All kinds depend only on the values, not on whether rows are dense or sparse.

    Parameters
    ----------
    kind : str
        "rms" divides each feature by the root mean square of its non-zero values. Zeros stay zero, so sparse rows stay
        sparse, and features that are 0 or 1 do not change.

        "standard" subtracts the mean of a dense feature (non-zero in at least half of the rows) and divides by its
        standard deviation, both over all rows; a constant feature becomes 0. Other features are divided by their root
        mean square. The result is clipped to [-3, 3].

        "unit" divides by the root mean square, then each row by its Euclidean norm.

    Attributes
    ----------
    state : array, or None
        A first line with the number of rows, then one per feature; None before the first rows. Not contiguous: lines
        are padded to four numbers, or lie among those of models.
    dense : array of int64, or None
        Numbers of the dense features, padded with zeros; derived from `state`, and filled by a standard scale only.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.model.scale import RunningScale
    >>> scale, learner = RunningScale("rms"), Learner("scw1")
    >>> learner.learn(scale.learn([[1000.0, 0.002], [-3000.0, 0.001]]), [1, -1])
    Counts(seen=2, mistakes=0, updates=2)
    >>> learner.scores(scale.apply([[2000.0, 0.0015]])) > 0
    array([ True])
    """

    def __init__(self, kind: str = "rms") -> None:
        if kind not in SCALE_NAMES:
            raise ValueError(f"kind must be one of {', '.join(SCALE_NAMES)}, got {kind!r}")
        self.kind = kind
        self.state: Array | None = None
        self.dense: NDArray[np.int64] | None = None

    @property
    def width(self) -> int | None:
        """The number of features; None before the first rows."""
        return None if self.state is None else len(self.state) - 1

    @property
    def rows(self) -> float:
        """The number of rows seen."""
        return 0.0 if self.state is None else float(self.state[0, 0])

    @property
    def scales(self) -> Array:
        """What each feature is divided by: 1 for a feature never seen, infinity for one that is always the same."""
        features = self._seen()
        variance, count, square = features[:, VARIANCE], features[:, COUNT], features[:, MEAN] ** 2
        sizes = np.sqrt(variance + square)
        if self.kind == "standard":
            dense, share = self._dense(features)
            deviations = np.sqrt(share * (variance + (1 - share) * square))
            constant = deviations <= _ROUNDING * np.abs(share * features[:, MEAN])
            sizes = np.where(dense, np.where(constant, np.inf, deviations), sizes)
        return np.where(count == 0, 1.0, sizes)

    @property
    def counts(self) -> Array:
        """The number of rows in which each feature was not 0."""
        return self._seen()[:, COUNT].copy()

    @property
    def centres(self) -> Array:
        """What is subtracted from each feature before it is divided: the mean of a dense feature, otherwise 0."""
        features = self._seen()
        if self.kind != "standard":
            return np.zeros(len(features))
        dense, share = self._dense(features)
        return np.where(dense, share * features[:, MEAN], 0.0)

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
        # Ctrl-C may interrupt between two blocks, but not within one; entries that a standard scale adds need memory.
        may_stop = len(rows) > _rows_at_once(rows) or (self.kind == "standard" and 8 * rows.stored >= rows.width)
        learned = self.copy() if self.state is None or may_stop else self
        if learned.state is None:
            learned.start(rows.width)
        learned.make_writable()

        def scale(block: Block, scaled: Array | None) -> _Parts | None:
            if learned is not self:
                check_interrupts()
            part = None if weighed is None else weighed[block.start : block.start + block.count]
            arrays = block.values, block.indices, block.offsets, block.width
            return learn_scales(self.kind, learned.arrays, *arrays, part, scaled)

        scaled = self._scaled(rows, scale)
        if learned is not self:
            with interrupts_held():
                self.restore(learned)
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
        known = self
        if self.state is None:
            known = RunningScale(self.kind)
            known.start(rows.width)

        def scale(block: Block, scaled: Array | None) -> _Parts | None:
            arrays = block.values, block.indices, block.offsets, block.width
            return apply_scales(self.kind, known.arrays, *arrays, scaled)

        return self._scaled(rows, scale)

    def widen(self, n_features: int) -> None:
        """Append features that have not been seen yet, up to `n_features`."""
        known = self.width or 0
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        self.state, self.dense = self.arranged(np.arange(known), n_features).arrays

    def restore(self, other: RunningScale) -> None:
        """Copy the state of another scale, in place if the shapes agree: learners may share the memory."""
        if self.state is None or other.state is None or self.state.shape != other.state.shape:
            self.state, self.dense = other.state, other.dense
        elif self.state is not other.state:
            self.make_writable()
            self.state[:] = other.state
            self.list_dense()

    def start(self, n_features: int) -> None:
        """Start the state of this many features, which have not been seen yet."""
        # Padded, so that two lines fill a cache line.
        self.state = zeros(n_features + 1, _PADDED_COLUMNS)[:, :_COLUMNS]
        self.dense = np.zeros(n_features, np.int64)

    @property
    def arrays(self) -> tuple[Array, NDArray[np.int64]]:
        """The state and the list of dense features, for the native loops."""
        if self.state is None or self.dense is None:
            raise ValueError("this scale has not seen any row yet")
        return self.state, self.dense

    def make_writable(self) -> None:
        """Copy arrays that are read-only."""
        state, dense = self.arrays
        if not (state.flags.writeable and dense.flags.writeable):
            copied = dict(zip(("state", "dense"), self.copy().arrays, strict=True))
            # Unless another thread has done so.
            replace_attributes(self.__dict__, copied, {"state": state, "dense": dense}, ())

    def as_kind(self, kind: str) -> RunningScale:
        """Return a scale of another kind with the same statistics, in the same memory."""
        other = RunningScale(kind)
        other.state, other.dense = self.state, self.dense
        return other

    def arranged(
        self, kept: NDArray[np.int64], n_features: int, *, places: NDArray[np.int64] | None = None
    ) -> RunningScale:
        """Return the scale of the features `kept`, in this order or at `places`, among `n_features`, others unseen."""
        other = RunningScale(self.kind)
        other.start(n_features)
        if self.state is not None:
            lines, where = other.arrays[0], slice(len(kept)) if places is None else places
            lines[0, 0] = self.state[0, 0]
            lines[1:][where] = self.state[1:][kept]
            other.list_dense()
        return other

    def copy(self) -> RunningScale:
        """Return an independent copy."""
        other = RunningScale(self.kind)
        if self.state is not None and self.dense is not None:
            other.start(len(self.dense))
            np.copyto(other.arrays[0], self.state)
            np.copyto(other.arrays[1], self.dense)
        return other

    __copy__ = copy

    def __getstate__(self) -> dict[str, Any]:
        return {"kind": self.kind, "state": None if self.state is None else self.state.copy()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        # Pickling leaves no room between the lines.
        self.__init__(saved["kind"])  # type: ignore[misc]
        if saved["state"] is not None:
            self.start(len(saved["state"]) - 1)
            self.arrays[0][:] = saved["state"]
            self.list_dense()

    def merged(self, others: Iterable[RunningScale]) -> RunningScale:
        """Return the scale of all rows that this one and the others have seen.

        Parameters
        ----------
        others : iterable of RunningScale
            Scales of the same kind and of the same features in the same order; some may have more features at the end.

        Returns
        -------
        RunningScale
            The merged scale; the order of the parts matters only to rounding.

        Examples
        --------
        >>> from scwlearn.model.scale import RunningScale
        >>> one, two = RunningScale("rms"), RunningScale("rms")
        >>> one.learn([[3.0]]), two.learn([[1.0], [0.0]])  # doctest: +ELLIPSIS
        (...)
        >>> one.merged([two]).scales
        array([2.23606798])
        """
        parts = (self, *others)
        if different := {part.kind for part in parts} - {self.kind}:
            raise ValueError(f"scales of different kinds cannot be merged: {self.kind} and {different.pop()}")
        states = [part.state for part in parts if part.state is not None]
        merged = RunningScale(self.kind)
        if not states:
            return merged
        width = max(map(len, states)) - 1
        merged.start(width)
        merged.arrays[0][:] = reduce(_merged_moments, [_widened(state, width) for state in states])
        merged.list_dense()
        return merged

    def thin(self, times: int) -> None:
        """Divide the number of rows, and the count of each feature, by `times`, for parts that share a prior."""
        if self.state is not None:
            self.state[0, 0] /= times
            self.state[1:, COUNT] /= times

    def list_dense(self) -> None:
        """Derive the list of dense features from the rest of the state, if the scale is standard."""
        state, listed = self.arrays
        dense = np.flatnonzero(self._dense(state[1:])[0]) if self.kind == "standard" else np.empty(0, np.intp)
        listed[: len(dense)], listed[len(dense) :] = dense, 0
        state[0, 1:] = len(dense), 0.0

    def _dense(self, features: Array) -> tuple[NDArray[np.bool_], Array]:
        """Return which features are dense, and the share of the rows in which each dense one is not 0, otherwise 1."""
        rows, count = self.rows, features[:, COUNT]
        dense = (count > 0) & (2 * count >= rows)
        return dense, np.divide(count, rows, out=np.ones_like(count), where=dense)

    def _seen(self) -> Array:
        if self.state is None:
            raise ValueError("this scale has not seen any row yet")
        return self.state[1:]

    def _check_width(self, rows: Rows) -> None:
        if self.width is not None and rows.width != self.width:
            raise ValueError(f"X has {rows.width} features, but this scale has learned from {self.width}")

    def _scaled(self, rows: Rows, scale: _ScaleBlock) -> Rows:
        """Return the rows as `scale` writes or returns them for each block."""
        blocks = rows.blocks(_rows_at_once(rows))
        if self.kind == "standard" and rows.is_sparse:
            return _joined(blocks, scale, rows.width)
        scaled = np.zeros(rows.stored)
        for block in blocks:
            begin, end = block.start * block.width, (block.start + block.count) * block.width
            if block.offsets is not None:
                begin, end = int(block.offsets[0]), int(block.offsets[-1])
            scale(block, scaled[begin:end])
        return rows.with_values(scaled)


def _rows_at_once(rows: Rows) -> int:
    """Return the number of rows with about _VALUES_AT_ONCE values."""
    return max(1, len(rows) * _VALUES_AT_ONCE // max(1, rows.stored))


def _joined(blocks: Iterator[Block], scale: _ScaleBlock, width: int) -> Rows:
    """Return the rows that `scale` returns for each block."""
    parts = [part for block in blocks if (part := scale(block, None)) is not None]
    if len(parts) == 1:
        return Rows.from_csr(*parts[0], width)
    values = np.concatenate([np.empty(0), *(part[0] for part in parts)])
    indices = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part[2]) for part in parts)])
    return Rows.from_csr(values, indices, np.cumsum(counts), width)


def _merged_moments(one: Array, other: Array) -> Array:
    """Return the statistics of the values of two scales, and the number of their rows."""
    count = one[:, COUNT] + other[:, COUNT]
    share = np.divide(other[:, COUNT], count, out=np.zeros_like(count), where=count > 0)
    apart = np.where((share > 0) & (share < 1), other[:, MEAN] - one[:, MEAN], 0.0)
    merged = np.zeros_like(one)
    merged[:, VARIANCE] = (1 - share) * one[:, VARIANCE] + share * other[:, VARIANCE] + share * (1 - share) * apart**2
    merged[:, COUNT] = count
    merged[:, MEAN] = np.where(share == 1, other[:, MEAN], one[:, MEAN] + share * apart)
    # The first line, whose other numbers are derived.
    merged[0] = one[0, 0] + other[0, 0], 0.0, 0.0
    return merged


def _widened(state: Array, width: int) -> Array:
    """Return the state with unseen features appended."""
    wider = np.zeros((width + 1, _COLUMNS))
    wider[: len(state)] = state
    return wider
