"""CSR matrices as their three arrays, so that most work needs no SciPy, which is slow to import."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sparse(x: Any) -> bool:
    """Return whether `x` is a SciPy sparse matrix, without importing SciPy."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and scipy_sparse.issparse(x)


@dataclass(frozen=True)
class CsrArrays:
    """Arrays of a CSR matrix.

    `indices` and `offsets` have the same type. The offsets may start in the middle of the other two arrays.
    """

    values: NDArray[Any]
    indices: NDArray[Any]
    offsets: NDArray[Any]
    width: int

    @classmethod
    def of(cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int) -> CsrArrays:
        """Return the arrays with indices and offsets both int32 or both int64, contiguous and aligned."""
        types = {indices.dtype, offsets.dtype}
        common = np.dtype(np.int32) if types == {np.dtype(np.int32)} else np.dtype(np.int64)
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
        if "scipy.sparse" in sys.modules:  # faster, but not worth importing
            return _arrays_of(self.matrix()[rows])
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        sources = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts)
        return CsrArrays.of(self.values[sources], self.indices[sources], offsets.astype(self.offsets.dtype), self.width)

    def sorted(self) -> CsrArrays:
        """Return the matrix with sorted rows; the values of a repeated index are added up."""
        matrix = self.matrix().copy()
        matrix.sum_duplicates()
        return _arrays_of(matrix)

    def toarray(self) -> NDArray[Any]:
        """Return a dense matrix."""
        dense: NDArray[Any] = self.matrix().toarray()
        return dense

    def matrix(self) -> Any:
        """Return a SciPy `csr_array` that shares the memory."""
        from scipy.sparse import csr_array

        begin, end = self.offsets[0], self.offsets[-1]
        # The constructor would check the arrays, and might change the type of the indices.
        matrix = csr_array(self.shape, dtype=self.values.dtype)
        matrix.data, matrix.indices, matrix.indptr = self.values[begin:end], self.indices[begin:end], self.offsets
        if begin:
            matrix.indptr = self.offsets - begin
        return matrix


def _arrays_of(matrix: Any) -> CsrArrays:
    return CsrArrays.of(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])
