"""What a learner counts, and what it records of each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Trace(NamedTuple):
    """Scores and steps of a run, one entry per round; scores and variances are those before the update.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> trace = Learner("arow").trace([[1.0], [2.0]], [1, -1])
    >>> trace.score, trace.variance
    (array([0., 1.]), array([1., 2.]))
    """

    score: Array
    variance: Array
    #: alpha and precision of the step; both 0 where the model did not change.
    alpha: Array
    precision: Array


@dataclass(frozen=True)
class Counts:
    """Numbers of examples seen, of mistakes made before learning from them, and of updates.

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


def new_tally() -> NDArray[np.int64]:
    """Return the counts of a learner that has learned nothing, as the native loops increment them."""
    return np.zeros(3, dtype=np.int64)
