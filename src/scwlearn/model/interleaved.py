"""Memory of models with no covariance between features: per feature the weights of all classes, then variances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LANE_MULTIPLE
from scwlearn._util.memory import check_memory_for_blas
from scwlearn.model.covariance import Array, Matrix, check_variances, extended, squares, zeros

# Features whose lanes are separated at a time.
_COPIED_AT_ONCE = 4096
# Memory of more numbers than this has room for more features: an eighth of them, up to 64 MB.
_LARGE, _SPARE_PART, _MOST_SPARE = 2**16, 8, 2**23


@dataclass(frozen=True)
class Interleaved:
    """Base of `Identity` and `Diagonal`: one row of memory per feature, so that one cache line has all it needs.

    A row holds `lanes` weights and, if variances are kept, `lanes` variances. A shared variance takes LANE_MULTIPLE
    places, of which the first is used; a binary model, with one lane, shares nothing.
    """

    shared: bool = False
    name = ""
    correlated = False
    keeps_variances = True
    #: Whether an update gives the diagonal of the new Sigma^-1, not that of the new Sigma.
    by_precision = False

    def size(self, memory: Array) -> int:
        return len(memory)

    def lanes(self, memory: Array) -> int:
        stride: int = memory.shape[1]
        if not self.keeps_variances:
            return stride
        return stride - LANE_MULTIPLE if self.shared else stride // 2

    def shape(self, size: int, lanes: int) -> tuple[int, ...]:
        if not self.keeps_variances:
            return size, lanes
        return size, lanes + LANE_MULTIPLE if self.shared else 2 * lanes

    def work(self, size: int, stored: float, lanes: int, classes: int, joint: bool) -> float:
        return 1 + classes + (classes + 5) * stored

    def block(self, size: int, stored: float, lanes: int, joint: bool) -> int:
        return 1

    def uses_threads(self, size: int) -> bool:
        return False

    def start(self, size: int, lanes: int, prior: float) -> Array:
        memory = self._zeros(size, self.shape(size, lanes)[1])
        self._spread(memory)[:] = prior
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        pass

    def means(self, memory: Array) -> Array:
        return memory[:, : self.lanes(memory)].T

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        wider = self._zeros(len(memory) + count, memory.shape[1])
        wider[:at], wider[at + count :] = memory[:at], memory[at:]
        spread = self._spread(wider)[at : at + count]
        spread[:] = variances[: spread.shape[1]]
        return wider

    def extend(self, memory: Array, at: int, count: int, variances: Array) -> Array | None:
        wider = extended(memory, count)
        # A model in the same memory may have been extended before: its variances are positive.
        if not self.keeps_variances or wider is None or wider[len(memory) :].any():
            return None
        wider[at + count :] = memory[at:].copy()
        wider[at : at + count] = 0.0
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
        at = np.zeros(1, dtype=np.intp) if self.shared else places
        if self.keeps_variances:
            self._spread(larger)[:, at] = self._spread(memory)[:, : len(at)]
        return larger

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        if not self.shared:
            self._spread(memory)[:, lane : lane + 1] = variance

    def row(self, memory: Array, lane: int) -> Array:
        spread = self._spread(memory)
        at = 0 if self.shared else lane
        return np.hstack([memory[:, lane : lane + 1], spread[:, at : at + 1]])

    def rows(self, memory: Array, lanes: int) -> list[Array]:
        # In slices that stay in the cache until all lanes are copied.
        rows, spread = [np.empty(type(self)().shape(len(memory), 1)) for _ in range(lanes)], self._spread(memory)
        for start in range(0, len(memory), _COPIED_AT_ONCE):
            part = slice(start, start + _COPIED_AT_ONCE)
            for lane, row in enumerate(rows):
                at = 0 if self.shared else lane
                row[part, :1], row[part, 1:] = memory[part, lane : lane + 1], spread[part, at : at + 1]
        return rows

    def fill(self, memory: Array, lane: int, row: Array) -> None:
        memory[:, lane] = row[:, 0]
        if self.keeps_variances:
            self._spread(memory)[:, 0 if self.shared else lane] = row[:, 1]

    def adopt(self, row: Array, features: NDArray[np.intp], start: Array) -> Array:
        row = row.copy()
        row[features] = start[features]
        return row

    def diagonal_in_place(self, memory: Array) -> Array:
        return self._spread(memory).reshape(-1) if not self.keeps_variances else memory[:, 1]

    def variances(self, memory: Array, prior: float) -> Array:
        return self._spread(memory).T.copy()

    def precisions(self, memory: Array, prior: float) -> Array:
        return np.asarray(1 / self.variances(memory, prior))

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        return np.diag(np.sqrt(self.variances(memory, prior)[0 if self.shared else lane]))

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        spread = self._spread(memory)
        check_memory_for_blas()
        # A vector for a binary model: BLAS rounds the product with a matrix differently.
        product = squares(x) @ (spread[:, 0] if self.lanes(memory) == 1 else self.variances(memory, prior).T)
        return np.asarray(product).reshape(x.shape[0], -1)

    def check(self, memory: Array, size: int) -> None:
        check_variances(self._spread(memory))

    def _zeros(self, size: int, stride: int) -> Array:
        """Return memory of zeros with room for `extend`, if it is large."""
        entries = size * stride
        return zeros(size, stride, spare=min(entries // _SPARE_PART, _MOST_SPARE) if entries > _LARGE else 0)

    def _spread(self, memory: Array) -> Array:
        """Return a view of the variances: (size, lanes), or (size, 1) if shared."""
        lanes = self.lanes(memory)
        return memory[:, lanes : lanes + 1] if self.shared else memory[:, lanes:]
