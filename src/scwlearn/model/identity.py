"""Sigma = a I, never updated: first-order learning."""

from __future__ import annotations

import numpy as np

from scwlearn._util.memory import check_memory_for_blas
from scwlearn.model.covariance import Array, Matrix, squares
from scwlearn.model.interleaved import Interleaved


class Identity(Interleaved):
    """Keeps only the weights: no direction ever becomes more certain than another."""

    name = "identity"
    keeps_variances = False

    def variances(self, memory: Array, prior: float) -> Array:
        return np.full((1 if self.shared else self.lanes(memory), len(memory)), prior)

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        if self.lanes(memory) == 1:
            return (prior * np.asarray(squares(x).sum(axis=1))).reshape(-1, 1)
        check_memory_for_blas()
        return np.asarray(squares(x) @ self.variances(memory, prior).T)
