"""What linear and kernel learners share: labels, weights, orders and records of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Lock
from scwlearn._util.checks import check_int
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.locks import changing
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights
from scwlearn.learning.about import About
from scwlearn.learning.batch import LabeledBatch
from scwlearn.learning.class_axis import (
    Binary,
    ClassAxis,
    MultiClass,
    Recorded,
    check_scores_out,
    check_variances_out,
)
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts, Trace
from scwlearn.model.calibration import Calibration
from scwlearn.rules import OwnRule, Rule

Array = NDArray[np.float64]


class BaseLearner(ABC):
    """A learner on labels -1 and +1, or on class numbers."""

    config: LearnerConfig
    _axis: ClassAxis
    # Known before there is a model; 1 for a binary learner.
    _classes: int
    # Of the memory of the model: held while it changes, and while all of it is read.
    _lock: Lock

    #: What the file says that the learner was loaded from.
    about: About | None
    #: What turns scores into probabilities.
    calibration_type: ClassVar[type[Any]] = Calibration

    @classmethod
    def from_config(cls, config: LearnerConfig, n_classes: int | None = None) -> Self:
        """Return a learner with this configuration."""
        learner = object.__new__(cls)
        learner._configure(config, n_classes)
        return learner

    def _configure(self, config: LearnerConfig, n_classes: int | None) -> None:
        self.config = config
        self.about = None
        self._axis = Binary() if n_classes is None else MultiClass()
        self._classes = 1 if n_classes is None else check_int("n_classes", n_classes, minimum=0)
        self._lock = Lock()

    @property
    def rule(self) -> Rule | OwnRule:
        """The rule."""
        return self.config.rule

    @property
    def parameters(self) -> Mapping[str, float]:
        """The rule's parameters; read-only."""
        return MappingProxyType(self.config.parameters)

    @property
    def is_binary(self) -> bool:
        """Whether labels are -1 and +1."""
        return isinstance(self._axis, Binary)

    def _check_binary(self, method: str, instead: str = "this one has several classes") -> None:
        if not self.is_binary:
            raise TypeError(f"{method} is for learners with labels -1 and +1; {instead}")

    def _check_classes(self, method: str) -> None:
        if self.is_binary:
            raise TypeError(f"{method} is for learners with several classes; split() makes one of this learner")

    @property
    def has_variances(self) -> bool:
        """Whether it knows the variances of scores, which probabilities need."""
        return True

    @property
    def n_classes(self) -> int | None:
        """The number of known classes; None where labels are -1 and +1."""
        return None if self.is_binary else self._known_classes()

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """Examples seen, mistakes and updates so far."""

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """Return a copy with other values of the rule's parameters."""
        other = copy(self)
        other.config = self.config.with_parameters(parameters)
        return other

    @changing
    def learn(
        self,
        x: Any,
        y: ArrayLike,
        *,
        order: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        scores_out: Array | None = None,
        variances_out: Array | None = None,
    ) -> Counts:
        """Learn from each row in turn. All or nothing: after an error or Ctrl-C the learner is as it was.

        (Ctrl-C during a batch that takes a moment may take effect after it.)

        Parameters
        ----------
        x : array-like, sparse matrix or Rows
            The examples, one per row.
        y : array-like
            Their labels.
        order : array-like of int, optional
            The order in which to learn from the rows.
        weights : array-like, optional
            The weight of each row; each rule defines how weights act (docs/weights.md). A row of weight 0 is left out,
            and adds no class.
        scores_out : array of shape (rows,) or (rows, classes at the end or more), optional
            Receives the scores of row i of x before it was learned from: -infinity for a class not known then, NaN for
            a row of weight 0.
        variances_out : array of shape (rows,), optional
            Receives x'Sigma x, with several classes that of the class with the largest score, 0 where none was known,
            NaN for a row of weight 0.

        Returns
        -------
        Counts
            Rows seen, mistakes and updates of this call.

        Raises
        ------
        ValueError, TypeError
            For bad rows, labels or weights.
        """
        rows = _as_rows(x)
        batch = self._checked_batch(rows, y, order, weights)
        classes = self._classes_after(batch)
        if scores_out is not None:
            check_scores_out(scores_out, self._axis.empty_scores(len(rows), classes).shape)
            scores_out[:] = np.nan
        if variances_out is not None:
            check_variances_out(variances_out, len(rows))
            variances_out[:] = np.nan
        if scores_out is None and variances_out is None:
            return self._learn_whole(batch, classes, None)
        record = self._axis.record(batch.rounds, classes if scores_out is None else scores_out.shape[-1])
        record.has_variances = variances_out is not None
        counts = self._learn_whole(batch, classes, record)
        if scores_out is not None:
            scores_out[batch.numbers_in_order] = record.scores
        if variances_out is not None:
            variances_out[batch.numbers_in_order] = record.variances
        return counts

    @changing
    def trace(self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None) -> Trace:
        """Learn as `learn` does, from labels -1 and +1, and return the score, variance and step of each round."""
        self._check_binary("trace", "learn(scores_out=..., variances_out=...) records classes")
        batch = self._checked_batch(_as_rows(x), y, order, weights)
        record = Recorded.of_trace(batch.rounds)
        self._learn_whole(batch, 1, record)
        assert record.lines is not None
        return Trace(*record.lines.T)

    @changing
    def learn_batch(self, batch: LabeledBatch, follow: Callable[[Recorded, slice], None] | None = None) -> Recorded:
        """Learn from a batch with class numbers as labels; return scores and variances before learning.

        `follow` may be called with the parts of the batch, one after the other, each after learning from it.
        """
        self._check_rows(batch.rows)
        batch = batch._replace(labels=self.labels(batch.labels))
        classes = self._classes_after(batch)
        record = self._axis.record(batch.rounds, classes)
        record.follow = follow
        self._learn_whole(batch, classes, record)
        return record

    def new_batch(
        self,
        rows: Rows | NamedRows,
        labels: NDArray[Any],
        places: NDArray[np.intp] | None,
        weights: Array | None,
        sample_weights: Array | None = None,
    ) -> LabeledBatch:
        """Return a batch for this learner; labels, places and weights are checked."""
        return LabeledBatch.create(rows, labels, places, weights, sample_weights)

    def _shallow_copy(self) -> Self:
        """Return a learner on the same model, in the same memory and with the same lock."""
        other = object.__new__(type(self))
        # In one step: another thread may replace the model.
        other.__dict__.update(self.__dict__.copy())
        return other

    def __getstate__(self) -> dict[str, Any]:
        # A copy, which is pickled after other threads may learn again.
        return copy(self)._plain_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def _plain_state(self) -> dict[str, Any]:
        """Return the attributes that can be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    @abstractmethod
    def scores_and_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute the score and x'Sigma x of each row, and with several classes of each class."""

    def scores_and_top_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute scores, and of each row the variance of the largest."""
        scores, variances = self.scores_and_variances(x)
        if not self.is_binary:
            variances = np.take_along_axis(variances, scores.argmax(axis=1, keepdims=True), axis=1)[:, 0]
        return scores, variances

    def labels(self, numbers: NDArray[np.int32]) -> NDArray[Any]:
        """Return class numbers as this learner takes labels: 0 and 1 as -1 and +1 if it is binary."""
        return self._axis.from_numbers(numbers)

    def empty_scores(self, rows: int, classes: int) -> Array:
        """Return room for the scores of `rows` examples."""
        return self._axis.empty_scores(rows, classes)

    def _checked_batch(
        self, rows: Rows | NamedRows, y: ArrayLike, order: ArrayLike | None, weights: ArrayLike | None
    ) -> LabeledBatch:
        self._check_rows(rows)
        labels = self._axis.check_labels(y, len(rows))
        places = None if order is None else row_numbers(order, len(rows))
        return self.new_batch(rows, labels, places, check_weights(weights, len(rows)))

    def _classes_after(self, batch: LabeledBatch) -> int:
        return self._axis.classes_after(batch.labels_in_order, self._known_classes())

    @abstractmethod
    def _known_classes(self) -> int:
        """Return the number of known classes; 1 for a binary learner."""

    @abstractmethod
    def _check_rows(self, rows: Rows | NamedRows) -> None:
        """Raise an error for rows that do not fit the model."""

    def _learn_whole(self, batch: LabeledBatch, classes: int, record: Recorded | None) -> Counts:
        with self._lock.learning, interrupts_held():
            return self._learn_batch(batch, classes, record)

    @abstractmethod
    def _learn_batch(self, batch: LabeledBatch, classes: int, record: Recorded | None) -> Counts:
        """Learn from a batch, after which there are `classes` classes; undo everything after an error.

        Interrupts are held: they take effect only where this method allows it, and are errors there.
        """


def _as_rows(x: Any) -> Rows | NamedRows:
    return x if isinstance(x, NamedRows) else as_rows(x, check=False)
