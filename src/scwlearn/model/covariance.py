"""What every way of keeping Sigma offers."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A block of rows: a dense matrix or a SciPy CSR matrix, constant feature included.
Matrix = Any

# Bytes of a cache line.
_LINE = 64


class Covariance(Protocol):
    """How a model lies in memory and what Sigma = scale x (something made of `spread`) is, apart from the loops.

    `memory` is one plain NumPy array that the native loops move in place (native/core/interface.hpp knows its layout);
    `mean` and `spread` are views of it. `prior` is the initial variance.
    """

    #: The name that users and the native module know it by.
    name: str

    def entries(self, size: int) -> int:
        """How many numbers a model of this size keeps, the mean included."""

    def work(self, size: int, stored: float) -> float:
        """About how many multiplications a row with so many stored values takes, update included."""

    def block(self, size: int, stored: float) -> int:
        """How many rows with so many stored values the native loop takes at a time."""

    def shares_work(self, size: int) -> bool:
        """Whether a model of this size has enough to do for several threads."""

    def start(self, size: int, prior: float) -> Array:
        """The memory of the prior: mean 0, variance `prior` in every direction."""

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        """Lay out the memory of a prior for rows in which each feature comes up so many times."""

    def mean(self, memory: Array) -> Array:
        """The mean, a view."""

    def spread(self, memory: Array) -> Array:
        """What Sigma is made of, a view."""

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        """The memory with `count` features more, put in at index `at`, of that variance and independent."""

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        """The memory with the features in that order."""

    def marginal(self, memory: Array, features: NDArray[np.int64]) -> Array:
        """The memory of a model of these features alone, in this order."""

    def variances(self, memory: Array, prior: float) -> Array:
        """The diagonal of Sigma/scale."""

    def root(self, memory: Array, prior: float) -> Array:
        """A matrix R with R R' = Sigma/scale."""

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        """x'Sigma x/scale for each row."""


def zeros(*shape: int) -> Array:
    """Zeros that begin with a cache line: the native loops are faster so, above all in threads."""
    entries = math.prod(shape)
    room = np.zeros(entries + _LINE // 8)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + entries].reshape(shape)


def with_gap(array: Array, at: int, count: int) -> Array:
    """The same rows in new memory like that of `zeros`, with so many rows of zeros before row `at`."""
    wider = zeros(len(array) + count, *array.shape[1:])
    wider[:at], wider[at + count :] = array[:at], array[at:]
    return wider


def is_aligned(array: Array) -> bool:
    """Whether an array begins with a cache line."""
    return array.ctypes.data % _LINE == 0


def squares(x: Matrix) -> Matrix:
    """The rows with every value squared, dense or sparse."""
    if hasattr(x, "multiply"):
        return x.astype(np.float64).power(2)
    return np.square(x, dtype=np.float64)
