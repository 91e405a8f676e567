"""Tuning: choose the parameters of a classifier from a grid by progressive validation."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._util.memory import thread_pool
from scwlearn._util.threads import job_threads
from scwlearn.data.labels import as_labels
from scwlearn.data.rows import Rows, as_rows
from scwlearn.data.weights import check_weights
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts
from scwlearn.learning.grid import Progress, count_together
from scwlearn.learning.learner import Learner
from scwlearn.learning.settings import Face
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
    return combinations({p.name: p.grid or (p.default,) for p in declared.parameters} | dict(given or {}))


def combinations(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values of some names."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def nearest_first(cells: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any]) -> list[int]:
    """Return the places of the cells of a grid, beginning with the one that is the fewest steps from the defaults.

    Of two cells at the same distance the later one comes first, as in the authors' toolbox.

    Parameters
    ----------
    cells : sequence of dict
        All cells of the grid.
    defaults : dict
        The default of each name. It need not be in the grid.

    Examples
    --------
    >>> from scwlearn.learning.tuning import grid, nearest_first
    >>> cells = grid("arow", {"r": [0.25, 0.5, 1.0, 2.0]})
    >>> [cells[place]["r"] for place in nearest_first(cells, {"r": 1.0})]
    [1.0, 2.0, 0.5, 0.25]
    """
    steps = [0.0] * len(cells)
    for name in cells[0]:
        values: list[Any] = []
        for cell in cells:
            if cell[name] not in values:  # some have no hash
                values.append(cell[name])
        default = defaults[name]
        if all(isinstance(value, int | float) for value in (*values, default)):
            values.sort()
            home = bisect(values, default) - 0.5
        else:
            home = -0.5
        if default in values:
            home = values.index(default)
        for place, cell in enumerate(cells):
            steps[place] += abs(values.index(cell[name]) - home)
    return sorted(range(len(cells)), key=lambda place: (steps[place], -place))


def count_each(
    classifiers: Sequence[Classifier],
    rows: Rows,
    labels: NDArray[Any],
    *,
    order_of: Callable[[Classifier], ArrayLike | None] = lambda _: None,
    weights: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
) -> list[Counts]:
    """Return the counts of new classifiers after one pass over the same rows, and leave the classifiers as they are.

    All have the same rows in their counts: those of a class that the class weights of a classifier leave out are
    mistakes, since it does not know the class.

    With two classes and no weights, linear classifiers learn together in the native grid; others learn in turn, as many
    at a time as there are threads.

    Parameters
    ----------
    classifiers : sequence of Classifier
        The classifiers, which have not learned yet.
    rows, labels, weights
        As for `Classifier.learn`. All classes take part from the start.
    order_of : callable
        Returns the order in which a classifier learns, the same for all without class weights.
    progress : callable, optional
        Called now and then with the number of rows done and in total, each counted once for each classifier.
    n_jobs : int or None
        As for `learn_grid`.
    """
    classes = np.unique(labels if weights is None else labels[weights != 0])
    learned = len(rows) if weights is None else np.count_nonzero(weights)
    in_grid = [len(classes) <= 2 and weights is None and _is_plain(each) for each in classifiers]
    together = np.flatnonzero(in_grid).tolist()
    alone = np.flatnonzero(np.logical_not(in_grid)).tolist()
    found: dict[int, Counts] = {}

    def report(done: int, _: int = 0) -> None:
        if progress is not None:
            progress(done, len(classifiers) * len(rows))

    def count_alone(place: int) -> Counts:
        classifier = copy(classifiers[place])
        classifier.add_classes(classes)
        counts = classifier.learn(rows, labels, order=order_of(classifier), weights=weights)
        left_out = int(learned) - counts.seen
        return counts + Counts(seen=left_out, mistakes=left_out)

    if together:
        signs = np.where(labels == classes[-1], 1, -1) if len(classes) == 2 else np.full(len(labels), -1)
        learners = [classifiers[place].learner for place in together]
        order = order_of(classifiers[together[0]])
        counts = count_together(learners, rows, signs, order=order, progress=report, n_jobs=n_jobs)
        found.update(zip(together, counts, strict=True))
    if alone:
        with thread_pool(job_threads(n_jobs)) as pool:
            for place, each in zip(alone, pool.map(count_alone, alone), strict=True):
                found[place] = each
                report(len(found) * len(rows))
    return [found[place] for place in range(len(classifiers))]


def _is_plain(classifier: Classifier) -> bool:
    """Return whether the native grid has all that a classifier needs."""
    return classifier.class_weights.given is None and type(classifier.learner) is Learner


def tune(
    rule: str | Rule,
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
    **settings: Any,
) -> dict[str, float]:
    """Find the parameters with the fewest mistakes in one pass over the rows.

    Parameters
    ----------
    rule : str or Rule
        The algorithm.
    x : matrix, dense or sparse
        The rows.
    y : vector
        Their labels, of any kind and number of classes.
    order : vector of int, optional
        The order of the rows.
    weights : vector, optional
        The weight of each row.
    progress : callable, optional
        Called now and then with the number of rows done and in total, each counted once for each cell.
    n_jobs : int or None
        The number of threads; None for 1, -1 for all cores, -2 for all but one. The result is the same.
    **settings
        Settings of a `Learner`, and `class_weight`. Their defaults are those of the estimators: with an intercept.

    Returns
    -------
    dict
        The best cell of the grid; of equal ones, the one nearest to the default parameters.

    See Also
    --------
    scwlearn.TunedClassifier : the same as a scikit-learn estimator.

    Examples
    --------
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.tuning import tune
    >>> X, y = make_synthetic(1000, label_noise=0.1)
    >>> tune("arow", X, y, covariance="diagonal")
    {'r': 0.0625}
    """
    declared = find_rule(rule) if isinstance(rule, str) else rule
    class_weight = settings.pop("class_weight", None)
    cells = grid(declared)

    def new(cell: Mapping[str, float]) -> Classifier:
        config = LearnerConfig.create(declared, settings | dict(cell), defaults_of=Face.ESTIMATOR)
        return Classifier(config, class_weight)

    rows = as_rows(x)
    labels = as_labels(y)
    if len(labels) != len(rows):
        raise ValueError(f"y must hold {len(rows)} labels, one for each row, got {len(labels)}")
    checked = check_weights(weights, len(rows))
    classifiers = [new(cell) for cell in cells]
    counts = count_each(
        classifiers, rows, labels, order_of=lambda _: order, weights=checked, progress=progress, n_jobs=n_jobs
    )
    order_of_ties = nearest_first(cells, {p.name: p.default for p in declared.parameters})
    return cells[min(order_of_ties, key=lambda place: counts[place].mistakes)]
