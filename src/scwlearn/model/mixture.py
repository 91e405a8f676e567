"""A mixture: the calibrated members of a committee, weighted by how well they have predicted lately."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn import _native
from scwlearn.model.calibration import WINDOW, Calibration

Array = NDArray[np.float64]


class Mixture(_native.Mixture):
    """Mixes the log-odds of several classifiers by an online logistic regression.

    Each member's scores are calibrated by a `Calibration` of its own. With two classes, from the log-odds z_m that
    member m gives the second::

        u = sum of w_m z_m,  P = 1/(1 + exp(-u))

    with several, from the log-probabilities z_mr of class r::

        u_r = sum of w_m z_mr,  P = softmax(u)

    The weights w start equal, with sum 1, and follow the members that predict best (docs/committee.md).

    Parameters
    ----------
    members : int
        The number of members.
    n_scores : int, default=1
        Scores per example: 1 in the binary case, else the number of classes.
    window : float
        As for `Calibration`.

    Attributes
    ----------
    state : ndarray of float64
        Weights, sums and curves, as laid out in native/calibrate/mixing.hpp. Assigning copies the array.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.model.mixture import Mixture
    >>> random = np.random.default_rng(0)
    >>> labels = random.integers(0, 2, 1000)
    >>> good, bad = 2 * labels - 1 + random.standard_normal(1000), random.standard_normal(1000)
    >>> mixture = Mixture(2)
    >>> mixed = mixture.learn([good, bad], [np.ones(1000)] * 2, labels)
    >>> bool(mixture.weights[0] > mixture.weights[1]), bool(((mixed > 0) == labels).mean() > 0.8)
    (True, True)
    """

    def __init__(self, members: int, n_scores: int = 1, *, window: float = WINDOW.default) -> None:
        super().__init__(members, n_scores, WINDOW.check(window))

    @property
    def weights(self) -> Array:
        """The weight of each member."""
        return self.state[: self.members].copy()

    @property
    def calibrations(self) -> list[Calibration]:
        """Copies of the members' calibrations."""
        curves = self.state[self.own_entries :].reshape(self.members, -1)
        return [_calibration(self.n_scores, curve) for curve in curves]

    def learn(  # type: ignore[override]
        self,
        scores: Sequence[Array],
        variances: Sequence[Array],
        labels: ArrayLike,
        weights: Array | None = None,
    ) -> Array:
        """Return the mixed scores of each row in turn, and learn from its label.

        Parameters
        ----------
        scores : list of arrays of shape (n_rows,) or (n_rows, n_scores)
            For each member, the scores before it learned from the row.
        variances : list of arrays of shape (n_rows,)
            For each member, the variance of its largest score.
        labels : array-like of int
            Class numbers; with two classes 0 and 1.
        weights : array of shape (n_rows,), optional
            Sample weights; rows of weight 0 are mixed only.

        Returns
        -------
        array of the shape of a member's scores
            The mixed scores before learning: log-odds, or with several classes log-probabilities up to a constant.
        """
        numbers = np.ascontiguousarray(labels, dtype=np.int64)
        given, spreads = [*map(_numbers, scores)], [*map(_numbers, variances)]
        mixed = np.empty(given[0].shape)
        super().learn(given, spreads, numbers, None if weights is None else _numbers(weights), mixed)
        return mixed

    def mix(self, scores: Sequence[Array], variances: Sequence[Array]) -> Array:  # type: ignore[override]
        """Return the mixed scores of rows; see `learn`."""
        given, spreads = [*map(_numbers, scores)], [*map(_numbers, variances)]
        mixed = np.empty(given[0].shape)
        super().mix(given, spreads, mixed)
        return mixed

    def __copy__(self) -> Self:
        other = type(self)(self.members, self.n_scores)
        other.state = self.state
        return other

    def __reduce__(self) -> tuple[Callable[..., Mixture], tuple[object, ...]]:
        return _restored, (self.members, self.n_scores, self.state.copy())

    def mirrored(self) -> Self:
        """Return the binary mixture with the classes -1 and +1 swapped."""
        return self._with([curve.mirrored() for curve in self.calibrations])

    def expanded(self, n_classes: int = 2) -> Self:
        """Return the mixture with one score per class for which this binary one is that of the first two classes."""
        return self._with([curve.expanded(n_classes) for curve in self.calibrations])

    def with_classes(self, n_classes: int) -> Self:
        """Return the mixture with more classes, which have not been seen yet."""
        places = np.arange(self.n_scores)
        return self._with([curve.arranged(places, n_classes) for curve in self.calibrations])

    @property
    def rows(self) -> int:
        """Number of rows learned from."""
        return int(self.state[self.own_entries - 1])

    @classmethod
    def merged(cls, parts: Sequence[Mixture], curves: Sequence[Calibration], prior: Mixture | None = None) -> Self:
        """Return the mixture of a committee merged from shards, as if their rows had been interleaved.

        Parameters
        ----------
        parts : sequence of Mixture
            One per shard.
        curves : sequence of Calibration
            The merged calibration of each member.
        prior : Mixture, optional
            The mixture that all parts continued from. It counts once.
        """
        if prior is not None and all(part.rows == prior.rows for part in parts):
            # None has learned since the common model.
            return cls._of(prior, curves)
        members, own = parts[0].members, slice(parts[0].members, parts[0].own_entries - 2)
        whole = cls(members, curves[0].n_scores)
        state = np.concatenate([whole.state[: whole.own_entries], *(curve.state for curve in curves)])
        state[own] = sum(part.state[own] for part in parts)
        if prior is not None:
            left = [_native.KEPT_BY_MIXTURES ** (part.rows - prior.rows) for part in parts]
            state[own] -= (sum(left) - math.prod(left)) * prior.state[own]
        # The weight and the number of rows.
        start = np.zeros(2) if prior is None else prior.state[own.stop : own.stop + 2]
        state[own.stop : own.stop + 2] = start + sum(part.state[own.stop : own.stop + 2] - start for part in parts)
        whole.state = state
        whole.weigh()
        return whole

    def _with(self, curves: Sequence[Calibration]) -> Self:
        return self._of(self, curves)

    @classmethod
    def _of(cls, mixture: Mixture, curves: Sequence[Calibration]) -> Self:
        """Return a mixture with the weights of another, and other calibrations."""
        other = cls(mixture.members, curves[0].n_scores)
        other.state = np.concatenate([mixture.state[: mixture.own_entries], *(curve.state for curve in curves)])
        return other


def _calibration(n_scores: int, state: Array) -> Calibration:
    curve = Calibration(n_scores)
    curve.state = state
    return curve


def _restored(members: int, n_scores: int, state: Array) -> Mixture:
    mixture = Mixture(members, n_scores)
    mixture.state = state
    return mixture


def _numbers(values: ArrayLike) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
