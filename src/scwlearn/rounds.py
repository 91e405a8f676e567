"""The rounds of learning, whatever the model: what is counted and written down, their order, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.covariance import Gaussian
from scwlearn.rules import Parameter

Array = NDArray[np.float64]

#: Products of these with any value that a row may hold stay finite.
INITIAL_VARIANCE = Parameter("initial_variance", 1.0, "", low=1e-100, high=1e100)


class Trace(NamedTuple):
    """What happened in each round, before the model moved: for bounds, curves and calibration."""

    score: Array
    variance: Array
    #: alpha and precision of the step taken; both 0 where the model stayed as it was.
    alpha: Array
    precision: Array


@dataclass(frozen=True)
class Counts:
    """What a learner has gone through: rows seen, mistakes made before learning from them, updates."""

    seen: int = 0
    mistakes: int = 0
    updates: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.seen + other.seen, self.mistakes + other.mistakes, self.updates + other.updates)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.seen - other.seen, self.mistakes - other.mistakes, self.updates - other.updates)


@contextmanager
def all_or_nothing(gaussian: Gaussian | None, tally: NDArray[np.int64]) -> Iterator[None]:
    """Put the model, if one is given, and the counts back as they were when anything is raised (an error, Ctrl-C)."""
    kept = None if gaussian is None else gaussian.copy()
    counts = tally.copy()
    try:
        yield
    except BaseException:
        if gaussian is not None and kept is not None:
            gaussian.become(kept)
        np.copyto(tally, counts)
        raise


def row_numbers(order: ArrayLike, count: int) -> NDArray[np.intp]:
    """An order of so many rows, checked."""
    places = np.asarray(order)
    if places.shape != (count,) or (count and places.dtype.kind not in "iu"):
        raise ValueError(f"order must be a vector of {count} row numbers, got {places.dtype} of shape {places.shape}")
    if count and not 0 <= places.min() <= places.max() < count:
        raise ValueError(f"order must hold row numbers from 0 to {count - 1}, got {places.min()} to {places.max()}")
    return places.astype(np.intp)
