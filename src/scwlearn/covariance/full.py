"""Sigma full, kept as a square root: Sigma = R R'."""

from __future__ import annotations

import numpy as np

from scwlearn.covariance.base import Array, Matrix


class Full:
    """Keeps R, by rows. R R' is symmetric and positive whatever rounding does to R.

    The textbook form Sigma -= beta (Sigma x)(Sigma x)' loses positivity on collinear or badly scaled
    streams; docs/numerics.md has the measurements.
    """

    name = "full"

    def entries(self, size: int) -> int:
        return size * size

    def start(self, size: int, prior: float) -> Array:
        root = np.zeros((size, size))
        np.fill_diagonal(root, np.sqrt(prior))
        return root

    def widen(self, spread: Array, at: int, count: int, prior: float) -> Array:
        # The old columns first: R need not be triangular, only R R' matters.
        size = len(spread)
        root = np.zeros((size + count, size + count))
        root[:at, :size] = spread[:at]
        root[at + count :, :size] = spread[at:]
        root[np.arange(at, at + count), np.arange(size, size + count)] = np.sqrt(prior)
        return root

    def variances(self, spread: Array, size: int, prior: float) -> Array:
        return _squared_lengths(spread)

    def of_rows(self, x: Matrix, spread: Array, prior: float) -> Array:
        return _squared_lengths(np.asarray(x @ spread))


def _squared_lengths(rows: Array) -> Array:
    lengths: Array = np.einsum("ij,ij->i", rows, rows)
    return lengths
