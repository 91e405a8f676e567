"""Tuning: choose the parameters of a rule from its grid by progressive validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from numpy.typing import ArrayLike

from scwlearn.learning.grid import Progress, count_grid
from scwlearn.rules import Rule, find_rule


def grid(rule: str | Rule, given: Mapping[str, Sequence[float]] | None = None) -> list[dict[str, float]]:
    """Return every combination of the parameter values that the paper tried.

    Parameters
    ----------
    rule : str or Rule
        The algorithm.
    given : dict of str to sequence of float, optional
        Other values for some of its parameters.

    Returns
    -------
    list of dict
        The cells of the grid. Parameters that the paper did not tune have their defaults.

    Examples
    --------
    >>> from scwlearn.learning.tuning import grid
    >>> len(grid("scw1")), grid("pa")
    (81, [{}])
    """
    declared = find_rule(rule) if isinstance(rule, str) else rule
    chosen = {p.name: p.grid or (p.default,) for p in declared.parameters} | dict(given or {})
    return [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]


def tune(
    rule: str | Rule,
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> dict[str, float]:
    """Find the parameters with the fewest mistakes in one pass over the rows.

    Parameters
    ----------
    rule : str or Rule
        The algorithm.
    x : matrix, dense or sparse
        The rows.
    y : vector of -1 and +1
        Their labels.
    order : vector of int, optional
        The order of the rows.
    progress : callable, optional
        Called now and then with the number of rows done and in total, each counted once for each cell.
    **settings
        Settings of the `Learner`.

    Returns
    -------
    dict
        The best cell of the grid; ties go to the larger values, as in the authors' toolbox.

    Examples
    --------
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.tuning import tune
    >>> X, y = make_synthetic(1000, label_noise=0.1)
    >>> tune("arow", X, y, covariance="diagonal")
    {'r': 0.0625}
    """
    cells = grid(rule)[::-1]
    counts = count_grid(rule, cells, x, y, order=order, progress=progress, **settings)
    return min(zip(counts, cells, strict=True), key=lambda scored: scored[0].mistakes)[1]
