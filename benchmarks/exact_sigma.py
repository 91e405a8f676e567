"""Exact posterior covariance of given updates in rational arithmetic, and the error of a computed Sigma."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Matrix of Python integers or fractions.
Exact = NDArray[np.object_]


def fractions(matrix: Array) -> Exact:
    """Convert floats to fractions, without error."""
    return np.array([Fraction(float(entry)) for entry in matrix.flat], dtype=object).reshape(matrix.shape)


def symmetric(matrix: Array) -> Exact:
    """Return the symmetric part of the matrix, exactly."""
    kept = fractions(matrix)
    half: Exact = (kept + kept.T) / 2
    return half


def squared(root: Array) -> Exact:
    """Return R R', exactly."""
    kept = fractions(root)
    square: Exact = kept @ kept.T
    return square


def udu(u: Array, d: Array) -> Exact:
    """Return U D U', exactly; `d` is the diagonal of D."""
    unit = fractions(u)
    product: Exact = (unit * fractions(d)) @ unit.T
    return product


def posterior(x: Array, k: NDArray[np.float64]) -> Exact:
    """Return I + sum of k x x', exactly: in shifted integers, which are faster than fractions."""
    (whole_x, x_shift), (whole_k, k_shift) = integers(x), integers(k)
    total = whole_x.T @ (whole_k[:, None] * whole_x)
    unit = 2 ** (2 * x_shift + k_shift)
    added = np.vectorize(lambda n: Fraction(n, unit), otypes=[object])(total)
    precision: Exact = np.eye(x.shape[1], dtype=int) + added
    return precision


def integers(values: Array) -> tuple[Exact, int]:
    """Return the values times 2^shift as integers, and the shift."""
    mantissas, exponents = np.frexp(values.astype(np.float64))
    shift = max(53 - int(exponents.min()), 0)
    whole = [int(m * 2**53) << (shift - 53 + int(e)) for m, e in zip(mantissas.flat, exponents.flat, strict=True)]
    return np.array(whole, dtype=object).reshape(values.shape), shift


def positive(matrix: Exact) -> bool:
    """Return whether the matrix is positive definite, by exact elimination."""
    return factor(matrix) is not None


def factor(matrix: Exact) -> tuple[Exact, Exact] | None:
    """Return L and D of matrix = L D L', exactly; None if it is not positive definite."""
    size = len(matrix)
    rest = matrix.copy()
    lower = np.full((size, size), Fraction(0), dtype=object)
    pivots = np.full(size, Fraction(0), dtype=object)
    for j in range(size):
        if rest[j, j] <= 0:
            return None
        pivots[j] = rest[j, j]
        lower[j:, j] = rest[j:, j] / pivots[j]
        rest[j + 1 :, j + 1 :] -= np.outer(lower[j + 1 :, j], rest[j + 1 :, j])
    return lower, pivots


def ratios(kept: Exact, is_inverse: bool, precision: Exact) -> tuple[float, float]:
    """Return the range of x'Sigma x/(x'P^-1 x) over all x, P the exact precision: (1, 1) for a Sigma without error.

    `kept` is Sigma, or Sigma^-1 where `is_inverse`.
    """
    factors = factor(precision)
    assert factors is not None
    lower, diagonal = factors
    if is_inverse:
        lower, diagonal = inverse(lower).T, 1 / diagonal
    # P = L D L': in these coordinates the exact matrix is I, so rounding loses nothing.
    inner = lower.T @ kept @ lower
    size = len(inner)
    scaled = [[rooted(inner[i, j], diagonal[i], diagonal[j]) for j in range(size)] for i in range(size)]
    eigenvalues = np.linalg.eigvalsh(np.array(scaled))
    if is_inverse:
        eigenvalues = 1 / eigenvalues
    return float(eigenvalues.min()), float(eigenvalues.max())


def rooted(entry: Fraction, a: Fraction, b: Fraction) -> float:
    """Return entry sqrt(a b)."""
    return math.copysign(math.sqrt(float(entry * entry * a * b)), entry)


def inverse(lower: Exact) -> Exact:
    """Return the inverse of a unit lower triangular matrix, exactly."""
    size = len(lower)
    result = np.full((size, size), Fraction(0), dtype=object)
    for i in range(size):
        result[i, i] = Fraction(1)
        result[i, :i] = -(lower[i, :i] @ result[:i, :i])
    return result
