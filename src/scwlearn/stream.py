"""Classification of streams: examples are dicts of named features, which come one at a time and as they like."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.labels import as_labels, given_classes
from scwlearn.data.weights import check_weights
from scwlearn.learning.classifier import ClassLearner, Recipe
from scwlearn.learning.counters import Counts
from scwlearn.learning.explain import Part, Weight, largest_weights, parts_of_scores, shown_of
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging import merged
from scwlearn.learning.merging.models import How
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.learning.teaching import Examples
from scwlearn.model.snapshot import BARELY
from scwlearn.rules import Rule, find_rule

Array = NDArray[np.float64]

#: The features of an example by name: numbers, a string (one feature "name=string"), or several of them.
Example = dict[Any, Any]


class StreamClassifier:
    """An online classifier of dicts, in as many classes as come.

    Features are known by their names and may come and go. A number counts as it is, True as 1; a string is a feature of
    its own, "name=string", that counts 1; a list, tuple or set of strings is a bag of them. Names are strings or whole
    numbers, all of one type. An empty dict is fine: it says nothing but the constant.

    Labels are strings, numbers or bools, all of one kind; a class begins from the prior when it comes. Predicting
    changes nothing, and is safe in several threads while one learns. After an error everything is as it was.

    Parameters
    ----------
    rule : str or Rule
        The name of an algorithm, or its declaration.
    covariance : {"auto", "full", "diagonal", "diagonal-drop", "identity"}
        How Sigma is kept. "auto" is the diagonal that suits the rule, or none for a first-order one.
    multi_class, shared_covariance, rivals
        How more than two classes learn, as for `MultiLearner`.
    class_weight : dict, "balanced" or None
        What the examples of each class weigh; "balanced" counts along.
    scale : bool
        Whether to divide each feature by a running scale (docs/scaling.md).
    max_features : int or None
        How many features there may be; None for any number.
    overflow : {"drop", "hash"}
        What becomes of more: "drop" forgets the features that are known least, "hash" lets several share a weight.
    intercept : bool
        Whether to learn a constant too.
    initial_variance : float
        The prior is N(0, initial_variance I).
    variance_floor : float
        The part of it below which no variance falls, for streams that change (docs/drift.md).
    classes : array-like, optional
        Labels to come, which take part from the start.
    **parameters : float
        The rule's own.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> model = StreamClassifier("scw1")
    >>> model.learn_one({"from": "friend", "words": ["see", "you"]}, "ham")
    >>> model.learn_one({"from": "unknown", "words": ["free", "offer"]}, "spam")
    >>> model.predict_one({"words": ["offer"]})
    'spam'
    >>> sorted(model.predict_proba_one({"words": ["offer"]}))
    ['ham', 'spam']
    """

    def __init__(
        self,
        rule: str | Rule = "scw1",
        *,
        covariance: str = "auto",
        multi_class: str = "joint",
        shared_covariance: bool = False,
        rivals: str = "max",
        class_weight: Mapping[Any, float] | str | None = None,
        scale: bool = False,
        max_features: int | None = None,
        overflow: str = "drop",
        intercept: bool = True,
        initial_variance: float = 1.0,
        variance_floor: float = 0.0,
        classes: ArrayLike | None = None,
        **parameters: float,
    ) -> None:
        how = {
            "covariance": covariance,
            "scale": scale,
            "max_features": max_features,
            "overflow": overflow,
            "intercept": intercept,
            "initial_variance": initial_variance,
            "variance_floor": variance_floor,
        }
        several = {"multi_class": multi_class, "shared_covariance": shared_covariance, "rivals": rivals}
        found = find_rule(rule) if isinstance(rule, str) else rule
        if not isinstance(found, Rule):
            raise TypeError(f"rule must be the name of an algorithm or a Rule, got {rule!r}")
        self._learner = ClassLearner(Recipe(Learner, MultiLearner, found, parameters, how, several), class_weight)
        if classes is not None:
            self._learner.name_classes(given_classes(as_labels(classes)))

    @property
    def rule(self) -> Rule:
        """The algorithm."""
        return self._learner.recipe.rule

    @property
    def classes(self) -> list[Any]:
        """The labels known so far, in order."""
        return list(self._learner.classes.values_in_order)

    @property
    def n_features(self) -> int:
        """How many features are known; of names that are hashed, how many weights they share."""
        vocabulary = self._learner.learner.vocabulary
        if vocabulary is None:
            return 0
        return len(vocabulary.names) if vocabulary.hashed else len(vocabulary)

    @property
    def counts(self) -> Counts:
        """What this classifier has gone through so far: examples, mistakes and updates."""
        return self._learner.counts

    def learn_one(self, x: Example, y: Any, w: float = 1.0) -> None:
        """Learn from an example of weight w. A weight of 0 changes nothing.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_one({"free": 1, "offer": 2}, "spam")
        >>> model.learn_one({"meeting": 1}, "ham", w=2.0)
        >>> model.counts.seen
        2
        """
        if not isinstance(x, dict):
            raise _no_dict(x)
        told = self._learner
        now = told.now
        try:
            number = now.classes.numbers.get(y)
        except TypeError:
            number = None
        if number is None:
            # A class that is new, or a label that is none.
            told.learn_many((x,), as_labels([y]), [w])
            return
        weighs = told.class_weights.given is not None
        weight = w
        if weighs:
            check_weights([w], 1, name="w")
            weight = w * told.class_weights.of_next(number, now.classes)
        learner = now.learner
        score = learner.learn_one(x, 2 * number - 1 if now.is_binary else number, weight)
        if weight:
            now.calibration.learn_one(score, learner.last_variance, number, w)
            if weighs:
                told.class_weights.count(number, now.classes)

    def predict_one(self, x: Example) -> Any:
        """The label of an example; None before there is any class.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.predict_one({"free": 1}) is None
        True
        >>> model.learn_one({"free": 1}, "spam")
        >>> model.learn_one({"meeting": 1}, "ham")
        >>> model.predict_one({"free": 1})
        'spam'
        """
        if not isinstance(x, dict):
            raise _no_dict(x)
        now = self._learner.now
        labels = now.classes.values
        if not labels:
            return None
        if now.learner.model is None:
            return labels[len(labels) == 2]
        score = now.learner.score_one(x)
        if now.is_binary:
            return labels[len(labels) == 2 and score >= 0]
        return labels[score[: len(labels)].argmax()]

    def predict_proba_one(self, x: Example) -> dict[Any, float]:
        """The probability of each class, in the order of their labels; empty before there is any class.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> for _ in range(50):
        ...     model.learn_one({"free": 1}, "spam")
        ...     model.learn_one({"meeting": 1}, "ham")
        >>> model.predict_proba_one({"free": 1})["spam"] > 0.9
        True
        """
        if not isinstance(x, dict):
            raise _no_dict(x)
        now = self._learner.now
        labels = now.classes.values_in_order
        if now.learner.model is None:
            return dict.fromkeys(labels, 1 / max(1, len(labels)))
        score, variance = now.learner.look_one(x)
        if not now.is_binary or len(labels) < 2:
            lines = now.chances(np.array([score]), np.array([variance]), agree=self._learner.agrees)
            return dict(zip(labels, lines[0].tolist(), strict=True))
        second = now.calibration.probability(score, variance)
        if self._learner.agrees:
            second = max(second, BARELY) if score >= 0 else min(second, 1 - BARELY)
        chances = (1 - second, second) if labels[0] == now.classes.values[0] else (second, 1 - second)
        return dict(zip(labels, chances, strict=True))

    def learn_many(self, examples: Any, y: Any, w: ArrayLike | None = None) -> None:
        """Learn from each example in turn, bit for bit as `learn_one` does.

        All or nothing, but that Ctrl-C keeps what the examples before it taught, unless they bring a class.

        Parameters
        ----------
        examples : iterable of dicts, or a data frame
            A frame has one example a row; its columns are the names.
        y : iterable
            Their labels.
        w : array-like, optional
            What each of them weighs.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}, {"free": 1}], ["spam", "ham", "spam"])
        >>> model.predict_many([{"offer": 1}, {"meeting": 1}])
        ['spam', 'ham']
        """
        self._learner.learn_many(as_examples(examples), as_labels(y), w)

    def predict_many(self, examples: Any) -> list[Any]:
        """What `predict_one` says of each example, which come as for `learn_many`."""
        rows, now = as_examples(examples), self._learner.now
        if not now.classes.values or now.learner.model is None:
            return [self.predict_one(x) for x in rows]
        return [now.classes.values[i] for i in now.numbers(now.learner.score_many(rows))]

    def predict_proba_many(self, examples: Any) -> Array:
        """The probabilities of each example, of shape (examples, classes), in the order of `classes`."""
        rows, now = as_examples(examples), self._learner.now
        if now.learner.model is None:
            return np.full((len(rows), len(now.classes)), 1 / max(1, len(now.classes)))
        return now.chances(*now.learner.look_many(rows), agree=self._learner.agrees)

    def top_features(self, n: int = 10) -> dict[Any, list[Weight]]:
        """The n largest weights by size, with names and standard deviations, for each class (of two, the second).

        First-order algorithms know no deviations: they are NaN. Of names that share a weight by hashing, the one met
        most is given. Weights are for features as the model sees them, which is after scaling.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1, "hour": 0.5}, {"meeting": 1}], ["spam", "ham"])
        >>> [(name, weight > 0, deviation < 1) for name, weight, deviation in model.top_features(2)["spam"]]
        [('meeting', False, True), ('free', True, True)]
        """
        now = self._learner.now
        shown = shown_of(now, second_order=self.rule.order == 2)
        at = [*shown.names]
        weights = now.by_label(shown.weights)[:, at] * shown.signs(shown.names)
        variances = None if shown.variances is None else now.variances_by_label(shown.variances)[:, at]
        return largest_weights([*shown.names.values()], now.class_labels(), weights, variances, n)

    def explain(self, x: Example) -> dict[Any, list[Part]]:
        """What each known feature of an example adds to the score of each class (of two, the second), largest first.

        The constant, if there is one, comes last. All parts together are the score. Values and weights are as the
        model sees them, which is after scaling.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1}, {"meeting": 1}, {"free": 1}], ["spam", "ham", "spam"])
        >>> [(part.name, part.adds > 0) for part in model.explain({"free": 1, "never seen": 1})["spam"]]
        [('free', True), ('(constant)', True)]
        """
        if not isinstance(x, dict):
            raise _no_dict(x)
        now = self._learner.now
        shown = shown_of(now, second_order=self.rule.order == 2)
        features, values, _ = shown.vocabulary.read(x)
        present = {i: value for i, value in zip(features, values, strict=True) if i in shown.names}
        known = {i: shown.names[i] for i in present}
        signs, width = shown.signs(known), len(shown.scales)
        at = [*present, *range(width, shown.weights.shape[-1])]
        weights = now.by_label(shown.weights)[:, at]
        weights[:, : len(known)] *= signs
        seen = np.array([*present.values()]) * signs / shown.scales[[*present]]
        variances = None if shown.variances is None else now.variances_by_label(shown.variances)[:, at]
        return parts_of_scores([*known.values()], now.class_labels(), weights, variances, seen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save this classifier to a file, from which `scwlearn.load` makes it again."""
        from scwlearn import save

        save(self, path)

    def copy(self) -> Self:
        """Another that has learned the same."""
        return copy(self)

    def __copy__(self) -> Self:
        # A copy that shared its learner would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _learner=copy(self._learner))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.name!r}, classes={self.classes}, n_features={self.n_features})"


@merged.register
def _(
    first: StreamClassifier, models: Sequence[StreamClassifier], prior: StreamClassifier | None, how: How
) -> StreamClassifier:
    together = object.__new__(type(first))
    learners = [model._learner for model in models]
    together._learner = merged(learners[0], learners, None if prior is None else prior._learner, how)
    return together


def _no_dict(x: Any) -> TypeError:
    return TypeError(f"x must be a dict of named features, got {type(x).__name__}")


def as_examples(x: Any) -> Examples:
    """Dicts of named features, or the rows of a data frame as such."""
    if hasattr(x, "to_dicts"):
        return tuple(x.to_dicts())
    if hasattr(x, "columns") and hasattr(x, "to_dict"):
        if not x.columns.is_unique:
            raise ValueError(f"two columns have the name {x.columns[x.columns.duplicated()][0]!r}; names must differ")
        return tuple(x.to_dict(orient="records"))
    if isinstance(x, Mapping):
        raise TypeError("examples must be several dicts or a data frame, got one dict; learn_one takes a single one")
    return tuple(x)
