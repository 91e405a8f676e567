"""The model of a kernel learner: support examples, and a Gaussian per class over coordinates in their span."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Model
from scwlearn._util.memory import ensure_memory, memory_held
from scwlearn.kernels.support import Examples, SharedExamples, Support
from scwlearn.learning.counters import new_tally
from scwlearn.model.covariance import Array, Covariance, aligned_copy, is_sound
from scwlearn.model.gaussian import GROWTH, NORM2, NORM2_PEAK, SPREAD_SCALE, Gaussian, prior_scalars


@dataclass
class KernelModel:
    """A Gaussian per class over coordinates in a span of support examples; a binary model has one.

    The classes share one span of all examples, or each has its own span of the examples that updated it. Outside its
    span, Sigma of a class is still that of the prior, so nothing is lost, and a class costs only the work of its own
    examples.
    """

    covariance: Covariance
    #: Each class starts from N(0, initial_variance I).
    initial_variance: float
    #: Whether one Gaussian separates two classes.
    is_binary: bool
    #: Whether the classes are one model, with one set of scalars.
    joint: bool
    one_span: bool
    #: (1, SCALARS) or (classes, SCALARS), as in model.gaussian.
    scalars: Array
    #: Rows, mistakes and updates.
    tally: NDArray[np.int64] = field(default_factory=new_tally)
    #: The number of features of a row, or of columns of the kernel matrix; None before the first.
    n_features: int | None = None
    #: The spans; a binary model's consists of the support itself, others of indices into `shared`.
    spans: list[Support] = field(default_factory=list)
    #: The examples of all classes, each stored once.
    shared: SharedExamples = field(default_factory=SharedExamples)
    #: mu and Sigma of each class, laid out by the covariance, with room for some more coordinates.
    memories: list[Array] = field(default_factory=list)

    @classmethod
    def prior(
        cls, covariance: Covariance, initial_variance: float, classes: int | None, *, joint: bool, one_span: bool
    ) -> KernelModel:
        """Return a model that has learned nothing: binary, or of `classes` classes."""
        binary = classes is None
        joint, one_span = joint or binary, one_span or binary
        model = cls(covariance, initial_variance, binary, joint, one_span, prior_scalars(1 if joint else 0))
        if model.one_span:
            model.spans = [Support() if binary else _no_examples()]
        model.add_classes(1 if classes is None else classes)
        return model

    def split(self, *, joint: bool, one_span: bool) -> KernelModel:
        """Return two classes that are equivalent to this binary model: class 1 scores mu.x, class 0 minus that.

        Trained jointly, each class gets half the weights, so that the difference of their scores is the binary score.
        """
        two = KernelModel.prior(self.covariance, self.initial_variance, 2, joint=joint, one_span=one_span)
        two.tally, two.n_features = self.tally.copy(), self.n_features
        two.scalars = np.tile(self.scalars, (1 if joint else 2, 1))
        if joint:
            # |W|^2 of two halves.
            two.scalars[0, [NORM2, NORM2_PEAK]] /= 2
        if self.support.count:
            two.shared, numbers = two.shared.including(self.support.examples)
            span = replace(self.spans[0], examples=numbers)
            two.spans = [span.copy() for _ in range(1 if one_span else 2)]
        two.memories = [aligned_copy(self.memories[0]) for _ in range(2)]
        for memory, share in zip(two.memories, (-0.5, 0.5) if joint else (-1.0, 1.0), strict=True):
            self.covariance.means(memory)[:] *= share
        return two

    @property
    def support(self) -> Examples:
        """The examples in whose span the model lies."""
        return self.spans[0] if self.is_binary else self.shared

    @property
    def classes(self) -> int:
        """The number of known classes; 1 for a binary model."""
        return len(self.memories)

    @property
    def sizes(self) -> list[int]:
        """The number of coordinates that each class has room for."""
        return [self.covariance.means(memory).shape[1] for memory in self.memories]

    def span(self, c: int) -> Support:
        """Return the span in which the model of a class lies."""
        return self.spans[0 if self.one_span else c]

    def coordinates(self, kernels: Array) -> list[Array]:
        """Return the coordinates of rows in each span, from their kernels with the support."""
        if self.is_binary:
            return [self.spans[0].coordinates(kernels)]
        return [span.coordinates(kernels[:, span.examples]) for span in self.spans]

    def gaussian(self, c: int) -> Gaussian:
        """Return mu and Sigma of a class over the coordinates in its span, in place."""
        at = 0 if self.joint else c
        scalars = self.scalars[at : at + 1]
        return Gaussian(self.covariance, self.initial_variance, self.memories[c], scalars, np.ones(1, dtype=np.int64))

    def native(self, **settings: Any) -> list[Model]:
        """Return handles for the native loops on the same memory."""
        return [self.gaussian(c).native(self.tally, **settings) for c in range(self.classes)]

    def margin_variances(self, kernels: Array, norms: Array) -> Array:
        """Compute x'Sigma x of rows and classes, from their kernels with the support and with themselves."""
        inside = self.coordinates(kernels)
        variances = np.empty((len(norms), self.classes))
        for c, size in enumerate(self.sizes):
            coordinates = inside[0 if self.one_span else c]
            variances[:, c] = self.gaussian(c).margin_variances(padded(coordinates, size))[:, 0]
            outside = np.maximum(norms - np.einsum("ij,ij->i", coordinates, coordinates), 0.0)
            outside[np.isinf(norms)] = np.inf
            variances[:, c] += self.unseen(c) * outside
        return variances

    def unseen(self, c: int) -> float:
        """Return the variance of a class outside its span."""
        return self.initial_variance * float(self.scalars[0 if self.joint else c, GROWTH])

    def copy(self) -> KernelModel:
        """Return a deep copy."""
        return replace(
            self,
            scalars=self.scalars.copy(),
            tally=self.tally.copy(),
            spans=[span.copy() for span in self.spans],
            memories=[aligned_copy(memory) for memory in self.memories],
        )

    def add_classes(self, count: int) -> None:
        """Make classes known, which start from the prior."""
        scalars, spans, variance = self.scalars, self.spans, self.initial_variance
        if self.joint:
            # Directions never seen have grown for all.
            variance = self.unseen(0) / float(scalars[0, SPREAD_SCALE])
        else:
            scalars = np.concatenate([scalars, prior_scalars(count)])
        if not self.one_span:
            spans = spans + [_no_examples() for _ in range(count)]
        size = max(self.sizes, default=0) if self.one_span else 0
        memories = self.memories + [self.covariance.start(size, 1, variance) for _ in range(count)]
        self.scalars, self.spans, self.memories = scalars, spans, memories

    def make_room(self, wanted: list[int]) -> None:
        """Make room for that many coordinates of each class, and some more."""
        sizes = self.sizes
        wider = [
            size if least <= size else max(2 * size, -(-least // 16) * 16)
            for size, least in zip(sizes, wanted, strict=True)
        ]
        if wider == sizes:
            return
        factors = wider[:1] if self.one_span else wider
        needed = sum(np.prod(self.covariance.shape(size, 1)) for size in wider) + sum(size * size for size in factors)
        what = f"a support of up to {max(wider)} examples" + ("" if self.is_binary else f" for {self.classes} classes")
        with ensure_memory(2 * 8 * int(needed), what=what, instead="set a budget, or a larger tolerance"):
            self.memories = [
                self.memories[c] if now == size else self.gaussian(c).widened(size, now - size).memory
                for c, (size, now) in enumerate(zip(sizes, wider, strict=True))
            ]

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Make the arrays writable, and restore everything when anything is raised."""
        before = dict(self.__dict__)
        self.memories = [memory if is_sound(memory) else aligned_copy(memory) for memory in self.memories]
        self.scalars = np.require(self.scalars, requirements="W")
        self.tally = np.require(self.tally, requirements="W")
        written: list[NDArray[Any]] = [self.scalars, self.tally, *self.memories]
        kept = [array.copy() for array in written]
        try:
            with memory_held():
                yield
        except BaseException:
            for array, old in zip(written, kept, strict=True):
                np.copyto(array, old)
            self.__dict__.update(before)
            raise


def padded(coordinates: Array, size: int) -> Array:
    """Return coordinates padded with zeros to `size`."""
    wider = np.zeros((len(coordinates), size))
    wider[:, : coordinates.shape[1]] = coordinates
    return wider


def _no_examples() -> Support:
    return Support(np.empty(0, dtype=np.intp))
