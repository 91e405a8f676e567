"""The rounds of learning, whatever the model: what is counted and written down, their order, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_fraction
from scwlearn.rules import Parameter, Rule

Array = NDArray[np.float64]

#: Products of these with any value that a row may hold stay finite.
INITIAL_VARIANCE = Parameter("initial_variance", 1.0, "", low=1e-100, high=1e100)


class Trace(NamedTuple):
    """What happened in each round, before the model moved: for bounds, curves and calibration.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> trace = Learner("arow").trace([[1.0], [2.0]], [1, -1])
    >>> trace.score, trace.variance
    (array([0., 1.]), array([1., 2.]))
    """

    score: Array
    variance: Array
    #: alpha and precision of the step taken; both 0 where the model stayed as it was.
    alpha: Array
    precision: Array


@dataclass(frozen=True)
class Counts:
    """What a learner has gone through: rows seen, mistakes made before learning from them, updates.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> learner = Learner("scw1")
    >>> learner.learn([[1.0], [2.0]], [1, 1])
    Counts(seen=2, mistakes=0, updates=2)
    >>> learner.learn([[1.0]], [-1])
    Counts(seen=1, mistakes=1, updates=1)
    >>> learner.counts
    Counts(seen=3, mistakes=1, updates=3)
    """

    seen: int = 0
    mistakes: int = 0
    updates: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.seen + other.seen, self.mistakes + other.mistakes, self.updates + other.updates)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.seen - other.seen, self.mistakes - other.mistakes, self.updates - other.updates)


def check_floor(value: object, rule: object, covariance: str) -> float:
    """A floor on the variance, or an error where there is none that could fall."""
    floor = check_fraction("variance_floor", value)
    keeps = "the covariance is 'identity'" if covariance == "identity" else ""
    if isinstance(rule, Rule) and rule.order == 1:
        keeps = f"{rule.name} is a first-order rule"
    if floor > 0 and keeps:
        raise ValueError(f"variance_floor must be 0 where no variance ever falls ({keeps}), got {value!r}")
    return floor


class Restorable(Protocol):
    """A model that can be put back as it was."""

    def copy(self) -> Self:
        """The same model in memory of its own."""

    def become(self, other: Self) -> None:
        """Take on the state of another model of the same size, in this one's memory."""


@contextmanager
def all_or_nothing(model: Restorable | None, tally: NDArray[np.int64]) -> Iterator[None]:
    """Put the model, if one is given, and the counts back as they were when anything is raised (an error, Ctrl-C)."""
    kept = None if model is None else model.copy()
    counts = tally.copy()
    try:
        yield
    except BaseException:
        if model is not None and kept is not None:
            model.become(kept)
        np.copyto(tally, counts)
        raise
