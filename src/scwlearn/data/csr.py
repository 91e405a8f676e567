"""The arrays of a sparse matrix in CSR form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import scan_rows, take_rows


@dataclass(frozen=True, eq=False)
class CsrArrays:
    """Arrays of a CSR matrix, so that most work needs no SciPy, which is slow to import.

    `indices` and `offsets` have the same type. The offsets may start in the middle of the other two arrays.
    """

    values: NDArray[Any]
    indices: NDArray[Any]
    offsets: NDArray[Any]
    width: int

    @classmethod
    def of(cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int) -> CsrArrays:
        """Return the arrays with indices and offsets both int32 or both int64, contiguous and aligned."""
        common = np.int32 if indices.dtype == offsets.dtype == np.int32 else np.int64
        return cls(values, np.require(indices, common, ["C", "A"]), np.require(offsets, common, ["C", "A"]), width)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.offsets) - 1, self.width

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> CsrArrays:
        """Return consecutive rows, or rows by number."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self.offsets) - 1)
            offsets = self.offsets[start : max(start, stop) + 1]
            begin, end = int(offsets[0]), int(offsets[-1])
            return CsrArrays(self.values[begin:end], self.indices[begin:end], offsets - offsets[0], self.width)
        return CsrArrays.of(*take_rows(self.values, self.indices, self.offsets, rows.astype(np.int64)), self.width)

    def sorted(self) -> CsrArrays:
        """Return the matrix with sorted rows; the values of a repeated index are added up."""
        matrix = self.matrix().copy()
        matrix.sum_duplicates()
        return CsrArrays.of(matrix.data, matrix.indices, matrix.indptr, self.width)

    def matrix(self) -> Any:
        """Return a SciPy `csr_array` that shares the values.

        SciPy trusts indices and offsets, so they are copied, and checked when no other thread can change them any more.
        """
        from scipy.sparse import csr_array

        offsets = self.offsets.copy()
        begin, end = int(offsets[0]), int(offsets[-1])
        offsets -= offsets[0]
        values, indices = self.values[begin:end], self.indices[begin:end].copy()
        if begin < 0 or scan_rows(values, indices, offsets, self.width)[0]:
            raise ValueError("X changed while it was read; copy it, or change it afterwards")
        # The constructor would check the arrays, and might change the type of the indices.
        matrix = csr_array(self.shape, dtype=values.dtype)
        matrix.data, matrix.indices, matrix.indptr = values, indices, offsets
        return matrix


def same_type(indices: NDArray[Any], offsets: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both arrays in the type of the indices, or in int64 if the offsets do not fit."""
    common = indices.dtype if offsets[-1] <= np.iinfo(indices.dtype).max else np.dtype(np.int64)
    return indices.astype(common, copy=False), offsets.astype(common, copy=False)
