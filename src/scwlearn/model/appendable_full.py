"""Sigma full, for features that come one after the other."""

from __future__ import annotations

import numpy as np

from scwlearn.model.covariance import Array
from scwlearn.model.full import Full


class Growing(Full):
    """The first feature has the last place in U: those still to come lie before all others, where they cost nothing."""

    def start(self, size: int, prior: float) -> Array:
        memory = super().start(size, prior)
        memory[1, :size] = np.arange(size)[::-1]
        return memory

    def widen(self, memory: Array, at: int, count: int, variance: float) -> Array:
        size = len(self.mean(memory))
        if at != size:
            raise ValueError(f"features are added behind the {size} that there are, not at {at}")
        wider = self.start(size + count, variance)
        wider[0, :size] = memory[0, :size]
        wider[2, count : count + size] = memory[2, :size]
        wider[3 + count :, count : count + size] = memory[3:, :size]
        return wider
