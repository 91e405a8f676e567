"""Kernel functions: those of scikit-learn by name, or your own, with checks of the matrices that they return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn.data.rows import Block
from scwlearn.kernels.support import Examples

Array = NDArray[np.float64]
#: Computes the kernels of all pairs of rows of two matrices.
KernelFunction = Callable[[Any, Any], Any]

#: The parameters of each kernel, with their defaults.
PARAMETERS: dict[str, dict[str, float]] = {
    "linear": {},
    "rbf": {"gamma": 1.0},
    "poly": {"gamma": 1.0, "degree": 3.0, "coef0": 1.0},
    "sigmoid": {"gamma": 1.0, "coef0": 1.0},
    "laplacian": {"gamma": 1.0},
    "cosine": {},
}
#: The name for kernel matrices that the user computes.
PRECOMPUTED = "precomputed"

# Largest relative difference of k(x, z) and k(z, x) that counts as rounding.
_SYMMETRIC = 1e-8
# Kernels of rows with themselves are taken from all pairs of this many rows.
_ROWS_WITH_THEMSELVES = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters.

    Parameters
    ----------
    of : str or function
        The name of a kernel of scikit-learn, "precomputed", or a function of two matrices that returns the kernel
        matrix of their rows.
    parameters : dict
        Those of gamma, degree and coef0 that the kernel takes; 1, 3 and 1 by default.
    constant : bool
        Whether to add 1 to the kernel, which makes the learner learn an intercept.

    Raises
    ------
    TypeError, ValueError
        For an unknown kernel, and for parameters that it does not take.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.kernels import Kernel
    >>> kernel = Kernel("poly", {"degree": 2, "gamma": 1.0})
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[4., 9.]])
    """

    of: str | KernelFunction = "rbf"
    parameters: dict[str, float] = field(default_factory=dict)
    constant: bool = False

    def __post_init__(self) -> None:
        if self.of == PRECOMPUTED or not isinstance(self.of, str):
            if self.of != PRECOMPUTED and not callable(self.of):
                raise TypeError(f"kernel must be a name or a function of two matrices, got {self.of!r}")
            known: dict[str, float] = {}
        elif self.of in PARAMETERS:
            known = PARAMETERS[self.of]
        else:
            names = ", ".join([*PARAMETERS, PRECOMPUTED])
            raise ValueError(f"kernel must be one of {names}, or a function of two matrices, got {self.of!r}")
        for name in self.parameters:
            if name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no parameters"
                raise TypeError(f"kernel {self.of!r} {takes}, got {name}")
        object.__setattr__(self, "parameters", known | dict(self.parameters))

    @property
    def is_precomputed(self) -> bool:
        """Whether the user computes the kernel matrix."""
        return self.of == PRECOMPUTED

    def __call__(self, x: Any, z: Any) -> Array:
        """Compute the kernels of the rows of x with those of z.

        Parameters
        ----------
        x, z : array or sparse matrix
            Rows of features.

        Returns
        -------
        array of shape (rows of x, rows of z)
            The kernels, plus 1 with a constant.

        Raises
        ------
        TypeError, ValueError
            If a function returns anything but a matrix of finite numbers of that shape.
        """
        return self.checked(self._pairs(x, z), (x.shape[0], z.shape[0]))

    def _pairs(self, x: Any, z: Any) -> Any:
        if callable(self.of):
            return self.of(x, z)
        from sklearn import config_context
        from sklearn.metrics.pairwise import pairwise_kernels

        if sparse.issparse(x) and sparse.issparse(z):
            x, z = _narrowed(x, z)
        # The rows are checked already, and the result will be.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return pairwise_kernels(x, z, metric=self.of, **self.parameters)

    def with_support(self, x: Any, support: Examples) -> Array:
        """Compute the kernels of rows with the support; rows of a precomputed kernel have them already."""
        if not support.count:
            return np.zeros((x.shape[0], 0))
        if self.is_precomputed:
            return self.checked(x[:, support.examples], (x.shape[0], support.count))
        return self(support.like(x), support.examples)

    def with_each_other(self, x: Any, numbers: NDArray[np.intp]) -> Array:
        """Compute the kernels of all pairs of rows; `numbers` are their columns in a precomputed kernel."""
        kernels = self.checked(x[:, numbers], (len(numbers),) * 2) if self.is_precomputed else self(x, x)
        check_symmetric(kernels, kernels.T)
        return np.ascontiguousarray(kernels)

    def squared_norms(self, x: Any) -> Array:
        """Compute the kernel of each row with itself: infinity if it overflows, since the row still has a score."""
        if self.is_precomputed:
            raise ValueError("the variance of a score needs k(x, x), which a precomputed kernel does not have")
        parts = [x[i : i + _ROWS_WITH_THEMSELVES] for i in range(0, x.shape[0], _ROWS_WITH_THEMSELVES)]
        pairs = [self.checked(self._pairs(part, part), (part.shape[0],) * 2, overflow=True) for part in parts]
        norms = np.concatenate([each.diagonal() for each in pairs])
        if np.isnan(norms).any():
            raise ValueError(f"the kernel of row {np.isnan(norms).argmax()} with itself is nan; it must be a number")
        return norms

    def checked(self, kernels: Any, shape: tuple[int, int], *, overflow: bool = False) -> Array:
        """Return the result of a kernel as a matrix of floats, finite unless `overflow`, plus 1 with a constant."""
        dense = np.asarray(kernels.toarray() if sparse.issparse(kernels) else kernels)
        if dense.dtype.kind not in "biuf":
            raise TypeError(f"the kernel must return real numbers, got {dense.dtype}")
        matrix = dense.astype(np.float64, copy=False)
        if matrix.shape != shape:
            raise ValueError(f"the kernel of {shape[0]} with {shape[1]} examples has shape {matrix.shape}, not {shape}")
        if not overflow and not np.isfinite(matrix).all():
            row, column = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(
                f"the kernel of two examples is {matrix[row, column]} (row {row}, column {column} of its matrix); "
                "it must be finite"
            )
        return matrix + 1.0 if self.constant else matrix


def _narrowed(x: Any, z: Any) -> tuple[Any, Any]:
    """Return two CSR matrices without the columns that are empty in both, which change no kernel, if most are.

    The product of two sparse matrices takes memory for every column, of which a small model file may state any number.
    Some kernels of scikit-learn take 32-bit indices only, which those of fewer columns are.
    """
    if x.shape[1] <= x.nnz + z.nnz and x.indices.dtype == z.indices.dtype == np.int32:
        return x, z
    # One at least, which scikit-learn asks for.
    columns = np.unique(np.concatenate([x.indices, z.indices])) if x.nnz + z.nnz else np.zeros(1, np.int32)
    kind = np.int32 if max(x.nnz, z.nnz) <= np.iinfo(np.int32).max else np.int64

    def narrowed(rows: Any) -> Any:
        indices = np.searchsorted(columns, rows.indices).astype(kind)
        return sparse.csr_array((rows.data, indices, rows.indptr.astype(kind)), shape=(rows.shape[0], len(columns)))

    return narrowed(x), narrowed(z)


def check_symmetric(kernels: Array, mirrored: Array) -> None:
    """Raise a ValueError unless both are equal up to rounding: k(x, z) and the transposed k(z, x)."""
    apart = np.abs(kernels - mirrored)
    if (apart > _SYMMETRIC * np.abs(kernels).max(initial=0.0)).any():
        place = np.unravel_index(apart.argmax(), apart.shape)
        raise ValueError(f"the kernel is not symmetric: k(x, z) = {kernels[place]}, k(z, x) = {mirrored[place]}")


def as_doubles(block: Block) -> Any:
    """Return a block of rows as a read-only matrix of doubles."""
    # In single precision, rounding would make every example look independent of the others.
    x = block.matrix().astype(np.float64, copy=False)
    if not sparse.issparse(x):
        # It may be the caller's memory, which the caller's kernel function must not write to.
        x = x.view()
        x.flags.writeable = False
    return x


def as_dense(x: Any) -> Array:
    """Return a matrix as a dense one."""
    dense: Array = x.toarray() if sparse.issparse(x) else x
    return dense
