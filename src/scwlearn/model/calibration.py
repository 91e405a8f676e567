"""From scores to probabilities: a curve learned online from the scores of examples before they were learned from."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn import _native
from scwlearn.data.labels import check_signs
from scwlearn.rules import Parameter

Array = NDArray[np.float64]

# As in native/curve.hpp, which lays the state out: how rows fade, the sizes of the two signals, where they are cut off.
_LIMITS = slice(8, 10)
# Behind the sums of the parabola, before the knots.
_SLOPES = slice(15, 17)
#: The curve is corrected at so many logits, so far apart, those in the middle being 0.
KNOTS, KNOT_STEP = 33, 0.5

WINDOW = Parameter("window", 30_000.0, "Older rows fade as if the stream were never longer than this.", low=1.0)


class _Curve(ABC):
    #: The curve and the sums that it is drawn from, as native/calibration.hpp says.
    state: Array

    def _writable(self) -> Array:
        if not self.state.flags.writeable:
            self.state = self.state.copy()
        return self.state

    @property
    def window(self) -> float:
        """Older rows fade as if the stream were never longer than this."""
        return float(self.state[0])

    @property
    def rows(self) -> int:
        """How many rows it has learned from."""
        return int(self.state[1])

    @property
    def limits(self) -> Array:
        """Where the two signals of a score are cut off."""
        return self.state[_LIMITS].copy()

    def copy(self) -> Self:
        """Another that has learned the same."""
        return copy(self)

    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, state=self.state.copy())
        return other


class Calibration(_Curve):
    """P(+1) from the score f = mu.x of an example and its variance v = x'Sigma x.

    ::

        u = a f/sqrt(1 + v) + b f/(sqrt(v) + |f|/8) + c
        P = 1/(1 + exp(-(u + shift(u))))

    The line (a, b, c) and the shift, which is piecewise linear, follow the likelihood of the labels; P never falls
    where the score rises. Two thirds of what counts comes from the last third of the stream, since a young model's
    scores say little about those of the model that it became. docs/probabilities.md has the measurements behind the
    form.

    Parameters
    ----------
    window : float
        Older rows fade as if the stream were never longer than this many rows. Smaller follows a drift sooner.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.model.calibration import Calibration
    >>> from scwlearn.datasets import load_set
    >>> data = load_set("synthetic-noise")
    >>> learner, calibration = Learner("arow"), Calibration()
    >>> before = learner.trace(data.x, data.y)
    >>> calibration.learn(before.score, before.variance, data.y)
    >>> p = calibration.probabilities(learner.scores(data.x), learner.margin_variances(data.x))
    >>> sure = p > 0.8
    >>> bool(abs((data.y[sure] == 1).mean() - p[sure].mean()) < 0.03)
    True
    """

    def __init__(self, *, window: float = WINDOW.default) -> None:
        self.state = np.zeros(_native.CALIBRATION)
        _native.start_calibration(self.state, WINDOW.check(window))

    def learn(
        self, scores: ArrayLike, variances: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        """Learn from rows in order: score and variance before the model learned from the row, and its label, -1 or +1.

        Rows one at a time or many at once give the same, bit for bit. A weight of 0 changes nothing. After an error
        everything is as it was.
        """
        f, v = _numbers(scores), _numbers(variances)
        signs = check_signs(labels, len(f))
        _native.calibrate_rows(self._writable(), f, v, signs, None if weights is None else _numbers(weights))

    def learn_one(self, score: float, variance: float, number: int, weight: float = 1.0) -> None:
        """Learn from a single row, as `learn` does; its label is the number of its class, 0 for -1 and 1 for +1.

        One whose score or variance is beyond what numbers hold is left out.
        """
        _native.calibrate_row(self._writable(), score, variance, number == 1, weight)

    def probability(self, score: float, variance: float) -> float:
        """P(+1) of a single row."""
        return _native.probability(self.state, score, variance)

    def probabilities(self, scores: ArrayLike, variances: ArrayLike) -> Array:
        """P(+1) for each row: above 0 and below 1."""
        f, v = _numbers(scores), _numbers(variances)
        chances = np.empty(len(f))
        _native.probabilities(self.state, f, v, chances)
        return chances

    @property
    def line(self) -> tuple[float, float, float]:
        """The slopes a and b and the constant c, as they are now."""
        return _native.calibration_line(self.state)

    @property
    def shifts(self) -> Array:
        """By how much the line is corrected at each knot."""
        return self.state[-KNOTS:].copy()

    def mirrored(self) -> Self:
        """The same for labels, and so scores, of the other sign."""
        other = copy(self)
        _native.mirror_calibration(other.state)
        return other

    @classmethod
    def merged(cls, parts: Sequence[Calibration], prior: Calibration | None = None) -> Self:
        """One for a model merged from shards: as if their rows had come in turn, one from each.

        The order of the parts does not matter, and one that has learned nothing changes nothing. The scores of a merged
        model are not quite those of its parts, so that its probabilities become as good as a single stream's only as it
        learns on; therefore what the parts learned fades as if there had been only the longest of them. Parts that went
        on from one that had learned, `prior`, count as one on the average, or their common past would count for each.
        """
        whole = cls()
        whole.state = _first(parts).state.copy()
        for part in parts[1:]:
            _native.add_calibration(whole.state, part.state)
        if prior is not None and prior.rows and len(parts) > 1:
            _native.thin_calibration(whole.state, 1 / len(parts), _rows_since(parts, prior))
        return whole


class ClassCalibration(_Curve):
    """The probabilities of any number of classes from their scores F and the variance of the top one.

    ::

        u_r = a (F_r - F_top)/sqrt(1 + v) + b (F_r - F_top)/(sqrt(v) + |F_r - F_top|/8) + c_r
        p = softmax(u)

    and P_r is p_r with its log-odds against all other classes shifted, by one curve for all classes, then scaled so
    that all sum to 1. v = x'Sigma x of the class with the largest score. A class's P never falls where its score rises
    (and v stays). For two classes that is the form of `Calibration`, with a shift that treats both alike.

    Parameters
    ----------
    n_classes : int
        How many classes there are; `add_classes` makes them more.
    window : float
        Older rows fade as if the stream were never longer than this many rows. Smaller follows a drift sooner.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.model.calibration import ClassCalibration
    >>> random = np.random.default_rng(0)
    >>> labels = random.integers(0, 3, 1000)
    >>> scores = np.eye(3)[labels] + random.standard_normal((1000, 3))
    >>> calibration = ClassCalibration(3)
    >>> calibration.learn(scores, np.ones(1000), labels)
    >>> p = calibration.probabilities(scores, np.ones(1000))
    >>> bool(abs((p.argmax(axis=1) == labels).mean() - p.max(axis=1).mean()) < 0.02)
    True
    """

    def __init__(self, n_classes: int, *, window: float = WINDOW.default) -> None:
        self.state = np.zeros(_native.CLASS_CALIBRATION + n_classes * _native.ENTRIES_PER_CLASS)
        _native.start_class_calibration(self.state, WINDOW.check(window))

    @classmethod
    def from_two(cls, calibration: Calibration, n_classes: int = 2) -> Self:
        """What the curve of two classes, -1 and +1, has learned, for the first two of at least as many."""
        whole = cls(n_classes)
        _native.class_calibration_from_two(whole.state, calibration.state)
        return whole

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._own())

    @property
    def constants(self) -> Array:
        """The constant c of each class, as it is now."""
        return self._own()[:, -1].copy()

    @property
    def slopes(self) -> Array:
        """The slopes a and b, as they are now."""
        return self.state[_SLOPES].copy()

    @property
    def shifts(self) -> Array:
        """By how much log-odds are corrected at each knot."""
        return self.state[_native.CLASS_CALIBRATION - KNOTS : _native.CLASS_CALIBRATION].copy()

    def add_classes(self, count: int) -> None:
        """More classes, after the known ones, of which nothing has been seen."""
        self.state = np.concatenate([self.state, np.zeros(count * _native.ENTRIES_PER_CLASS)])

    def arranged(self, places: ArrayLike, n_classes: int) -> Self:
        """The same with its classes, in turn, at these places among so many; the others are new."""
        at = np.asarray(places)
        if at.shape != (self.n_classes,) or len(np.unique(at)) < len(at) or not ((at >= 0) & (at < n_classes)).all():
            raise ValueError(f"places must be {self.n_classes} different numbers below {n_classes}, got {at.tolist()}")
        other = type(self)(n_classes)
        other.state[: _native.CLASS_CALIBRATION] = self.state[: _native.CLASS_CALIBRATION]
        other._own()[at] = self._own()
        return other

    def learn(
        self, scores: ArrayLike, variances: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        """Learn from rows in order.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_classes)
            The scores of all classes before the model learned from the row; -infinity for a class that was not known
            then, which takes no part. A row that brings its own class says nothing of probabilities.
        variances : array-like of shape (n_rows,)
            x'Sigma x of the class with the largest score, before the model learned from the row.
        labels : array-like of shape (n_rows,)
            The numbers of the true classes, from 0.
        weights : array-like of shape (n_rows,), optional
            0 changes nothing.

        Rows one at a time or many at once give the same, bit for bit. After an error everything is as it was.
        """
        numbers = np.asarray(labels)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"labels must be whole numbers, one for each row, got {numbers.dtype}")
        _native.calibrate_class_rows(
            self._writable(),
            _numbers(scores),
            _numbers(variances),
            np.ascontiguousarray(numbers, dtype=np.int64),
            None if weights is None else _numbers(weights),
        )

    def learn_one(self, scores: Array, variance: float, number: int, weight: float = 1.0) -> None:
        """Learn from a single row of that class, as `learn` does; one beyond what numbers hold is left out."""
        _native.calibrate_class_row(self._writable(), scores, variance, number, weight)

    def probabilities(self, scores: ArrayLike, variances: ArrayLike) -> Array:
        """P of each class for each row; they sum to 1, and none is 0 but for a class whose score is -infinity."""
        f, v = _numbers(scores), _numbers(variances)
        chances = np.empty(f.shape)
        _native.class_probabilities(self.state, f, v, chances)
        return chances

    @classmethod
    def merged(cls, parts: Sequence[ClassCalibration], prior: ClassCalibration | None = None) -> Self:
        """One for a model merged from shards, as `Calibration.merged`; all parts have the same classes (`arranged`)."""
        whole = cls(_first(parts).n_classes)
        whole.state = parts[0].state.copy()
        for part in parts[1:]:
            _native.add_class_calibration(whole.state, part.state)
        if prior is not None and prior.rows and len(parts) > 1:
            _native.thin_class_calibration(whole.state, 1 / len(parts), _rows_since(parts, prior))
        return whole

    def _own(self) -> Array:
        return self.state[_native.CLASS_CALIBRATION :].reshape(-1, _native.ENTRIES_PER_CLASS)


def _numbers(values: ArrayLike) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def _first(parts: Sequence[Any]) -> Any:
    if not parts:
        raise ValueError("there is nothing to merge: parts is empty")
    return parts[0]


def _rows_since(parts: Sequence[_Curve], prior: _Curve) -> int:
    """How many rows there have been, those before the parts went on from the prior once."""
    return prior.rows + sum(part.rows - prior.rows for part in parts)
