"""Calibration: probabilities from scores, by a curve learned online."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn import _native
from scwlearn.rules import Parameter

Array = NDArray[np.float64]

#: Number of knots of the curve, and their distance in logits; the middle one lies at 0.
KNOTS, KNOT_STEP = 33, 0.5

WINDOW = Parameter("window", 30_000.0, "Rows fade as if the stream were never longer than this.", low=1.0)


class Calibration(_native.Calibration):
    """Curve from scores to probabilities, learned online from scores computed before the model learned each example.

    In the binary case, from the score f = mu.x and its variance v = x'Sigma x::

        u = a f/sqrt(1 + v) + b f/(sqrt(v) + |f|/8) + c
        P(+1) = 1/(1 + exp(-(u + shift(u))))

    With several classes, from the scores F and the variance v of the class with the largest one::

        u_r = a (F_r - F_top)/sqrt(1 + v) + b (F_r - F_top)/(sqrt(v) + |F_r - F_top|/8) + c_r
        p = softmax(u)

    where P_r is p_r with its log-odds against all other classes shifted, by one curve for all classes, normalized to
    sum to 1. P never falls where the score rises. Two thirds of the weight lies in the last third of the stream, since
    the scores of a young model say little about those of the model it became. See docs/probabilities.md.

    Parameters
    ----------
    n_scores : int, default=1
        Scores per example: 1 in the binary case, else the number of classes.
    window : float
        Rows fade as if the stream were never longer than this many rows. A smaller window follows drift sooner.

    Attributes
    ----------
    state : ndarray of float64
        The curve and its sums, as laid out in native/calibrate/calibration.hpp. Assigning copies the array.
    rows : int
        Number of rows learned from.
    slopes : tuple of float
        The slopes a and b.
    constants : ndarray of shape (n_scores,)
        The constant c of each score.
    shifts : ndarray of shape (KNOTS,)
        The correction of the log-odds at each knot.
    limits : tuple of float
        Bounds at which the two signals are clipped.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.model.calibration import Calibration
    >>> from scwlearn.datasets import load_set
    >>> data = load_set("synthetic-noise")
    >>> learner, calibration = Learner("arow"), Calibration()
    >>> before = learner.trace(data.x, data.y)
    >>> calibration.learn(before.score, before.variance, data.y == 1)
    >>> p = calibration.probabilities(learner.scores(data.x), learner.margin_variances(data.x))
    >>> sure = p > 0.8
    >>> bool(abs((data.y[sure] == 1).mean() - p[sure].mean()) < 0.03)
    True

    With one score per class:

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> labels = random.integers(0, 3, 1000)
    >>> scores = np.eye(3)[labels] + random.standard_normal((1000, 3))
    >>> calibration = Calibration(3)
    >>> calibration.learn(scores, np.ones(1000), labels)
    >>> p = calibration.probabilities(scores, np.ones(1000))
    >>> bool(abs((p.argmax(axis=1) == labels).mean() - p.max(axis=1).mean()) < 0.02)
    True
    """

    def __init__(self, n_scores: int = 1, *, window: float = WINDOW.default) -> None:
        super().__init__(n_scores, WINDOW.check(window))

    def learn(
        self,
        scores: ArrayLike,
        variances: ArrayLike,
        labels: ArrayLike,
        weights: ArrayLike | None = None,
        probabilities: Array | None = None,
    ) -> None:
        """Learn from rows in order.

        One row at a time or many at once give the same bits.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_scores)
            Scores before the model learned from the row. A class with a score of -infinity was unknown then and takes
            no part; a row that introduces its own class says nothing about probabilities.
        variances : array-like of shape (n_rows,)
            x'Sigma x of the class with the largest score, before the model learned from the row.
        labels : array-like of shape (n_rows,)
            Class numbers from 0. In the binary case, 0 (or False) for -1 and 1 (or True) for +1.
        weights : array-like of shape (n_rows,), optional
            Sample weights; rows of weight 0 are ignored.
        probabilities : array of the shape of `scores`, optional
            Receives the probabilities of each row just before it is learned from; NaN if its numbers are out of range,
            which is allowed for rows of weight 0.

        Raises
        ------
        TypeError
            If the labels are not whole numbers.
        ValueError
            If a number is out of range or the shapes do not fit. The calibration is then unchanged.
        """
        numbers = np.asarray(labels)
        if numbers.dtype.kind not in "biu":
            raise TypeError(f"labels must be class numbers, got {numbers.dtype}")
        if numbers.dtype != np.int32:
            # Those that are out of range stay out of range.
            numbers = np.clip(numbers.astype(np.int64), -1, np.iinfo(np.int32).max)
        weighed = None if weights is None else _numbers(weights)
        labels = np.ascontiguousarray(numbers, dtype=np.int32)
        super().learn(_numbers(scores), _numbers(variances), labels, weighed, probabilities)

    def probabilities(self, scores: ArrayLike, variances: ArrayLike) -> Array:
        """Return P(+1) of each row (binary), or P of each class for each row.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_scores)
            Scores; -infinity for an unknown class.
        variances : array-like of shape (n_rows,)
            x'Sigma x of the class with the largest score.

        Returns
        -------
        ndarray of the shape of `scores`
            Probabilities above 0 and below 1, but 0 for unknown classes; those of several classes sum to 1.
        """
        return super().probabilities(_numbers(scores), _numbers(variances))

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy(self)

    def mirrored(self) -> Self:
        """Return the binary curve with the classes -1 and +1 swapped."""
        other = copy(self)
        other.mirror()
        return other

    def expanded(self, n_classes: int = 2) -> Self:
        """Return the curve with one score per class for which this binary curve is that of the first two classes."""
        other = type(self)(n_classes)
        other.expand(self)
        return other

    def arranged(self, places: ArrayLike, n_classes: int) -> Self:
        """Return the curve with class i moved to places[i] among `n_classes` classes; the others are new."""
        other = type(self)(n_classes)
        other.arrange(self, np.ascontiguousarray(places, dtype=np.int64))
        return other

    def add_classes(self, count: int) -> None:
        """Append `count` classes that have not been seen yet."""
        if count:
            self.state = self.arranged(np.arange(self.n_scores), self.n_scores + count).state

    @classmethod
    def merged(cls, parts: Sequence[Calibration], prior: Calibration | None = None) -> Self:
        """Return the calibration of a model merged from shards, as if their rows had been interleaved.

        The order of the parts does not matter, and a part that has learned nothing changes nothing. The scores of a
        merged model differ slightly from those of its parts, so it must learn more before its probabilities are as good
        as those of a single stream; therefore rows fade as if there had been only the longest part.

        Parameters
        ----------
        parts : sequence of Calibration
            One per shard, with the same classes (see `arranged`).
        prior : Calibration, optional
            The calibration that all parts continued from. It counts once, as the average of the parts.
        """
        if not parts:
            raise ValueError("nothing to merge: parts is empty")
        whole = cls()
        whole.state = parts[0].state
        for part in parts[1:]:
            whole.add(part)
        if prior is not None and prior.rows and len(parts) > 1:
            whole.thin(1 / len(parts), prior.rows + sum(part.rows - prior.rows for part in parts))
        return whole


def _numbers(values: ArrayLike) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
