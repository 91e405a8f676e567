"""Sigma full, kept in factors: Sigma = U D U'."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import SMALLEST_VARIANCE, full_stride
from scwlearn.model.covariance import Array, Matrix, zeros

# Up to here the half of U that is not zero fits into the cache of a core.
_SIZE_IN_CACHE = 400
# A sparse row with fewer than one in so many features looks at little of U.
_FEATURES_A_VALUE = 16
# From here on threads save more time than waiting for each other costs.
_SIZE_FOR_THREADS = 320


class Full:
    """Keeps the mean, the place of each feature in U and D, a positive diagonal D, and a unit upper triangular U.

    They are the rows of a matrix, U by columns, each with some zeros at its end. U D U' is symmetric and positive
    whatever rounding does to U and D. The textbook form Sigma -= beta (Sigma x)(Sigma x)' loses positivity on collinear
    or badly scaled streams; docs/numerics.md has the measurements.
    """

    name = "full"

    def entries(self, size: int) -> int:
        # A size that no memory has room for may be beyond what native numbers hold.
        return (size + 3) * full_stride(min(size, 2**62))

    def work(self, size: int, stored: float) -> float:
        return 1 + size * stored / 2 + size * size

    def block(self, size: int, stored: float) -> int:
        # Sparse rows that look at little of U, while it fits into the cache, gain nothing from company.
        if size <= _SIZE_IN_CACHE and stored * _FEATURES_A_VALUE < size:
            return 1
        # More rows at a time cost more for working each update into those behind it than they save.
        return 16 if size < 1500 else 32

    def shares_work(self, size: int) -> bool:
        return size >= _SIZE_FOR_THREADS

    def start(self, size: int, prior: float) -> Array:
        memory = zeros(size + 3, full_stride(size))
        memory[1, :size] = np.arange(size)
        memory[2, :size] = prior
        np.fill_diagonal(memory[3:], 1.0)
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        memory[1, np.argsort(counts, kind="stable")] = np.arange(len(counts))

    def mean(self, memory: Array) -> Array:
        return memory[0, : _size(memory)]

    def spread(self, memory: Array) -> Array:
        return memory[1:, : _size(memory)]

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        size = _size(memory)
        wider = self.start(size + count, variance)
        wider[:2, : size + count] = np.insert(memory[:2, :size], [at] * count, 0.0, axis=1)
        wider[1, at : at + count] = size + np.arange(count)
        wider[2, :size] = memory[2, :size]
        wider[3 : 3 + size, :size] = memory[3:, :size]
        return wider

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        # U and D stay: each feature takes its place along.
        other = memory.copy()
        other[:2, : _size(memory)] = memory[:2, order]
        return other

    def marginal(self, memory: Array, features: NDArray[np.int64]) -> Array:
        # Sigma of these features is R R' for the rows R of a root, and R = T Q for an upper triangle T: U D^(1/2).
        reversed_rows = self.root(memory, 1.0)[features[::-1]]
        triangle = np.asarray(np.linalg.qr(reversed_rows.T, mode="r")).T[::-1, ::-1]
        diagonal = triangle.diagonal()
        diagonal = np.where(diagonal**2 > SMALLEST_VARIANCE, diagonal, np.sqrt(SMALLEST_VARIANCE))
        size = len(features)
        smaller = self.start(size, 1.0)
        smaller[0, :size] = self.mean(memory)[features]
        smaller[2, :size] = diagonal**2
        smaller[3:, :size] = np.tril((triangle / diagonal).T, -1) + np.eye(size)
        return smaller

    def variances(self, memory: Array, prior: float) -> Array:
        # In slices, so that nothing of the size of Sigma is made.
        size = _size(memory)
        slices = np.array_split(np.arange(size), max(1, size // 256))
        by_place = [_squared_lengths(memory[3:, rows].T * np.sqrt(memory[2, :size])) for rows in slices]
        return np.concatenate(by_place)[_places(memory)]

    def root(self, memory: Array, prior: float) -> Array:
        size = _size(memory)
        root: Array = (memory[3:, :size].T * np.sqrt(memory[2, :size]))[_places(memory)]
        return root

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        size, places = _size(memory), _places(memory)
        in_place = np.array_equal(places, np.arange(size))
        columns = memory[3:, :size] if in_place else memory[3:, places]
        return _squared_lengths(np.asarray(x @ columns.T) * np.sqrt(memory[2, :size]))


def _size(memory: Array) -> int:
    return len(memory) - 3


def _places(memory: Array) -> NDArray[np.intp]:
    places: NDArray[np.intp] = memory[1, : _size(memory)].astype(np.intp)
    return places


def _squared_lengths(rows: Array) -> Array:
    lengths: Array = np.einsum("ij,ij->i", rows, rows)
    return lengths
