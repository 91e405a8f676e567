"""The model: a Gaussian N(mu, Sigma) over the weights, in NumPy arrays that the native loops move in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import SCALARS, Model
from scwlearn.model.covariance import Array, Covariance, Matrix, is_aligned, zeros

# The places in `scalars`, as in native/core/interface.hpp.
MEAN_SCALE, SPREAD_SCALE, NORM2, NORM2_PEAK, GROWTH, ROUNDS = range(SCALARS)


@dataclass
class Gaussian:
    """mu and Sigma, the prior they started from, and the round they are at.

    mu = scalars[MEAN_SCALE] mean and Sigma = scalars[SPREAD_SCALE] (what the covariance makes of spread).
    """

    covariance: Covariance
    #: The prior is N(0, initial_variance I); it stays with the model so that models can be merged.
    initial_variance: float
    #: The mean and what Sigma is made of, as the covariance lays them out.
    memory: Array
    scalars: Array

    @classmethod
    def prior(cls, covariance: Covariance, size: int, initial_variance: float) -> Gaussian:
        """The model that has seen nothing."""
        scalars = np.zeros(SCALARS)
        scalars[[MEAN_SCALE, SPREAD_SCALE, GROWTH]] = 1.0
        return cls(covariance, initial_variance, covariance.start(size, initial_variance), scalars)

    @property
    def mean(self) -> Array:
        """mu but for its scale, in place."""
        return self.covariance.mean(self.memory)

    @property
    def spread(self) -> Array:
        """What Sigma is made of but for its scale, in place."""
        return self.covariance.spread(self.memory)

    @property
    def size(self) -> int:
        """How many weights there are, the intercept's included."""
        return len(self.mean)

    def copy(self) -> Gaussian:
        """The same model in memory of its own."""
        memory = zeros(*self.memory.shape)
        np.copyto(memory, self.memory)
        return Gaussian(self.covariance, self.initial_variance, memory, self.scalars.copy())

    def writable(self) -> Gaussian:
        """This model, or a copy where its memory cannot be written to (joblib maps large arrays so) or lies askew."""
        sound = is_aligned(self.memory) and self.memory.flags.writeable and self.scalars.flags.writeable
        return self if sound else self.copy()

    def native(self, tally: NDArray[np.int64], variance_floor: float = 0.0) -> Model:
        """The model for the native loops, in the same memory, with the counts that they add to.

        No variance falls below `variance_floor` times that of the prior.
        """
        arrays = self.memory, self.scalars, tally
        return Model(self.covariance.name, self.size, *arrays, self.initial_variance, variance_floor)

    def become(self, other: Gaussian) -> None:
        """Take on the state of another model of the same size, in this one's memory."""
        np.copyto(self.memory, other.memory)
        np.copyto(self.scalars, other.scalars)

    def widened(self, at: int, count: int) -> Gaussian:
        """The model with `count` features more at index `at`: as if they had always been there, and zero."""
        unseen = self.initial_variance * self.scalars[GROWTH] / self.scalars[SPREAD_SCALE]
        memory = self.covariance.widen(self.memory, at, count, unseen)
        return Gaussian(self.covariance, self.initial_variance, memory, self.scalars.copy())

    def reordered(self, order: NDArray[np.intp]) -> Gaussian:
        """The model with feature `order[i]` at index i."""
        memory = self.covariance.reorder(self.memory, order)
        return Gaussian(self.covariance, self.initial_variance, memory, self.scalars.copy())

    def marginal(self, features: NDArray[np.int64]) -> Gaussian:
        """The model of these features alone, in this order."""
        scalars = self.scalars.copy()
        memory = self.covariance.marginal(self.memory, features)
        other = Gaussian(self.covariance, self.initial_variance, memory, scalars)
        if scalars[NORM2] > 0:
            scalars[[NORM2, NORM2_PEAK]] = other.mean @ other.mean
        return other

    def weights(self) -> Array:
        """mu."""
        weights: Array = self.mean * self.scalars[MEAN_SCALE]
        return weights

    def nonzero(self) -> int:
        """How many weights are not zero."""
        return int(np.count_nonzero(self.mean))

    def variances(self) -> Array:
        """The diagonal of Sigma."""
        scale: float = self.scalars[SPREAD_SCALE]
        return scale * self.covariance.variances(self.memory, self.initial_variance)

    def root(self) -> Array:
        """R with Sigma = R R'."""
        scale: float = np.sqrt(self.scalars[SPREAD_SCALE])
        return scale * self.covariance.root(self.memory, self.initial_variance)

    def matrix(self) -> Array:
        """Sigma, exactly symmetric."""
        root = self.root()
        half = root @ root.T
        matrix: Array = (half + half.T) / 2
        return matrix

    def margin_variances(self, x: Matrix) -> Array:
        """x'Sigma x for each row: how unsure the score mu.x is."""
        scale: float = self.scalars[SPREAD_SCALE]
        return scale * self.covariance.of_rows(x, self.memory, self.initial_variance)
