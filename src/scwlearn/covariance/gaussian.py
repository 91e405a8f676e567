"""The model: a Gaussian N(mu, Sigma) over the weights, in NumPy arrays that the native loops move in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scwlearn.covariance.base import Array, Covariance, Matrix


@dataclass
class Gaussian:
    """mu and Sigma, the prior they started from, and the round they are at.

    `scalars` are the four of native/model.hpp: mu = scalars[0] mean, Sigma = scalars[1] (made of spread),
    then the squared length of `mean` and the number of rounds.
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
        return cls(covariance, initial_variance, np.zeros(size), spread, np.array([1.0, 1.0, 0.0, 0.0]))

    @property
    def size(self) -> int:
        """How many weights there are, the intercept's included."""
        return len(self.mean)

    def copy(self) -> Gaussian:
        """The same model in memory of its own."""
        arrays = (self.mean.copy(), self.spread.copy(), self.scalars.copy())
        return Gaussian(self.covariance, self.initial_variance, *arrays)

    def widened(self, at: int, count: int) -> Gaussian:
        """The model with `count` features more at index `at`: as if they had always been there, and zero."""
        mean = np.insert(self.mean, at, np.zeros(count))
        spread = self.covariance.widen(self.spread, at, count, self.initial_variance)
        return Gaussian(self.covariance, self.initial_variance, mean, spread, self.scalars.copy())

    def weights(self) -> Array:
        """mu."""
        weights: Array = self.mean * self.scalars[0]
        return weights

    def variances(self) -> Array:
        """The diagonal of Sigma."""
        scale: float = self.scalars[1]
        return scale * self.covariance.variances(self.spread, self.size, self.initial_variance)

    def matrix(self) -> Array:
        """Sigma, exactly symmetric; for a full covariance."""
        half = self.spread @ self.spread.T
        matrix: Array = self.scalars[1] * (half + half.T) / 2
        return matrix

    def margin_variances(self, x: Matrix) -> Array:
        """x'Sigma x for each row: how unsure the score mu.x is."""
        scale: float = self.scalars[1]
        return scale * self.covariance.of_rows(x, self.spread, self.initial_variance)
