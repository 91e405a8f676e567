"""Choosing a rule's parameters from its grid, by the mistakes that it makes as it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from numpy.typing import ArrayLike

from scwlearn.learning.grid import Progress, count_grid
from scwlearn.rules import Rule, find_rule


def grid(rule: str | Rule, given: Mapping[str, Sequence[float]] | None = None) -> list[dict[str, float]]:
    """Every combination of the values that the paper tried; parameters that it left alone keep their default.

    `given` has other values for some of the parameters.

    Examples
    --------
    >>> from scwlearn.learning.tuning import grid
    >>> len(grid("scw1")), grid("pa")
    (81, [{}])
    """
    declared = find_rule(rule) if isinstance(rule, str) else rule
    chosen = {p.name: p.grid or (p.default,) for p in declared.parameters} | dict(given or {})
    axes = [[(name, value) for value in values] for name, values in chosen.items()]
    return [dict(cell) for cell in product(*axes)]


def tune(
    rule: str | Rule,
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> dict[str, float]:
    """The cell of the grid with the fewest mistakes in one pass over the rows, in their order or the one given.

    Of equal cells the one with the larger values wins, as in the authors' toolbox. `progress` is called now and then
    with the rows done and the rows in all, each counted once for each cell. Further keywords go to Learner.

    Examples
    --------
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.tuning import tune
    >>> X, y = make_synthetic(1000, label_noise=0.1)
    >>> tune("arow", X, y, covariance="diagonal")
    {'r': 0.0625}
    """
    cells = grid(rule)[::-1]
    counts = count_grid(rule, cells, x, y, order=order, progress=progress, **how)
    return min(zip(counts, cells, strict=True), key=lambda scored: scored[0].mistakes)[1]
