"""A learner for labels of any kind: it numbers the classes as they come, and says what each of them weighs."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.class_weights import ClassWeights
from scwlearn.data.examples import NamedRows
from scwlearn.data.labels import Classes
from scwlearn.data.rows import Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights, rows_that_weigh
from scwlearn.learning.counters import Counts
from scwlearn.learning.teaching import Examples, Told, Watch, taught
from scwlearn.model.calibration import Calibration
from scwlearn.model.snapshot import Known
from scwlearn.rules import Rule

Array = NDArray[np.float64]

#: What only a learner for several classes takes.
SEVERAL = ("multi_class", "shared_covariance", "rivals")


@dataclass(frozen=True)
class Recipe:
    """How learners are made: one for two classes, one for more, and the second out of the first."""

    #: `Learner` and `MultiLearner`, or `KernelLearner` and `KernelMultiLearner`.
    for_two: type[Any]
    for_more: type[Any]
    rule: Rule
    parameters: dict[str, float]
    #: What both take.
    how: dict[str, Any]
    #: What the second takes besides (of SEVERAL).
    how_several: dict[str, Any]

    def __post_init__(self) -> None:
        # What is wrong with it is to be said before the class comes that needs it.
        self.several(0)

    def binary(self) -> Any:
        """A learner from -1 and +1."""
        return self.for_two(self.rule, **self.how, **self.parameters)

    def several(self, n_classes: int) -> Any:
        """A learner from class numbers."""
        return self.for_more(self.rule, n_classes=n_classes, **self.how_several, **self.how, **self.parameters)

    def from_binary(self, learner: Any) -> Any:
        """A learner from class numbers that says of two of them what the other one says."""
        return self.for_more.from_binary(learner, **self.how_several)


class ClassLearner:
    """An algorithm at work on labels of any one kind, in as many classes as come.

    Up to two classes are the -1 and +1 of a binary learner. With the third it becomes a learner for several, which says
    of the first two what the binary one said. Classes are numbered as they come; those named in advance take part from
    the start.
    """

    def __init__(self, recipe: Recipe, class_weight: Any = None) -> None:
        self.recipe = recipe
        self.class_weights = ClassWeights(class_weight)
        #: What is learned so far. Replaced as a whole wherever a class comes.
        self.now = Known(recipe.binary(), Calibration(), Classes())

    @property
    def learner(self) -> Any:
        """From -1 and +1, or from class numbers."""
        return self.now.learner

    @property
    def calibration(self) -> Any:
        """From scores to probabilities."""
        return self.now.calibration

    @property
    def classes(self) -> Classes:
        """The classes known so far."""
        return self.now.classes

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes at most."""
        return self.now.is_binary

    @property
    def has_begun(self) -> bool:
        """Whether there is a model: it has learned from an example, or was given its weights."""
        return self.learner.n_features is not None

    @property
    def agrees(self) -> bool:
        """Whether what is predicted is the likeliest: unless classes have weights, which are there to predict some more
        often than they come."""
        return self.class_weights.given is None

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        counts: Counts = self.learner.counts
        return counts

    def with_parameters(self, parameters: dict[str, float]) -> ClassLearner:
        """The same model, in the same memory, with other values of the rule's parameters."""
        other = self._twin()
        other.recipe = replace(self.recipe, parameters=parameters)
        other.now = self.now._replace(learner=self.learner.with_parameters(parameters))
        return other

    def __copy__(self) -> ClassLearner:
        # A copy that shared its memory would learn for both.
        other = self._twin()
        other.now = self.now._replace(learner=copy(self.learner), calibration=copy(self.calibration))
        return other

    def _twin(self) -> ClassLearner:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.class_weights = copy(self.class_weights)
        return other

    def name_classes(self, labels: NDArray[Any]) -> None:
        """Make classes known that are to come; those known already stay as they are."""
        classes = self.classes.add(self.classes.find(labels).new)
        learner, calibration = self.learner, self.calibration
        added = len(classes) - len(self.classes)
        if added and not self.is_binary:
            # Another may be on the same model, and is to know nothing of them where the rows that follow are refused.
            learner, calibration = copy(learner), copy(calibration)
            learner.add_classes(added)
            calibration.add_classes(added)
        elif self.is_binary and len(classes) > 2:
            learner = self.recipe.from_binary(learner) if self.has_begun else self.recipe.several(2)
            learner.add_classes(len(classes) - 2)
            calibration = calibration.expanded(len(classes))
        self.now = Known(learner, calibration, classes)

    def learn(
        self,
        x: Any,
        y: NDArray[Any],
        *,
        order: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        watch: Watch | None = None,
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way. All or nothing.

        `watch` is told what the rows looked like before, once they have been learned from.
        """
        rows: Rows | NamedRows | Examples = x if isinstance(x, NamedRows) else as_rows(x, check=False)
        weighed = check_weights(weights, len(y), name="sample_weight")
        if isinstance(rows, NamedRows) and self.learner.max_features is not None and self.learner.overflow == "drop":
            # Which features stay is decided example by example, in the order in which they stand.
            if order is not None:
                places = row_numbers(order, len(rows))
                rows, y, order = rows.chosen(places), y[places], None
                weighed = None if weighed is None else weighed[places]
            rows = tuple(rows.dicts())
        return self._learn(rows, y, order, weighed, watch)

    def learn_many(
        self, examples: Iterable[dict[Any, Any]], y: NDArray[Any], weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from each of some dicts in turn; what happened on the way.

        All or nothing, but that Ctrl-C keeps what the examples before it taught, unless they bring a class.
        """
        rows = tuple(examples)
        if len(rows) != len(y):
            raise ValueError(f"y must hold {len(rows)} labels, one for each example, got {len(y)}")
        return self._learn(rows, y, None, check_weights(weights, len(y), name="w"))

    def _learn(
        self,
        rows: Rows | NamedRows | Examples,
        y: NDArray[Any],
        order: ArrayLike | None,
        weighed: Array | None,
        watch: Watch | None = None,
    ) -> Counts:
        places = np.arange(len(rows)) if order is None else row_numbers(order, len(rows))
        places = rows_that_weigh(places, weighed)
        places = places[self.class_weights.leave(y[places])]
        found = self.classes.find(y[places])
        classes = self.classes.add(found.new)
        numbers = _spread(found.numbers, places, len(rows))
        by_class, seen = self.class_weights.of(found.numbers, classes)
        # What classes weigh is to change the scores, and not how often they come.
        counted = weighed
        if by_class is not None:
            by_class = _spread(by_class, places, len(rows))
            weighed = by_class if weighed is None else by_class * weighed
        before = self.counts
        batch = Told(rows, numbers, weighed, order, places, counted, watch)
        if self.is_binary and len(classes) > 2:
            self.now = self._with_third_class(batch, classes)
        elif len(found.new) and isinstance(rows, tuple) and len(rows) > 1:
            # Ctrl-C may come after some dicts, and is not to leave what was learned of a class that is not known.
            self.now = taught(Known(copy(self.learner), copy(self.calibration), classes), batch)
        else:
            known = Known(self.learner, copy(self.calibration), classes)
            try:
                self.now = taught(known, batch)
            except BaseException:
                if done := self.counts.seen - before.seen:
                    # What some dicts taught before Ctrl-C stays.
                    self.now = known
                    self.class_weights.seen = self.class_weights.of(found.numbers[:done], classes)[1]
                raise
        self.class_weights.seen = seen
        return self.counts - before

    def _with_third_class(self, batch: Told, classes: Classes) -> Known:
        """The rows before the first of the third class are still those of two; it happens once."""
        third = int(np.argmax(batch.numbers[batch.places] >= 2))
        weights = np.ones(len(batch.rows)) if batch.weights is None else batch.weights
        before, after = weights.copy(), weights.copy()
        before[batch.places[third:]], after[batch.places[:third]] = 0.0, 0.0
        two = Known(copy(self.learner), copy(self.calibration), classes.first(2))
        taught(two, batch._replace(weights=before, places=batch.places[:third]))
        several = Known(self.recipe.from_binary(two.learner), two.calibration.expanded(len(classes)), classes)
        return taught(several, batch._replace(weights=after, places=batch.places[third:]))

    def scores(self, x: Any) -> Array:
        """The scores of the classes in the order of their labels: (rows, classes), or (rows,) for up to two.

        With two, the score is that of the second label against the first.
        """
        now = self.now
        scores = now.by_label(now.learner.scores(x).T)
        return scores[0] if now.is_binary else scores.T

    def predict(self, x: Any) -> NDArray[Any]:
        """The label of each row; of equal scores the class that was known first wins, of two the second."""
        now = self.now
        labels: NDArray[Any] = now.classes.labels[now.numbers(now.learner.scores(x))]
        return labels

    def probabilities(self, x: Any) -> Array:
        """The probability of each class, in the order of their labels: (rows, classes)."""
        now, rows = self.now, x if isinstance(x, NamedRows) else as_rows(x, check=False)
        scores, variances = now.learner.looks(rows)
        if not now.is_binary:
            variances = np.take_along_axis(variances, scores.argmax(axis=1, keepdims=True), axis=1)[:, 0]
        return now.chances(scores, variances, agree=self.agrees)

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row, and for more than two classes of each class, in the order of their labels."""
        now = self.now
        variances: Array = now.learner.margin_variances(x)
        return variances if now.is_binary else variances[:, now.classes.order]

    def widen(self, n_features: int) -> int:
        """Make room for so many numbered features, unless there is more; how many there are."""
        known: int | None = self.learner.n_features
        if known is None:
            return n_features
        if n_features > known:
            self.learner.widen(n_features)
        return max(known, n_features)

    def nonzero(self) -> int:
        """How many weights are not zero."""
        return 0 if self.learner.model is None else self._models.nonzero()

    def feature_scales(self, count: int) -> Array:
        """What the first so many features are divided by before they meet their weights."""
        scale = getattr(self.learner, "running_scale", None)
        return np.ones(count) if scale is None else scale.scales[:count]

    def class_labels(self) -> list[Any]:
        """The label of each row of `weights`: of two classes the second, whose scores are those of the model."""
        return self.now.class_labels()

    def weights(self) -> Array:
        """The mean weights, constants included: (1, size) for up to two classes, else (classes, size)."""
        return self.now.by_label(self._models.weights())

    def variances(self) -> Array:
        """The variance of each weight, in the same shape."""
        return self.now.variances_by_label(self._models.variances())

    def matrix(self) -> Array:
        """Sigma, of all classes one after the other if there are more than two."""
        if self.is_binary:
            matrix: Array = self.learner.gaussian.matrix()
            return matrix
        return np.stack([self.learner.gaussians.matrix(number) for number in self.classes.order])

    @property
    def covariance_kind(self) -> str:
        """How Sigma is kept."""
        name: str = self._models.covariance.name
        return name

    @property
    def _models(self) -> Any:
        return self.learner.gaussian if self.is_binary else self.learner.gaussians


def _spread(values: NDArray[Any], places: NDArray[np.intp], count: int) -> NDArray[Any]:
    """The values at their places; 0 for rows that have none."""
    spread = np.zeros(count, dtype=values.dtype)
    spread[places] = values
    return spread
