"""Sigma full, kept in factors: Sigma = U D U'."""

from __future__ import annotations

import numpy as np

from scwlearn.covariance.base import Array, Matrix

# From here on threads save more time than waiting for each other costs.
_SIZE_FOR_THREADS = 256


class Full:
    """Keeps the mean, D, a positive diagonal, and the columns of U, unit upper triangular, in the rows of a matrix.

    U D U' is symmetric and positive whatever rounding does to U and D. The textbook form
    Sigma -= beta (Sigma x)(Sigma x)' loses positivity on collinear or badly scaled streams; docs/numerics.md
    has the measurements.
    """

    name = "full"

    def entries(self, size: int) -> int:
        return (size + 2) * size

    def work(self, size: int, stored: float) -> float:
        return 1 + size * stored / 2 + size * size

    def block(self, size: int) -> int:
        # More rows at a time cost more for working each update into those behind it than they save.
        return 16 if size < 200 else 32

    def shares_work(self, size: int) -> bool:
        return size >= _SIZE_FOR_THREADS

    def start(self, size: int, prior: float) -> Array:
        memory = np.zeros((size + 2, size))
        memory[1] = prior
        np.fill_diagonal(memory[2:], 1.0)
        return memory

    def mean(self, memory: Array) -> Array:
        mean: Array = memory[0]
        return mean

    def spread(self, memory: Array) -> Array:
        return memory[1:]

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        size = memory.shape[1]
        old = np.delete(np.arange(size + count), np.arange(at, at + count))
        wider = self.start(size + count, variance)
        wider[:2, old] = memory[:2]
        wider[2 + old[:, np.newaxis], old] = memory[2:]
        return wider

    def variances(self, spread: Array, size: int, prior: float) -> Array:
        # In slices, so that nothing of the size of Sigma is made.
        slices = np.array_split(np.arange(size), max(1, size // 256))
        return np.concatenate([_squared_lengths(spread[1:, rows].T * np.sqrt(spread[0])) for rows in slices])

    def root(self, spread: Array, size: int, prior: float) -> Array:
        root: Array = spread[1:].T * np.sqrt(spread[0])
        return root

    def of_rows(self, x: Matrix, spread: Array, prior: float) -> Array:
        return _squared_lengths(np.asarray(x @ spread[1:].T) * np.sqrt(spread[0]))


def _squared_lengths(rows: Array) -> Array:
    lengths: Array = np.einsum("ij,ij->i", rows, rows)
    return lengths
