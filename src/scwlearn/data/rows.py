"""Rows: what a user passes as X, checked once and handed to the native loops block by block.

Dense matrices in any order and numeric type, memory maps, and every SciPy sparse format. C-ordered
float32 and float64 and CSR are read where they lie; other dense matrices are converted a block at a time,
other sparse formats as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from scwlearn._native import LARGEST_VALUE, scan_rows
from scwlearn._util.checks import is_masked
from scwlearn.data.compressed import Compressed, is_sparse

_KEPT = (np.float32, np.float64)
# What is checked and then read again at once.
_CACHED_BYTES = 2**20


@dataclass(frozen=True)
class Block:
    """Consecutive rows as the native loops read them: a C-ordered matrix, or the arrays of a CSR one."""

    values: NDArray[Any]
    indices: NDArray[Any] | None
    offsets: NDArray[Any] | None
    width: int
    #: The place of the first row among all rows.
    start: int
    count: int

    def matrix(self) -> Any:
        """The block for NumPy's or SciPy's matrix products."""
        if self.indices is None or self.offsets is None:
            return self.values
        return Compressed(self.values, self.indices, self.offsets, self.width).matrix()


class UnsortedError(ValueError):
    """Rows that name features out of order, or twice: to be put in order before anything is learned from them."""


class Rows:
    """A matrix of examples, one a row: checked as a whole, or each block when it is asked for."""

    def __init__(self, x: Any, *, check: bool = True) -> None:
        self._sparse: bool = is_sparse(x)
        self._x: Any = _as_compressed(x) if self._sparse else _as_dense(x)
        self.count: int = self._x.shape[0]
        self.width: int = self._x.shape[1]
        self._checked = False
        if check:
            self.check()

    @classmethod
    def from_checked(cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int) -> Rows:
        """CSR arrays that need no scan: made by a parser that has checked them and sorted each row."""
        rows = object.__new__(cls)
        rows._sparse = True
        rows._x = Compressed.of(values, indices, offsets, width)
        rows.count, rows.width = rows._x.shape
        rows._checked = True
        return rows

    @classmethod
    def from_arrays(cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int) -> Rows:
        """CSR arrays of float32 or float64 that are still to be checked."""
        rows = cls.from_checked(values, indices, offsets, width)
        rows._checked = False
        return rows

    def __len__(self) -> int:
        return self.count

    @property
    def stored(self) -> int:
        """How many values are kept: all of a dense matrix, the non-zeros of a sparse one."""
        return len(self._x.values) if self._sparse else self.count * self.width

    def occurrences(self) -> NDArray[np.intp]:
        """In how many rows each feature is not zero."""
        x = self._x[:]
        counts: NDArray[np.intp]
        counts = np.bincount(x.indices, minlength=self.width) if self._sparse else np.count_nonzero(x, axis=0)
        return counts

    def variance(self) -> float:
        """The variance of all values, zeros included."""
        x, count = self._x, self.count * self.width
        if not self._sparse:
            return float(np.var(x, dtype=np.float64)) if count else 0.0
        values = x.values.astype(np.float64)
        return float(np.square(values).sum() / count - (values.sum() / count) ** 2) if count else 0.0

    def check(self) -> None:
        """Raise for the first bad value or index; put rows in order that are not."""
        if self._checked:
            return
        # What has to be converted is converted in blocks that stay in the cache.
        blocks = self._blocks(self.count if self._in_place() else 8192 // max(1, self.width))
        # All of them, whatever the first says: a bad index has to be found before SciPy sorts.
        in_order = [self._scan(block) for block in blocks]
        if not all(in_order):
            # A feature that is there twice counts as the sum of its values.
            self._x = self._x.in_order()
            for block in self._blocks(self.count):
                self._scan(block)
        self._checked = True

    def part(self, start: int, stop: int) -> Rows:
        """Some consecutive rows, as checked as all of them are."""
        part = copy(self)
        part._x = self._x[start:stop]
        part.count = part._x.shape[0]
        return part

    def chosen(self, numbers: NDArray[np.intp]) -> Rows:
        """The rows of these numbers, once all are checked."""
        self.check()
        chosen = copy(self)
        chosen._x = self._x[numbers]
        chosen.count = len(numbers)
        return chosen

    def dense(self) -> NDArray[np.float64]:
        """All rows as a plain matrix, once they are checked."""
        self.check()
        return np.asarray(self._x.toarray() if self._sparse else self._x, dtype=np.float64)

    def compressed(self, columns: DTypeLike = np.int32) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int32]]:
        """The values, columns (of that type) and offsets of all rows as sparse ones, once they are checked."""
        self.check()
        if self._sparse:
            x = self._x[:]
            return np.require(x.values, np.float64), x.indices.astype(columns), x.offsets.astype(np.int32)
        rows, places = np.nonzero(self._x)
        offsets = np.searchsorted(rows, np.arange(self.count + 1)).astype(np.int32)
        return np.asarray(self._x[rows, places], dtype=np.float64), places.astype(columns), offsets

    def narrowed(self, width: int) -> Rows:
        """Rows with so many features at most: those behind say nothing."""
        if width >= self.width:
            return self
        if not self._sparse:
            return Rows(self._x[:, :width], check=not self._checked)
        values, columns, offsets = self.compressed(np.int64)
        kept = columns < width
        before = np.concatenate([[0], np.cumsum(kept)])
        index_type = self._x.indices.dtype
        return Rows.from_checked(
            values[kept], columns[kept].astype(index_type), before[offsets].astype(index_type), width
        )

    def columns(self, numbers: NDArray[np.intp]) -> Any:
        """Some columns of all rows."""
        return (self._x.matrix() if self._sparse else self._x)[:, numbers]

    def widened(self, width: int) -> Rows:
        """Sparse rows with more features, all of them zero."""
        wider = copy(self)
        wider._x = Compressed(self._x.values, self._x.indices, self._x.offsets, width)
        wider.width = width
        return wider

    def in_order(self, places: NDArray[np.intp]) -> Rows:
        """The rows in another order, as checked as they are."""
        other = copy(self)
        other._x = self._x[places]
        return other

    def with_values(self, values: NDArray[Any]) -> Rows:
        """These rows, which have been checked, with other values in the same places, which need no check."""
        other, x = copy(self), self._x
        other._x = Compressed(values, x.indices, x.offsets, x.width) if self._sparse else values.reshape(x.shape)
        return other

    def blocks(self, rows: int, order: NDArray[np.intp] | None = None, *, check: bool = True) -> Iterator[Block]:
        """The rows in blocks of at most `rows`, in the given order or their own.

        Each block is checked before it comes, if the rows have not been and are not asked for in some order: the loop
        that reads it next finds it in the cache. Raises UnsortedError for rows that `check` would put in order.
        """
        if order is not None:
            self.check()
        if self._checked or not check:
            yield from self._blocks(rows, order)
            return
        in_cache = _CACHED_BYTES * max(1, self.count) // max(1, self._bytes())
        for block in self._blocks(min(rows, in_cache)):
            if not self._scan(block):
                raise UnsortedError("X has rows whose features are out of order; Rows.check puts them in order")
            yield block
        self._checked = True

    def _blocks(self, rows: int, order: NDArray[np.intp] | None = None) -> Iterator[Block]:
        rows, count = max(1, rows), self.count if order is None else len(order)
        for start in range(0, count, rows):
            stop = min(start + rows, count)
            if self._sparse and order is None:
                # Offsets point into the whole matrix, so that no value is copied.
                x, offsets = self._x, self._x.offsets[start : stop + 1]
                yield Block(x.values, x.indices, offsets, self.width, start, stop - start)
                continue
            x = self._x[start:stop] if order is None else self._x[order[start:stop]]
            if self._sparse:
                yield Block(x.values, x.indices, x.offsets, self.width, start, stop - start)
            else:
                dtype = x.dtype if x.dtype in _KEPT else np.dtype(np.float64)
                yield Block(np.require(x, dtype, ["C", "A"]), None, None, self.width, start, stop - start)

    def _scan(self, block: Block) -> bool:
        """Raise for the first bad value or index; whether each row names each feature once and in order."""
        problem, row, place, in_order = scan_rows(block.values, block.indices, block.offsets, self.width)
        if problem:
            raise ValueError(self._describe(problem, block, row, place))
        return in_order

    def _bytes(self) -> int:
        if self._sparse:
            return int(self._x.values.nbytes + self._x.indices.nbytes)
        return int(self._x.nbytes)

    def _in_place(self) -> bool:
        """Whether the native loops can read the values where they lie."""
        return self._sparse or (self._x.dtype in _KEPT and self._x.flags.c_contiguous and self._x.flags.aligned)

    def _describe(self, problem: str, block: Block, row: int, place: int) -> str:
        if problem == "offset":
            return (
                f"X is not a valid CSR matrix: the offsets (indptr) of row {block.start + row} point outside its values"
            )
        column = place if block.indices is None else int(block.indices[place])
        where = f"X[{block.start + row}, {column}]"
        if problem == "index":
            return f"X is not a valid CSR matrix: {where} lies outside its {self.width} columns"
        value = block.values[row, column] if block.indices is None else block.values[place]
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else "a value that is too large"
        return (
            f"Input X contains {what}: {where} = {value}; every value must be finite "
            f"and at most {LARGEST_VALUE:g} in size"
        )


def as_rows(x: Any, *, check: bool = True) -> Rows:
    """X as rows, checked unless that is left to whoever reads them."""
    if not isinstance(x, Rows):
        return Rows(x, check=check)
    if check:
        x.check()
    return x


def _as_dense(x: Any) -> NDArray[Any]:
    if is_masked(x):
        raise ValueError("X is a masked array with masked values; fill them in first")
    dense = np.asarray(x)
    if dense.ndim != 2:
        raise ValueError(f"X must be a matrix with one example a row, got {dense.ndim} dimension(s)")
    if dense.dtype.kind not in "biufO":
        raise TypeError(f"X must hold real numbers, got {dense.dtype}")
    if dense.dtype.kind == "O":
        dense = dense.astype(np.float64)
    return dense


def _as_compressed(x: Any) -> Compressed:
    """A sparse matrix as CSR arrays of float32 or float64, not yet scanned.

    SciPy's conversions trust the arrays of a matrix and may crash on broken ones, so none is used before a check.
    """
    if x.ndim != 2:
        raise ValueError(f"X must be a matrix with one example a row, got {x.ndim} dimension(s)")
    if x.dtype.kind not in "biuf":
        raise TypeError(f"X must hold real numbers, got {x.dtype}")
    csr = x if x.format == "csr" else _sound(x).tocsr()
    if len(csr.indptr) != csr.shape[0] + 1 or len(csr.data) != len(csr.indices):
        raise ValueError("X is not a valid CSR matrix: its arrays have lengths that do not fit each other")
    values = np.require(csr.data, csr.data.dtype if csr.data.dtype in _KEPT else np.float64, ["C", "A"])
    return Compressed.of(values, csr.indices, csr.indptr, csr.shape[1])


def _sound(x: Any) -> Any:
    """A sparse matrix in another format, if its indices lie where they should."""
    from scipy.sparse import coo_array

    try:
        if hasattr(x, "check_format"):
            x.check_format(full_check=True)
        elif x.format == "coo":
            coo_array((x.data, x.coords), shape=x.shape)
        elif x.format == "lil" and [*map(len, x.rows)] != [*map(len, x.data)]:
            raise ValueError("its rows and data have lengths that do not fit each other")
    except ValueError as error:
        raise ValueError(f"X is not a valid {x.format.upper()} matrix: {error}") from None
    return x


def row_numbers(order: ArrayLike, count: int) -> NDArray[np.intp]:
    """An order of so many rows, checked."""
    places = np.asarray(order)
    if places.shape != (count,) or (count and places.dtype.kind not in "iu"):
        raise ValueError(f"order must be a vector of {count} row numbers, got {places.dtype} of shape {places.shape}")
    if count and not 0 <= places.min() <= places.max() < count:
        raise ValueError(f"order must hold row numbers from 0 to {count - 1}, got {places.min()} to {places.max()}")
    return places.astype(np.intp)
