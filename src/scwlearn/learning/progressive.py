"""Progressive validation: classify each example, then learn from it, and report at checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scwlearn._util.interrupts import interrupts_held
from scwlearn.data.labels import check_signs
from scwlearn.data.rows import as_rows
from scwlearn.learning.counters import Counts
from scwlearn.learning.learner import Learner

# Steps of a learning curve per doubling of the number of examples, and the fewest examples between two of them.
_STEPS_PER_OCTAVE = 8
_MIN_STEP = 32


class ProgressiveValidation:
    """Engine of progressive validation: learns from batches, in slices that end at checkpoints.

    Checkpoints depend on the number of examples alone, so a run does not depend on how its data are cut into batches.

    Parameters
    ----------
    checkpoints : iterable of int
        Increasing numbers of examples.
    counts : Counts or None
        What was counted before the first batch.
    """

    def __init__(self, checkpoints: Iterable[int], counts: Counts | None = None) -> None:
        self.counts = counts or Counts()
        self._checkpoints = iter(checkpoints)
        self._skip_to_next()

    def learn(self, size: int, learn: Callable[[int, int], Counts]) -> Iterator[Counts]:
        """Call ``learn(start, stop)`` for each slice of a batch, and yield the counts at each checkpoint reached."""
        start = 0
        while start < size:
            stop = int(min(size, start + self._next - self.counts.seen))
            # What is learned is counted.
            with interrupts_held():
                self.counts += learn(start, stop)
            start = stop
            if self.counts.seen >= self._next:
                self._skip_to_next()
                yield self.counts

    def _skip_to_next(self) -> None:
        self._next = next((step for step in self._checkpoints if step > self.counts.seen), math.inf)


def curve_steps() -> Iterator[int]:
    """Yield the checkpoints of a learning curve: every power of two, and up to seven steps between two of them."""
    last = 0
    for number in count():
        octave, part = divmod(number, _STEPS_PER_OCTAVE)
        step = int(2**octave * 2 ** (part / _STEPS_PER_OCTAVE))
        if part == 0 or step - last >= _MIN_STEP:
            yield step
            last = step


def is_curve_step(seen: int) -> bool:
    """Return whether a number of examples is one of `curve_steps`."""
    return seen == next(step for step in curve_steps() if step >= seen)


class Progress(NamedTuple):
    """Counts and learning time of a run up to a checkpoint.

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
        """Fraction of examples that were misclassified before they were learned from."""
        return self.counts.mistakes / max(1, self.counts.seen)


def progressive_validation(
    learner: Learner,
    x: Any,
    y: ArrayLike,
    *,
    checkpoints: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Progress]:
    """Learn from the rows in one pass, and report progress at evenly spaced checkpoints.

    Parameters
    ----------
    learner : Learner
        Learns from each row after it has classified it.
    x : array-like or sparse matrix of shape (n_rows, n_features)
        Rows, checked as a whole before the learner sees the first.
    y : array-like of shape (n_rows,)
        Labels, -1 or +1.
    checkpoints : int
        Number of reports; the last comes after the last row.
    clock : callable
        Measures the seconds of learning; the caller's time between two reports is not counted.

    Returns
    -------
    iterator of Progress

    Raises
    ------
    ValueError
        If `checkpoints` is less than 1, or `x` or `y` is invalid.

    Examples
    --------
    >>> from scwlearn import Learner, progressive_validation
    >>> from scwlearn.datasets import make_synthetic
    >>> X, y = make_synthetic(2000)
    >>> [p.counts.seen for p in progressive_validation(Learner("scw1"), X, y, checkpoints=4)]
    [500, 1000, 1500, 2000]
    """
    rows = as_rows(x)
    labels = check_signs(y, len(rows))
    if checkpoints < 1:
        raise ValueError(f"checkpoints must be at least 1, got {checkpoints!r}")
    seconds = 0.0

    def learn(start: int, stop: int) -> Counts:
        nonlocal seconds
        part = rows.slice(start, stop)
        began = clock()
        counts = learner.learn(part, labels[start:stop])
        seconds += clock() - began
        return counts

    steps = np.linspace(0, len(rows), checkpoints + 1).astype(int).tolist()
    validation = ProgressiveValidation(steps)
    return (Progress(counts, seconds) for counts in validation.learn(len(rows), learn))
