"""Several classes with Sigma in full, kept in factors: one for each class, or one for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import full_stride, multi_block_work_entries, multi_work_entries, score_classes
from scwlearn.data.rows import Block
from scwlearn.model import Gaussian
from scwlearn.model.covariance import Array, Matrix, zeros
from scwlearn.model.full import Full

_FULL = Full()

# From here on it pays to look at several rows of a class together, and so many at a time give most classes some.
_SIZE_FOR_BLOCKS = 200
_ROWS_FOR_CLASSES = 64


@dataclass(frozen=True)
class FullClasses:
    """A model as `Full` keeps it for each class; shared, the weights of all classes before one such Sigma.

    The memory of models of their own is (lanes, size + 3, stride), that of a shared one (lanes + size + 2, stride):
    from its last row of weights on it is what `Full` keeps.
    """

    shared: bool
    name: str = "full"

    def _sigmas(self, memory: Array) -> list[Array]:
        """The memory of each Sigma, as `Full` knows it."""
        return [memory[self._lanes(memory) - 1 :]] if self.shared else list(memory)

    def _lanes(self, memory: Array) -> int:
        return len(memory) - 2 - self._size(memory) if self.shared else len(memory)

    def _size(self, memory: Array) -> int:
        if not self.shared:
            return int(memory.shape[1]) - 3
        # The last column of U ends with its one. Without features the last row is D, which is empty.
        return int(np.append(-1, np.flatnonzero(memory[-1]))[-1]) + 1

    def entries(self, size: int, lanes: int) -> int:
        return (lanes + size + 2) * full_stride(min(size, 2**62)) if self.shared else lanes * _FULL.entries(size)

    def work(self, size: int, stored: float, classes: int, joint: bool) -> float:
        moved = 1 if self.shared else 2 if joint else classes
        return classes * stored + moved * _FULL.work(size, stored)

    def block(self, size: int, stored: float, joint: bool) -> int:
        rows = _FULL.block(size, stored)
        if self.shared or not joint:
            return rows
        # Each class looks at its own part of them, and smaller models gain nothing.
        return _ROWS_FOR_CLASSES if rows > 1 and size >= _SIZE_FOR_BLOCKS else 1

    def shares_work(self, size: int) -> bool:
        return _FULL.shares_work(size)

    def scratch(self, size: int, lanes: int, block: int) -> Array:
        return np.empty(multi_block_work_entries(self.shared, size, lanes, block))

    def start(self, size: int, lanes: int, prior: float) -> Array:
        rows = (lanes + size + 2,) if self.shared else (lanes, size + 3)
        memory = zeros(*rows, full_stride(size))
        one = _FULL.start(size, prior)
        if self.shared:
            memory[lanes - 1 :] = one
        else:
            memory[:] = one
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        for sigma in self._sigmas(memory):
            _FULL.arrange(sigma, counts)

    def means(self, memory: Array) -> Array:
        size = self._size(memory)
        return memory[: self._lanes(memory), :size] if self.shared else memory[:, 0, :size]

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        lanes, size = self._lanes(memory), self._size(memory)
        wider = self.start(size + count, lanes, 1.0)
        for old, new, variance in zip(self._sigmas(memory), self._sigmas(wider), variances, strict=False):
            new[:] = _FULL.widen(old, at, count, float(variance))
        self.means(wider)[:] = np.insert(self.means(memory), [at] * count, 0.0, axis=1)
        return wider

    def marginal(self, memory: Array, features: NDArray[np.int64], classes: int, prior: float) -> Array:
        smaller = self.start(len(features), self._lanes(memory), prior)
        known = slice(None) if self.shared else slice(classes)
        for old, new in zip(self._sigmas(memory)[known], self._sigmas(smaller), strict=False):
            new[:] = _FULL.marginal(old, features)
        self.means(smaller)[:] = self.means(memory)[:, features]
        return smaller

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        # U and D stay: each feature takes its place along.
        other = memory.copy()
        for sigma, old in zip(self._sigmas(other), self._sigmas(memory), strict=True):
            sigma[1, : len(order)] = old[1, order]
        self.means(other)[:] = self.means(memory)[:, order]
        return other

    def enlarge(self, memory: Array, lanes: int, prior: float, places: NDArray[np.intp]) -> Array:
        larger = self.start(self._size(memory), lanes, prior)
        if self.shared:
            larger[lanes:] = memory[self._lanes(memory) :]
        else:
            # Features have the same places in all classes.
            larger[:, 1] = memory[0, 1]
        larger[places] = memory[: len(places)]
        return larger

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        if not self.shared:
            memory[lane, 2, : self._size(memory)] = variance

    def binary(self, memory: Array, lane: int) -> Array:
        one = self._sigmas(memory)[0 if self.shared else lane].copy()
        one[0, : self._size(memory)] = self.means(memory)[lane]
        return one

    def fill(self, memory: Array, lane: int, mean: Array, gaussian: Gaussian) -> None:
        sigma = self._sigmas(memory)[0 if self.shared else lane]
        sigma[1:] = gaussian.memory[1:]
        self.means(memory)[lane] = mean

    def scores(self, block: Block, memory: Array, scalars: Array, classes: int, intercept: bool) -> Array:
        lanes, scores = self._lanes(memory), np.empty((block.count, classes))
        model = self.name, self.shared, lanes, classes, memory, scalars
        rows = block.values, block.indices, block.offsets, block.width, intercept
        score_classes(*model, *rows, np.empty(multi_work_entries(self._size(memory), lanes)), scores)
        return scores

    def variances(self, memory: Array, prior: float) -> Array:
        return np.array([_FULL.variances(sigma, prior) for sigma in self._sigmas(memory)])

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        return _FULL.root(self._sigmas(memory)[0 if self.shared else lane], prior)

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        return np.stack([_FULL.of_rows(x, sigma, prior) for sigma in self._sigmas(memory)], axis=1)
