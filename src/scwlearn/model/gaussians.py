"""The models of several classes: a Gaussian over the weights of each, in arrays that the native loops move in place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import LANE_MULTIPLE, SCALARS, Classes
from scwlearn.data.rows import Block
from scwlearn.model import COVARIANCES
from scwlearn.model.class_covariance import ClassCovariance
from scwlearn.model.covariance import Array, Matrix, is_aligned, zeros
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, NORM2, NORM2_PEAK, SPREAD_SCALE, Gaussian


@dataclass
class Gaussians:
    """W and the Sigma of each class (or of all), the prior they started from, and the round they are at.

    Joint models have one set of scalars, because they are one model in the space of all weights; models that learn one
    versus rest have one for each lane.
    """

    covariance: ClassCovariance
    #: The prior is N(0, initial_variance I) for each class; it stays with the models so that models can be merged.
    initial_variance: float
    #: As the covariance lays it out, with room for more classes than are known.
    memory: Array
    #: (1, SCALARS) or (lanes, SCALARS), each as in covariance.gaussian.
    scalars: Array
    #: How many classes are known: one number, which the loops add to where a row brings a class.
    known: NDArray[np.int64]

    @classmethod
    def prior(
        cls, covariance: ClassCovariance, size: int, classes: int, initial_variance: float, *, joint: bool
    ) -> Gaussians:
        """The models that have seen nothing."""
        lanes = lanes_for(classes)
        memory = covariance.start(size, lanes, initial_variance)
        known = np.array([classes], dtype=np.int64)
        return cls(covariance, initial_variance, memory, prior_scalars(1 if joint else lanes), known)

    @classmethod
    def of_binary(cls, gaussian: Gaussian, covariance: ClassCovariance, *, joint: bool) -> Gaussians:
        """Two classes that are the two labels of a binary model: the second scores what it does, the first minus that.

        Joint, half of it each, so that the difference of the two is the binary score.
        """
        models = cls.prior(covariance, gaussian.size, 2, gaussian.initial_variance, joint=joint)
        models.scalars[: 1 if joint else 2] = gaussian.scalars
        share = 0.5 if joint else 1.0
        for lane, sign in enumerate((-share, share)):
            covariance.fill(models.memory, lane, sign * gaussian.mean, gaussian)
        if joint:
            # |W|^2 of two halves, as it is stored.
            models.scalars[0, [NORM2, NORM2_PEAK]] /= 2
        return models

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return int(self.known[0])

    @property
    def lanes(self) -> int:
        """How many classes there is room for."""
        return len(self.covariance.means(self.memory))

    @property
    def joint(self) -> bool:
        """Whether the classes are one model."""
        return len(self.scalars) == 1

    @property
    def size(self) -> int:
        """How many weights a class has, the intercept's included."""
        return int(self.covariance.means(self.memory).shape[1])

    def copy(self) -> Gaussians:
        """The same models in memory of their own."""
        memory = zeros(*self.memory.shape)
        np.copyto(memory, self.memory)
        return replace(self, memory=memory, scalars=self.scalars.copy(), known=self.known.copy())

    def writable(self) -> Gaussians:
        """These models, or a copy where their memory cannot be written to (joblib maps arrays so) or lies askew."""
        arrays = (self.memory, self.scalars, self.known)
        return self if is_aligned(self.memory) and all(a.flags.writeable for a in arrays) else self.copy()

    def native(self, tally: NDArray[np.int64], variance_floor: float = 0.0) -> Classes:
        """The models for the native loops, in the same memory, with the counts that they add to.

        No variance falls below `variance_floor` times that of the prior.
        """
        form = (self.covariance.name, self.joint, self.covariance.shared, self.size, self.lanes)
        return Classes(*form, self.memory, self.scalars, self.known, tally, self.initial_variance, variance_floor)

    def become(self, other: Gaussians) -> None:
        """Take on the state of other models of the same size, in this memory."""
        np.copyto(self.memory, other.memory)
        np.copyto(self.scalars, other.scalars)
        np.copyto(self.known, other.known)

    def widened(self, at: int, count: int) -> Gaussians:
        """The models with `count` features more at index `at`: as if they had always been there, and zero."""
        unseen = np.full(self.lanes, self.initial_variance)
        unseen[: self.classes] = self._unseen()[: self.classes]
        memory = self.covariance.widen(self.memory, at, count, unseen)
        return replace(self, memory=memory, scalars=self.scalars.copy(), known=self.known.copy())

    def marginal(self, features: NDArray[np.int64]) -> Gaussians:
        """The models of these features alone, in this order."""
        memory = self.covariance.marginal(self.memory, features, self.classes, self.initial_variance)
        other = replace(self, memory=memory, scalars=self.scalars.copy(), known=self.known.copy())
        other._measure()
        return other

    def reordered(self, order: NDArray[np.intp]) -> Gaussians:
        """The models with feature `order[i]` at index i."""
        memory = self.covariance.reorder(self.memory, order)
        return replace(self, memory=memory, scalars=self.scalars.copy(), known=self.known.copy())

    def seated(self, places: ArrayLike, classes: int) -> Gaussians:
        """So many classes, of which the first ones of these are at those places; the others begin with the prior."""
        at, lanes = np.asarray(places, dtype=np.intp), lanes_for(classes)
        memory = self.covariance.enlarge(self.memory, lanes, self.initial_variance, at)
        scalars = self.scalars.copy() if self.joint else prior_scalars(lanes)
        if not self.joint:
            scalars[at] = self.scalars[: len(at)]
        other = replace(self, memory=memory, scalars=scalars, known=np.array([classes], dtype=np.int64))
        unseen = other._unseen()
        for lane in np.setdiff1d(np.arange(classes), at):
            self.covariance.begin(memory, lane, float(unseen[lane]))
        other._measure()
        return other

    def with_room(self, classes: int) -> Gaussians:
        """These models, or a copy with room for so many classes; by half more, so that a stream makes few copies."""
        if classes <= self.lanes:
            return self
        lanes = lanes_for(max(classes, self.lanes + self.lanes // 2))
        memory = self.covariance.enlarge(self.memory, lanes, self.initial_variance, np.arange(self.lanes))
        scalars = prior_scalars(1 if self.joint else lanes)
        scalars[: len(self.scalars)] = self.scalars
        return replace(self, memory=memory, scalars=scalars, known=self.known.copy())

    def add_classes(self, count: int) -> None:
        """Make classes known, for which there must be room; they begin with the prior."""
        unseen = self._unseen()
        for lane in range(self.classes, self.classes + count):
            self.covariance.begin(self.memory, lane, float(unseen[lane]))
        self.known[0] += count

    def of_class(self, number: int) -> Gaussian:
        """The model of a class by itself, as binary learners have one; a copy."""
        memory, scalars = self.covariance.binary(self.memory, number), self.scalars[0 if self.joint else number].copy()
        return Gaussian(COVARIANCES[self.covariance.name], self.initial_variance, memory, scalars)

    def weights(self) -> Array:
        """W: (classes, size)."""
        means = self.covariance.means(self.memory)[: self.classes]
        weights: Array = means * self.scalars[: self.classes, MEAN_SCALE, np.newaxis]
        return weights

    def nonzero(self) -> int:
        """How many weights are not zero."""
        return int(np.count_nonzero(self.covariance.means(self.memory)[: self.classes]))

    def variances(self) -> Array:
        """The diagonal of each Sigma: (classes, size), the same line for all where it is shared."""
        variances = self.covariance.variances(self.memory, self.initial_variance)
        return np.ascontiguousarray(self._of_classes(variances.T).T)

    def scores(self, block: Block, intercept: bool) -> Array:
        """W x of each row: (rows, classes)."""
        return self.covariance.scores(block, self.memory, self.scalars, self.classes, intercept)

    def root(self, number: int) -> Array:
        """R with Sigma = R R' of a class."""
        scale: float = np.sqrt(self.scalars[0 if self.joint else number, SPREAD_SCALE])
        return scale * self.covariance.root(self.memory, number, self.initial_variance)

    def matrix(self, number: int) -> Array:
        """Sigma of a class, exactly symmetric."""
        root = self.root(number)
        half = root @ root.T
        matrix: Array = (half + half.T) / 2
        return matrix

    def margin_variances(self, x: Matrix) -> Array:
        """x'Sigma x of each row and class: (rows, classes)."""
        return self._of_classes(self.covariance.of_rows(x, self.memory, self.initial_variance))

    def _of_classes(self, columns: Array) -> Array:
        """Something in proportion to Sigma, a column for each lane or one for all, of the classes known, scaled."""
        lines = columns[:, : self.classes] * self.scalars[: self.classes, SPREAD_SCALE]
        return np.array(np.broadcast_to(lines, (len(columns), self.classes)))

    def _measure(self) -> None:
        """Measure the length of the weights anew where it is kept."""
        norms = np.square(self.covariance.means(self.memory)).sum(axis=1)
        norms = norms.sum(keepdims=True) if self.joint else norms
        kept = self.scalars[:, NORM2] > 0
        self.scalars[kept, NORM2] = self.scalars[kept, NORM2_PEAK] = norms[kept]

    def _unseen(self) -> Array:
        """The variance of what was never seen, as it is stored, of each lane."""
        unseen = self.initial_variance * self.scalars[:, GROWTH] / self.scalars[:, SPREAD_SCALE]
        return np.broadcast_to(unseen, (self.lanes,))


def lanes_for(classes: int) -> int:
    """Room for so many classes."""
    return max(1, -(-classes // LANE_MULTIPLE)) * LANE_MULTIPLE


def prior_scalars(count: int) -> Array:
    """The scalars of so many models that have seen nothing."""
    scalars = np.zeros((count, SCALARS))
    scalars[:, [MEAN_SCALE, SPREAD_SCALE, GROWTH]] = 1.0
    return scalars
