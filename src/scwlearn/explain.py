"""What a model has learned, in words that a person can read: features by name, their weights, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn.checks import whole_number
from scwlearn.known import Known

Array = NDArray[np.float64]

#: What the constant is called among the features of an example.
CONSTANT = "(constant)"


class Weight(NamedTuple):
    """A feature: its name, its mean weight and the standard deviation of that, NaN where none is known.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> model = StreamClassifier("arow")
    >>> model.learn_many([{"free": 1}, {"meeting": 1}], [True, False])
    >>> name, weight, deviation = model.top_features(1)[True][0]
    >>> name, round(weight, 2), round(deviation, 2)
    ('meeting', -0.53, 0.71)
    """

    name: Any
    weight: float
    deviation: float


class Part(NamedTuple):
    """A feature of an example: what it adds to a score, which is its value times its mean weight.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> model = StreamClassifier("arow")
    >>> model.learn_many([{"free": 1}, {"meeting": 1}], [True, False])
    >>> [(part.name, part.value, round(part.adds, 2)) for part in model.explain({"free": 2})[True]]
    [('free', 2.0, 0.67), ('(constant)', 1.0, 0.07)]
    """

    name: Any
    value: float
    weight: float
    deviation: float
    adds: float


def largest_weights(
    names: Sequence[Any], labels: Sequence[Any], weights: Array, deviations: Array | None, count: int
) -> dict[Any, list[Weight]]:
    """For each class its largest weights, by size; weights beyond the names (the constant) are left out."""
    count = whole_number("n", count, least=0)
    found: dict[Any, list[Weight]] = {}
    for number, label in enumerate(labels):
        own = weights[number, : len(names)]
        largest = _largest(np.abs(own), count)
        found[label] = [Weight(names[i], float(own[i]), _deviation(deviations, number, i)) for i in largest]
    return found


def parts_of_scores(
    names: Sequence[Any], labels: Sequence[Any], weights: Array, deviations: Array | None, values: Array
) -> dict[Any, list[Part]]:
    """For each class what the features that an example has add to its score, the largest first, the constant last."""
    present = np.flatnonzero(values)
    found: dict[Any, list[Part]] = {}
    for number, label in enumerate(labels):
        own = weights[number]
        by_size = present[np.argsort(-np.abs(own[present] * values[present]), kind="stable")]
        parts = [(names[i], float(values[i]), i) for i in by_size]
        if len(own) > len(names):
            parts.append((CONSTANT, 1.0, len(names)))
        found[label] = [
            Part(name, value, float(own[i]), _deviation(deviations, number, i), value * float(own[i]))
            for name, value, i in parts
        ]
    return found


def _largest(sizes: Array, count: int) -> NDArray[np.intp]:
    """The places of the largest of these, in their order; of equal ones the first comes first."""
    places = np.arange(len(sizes))
    if 0 < count < len(sizes):
        # To sort all of a million takes longer than to learn them.
        places = np.flatnonzero(sizes >= np.partition(sizes, -count)[-count])
    return places[np.argsort(-sizes[places], kind="stable")][:count]


def _deviation(deviations: Array | None, number: int, feature: int) -> float:
    return float("nan") if deviations is None else float(deviations[number, feature])


class Shown(NamedTuple):
    """What there is to show of a model at one moment, whatever is learned meanwhile."""

    vocabulary: Vocabulary
    #: By number; of features that are hashed, some numbers have none.
    names: dict[int, Any]
    #: Of one class or of several, the constant last.
    weights: Array
    deviations: Array | None
    #: What each feature is divided by.
    scales: Array

    def signs(self, names: dict[int, Any]) -> Array:
        """With which sign each of these names counts: hashed ones may be turned round."""
        if not self.vocabulary.hashed:
            return np.ones(len(names))
        # Hashed is their text, which is a string also where the keys are numbers.
        texts = Vocabulary(self.vocabulary.max_features, True)
        return np.array([texts.read({str(name): 1.0})[1][0] for name in names.values()])


def shown_of(known: Known, *, second_order: bool) -> Shown:
    """What there is to show of a learner from dicts; only one of second order knows deviations."""
    learner = known.learner
    if learner.model is None:
        raise ValueError("this classifier has not learned from any example yet")
    model, vocabulary, scale = learner.at_once()
    width = model.size - learner.intercept
    return Shown(
        vocabulary,
        {feature: name for feature, (name, _) in sorted(vocabulary.features.items()) if feature < width},
        model.weights(),
        np.sqrt(model.variances()) if second_order else None,
        np.ones(width) if scale is None else scale.scales[:width],
    )
