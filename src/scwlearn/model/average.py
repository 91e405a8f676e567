"""The average of the weights over the rounds, which predictions use where it makes fewer mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import AVERAGING
from scwlearn.model.covariance import Array, aligned_copy, is_sound, zeros

# The entries of `averaging`, as in native/core.
LAG_SCALE, LATEST_MISTAKES, AVERAGE_MISTAKES = range(AVERAGING)


@dataclass
class Average:
    """The average of mu, stored as the lag of the average behind mu, so that a sparse row changes only its features.

    After round t the average takes in mu with the rate 3/(t + 3), so that two thirds of its weight lie in the last
    third of the rounds (native/core/model.hpp). Predictions use it unless mu has made fewer mistakes lately.
    """

    #: mu - average, relative to its scale: (size, lanes).
    lag: Array
    #: (1, AVERAGING), or one versus rest (lanes, AVERAGING): the scale of the lag, and the recent mistakes of mu and
    #: of the average.
    averaging: Array

    @classmethod
    def start(cls, size: int, lanes: int, sets: int) -> Average:
        """Return the average of a model that has learned nothing, with that many sets of scalars."""
        return cls(zeros(size, lanes), _start(sets))

    @property
    def arrays(self) -> tuple[Array, Array]:
        """What the native loops update in place."""
        return self.lag, self.averaging

    @property
    def is_sound(self) -> bool:
        """Whether the native loops can update it."""
        return is_sound(self.lag) and self.averaging.flags.writeable

    def lags(self, classes: int) -> Array:
        """Return mu - average: (classes, size)."""
        lags: Array = self.lag.T[:classes] * self.averaging[:classes, LAG_SCALE, np.newaxis]
        return lags

    @property
    def predicts(self) -> NDArray[np.bool_]:
        """Whether predictions use the average, for each set of scalars."""
        better: NDArray[np.bool_] = self.averaging[:, AVERAGE_MISTAKES] <= self.averaging[:, LATEST_MISTAKES]
        return better

    def copy(self) -> Average:
        """Return a deep copy."""
        return Average(aligned_copy(self.lag), self.averaging.copy())

    def restore(self, other: Self) -> None:
        """Copy the state of an average of the same shape into the memory of this one."""
        np.copyto(self.lag, other.lag)
        np.copyto(self.averaging, other.averaging)

    def widened(self, at: int, count: int) -> Average:
        """Return it with `count` more features at index `at`, which never had a weight."""
        size, lanes = self.lag.shape
        wider = zeros(size + count, lanes)
        wider[:at], wider[at + count :] = self.lag[:at], self.lag[at:]
        return Average(wider, self.averaging.copy())

    def of_features(self, features: NDArray[np.int64]) -> Average:
        """Return that of these features alone, in this order."""
        return Average(aligned_copy(self.lag[features]), self.averaging.copy())

    def with_lanes(self, lanes: int, places: NDArray[np.intp]) -> Average:
        """Return it with room for `lanes` classes: lane i moves to `places[i]`, the others start from nothing."""
        lag = zeros(len(self.lag), lanes)
        lag[:, places] = self.lag[:, : len(places)]
        averaging = self.averaging.copy()
        if len(self.averaging) > 1:
            averaging = _start(lanes)
            averaging[places] = self.averaging[: len(places)]
        return Average(lag, averaging)

    def of_class(self, number: int) -> Average:
        """Return a copy of that of one class."""
        own = number if len(self.averaging) > 1 else 0
        return Average(aligned_copy(self.lag[:, number : number + 1]), self.averaging[own : own + 1].copy())

    def split(self, shares: tuple[float, float], lanes: int, sets: int) -> Average:
        """Return that of two classes, each with its share of the only one."""
        two = Average.start(len(self.lag), lanes, sets)
        two.lag[:, :2] = self.lag * shares
        two.averaging[: min(2, sets)] = self.averaging
        return two


def _start(sets: int) -> Array:
    averaging = np.zeros((sets, AVERAGING))
    averaging[:, LAG_SCALE] = 1.0
    return averaging
