"""Long collinear, badly scaled and contradicting streams with a full Sigma, against exact sums over their updates.

The bounds are those of docs/numerics.md: rounding, times the condition of the correlations, times a constant.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from scwlearn.learning.counters import Trace
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import Rule, all_rules, all_variants
from scwlearn.rules.native import native_rule
from stress.exact import Errors, ExactGaussian
from stress.hard_streams import draw_batches, draw_mild_parameters, draw_mild_weights
from stress.trial import Trial

Array = NDArray[np.float64]

#: Rules that change Sigma.
RULES = [rule for rule in [*all_rules(), *all_variants()] if rule.order == 2]

#: How many times the rounding that the analysis counts is allowed; the largest seen is 13.
ALLOWED = 40.0

_ROUNDING = 2.0**-53
# From here on, no digit of a variance is certain.
_WORST_CONDITION = 1e14
# Near the bounds of docs/numerics.md, steps are cut.
_SMALLEST_VARIANCE = 1e-190
# After these rounds, Sigma of IELLIP grows no more, or it is not compared.
_GROWING = 100


def condition(model: Gaussian, lane: int = 0) -> float:
    """Return the condition of the root of the correlations of the weights."""
    root = model.root(lane)
    sizes = np.linalg.svd(root / np.linalg.norm(root, axis=1, keepdims=True), compute_uv=False)
    return float(sizes[0] / max(sizes[-1], 1e-300))


class Limits:
    """How much of the difference between a native model and the exact one is rounding."""

    def __init__(self, size: int) -> None:
        self._sizes = np.zeros(size)
        self._updates, self._condition, self._path, self._length = 0, 1.0, 0.0, 0.0

    def see(self, x: Array, k: Array, variances: Array, steps: Array, model: Gaussian, lane: int = 0) -> None:
        """Take in updates, and the model after them."""
        self._condition = max(self._condition, condition(model, lane), math.sqrt(1 + (k * variances).max(initial=0.0)))
        self._sizes = np.maximum(self._sizes, np.abs(model.weights()[lane]))
        self._updates += len(k)
        # What the products of the scores round to, and the steps, in standard deviations.
        self._path += float((np.sqrt(k) * (np.abs(x) @ self._sizes) + np.abs(steps) * np.sqrt(variances)).sum())

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be said about the model any more."""
        return self._condition > _WORST_CONDITION

    def check(self, errors: Errors, told: str) -> None:
        """Raise an error if there is more than rounding."""
        told = f"{told}, {self._updates} updates, condition {self._condition:.0e}: {errors}"
        of_sigma = _ROUNDING * (len(self._sizes) * self._condition + self._updates)
        assert errors.sigma < ALLOWED * of_sigma, f"Sigma of {told}"
        self._length = max(self._length, errors.length)
        of_mean = of_sigma * (1 + self._length) + _ROUNDING * len(self._sizes) * self._path
        assert errors.mean < ALLOWED * of_mean, f"mean of {told}"


def _case(random: Random) -> int:
    rule = random.choice(RULES)
    parameters, features = draw_mild_parameters(random, rule), random.choice([1, 2, 3, 4, 6, 8, random.randint(9, 24)])
    settings: dict[str, Any] = {
        "covariance": "full",
        "initial_variance": 2.0 ** random.randint(-20, 20),
        "intercept": random.random() < 0.3,
        "variance_floor": random.choice([0.0, 0.0, 0.0, 1e-6]),
    }
    learner = Learner(rule, **settings | parameters)
    told = f"{rule.name} {parameters} {settings}, {features} features"
    size = features + learner.config.intercept
    exact, limits = ExactGaussian(size, learner.config.settings["initial_variance"]), Limits(size)
    rows = random.choice([300, 3000, 20_000 + 400_000 // (features + 2)])
    most = 20_000
    if rule.name == "cw":
        # It changes Sigma by many orders of magnitude within some rows, so that every condition must be seen.
        rows, most = 300, 1
    updates, next_check, seen = 0, 1, 0
    for x, y in draw_batches(random, rows, features, learner, most):
        weights = draw_mild_weights(random, len(x))
        trace = learner.trace(sparse.csr_array(x) if random.random() < 0.3 else x, y, weights=weights)
        assert learner.model is not None
        _check_invariants(learner.model, x, trace, told)
        took = np.flatnonzero((trace.alpha != 0) | (trace.precision != 0))
        x = np.hstack([x, np.ones((len(x), size - features))])[took]
        alpha, k, v, f = (column[took] for column in (trace.alpha, trace.precision, trace.variance, trace.score))
        limits.see(x, k, v, alpha, learner.model)
        if limits.is_lost or learner.model.memory[0, 2, :size].min() < _SMALLEST_VARIANCE:
            break
        growth = _growth(rule, parameters, np.asarray(seen + took + 1.0), None if weights is None else weights[took])
        steps, start = alpha * y[took], 0
        for end in [*np.flatnonzero(growth != 1.0) + 1, len(took)]:
            part = slice(start, end)
            exact.add(x[part], k[part], v[part], f[part, np.newaxis], steps[part, np.newaxis])
            if end > start and growth[end - 1] != 1.0:
                exact.grow(float(growth[end - 1]))
            start = end
        updates, seen = updates + len(took), seen + len(y)
        if np.count_nonzero(growth != 1.0) > _GROWING:
            break
        if updates >= next_check or seen == rows:
            next_check = updates + updates // 2
            limits.check(exact.errors(learner.model), told)
    return updates


def _check_invariants(model: Gaussian, x: Array, trace: Trace, told: str) -> None:
    assert np.isfinite(model.memory).all(), f"not finite: {told}"
    assert (trace.variance[x.any(axis=1)] > 0).all(), f"a variance is not positive: {told}"
    model.covariance.check(model.memory, model.size)


def _growth(rule: Rule, parameters: dict[str, float], rounds: Array, weights: Array | None) -> Array:
    """Return the factor on Sigma of the update in each round."""
    if rule.name != "iellip":
        return np.ones(len(rounds))
    native = native_rule(rule, parameters)
    ones = np.ones(len(rounds)) if weights is None else weights
    return np.array([native.step(-1.0, 1.0, 0.0, t, 1.0, w)[3] for t, w in zip(rounds, ones, strict=True)])


TRIAL = Trial(
    claim="A full Sigma and its mean, after long collinear, badly scaled and contradicting streams, are the exact sums "
    "over the updates up to rounding times the condition",
    unit="updates",
    case=_case,
    quick=15,
    long=10_000,
)
