"""Compressed sparse rows as their three arrays. SciPy, which takes long to load, is asked only for what is rare."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's, which whoever made one has loaded."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and scipy_sparse.issparse(x)


@dataclass(frozen=True)
class Compressed:
    """CSR arrays. The offsets may point into the middle of the others; indices and offsets are of one type."""

    values: NDArray[Any]
    indices: NDArray[Any]
    offsets: NDArray[Any]
    width: int

    @classmethod
    def of(cls, values: NDArray[Any], indices: NDArray[Any], offsets: NDArray[Any], width: int) -> Compressed:
        """With indices and offsets both int32 or both int64."""
        types = {indices.dtype, offsets.dtype}
        common = np.dtype(np.int32) if types == {np.dtype(np.int32)} else np.dtype(np.int64)
        return cls(values, np.require(indices, common, ["C", "A"]), np.require(offsets, common, ["C", "A"]), width)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.offsets) - 1, self.width

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Compressed:
        """Consecutive rows, or the rows of some numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self.offsets) - 1)
            offsets = self.offsets[start : max(start, stop) + 1]
            begin, end = int(offsets[0]), int(offsets[-1])
            return Compressed(self.values[begin:end], self.indices[begin:end], offsets - offsets[0], self.width)
        return _arrays_of(self.matrix()[rows])

    def in_order(self) -> Compressed:
        """With each feature once in a row, in order: one that is there twice counts as the sum of its values."""
        matrix = self.matrix().copy()
        matrix.sum_duplicates()
        return _arrays_of(matrix)

    def toarray(self) -> NDArray[Any]:
        """As a plain matrix."""
        dense: NDArray[Any] = self.matrix().toarray()
        return dense

    def matrix(self) -> Any:
        """As a matrix of SciPy's."""
        from scipy.sparse import csr_array

        begin, end = self.offsets[0], self.offsets[-1]
        # Put together by hand: the constructor would look at the arrays, and may change the type of the indices.
        matrix = csr_array(self.shape, dtype=self.values.dtype)
        matrix.data, matrix.indices, matrix.indptr = self.values[begin:end], self.indices[begin:end], self.offsets
        if begin:
            matrix.indptr = self.offsets - begin
        return matrix


def _arrays_of(matrix: Any) -> Compressed:
    return Compressed.of(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])
