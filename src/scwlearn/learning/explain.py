"""What a model has learned, in words that a person can read: features by name, their weights, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn._util.checks import check_int
from scwlearn.model.snapshot import Known

Array = NDArray[np.float64]

#: What the constant is called among the features of an example.
CONSTANT = "(constant)"

# Few enough weights to stay in the cache while the largest are found: to sort all of a million takes longer than to
# learn them.
_LOOKED_AT_ONCE = 2**14


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
    names: Sequence[Any], labels: Sequence[Any], weights: Array, variances: Array | None, count: int
) -> dict[Any, list[Weight]]:
    """For each class its largest weights, by size; weights beyond the names (the constant) are left out."""
    count = check_int("n", count, minimum=0)
    found: dict[Any, list[Weight]] = {}
    for number, label in enumerate(labels):
        own = weights[number, : len(names)]
        largest = _largest(own, count).tolist()
        found[label] = [Weight(names[i], float(own[i]), _deviation(variances, number, i)) for i in largest]
    return found


def parts_of_scores(
    names: Sequence[Any], labels: Sequence[Any], weights: Array, variances: Array | None, values: Array
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
            Part(name, value, float(own[i]), _deviation(variances, number, i), value * float(own[i]))
            for name, value, i in parts
        ]
    return found


def _largest(weights: Array, count: int) -> NDArray[np.intp]:
    """The places of the largest weights by size, in their order; of equal ones the first comes first."""
    best, least = np.empty(0, dtype=np.intp), -1.0
    at_once = max(_LOOKED_AT_ONCE, count)
    for start in range(0, len(weights) if count else 0, at_once):
        sizes = np.abs(weights[start : start + at_once])
        places = np.append(best, start + np.flatnonzero(sizes > least))
        best = places[np.argsort(-np.abs(weights[places]), kind="stable")][:count]
        if len(best) == count:
            least = abs(weights[best[-1]])
    return best


def _deviation(variances: Array | None, number: int, feature: int) -> float:
    return math.nan if variances is None else math.sqrt(variances[number, feature])


class Shown(NamedTuple):
    """What there is to show of a model at one moment, whatever is learned meanwhile."""

    vocabulary: Vocabulary
    #: By number; of features that are hashed, some numbers have none.
    names: dict[int, Any]
    #: Of one class or of several, the constant last.
    weights: Array
    variances: Array | None
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
    """What there is to show of a learner from dicts; only one of second order knows variances."""
    learner = known.learner
    if learner.model is None:
        raise ValueError("this classifier has not learned from any example yet")
    model, vocabulary, scale = learner.at_once()
    width = model.size - learner.intercept
    return Shown(
        vocabulary,
        {feature: name for feature, (name, _) in sorted(vocabulary.features.items()) if feature < width},
        model.weights(),
        model.variances() if second_order else None,
        np.ones(width) if scale is None else scale.scales[:width],
    )
