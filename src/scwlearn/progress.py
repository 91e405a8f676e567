"""Progressive validation: each example is classified, then learned from; what came of it as the stream goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scwlearn.data.rows import as_rows
from scwlearn.learner import Counts, Learner


@dataclass(frozen=True)
class Progress:
    """Where a run stands: what happened so far, and the seconds spent on it."""

    counts: Counts
    seconds: float

    @property
    def mistake_rate(self) -> float:
        return self.counts.mistakes / max(1, self.counts.seen)


def progressive_validation(learner: Learner, x: Any, y: ArrayLike, *, checkpoints: int = 1) -> Iterator[Progress]:
    """Let the learner go through the rows once, and report at evenly spaced places, the last at the end.

    The input is checked as a whole before anything is learned; the seconds are those of learning.

    Examples
    --------
    >>> from scwlearn import Learner, progressive_validation
    >>> from scwlearn.data.synthetic import make_synthetic
    >>> X, y = make_synthetic(2000)
    >>> [p.counts.seen for p in progressive_validation(Learner("scw1"), X, y, checkpoints=4)]
    [500, 1000, 1500, 2000]
    """
    rows = as_rows(x)
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must be a vector of {len(rows)} labels, one a row of X, got the shape {labels.shape}")
    if checkpoints < 1:
        raise ValueError(f"checkpoints must be at least 1, got {checkpoints!r}")
    total, seconds, start = Counts(), 0.0, 0
    for stop in np.unique(np.linspace(0, len(rows), checkpoints + 1).astype(int))[1:]:
        part = rows.part(start, int(stop))
        began = time.perf_counter()
        total += learner.learn(part, labels[start:stop])
        seconds += time.perf_counter() - began
        yield Progress(total, seconds)
        start = int(stop)
