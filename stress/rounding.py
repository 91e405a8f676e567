"""How much of the difference between a full Sigma and the exact sums over its updates is rounding.

docs/numerics.md states the bound, and why it has these terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.data.batch import NamedRows
from scwlearn.learning.counters import Trace
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import Rule
from scwlearn.rules.native import native_rule
from stress.exact import Errors, ExactGaussian, factors

Array = NDArray[np.float64]

#: How many times the rounding that the analysis counts is allowed.
ALLOWED = 40.0

_ROUNDING = 2.0**-53
# From here on, no digit of a variance is certain.
_WORST_CONDITION = 1e14
# Near the bounds of docs/numerics.md, steps and growth are cut.
_SMALLEST_VARIANCE, _LARGEST_VARIANCE = 1e-190, 1e140
# Updates after which Sigma grows, each of which is added alone: more take too long.
_MOST_GROWING = 1000
# The rounding of steps that change a variance by less, and of repeated rows, may always have the same sign.
_FAINT = 1e-9
# Rows of a native block, and how much F of its rows may lose (kFaded in native/full/factors.hpp).
_BLOCK, _MOST_FADED = 32, 2.0**10
# Between two looks at the condition, the volume of Sigma shrinks by at most 2^-10, or there is one row.
_BITS = 20.0


def condition(model: Gaussian, lane: int = 0) -> float:
    """Return the condition of the root of the correlations of the weights."""
    root = model.root(lane)
    sizes = np.linalg.svd(root / np.linalg.norm(root, axis=1, keepdims=True), compute_uv=False)
    return float(sizes[0] / max(sizes[-1], 1e-300))


def worst_condition(learner: Learner, x: Any, y: NDArray[Any], weights: Array | None) -> float:
    """Return the largest condition on the way of a learner of one Sigma through these rows; it stays as it is."""
    return _walk(learner, x, y, weights)[1]


def _walk(learner: Learner, x: Any, y: NDArray[Any], weights: Array | None) -> tuple[Learner, float]:
    after = copy(learner)
    trace = after.trace(x, y, weights=weights)
    half = len(y) // 2
    if not half or np.log2(1 + trace.precision * trace.variance).sum() <= _BITS:
        assert after.model is not None
        return after, condition(after.model)
    one, two = slice(half), slice(half, len(y))
    after, before = _walk(learner, _part(x, one), y[one], weights if weights is None else weights[one])
    after, behind = _walk(after, _part(x, two), y[two], weights if weights is None else weights[two])
    return after, max(before, behind)


def _part(x: Any, part: slice) -> Any:
    return x.slice(part.start or 0, part.stop) if isinstance(x, NamedRows) else x[part]


class Updates(NamedTuple):
    """Updates of a model with one Sigma, one per row; steps are factors of Sigma x. Each mean has a column."""

    x: Array
    precisions: Array
    variances: Array
    scores: Array
    steps: Array
    #: The factor on Sigma after each update.
    growth: Array


class Limits:
    """How much of the difference between a native model and the exact one is rounding."""

    def __init__(self, size: int, *, asked: bool) -> None:
        self._sizes, self._asked = np.zeros(size), asked
        self._updates, self._biased, self._condition, self._faded = 0, 0, 1.0, 1.0
        self._path, self._length, self._margin = 0.0, 0.0, 0.0

    @np.errstate(over="ignore", invalid="ignore")
    def see(self, updates: Updates, worst: float, sizes: Array) -> None:
        """Take in updates, the worst condition on the way, and the sizes of the weights after them."""
        k, v, steps = updates.precisions, updates.variances, np.abs(updates.steps).max(axis=1)
        precise = k * v
        self._condition = max(self._condition, worst, math.sqrt(1 + precise.max(initial=0.0)))
        self._sizes = np.maximum(self._sizes, sizes)
        first = np.unique(updates.x, axis=0, return_index=True)[1]
        self._updates, self._biased = (
            self._updates + len(k),
            self._biased + len(k) - int((precise[first] >= _FAINT).sum()),
        )
        faded = np.exp(np.minimum(_latest(np.log1p(precise)) / 2, math.log(_MOST_FADED)))
        self._faded = max(self._faded, faded.max(initial=0.0))
        # What the products of the scores round to, also while they are updated with their block, and the steps, in
        # standard deviations.
        moves, terms = steps * np.sqrt(v), np.abs(updates.x) @ self._sizes
        self._path += float((np.sqrt(k) * terms + moves).sum())
        self._path += float((np.sqrt(precise) * faded * _latest(moves)).sum())
        if self._asked:
            self._margin = max(self._margin, (terms[v > 0] / np.sqrt(v[v > 0])).max(initial=0.0))

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be said about the model any more."""
        return self._condition > _WORST_CONDITION

    def check(self, errors: Errors, told: str) -> float:
        """Raise an error if there is more than rounding; return the larger error, in units of its bound."""
        told = f"{told}, {self._updates} updates, condition {self._condition:.0e}: {errors}"
        of_a_row = self._condition + self._faded + self._margin
        terms = len(self._sizes) * of_a_row + self._updates + self._biased * self._condition
        of_sigma = ALLOWED * _ROUNDING * terms
        assert errors.sigma < of_sigma, f"Sigma of {told}"
        self._length = max(self._length, errors.length)
        of_mean = of_sigma * (1 + self._length) + ALLOWED * _ROUNDING * len(self._sizes) * self._path
        assert errors.mean < of_mean, f"mean of {told}"
        return max(errors.sigma / of_sigma, errors.mean / of_mean)


def _latest(numbers: Array) -> Array:
    """Return the sum of each number and of those before it in any block that it may be part of."""
    sums = np.concatenate([np.zeros(_BLOCK), np.cumsum(numbers)])
    latest: Array = np.maximum(sums[_BLOCK:] - sums[:-_BLOCK], numbers)
    return latest


class Followed:
    """The exact sums over the updates of a Sigma and of its means, and how far a model may be from them.

    Parameters
    ----------
    size : int
        Its number of weights, the intercept included.
    initial_variance : float
        A power of two.
    means : int
        The number of classes that share it.
    asked : bool
        Whether the rule was asked again for the steps, with margins that may round differently.
    """

    def __init__(self, size: int, initial_variance: float, means: int = 1, *, asked: bool = False) -> None:
        self._exact, self._limits = ExactGaussian(size, initial_variance, means), Limits(size, asked=asked)
        #: The updates compared so far, and whether the model can still be compared.
        self.updates, self.is_compared, self._growing = 0, True, 0

    def add(
        self, updates: Updates, worst: float, model: Gaussian, lane: int = 0, columns: NDArray[np.intp] | None = None
    ) -> None:
        """Add updates, the worst condition on the way, and the model after them.

        `columns` has the column of each weight in the rows, by default the same one.
        """
        sizes, growth = np.zeros(updates.x.shape[1]), updates.growth
        means = self._exact.pull.shape[0]
        weights = model.weights()[lane : lane + means]
        sizes[slice(None) if columns is None else columns] = np.abs(weights).max(axis=0)
        self._limits.see(updates, worst, sizes)
        self._growing += int((growth != 1.0).sum())
        smallest, largest = factors(model, lane)[0].min(), model.variances().max()
        within_bounds = smallest > _SMALLEST_VARIANCE and largest < _LARGEST_VARIANCE
        if self._limits.is_lost or not within_bounds or self._growing > _MOST_GROWING:
            self.is_compared = False
        if not self.is_compared:
            return
        self.updates += len(growth)
        start = 0
        for end in [*np.flatnonzero(growth != 1.0) + 1, len(growth)]:
            x, k, v, scores, steps, _ = (column[start:end] for column in updates)
            self._exact.add(x, k, v, scores, steps)
            if end > start and growth[end - 1] != 1.0:
                self._exact.grow(float(growth[end - 1]))
            start = end

    def check(self, model: Gaussian, told: str, lane: int = 0, columns: NDArray[np.intp] | None = None) -> float:
        """Raise an error if the model differs by more than rounding; return the largest error in units of its bound."""
        exact = self._exact if columns is None else self._exact.of_features(columns)
        lanes = range(lane, lane + len(exact.pull))
        return max(self._limits.check(exact.errors(model, number), told) for number in lanes)


class Growth:
    """The factors on Sigma that a rule asks for, which depend on the round alone."""

    def __init__(self, rule: Rule, parameters: Mapping[str, float]) -> None:
        self._native = native_rule(rule, parameters) if rule.name == "iellip" else None

    def at(self, rounds: Array, weights: Array | None) -> Array:
        """Return the factor of the update in each round, from 1."""
        if self._native is None:
            return np.ones(len(rounds))
        ones = np.ones(len(rounds)) if weights is None else weights
        return np.array([self._native.step(-1.0, 1.0, 0.0, t, 1.0, w)[3] for t, w in zip(rounds, ones, strict=True)])


class Recorder:
    """Turns the traces of a binary learner, one after the other, into updates."""

    def __init__(self, rule: Rule, parameters: Mapping[str, float]) -> None:
        self._growth, self._seen = Growth(rule, parameters), 0

    def updates(self, x: Array, y: NDArray[Any], weights: Array | None, trace: Trace) -> Updates:
        """Return the updates at rows x, with the constant feature."""
        took = np.flatnonzero((trace.alpha != 0) | (trace.precision != 0))
        rounds = self._seen + np.asarray(took + 1.0)
        self._seen += len(y)
        growth = self._growth.at(rounds, None if weights is None else weights[took])
        scores, steps = trace.score[took, np.newaxis], (trace.alpha * y)[took, np.newaxis]
        return Updates(x[took], trace.precision[took], trace.variance[took], scores, steps, growth)
