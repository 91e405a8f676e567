"""Progressive validation: each example is classified, then learned from; what came of it as the stream goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.labels import check_signs
from scwlearn.data.rows import Rows, as_rows
from scwlearn.learning.counters import Counts
from scwlearn.learning.learner import Learner


@dataclass(frozen=True)
class Progress:
    """Where a run stands: what happened so far, and the seconds spent on it.

    Examples
    --------
    >>> from scwlearn import Learner, progressive_validation
    >>> (report,) = progressive_validation(Learner("pa1"), [[1.0], [2.0]], [1, -1])
    >>> report.counts, report.mistake_rate
    (Counts(seen=2, mistakes=1, updates=2), 0.5)
    """

    counts: Counts
    seconds: float

    @property
    def mistake_rate(self) -> float:
        return self.counts.mistakes / max(1, self.counts.seen)


def progressive_validation(
    learner: Learner,
    x: Any,
    y: ArrayLike,
    *,
    checkpoints: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Progress]:
    """Let the learner go through the rows once, and report at evenly spaced places, the last at the end.

    The input is checked as a whole before anything is learned; the seconds are those of learning, by the clock given.

    Examples
    --------
    >>> from scwlearn import Learner, progressive_validation
    >>> from scwlearn.datasets.synthetic import make_synthetic
    >>> X, y = make_synthetic(2000)
    >>> [p.counts.seen for p in progressive_validation(Learner("scw1"), X, y, checkpoints=4)]
    [500, 1000, 1500, 2000]
    """
    rows = as_rows(x)
    labels = check_signs(y, len(rows))
    if checkpoints < 1:
        raise ValueError(f"checkpoints must be at least 1, got {checkpoints!r}")
    cuts = np.unique(np.linspace(0, len(rows), checkpoints + 1).astype(int))
    return _reports(learner, rows, labels, cuts, clock)


def _reports(
    learner: Learner, rows: Rows, labels: NDArray[np.int8], cuts: NDArray[np.intp], clock: Callable[[], float]
) -> Iterator[Progress]:
    total, seconds = Counts(), 0.0
    for start, stop in pairwise(cuts.tolist()):
        part = rows.part(start, stop)
        began = clock()
        total += learner.learn(part, labels[start:stop])
        seconds += clock() - began
        yield Progress(total, seconds)
