"""A learner for labels of any kind: it numbers the classes as they come, and says what each of them weighs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.calibration import Calibration, ClassCalibration
from scwlearn.data.class_weights import ClassWeights
from scwlearn.data.labels import Classes
from scwlearn.data.rows import Rows, as_rows
from scwlearn.data.weights import check_weights, rows_that_weigh
from scwlearn.rounds import Counts, row_numbers
from scwlearn.rules import Rule

Array = NDArray[np.float64]

# What is predicted is likelier than all else at least by this factor, so that rounding does not make it a tie.
_MORE = 1 + 1e-12
_BARELY = 0.5 * _MORE


#: What only a learner for several classes takes.
SEVERAL = ("multi_class", "shared_covariance", "rivals")


@dataclass(frozen=True)
class Recipe:
    """How learners are made: one for two classes, one for more, and the second out of the first."""

    #: `Learner` or `KernelLearner`, and `MultiLearner`, or None where there is none for more than two classes.
    for_two: type[Any]
    for_more: type[Any] | None
    rule: Rule
    parameters: dict[str, float]
    #: What both take.
    how: dict[str, Any]
    #: What the second takes (SEVERAL).
    how_several: dict[str, Any]

    def __post_init__(self) -> None:
        if self.for_more is not None:
            # What is wrong with it is to be said before the class comes that needs it.
            self.several(0)

    def binary(self) -> Any:
        """A learner from -1 and +1."""
        return self.for_two(self.rule, **self.how, **self.parameters)

    def several(self, n_classes: int) -> Any:
        """A learner from class numbers."""
        return self._for_more()(self.rule, n_classes=n_classes, **self.how_several, **self.how, **self.parameters)

    def from_binary(self, learner: Any) -> Any:
        """A learner from class numbers that says of two of them what the other one says."""
        return self._for_more().from_binary(learner, **self.how_several)

    def _for_more(self) -> type[Any]:
        if self.for_more is None:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: with a kernel there "
                "are two classes at most"
            )
        return self.for_more


class Told(NamedTuple):
    """Rows with their class numbers and what they weigh, and the order to take them in."""

    rows: Rows
    numbers: NDArray[np.int32]
    weights: Array | None
    order: ArrayLike | None
    #: The rows that weigh anything, in that order.
    places: NDArray[np.intp]
    #: What the rows weigh but for their classes.
    sample_weights: Array | None


class ClassLearner:
    """An algorithm at work on labels of any one kind, in as many classes as come.

    Up to two classes are the -1 and +1 of a binary learner. With the third it becomes a learner for several, which says
    of the first two what the binary one said. Classes are numbered as they come; those named in advance take part from
    the start.
    """

    def __init__(self, recipe: Recipe, class_weight: Any = None) -> None:
        self.recipe = recipe
        self.class_weights = ClassWeights(class_weight)
        self.classes = Classes()
        #: From -1 and +1, or from class numbers.
        self.learner: Any = recipe.binary()
        self.is_binary = True
        #: From scores to probabilities; another one for more than two classes.
        self.calibration: Any = Calibration()

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        counts: Counts = self.learner.counts
        return counts

    def with_parameters(self, parameters: dict[str, float]) -> ClassLearner:
        """The same model, in the same memory, with other values of the rule's parameters."""
        other = self._twin()
        other.recipe = replace(self.recipe, parameters=parameters)
        other.learner = self.learner.with_parameters(parameters)
        return other

    def __copy__(self) -> ClassLearner:
        # A copy that shared its memory would learn for both.
        other = self._twin()
        other.learner, other.calibration = copy(self.learner), copy(self.calibration)
        return other

    def _twin(self) -> ClassLearner:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.class_weights = copy(self.class_weights)
        return other

    def name_classes(self, labels: NDArray[Any]) -> None:
        """Make classes known that are to come; those known already stay as they are."""
        classes = self.classes.add(self.classes.find(labels).new)
        if not self.is_binary:
            added = len(classes) - len(self.classes)
            self.learner.add_classes(added)
            self.calibration.add_classes(added)
        elif len(classes) > 2:
            begun = self.counts.seen > 0
            self.learner = self.recipe.from_binary(self.learner) if begun else self.recipe.several(2)
            self.learner.add_classes(len(classes) - 2)
            self.is_binary = False
            self.calibration = ClassCalibration.from_two(self.calibration, len(classes))
        self.classes = classes

    def learn(
        self, x: Any, y: NDArray[Any], *, order: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way. All or nothing."""
        rows = as_rows(x, check=False)
        weighed = check_weights(weights, len(rows), name="sample_weight")
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
        batch = Told(rows, numbers, weighed, order, places, counted)
        if self.is_binary and len(classes) > 2:
            self._learn_the_third_class(batch, len(classes))
        elif self.is_binary:
            _teach_two(self.learner, self.calibration, batch)
        else:
            _teach_several(self.learner, self.calibration, batch, len(classes))
        self.classes, self.class_weights.seen = classes, seen
        return self.counts - before

    def _learn_the_third_class(self, batch: Told, count: int) -> None:
        """The rows before the first of the third class are still those of two; it happens once."""
        batch.rows.check()
        third = int(np.argmax(batch.numbers[batch.places] >= 2))
        weights = np.ones(len(batch.rows)) if batch.weights is None else batch.weights
        before, after = weights.copy(), weights.copy()
        before[batch.places[third:]], after[batch.places[:third]] = 0.0, 0.0
        binary, curve = copy(self.learner), copy(self.calibration)
        _teach_two(binary, curve, batch._replace(weights=before, places=batch.places[:third]))
        several, calibration = self.recipe.from_binary(binary), ClassCalibration.from_two(curve)
        _teach_several(several, calibration, batch._replace(weights=after, places=batch.places[third:]), count)
        self.learner, self.calibration, self.is_binary = several, calibration, False

    def scores(self, x: Any) -> Array:
        """The scores of the classes in the order of their labels: (rows, classes), or (rows,) for up to two.

        With two, the score is that of the second label against the first.
        """
        scores = self.by_label(self.learner.scores(x).T)
        return scores[0] if self.is_binary else scores.T

    def predict(self, x: Any) -> NDArray[Any]:
        """The label of each row; of equal scores the class that was known first wins, of two the second."""
        scores = self.learner.scores(x)
        numbers = (scores >= 0).astype(np.intp) if self.is_binary else scores.argmax(axis=1)
        if len(self.classes) == 1:
            numbers[:] = 0
        labels: NDArray[Any] = self.classes.labels[numbers]
        return labels

    def probabilities(self, x: Any) -> Array:
        """The probability of each class, in the order of their labels: (rows, classes).

        What is predicted is the likeliest, also where scores are close and classes are not as frequent as they say;
        unless classes have weights, which are there to predict some more often than they come.
        """
        agree = self.class_weights.given is None
        rows = as_rows(x, check=False)
        scores = self.learner.scores(rows)
        if not self.is_binary:
            top = scores.argmax(axis=1, keepdims=True)
            variances = np.take_along_axis(self.learner.margin_variances(rows), top, axis=1)
            several = self.calibration.probabilities(scores, variances[:, 0])
            return (_with_likeliest(several, top) if agree else several)[:, self.classes.order]
        if len(self.classes) == 1:
            return np.ones((len(rows), 1))
        second = self.calibration.probabilities(scores, self.learner.margin_variances(rows))
        if agree:
            second = np.where(scores >= 0, np.maximum(second, _BARELY), np.minimum(second, 1 - _BARELY))
        return np.stack([1 - second, second], axis=1)[:, self.classes.order]

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row, and for more than two classes of each class, in the order of their labels."""
        variances: Array = self.learner.margin_variances(x)
        return variances if self.is_binary else variances[:, self.classes.order]

    def class_labels(self) -> list[Any]:
        """The label of each row of `weights`: of two classes the second, whose scores are those of the model."""
        labels: list[Any] = self.classes.in_order.tolist()
        return labels[-1:] if self.is_binary else labels

    def weights(self) -> Array:
        """The mean weights, constants included: (1, size) for up to two classes, else (classes, size)."""
        return self.by_label(self._models.weights())

    def variances(self) -> Array:
        """The variance of each weight, in the same shape."""
        variances: Array = self._models.variances()
        return variances[np.newaxis] if self.is_binary else variances[self.classes.order]

    def by_label(self, weights: Array) -> Array:
        """What a learner has for each class, in the order of the labels; of two, what it has for the second."""
        if not self.is_binary:
            return weights[self.classes.order]
        return (-weights if self._is_reversed else weights)[np.newaxis]

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

    @property
    def _is_reversed(self) -> bool:
        """Whether the class that came first, label -1, is the second by its label."""
        return len(self.classes) == 2 and bool(self.classes.order[0] == 1)


def _teach_two(learner: Any, calibration: Calibration, batch: Told) -> None:
    signs = np.where(batch.numbers == 0, -1, 1)
    trace = learner.trace(batch.rows, signs, order=batch.order, weights=batch.weights)
    counted = None if batch.sample_weights is None else batch.sample_weights[batch.places]
    calibration.learn(trace.score, trace.variance, signs[batch.places], counted)


def _teach_several(learner: Any, calibration: ClassCalibration, batch: Told, count: int) -> None:
    scores, variances = np.empty((len(batch.rows), count)), np.empty(len(batch.rows))
    out = {"scores_out": scores, "variances_out": variances}
    learner.learn(batch.rows, batch.numbers, order=batch.order, weights=batch.weights, **out)
    calibration.add_classes(count - calibration.n_classes)
    places = batch.places
    counted = None if batch.sample_weights is None else batch.sample_weights[places]
    calibration.learn(scores[places], variances[places], batch.numbers[places], counted)


def _with_likeliest(probabilities: Array, top: NDArray[np.intp]) -> Array:
    """The probabilities with that of the class at the top as large as any."""
    likeliest = probabilities.max(axis=1, keepdims=True) * _MORE
    others = probabilities.argmax(axis=1) != top[:, 0]
    lifted = probabilities[others]
    np.put_along_axis(lifted, top[others], likeliest[others], axis=1)
    probabilities[others] = lifted / lifted.sum(axis=1, keepdims=True)
    return probabilities


def _spread(values: NDArray[Any], places: NDArray[np.intp], count: int) -> NDArray[Any]:
    """The values at their places; 0 for rows that have none."""
    spread = np.zeros(count, dtype=values.dtype)
    spread[places] = values
    return spread
