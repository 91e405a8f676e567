"""Sigma full, kept in factors: Sigma = U D U'."""

from __future__ import annotations

import numpy as np

from scwlearn.covariance.base import Array, Matrix


class Full:
    """Keeps D, a positive diagonal, in the first row, and U, unit upper triangular, in the others.

    U D U' is symmetric and positive whatever rounding does to U and D. The textbook form
    Sigma -= beta (Sigma x)(Sigma x)' loses positivity on collinear or badly scaled streams; docs/numerics.md
    has the measurements.
    """

    name = "full"

    def entries(self, size: int) -> int:
        return (size + 1) * size

    def start(self, size: int, prior: float) -> Array:
        return np.vstack([np.full((1, size), prior), np.eye(size)])

    def widen(self, spread: Array, at: int, count: int, variance: float) -> Array:
        size = len(spread) - 1
        old = np.delete(np.arange(size + count), np.arange(at, at + count))
        wider = self.start(size + count, variance)
        wider[0, old] = spread[0]
        wider[1 + old[:, np.newaxis], old] = spread[1:]
        return wider

    def variances(self, spread: Array, size: int, prior: float) -> Array:
        return _squared_lengths(self.root(spread))

    def of_rows(self, x: Matrix, spread: Array, prior: float) -> Array:
        return _squared_lengths(np.asarray(x @ self.root(spread)))

    def root(self, spread: Array) -> Array:
        """A matrix R with R R' = Sigma/scale. U alone may be large where D is small; R is no larger than Sigma."""
        root: Array = spread[1:] * np.sqrt(spread[0])
        return root


def _squared_lengths(rows: Array) -> Array:
    lengths: Array = np.einsum("ij,ij->i", rows, rows)
    return lengths
