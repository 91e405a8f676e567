"""Statistics of paired samples: one value of each algorithm for each permutation or data set, lower is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Significance level of the tests.
_LEVEL = 0.05


def spread(values: Array) -> float:
    """Return the sample standard deviation (n - 1); 0 for a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def paired_p(sample: Array, other: Array) -> float | None:
    """Return the p-value of a paired t-test; None if the differences have no variance.

    That is the case for a single pair, and if all pairs differ by the same amount.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn._util.significance import paired_p
    >>> paired_p(np.array([0.10, 0.12, 0.11]), np.array([0.20, 0.23, 0.20])) < 0.01
    True
    """
    difference = sample - other
    if len(difference) < 2 or difference.std() <= 1e-12 * np.abs(difference).max(initial=1.0):
        return None
    from scipy import stats  # slow to import

    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def differs(sample: Array, other: Array) -> bool:
    """Whether a paired t-test at 95 % finds a difference; without variance, whether the samples are not equal."""
    p = paired_p(sample, other)
    return not bool(np.allclose(sample, other)) if p is None else p <= _LEVEL


def best_of(values: Sequence[Array]) -> int:
    """Return the index of the sample with the lowest mean."""
    return int(np.argmin([v.mean() for v in values]))


def as_good_as_best(values: Sequence[Array]) -> list[bool]:
    """Return which samples do not differ from the one with the lowest mean."""
    best = values[best_of(values)]
    return [not differs(v, best) for v in values]


def average_ranks(values: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Return the mean rank of each algorithm, 1 for the lowest value; ties share their mean rank.

    Examples
    --------
    >>> from scwlearn._util.significance import average_ranks
    >>> average_ranks({"arow": [0.1, 0.3], "pa": [0.2, 0.3]})
    {'arow': 1.25, 'pa': 1.75}
    """
    from scipy import stats

    ranks = stats.rankdata(value_table(values), axis=0).mean(axis=1)
    return dict(zip(values, ranks.tolist(), strict=True))


def value_table(values: Mapping[str, ArrayLike]) -> Array:
    """Return a matrix with a row for each algorithm; raise ValueError if a value is missing."""
    rows = [np.asarray(v, dtype=float) for v in values.values()]
    if len({row.shape for row in rows}) != 1 or np.isnan(rows).any():
        raise ValueError("every algorithm needs a value on every data set")
    return np.array(rows)
