"""A lesson: rows with class numbers and weights, for a learner and its calibration."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Lock
from scwlearn._util.memory import give_back_memory, memory_held
from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import NamedRows
from scwlearn.data.labels import Classes
from scwlearn.data.rows import Rows
from scwlearn.data.weights import nonzero_rows as nonzero_rows
from scwlearn.learning.batch import LabeledBatch
from scwlearn.learning.class_axis import Recorded
from scwlearn.learning.follower import ROWS_OF_A_PART, Follower
from scwlearn.model.snapshot import Snapshot, in_range

Array = NDArray[np.float64]

# Numbers that the calibration of a row takes apart from its scores.
_NUMBERS_OF_A_ROW = 8

# From here on, a second thread is worth its start.
_MANY_ROWS = 2 * ROWS_OF_A_PART

# Scores of rows for all classes that are kept together: a quarter of a gigabyte.
_MOST_SCORES = 2**25

#: Dicts of named features.
Dicts = tuple[dict[Any, Any], ...]


class ProgressiveScores(NamedTuple):
    """Scores of examples just before they were learned from."""

    #: The classes and the calibration before them; its learner may have learned from them already.
    snapshot: Snapshot
    #: The class number of each example, its score (with several classes the scores of all), and its variance (that of
    #: the class with the largest score).
    numbers: NDArray[np.int32]
    scores: Array
    variances: Array
    #: What the calibration said of each example just before it, which may have learned from it already; None if the
    #: calibration has not learned.
    calibrated: Array | None


#: Called with the scores of examples before they were learned from.
Observer = Callable[[ProgressiveScores], None]


class Lesson(NamedTuple):
    """Rows with class numbers and weights, for a learner and its calibration."""

    rows: Rows | NamedRows | Dicts
    numbers: NDArray[np.int32]
    order: NDArray[np.intp] | None
    weights: Array | None
    #: Without class weights, which must change the scores but not how often classes occur.
    sample_weights: Array | None
    observer: Observer | None
    #: Of the classifier that learns.
    lock: Lock
    calibrate: bool
    jobs: int = 1
    in_turn: bool = False

    def part(self, places: NDArray[np.intp]) -> Lesson:
        """Return the lesson of these rows only, in this order."""
        weights = None if self.weights is None else self.weights[places]
        if not isinstance(self.rows, tuple):
            spread = np.zeros(len(self.rows))
            spread[places] = 1.0 if weights is None else weights
            return self._replace(order=None if self.order is None else places, weights=spread)
        own = weights
        if self.weights is not self.sample_weights:
            own = None if self.sample_weights is None else self.sample_weights[places]
        rows = tuple(self.rows[place] for place in places.tolist())
        return self._replace(rows=rows, numbers=self.numbers[places], weights=weights, sample_weights=own)

    def teach_third_class(self, before: Snapshot, classes: Classes, places: slice | NDArray[np.intp]) -> Snapshot:
        """Teach the rows before the first of the third class to a binary learner, then split it; return the result."""
        self._check_dicts(before)
        places = np.arange(len(self.rows))[places]
        third = int(np.argmax(self.numbers[places] >= 2))
        two = Snapshot(copy(before.learner), copy(before.calibration), classes.first(2))
        self.part(places[:third]).teach(two)
        rest = places[third:]
        known = int(self.numbers[rest[parts_of(len(rest), len(classes))[0]]].max()) + 1
        several = Snapshot(two.learner.split(), two.calibration.expanded(known), classes.first(known))
        return self._teach_parts(several, classes, rest)

    def teach_in_parts(self, before: Snapshot, classes: Classes, places: slice | NDArray[np.intp]) -> Snapshot:
        """Teach rows whose scores for all classes would take too much memory together; return the result."""
        self._check_dicts(before)
        # A copy: after some parts, another one may fail.
        snapshot = before._replace(learner=copy(before.learner), calibration=copy(before.calibration))
        return self._teach_parts(snapshot, classes, np.arange(len(self.rows))[places])

    def _check_dicts(self, before: Snapshot) -> None:
        """Check all dicts before they are cut into parts, so that an error has the number of the example."""
        if isinstance(self.rows, tuple):
            before.learner.check_dicts(self.rows)

    def _teach_parts(self, snapshot: Snapshot, classes: Classes, places: NDArray[np.intp]) -> Snapshot:
        known = len(snapshot.classes)
        for part in parts_of(len(places), len(classes)):
            chosen = places[part]
            known = max(known, int(self.numbers[chosen].max()) + 1)
            snapshot = snapshot._replace(classes=classes.first(known))
            self.part(chosen).teach(snapshot)
        return snapshot._replace(classes=classes)

    def teach(self, snapshot: Snapshot) -> None:
        """Let the learner learn from the rows, and the calibration from their scores before that."""
        # It may be a copy, whose state will replace that of the classifier: code that it calls must not change either.
        snapshot.learner._lock = self.lock
        if not snapshot.is_binary:
            snapshot.calibration.add_classes(len(snapshot.classes) - snapshot.calibration.n_scores)
        # The calibration takes its scores twice, and new names are counted.
        rows = len(self.rows) if self.weights is None else np.count_nonzero(self.weights)
        with memory_held(16 * int(rows) * (len(snapshot.classes) + _NUMBERS_OF_A_ROW)):
            if isinstance(self.rows, tuple):
                self._teach_dicts(snapshot, self.rows)
                return
            learner = snapshot.learner
            batch = learner.new_batch(self.rows, self.numbers, self.order, self.weights, self._own_weights)
            self._teach_batch(snapshot, batch._replace(calibrate=self.calibrate, jobs=self.jobs, in_turn=self.in_turn))

    def _teach_dicts(self, snapshot: Snapshot, rows: Dicts) -> None:
        learner, count = snapshot.learner, len(rows)
        seen = learner.counts.seen
        places = nonzero_rows(np.arange(count), self.weights)
        scores, variances = learner.empty_scores(count, len(snapshot.classes)), np.empty(count)
        labels = learner.labels(self.numbers)
        try:
            learner.learn_dicts(rows, labels, self.weights, scores, variances, self._own_weights)
        finally:
            give_back_memory()
            done = places[: learner.counts.seen - seen]
            self._calibrate(snapshot, scores[done], variances[done], done)

    @property
    def _own_weights(self) -> Array | None:
        """The sample weights, if the learner gets others."""
        if self.weights is self.sample_weights:
            return None
        return np.ones(len(self.rows)) if self.sample_weights is None else self.sample_weights

    def _teach_batch(self, snapshot: Snapshot, batch: LabeledBatch) -> None:
        """Teach many rows; if there is a second thread, it calibrates what has been learned from."""
        learner, places = snapshot.learner, batch.numbers_in_order
        if not self.calibrate or self.observer is not None or batch.rounds < _MANY_ROWS or allowed_threads() == 1:
            before = learner.learn_batch(batch)
            give_back_memory()
            self._calibrate(snapshot, before.scores, before.variances, places)
            return
        # All or nothing: the curve is replaced when the thread is done.
        follow_up = snapshot._replace(calibration=copy(snapshot.calibration))

        def calibrate(record: Recorded, part: slice) -> None:
            if part.start == 0:
                # Not for the first time, perhaps.
                follow_up.calibration.state = snapshot.calibration.state
            chosen = part if isinstance(places, slice) else places[part]
            self._calibrate(follow_up, record.scores[part], record.variances[part], chosen)

        with Follower(calibrate) as follower:
            before = learner.learn_batch(batch, follower.follow)
        give_back_memory()
        if follower.has_parts:
            snapshot.calibration.state = follow_up.calibration.state
        else:
            self._calibrate(snapshot, before.scores, before.variances, places)

    def _calibrate(self, snapshot: Snapshot, scores: Array, variances: Array, places: slice | NDArray[np.intp]) -> None:
        """Let the calibration learn from the scores of the rows at these places, unless they overflowed."""
        numbers = self.numbers[places]
        calibrated = self._learn_curve(snapshot, scores, variances, numbers, places) if self.calibrate else None
        if self.observer is not None:
            self.observer(ProgressiveScores(snapshot, numbers, scores, variances, calibrated))

    def _learn_curve(
        self,
        snapshot: Snapshot,
        scores: Array,
        variances: Array,
        numbers: NDArray[np.int32],
        places: slice | NDArray[np.intp],
    ) -> Array | None:
        """Let the calibration learn, and return what it said of each row before, if it is observed."""
        weights = None if self.sample_weights is None else self.sample_weights[places]
        with np.errstate(over="ignore", invalid="ignore"):
            all_finite = np.isfinite(variances.sum() + scores.sum())
        if not all_finite:
            # A class that is not known yet has a score of -infinity.
            known = np.isfinite(scores) if scores.ndim == 1 else (scores < np.inf).all(axis=1)
            weights = np.where(np.isfinite(variances) & known, 1.0 if weights is None else weights, 0.0)
        if self.observer is None:
            snapshot.calibration.learn(scores, variances, numbers, weights)
            return None
        calibrated = np.empty_like(scores)
        overflowed = None if all_finite else snapshot.calibration.probabilities(*in_range(scores, variances))
        snapshot.calibration.learn(scores, variances, numbers, weights, probabilities=calibrated)
        return calibrated if overflowed is None else np.where(np.isnan(calibrated), overflowed, calibrated)


def parts_of(rows: int, classes: int) -> list[slice]:
    """Return the parts of rows whose scores for all classes are kept together."""
    size = max(1, _MOST_SCORES // max(1, classes))
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
