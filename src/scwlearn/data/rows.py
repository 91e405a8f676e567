"""Rows: a feature matrix that is checked once and passed to the native loops in blocks.

Dense matrices of any order and numeric type, memory maps and all SciPy sparse formats are accepted. C-ordered float32
and float64 matrices and CSR matrices are read in place; other dense matrices are converted block by block, other sparse
formats as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from scwlearn._native import LARGEST_VALUE, scan_rows
from scwlearn._util.checks import is_masked
from scwlearn.data.csr import CsrArrays, same_type
from scwlearn.data.sparse import as_csr

# Value types that the native loops read.
_NATIVE_TYPES = (np.float32, np.float64)
#: What a value may be, for messages.
ALLOWED_VALUE = f"values must be finite and at most {LARGEST_VALUE:g} in magnitude"
# Size of a block that is checked and then read again while it is in the cache.
_CACHED_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows for a native loop: a C-ordered matrix, or the arrays of a CSR matrix."""

    values: NDArray[Any]
    indices: NDArray[Any] | None
    offsets: NDArray[Any] | None
    width: int
    #: Number of the first row.
    start: int
    count: int
    #: The numbers of its rows, where the arrays hold all rows, in no particular order.
    order: NDArray[np.intp] | None = None

    def matrix(self) -> Any:
        """Return the block as a NumPy or SciPy matrix."""
        if self.indices is None or self.offsets is None:
            return self.values
        return CsrArrays(self.values, self.indices, self.offsets, self.width).matrix()


class UnsortedError(ValueError):
    """Rows with unsorted or repeated indices; `Rows.check` sorts them."""


class Rows:
    """Feature matrix with one example per row, checked as a whole or block by block."""

    def __init__(self, x: Any, *, check: bool = True) -> None:
        # Without importing SciPy: if it is not loaded, this is no matrix of it.
        scipy_sparse = sys.modules.get("scipy.sparse")
        self._sparse: bool = scipy_sparse is not None and scipy_sparse.issparse(x)
        self._x: Any = _as_csr(x) if self._sparse else _as_dense(x)
        self._checked = False
        if check:
            self.check()

    @classmethod
    def from_csr(
        cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int, *, checked: bool = True
    ) -> Rows:
        """Return rows from float32 or float64 CSR arrays; `checked` if they are known to be valid and sorted."""
        rows = object.__new__(cls)
        rows._x, rows._sparse, rows._checked = CsrArrays.of(values, indices, offsets, width), True, checked
        return rows

    @staticmethod
    def concatenate(parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts, stored sparsely and as wide as the widest part."""
        arrays = [part._csr() for part in parts]
        counts = np.concatenate([np.diff(part.offsets) for part in arrays])
        offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        values = np.concatenate([part.values for part in arrays])
        indices = np.concatenate([part.indices for part in arrays])
        return Rows.from_csr(values, *same_type(indices, offsets), max(part.width for part in arrays))

    def __len__(self) -> int:
        return int(self._x.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self._x.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored as a sparse matrix."""
        return self._sparse

    @property
    def stored(self) -> int:
        """Number of stored values: all of a dense matrix, the explicit ones of a sparse matrix."""
        return len(self._x.values) if self._sparse else len(self) * self.width

    def occurrences(self) -> NDArray[np.intp]:
        """Return the number of rows in which each feature occurs."""
        x = self._x[:]
        counts: NDArray[np.intp]
        if self._sparse:
            # NumPy trusts that they do not change between its passes.
            indices = np.minimum(x.indices, self.width - 1, dtype=np.intp)
            counts = np.bincount(np.maximum(indices, 0, out=indices), minlength=self.width)
        else:
            counts = np.count_nonzero(x, axis=0)
        return counts

    def variance(self) -> float:
        """Return the variance of all values, including zeros; the same bits for any order of rows and columns."""
        x, count = self._x[:], len(self) * self.width
        if not count:
            return 0.0
        values = np.asarray(x.values if self._sparse else x).ravel().astype(np.float64)
        values = np.sort(values[values != 0])
        # As NumPy does it: the difference of two large squares would leave nothing of a small variance.
        mean = float(values.sum()) / count
        return (float(np.square(values - mean).sum()) + (count - len(values)) * mean**2) / count

    def check(self) -> None:
        """Raise a ValueError for the first invalid value or index; sort rows that are not sorted."""
        if self._checked:
            return
        is_native = self._sparse or _is_native(self._x)
        # Rows that have to be converted are converted in blocks that fit the cache.
        blocks = self._blocks(len(self) if is_native else 8192 // max(1, self.width))
        # Every block is scanned before SciPy sorts, because SciPy trusts the indices.
        are_sorted = [self._scan(block) for block in blocks]
        if not all(are_sorted):
            self._x = self._x.sorted()
            for block in self._blocks(len(self)):
                self._scan(block)
        self._checked = True

    def slice(self, start: int, stop: int) -> Rows:
        """Return consecutive rows."""
        return self._with(self._x[start:stop])

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return rows by number, after checking all rows."""
        self.check()
        return self._with(self._x[rows])

    def _with(self, x: Any) -> Rows:
        """Return another matrix, which is as valid as this one."""
        other = object.__new__(type(self))
        other._x, other._sparse, other._checked = x, self._sparse, self._checked
        return other

    def dense(self) -> NDArray[np.float64]:
        """Return a dense matrix."""
        self.check()
        return np.asarray(self._x.matrix().toarray() if self._sparse else self._x, dtype=np.float64)

    def compressed(self, columns: DTypeLike = np.int32) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int32]]:
        """Return values, column indices (of the given type) and offsets of the rows, which must not be changed."""
        self.check()
        if self._sparse:
            x = self._x[:]
            indices, offsets = x.indices.astype(columns, copy=False), x.offsets.astype(np.int32, copy=False)
            return np.require(x.values, np.float64), indices, offsets
        values = np.ravel(self._x)
        # Of an own array: NumPy raises an error if another thread changes the number of zeros.
        places = np.flatnonzero(values != 0)
        offsets = np.searchsorted(places, np.arange(len(self) + 1) * self.width).astype(np.int32)
        return np.asarray(values[places], dtype=np.float64), (places % max(1, self.width)).astype(columns), offsets

    def _csr(self) -> CsrArrays:
        """Return the rows as CSR arrays that start at 0, including the zeros of a dense matrix."""
        self.check()
        if self._sparse:
            csr: CsrArrays = self._x[:]
            return csr
        values = np.require(self._x, _native_type(self._x), ["C"]).ravel()
        indices = np.tile(np.arange(self.width, dtype=np.int32), len(self))
        return CsrArrays(values, indices, np.arange(len(self) + 1) * self.width, self.width)

    def narrowed(self, width: int) -> Rows:
        """Return the rows without the features from `width` on."""
        if width >= self.width:
            return self
        if not self._sparse:
            return Rows(self._x[:, :width], check=not self._checked)
        values, columns, offsets = self.compressed(np.int64)
        kept = columns < width
        before = np.concatenate([[0], np.cumsum(kept)])
        index_type = self._x.indices.dtype
        return Rows.from_csr(values[kept], columns[kept].astype(index_type), before[offsets].astype(index_type), width)

    def widened(self, width: int) -> Rows:
        """Return sparse rows with more features, all of them zero."""
        return self._with(replace(self._x, width=width))

    def columns(self, numbers: NDArray[np.intp]) -> Any:
        """Return some columns as a NumPy or SciPy matrix."""
        return (self._x.matrix() if self._sparse else self._x)[:, numbers]

    def with_values(self, values: NDArray[Any]) -> Rows:
        """Return checked rows with other valid values in the same places."""
        return self._with(replace(self._x, values=values) if self._sparse else values.reshape(self._x.shape))

    @property
    def is_checked(self) -> bool:
        """Whether the rows are known to be valid and sorted."""
        return self._checked

    def blocks_in_place(self, rows: int, order: NDArray[np.intp] | None) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows, for a reader that checks the rows, and follows the order itself."""
        if order is None or not (self._sparse or _is_native(self._x)):
            yield from self._blocks(rows, order)
            return
        x = self._x
        values, indices, offsets = (x.values, x.indices, x.offsets) if self._sparse else (x, None, None)
        for start in range(0, len(order), rows):
            part = order[start : start + rows]
            yield Block(values, indices, offsets, self.width, start, len(part), part)

    def blocks(self, rows: int, order: NDArray[np.intp] | None = None, *, check: bool = True) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows, in the given order.

        If the rows have not been checked and no order is given, each block is checked just before it is yielded, so
        that the loop that reads it finds it in the cache. Raises UnsortedError for rows that `check` would sort.
        """
        if order is not None:
            self.check()
        if self._checked or not check:
            yield from self._blocks(rows, order)
            return
        size = int(self._x.values.nbytes + self._x.indices.nbytes if self._sparse else self._x.nbytes)
        in_cache = _CACHED_BYTES * max(1, len(self)) // max(1, size)
        for block in self._blocks(min(rows, in_cache)):
            if not self._scan(block):
                raise UnsortedError("X has rows with unsorted or repeated indices; Rows.check sorts them")
            yield block
        self._checked = True

    def _blocks(self, rows: int, order: NDArray[np.intp] | None = None) -> Iterator[Block]:
        rows, count = max(1, rows), len(self) if order is None else len(order)
        for start in range(0, count, rows):
            stop = min(start + rows, count)
            if not self._sparse:
                x = self._x[start:stop] if order is None else self._x[order[start:stop]]
                arrays = x if _is_native(x) else np.require(x, _native_type(x), ["C", "A"]), None, None
            elif order is None:
                # Offsets into the whole matrix: no value is copied.
                arrays = self._x.values, self._x.indices, self._x.offsets[start : stop + 1]
            else:
                x = self._x[order[start:stop]]
                arrays = x.values, x.indices, x.offsets
            yield Block(*arrays, self.width, start, stop - start)

    def _scan(self, block: Block) -> bool:
        """Raise a ValueError for the first invalid value or index; return whether the rows are sorted."""
        problem, row, place, is_sorted = scan_rows(block.values, block.indices, block.offsets, self.width)
        if problem:
            raise ValueError(self._describe(problem, block, row, place))
        return is_sorted

    def _describe(self, problem: str, block: Block, row: int, place: int) -> str:
        row_number = block.start + row
        if problem == "offset":
            return f"X is not a valid CSR matrix: offsets (indptr) of row {row_number} point outside its values"
        column = place if block.indices is None else int(block.indices[place])
        where = f"X[{row_number}, {column}]"
        if problem == "index":
            return f"X is not a valid CSR matrix: {where} is outside its {self.width} columns"
        value = block.values[row, column] if block.indices is None else block.values[place]
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else "a value that is too large"
        return f"Input X contains {what}: {where} = {value}; {ALLOWED_VALUE}"


def as_rows(x: Any, *, check: bool = True) -> Rows:
    """Return `x` as Rows, checked unless the reader of the rows checks them."""
    if not isinstance(x, Rows):
        return Rows(x, check=check)
    if check:
        x.check()
    return x


def _is_native(x: NDArray[Any]) -> bool:
    """Return whether the native loops can read a matrix without conversion."""
    return x.dtype in _NATIVE_TYPES and x.flags.c_contiguous and x.flags.aligned


def _native_type(values: NDArray[Any]) -> np.dtype[Any]:
    return values.dtype if values.dtype in _NATIVE_TYPES else np.dtype(np.float64)


def check_unmasked(x: Any, name: str = "X") -> None:
    """Raise a ValueError for masked values, which most functions of NumPy would take as they are."""
    if is_masked(x):
        raise ValueError(f"{name} is a masked array with masked values; fill them in first")


def as_vector(x: Any) -> NDArray[np.float64]:
    """Return a single example as doubles, converted and checked as a matrix of one row is, but for its values."""
    check_unmasked(x, "x")
    vector = np.asarray(x)
    if vector.ndim != 1:
        raise ValueError(f"x must be a vector with one number for each feature, got {vector.ndim} dimension(s)")
    return np.require(_as_dense(vector[np.newaxis])[0], np.float64, ["C", "A"])


def _as_dense(x: Any) -> NDArray[Any]:
    check_unmasked(x)
    dense = np.asarray(x)
    _check_matrix(dense, "biufO")
    if dense.dtype.kind != "O":
        return dense
    try:
        return dense.astype(np.float64)
    except OverflowError:  # an int may be larger than any float
        raise ValueError(f"X holds a number that is too large; {ALLOWED_VALUE}") from None


def _as_csr(x: Any) -> CsrArrays:
    """Return a sparse matrix as float32 or float64 CSR arrays that still have to be checked."""
    _check_matrix(x, "biuf")
    csr = as_csr(x)
    values = np.require(csr.data, _native_type(csr.data), ["C", "A"])
    return CsrArrays.of(values, csr.indices, csr.indptr, csr.shape[1])


def _check_matrix(x: Any, kinds: str) -> None:
    if x.ndim != 2:
        raise ValueError(f"X must be a matrix with one example per row, got {x.ndim} dimension(s)")
    if x.dtype.kind not in kinds:
        raise TypeError(f"X must hold real numbers, got {x.dtype}")


def row_numbers(order: ArrayLike, count: int) -> NDArray[np.intp]:
    """Return an order of `count` rows, checked."""
    places = np.asarray(order)
    if places.shape != (count,) or (count and places.dtype.kind not in "iu"):
        raise ValueError(f"order must be a vector of {count} row numbers, got {places.dtype} of shape {places.shape}")
    # A copy, which cannot change after it was checked.
    places = places.astype(np.intp)
    if count and not 0 <= places.min() <= places.max() < count:
        raise ValueError(f"order must hold row numbers from 0 to {count - 1}, got {places.min()} to {places.max()}")
    return places
