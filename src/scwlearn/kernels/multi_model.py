"""What a kernel learner for several classes has learned: examples that all classes share, and a Gaussian for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Model
from scwlearn._util.memory import ensure_memory
from scwlearn.kernels.support import SharedExamples, Support
from scwlearn.model import Covariance, Gaussian
from scwlearn.model.covariance import is_aligned, zeros
from scwlearn.model.gaussian import GROWTH, NORM2, NORM2_PEAK, SPREAD_SCALE
from scwlearn.model.gaussians import prior_scalars

Array = NDArray[np.float64]


@dataclass
class KernelMultiModel:
    """A Gaussian for each class, over coordinates in a span of examples that all classes share.

    With one span for all classes it is that of all examples. Else each class has its own, of the examples that moved
    it: across that span its Sigma is still the prior's, so that nothing is left out, and a class takes the work of its
    own examples, not of all.
    """

    covariance: Covariance
    #: The prior of each class is N(0, initial_variance I).
    initial_variance: float
    #: Whether the classes are one model, with one set of scalars.
    joint: bool
    one_span: bool
    #: (1, SCALARS) or (classes, SCALARS), each as in covariance.gaussian.
    scalars: Array
    #: Rows, mistakes and updates.
    tally: NDArray[np.int64]
    #: How many features the rows have, or columns the kernel matrix; None before the first.
    n_features: int | None = None
    support: SharedExamples = field(default_factory=SharedExamples)
    #: Their examples are numbers of those of the support.
    spans: list[Support] = field(default_factory=list)
    #: mu and Sigma of each class, as the covariance lays them out, with room for some more coordinates.
    memories: list[Array] = field(default_factory=list)

    @classmethod
    def prior(
        cls, covariance: Covariance, initial_variance: float, tally: NDArray[np.int64], *, joint: bool, one_span: bool
    ) -> KernelMultiModel:
        """Nothing learned, and no class known."""
        spans = [_no_examples()] if one_span else []
        scalars = prior_scalars(1 if joint else 0)
        return cls(covariance, initial_variance, joint, one_span, scalars, tally, spans=spans)

    @classmethod
    def of_binary(
        cls, gaussian: Gaussian, support: Support, tally: NDArray[np.int64], *, joint: bool, one_span: bool
    ) -> KernelMultiModel:
        """Two classes that are the two labels of a binary model: the second scores what it does, the first minus that.

        Joint, half of it each, so that the difference of the two is the binary score.
        """
        covariance = gaussian.covariance
        model = cls.prior(covariance, gaussian.initial_variance, tally, joint=joint, one_span=one_span)
        model.add_classes(2)
        model.scalars = np.tile(gaussian.scalars, (1 if joint else 2, 1))
        if joint:
            # |W|^2 of two halves, as it is stored.
            model.scalars[0, [NORM2, NORM2_PEAK]] /= 2
        if support.count:
            model.support, numbers = model.support.including(support.examples)
            support = replace(support, examples=numbers)
            model.spans = [support.copy() for _ in range(1 if one_span else 2)]
        model.memories = [gaussian.copy().memory for _ in range(2)]
        for memory, share in zip(model.memories, (-0.5, 0.5) if joint else (-1.0, 1.0), strict=True):
            covariance.mean(memory)[:] *= share
        return model

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return len(self.memories)

    @property
    def sizes(self) -> list[int]:
        """For how many coordinates each class has room."""
        return [len(self.covariance.mean(memory)) for memory in self.memories]

    def span(self, c: int) -> Support:
        """The span in which the model of a class lies."""
        return self.spans[0 if self.one_span else c]

    def gaussian(self, c: int) -> Gaussian:
        """mu and Sigma of a class over the coordinates in its span, in place."""
        scalars = self.scalars[0 if self.joint else c]
        return Gaussian(self.covariance, self.initial_variance, self.memories[c], scalars)

    def native(self, variance_floor: float) -> list[Model]:
        """The models for the native loops, in the same memory."""
        return [self.gaussian(c).native(self.tally, variance_floor) for c in range(self.classes)]

    def unseen(self, c: int) -> float:
        """The variance of a class across its span."""
        return self.initial_variance * float(self.scalars[0 if self.joint else c, GROWTH])

    def copy(self) -> KernelMultiModel:
        """The same model in memory of its own."""
        return replace(
            self,
            scalars=self.scalars.copy(),
            tally=self.tally.copy(),
            spans=[span.copy() for span in self.spans],
            memories=[_copied(memory) for memory in self.memories],
        )

    def add_classes(self, count: int) -> None:
        """Make classes known, which begin with the prior."""
        if self.joint:
            # What was never seen has grown for all.
            variance = self.unseen(0) / float(self.scalars[0, SPREAD_SCALE])
        else:
            variance = self.initial_variance
            self.scalars = np.concatenate([self.scalars, prior_scalars(count)])
        if not self.one_span:
            self.spans = self.spans + [_no_examples() for _ in range(count)]
        size = max(self.sizes, default=0) if self.one_span else 0
        self.memories = self.memories + [self.covariance.start(size, variance) for _ in range(count)]

    def make_room(self, wanted: list[int]) -> None:
        """Let each class have room for so many coordinates, and some more."""
        sizes = self.sizes
        wider = [
            size if least <= size else max(2 * size, -(-least // 16) * 16)
            for size, least in zip(sizes, wanted, strict=True)
        ]
        if wider == sizes:
            return
        factors = wider[:1] if self.one_span else wider
        needed = sum(self.covariance.entries(size) for size in wider) + sum(size * size for size in factors)
        what = f"a support of up to {max(wider)} examples for {self.classes} classes"
        with ensure_memory(2 * 8 * needed, what=what, instead="set a budget, or a larger tolerance"):
            self.memories = [
                self.memories[c] if now == size else self.gaussian(c).widened(size, now - size).memory
                for c, (size, now) in enumerate(zip(sizes, wider, strict=True))
            ]

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Make what is written to writable, and put everything back as it was when anything is raised."""
        before = dict(self.__dict__)
        self.memories = [memory if _is_sound(memory) else _copied(memory) for memory in self.memories]
        self.scalars = np.require(self.scalars, requirements="W")
        self.tally = np.require(self.tally, requirements="W")
        written: list[NDArray[Any]] = [self.scalars, self.tally, *self.memories]
        kept = [array.copy() for array in written]
        try:
            yield
        except BaseException:
            for array, old in zip(written, kept, strict=True):
                np.copyto(array, old)
            self.__dict__.update(before)
            raise


def _no_examples() -> Support:
    return Support(np.empty(0, dtype=np.intp))


def _copied(memory: Array) -> Array:
    copy = zeros(*memory.shape)
    np.copyto(copy, memory)
    return copy


def _is_sound(memory: Array) -> bool:
    return memory.flags.writeable and is_aligned(memory)
