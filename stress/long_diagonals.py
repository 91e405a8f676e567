"""Long streams with a variance per feature, against their updates in extended precision."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from stress.hard_streams import draw_hard_rows, draw_mild_parameters, draw_mild_weights, draw_signs
from stress.long_streams import RULES, draw_features, draw_settings
from stress.rounding import ALLOWED, Recorder, Updates
from stress.trial import Trial

Array = NDArray[np.float64]
Long = NDArray[np.longdouble]

_ROUNDING = 2.0**-53
# Near the bounds of docs/numerics.md, steps and growth are cut.
_SMALLEST_VARIANCE, _LARGEST_VARIANCE, _LARGEST_SHRINKAGE = 1e-190, 1e140, 1e90


class ExtendedDiagonal:
    """Weights and variances in extended precision, and a bound on the rounding of those of a native model.

    Parameters
    ----------
    form : str
        "diagonal", "diagonal-drop" or "identity".
    size : int
        The number of weights.
    initial_variance, floor : float
        The variances of the prior, and the bound below which none falls.
    """

    def __init__(self, form: str, size: int, initial_variance: float, floor: float) -> None:
        self._form, self._floor = form, floor
        self.means: Long = np.zeros(size, np.longdouble)
        self.variances: Long = np.full(size, initial_variance, np.longdouble)
        self.is_compared = True
        #: The rounding of each variance, relative to it, and of each mean, in units of 2^-53.
        self.of_variances, self.of_means = np.ones(size), np.zeros(size)

    def add(self, updates: Updates) -> None:
        """Make updates."""
        with np.errstate(over="ignore"):
            kv = updates.precisions * updates.variances
        self.is_compared &= bool(kv.max(initial=0.0) < _LARGEST_SHRINKAGE)
        if not self.is_compared:
            return
        rows = updates.x.astype(np.longdouble)
        for x, precise, step, grow in zip(rows, kv, updates.steps[:, 0], updates.growth, strict=True):
            self._move(x, np.longdouble(precise), step)
            if self._form != "identity":
                self.variances = self.variances * grow
        within = (self.variances > _SMALLEST_VARIANCE) & (self.variances < _LARGEST_VARIANCE)
        self.is_compared = bool(within.all())

    def check(self, means: Array, variances: Array, told: str) -> None:
        """Raise an error if there is more than rounding."""
        error = np.abs(variances / self.variances - 1).astype(float)
        assert (error <= ALLOWED * _ROUNDING * self.of_variances).all(), f"variances of {told}: {error}"
        error = np.abs(means - self.means).astype(float)
        assert (error <= ALLOWED * _ROUNDING * self.of_means).all(), f"means of {told}: {error}, {self.means}"

    def _move(self, x: Long, kv: np.longdouble, step: float) -> None:
        moves = step * (self.variances * x)
        self.means = self.means + moves
        seen = x != 0
        self.of_means += (np.abs(moves) * self.of_variances + np.abs(self.means) * seen).astype(float)
        if self._form == "identity":
            return
        shares = self.variances * x * x
        shares = shares / shares.sum()
        if self._form == "diagonal":
            factors, rounding = 1 / (1 + kv * shares), 1.0
        else:
            left = 1 + kv * np.maximum(1 - shares, 0)
            # The rest of a share near 1 is a difference.
            factors, rounding = left / (1 + kv), 1 + float((kv * shares / left).max())
        # Through the shares, an error of one variance reaches the others, but never becomes larger.
        self.of_variances[seen] = self.of_variances[seen].max() + rounding
        self.variances = np.maximum(self.variances * factors, self._floor)


def _case(random: Random) -> int:
    rule, form = (
        random.choice(RULES),
        random.choice(["diagonal", "diagonal", "diagonal-drop", "diagonal-drop", "identity"]),
    )
    parameters, settings, features = draw_mild_parameters(random, rule), draw_settings(random), draw_features(random)
    settings |= {"covariance": form}
    if form == "identity":
        del settings["variance_floor"]
    learner = Learner(rule, **settings | parameters)
    told = f"{rule.name} {parameters} {settings}, {features} features"
    size, variance = features + learner.config.intercept, settings["initial_variance"]
    exact = ExtendedDiagonal(form, size, variance, settings.get("variance_floor", 0.0) * variance)
    recorder, updates, rows = Recorder(rule, parameters), 0, random.choice([300, 3000, 20_000])
    while rows > 0 and exact.is_compared:
        count = min(rows, random.choice([1, 20, random.randint(1, 2000)]))
        rows -= count
        x = draw_hard_rows(random, count, features)
        y, weights = draw_signs(random, x), draw_mild_weights(random, count)
        given: Any = sparse.csr_array(x) if random.random() < 0.4 else x
        trace = learner.trace(given, y, weights=weights)
        found = recorder.updates(np.hstack([x, np.ones((count, size - features))]), y, weights, trace)
        exact.add(found)
        assert learner.model is not None
        means, variances = learner.model.weights()[0], learner.model.variances()[0]
        assert np.isfinite(means).all(), f"means of {told}"
        assert (variances > 0).all(), f"variances of {told}"
        if exact.is_compared:
            exact.check(means, variances, told)
            updates += len(found.growth)
    return updates


TRIAL = Trial(
    claim="A variance per feature and the mean, after such streams, are those of the updates in extended precision",
    unit="updates",
    case=_case,
    quick=10,
    long=10_000,
)
