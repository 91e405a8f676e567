"""Sigma diagonal: one variance per feature, at the cost of the features that an example has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scwlearn.model.covariance import Array, Matrix, squares, with_gap, zeros


class Diagonal:
    """Keeps weight and variance of each feature side by side; an update inverts the diagonal of the new Sigma^-1.

    1/s_i grows by precision x_i^2: each feature of the example becomes surer as if it had been alone in it.
    """

    name = "diagonal"

    def entries(self, size: int) -> int:
        return 2 * size

    def work(self, size: int, stored: float) -> float:
        return 1 + 6 * stored

    def block(self, size: int, stored: float) -> int:
        return 1

    def shares_work(self, size: int) -> bool:
        return False

    def start(self, size: int, prior: float) -> Array:
        memory = zeros(size, 2)
        memory[:, 1] = prior
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        pass

    def mean(self, memory: Array) -> Array:
        return memory[:, 0]

    def spread(self, memory: Array) -> Array:
        return memory[:, 1]

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        wider = with_gap(memory, at, count)
        wider[at : at + count, 1] = variance
        return wider

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        return memory[order]

    def marginal(self, memory: Array, features: NDArray[np.int64]) -> Array:
        return memory[features]

    def variances(self, memory: Array, prior: float) -> Array:
        return memory[:, 1]

    def root(self, memory: Array, prior: float) -> Array:
        return np.diag(np.sqrt(memory[:, 1]))

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        return np.asarray(squares(x) @ memory[:, 1])


class DiagonalDrop(Diagonal):
    """Keeps the variances; an update leaves the diagonal of the new Sigma.

    s_i falls by beta (s_i x_i)^2: the features of the example share what it teaches, so that variances fall
    more slowly than in Diagonal.
    """

    name = "diagonal-drop"
