"""The support: the examples whose span a kernel model lives in, and coordinates in that span."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

Array = NDArray[np.float64]

# Triangular systems are solved by so many unknowns at a time: the rest is products of matrices.
_PANEL = 256


@dataclass
class Examples:
    """Examples in the order in which they came."""

    #: Rows of the examples' features, or their numbers: in a user's kernel matrix, or among the examples of others.
    examples: Any = None
    count: int = 0

    def like(self, x: Any) -> Any:
        """Rows in the form that the examples have, dense or sparse."""
        if self.examples is None or sparse.issparse(x) == sparse.issparse(self.examples):
            return x
        return x.toarray() if sparse.issparse(x) else sparse.csr_array(x)


@dataclass
class SharedExamples(Examples):
    """Examples of several spans, each kept once."""

    #: The number of each, by what it is made of.
    _numbers: dict[bytes, int] = field(default_factory=dict, repr=False)

    def including(self, examples: Any) -> tuple[SharedExamples, NDArray[np.intp]]:
        """With these examples, unless they are here already; and their numbers."""
        keys, numbers = _keys(examples), dict(self._numbers)
        new: list[int] = []
        for i, key in enumerate(keys):
            if key not in numbers:
                numbers[key] = self.count + len(new)
                new.append(i)
        all_of_them = _stacked(self.examples, examples[new]) if new else self.examples
        including = SharedExamples(all_of_them, self.count + len(new), numbers)
        return including, np.array([numbers[key] for key in keys], dtype=np.intp)


@dataclass
class Support(Examples):
    """Examples p = 0, 1, .. in the order in which they came, and L with L L' = K, their kernel matrix.

    What example p adds to the span of those before it, scaled to length 1, is vector p of an orthonormal basis, and
    L[p] are the example's coordinates on it. Those of any other x solve L t = k, k the kernel of x with the support;
    kernels are inner products of coordinates, but for what lies outside the span.
    """

    _factor: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def factor(self) -> Array:
        """L, a view."""
        return self._factor[: self.count, : self.count]

    def extended(self, examples: Any, coordinates: Array) -> Support:
        """With more examples: their rows, and their coordinates, each one longer than that before."""
        count = self.count + len(coordinates)
        factor = self._factor
        if count > len(factor):
            factor = np.zeros((max(2 * len(factor), count),) * 2)
            factor[: self.count, : self.count] = self.factor
        factor[self.count : count, :count] = coordinates
        return Support(_stacked(self.examples, examples), count, factor)

    def copy(self) -> Support:
        """The same support in memory of its own."""
        return Support(self.examples, self.count, self.factor.copy())

    def __getstate__(self) -> dict[str, Any]:
        # Without the room for examples to come.
        return self.__dict__ | {"_factor": self.factor.copy()}

    def coordinates(self, kernels: Array) -> Array:
        """Those of some examples, one a row, from their kernels with the support."""
        found = np.empty_like(kernels)
        for part in self._panels():
            rest = kernels[:, part] - found[:, : part.start] @ self._factor[part, : part.start].T
            found[:, part] = solve_triangular(self._factor[part, part], rest.T, lower=True, check_finite=False).T
        return found

    def coefficients(self, vector: Array) -> Array:
        """c with vector = the sum of c_p (example p), for a vector of the span given by its coordinates."""
        found = vector.copy()
        for part in reversed(self._panels()):
            found[part] -= self._factor[part.stop : self.count, part].T @ found[part.stop :]
            found[part] = solve_triangular(
                self._factor[part, part], found[part], lower=True, trans="T", check_finite=False
            )
        return found

    def _panels(self) -> list[slice]:
        return [slice(i, min(i + _PANEL, self.count)) for i in range(0, self.count, _PANEL)]


def _keys(examples: Any) -> list[bytes]:
    """What tells examples apart: they are the same only if every bit is."""
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
