"""Many models in one pass over the data: each learns from each batch, as it would by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from scwlearn._util.threads import allowed_threads
from scwlearn.data.examples import Examples
from scwlearn.data.labels import Classes
from scwlearn.data.parts import Part, join
from scwlearn.data.rows import Rows
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.counters import Counts
from scwlearn.learning.grid import learn_together
from scwlearn.learning.progressive import curve_steps
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.labels import training_labels
from scwlearn.runs.train import TrainingRun

Item = TypeVar("Item")

# Batches wait for others until they have so many values for each feature: to go through them takes longer then than to
# bring all models together for it. They need less memory than two of the models.
_VALUES_A_FEATURE = 8


class SideBySide:
    """Models that learn from the same examples, batch after batch: with the counts that each would have by itself.

    While the features are numbered, there are two classes, and nothing has a weight, all of them go through the rows
    together, many times as fast. Where the models are to be kept, or their probabilities judged, each goes by itself.
    """

    def __init__(self, configs: Sequence[ModelConfig], *, probabilities: bool = False, keep: bool = False) -> None:
        self._configs, self._probabilities = list(configs), probabilities
        self._together: _Together | None = None
        if not (keep or probabilities) and not any(_is_special(each) for each in configs):
            self._together = _Together([each.learner() for each in configs])
        # Each by itself; none while they go together.
        self._trainings = [] if self._together else [TrainingRun(each, probabilities=probabilities) for each in configs]
        self._is_whole = self._together is None

    def learn(self, examples: Examples) -> None:
        """Learn from some more."""
        labels = training_labels(examples)
        if self._together is not None:
            if self._together.takes(examples, labels):
                self._together.learn(examples, labels)
                return
            self._part()
        in_threads(lambda training: training.learn(examples), self._trainings)

    def finish(self) -> None:
        """Nothing more comes."""
        if self._together is not None:
            self._together.finish()
        for training in self._trainings:
            training.finish()

    @property
    def trainings(self) -> list[TrainingRun]:
        """What a training of each would have come to; none where some of the examples were gone through together."""
        return self._trainings if self._is_whole else []

    @property
    def counts(self) -> list[Counts]:
        """What each has gone through."""
        if self._together is not None:
            return [learner.counts for learner in self._together.learners]
        return [Counts() if training.learner is None else training.learner.counts for training in self._trainings]

    @property
    def log_losses(self) -> list[float | None]:
        """The log-loss of each, where it was asked for."""
        if self._together is not None:
            return [None] * len(self._configs)
        return [each.log_loss for each in self._trainings]

    def _part(self) -> None:
        """From here on each goes by itself."""
        assert self._together is not None
        self._together.finish()
        # Unless nothing has been learned yet.
        self._is_whole = not self._together.learners[0].counts.seen
        for config, learner in zip(self._configs, self._together.learners, strict=True):
            resumed: dict[str, Any] = {"learner": learner, "since": Counts()} if learner.counts.seen else {}
            self._trainings.append(TrainingRun(config, probabilities=self._probabilities, **resumed))
        self._together = None


def in_threads(work: Callable[[Item], object], items: Iterable[Item], *, each_alone: bool = False) -> None:
    """Do some work on all items, as many at a time as there are threads; what one raises is raised.

    `each_alone` keeps each to the thread that it is in, so that its time is that of one.
    """
    threads = allowed_threads()
    with threadpool_limits(1, "blas") if each_alone else nullcontext(), ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_special(config: ModelConfig) -> bool:
    return config.is_bounded or config.settings.get("class_weight") is not None


class _Together:
    """Models for two classes on the same numbered features. Their probabilities are not learned."""

    def __init__(self, learners: list[Classifier]) -> None:
        self.learners = learners
        self._classes = Classes()
        # Labelled by -1 and +1.
        self._waiting: list[Examples] = []
        self._stored = 0
        # With a full covariance the last bits depend on how rows are cut: there the cuts are those of a run by itself.
        self._cuts: bool | None = None
        self._steps = curve_steps()
        self._next = next(self._steps)
        self._seen = 0

    def takes(self, examples: Examples, labels: NDArray[Any]) -> bool:
        """Whether they can go on together with these."""
        known = len(self._classes.add(self._classes.find(labels).new))
        return known <= 2 and examples.weights is None and isinstance(examples.x, Rows)

    def learn(self, examples: Examples, labels: NDArray[Any]) -> None:
        """Learn from all of these, now or when there are enough."""
        rows = examples.x
        assert isinstance(rows, Rows)
        rows.check()
        found = self._classes.find(labels)
        self._classes = self._classes.add(found.new)
        signs = np.where(found.numbers == 0, -1, 1).astype(np.int8)
        if self._cuts is None:
            self._cuts = any(_is_full(learner, rows.width) for learner in self.learners)
        if self._cuts:
            self._learn_cut(rows, signs)
            return
        self._waiting.append(replace(examples, labels=signs))
        self._stored += rows.stored
        if self._stored >= _VALUES_A_FEATURE * rows.width:
            self._learn_waiting()

    def finish(self) -> None:
        """Learn from what waits; then each can go on by itself."""
        self._learn_waiting()
        for learner in self.learners:
            learner.snapshot = learner.snapshot._replace(classes=self._classes)

    def _learn_waiting(self) -> None:
        if self._waiting:
            all_of_them = join([Part.of(examples) for examples in self._waiting]).examples()
            assert isinstance(all_of_them.x, Rows)
            assert all_of_them.labels is not None
            self._learn(all_of_them.x, all_of_them.labels)
            self._waiting, self._stored = [], 0

    def _learn_cut(self, rows: Rows, signs: NDArray[np.int8]) -> None:
        start = 0
        while start < len(rows):
            stop = min(len(rows), start + self._next - self._seen)
            self._learn(rows.part(start, stop), signs[start:stop])
            self._seen += stop - start
            if self._seen == self._next:
                self._next = next(self._steps)
            start = stop

    def _learn(self, rows: Rows, signs: NDArray[np.int8]) -> None:
        for learner in self.learners:
            width = learner.widen(rows.width)
        learn_together([learner.learner for learner in self.learners], rows.widened(max(width, rows.width)), signs)


def _is_full(learner: Classifier, width: int) -> bool:
    return bool(learner.learner.covariance_for(width) == "full")
