"""The protocol of a covariance: how the weights and Sigma of all classes lie in memory."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Some of the features, by index.
Indices = slice | NDArray[np.intp]
#: Rows as a dense matrix or a SciPy CSR matrix, constant feature included.
Matrix = Any

# Bytes of a cache line.
_LINE = 64


class Covariance(Protocol):
    """Memory layout of a model and the form of its Sigma.

    `memory` is one NumPy array that the native loops update in place (native/core documents the layout). It has room
    for `lanes` classes: 1 for a binary model, otherwise a multiple of LANE_MULTIPLE, of which some may be unused and
    hold the prior. A shared Sigma is stored once. All variances are relative to the scale kept in the scalars of the
    model; `prior` is the initial variance.

    The size and the lanes follow from the shape of the memory, and the shape from the size, the lanes and `shared`.
    Features may be added, dropped and reordered at any time.
    """

    @property
    def name(self) -> str:
        """Name for users and for the native module."""

    @property
    def shared(self) -> bool:
        """Whether all classes share one Sigma."""

    @property
    def correlated(self) -> bool:
        """Whether it has covariances between features."""

    def size(self, memory: Array) -> int:
        """Return the number of weights of a class."""

    def lanes(self, memory: Array) -> int:
        """Return the number of classes that the memory has room for."""

    def shape(self, size: int, lanes: int) -> tuple[int, ...]:
        """Return the shape of the memory."""

    def work(self, size: int, stored: float, lanes: int, classes: int, joint: bool) -> float:
        """Estimate the multiplications for a row with `stored` values and `classes` known classes, update included."""

    def block(self, size: int, stored: float, lanes: int, joint: bool) -> int:
        """Return how many rows the native loop should process together; 1 if it takes them one by one."""

    def uses_threads(self, size: int) -> bool:
        """Whether a model of this size is large enough for several threads."""

    def start(self, size: int, lanes: int, prior: float) -> Array:
        """Allocate the memory of the prior: weights 0, variance `prior` in every direction."""

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        """Lay out the memory of a prior for rows in which feature i occurs `counts[i]` times; may do nothing."""

    def means(self, memory: Array) -> Array:
        """Return a view of the weights, (lanes, size)."""

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        """Return memory with `count` more features at index `at`, uncorrelated, each lane with its variance."""

    def extend(self, memory: Array, at: int, count: int, variances: Array) -> Array | None:
        """Do what `widen` does in the same memory; return None if there is no room.

        Features from index `at` on move, so `memory` stays valid only if `at` is its size.
        """

    def marginal(self, memory: Array, features: NDArray[np.int64], classes: int, prior: float) -> Array:
        """Return the memory of the model of `features` alone; lanes from `classes` on hold the prior."""

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        """Return the memory with feature `order[i]` at index i."""

    def enlarge(self, memory: Array, lanes: int, prior: float, places: NDArray[np.intp]) -> Array:
        """Return memory with `lanes` lanes; lane i moves to `places[i]`, the other lanes hold the prior."""

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        """Set the variances of an unused lane, whose class becomes known; Sigma may have grown since the prior."""

    def row(self, memory: Array, lane: int) -> Array:
        """Return a copy of the memory of one class, as a model with one lane."""

    def rows(self, memory: Array, lanes: int) -> list[Array]:
        """Return `row` of the first lanes."""

    def fill(self, memory: Array, lane: int, row: Array) -> None:
        """Copy the memory of a model with one lane into a lane."""

    def adopt(self, row: Array, features: NDArray[np.intp], start: Array) -> Array:
        """Return the memory of one class, of which some features are as in `start`, given the others."""

    def diagonal_in_place(self, memory: Array) -> Array:
        """Return a view of what grows with Sigma in a model with one lane: variances, D of U D U', or nothing."""

    def variances(self, memory: Array, prior: float) -> Array:
        """Return the diagonals of Sigma: (lanes, size), or (1, size) if shared."""

    def precisions(self, memory: Array, prior: float) -> Array:
        """Return the diagonals of Sigma^-1, in the same shape."""

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        """Return R with R R' = Sigma of a class."""

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        """Compute x'Sigma x of each row and lane: (rows, lanes), or (rows, 1) if shared."""

    def check(self, memory: Array, size: int) -> None:
        """Raise a ValueError for memory that no sequence of updates leads to (it may come from a hostile file)."""


def zeros(*shape: int, spare: int = 0) -> Array:
    """Allocate zeros aligned to a cache line, which makes the native loops faster, above all with threads.

    `spare` more numbers lie behind them, for `extended`. They take no memory until they are written.
    """
    entries = math.prod(shape)
    room = np.zeros(entries + spare + _LINE // 8)
    first = _first(room)
    return room[first : first + entries].reshape(shape)


def extended(memory: Array, count: int) -> Array | None:
    """Return a matrix that `zeros` has allocated with `count` rows behind it, in the same memory; None without room."""
    room, width = memory.base, memory.shape[1]
    if not isinstance(room, np.ndarray) or room.shape != (room.size,) or room.dtype != memory.dtype:
        return None
    first = _first(room)
    end = first + memory.size + count * width
    if not memory.flags.c_contiguous or memory.ctypes.data != room[first:].ctypes.data or end > len(room):
        return None
    return room[first:end].reshape(-1, width)


def _first(room: Array) -> int:
    """Return the index of the first number that starts a cache line."""
    return int(-room.ctypes.data % _LINE // 8)


def aligned_copy(array: Array) -> Array:
    """Return a copy aligned to a cache line."""
    copy = zeros(*array.shape)
    np.copyto(copy, array)
    return copy


def is_sound(array: Array) -> bool:
    """Whether an array is writable and aligned to a cache line (joblib maps large arrays read-only)."""
    # Models that share cache lines, and lags beside weights, begin inside a line.
    strides = (_LINE, 2 * array.itemsize) if array.shape[1:] == (1,) else (_LINE,)
    aligned = array.ctypes.data % _LINE == 0 or (array.ndim == 2 and array.strides[0] in strides)
    return array.flags.writeable and aligned


def squares(x: Matrix) -> Matrix:
    """Return the rows with every value squared, dense or sparse."""
    if hasattr(x, "multiply"):
        return x.astype(np.float64).power(2)
    return np.square(x, dtype=np.float64)


def check_variances(variances: Array) -> None:
    """Raise a ValueError unless all variances are positive and finite."""
    # Without a copy; NaN compares false.
    if variances.size and not (variances.min() > 0 and variances.max() < np.inf):
        raise ValueError("variances must be positive and finite")
