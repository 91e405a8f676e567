"""The model: a Gaussian N(mu, Sigma) over the weights, in NumPy arrays that the native loops move in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import SCALARS, Model
from scwlearn.covariance.base import Array, Covariance, Matrix

# The places in `scalars`, as in native/model.hpp.
MEAN_SCALE, SPREAD_SCALE, NORM2, NORM2_PEAK, GROWTH, ROUNDS = range(SCALARS)


@dataclass
class Gaussian:
    """mu and Sigma, the prior they started from, and the round they are at.

    mu = scalars[MEAN_SCALE] mean and Sigma = scalars[SPREAD_SCALE] (what the covariance makes of spread).
    """

    covariance: Covariance
    #: The prior is N(0, initial_variance I); it stays with the model so that models can be merged.
    initial_variance: float
    mean: Array
    spread: Array
    scalars: Array

    @classmethod
    def prior(cls, covariance: Covariance, size: int, initial_variance: float) -> Gaussian:
        """The model that has seen nothing."""
        spread = covariance.start(size, initial_variance)
        scalars = np.zeros(SCALARS)
        scalars[[MEAN_SCALE, SPREAD_SCALE, GROWTH]] = 1.0
        return cls(covariance, initial_variance, np.zeros(size), spread, scalars)

    @property
    def size(self) -> int:
        """How many weights there are, the intercept's included."""
        return len(self.mean)

    def copy(self) -> Gaussian:
        """The same model in memory of its own."""
        arrays = (self.mean.copy(), self.spread.copy(), self.scalars.copy())
        return Gaussian(self.covariance, self.initial_variance, *arrays)

    def writable(self) -> Gaussian:
        """This model, or a copy where its memory cannot be written to (joblib maps large arrays so)."""
        arrays = (self.mean, self.spread, self.scalars)
        return self if all(a.flags.writeable for a in arrays) else self.copy()

    def native(self, tally: NDArray[np.int64]) -> Model:
        """The model for the native loops, in the same memory, with the counts that they add to."""
        return Model(self.covariance.name, self.mean, self.spread, self.scalars, tally, self.initial_variance)

    def become(self, other: Gaussian) -> None:
        """Take on the state of another model of the same size, in this one's memory."""
        for mine, theirs in ((self.mean, other.mean), (self.spread, other.spread), (self.scalars, other.scalars)):
            np.copyto(mine, theirs)

    def widened(self, at: int, count: int) -> Gaussian:
        """The model with `count` features more at index `at`: as if they had always been there, and zero."""
        mean = np.insert(self.mean, at, np.zeros(count))
        unseen = self.initial_variance * self.scalars[GROWTH] / self.scalars[SPREAD_SCALE]
        spread = self.covariance.widen(self.spread, at, count, unseen)
        return Gaussian(self.covariance, self.initial_variance, mean, spread, self.scalars.copy())

    def weights(self) -> Array:
        """mu."""
        weights: Array = self.mean * self.scalars[MEAN_SCALE]
        return weights

    def variances(self) -> Array:
        """The diagonal of Sigma."""
        scale: float = self.scalars[SPREAD_SCALE]
        return scale * self.covariance.variances(self.spread, self.size, self.initial_variance)

    def root(self) -> Array:
        """R with Sigma = R R'."""
        scale: float = np.sqrt(self.scalars[SPREAD_SCALE])
        return scale * self.covariance.root(self.spread, self.size, self.initial_variance)

    def matrix(self) -> Array:
        """Sigma, exactly symmetric."""
        root = self.root()
        half = root @ root.T
        matrix: Array = (half + half.T) / 2
        return matrix

    def margin_variances(self, x: Matrix) -> Array:
        """x'Sigma x for each row: how unsure the score mu.x is."""
        scale: float = self.scalars[SPREAD_SCALE]
        return scale * self.covariance.of_rows(x, self.spread, self.initial_variance)
