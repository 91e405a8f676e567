"""A classifier: a learner on labels of any kind, with class weights and calibrated probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Lock
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.locks import changing, reading
from scwlearn.data.batch import NamedRows
from scwlearn.data.costs import given_costs
from scwlearn.data.features import PLAIN, Features
from scwlearn.data.labels import FEWEST_IN_ORDER, Classes
from scwlearn.data.rows import Rows, as_rows, row_numbers
from scwlearn.data.weights import ClassWeights, check_weights, spread, weigh
from scwlearn.data.weights import nonzero_rows as nonzero_rows
from scwlearn.learning.about import About
from scwlearn.learning.classify_one import ClassifyOne
from scwlearn.learning.committee import learner_type
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.learning.examine import NEW, Findings, examine
from scwlearn.learning.lesson import Dicts, Lesson, Observer, parts_of
from scwlearn.model.snapshot import Snapshot

Array = NDArray[np.float64]


class Classifier(ClassifyOne):
    """An online classifier on labels of any one kind, in any number of classes.

    Up to two classes are the labels -1 and +1 of a binary learner. When the third comes, the learner is split into a
    multi-class learner that is equivalent on the first two. Classes are numbered in the order of their appearance;
    those named in advance take part from the start.
    """

    def __init__(
        self,
        config: LearnerConfig,
        class_weight: Any = None,
        costs: Any = None,
        *,
        learner: type[Any] | None = None,
        features: Features = PLAIN,
    ) -> None:
        self.config = config
        self._lock = Lock()
        #: What the values of records mean.
        self.features = features
        self.class_weights = ClassWeights(class_weight)
        #: `Learner`, `Committee` or `KernelLearner`.
        self.learner_type = learner = learner or learner_type(config)
        #: What the file says that the classifier was loaded from.
        self.about: About | None = None
        #: What is suspicious about the first batch of examples; None before there is one.
        self.findings: Findings | None = None
        self._has_warned = False
        #: The current state; replaced as a whole when a class is added.
        self.snapshot = Snapshot(learner.from_config(config), learner.calibration_type(), Classes())
        #: What wrong predictions cost; None if all cost the same.
        self.costs = given_costs(costs, has_probabilities=self.learner.has_variances)

    @property
    def learner(self) -> Any:
        """The learner on labels -1 and +1, or on class numbers."""
        return self.snapshot.learner

    @property
    def calibration(self) -> Any:
        """Maps scores to probabilities."""
        return self.snapshot.calibration

    @property
    def classes(self) -> Classes:
        """The known classes."""
        return self.snapshot.classes

    @property
    def is_binary(self) -> bool:
        """Whether there are at most two classes."""
        return self.snapshot.is_binary

    @property
    def is_fitted(self) -> bool:
        """Whether there is a model: it has learned from an example, or was given its weights."""
        return self.learner.n_features is not None

    @property
    def counts(self) -> Counts:
        """Examples seen, mistakes and updates so far."""
        counts: Counts = self.learner.counts
        return counts

    def with_parameters(self, parameters: Mapping[str, float]) -> Classifier:
        """Return a classifier on the same model with other values of the rule's parameters, to replace this one.

        It is in the same memory: use only one of the two from then on.
        """
        other = self._shallow_copy()
        other.config = self.config.with_parameters(parameters)
        learner = self.learner._shallow_copy()
        learner.config = learner.config.with_parameters(parameters)
        other.snapshot = self.snapshot._replace(learner=learner)
        return other

    def with_costs(self, costs: Any) -> Classifier:
        """Return a classifier on the same model, in the same memory, with other costs of wrong predictions."""
        other = self._shallow_copy()
        other.costs = given_costs(costs, has_probabilities=self.learner.has_variances)
        return other

    @reading
    def __copy__(self) -> Classifier:
        # A copy that shared its memory would learn for both.
        other = self._shallow_copy()
        other._lock = Lock()
        other.snapshot = self.snapshot._replace(learner=copy(self.learner), calibration=copy(self.calibration))
        return other

    def _shallow_copy(self) -> Classifier:
        """Return a classifier on the same model, in the same memory and with the same lock."""
        other = object.__new__(type(self))
        # The handle is this classifier's own.
        other.__dict__.update({name: value for name, value in self.__dict__.copy().items() if name != "by_one"})
        other.class_weights = copy(self.class_weights)
        return other

    def several(self, n_classes: int) -> Any:
        """Return a new multi-class learner."""
        return self.learner_type.from_config(self.config, n_classes)

    @changing
    def add_classes(self, labels: NDArray[Any]) -> None:
        """Make classes known that are to come; known ones stay as they are."""
        classes = self.classes.add(self.classes.find(labels).new)
        learner, calibration = self.learner, self.calibration
        added = len(classes) - len(self.classes)
        if added and not self.is_binary:
            # Another classifier may share the model, and must not see them if the rows that follow are refused.
            learner, calibration = copy(learner), copy(calibration)
            learner.add_classes(added)
            calibration.add_classes(added)
        elif self.is_binary and len(classes) > 2:
            learner = learner.split() if self.is_fitted else self.several(2)
            learner.add_classes(len(classes) - 2)
            calibration = calibration.expanded(len(classes))
        self.snapshot = Snapshot(learner, calibration, classes)

    def learn(
        self,
        x: Any,
        y: NDArray[Any],
        *,
        order: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        observer: Observer | None = None,
        calibrate: bool = True,
        jobs: int = 1,
        in_turn: bool = False,
    ) -> Counts:
        """Learn from each row in turn. All or nothing, also after Ctrl-C.

        Parameters
        ----------
        x : array-like, sparse matrix, Rows or NamedRows
            The examples.
        y : array
            Their labels.
        order : array-like of int, optional
            The order in which to learn from the rows.
        weights : array-like, optional
            The weight of each row.
        observer : function, optional
            Called with the scores before learning, once the rows have been learned from.
        calibrate : bool
            Whether the probabilities learn, too; see `learns_by_heart`.
        jobs : int
            The number of threads for classes or members that learn without each other.
        in_turn : bool
            Whether the result must have the bits of learning row by row, which takes longer with a full covariance.

        Returns
        -------
        Counts
            Rows seen, mistakes and updates of this call.
        """
        rows: Rows | NamedRows | Dicts = x if isinstance(x, NamedRows) else as_rows(x, check=False)
        checked = check_weights(weights, len(y), name="sample_weight")
        places = None if order is None else row_numbers(order, len(rows))
        if isinstance(rows, NamedRows) and self.config.drops_features:
            # Which features to drop is decided example by example, in learning order.
            if places is not None:
                rows, y = rows.take(places), y[places]
                checked, places = None if checked is None else checked[places], None
            rows = tuple(rows.dicts())
        return self._learn(rows, y, places, checked, observer, calibrate=calibrate, jobs=jobs, in_turn=in_turn)

    def learns_by_heart(self, examples: int) -> bool:
        """Return whether there are more features than this number of examples.

        After a pass over them, their scores then say little about new ones, and must not calibrate the probabilities.
        """
        return (self.learner.n_features or 0) > examples

    def learn_many(
        self, examples: Iterable[dict[Any, Any]], y: NDArray[Any], weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from dicts in turn; return what was seen, mistaken and updated.

        All or nothing, also after Ctrl-C.
        """
        rows = tuple(examples)
        if len(rows) != len(y):
            raise ValueError(f"y must hold {len(rows)} labels, one for each example, got {len(y)}")
        return self._learn(rows, y, None, check_weights(weights, len(y), name="w"), None)

    @changing
    def _learn(
        self,
        rows: Rows | NamedRows | Dicts,
        y: NDArray[Any],
        order: NDArray[np.intp] | None,
        sample_weights: Array | None,
        observer: Observer | None,
        *,
        calibrate: bool = True,
        jobs: int = 1,
        in_turn: bool = False,
    ) -> Counts:
        places = self.class_weights.rows_of_weight(y, order, sample_weights)
        found = self.classes.find(y[places])
        classes = self.classes.add(found.new)
        by_class, seen = self.class_weights.of(found.numbers, classes)
        numbers, weights = spread(found.numbers, places, len(rows)), sample_weights
        if by_class is not None:
            by_class = spread(by_class, places, len(rows))
            weights = by_class if weights is None else weigh(by_class, weights)
        lesson = Lesson(rows, numbers, order, weights, sample_weights, observer, self._lock, calibrate, jobs, in_turn)
        # From the learner on, nothing may take effect between the changes to the parts of a classifier.
        with interrupts_held():
            before = self.counts
            if self.is_binary and len(classes) > 2:
                self.snapshot = lesson.teach_third_class(self.snapshot, classes, places)
            elif len(classes) > 2 and len(parts_of(len(found.numbers), len(classes))) > 1:
                self.snapshot = lesson.teach_in_parts(self.snapshot, classes, places)
            elif len(found.new) and isinstance(rows, tuple) and len(rows) > 1:
                # Between two dicts, another thread must not meet a class in the model that is not in `classes`.
                snapshot = Snapshot(copy(self.learner), copy(self.calibration), classes)
                lesson.teach(snapshot)
                self.snapshot = snapshot
            else:
                snapshot = Snapshot(self.learner, copy(self.calibration), classes)
                try:
                    lesson.teach(snapshot)
                    self.snapshot = snapshot
                except BaseException:
                    done = self.counts.seen - before.seen
                    # A name may have learned itself, before the learner met the new classes.
                    if done and (self.is_binary or self.learner.n_classes >= len(classes)):
                        # User code has raised an error between two dicts: keep what was learned before it.
                        self.snapshot = snapshot
                        self.class_weights.seen = self.class_weights.of(found.numbers[:done], classes)[1]
                    raise
            self.class_weights.seen = seen
            if before.seen < NEW:
                # It has been learned from, and the examination can wait for the next batch.
                with suppress(MemoryError):
                    self.examine(rows, found.numbers, places)
            return self.counts - before

    def examine(self, rows: Rows | NamedRows | Dicts, labels: NDArray[Any], places: slice | NDArray[np.intp]) -> None:
        """Look for what is suspicious about examples just learned, unless others have been or they are few.

        Parameters
        ----------
        rows : Rows, NamedRows or dicts
            A batch.
        labels : array
            The labels or class numbers of its examples of a weight other than 0, in learning order.
        places : slice or array
            Where these examples are in the batch.
        """
        if self.findings is not None or len(labels) < FEWEST_IN_ORDER or not self.is_fitted:
            return
        # Kernels and committees have no scale of their own.
        sizes = self.config.settings.get("scale") == "none" and not self._model.covariance.correlated
        self.findings = examine(rows, labels, places, sizes=sizes, constant=sizes and self.config.intercept)

    def warn(self, stacklevel: int) -> None:
        """Warn about what is suspicious about the examples, once; `stacklevel` counts from the caller."""
        if self.findings is not None and not self._has_warned:
            self._has_warned = True
            for message in self.findings.messages():
                warnings.warn(message, DataWarning, stacklevel=stacklevel + 1)

    def scores(self, x: Any) -> Array:
        """Compute the scores of the classes in the order of their labels: (rows, classes), or (rows,) for up to two.

        With two classes the score is that of the second label against the first.
        """
        snapshot = self.snapshot
        scores = snapshot.by_label(snapshot.learner.scores(x).T)
        return scores[0] if snapshot.is_binary else scores.T

    def predict(self, x: Any) -> NDArray[Any]:
        """Return the label of each row: of the largest score, or of the least expected cost.

        Ties between scores go to the class with the lowest number; in the binary case, to class 1.
        """
        snapshot = self.snapshot
        rows = x if isinstance(x, NamedRows) else as_rows(x, check=False)
        parts = parts_of(len(rows), len(snapshot.classes))
        if len(parts) < 2:
            numbers = self._predict(snapshot, rows)
        else:
            numbers = np.concatenate([self._predict(snapshot, rows.slice(part.start, part.stop)) for part in parts])
        labels: NDArray[Any] = snapshot.classes.labels.take(numbers)
        return labels

    def _predict(self, snapshot: Snapshot, rows: Rows | NamedRows) -> NDArray[np.intp]:
        if self.costs is not None:
            return self.costs.decide(self._probabilities(snapshot, rows), snapshot.classes)
        return snapshot.predict(snapshot.learner.scores(rows))

    def probabilities(self, x: Any) -> Array:
        """Return the probability of each class, in the order of the labels: (rows, classes)."""
        return self._probabilities(self.snapshot, x)

    def _probabilities(self, snapshot: Snapshot, x: Any) -> Array:
        rows = x if isinstance(x, NamedRows) else as_rows(x, check=False)
        scores, variances = snapshot.learner.scores_and_top_variances(rows)
        return snapshot.probabilities(scores, variances, argmax_consistent=self.argmax_consistent)

    def margin_variances(self, x: Any) -> Array:
        """Compute x'Sigma x of each row, and with more than two classes of each class, in the order of the labels."""
        snapshot = self.snapshot
        variances: Array = snapshot.learner.margin_variances(x)
        return variances if snapshot.is_binary else variances[:, snapshot.classes.order]

    @changing
    def widen(self, n_features: int, *, alone: bool = False) -> int:
        """Make room for at least `n_features` numbered features, and return how many there are; see `Learner.widen`."""
        known: int | None = self.learner.n_features
        if known is None:
            return n_features
        if n_features > known:
            self.learner.widen(n_features, alone=alone)
        return max(known, n_features)

    @reading
    def count_nonzero(self) -> int:
        """Return the number of weights that are not zero."""
        return 0 if self.learner.model is None else self._model.count_nonzero()

    def feature_scales(self, count: int) -> Array:
        """Return what the first `count` features are divided by before they meet their weights."""
        scale = getattr(self.learner, "running_scale", None)
        return np.ones(count) if scale is None else scale.scales[:count]

    def feature_centres(self, count: int) -> Array:
        """Return what is subtracted from the first `count` features before they are divided."""
        scale = getattr(self.learner, "running_scale", None)
        return np.zeros(count) if scale is None else scale.centres[:count]

    def class_labels(self) -> list[Any]:
        """Return the label of each row of `weights`: with two classes only the second."""
        return self.snapshot.class_labels()

    @reading
    def weights(self) -> Array:
        """Return the weights that predictions use, intercepts last: (classes, size), or (1, size) up to two classes."""
        return self.snapshot.by_label(self.learner.shown_weights())

    @reading
    def variances(self) -> Array:
        """Return the variance of each weight, in the same shape."""
        return self.snapshot.variances_by_label(self.learner._fitted().variances())

    @reading
    def matrix(self) -> Array:
        """Return Sigma; with more than two classes that of each class, stacked."""
        if self.is_binary:
            matrix: Array = self.learner._fitted().matrix()
            return matrix
        return np.stack([self.learner._fitted().matrix(number) for number in self.classes.order])

    @property
    def covariance_kind(self) -> str:
        """The form of Sigma; before there is a model, that of its configuration, which may be "auto"."""
        name: str = self.config.covariance if self._model is None else self._model.covariance.name
        return name

    @property
    def _model(self) -> Any:
        return self.learner.model
