"""The forms in which the sets are learned: what is done to the numbers of a file before an algorithm sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_distributed(x: Any) -> Any:
    """The numbers of the file."""
    return x


def equalised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each image histogram-equalised: the rank of the pixel within its image/number of pixels."""
    from scipy.stats import rankdata  # half a second to import, for one set

    ranks: NDArray[np.float64] = rankdata(x, axis=1) / x.shape[1]
    return ranks


def min_max(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column scaled to [0, 1]; a column of one value becomes 0."""
    low, high = x.min(axis=0), x.max(axis=0)
    scaled: NDArray[np.float64] = (x - low) / np.where(high > low, high - low, 1.0)
    return scaled


def unit_log_counts(x: Any) -> Any:
    """log(1 + count), each row of length 1; an empty row stays empty."""
    rows = x.copy()
    rows.data = np.log1p(rows.data)
    counts = np.diff(rows.indptr)
    # reduceat takes the next row's first value for a row that has none.
    filled = counts > 0
    norms = np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1][filled]))
    rows.data /= np.repeat(norms, counts[filled])
    return rows
