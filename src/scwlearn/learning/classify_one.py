"""Single examples of a classifier: in one native call, or step by step if there is something new."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import ClassifierByOne, Lock, as_weight, replace_attributes
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.locks import Frozen
from scwlearn._util.memory import give_back_memory, memory_held
from scwlearn.data.costs import Costs
from scwlearn.data.features import Features
from scwlearn.data.labels import as_labels
from scwlearn.data.weights import ClassWeights, weigh
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts
from scwlearn.model.calibration import Calibration
from scwlearn.model.snapshot import MARGIN, Snapshot
from scwlearn.rules import Rule

# A handle that leaves everything to its caller.
_NOT_READY = ClassifierByOne()

# The attributes that the native handle is made from.
_HANDLE_IS_MADE_FROM = frozenset({"snapshot", "features", "class_weights", "costs"})


class ClassifyOne(ABC):
    """Learning from single dicts and predicting them.

    A caller first asks `by_one`, and if that leaves the work to it, calls the method here, which also makes the handle
    for the next example.
    """

    config: LearnerConfig
    features: Features
    class_weights: ClassWeights
    costs: Costs | None
    snapshot: Snapshot
    #: The native handle for single dicts, which leaves to its caller what it cannot do. Not a default of the class:
    #: Python would look it up in both places.
    by_one: ClassifierByOne
    # Of the memory of the model, and that of its learner.
    _lock: Lock

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HANDLE_IS_MADE_FROM:
            super().__setattr__(name, value)
            return
        if name == "snapshot":
            value.learner._lock = self._lock
        replace_attributes(self.__dict__, {"by_one": _NOT_READY, name: value}, {}, ("by_one",))

    def __getstate__(self) -> dict[str, Any]:
        # A copy, which is pickled after other threads may learn again.
        return copy(self)._plain_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, by_one=_NOT_READY, _lock=Lock())
        self.snapshot.learner._lock = self._lock

    def _plain_state(self) -> dict[str, Any]:
        """Return the attributes that can be pickled; nothing else may use this classifier."""
        # The handle points into the memory of this process.
        state = {name: value for name, value in self.__dict__.items() if name not in ("by_one", "_lock")}
        return state | {"snapshot": self.snapshot._replace(learner=Frozen(self.snapshot.learner))}

    @property
    def argmax_consistent(self) -> bool:
        """Whether the predicted class is the most probable one.

        Not with class weights: they make some classes predicted more often than they occur.
        """
        return self.class_weights.given is None

    @abstractmethod
    def learn_many(
        self, examples: Iterable[dict[Any, Any]], y: NDArray[Any], weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from dicts in turn."""

    def learn_one(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """Learn from a record of weight w."""
        x, w = self.read_record(x), as_weight(w)
        with self._lock.changing, interrupts_held():
            self._learn_record(x, y, w)

    def _learn_record(self, x: dict[Any, Any], y: Any, w: float) -> None:
        try:
            number = None if isinstance(y, complex) else self.snapshot.classes.numbers.get(y)
        except (TypeError, ValueError):  # cannot be hashed
            number = None
        # Only now: the hash of a label of the user's class may have learned something.
        snapshot, rule, weighted = self.snapshot, self.config.rule, self.class_weights.given is not None
        if number is None and len(snapshot.classes) < 2 and not weighted and w:
            self._learn_new_class(x, as_labels([y]), w)
            return
        if number is None or (weighted and isinstance(rule, Rule) and rule.is_committee):
            # A third class, a new one with a class weight, not a label, or a weight that the mixture must not count.
            self.learn_many((x,), as_labels([y]), [w])
            return
        weight = w
        if weighted:
            of_class = self.class_weights.of_next(number, snapshot.classes)
            weight = float(weigh(np.array([of_class]), np.array([w]))[0])
        with memory_held():
            _teach_one(snapshot, x, number, weight, w)
            if weight and weighted:
                self.class_weights.count(number, snapshot.classes)
        self._make_handle()

    def _learn_new_class(self, x: dict[Any, Any], label: NDArray[Any], w: float) -> None:
        """Learn from an example of a class that is the first or the second, as `learn_many` does."""
        numbers, new = self.snapshot.classes.find(label)
        snapshot = self.snapshot._replace(classes=self.snapshot.classes.add(new))
        seen = snapshot.learner.counts.seen
        with memory_held():
            try:
                _teach_one(snapshot, x, int(numbers[0]), w, w)
            finally:
                # Whatever happens after the learner has met the class.
                if snapshot.learner.counts.seen > seen:
                    self.snapshot = snapshot
        self._make_handle()

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """Return the label of a record; None before any class is known."""
        x = self.read_record(x)
        snapshot = self.snapshot
        labels = snapshot.classes.values
        if not labels:
            return None
        if snapshot.learner.model is None:
            return labels[len(labels) == 2]
        if self.costs is not None:
            scores, variances = snapshot.learner.scores_and_variances_many((x,))
            chances = snapshot.probabilities(scores, variances, argmax_consistent=self.argmax_consistent)
            return labels[self.costs.decide(chances, snapshot.classes)[0]]
        label = labels[snapshot.predict_one(snapshot.learner.score_one(x))]
        self._make_handle()
        return label

    def probabilities_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Return the probability of each class, in the order of the labels; empty before any class is known."""
        x = self.read_record(x)
        snapshot = self.snapshot
        labels = snapshot.classes.values_in_order
        if snapshot.learner.model is None:
            return dict.fromkeys(labels, 1 / max(1, len(labels)))
        score, variance = snapshot.learner.score_and_variance_one(x)
        scores, variances = np.array([score]), np.array([variance])
        rows = snapshot.probabilities(scores, variances, argmax_consistent=self.argmax_consistent)
        self._make_handle()
        return dict(zip(labels, rows[0].tolist(), strict=True))

    def read_record(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return a record as a dict that the learner reads: as it is, or its features if some are declared."""
        if not isinstance(x, dict):
            raise TypeError(f"x must be a dict of named features, got {type(x).__name__}")
        return x if self.features.is_plain else self.features.read(x)

    def _make_handle(self) -> None:
        """Make the native handle of the current model, unless there is one or too little memory for it."""
        if self.by_one.is_current or not self.features.is_plain:
            return
        before = {name: getattr(self, name) for name in ("by_one", *_HANDLE_IS_MADE_FROM)}
        learner, calibration, classes = before["snapshot"]
        if learner.model is None or not len(classes):
            # The example had weight 0, or another thread learns the first one.
            return
        with suppress(MemoryError):
            made = ClassifierByOne(
                learner.dict_handle(),
                calibration if isinstance(calibration, Calibration) else None,
                classes.values,
                classes.order.tolist(),
                classes.numbers,
                learns=before["class_weights"].given is None,
                by_score=before["costs"] is None,
                margin=MARGIN if self.argmax_consistent else None,
            )
            # Unless another thread has made one, or replaced what this one is made from.
            replace_attributes(self.__dict__, {"by_one": made}, before, ())


def _teach_one(snapshot: Snapshot, x: dict[Any, Any], number: int, weight: float, w: float) -> None:
    """Let the learner learn from an example, and the calibration from its score; `w` is the sample weight alone."""
    learner = snapshot.learner
    score = learner.learn_one(x, 2 * number - 1 if snapshot.is_binary else number, weight)
    give_back_memory()
    if weight:
        snapshot.calibration.learn_one(score, learner.last_variance, number, w)
