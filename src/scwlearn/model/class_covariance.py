"""How the Sigma of several classes is kept: what a form of it offers, and the forms that there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LANE_MULTIPLE, multi_work_entries, score_classes
from scwlearn.data.rows import Block
from scwlearn.model import Gaussian
from scwlearn.model.class_full import FullClasses
from scwlearn.model.covariance import Array, Matrix, squares, zeros


class ClassCovariance(Protocol):
    """How the models of all classes lie in memory, apart from the loops.

    `memory` is one plain NumPy array that the native loops move in place (native/core/interface.hpp); it
    has room for `lanes` classes, of which some may not be known yet and hold the prior. A Sigma that is shared has one
    line where each class would have its own. `prior` is the initial variance.
    """

    @property
    def name(self) -> str:
        """The name that users and the native module know it by."""

    @property
    def shared(self) -> bool:
        """Whether all classes have one Sigma."""

    def entries(self, size: int, lanes: int) -> int:
        """How many numbers are kept, the weights included."""

    def work(self, size: int, stored: float, classes: int, joint: bool) -> float:
        """About how many multiplications a row with so many stored values takes, update included."""

    def block(self, size: int, stored: float, joint: bool) -> int:
        """How many rows with so many stored values the native loop takes at a time."""

    def shares_work(self, size: int) -> bool:
        """Whether models of this size have enough to do for several threads."""

    def scratch(self, size: int, lanes: int, block: int) -> Array:
        """Memory that the native loops need while they learn so many rows at a time."""

    def start(self, size: int, lanes: int, prior: float) -> Array:
        """The memory of the prior: weights 0, variance `prior` in every direction of every class."""

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        """Lay out the memory of a prior for rows in which each feature comes up so many times."""

    def means(self, memory: Array) -> Array:
        """The weights, (lanes, size), a view."""

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        """The memory with `count` features more, put in at index `at`, independent and of the variance of each lane."""

    def marginal(self, memory: Array, features: NDArray[np.int64], classes: int, prior: float) -> Array:
        """The memory of models of these features alone, in this order; from lane `classes` on they hold the prior."""

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        """The memory with the features in that order."""

    def enlarge(self, memory: Array, lanes: int, prior: float, places: NDArray[np.intp]) -> Array:
        """The memory with room for so many classes, the first ones of these at those places; others hold the prior."""

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        """Let a class that holds the prior begin with another variance (where Sigma has grown meanwhile)."""

    def binary(self, memory: Array, lane: int) -> Array:
        """The memory of a binary model of the same covariance with the weights and the Sigma of a class, a copy."""

    def fill(self, memory: Array, lane: int, mean: Array, gaussian: Gaussian) -> None:
        """Give a class these weights and the Sigma of a binary model of the same covariance."""

    def scores(self, block: Block, memory: Array, scalars: Array, classes: int, intercept: bool) -> Array:
        """W x of each row, (rows, classes), scaled."""

    def variances(self, memory: Array, prior: float) -> Array:
        """The diagonals of Sigma/scale: (lanes, size), or (1, size) where it is shared."""

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        """A matrix R with R R' = Sigma/scale of a class."""

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        """x'Sigma x/scale of each row and lane: (rows, lanes), or (rows, 1) where it is shared."""


def class_covariance(name: str, *, shared: bool) -> ClassCovariance:
    """The form of that name."""
    return FullClasses(shared) if name == "full" else Interleaved(name, shared)


# What is kept for each feature and class: its weight, and its variance.
_PARTS = {"identity": 1, "diagonal": 2, "diagonal-drop": 2}


@dataclass(frozen=True)
class Interleaved:
    """Sigma not at all or diagonal: for each feature the weights of all classes side by side, then their variances."""

    name: str
    shared: bool

    def _stride(self, lanes: int) -> int:
        if _PARTS[self.name] == 1:
            return lanes
        return lanes + LANE_MULTIPLE if self.shared else 2 * lanes

    def lanes(self, memory: Array) -> int:
        """How many classes there is room for."""
        stride: int = memory.shape[1]
        if _PARTS[self.name] == 1:
            return stride
        return stride - LANE_MULTIPLE if self.shared else stride // 2

    def _spread(self, memory: Array) -> Array:
        """The variances, a view: (size, lanes), or (size, 1) where they are shared."""
        lanes = self.lanes(memory)
        return memory[:, lanes : lanes + 1] if self.shared else memory[:, lanes:]

    def entries(self, size: int, lanes: int) -> int:
        return size * self._stride(lanes)

    def work(self, size: int, stored: float, classes: int, joint: bool) -> float:
        return 1 + classes + (classes + 8) * stored

    def block(self, size: int, stored: float, joint: bool) -> int:
        return 1

    def shares_work(self, size: int) -> bool:
        return False

    def scratch(self, size: int, lanes: int, block: int) -> Array:
        return np.empty(multi_work_entries(size, lanes))

    def start(self, size: int, lanes: int, prior: float) -> Array:
        memory = zeros(size, self._stride(lanes))
        self._spread(memory)[:] = prior
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        pass

    def means(self, memory: Array) -> Array:
        return memory[:, : self.lanes(memory)].T

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        size, lanes = len(memory), self.lanes(memory)
        wider = self.start(size + count, lanes, 0.0)
        wider[:at], wider[at + count :] = memory[:at], memory[at:]
        spread = self._spread(wider)[at : at + count]
        spread[:] = variances[: spread.shape[1]]
        return wider

    def marginal(self, memory: Array, features: NDArray[np.int64], classes: int, prior: float) -> Array:
        return memory[features]

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        return memory[order]

    def enlarge(self, memory: Array, lanes: int, prior: float, places: NDArray[np.intp]) -> Array:
        larger = self.start(len(memory), lanes, prior)
        larger[:, places] = memory[:, : len(places)]
        if _PARTS[self.name] == 2:
            at = np.zeros(1, dtype=np.intp) if self.shared else places
            self._spread(larger)[:, at] = self._spread(memory)[:, : len(at)]
        return larger

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        if not self.shared:
            self._spread(memory)[:, lane : lane + 1] = variance

    def binary(self, memory: Array, lane: int) -> Array:
        if _PARTS[self.name] == 1:
            return memory[:, lane].copy()
        return np.column_stack([memory[:, lane], self._spread(memory)[:, 0 if self.shared else lane]])

    def fill(self, memory: Array, lane: int, mean: Array, gaussian: Gaussian) -> None:
        memory[:, lane] = mean
        if _PARTS[self.name] == 2:
            self._spread(memory)[:, 0 if self.shared else lane] = gaussian.spread

    def scores(self, block: Block, memory: Array, scalars: Array, classes: int, intercept: bool) -> Array:
        lanes = self.lanes(memory)
        scores = np.empty((block.count, classes))
        model = self.name, self.shared, lanes, classes, memory, scalars
        rows = block.values, block.indices, block.offsets, block.width, intercept
        score_classes(*model, *rows, self.scratch(len(memory), lanes, 1), scores)
        return scores

    def variances(self, memory: Array, prior: float) -> Array:
        spread = self._spread(memory)
        if _PARTS[self.name] == 1:
            return np.full((1 if self.shared else self.lanes(memory), len(memory)), prior)
        return spread.T.copy()

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        return np.diag(np.sqrt(self.variances(memory, prior)[0 if self.shared else lane]))

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        return np.asarray(squares(x) @ self.variances(memory, prior).T)
