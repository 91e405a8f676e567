"""Rows: what a user passes as X, checked once and handed to the native loops block by block.

Dense matrices in any order and numeric type, memory maps, and every SciPy sparse format. C-ordered
float32 and float64 and CSR are read where they lie; the rest is converted a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn._native import LARGEST_VALUE, scan_rows

_KEPT = (np.float32, np.float64)


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
        if self.indices is None:
            return self.values
        return sparse.csr_array((self.values, self.indices, self.offsets), shape=(self.count, self.width))


class Rows:
    """A checked matrix of examples, one a row."""

    def __init__(self, x: Any) -> None:
        self._x: Any = _as_csr(x) if sparse.issparse(x) else _as_dense(x)
        self._sparse: bool = sparse.issparse(self._x)
        self.count: int = self._x.shape[0]
        self.width: int = self._x.shape[1]
        if not self._scan():
            # A feature that is there twice counts as the sum of its values.
            self._x = self._x.copy()
            self._x.sum_duplicates()
            self._scan()

    def part(self, start: int, stop: int) -> Rows:
        """Some consecutive rows; they have been checked, so this costs nothing."""
        part = copy(self)
        part._x = self._x[start:stop]
        part.count = part._x.shape[0]
        return part

    def __len__(self) -> int:
        return self.count

    @property
    def stored(self) -> int:
        """How many values are kept: all of a dense matrix, the non-zeros of a sparse one."""
        return int(self._x.nnz) if self._sparse else self.count * self.width

    def blocks(self, rows: int, order: NDArray[np.intp] | None = None) -> Iterator[Block]:
        """The rows in blocks of at most `rows`, in the given order or their own."""
        for start in range(0, self.count, rows):
            stop = min(start + rows, self.count)
            x = self._x[start:stop] if order is None else self._x[order[start:stop]]
            if not self._sparse:
                dtype = x.dtype if x.dtype in _KEPT else np.dtype(np.float64)
                yield Block(np.ascontiguousarray(x, dtype=dtype), None, None, self.width, start, stop - start)
            elif order is None:
                # Offsets point into the whole matrix, so that no value is copied.
                whole = self._x
                offsets = whole.indptr[start : stop + 1]
                yield Block(whole.data, whole.indices, offsets, self.width, start, stop - start)
            else:
                indices, offsets = _one_index_type(x)
                yield Block(x.data, indices, offsets, self.width, start, stop - start)

    def _scan(self) -> bool:
        """Raise for the first bad value; whether each row names each feature once."""
        sorted_ = True
        # 64 KiB of values at a time where a block has to be converted.
        for block in self.blocks(self.count if self._sparse else max(1, 65536 // (8 * max(1, self.width)))):
            found = scan_rows(block.values, block.indices, block.offsets, self.width)
            problem, row, place, in_order = found
            sorted_ = sorted_ and in_order
            if problem:
                raise ValueError(self._describe(problem, block, row, place))
        return sorted_

    def _describe(self, problem: str, block: Block, row: int, place: int) -> str:
        if problem == "offset":
            return f"X is not a valid CSR matrix: the offsets (indptr) of row {row} point outside its values"
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


def as_rows(x: Any) -> Rows:
    """X as rows, checked unless it has been."""
    return x if isinstance(x, Rows) else Rows(x)


def _as_dense(x: Any) -> NDArray[Any]:
    dense = np.asarray(x)
    if dense.ndim != 2:
        raise ValueError(f"X must be a matrix with one example a row, got {dense.ndim} dimension(s)")
    if dense.dtype.kind not in "biufO":
        raise TypeError(f"X must hold real numbers, got {dense.dtype}")
    if dense.dtype.kind == "O":
        dense = dense.astype(np.float64)
    return dense


def _as_csr(x: Any) -> Any:
    if x.ndim != 2:
        raise ValueError(f"X must be a matrix with one example a row, got {x.ndim} dimension(s)")
    if x.dtype.kind not in "biuf":
        raise TypeError(f"X must hold real numbers, got {x.dtype}")
    csr = x if x.format == "csr" else x.tocsr()
    if csr.dtype not in _KEPT:
        csr = csr.astype(np.float64)
    indices, offsets = _one_index_type(csr)
    if len(offsets) != csr.shape[0] + 1 or len(csr.data) != len(indices):
        raise ValueError("X is not a valid CSR matrix: its arrays have lengths that do not fit each other")
    if indices is csr.indices and offsets is csr.indptr:
        return csr
    fixed = csr.copy()
    fixed.indices, fixed.indptr = indices, offsets
    return fixed


def _one_index_type(csr: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Indices and offsets, both int32 or both int64."""
    types = {csr.indices.dtype, csr.indptr.dtype}
    common = np.dtype(np.int32) if types == {np.dtype(np.int32)} else np.dtype(np.int64)
    return csr.indices.astype(common, copy=False), csr.indptr.astype(common, copy=False)
