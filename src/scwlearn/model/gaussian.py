"""The model: a Gaussian over the weights of each class, in NumPy arrays that the native loops update in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import CACHED_FEATURES, LANE_MULTIPLE, LARGEST_VARIANCE, SCALARS, SMALLEST_VARIANCE, Model
from scwlearn._util.memory import check_memory_for_blas
from scwlearn.model.average import Average
from scwlearn.model.covariance import Array, Covariance, Indices, Matrix, aligned_copy, is_sound
from scwlearn.model.interleaved import Interleaved

# The entries of `scalars`, as in native/core.
MEAN_SCALE, SPREAD_SCALE, NORM2, NORM2_PEAK, GROWTH, ROUNDS = range(SCALARS)


@dataclass(eq=False)
class Gaussian:
    """N(mu, Sigma) over the weights of each class, the prior it started from, and its round.

    A binary model has one row of weights (`lanes == 1`). Classes that are trained jointly have one set of scalars,
    because they are one model in the space of all weights; one versus rest has a set for each lane. mu is
    scalars[MEAN_SCALE] times the stored weights, Sigma is scalars[SPREAD_SCALE] times what the covariance stores.
    """

    covariance: Covariance
    #: Each class starts from N(0, initial_variance I). The prior stays with the model so that models can be merged.
    initial_variance: float
    #: Weights and Sigma, laid out by the covariance, with room for more classes than are known.
    memory: Array
    #: (1, SCALARS) or (lanes, SCALARS).
    scalars: Array
    #: The number of known classes, which the loops increment when a row brings a new one; 1 for a binary model.
    known: NDArray[np.int64]
    #: The average of mu over the rounds; None if it is not kept.
    average: Average | None = None

    def __post_init__(self) -> None:
        pairs = self.memory.strides[0] == 2 * self.memory.itemsize and self.memory.shape[1:] == (1,)
        if pairs and not (self.average is not None and self.average.is_beside(self.memory)):
            # The lags beside the weights are those of another model.
            self.memory = aligned_copy(self.memory)

    @classmethod
    def prior(
        cls,
        covariance: Covariance,
        size: int,
        initial_variance: float,
        *,
        classes: int | None = None,
        joint: bool = True,
        averaged: bool = False,
    ) -> Gaussian:
        """Return a model that has learned nothing: binary, or with room for `classes` classes, all known."""
        lanes = 1 if classes is None else lanes_for(classes)
        sets = 1 if joint else lanes
        known = np.array([1 if classes is None else classes], dtype=np.int64)
        if averaged and _keeps_lags_beside(covariance, size, lanes):
            memory, average = Average.start_beside(size)
            return cls(covariance, initial_variance, memory, prior_scalars(sets), known, average)
        memory = covariance.start(size, lanes, initial_variance)
        lags = Average.start(size, lanes, sets) if averaged else None
        return cls(covariance, initial_variance, memory, prior_scalars(sets), known, lags)

    def split(self, covariance: Covariance, *, joint: bool) -> Gaussian:
        """Return two classes that are equivalent to this binary model: class 1 scores mu.x, class 0 minus that.

        Trained jointly, each class gets half the weights, so that the difference of their scores is the binary score.
        """
        two = Gaussian.prior(covariance, self.size, self.initial_variance, classes=2, joint=joint)
        two.scalars[: 1 if joint else 2] = self.scalars
        shares = (-0.5, 0.5) if joint else (-1.0, 1.0)
        if self.average is not None:
            two.average = self.average.split(shares, two.lanes, len(two.scalars))
        for lane, share in enumerate(shares):
            covariance.fill(two.memory, lane, self.memory)
            covariance.means(two.memory)[lane] = share * self.mean
        if joint:
            # |W|^2 of two halves.
            two.scalars[0, [NORM2, NORM2_PEAK]] /= 2
        return two

    @property
    def classes(self) -> int:
        """The number of known classes; 1 for a binary model."""
        return int(self.known[0])

    @property
    def lanes(self) -> int:
        """The number of classes that there is room for; 1 for a binary model."""
        return self.covariance.lanes(self.memory)

    @property
    def is_binary(self) -> bool:
        """Whether one row of weights separates two classes."""
        return self.lanes == 1

    @property
    def joint(self) -> bool:
        """Whether the classes are one model, with one set of scalars."""
        return len(self.scalars) == 1

    @property
    def size(self) -> int:
        """The number of weights of a class, the intercept included."""
        return self.covariance.size(self.memory)

    @property
    def mean(self) -> Array:
        """A view of the weights of a binary model, unscaled."""
        view: Array = self.covariance.means(self.memory)[0]
        return view

    @property
    def average_arrays(self) -> tuple[Array, Array] | None:
        """The arrays of the average that the native loops use; None if it is not kept."""
        return None if self.average is None else self.average.arrays

    def copy(self) -> Gaussian:
        """Return a deep copy."""
        if self.average is not None and _keeps_lags_beside(self.covariance, self.size, self.lanes):
            return self._with(*self.average.beside(self.memory))
        return self._with(aligned_copy(self.memory), self._average_by(Average.copy))

    def writable(self) -> Gaussian:
        """Return this model, or a copy if its memory is read-only or not laid out as the native loops like it."""
        sound = is_sound(self.memory) and self.scalars.flags.writeable and self.known.flags.writeable
        if self.average is not None:
            apart = self.memory.flags.c_contiguous and _keeps_lags_beside(self.covariance, self.size, self.lanes)
            sound = sound and self.average.is_sound and not apart
        return self if sound else self.copy()

    def native(self, tally: NDArray[np.int64], **settings: Any) -> Model:
        """Return a handle for the native loops, which act as the settings say, on the same memory and `tally`."""
        form = self.covariance.name, self.joint, self.covariance.shared, self.size, self.lanes
        arrays = self.memory, self.scalars, self.known, tally
        return Model(*form, *arrays, self.initial_variance, self.average_arrays, **settings)

    def restore(self, other: Gaussian) -> None:
        """Copy the state of a model of the same shape into the memory of this one."""
        np.copyto(self.memory, other.memory)
        np.copyto(self.scalars, other.scalars)
        np.copyto(self.known, other.known)
        if self.average is not None and other.average is not None:
            self.average.restore(other.average)

    def widened(self, at: int, count: int, *, in_place: bool = False) -> Gaussian:
        """Return the model with `count` more features at index `at`, as if they had always been there, and zero.

        With `in_place`, the model grows in the same memory if there is room. Both models then share it, and if features
        followed, this one is no longer valid.
        """
        unseen = np.full(self.lanes, self.initial_variance)
        unseen[: self.classes] = self._unseen()[: self.classes]
        average = self._average_by(lambda average: average.widened(at, count))
        longer = self.covariance.extend(self.memory, at, count, unseen) if in_place else None
        if longer is not None:
            return replace(self, memory=longer, average=average)
        return self._with(self.covariance.widen(self.memory, at, count, unseen), average)

    def marginal(self, features: NDArray[np.int64]) -> Gaussian:
        """Return the model of these features alone, in this order."""
        memory = self.covariance.marginal(self.memory, features, self.classes, self.initial_variance)
        other = self._with(memory, self._average_by(lambda average: average.of_features(features)))
        other._measure()
        return other

    def diagonal(self, covariance: Interleaved) -> Gaussian:
        """Return the model with the same weights and a diagonal Sigma, which keeps what its updates keep.

        By precision, that is the diagonal of Sigma^-1: the variance of each weight if the others were known.
        """
        variances = self._variances_by_precision() if covariance.by_precision else self._stored_variances()
        memory = covariance.start(self.size, self.lanes, self.initial_variance)
        one = type(covariance)()
        row = one.start(self.size, 1, self.initial_variance)
        for lane, means in enumerate(self.covariance.means(self.memory)):
            one.means(row)[0] = means
            one.diagonal_in_place(row)[:] = variances[0 if covariance.shared else lane]
            covariance.fill(memory, lane, row)
        average = self._average_by(Average.copy)
        return replace(self._with(memory, average), covariance=covariance)

    def reordered(self, order: NDArray[np.intp]) -> Gaussian:
        """Return the model with feature `order[i]` at index i."""
        average = self._average_by(lambda average: average.of_features(order))
        return self._with(self.covariance.reorder(self.memory, order), average)

    def with_classes(self, places: ArrayLike, classes: int) -> Gaussian:
        """Return a model of `classes` classes: class i moves to `places[i]`, the others start from the prior."""
        at, lanes = np.asarray(places, dtype=np.intp), lanes_for(classes)
        memory = self.covariance.enlarge(self.memory, lanes, self.initial_variance, at)
        scalars = self.scalars.copy() if self.joint else prior_scalars(lanes)
        if not self.joint:
            scalars[at] = self.scalars[: len(at)]
        average = self._average_by(lambda average: average.with_lanes(lanes, at))
        known = np.array([classes], dtype=np.int64)
        other = replace(self, memory=memory, scalars=scalars, known=known, average=average)
        unseen = other._unseen()
        for lane in np.setdiff1d(np.arange(classes), at):
            self.covariance.begin(memory, lane, float(unseen[lane]))
        other._measure()
        return other

    def with_room(self, classes: int, *, spare: bool = True) -> Gaussian:
        """Return this model, or a copy with room for `classes` classes and, if there is to be some to spare, more."""
        if classes <= self.lanes:
            return self
        lanes = lanes_for(max(classes, self.lanes + self.lanes // 2) if spare else classes)
        places = np.arange(self.lanes)
        memory = self.covariance.enlarge(self.memory, lanes, self.initial_variance, places)
        scalars = prior_scalars(1 if self.joint else lanes)
        scalars[: len(self.scalars)] = self.scalars
        average = self._average_by(lambda average: average.with_lanes(lanes, places))
        return replace(self, memory=memory, scalars=scalars, known=self.known.copy(), average=average)

    def add_classes(self, count: int) -> None:
        """Make more classes known, which start from the prior; there must be room for them."""
        unseen = self._unseen()
        for lane in range(self.classes, self.classes + count):
            self.covariance.begin(self.memory, lane, float(unseen[lane]))
        self.known[0] += count

    def of_class(self, number: int) -> Gaussian:
        """Return the model of one class, as a binary model; a copy unless it is one already."""
        return self if self.is_binary else self._of_class(number, self.covariance.row(self.memory, number))

    def _of_class(self, number: int, memory: Array) -> Gaussian:
        scalars = self.scalars[[0 if self.joint else number]]
        average = self._average_by(lambda average: average.of_class(number))
        return Gaussian(type(self.covariance)(), self.initial_variance, memory, scalars, np.ones(1, int), average)

    def by_class(self) -> list[Gaussian]:
        """Return `of_class` for every class."""
        if self.is_binary:
            return [self]
        numbers = range(self.classes)
        return [
            self._of_class(number, memory)
            for number, memory in zip(numbers, self.covariance.rows(self.memory, self.classes), strict=True)
        ]

    def weights(self) -> Array:
        """Return mu: (classes, size)."""
        means = self.covariance.means(self.memory)[: self.classes]
        weights: Array = means * self.scalars[: self.classes, MEAN_SCALE, np.newaxis]
        return weights

    def shown_weights(self) -> Array:
        """Return the weights that predictions use, mu or its average: (classes, size)."""
        average = self.average
        if average is None or not average.is_used:
            return self.weights()
        return self.weights() - average.lags(self.classes)

    def at_average(self) -> Gaussian:
        """Return a model with the average of mu as its mean, and no average of its own."""
        assert self.average is not None
        return self.at(self.weights() - self.average.lags(self.classes))

    def at(self, weights: Array) -> Gaussian:
        """Return a model with this mean (classes, size), and no average of its own."""
        other = replace(self.copy(), average=None)
        self.covariance.means(other.memory)[: self.classes] = weights
        other.scalars[:, MEAN_SCALE] = 1.0
        other._measure()
        return other

    def negate(self) -> None:
        """Negate mu and its average, in place (binary models)."""
        np.negative(self.mean, out=self.mean)
        if self.average is not None:
            np.negative(self.average.lag, out=self.average.lag)

    def count_nonzero(self) -> int:
        """Return the number of weights, of those that predictions use, that are not zero."""
        if self.average is not None:
            return int(np.count_nonzero(self.shown_weights()))
        # Three times as fast as counting the weights themselves, between which the variances lie.
        return int(np.count_nonzero(self.covariance.means(self.memory)[: self.classes] != 0))

    def variances(self) -> Array:
        """Return the diagonal of each Sigma: (classes, size), the same row for all classes if shared."""
        variances = self._stored_variances()
        return np.ascontiguousarray(self._of_classes(variances.T).T)

    def weights_of(self, number: int, features: Indices) -> Array:
        """Return the weights that predictions use, as `shown_weights` does, of a class and some features."""
        row = 0 if self.joint else number
        weights: Array = self.covariance.means(self.memory)[number, features] * self.scalars[row, MEAN_SCALE]
        average = self.average
        return weights if average is None or not average.is_used else weights - average.lags_of(number, features)

    def variances_of(self, number: int, features: NDArray[np.intp]) -> Array:
        """Return the diagonal of Sigma, as `variances` does, of a class and some features."""
        if self.covariance.correlated:
            chosen: Array = self.variances()[number, features]
            return chosen
        memory = self.covariance.marginal(self.memory, features, self.classes, self.initial_variance)
        variances: Array = self._with(memory, None).variances()[number]
        return variances

    def root(self, number: int = 0) -> Array:
        """Return R with Sigma = R R' of a class."""
        scale: float = np.sqrt(self.scalars[0 if self.joint else number, SPREAD_SCALE])
        return scale * self.covariance.root(self.memory, number, self.initial_variance)

    def matrix(self, number: int = 0) -> Array:
        """Return Sigma of a class, exactly symmetric."""
        root = self.root(number)
        check_memory_for_blas()
        half = root @ root.T
        matrix: Array = (half + half.T) / 2
        return matrix

    def margin_variances(self, x: Matrix) -> Array:
        """Compute x'Sigma x of each row and class, (rows, classes): the uncertainty of its score."""
        return self._of_classes(self.covariance.of_rows(x, self.memory, self.initial_variance))

    def _with(self, memory: Array, average: Average | None) -> Gaussian:
        scalars, known = self.scalars.copy(), self.known.copy()
        return Gaussian(self.covariance, self.initial_variance, memory, scalars, known, average)

    def _average_by(self, change: Callable[[Average], Average]) -> Average | None:
        """Return the average after a change, if it is kept."""
        return None if self.average is None else change(self.average)

    def _of_classes(self, columns: Array) -> Array:
        """Scale something proportional to Sigma, one column per lane or one for all, and keep the known classes."""
        if self.is_binary:
            scaled: Array = columns * self.scalars[0, SPREAD_SCALE]
            return scaled
        # Read once: another thread may add a class.
        classes = self.classes
        lines = columns[:, :classes] * self.scalars[:classes, SPREAD_SCALE]
        return np.array(np.broadcast_to(lines, (len(columns), classes)))

    def _stored_variances(self) -> Array:
        """Return the diagonals of Sigma without its scale."""
        return self.covariance.variances(self.memory, self.initial_variance)

    def _variances_by_precision(self) -> Array:
        """Return the variances of each weight if the others were known, without the scale of Sigma."""
        precisions = self.covariance.precisions(self.memory, self.initial_variance)
        with np.errstate(divide="ignore", over="ignore"):
            variances = 1 / precisions
        finite = np.isfinite(precisions) & np.isfinite(variances)
        if not finite.all():
            # A model that diverged may have no finite precisions.
            variances = np.where(finite, variances, self._stored_variances())
        return np.maximum(variances, SMALLEST_VARIANCE)

    def _measure(self) -> None:
        """Recompute the squared norm of the weights where it is kept."""
        means = self.covariance.means(self.memory)
        norms = np.array([means[0] @ means[0]]) if self.is_binary else np.square(means).sum(axis=1)
        norms = norms.sum(keepdims=True) if self.joint else norms
        kept = self.scalars[:, NORM2] > 0
        self.scalars[kept, NORM2] = self.scalars[kept, NORM2_PEAK] = norms[kept]

    def _unseen(self) -> Array:
        """Return the stored variance of a feature that was never seen, of each lane."""
        # The ratio first: where it is 1, the variance is that of features for which there was room before the growth.
        unseen = self.initial_variance * (self.scalars[:, GROWTH] / self.scalars[:, SPREAD_SCALE])
        unseen = np.clip(unseen, SMALLEST_VARIANCE, LARGEST_VARIANCE)
        return np.repeat(unseen, self.lanes) if self.joint else unseen


def _keeps_lags_beside(covariance: Covariance, size: int, lanes: int) -> bool:
    """Return whether an averaged model gains from lags beside its weights, so that one cache line has both.

    Variances are in their place, if there are any, and a small model is in the cache anyway.
    """
    return covariance.name == "identity" and lanes == 1 and size > CACHED_FEATURES


def lanes_for(classes: int) -> int:
    """Return the number of lanes for `classes` classes."""
    return max(1, -(-classes // LANE_MULTIPLE)) * LANE_MULTIPLE


def prior_scalars(count: int) -> Array:
    """Return the scalars of `count` models that have learned nothing."""
    scalars = np.zeros((count, SCALARS))
    scalars[:, MEAN_SCALE] = scalars[:, SPREAD_SCALE] = scalars[:, GROWTH] = 1.0
    return scalars
