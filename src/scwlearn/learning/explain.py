"""What a model has learned, readable by people: features by name, with weights and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn._util.checks import check_int
from scwlearn.data.rows import Rows
from scwlearn.model.covariance import Indices
from scwlearn.model.scale import RunningScale
from scwlearn.model.snapshot import Snapshot

Array = NDArray[np.float64]

#: The name of the intercept among the features of an example.
INTERCEPT = "(intercept)"

# Few enough to stay in the cache while the largest are found: sorting a million takes longer than learning them.
_WEIGHTS_AT_ONCE = 2**14


class Weight(NamedTuple):
    """A feature: its name, its mean weight, and the standard deviation of the weight (NaN if unknown).

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> model = StreamClassifier("arow")
    >>> model.learn_many([{"free": 1}, {"meeting": 1}], [True, False])
    >>> name, weight, deviation = model.top_features(1)[True][0]
    >>> name, round(weight, 2), round(deviation, 2)
    ('free', 0.5, 0.79)
    """

    name: Any
    weight: float
    deviation: float


class Part(NamedTuple):
    """A feature of an example and what it adds to a score: its value times its mean weight.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> model = StreamClassifier("arow")
    >>> model.learn_many([{"free": 1}, {"meeting": 1}], [True, False])
    >>> [(part.name, part.value, round(part.adds, 2)) for part in model.explain({"free": 2})[True]]
    [('free', 2.0, 1.0), ('(intercept)', 1.0, 0.0)]
    """

    name: Any
    value: float
    weight: float
    deviation: float
    adds: float


def largest_weights(
    names: Sequence[Any], labels: Sequence[Any], weights: Array, variances: Array | None, count: int
) -> dict[Any, list[Weight]]:
    """Return the largest weights of each class in absolute value, without the intercept."""
    count = check_int("n", count, minimum=0)
    found: dict[Any, list[Weight]] = {}
    for number, label in enumerate(labels):
        own = weights[number, : len(names)]
        largest = _largest(own.__getitem__, len(own), count).tolist()
        found[label] = [Weight(names[i], float(own[i]), _deviation(variances, number, i)) for i in largest]
    return found


def largest_numbered_weights(snapshot: Snapshot, names: Sequence[Any], count: int) -> dict[Any, list[Weight]]:
    """Return the largest weights of each class of a learner from rows, without copying all of them.

    A million weights and variances take longer to copy than to search.
    """
    learner, model = snapshot.learner, snapshot.learner.model
    found: dict[Any, list[Weight]] = {}
    for row, label in enumerate(snapshot.class_labels()):
        number = 0 if snapshot.is_binary else int(snapshot.classes.order[row])
        largest = _largest(partial(model.weights_of, number), len(names), count)
        weights = model.weights_of(number, largest)
        if snapshot.is_binary:
            weights = snapshot.by_label(weights)[0]
        variances = model.variances_of(number, largest) if learner.rule.order == 2 else np.full(len(largest), np.nan)
        shown = zip(largest.tolist(), weights.tolist(), np.sqrt(variances).tolist(), strict=True)
        found[label] = [Weight(names[i], weight, deviation) for i, weight, deviation in shown]
    return found


def parts_of_scores(
    names: Sequence[Any], labels: Sequence[Any], weights: Array, variances: Array | None, values: Array
) -> dict[Any, list[Part]]:
    """Return what the features of an example add to the score of each class, the largest first, the intercept last."""
    present = np.flatnonzero(values)
    found: dict[Any, list[Part]] = {}
    for number, label in enumerate(labels):
        own = weights[number]
        by_size = present[np.argsort(-np.abs(own[present] * values[present]), kind="stable")]
        parts = [(names[i], float(values[i]), i) for i in by_size]
        if len(own) > len(names):
            parts.append((INTERCEPT, 1.0, len(names)))
        found[label] = [
            Part(name, value, float(own[i]), _deviation(variances, number, i), value * float(own[i]))
            for name, value, i in parts
        ]
    return found


def _largest(weights: Callable[[Indices], Array], size: int, count: int) -> NDArray[np.intp]:
    """Return the indices of the largest of `size` weights in absolute value, in descending order; ties by index."""
    best, largest, least = np.empty(0, dtype=np.intp), np.empty(0), -1.0
    at_once = max(_WEIGHTS_AT_ONCE, count)
    for start in range(0, size if count else 0, at_once):
        sizes = np.abs(weights(slice(start, min(start + at_once, size))))
        larger = np.flatnonzero(sizes > least)
        if not len(larger):
            continue
        places, both = np.append(best, start + larger), np.append(largest, sizes[larger])
        order = np.argsort(-both, kind="stable")[:count]
        best, largest = places[order], both[order]
        if len(best) == count:
            least = largest[-1]
    return best


def _deviation(variances: Array | None, number: int, feature: int) -> float:
    return math.nan if variances is None else math.sqrt(variances[number, feature])


class NamedWeights(NamedTuple):
    """Names, weights and scale of a model, consistent even while another thread learns."""

    vocabulary: Vocabulary
    #: By index; where names are hashed, some indices have none.
    names: dict[int, Any]
    #: (classes, size), the intercept last.
    weights: Array
    variances: Array | None
    #: The scale of the features; None if they are not scaled.
    scale: RunningScale | None

    def scaled(self, features: Sequence[int], values: Sequence[float]) -> dict[int, float]:
        """Return the values of an example by feature, as the model sees them; a scale may add features."""
        if self.scale is None:
            return dict(zip(features, values, strict=True))
        order = np.argsort(np.array(features, dtype=np.int64))
        row = np.array(values, dtype=np.float64)[order], np.array(features, dtype=np.int64)[order]
        scaled = self.scale.apply(Rows.from_csr(*row, np.array([0, len(order)]), self.scale.width or 0))
        seen, columns, _ = scaled.compressed(np.int64)
        return dict(zip(columns.tolist(), seen.tolist(), strict=True))

    def signs(self, names: dict[int, Any]) -> Array:
        """Return the sign of each of these names; hashing may flip it."""
        if not self.vocabulary.hashed:
            return np.ones(len(names))
        # Names are hashed by their text, even if the keys are numbers.
        texts = Vocabulary(self.vocabulary.max_features, True)
        return np.array([texts.read({str(name): 1.0})[1][0] for name in names.values()])


def largest_named_weights(snapshot: Snapshot, count: int) -> dict[Any, list[Weight]]:
    """Return the largest weights of each class of a learner from dicts, by name."""
    shown = named_weights(snapshot)
    features = [*shown.names]
    weights = snapshot.by_label(shown.weights)[:, features]
    variances = None if shown.variances is None else snapshot.variances_by_label(shown.variances)[:, features]
    found = largest_weights(features, snapshot.class_labels(), weights, variances, count)
    names = {weight.name: shown.names[weight.name] for own in found.values() for weight in own}
    signs = dict(zip(names, shown.signs(names).tolist(), strict=True))
    return {
        label: [Weight(names[feature], weight * signs[feature], deviation) for feature, weight, deviation in own]
        for label, own in found.items()
    }


def parts_of_dict(snapshot: Snapshot, x: dict[Any, Any], *, numbered: bool = False) -> dict[Any, list[Part]]:
    """Return what the features of a dict add to the score of each class, the largest first, the intercept last.

    `numbered` tells whether features are called by their numbers instead of their names.
    """
    shown, intercept = named_weights(snapshot), snapshot.learner.config.intercept
    features, values, _ = shown.vocabulary.read(x)
    width = shown.weights.shape[-1] - intercept
    # All slots of hashed names count in the length of a row; new names do not.
    counted: Container[int] = range(width) if shown.vocabulary.hashed else shown.names
    given = {i: value for i, value in zip(features, values, strict=True) if i in counted}
    present = {i: value for i, value in shown.scaled([*given], [*given.values()]).items() if i in shown.names}
    known = {i: shown.names[i] for i in present}
    signs = shown.signs(known)
    at = [*present, *range(width, shown.weights.shape[-1])]
    weights = snapshot.by_label(shown.weights)[:, at]
    weights[:, : len(known)] *= signs
    seen = np.array([*present.values()]) * signs
    variances = None if shown.variances is None else snapshot.variances_by_label(shown.variances)[:, at]
    names = [*known] if numbered else [*known.values()]
    return parts_of_scores(names, snapshot.class_labels(), weights, variances, seen)


def parts_of_row(snapshot: Snapshot, names: Sequence[Any], values: Array) -> dict[Any, list[Part]]:
    """Return what the features of a row add to the score of each class, the largest first, the intercept last."""
    learner = snapshot.learner
    model, _, scale = learner.state()
    seen = values if scale is None else scale.apply(values[np.newaxis]).dense()[0]
    variances = snapshot.variances_by_label(model.variances()) if learner.rule.order == 2 else None
    weights = snapshot.by_label(learner.shown_weights())
    return parts_of_scores(names, snapshot.class_labels(), weights, variances, seen)


def named_weights(snapshot: Snapshot) -> NamedWeights:
    """Return the weights of a learner from dicts by name; only second-order rules have variances."""
    learner = snapshot.learner
    if learner.model is None:
        raise ValueError("this classifier has not learned from any example yet")
    model, vocabulary, scale = learner.state()
    width = model.size - learner.config.intercept
    return NamedWeights(
        vocabulary,
        {feature: name for name, feature in sorted(vocabulary.names.items(), key=itemgetter(1)) if feature < width},
        learner.shown_weights(),
        model.variances() if learner.rule.order == 2 else None,
        scale,
    )
