"""Preparations of data sets: what is done to the values of a file before learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_distributed(x: Any) -> Any:
    """Return the values unchanged."""
    return x


def equalise(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equalise the histogram of each image: replace each pixel by its rank in the image, divided by their number."""
    from scipy.stats import rankdata  # slow to import, and used for one data set

    ranks: NDArray[np.float64] = rankdata(x, axis=1) / x.shape[1]
    return ranks


def min_max(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each column to [0, 1]; a constant column becomes 0."""
    low, high = x.min(axis=0), x.max(axis=0)
    scaled: NDArray[np.float64] = (x - low) / np.where(high > low, high - low, 1.0)
    return scaled


def unit_log_counts(x: Any) -> Any:
    """Replace counts by log(1 + count) and scale each row to length 1; empty rows stay empty."""
    rows = x.copy()
    rows.data = np.log1p(rows.data)
    counts = np.diff(rows.indptr)
    # For an empty row reduceat would return the first value of the next one.
    filled = counts > 0
    norms = np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1][filled]))
    rows.data /= np.repeat(norms, counts[filled])
    return rows


#: Preparations by their names in the catalogue.
PREPARATIONS = {
    "as-distributed": as_distributed,
    "equalise": equalise,
    "min-max": min_max,
    "unit-log-counts": unit_log_counts,
}
