"""Weights of examples: what a user passes, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import LARGEST_WEIGHT, SMALLEST_WEIGHT
from scwlearn._util.checks import is_masked

Array = NDArray[np.float64]


def check_weights(weights: ArrayLike | None, count: int, *, name: str = "weights") -> Array | None:
    """One weight for each of so many rows, or None where all weigh the same."""
    if weights is None:
        return None
    if is_masked(weights):
        raise ValueError(f"{name} is a masked array with masked values; every example needs a weight")
    given = np.asarray(weights)
    if given.dtype.kind not in "biufO":
        raise TypeError(f"{name} must hold numbers, got {given.dtype}")
    if given.shape != (count,):
        raise ValueError(f"{name} must be a vector of {count} weights, one a row of X, got the shape {given.shape}")
    checked = np.ascontiguousarray(given, dtype=np.float64)
    bad = np.flatnonzero(~((checked == 0) | ((checked >= SMALLEST_WEIGHT) & (checked <= LARGEST_WEIGHT))))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}] = {checked[bad[0]]}; a weight must be 0 or a number from {SMALLEST_WEIGHT:g} to "
            f"{LARGEST_WEIGHT:g}"
        )
    return checked


def rows_that_weigh(order: NDArray[np.intp], weights: Array | None) -> NDArray[np.intp]:
    """The order without the rows of weight 0."""
    return order if weights is None or weights.all() else order[weights[order] != 0]
