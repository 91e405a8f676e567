"""The support: the examples whose span a kernel model lives in, and coordinates in that span."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from scwlearn._util.memory import check_memory_for_blas

Array = NDArray[np.float64]

# Number of unknowns of a triangular system to solve at a time; the rest is matrix products.
_PANEL = 256


@dataclass
class Examples:
    """Examples in order of appearance."""

    #: The rows of the examples, or their indices: columns of a precomputed kernel matrix, or rows of shared examples.
    examples: Any = None
    count: int = 0

    def like(self, x: Any) -> Any:
        """Return rows converted to the format of the examples, dense or sparse."""
        if self.examples is None or sparse.issparse(x) == sparse.issparse(self.examples):
            return x
        return x.toarray() if sparse.issparse(x) else sparse.csr_array(x)


@dataclass
class SharedExamples(Examples):
    """Examples of several spans, each stored once."""

    #: The index of each example by a hash of its contents.
    _numbers: dict[bytes, int] = field(default_factory=dict, repr=False)

    def including(self, examples: Any) -> tuple[SharedExamples, NDArray[np.intp]]:
        """Return these examples with those of `examples` that are new, and the indices of all given."""
        keys, numbers = _keys(examples), dict(self._numbers)
        new: list[int] = []
        for i, key in enumerate(keys):
            if key not in numbers:
                numbers[key] = self.count + len(new)
                new.append(i)
        stacked = _stacked(self.examples, examples[new]) if new else self.examples
        including = SharedExamples(stacked, self.count + len(new), numbers)
        return including, np.array([numbers[key] for key in keys], dtype=np.intp)


@dataclass
class Support(Examples):
    """Support examples p = 0, 1, ... and the Cholesky factor L of their kernel matrix, K = L L'.

    The part of example p orthogonal to the examples before it, normalized, is vector p of an orthonormal basis of the
    span, and L[p] holds the coordinates of example p. The coordinates t of any x solve L t = k, where k holds the
    kernels of x with the support. Inner products of coordinates are kernels, up to what lies outside the span.
    """

    _factor: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def factor(self) -> Array:
        """A view of L."""
        return self._factor[: self.count, : self.count]

    def extended(self, examples: Any, coordinates: Array) -> Support:
        """Return the support with more examples; row i of `coordinates` has one more entry than row i - 1."""
        count = self.count + len(coordinates)
        factor = self._factor
        if count > len(factor):
            factor = np.zeros((max(2 * len(factor), count),) * 2)
            factor[: self.count, : self.count] = self.factor
        factor[self.count : count, :count] = coordinates
        return Support(_stacked(self.examples, examples), count, factor)

    def copy(self) -> Support:
        """Return an independent copy."""
        return Support(self.examples, self.count, self.factor.copy())

    def __getstate__(self) -> dict[str, Any]:
        # Without the spare room.
        return self.__dict__ | {"_factor": self.factor.copy()}

    def coordinates(self, kernels: Array) -> Array:
        """Return the coordinates of rows from their kernels with the support."""
        found = np.empty_like(kernels)
        check_memory_for_blas()
        for part in self._panels():
            rest = kernels[:, part] - found[:, : part.start] @ self._factor[part, : part.start].T
            found[:, part] = solve_triangular(self._factor[part, part], rest.T, lower=True, check_finite=False).T
        return found

    def coefficients(self, vector: Array) -> Array:
        """Return c with vector = sum of c_p (example p), for a vector in the span given by its coordinates."""
        found = vector.copy()
        check_memory_for_blas()
        for part in reversed(self._panels()):
            found[part] -= self._factor[part.stop : self.count, part].T @ found[part.stop :]
            found[part] = solve_triangular(
                self._factor[part, part], found[part], lower=True, trans="T", check_finite=False
            )
        return found

    def _panels(self) -> list[slice]:
        return [slice(i, min(i + _PANEL, self.count)) for i in range(0, self.count, _PANEL)]


def _keys(examples: Any) -> list[bytes]:
    """Return a hash of each example; examples are equal only if all their bits are."""
    if sparse.issparse(examples):
        parts = zip(examples.indptr[:-1], examples.indptr[1:], strict=True)
        rows = [examples.indices[i:j].tobytes() + examples.data[i:j].tobytes() for i, j in parts]
    else:
        rows = [example.tobytes() for example in examples]
    return [blake2b(row, digest_size=16).digest() for row in rows]


def _stacked(before: Any, more: Any) -> Any:
    if before is None:
        return more
    if sparse.issparse(before):
        return sparse.vstack([before, more], format="csr")
    return np.concatenate([before, more])
