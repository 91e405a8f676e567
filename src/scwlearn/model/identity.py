"""Sigma = a I for ever: first-order learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scwlearn.model.covariance import Array, Matrix, squares, with_gap, zeros


class Identity:
    """Keeps nothing: no direction is ever surer than another."""

    name = "identity"

    def entries(self, size: int) -> int:
        return size

    def work(self, size: int, stored: float) -> float:
        return 1 + 3 * stored

    def block(self, size: int, stored: float) -> int:
        return 1

    def shares_work(self, size: int) -> bool:
        return False

    def start(self, size: int, prior: float) -> Array:
        return zeros(size)

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        pass

    def mean(self, memory: Array) -> Array:
        return memory

    def spread(self, memory: Array) -> Array:
        return memory[:0]

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        return with_gap(memory, at, count)

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        return memory[order]

    def marginal(self, memory: Array, features: NDArray[np.int64]) -> Array:
        return memory[features]

    def variances(self, memory: Array, prior: float) -> Array:
        return np.full(len(memory), prior)

    def root(self, memory: Array, prior: float) -> Array:
        return np.diag(np.full(len(memory), np.sqrt(prior)))

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        return prior * np.asarray(squares(x).sum(axis=1)).reshape(-1)
