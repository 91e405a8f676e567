"""Sigma in full, kept in factors: Sigma = U D U'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import SMALLEST_VARIANCE, full_precisions, full_stride, widen_full
from scwlearn._util.memory import check_memory_for_blas
from scwlearn.model.covariance import Array, Matrix, check_variances, zeros

# Up to this size the non-zero half of U fits into the cache of a core.
_SIZE_IN_CACHE = 400
# A sparse row with fewer than one value per this many features reads little of U.
_FEATURES_PER_VALUE = 16
# From this size on, threads save more time than they spend waiting for each other.
_SIZE_FOR_THREADS = 320
# From this size on it pays to process several rows of a class together; this many rows give most classes some.
_SIZE_FOR_CLASS_BLOCKS = 200
_ROWS_OF_CLASS_BLOCK = 64
# Larger sizes do not fit a native integer.
_LARGEST_SIZE = 2**62
# Entries of U to check at a time.
_CHECKED_AT_ONCE = 2**20


@dataclass(frozen=True)
class Full:
    """Keeps per class the mean, the place of each feature, a positive diagonal D and a unit upper triangle U.

    These are the rows of a matrix, U by columns, padded with zeros to `full_stride`. The memory is (lanes, size + 3,
    stride). With a shared Sigma it is (lanes + size + 2, stride): the weights of all classes before one such Sigma.

    U D U' is symmetric and positive whatever rounding does to U and D. The textbook form Sigma -= beta (Sigma x)(Sigma
    x)' loses positivity on collinear or badly scaled streams; docs/numerics.md has the measurements.
    """

    shared: bool = False
    name = "full"
    correlated = True

    def size(self, memory: Array) -> int:
        if not self.shared:
            return int(memory.shape[1]) - 3
        # The last row is the last column of U, which ends with a 1; without features, it is D, which is empty.
        return int(np.append(-1, np.flatnonzero(memory[-1]))[-1]) + 1

    def lanes(self, memory: Array) -> int:
        return len(memory) - 2 - self.size(memory) if self.shared else len(memory)

    def shape(self, size: int, lanes: int) -> tuple[int, ...]:
        stride = full_stride(min(size, _LARGEST_SIZE))
        return (lanes + size + 2, stride) if self.shared else (lanes, size + 3, stride)

    def work(self, size: int, stored: float, lanes: int, classes: int, joint: bool) -> float:
        one = 1 + size * stored / 2 + size * size
        if lanes == 1:
            return one
        return classes * stored + (1 if self.shared else 2 if joint else classes) * one

    def block(self, size: int, stored: float, lanes: int, joint: bool) -> int:
        # Sparse rows read little of U; while U fits into the cache, they gain nothing from blocks.
        if size <= _SIZE_IN_CACHE and stored * _FEATURES_PER_VALUE < size:
            return 1
        if joint and lanes > 1 and not self.shared:
            # Each class processes only its own rows of a block, from which small models gain nothing.
            return _ROWS_OF_CLASS_BLOCK if size >= _SIZE_FOR_CLASS_BLOCKS else 1
        # In larger blocks, applying each update to the later rows costs more than is saved.
        return 16 if size < 1500 else 32

    def uses_threads(self, size: int) -> bool:
        return size >= _SIZE_FOR_THREADS

    def start(self, size: int, lanes: int, prior: float) -> Array:
        memory = zeros(*self.shape(size, lanes))
        for sigma in self._sigmas(memory, size):
            sigma[1, :size] = self._first_places(size)
            sigma[2, :size] = prior
            np.fill_diagonal(sigma[3:], 1.0)
        return memory

    def arrange(self, memory: Array, counts: NDArray[np.intp]) -> None:
        # Rare features first: a row reads U only up to the place of its last feature.
        for sigma in self._sigmas(memory):
            sigma[1, np.argsort(counts, kind="stable")] = np.arange(len(counts))

    def means(self, memory: Array) -> Array:
        size = self.size(memory)
        return memory[: self.lanes(memory), :size] if self.shared else memory[:, 0, :size]

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        lanes, size = self.lanes(memory), self.size(memory)
        wider = zeros(*self.shape(size + count, lanes))
        for old, new, variance in zip(self._sigmas(memory), self._sigmas(wider, size + count), variances, strict=False):
            widen_full(old, new, at, variance)
        means, known = self.means(wider), self.means(memory)
        means[:, :at], means[:, at + count :] = known[:, :at], known[:, at:]
        return wider

    def extend(self, memory: Array, at: int, count: int, variances: Array) -> Array | None:
        return None

    def marginal(self, memory: Array, features: NDArray[np.int64], classes: int, prior: float) -> Array:
        size = len(features)
        smaller = self.start(size, self.lanes(memory), prior)
        check_memory_for_blas()
        known = 1 if self.shared else classes
        for old, new in zip(self._sigmas(memory)[:known], self._sigmas(smaller, size), strict=False):
            _set_sigma(new, np.arange(size), _triangle(old, features))
        self.means(smaller)[:] = self.means(memory)[:, features]
        return smaller

    def reorder(self, memory: Array, order: NDArray[np.intp]) -> Array:
        # U and D stay: each feature takes its place along.
        other = memory.copy()
        for new, old in zip(self._sigmas(other), self._sigmas(memory), strict=True):
            new[1, : len(order)] = old[1, order]
        self.means(other)[:] = self.means(memory)[:, order]
        return other

    def enlarge(self, memory: Array, lanes: int, prior: float, places: NDArray[np.intp]) -> Array:
        larger = self.start(self.size(memory), lanes, prior)
        if self.shared:
            larger[lanes:] = memory[self.lanes(memory) :]
        else:
            # Features have the same places in all classes.
            larger[:, 1] = memory[0, 1]
        larger[places] = memory[: len(places)]
        return larger

    def begin(self, memory: Array, lane: int, variance: float) -> None:
        if not self.shared:
            memory[lane, 2, : self.size(memory)] = variance

    def row(self, memory: Array, lane: int) -> Array:
        one = self._sigma(memory, lane).copy()
        one[0, : self.size(memory)] = self.means(memory)[lane]
        return one[np.newaxis]

    def rows(self, memory: Array, lanes: int) -> list[Array]:
        return [self.row(memory, lane) for lane in range(lanes)]

    def fill(self, memory: Array, lane: int, row: Array) -> None:
        self._sigma(memory, lane)[1:] = row[0, 1:]
        self.means(memory)[lane] = row[0, 0, : self.size(memory)]

    def adopt(self, row: Array, features: NDArray[np.intp], start: Array) -> Array:
        others = np.delete(np.arange(self.size(row)), features)
        order, count = np.concatenate([features, others]), len(features)
        check_memory_for_blas()
        before, own = _triangle(start[0], order), _triangle(row[0], others)
        # The rows of an upper triangle say how each feature depends on those after it.
        slopes = before[:count, count:] @ np.linalg.inv(before[count:, count:])
        adopted = row.copy()
        joined = np.block([[before[:count, :count], slopes @ own], [np.zeros((len(others), count)), own]])
        _set_sigma(adopted[0], order, joined)
        moved = row[0, 0, others] - start[0, 0, others]
        adopted[0, 0, features] = start[0, 0, features] + slopes @ moved
        return adopted

    def diagonal_in_place(self, memory: Array) -> Array:
        return self._sigma(memory, 0)[2, : self.size(memory)]

    def variances(self, memory: Array, prior: float) -> Array:
        return np.array([_variances(sigma) for sigma in self._sigmas(memory)])

    def precisions(self, memory: Array, prior: float) -> Array:
        return np.array([full_precisions(sigma[2:])[_places(sigma)] for sigma in self._sigmas(memory)])

    def root(self, memory: Array, lane: int, prior: float) -> Array:
        return _root(self._sigma(memory, lane))

    def of_rows(self, x: Matrix, memory: Array, prior: float) -> Array:
        return np.stack([_of_rows(x, sigma) for sigma in self._sigmas(memory)], axis=1)

    def check(self, memory: Array, size: int) -> None:
        for sigma in self._sigmas(memory, size):
            if not np.array_equal(np.sort(sigma[1, :size]), np.arange(size)):
                raise ValueError(f"the places must be a permutation of the {size} features")
            check_variances(sigma[2, :size])
            rows = max(1, _CHECKED_AT_ONCE // sigma.shape[1])
            for start in range(0, size, rows):
                part = sigma[3 + start : 3 + min(start + rows, size)]
                below = np.triu(part, start + 1)
                if not np.isfinite(part).all() or below.any() or (part.diagonal(start) != 1.0).any():
                    raise ValueError("U must be a finite unit triangle")
            if not size and sigma[2].any():
                raise ValueError("a model without features must have no variances")

    def _first_places(self, size: int) -> NDArray[np.intp]:
        """Return the place of each feature in the prior."""
        return np.arange(size)

    def _sigma(self, memory: Array, lane: int) -> Array:
        """Return a view of the mean, places, D and U of one Sigma."""
        return self._sigmas(memory)[0] if self.shared else memory[lane]

    def _sigmas(self, memory: Array, size: int | None = None) -> list[Array]:
        """Return views of the mean, places, D and U of each Sigma; for a shared one, the mean of the last lane."""
        if not self.shared:
            return list(memory)
        return [memory[-((self.size(memory) if size is None else size) + 3) :]]


class AppendableFull(Full):
    """A full Sigma for features that are appended: the first feature has the last place in U.

    Features still to come lie before all others, where they cost nothing.
    """

    def widen(self, memory: Array, at: int, count: int, variances: Array) -> Array:
        size = self.size(memory)
        if at != size:
            raise ValueError(f"features can only be appended after the {size} known ones, not inserted at {at}")
        wider = self.start(size + count, 1, float(variances[0]))
        old, new = memory[0], wider[0]
        new[0, :size] = old[0, :size]
        new[2, count : count + size] = old[2, :size]
        new[3 + count :, count : count + size] = old[3:, :size]
        return wider

    def _first_places(self, size: int) -> NDArray[np.intp]:
        return np.arange(size)[::-1]


def _places(sigma: Array) -> NDArray[np.intp]:
    places: NDArray[np.intp] = sigma[1, : len(sigma) - 3].astype(np.intp)
    return places


def _variances(sigma: Array) -> Array:
    # In slices, so that nothing of the size of Sigma is allocated.
    size = len(sigma) - 3
    slices = np.array_split(np.arange(size), max(1, size // 256))
    by_place = [_squared_lengths(sigma[3:, rows].T * np.sqrt(sigma[2, :size])) for rows in slices]
    return np.concatenate(by_place)[_places(sigma)]


def _root(sigma: Array) -> Array:
    size = len(sigma) - 3
    root: Array = (sigma[3:, :size].T * np.sqrt(sigma[2, :size]))[_places(sigma)]
    return root


def _triangle(sigma: Array, features: NDArray[np.int64]) -> Array:
    """Return an upper triangle T with T T' = Sigma of these features, in this order."""
    # Sigma of these features is R R' for the rows R of a root, and R = T Q.
    return np.asarray(np.linalg.qr(_root(sigma)[features[::-1]].T, mode="r")).T[::-1, ::-1]


def _set_sigma(sigma: Array, order: NDArray[np.int64], triangle: Array) -> None:
    """Set Sigma to T T' for an upper triangle T of the features in this order."""
    size, diagonal = len(order), triangle.diagonal()
    diagonal = np.where(diagonal**2 > SMALLEST_VARIANCE, diagonal, np.sqrt(SMALLEST_VARIANCE))
    sigma[1, order] = np.arange(size)
    sigma[2, :size] = diagonal**2
    sigma[3:, :size] = np.tril((triangle / diagonal).T, -1) + np.eye(size)


def _of_rows(x: Matrix, sigma: Array) -> Array:
    size, places = len(sigma) - 3, _places(sigma)
    in_place = np.array_equal(places, np.arange(size))
    columns = sigma[3:, :size] if in_place else sigma[3:, places]
    check_memory_for_blas()
    return _squared_lengths(np.asarray(x @ columns.T) * np.sqrt(sigma[2, :size]))


def _squared_lengths(rows: Array) -> Array:
    lengths: Array = np.einsum("ij,ij->i", rows, rows)
    return lengths


def factors(memory: Array) -> tuple[Array, Array, Array]:
    """Return views of the places, D and the columns of U of a model with one Sigma: with one lane, or a shared one."""
    (sigma,) = Full(shared=memory.ndim == 2)._sigmas(memory)
    size = len(sigma) - 3
    return sigma[1, :size], sigma[2, :size], sigma[3:, :size]
