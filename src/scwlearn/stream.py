"""Classification of streams: records with named values, one at a time or in batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Lock
from scwlearn.data.batch import NamedRows
from scwlearn.data.features import PLAIN, Features
from scwlearn.data.labels import as_labels, given_classes
from scwlearn.data.tables.arrow import is_table, table_rows
from scwlearn.data.weights import check_weights
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.config import configure
from scwlearn.learning.committee.explain import explain_dict
from scwlearn.learning.counters import Counts
from scwlearn.learning.explain import Part, Weight, largest_named_weights
from scwlearn.learning.lesson import Dicts
from scwlearn.learning.merging import merged
from scwlearn.learning.merging.models import Method
from scwlearn.learning.settings import FEATURES, Argument, Face, arguments_for, fill_settings, signature
from scwlearn.model.snapshot import Snapshot
from scwlearn.rules import Rule, find_rule

Array = NDArray[np.float64]

#: The features of an example by name: numbers, a string (one feature "name=string"), or several strings.
Example = dict[Any, Any]


class StreamClassifier:
    """An online classifier of records, which are dicts of named values, in any number of classes.

    Features are named and may appear at any time. A number is the value of its feature (True is 1); a string is the
    feature "name=string" with value 1; a list, tuple or set of strings is a bag of words; the keys of a nested dict are
    joined, as in "user.age"; None and an empty string are missing. `features` declares more: strings that are text or
    dates, numbers that are categories, keys to ignore, interactions. Names are strings or integers, all of one type. An
    empty dict is allowed: only the intercept applies.

    Labels are strings, numbers or bools, all of one kind; a new class starts from the prior. Predicting changes
    nothing. All methods are safe in several threads at once. After an error the classifier is as it was.

    Parameters
    ----------
    rule : str or Rule
        Name of an algorithm, or its declaration.
    classes : array-like, optional
        Labels to declare in advance; these classes take part from the start.
    features : Features, optional
        What the values of records mean. A model trained on the command line has those of its data.
    {settings}
    **parameters : float
        The rule's parameters.

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
        classes: ArrayLike | None = None,
        features: Features | None = None,
        **settings: Any,
    ) -> None:
        found = find_rule(rule) if isinstance(rule, str) else rule
        if not isinstance(found, Rule):
            raise TypeError(f"rule must be the name of an algorithm or a Rule, got {rule!r}")
        if not isinstance(features, Features | None):
            raise TypeError(f"features must be Features or None, got {features!r}")
        class_weight, costs = settings.pop("class_weight", None), settings.pop("costs", None)
        config = configure(found, settings, defaults_of=Face.STREAM)
        self._classifier = Classifier(config, class_weight, costs, features=features or PLAIN)
        if classes is not None:
            self._classifier.add_classes(given_classes(classes))

    @property
    def rule(self) -> Rule:
        """The algorithm."""
        rule = self._classifier.config.rule
        assert isinstance(rule, Rule)
        return rule

    @property
    def classes(self) -> list[Any]:
        """The known labels, sorted."""
        return list(self._classifier.classes.values_in_order)

    @property
    def n_features(self) -> int:
        """The number of known features; if names are hashed, the number of weights in use."""
        vocabulary = self._classifier.learner.vocabulary
        if vocabulary is None:
            return 0
        return len(vocabulary.names) if vocabulary.hashed else len(vocabulary)

    @property
    def features(self) -> Features:
        """What the values of records mean."""
        return self._classifier.features

    @property
    def counts(self) -> Counts:
        """Examples seen, mistakes and updates so far."""
        return self._classifier.counts

    @property
    def _lock(self) -> Lock:
        return self._classifier._lock

    def learn_one(self, x: Example, y: Any, w: float = 1.0) -> None:
        """Learn from an example.

        Parameters
        ----------
        x : dict
            Its values by name.
        y : str, number or bool
            Its label.
        w : float
            Its weight; 0 changes nothing.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_one({"free": 1, "offer": 2}, "spam")
        >>> model.learn_one({"meeting": 1}, "ham", w=2.0)
        >>> model.counts.seen
        2
        """
        classifier = self._classifier
        if not classifier.by_one.learn(x, y, w):
            classifier.learn_one(x, y, w)

    def predict_one(self, x: Example) -> Any:
        """Predict the label of an example; None before any class is known.

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
        classifier = self._classifier
        label = classifier.by_one.predict(x)
        return classifier.predict_one(x) if label is None else label

    def predict_proba_one(self, x: Example) -> dict[Any, float]:
        """Predict the probability of each class, in the order of the labels; empty before any class is known.

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
        classifier = self._classifier
        probabilities = classifier.by_one.probabilities(x)
        return classifier.probabilities_one(x) if probabilities is None else probabilities

    def learn_many(self, examples: Any, y: Any, w: ArrayLike | None = None) -> None:
        """Learn from examples in turn, bit for bit as `learn_one` does.

        All or nothing, also after Ctrl-C, which may take effect after a batch that takes a moment.

        Parameters
        ----------
        examples : iterable of dicts, or a table
            A table has one example per row: a data frame of pandas or polars, an Arrow table, or anything with
            Arrow's C interface. Its columns are the names.
        y : iterable
            Their labels.
        w : array-like, optional
            Their weights.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}, {"free": 1}], ["spam", "ham", "spam"])
        >>> model.predict_many([{"offer": 1}, {"meeting": 1}])
        ['spam', 'ham']
        """
        classifier, rows, labels = self._classifier, self._rows(examples), as_labels(y)
        always_full = classifier.config.always_full
        if isinstance(rows, NamedRows) and always_full and not classifier.config.slots:
            # A matrix for all names of the table would sum in another order than one that grows with them.
            rows = tuple(rows.dicts())
        if not isinstance(rows, NamedRows):
            classifier.learn_many(rows, labels, w)
            classifier.warn(stacklevel=2)
            return
        if len(rows) != len(labels):
            raise ValueError(f"y must hold {len(rows)} labels, one for each example, got {len(labels)}")
        classifier.learn(rows, labels, weights=check_weights(w, len(labels), name="w"), in_turn=always_full)
        classifier.warn(stacklevel=2)

    def _rows(self, examples: Any) -> Dicts | NamedRows:
        """Return examples as dicts of features by name, or the rows of a table."""
        if is_table(examples):
            return table_rows(examples, self.features, self._classifier.config.slots)
        if isinstance(examples, Mapping):
            problem = "examples must be several dicts or a data frame, got one dict"
            raise TypeError(f"{problem}; learn_one and predict_one take a single one")
        records = tuple(examples)
        return records if self.features.is_plain else self.features.read_many(records)

    def predict_many(self, examples: Any) -> list[Any]:
        """Predict the label of each example, given as for `learn_many`."""
        rows, snapshot = self._rows(examples), self._classifier.snapshot
        labels, learner = snapshot.classes.values, snapshot.learner
        if not labels or learner.model is None:
            return [labels[len(labels) == 2] if labels else None] * len(rows)
        if costs := self._classifier.costs:
            return [labels[i] for i in costs.decide(self._probabilities(rows, snapshot), snapshot.classes)]
        scores = learner.scores(rows) if isinstance(rows, NamedRows) else learner.score_many(rows)
        return [labels[i] for i in snapshot.predict(scores)]

    def predict_proba_many(self, examples: Any) -> Array:
        """Predict the probabilities of each example, (examples, classes), in the order of `classes`."""
        return self._labels_and_probabilities(examples)[1]

    def _labels_and_probabilities(self, examples: Any) -> tuple[list[Any], Array]:
        """Return the labels of one moment, and the probabilities in their order."""
        snapshot = self._classifier.snapshot
        return list(snapshot.classes.values_in_order), self._probabilities(self._rows(examples), snapshot)

    def _probabilities(self, rows: Dicts | NamedRows, snapshot: Snapshot) -> Array:
        learner = snapshot.learner
        if learner.model is None:
            return np.full((len(rows), len(snapshot.classes)), 1 / max(1, len(snapshot.classes)))
        named = isinstance(rows, NamedRows)
        before = learner.scores_and_top_variances(rows) if named else learner.scores_and_variances_many(rows)
        return snapshot.probabilities(*before, argmax_consistent=self._classifier.argmax_consistent)

    def top_features(self, n: int = 10) -> dict[Any, list[Weight]]:
        """Return the n largest weights in absolute value of each class (with two classes, of the second).

        If hashing makes names share a weight, the most frequent one is shown. Weights apply to scaled features; those
        of a committee are what a typical value of each feature adds to the score.

        Parameters
        ----------
        n : int
            The number of weights.

        Returns
        -------
        dict
            A list of `Weight` (name, weight, standard deviation) by label. First-order rules and committees have no
            standard deviation: it is NaN.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1, "hour": 0.5}, {"meeting": 1}], ["spam", "ham"])
        >>> [(name, weight > 0, deviation < 1) for name, weight, deviation in model.top_features(2)["spam"]]
        [('meeting', False, True), ('free', True, True)]
        """
        with self._lock:
            return largest_named_weights(self._classifier.snapshot, n)

    def explain(self, x: Example) -> dict[Any, list[Part]]:
        """Return what each known feature adds to the score of each class (with two classes, of the second).

        Values and weights are those after scaling. Those of a committee are before scaling, since its members scale
        differently, and their standard deviations are NaN.

        Parameters
        ----------
        x : dict
            The values of an example by name.

        Returns
        -------
        dict
            A list of `Part` by label, the largest first, the intercept last. They add up to the score.

        Examples
        --------
        >>> from scwlearn import StreamClassifier
        >>> model = StreamClassifier("arow")
        >>> model.learn_many([{"free": 1}, {"meeting": 1}, {"free": 1}], ["spam", "ham", "spam"])
        >>> [(part.name, part.adds > 0) for part in model.explain({"free": 1, "never seen": 1})["spam"]]
        [('free', True), ('(intercept)', True)]
        """
        features = self._classifier.read_record(x)
        with self._lock:
            return explain_dict(self._classifier.snapshot, features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save this classifier to a file, which `scwlearn.load` reads."""
        from scwlearn import save

        save(self, path)

    @classmethod
    def _restore(cls, saved: Any) -> Self:
        """Return the classifier of a model file."""
        model = object.__new__(cls)
        model._classifier = saved.learner
        return model

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy(self)

    def __copy__(self) -> Self:
        # A copy that shared its classifier would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _classifier=copy(self._classifier))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.name!r}, classes={self.classes}, n_features={self.n_features})"


_ARGUMENTS = (
    Argument(
        "classes", "array-like | None", None, "Labels to declare in advance; these classes take part from the start."
    ),
    FEATURES,
    *arguments_for(Face.STREAM),
)
StreamClassifier.__init__.__signature__ = signature(_ARGUMENTS, rule="scw1")  # type: ignore[attr-defined]
StreamClassifier.__doc__ = fill_settings(StreamClassifier.__doc__, _ARGUMENTS[2:])


@merged.register
def _(
    first: StreamClassifier, models: Sequence[StreamClassifier], prior: StreamClassifier | None, method: Method
) -> StreamClassifier:
    together = object.__new__(type(first))
    classifiers = [model._classifier for model in models]
    before = None if prior is None else prior._classifier
    together._classifier = merged(classifiers[0], classifiers, before, method)
    return together
