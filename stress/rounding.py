"""How much of the difference between a full Sigma and the exact sums over its updates is rounding.

docs/numerics.md states the bound, and why it has these terms.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner
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
# Steps that change a variance by less are not much larger than their rounding, which may always have the same sign.
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
    one, two = slice(half), slice(half, None)
    after, before = _walk(learner, x[one], y[one], weights if weights is None else weights[one])
    after, behind = _walk(after, x[two], y[two], weights if weights is None else weights[two])
    return after, max(before, behind)


class Limits:
    """How much of the difference between a native model and the exact one is rounding."""

    def __init__(self, size: int) -> None:
        self._sizes = np.zeros(size)
        self._updates, self._faint, self._condition, self._faded = 0, 0, 1.0, 1.0
        self._path, self._length = 0.0, 0.0

    def see(self, updates: Updates, worst: float, model: Gaussian, lane: int = 0) -> None:
        """Take in updates, the worst condition on the way, and the model after them."""
        x, k, v, _, steps = updates
        precise = k * v
        self._condition = max(self._condition, worst, math.sqrt(1 + precise.max(initial=0.0)))
        self._sizes = np.maximum(self._sizes, np.abs(model.weights()[lane]))
        self._updates, self._faint = self._updates + len(k), self._faint + int((precise < _FAINT).sum())
        faded = np.minimum(np.exp(_latest(np.log1p(precise)) / 2), _MOST_FADED)
        self._faded = max(self._faded, faded.max(initial=0.0))
        # What the products of the scores round to, also while they are updated with their block, and the steps, in
        # standard deviations.
        moves = np.abs(steps) * np.sqrt(v)
        self._path += float((np.sqrt(k) * (np.abs(x) @ self._sizes) + moves).sum())
        self._path += float((np.sqrt(precise) * faded * _latest(moves)).sum())

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be said about the model any more."""
        return self._condition > _WORST_CONDITION

    def check(self, errors: Errors, told: str) -> float:
        """Raise an error if there is more than rounding; return the larger error, in units of its bound."""
        told = f"{told}, {self._updates} updates, condition {self._condition:.0e}: {errors}"
        terms = len(self._sizes) * (self._condition + self._faded) + self._updates + self._faint * self._condition
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


class Updates(NamedTuple):
    """The updates of a binary model or of a class, one per row; steps are factors of Sigma x."""

    x: Array
    precisions: Array
    variances: Array
    scores: Array
    steps: Array


class Followed:
    """A model with one full Sigma and one mean, and the exact sums over its updates.

    Parameters
    ----------
    rule : Rule
        Its rule.
    parameters : dict
        Those of the rule.
    size : int
        Its number of weights, the intercept included.
    initial_variance : float
        A power of two.
    """

    def __init__(self, rule: Rule, parameters: dict[str, float], size: int, initial_variance: float) -> None:
        self._rule, self._parameters = rule, parameters
        self.exact, self._limits = ExactGaussian(size, initial_variance), Limits(size)
        #: The updates compared so far, and whether the model can still be compared.
        self.updates, self.is_compared, self._seen, self._growing = 0, True, 0, 0

    def add(
        self,
        x: Array,
        y: NDArray[Any],
        weights: Array | None,
        trace: Trace,
        worst: float,
        model: Gaussian,
        lane: int = 0,
    ) -> None:
        """Add rows with the constant feature, the worst condition on the way, and the model after them."""
        took = np.flatnonzero((trace.alpha != 0) | (trace.precision != 0))
        rounds = self._seen + np.asarray(took + 1.0)
        growth = self._growth(rounds, None if weights is None else weights[took])
        self._seen += len(y)
        updates = Updates(
            x[took], trace.precision[took], trace.variance[took], trace.score[took], (trace.alpha * y)[took]
        )
        self._limits.see(updates, worst, model, lane)
        self._growing += int((growth != 1.0).sum())
        smallest, largest = factors(model, lane)[0].min(), model.variances().max()
        within_bounds = smallest > _SMALLEST_VARIANCE and largest < _LARGEST_VARIANCE
        if self._limits.is_lost or not within_bounds or self._growing > _MOST_GROWING:
            self.is_compared = False
        if not self.is_compared:
            return
        self.updates += len(took)
        start = 0
        for end in [*np.flatnonzero(growth != 1.0) + 1, len(took)]:
            x, k, v, scores, steps = (column[start:end] for column in updates)
            self.exact.add(x, k, v, scores[:, np.newaxis], steps[:, np.newaxis])
            if end > start and growth[end - 1] != 1.0:
                self.exact.grow(float(growth[end - 1]))
            start = end

    def check(self, model: Gaussian, told: str, lane: int = 0) -> float:
        """Raise an error if the model differs by more than rounding; return the larger error, in units of its bound."""
        return self._limits.check(self.exact.errors(model, lane), told)

    def _growth(self, rounds: Array, weights: Array | None) -> Array:
        """Return the factor on Sigma of the update in each round."""
        if self._rule.name != "iellip":
            return np.ones(len(rounds))
        native = native_rule(self._rule, self._parameters)
        ones = np.ones(len(rounds)) if weights is None else weights
        return np.array([native.step(-1.0, 1.0, 0.0, t, 1.0, w)[3] for t, w in zip(rounds, ones, strict=True)])
