"""Exact sums over the updates of a full covariance, in integers.

The precision of a Gaussian is a sum over its updates, and so is its pull theta = precision mu:

    precision <- (precision + k x x')/grow
    theta     <- (theta + x (k f + step (1 + k v)))/grow        for mu <- mu + step Sigma x

k, the step, f = mu.x and v = x'Sigma x are the numbers that the native loop has used. A double is an integer times a
power of two, so both sums are exact. What separates them from the factors and the mean of the native model is the
rounding of its updates, and nothing else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn.model.gaussian import SPREAD_SCALE, Gaussian

Array = NDArray[np.float64]
Objects = NDArray[np.object_]

# Binary digits of the sums after the point: more than any product here has, except where a sum is divided.
_DIGITS = 2000


class Exact(NamedTuple):
    """Numbers that are integers/2^digits."""

    integers: Objects
    digits: int

    @classmethod
    def of(cls, numbers: Array) -> Self:
        """Return doubles, with as few digits as they need."""
        mantissas, exponents = np.frexp(numbers)
        whole = np.ldexp(mantissas, 53).astype(np.int64)
        places = np.where(whole == 0, 0, exponents.astype(np.int64) - 53)
        digits = max(0, -int(places.min(initial=0)))
        integers = np.empty(numbers.size, dtype=object)
        integers[:] = [m << s for m, s in zip(whole.ravel().tolist(), (places + digits).ravel().tolist(), strict=True)]
        return cls(integers.reshape(numbers.shape), digits)

    def rounded(self) -> Array:
        """Return the nearest doubles."""
        scale = 1 << self.digits
        found = [float(Fraction(number, scale)) for number in self.integers.ravel().tolist()]
        return np.array(found).reshape(self.integers.shape)

    def sum_digits(self) -> Objects:
        """Return the integers with as many digits as the sums have."""
        shift = _DIGITS - self.digits
        shifted: Objects = self.integers * (1 << shift) if shift >= 0 else self.integers // (1 << -shift)
        return shifted


def product(*factors: Exact) -> Exact:
    """Return the matrix product of the first two, the result with the third, and so on."""
    integers, digits = factors[0]
    for factor in factors[1:]:
        integers, digits = integers.dot(factor.integers), digits + factor.digits
    return Exact(integers, digits)


class Errors(NamedTuple):
    """How far a native model is from the exact one."""

    #: The largest relative error of x'Sigma x over all x.
    sigma: float
    #: The root of e'Sigma^-1 e, where e is the error of the mean: the error in standard deviations.
    mean: float
    #: The length of the mean itself in the same metric.
    length: float


class ExactGaussian:
    """The precision of a Gaussian with a full Sigma, and the pull of each mean that shares it."""

    def __init__(self, size: int, initial_variance: float, means: int = 1) -> None:
        # 1/variance is exact for powers of two.
        prior = Exact.of(np.array([1 / initial_variance])).sum_digits()[0]
        self.precision: Objects = np.zeros((size, size), dtype=object)
        self.precision[np.diag_indices(size)] = prior
        self.pull: Objects = np.zeros((means, size), dtype=object)

    def add(self, x: Array, k: Array, variances: Array, scores: Array, steps: Array) -> None:
        """Add updates at rows x; `scores` and `steps`, the factors of Sigma x, have a column for each mean."""
        rows, precisions = Exact.of(x), Exact.of(k[:, np.newaxis])
        weighed = rows.integers * precisions.integers
        for i in range(x.shape[1]):
            used = np.flatnonzero(x[:, i])
            sums = Exact(weighed[used, i].dot(rows.integers[used, i:]), 2 * rows.digits + precisions.digits)
            self.precision[i, i:] += sums.sum_digits() if len(used) else 0
            self.precision[i:, i] = self.precision[i, i:]
        spread = Exact.of(variances[:, np.newaxis])
        # 1 + k v, k f and the step, with the same digits.
        grown = spread.integers * precisions.integers + (1 << (spread.digits + precisions.digits))
        seen, moved = Exact.of(scores), Exact.of(steps)
        forces = moved.integers * grown * (1 << seen.digits)
        forces += seen.integers * precisions.integers * (1 << (moved.digits + spread.digits))
        digits = moved.digits + spread.digits + precisions.digits + seen.digits
        self.pull += product(Exact(forces.T, digits), rows).sum_digits()

    def grow(self, factor: float) -> None:
        """Multiply Sigma by a factor."""
        ratio = Fraction(factor)
        self.precision = self.precision * ratio.denominator // ratio.numerator
        self.pull = self.pull * ratio.denominator // ratio.numerator

    def of_features(self, features: NDArray[np.intp]) -> ExactGaussian:
        """Return the Gaussian of these features alone, in this order; no update may have had any other."""
        part = ExactGaussian(0, 1.0)
        part.precision, part.pull = self.precision[np.ix_(features, features)], self.pull[:, features]
        return part

    def errors(self, model: Gaussian, lane: int = 0) -> Errors:
        """Compare with a class of a native model; all means share this Sigma if there are several."""
        d, columns = factors(model, lane)
        u, roots = Exact.of(columns.T), np.sqrt(d)
        # U' precision U, between the roots of D, would be the identity.
        inner = product(Exact(u.integers.T, u.digits), Exact(self.precision, _DIGITS), u).rounded()
        scaled = inner * np.outer(roots, roots)
        if not np.isfinite(scaled).all():
            return Errors(math.inf, math.inf, math.inf)
        pull = self.pull[lane if len(self.pull) > 1 else 0]
        mean = Exact.of(model.weights()[lane])
        left = product(Exact(self.precision, _DIGITS), mean)
        left = Exact(left.integers - pull * (1 << mean.digits), left.digits)

        def length(vector: Exact) -> float:
            """Return the root of vector' Sigma vector."""
            return float(np.linalg.norm(product(Exact(u.integers.T, u.digits), vector).rounded() * roots))

        of_sigma = float(np.abs(np.linalg.eigvalsh(scaled) - 1).max())
        return Errors(of_sigma, length(left), length(Exact(pull, _DIGITS)))


def factors(model: Gaussian, lane: int) -> tuple[Array, Array]:
    """Return D, with the scale of Sigma, and the columns of U, in the order of the features."""
    sigma = model.memory[-(model.size + 3) :] if model.memory.ndim == 2 else model.memory[lane]
    places = sigma[1, : model.size].astype(np.intp)
    spread = model.scalars[0 if model.joint else lane, SPREAD_SCALE]
    columns: Array = sigma[3:, : model.size][:, places]
    return sigma[2, : model.size] * spread, columns
