"""What a batch teaches: the learner first, then the curve, and whoever watches is told what it looked like before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.examples import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.data.weights import check_weights
from scwlearn.model.snapshot import Known

Array = NDArray[np.float64]

#: Dicts of named features.
Examples = tuple[dict[Any, Any], ...]

#: Who is told what examples looked like.
Watch = Callable[["Look"], None]


class Look(NamedTuple):
    """What examples looked like before they were learned from."""

    #: What was known of curves and classes before them; its learner may have learned from them.
    known: Known
    #: Of each example: its class, its score (of several classes the scores of all), and the variance of the largest.
    numbers: NDArray[np.int32]
    scores: Array
    variances: Array


class Told(NamedTuple):
    """Rows with their class numbers and what they weigh, and the order to take them in."""

    rows: Rows | NamedRows | Examples
    numbers: NDArray[np.int32]
    weights: Array | None
    order: ArrayLike | None
    #: The rows that weigh anything, in that order.
    places: NDArray[np.intp]
    #: What the rows weigh but for their classes.
    sample_weights: Array | None
    watch: Watch | None = None


def taught(known: Known, batch: Told) -> Known:
    """The same once it has learned from a batch, or from the dicts before Ctrl-C."""
    teach = _teach_two if known.is_binary else _teach_several
    teach(known, batch)
    return known


def _teach_two(known: Known, batch: Told) -> None:
    signs = np.where(batch.numbers == 0, -1, 1).astype(np.int8)
    if isinstance(batch.rows, tuple):
        _teach_dicts(known, batch, signs, np.empty(len(batch.rows)))
        return
    trace = known.learner.trace(batch.rows, signs, order=batch.order, weights=batch.weights)
    _calibrate(known, trace.score, trace.variance, batch, batch.places)


def _teach_several(known: Known, batch: Told) -> None:
    count, calibration = len(known.classes), known.calibration
    scores = np.empty((len(batch.rows), count))
    calibration.add_classes(count - calibration.n_scores)
    if isinstance(batch.rows, tuple):
        _teach_dicts(known, batch, batch.numbers, scores)
        return
    variances = np.empty(len(batch.rows))
    out = {"scores_out": scores, "variances_out": variances}
    known.learner.learn(batch.rows, batch.numbers, order=batch.order, weights=batch.weights, **out)
    _calibrate(known, scores[batch.places], variances[batch.places], batch, batch.places)


def _teach_dicts(known: Known, batch: Told, labels: NDArray[Any], scores: Array) -> None:
    learner = known.learner
    before, variances = learner.counts.seen, np.empty(len(batch.rows))
    weights = check_weights(batch.weights, len(batch.rows), name="w")
    try:
        learner.learn_into(batch.rows, labels, weights, scores, variances)
    finally:
        done = batch.places[: learner.counts.seen - before]
        _calibrate(known, scores[done], variances[done], batch, done)


def _calibrate(known: Known, scores: Array, variances: Array, batch: Told, places: NDArray[np.intp]) -> None:
    """Teach the curve what the rows at these places looked like, unless they are beyond what numbers hold."""
    if batch.watch is not None:
        batch.watch(Look(known, batch.numbers[places], scores, variances))
    weights = None if batch.sample_weights is None else batch.sample_weights[places]
    # A class that is not known yet has a score of -infinity.
    sound = np.isfinite(variances) & (np.isfinite(scores) if scores.ndim == 1 else (scores < np.inf).all(axis=1))
    if not sound.all():
        weights = np.where(sound, 1.0 if weights is None else weights, 0.0)
    known.calibration.learn(scores, variances, batch.numbers[places], weights)
