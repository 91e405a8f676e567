"""The course of a run: examples of any source are classified, then learned from; what happened up to each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples, NamedRows
from scwlearn.data.labels import Classes
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.counters import Counts
from scwlearn.runs.metrics import Watcher
from scwlearn.runs.record import Point

#: So many steps, evenly spaced on a scale of logarithms, from an example to twice as many.
_STEPS_OF_AN_OCTAVE = 8
# Beyond this, whole numbers come out of a text as their neighbours.
_LARGEST_LABEL = 2.0**53
# What happened to fewer examples says little.
_LEAST_APART = 32


class Course:
    """Lets a classifier learn from one batch after the other, and keeps points of its way.

    Where the points lie depends on the number of examples alone, so that a run that is cut differently has the same.
    """

    def __init__(
        self,
        learner: ClassLearner,
        *,
        probabilities: bool = False,
        save_every: int | None = None,
        at_doubling: Callable[[Point], None] | None = None,
        at_save: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
        since: Counts | None = None,
    ) -> None:
        """`since` is what the classifier had gone through when the run began, where that was not now."""
        self.learner = learner
        self.watcher = Watcher(probabilities=probabilities, agree=learner.agrees, met=len(learner.classes))
        self.points: list[Point] = []
        self._before = learner.counts if since is None else since
        self._save_every, self._at_save, self._at_doubling = save_every, at_save, at_doubling
        self._clock, self._began = clock, clock()
        self._steps = step_numbers()
        self._next = next(step for step in self._steps if step > self.counts.seen)

    @property
    def counts(self) -> Counts:
        """What happened since the run began."""
        return self.learner.counts - self._before

    def learn(self, examples: Examples) -> None:
        """Learn from all of these. After an error, what the steps before it taught stays."""
        labels = training_labels(examples)
        _check_kind(self.learner, labels, examples)
        start = 0
        while start < len(examples):
            stop = min(len(examples), start + self._until_next())
            part = examples if stop - start == len(examples) else examples.part(start, stop)
            self._learn(part, labels[start:stop])
            start = stop
            self._look_around()

    def finish(self) -> Point:
        """The point where it ends."""
        seen = self.counts.seen
        if not self.points or self.points[-1].seen < seen or self.points[-1].nonzero is None:
            self.points = [point for point in self.points if point.seen < seen]
            self.points.append(self._with_weights(self._point()))
        return self.points[-1]

    def _learn(self, part: Examples, labels: NDArray[Any]) -> None:
        if not isinstance(part.x, NamedRows):
            part = part.widened(self.learner.widen(part.x.width))
        self.learner.learn(part.x, labels, weights=part.weights, watch=self.watcher)

    def _until_next(self) -> int:
        seen = self.counts.seen
        until = self._next - seen
        return until if self._save_every is None else min(until, self._save_every - seen % self._save_every)

    def _look_around(self) -> None:
        seen = self.counts.seen
        if seen >= self._next:
            point = self._point()
            self.points.append(point)
            if self._at_doubling is not None and seen & (seen - 1) == 0:
                # Weights are counted for who looks: it takes about as long as to learn from a thousand examples.
                self._at_doubling(self._with_weights(point))
            while self._next <= seen:
                self._next = next(self._steps)
        if self._save_every is not None and seen and seen % self._save_every == 0:
            self._at_save()

    def _with_weights(self, point: Point) -> Point:
        return replace(point, nonzero=self.learner.nonzero())

    def _point(self) -> Point:
        counts = self.counts
        seconds = self._clock() - self._began
        return Point(counts.seen, counts.mistakes, counts.updates, None, seconds, self.watcher.log_loss)


def _check_kind(learner: ClassLearner, labels: NDArray[Any], examples: Examples) -> None:
    try:
        learner.classes.check_kind(labels)
    except TypeError:
        raise ValueError(
            f"{examples.source}, line {examples.lines[0]}: {other_labels(labels, learner.classes)}"
        ) from None


def other_labels(labels: NDArray[Any], classes: Classes) -> str:
    """That labels are of another kind than those of a model."""
    known = classes.values_in_order
    rest = ", ..." if len(known) > 5 else ""
    return f"there are labels such as {labels[:1].tolist()[0]!r}, but the model's are {_listed(known[:5])}{rest}"


def _listed(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels))


def training_labels(examples: Examples) -> NDArray[Any]:
    """The labels of examples that are to be learned from; a ValueError where one has none."""
    if examples.labels is None:
        raise ValueError(f"{examples.source} has no labels to learn from")
    if examples.labelled is not None and not examples.labelled.all():
        line = examples.lines[int(examples.labelled.argmin())]
        raise ValueError(f"{examples.source}, line {line}: an example to learn from needs a label; found none")
    if examples.labels.dtype.kind == "f" and (large := np.abs(examples.labels) > _LARGEST_LABEL).any():
        place = int(large.argmax())
        raise ValueError(
            f"{examples.source}, line {examples.lines[place]}: a label that is a number is at most 2^53 in size, so "
            f"that no two of them are taken for one; found {examples.labels[place]:.17g}"
        )
    return tidy_labels(examples.labels)


def tidy_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as one writes them: 1, not 1.0."""
    if labels.dtype.kind != "f":
        return labels
    whole = labels.astype(np.int64)
    return whole if (whole == labels).all() else labels


def step_numbers() -> Iterator[int]:
    """1, 2, 4, 8, 16, 32 and then, ever further apart, all powers of two and some between them."""
    last = 0
    for number in count():
        octave, part = divmod(number, _STEPS_OF_AN_OCTAVE)
        step = int(2**octave * 2 ** (part / _STEPS_OF_AN_OCTAVE))
        if part == 0 or step - last >= _LEAST_APART:
            yield step
            last = step
