"""The average of the weights over the rounds, which predictions use where it makes fewer mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import AVERAGE_STATE
from scwlearn.model.covariance import Array, Indices, aligned_copy, is_sound, zeros

# The entries of `state`, as in native/core.
LAG_SCALE, LATEST_MISTAKES, AVERAGE_MISTAKES = range(AVERAGE_STATE)


@dataclass(eq=False)
class Average:
    """The average of mu, stored as its lag, mu - average, so that a sparse row changes only its own features.

    After round t the average takes in mu with the rate 3/(t + 3) (native/core/model.hpp). Predictions use it unless mu
    has made fewer mistakes lately.
    """

    #: mu - average, relative to its scale: (size, lanes).
    lag: Array
    #: (1, AVERAGE_STATE), or one versus rest (lanes, AVERAGE_STATE): the scale of the lag, and in the first row the
    #: recent mistakes of mu and of the average.
    state: Array

    @classmethod
    def start(cls, size: int, lanes: int, sets: int) -> Average:
        """Return the average of a model that has learned nothing, with that many sets of scalars."""
        return cls(zeros(size, lanes), _start(sets))

    @classmethod
    def start_beside(cls, size: int) -> tuple[Array, Average]:
        """Return the memory of a binary model without variances and its average, with each lag beside its weight."""
        pairs = zeros(size, 2)
        return pairs[:, :1], cls(pairs[:, 1:], _start(1))

    @property
    def arrays(self) -> tuple[Array, Array]:
        """The arrays that the native loops update."""
        return self.lag, self.state

    @property
    def is_sound(self) -> bool:
        """Whether the native loops can update it."""
        return is_sound(self.lag) and self.state.flags.writeable

    def is_beside(self, memory: Array) -> bool:
        """Whether each lag lies beside its weight in the memory of a binary model without variances."""
        return self.lag.ctypes.data == memory.ctypes.data + memory.itemsize

    def beside(self, memory: Array) -> tuple[Array, Average]:
        """Return copies of such a memory and of this average, laid out so."""
        weights, average = Average.start_beside(len(memory))
        np.copyto(weights, memory)
        average.restore(self)
        return weights, average

    @property
    def is_used(self) -> bool:
        """Whether predictions use the average."""
        return bool(self.state[0, AVERAGE_MISTAKES] <= self.state[0, LATEST_MISTAKES])

    def lags(self, classes: int) -> Array:
        """Return mu - average: (classes, size)."""
        lags: Array = self.lag.T[:classes] * self.state[:classes, LAG_SCALE, np.newaxis]
        return lags

    def lags_of(self, number: int, features: Indices) -> Array:
        """Return mu - average of a class and some features."""
        row = 0 if len(self.state) == 1 else number
        lags: Array = self.lag[features, number] * self.state[row, LAG_SCALE]
        return lags

    def copy(self) -> Average:
        """Return a deep copy."""
        return Average(aligned_copy(self.lag), self.state.copy())

    def restore(self, other: Self) -> None:
        """Copy the state of an average of the same shape into the memory of this one."""
        np.copyto(self.lag, other.lag)
        np.copyto(self.state, other.state)

    def widened(self, at: int, count: int) -> Average:
        """Return a copy with `count` new features at index `at`, whose weights were always 0."""
        size, lanes = self.lag.shape
        wider = zeros(size + count, lanes)
        wider[:at], wider[at + count :] = self.lag[:at], self.lag[at:]
        return Average(wider, self.state.copy())

    def of_features(self, features: NDArray[np.int64]) -> Average:
        """Return the average of these features alone, in this order."""
        return Average(aligned_copy(self.lag[features]), self.state.copy())

    def with_lanes(self, lanes: int, places: NDArray[np.intp]) -> Average:
        """Return a copy with room for `lanes` classes: lane i moves to `places[i]`, the other lanes start from 0."""
        lag = zeros(len(self.lag), lanes)
        lag[:, places] = self.lag[:, : len(places)]
        if len(self.state) == 1:
            return Average(lag, self.state.copy())
        state = _start(lanes)
        state[places, LAG_SCALE] = self.state[: len(places), LAG_SCALE]
        state[0, LATEST_MISTAKES:] = self.state[0, LATEST_MISTAKES:]
        return Average(lag, state)

    def of_class(self, number: int) -> Average:
        """Return a copy of the average of one class."""
        state = self.state[:1].copy()
        state[0, LAG_SCALE] = self.state[number if len(self.state) > 1 else 0, LAG_SCALE]
        return Average(aligned_copy(self.lag[:, number : number + 1]), state)

    def split(self, shares: tuple[float, float], lanes: int, sets: int) -> Average:
        """Split the average of a binary model into those of two classes, each with its share."""
        two = Average.start(len(self.lag), lanes, sets)
        two.lag[:, :2] = self.lag * shares
        two.state[:2, LAG_SCALE] = self.state[0, LAG_SCALE]
        two.state[0, LATEST_MISTAKES:] = self.state[0, LATEST_MISTAKES:]
        return two


def moved_by(rounds: float, more: float) -> float:
    """Return the share of the way to mu that the average goes in some more rounds, if mu stays where it is."""
    before, after = ((t + 1) * (t + 2) * (t + 3) for t in (rounds, rounds + more))
    return 1 - before / after


def _start(sets: int) -> Array:
    state = np.zeros((sets, AVERAGE_STATE))
    state[:, LAG_SCALE] = 1.0
    return state
