"""River's classifiers: SCW1, AROW and so on, one for each rule. Needs River.

They are generated from the declarations, like the scikit-learn estimators of the same names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

try:
    from river import base
except ImportError as error:  # pragma: no cover
    raise ImportError("scwlearn.river needs River: pip install 'scwlearn[river]'") from error

from scwlearn._native import Lock
from scwlearn.data.features import Features
from scwlearn.learning.explain import Part, Weight
from scwlearn.learning.merging import merged
from scwlearn.learning.merging.models import Method
from scwlearn.learning.settings import Face, settings_for
from scwlearn.learning.signatures import docstring, initializer
from scwlearn.rules import AUTO, Rule, all_rules
from scwlearn.stream import StreamClassifier

if TYPE_CHECKING:
    import pandas as pd


class RiverClassifier(base.MiniBatchClassifier):
    """Base of the classifiers of all rules; a `StreamClassifier` does the work.

    Examples
    --------
    >>> from scwlearn.river import AROW
    >>> model = AROW(scale="standard")
    >>> model.learn_one({"from": "friend", "words": ["see", "you"]}, "ham")
    >>> model.learn_one({"from": "unknown", "words": ["free", "offer"]}, "spam")
    >>> model.predict_one({"words": ["offer"]})
    'spam'
    """

    _rule: ClassVar[Rule]
    _model: StreamClassifier
    features: Features | None

    @property
    def _lock(self) -> Lock:
        return self._model._lock

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from an example of weight w."""
        # Here and below as a StreamClassifier does, without a call in between.
        classifier = self._model._classifier
        if not classifier.by_one.learn(x, y, w):
            classifier.learn_one(x, y, w)

    # No **kwargs, as in most models of River: a dict for them takes longer than the rest of the call in Python.
    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of an example; None before any class is known."""
        classifier = self._model._classifier
        label = classifier.by_one.predict(x)
        return classifier.predict_one(x) if label is None else label

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Predict the probability of each class; empty before any is known."""
        classifier = self._model._classifier
        probabilities = classifier.by_one.probabilities(x)
        return classifier.probabilities_one(x) if probabilities is None else probabilities

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: pd.Series | float | None = None) -> None:
        """Learn from rows in turn, bit for bit as `learn_one` does."""
        self._model.learn_many(X, y, w if w is None or np.ndim(w) else np.full(len(X), w))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the label of each row."""
        import pandas as pd

        return pd.Series(self._model.predict_many(X), index=_index_of(X))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Predict the probability of each class for each row."""
        import pandas as pd

        labels, probabilities = self._model._labels_and_probabilities(X)
        return pd.DataFrame(probabilities, index=_index_of(X), columns=labels)

    def top_features(self, n: int = 10) -> dict[Any, list[Weight]]:
        """Return the n largest weights of each class, as `StreamClassifier` does."""
        return self._model.top_features(n)

    def explain(self, x: dict[Any, Any]) -> dict[Any, list[Part]]:
        """Return what each known feature adds to the score of each class, as `StreamClassifier` does."""
        return self._model.explain(x)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save this classifier to a file, which `scwlearn.load` reads."""
        from scwlearn import save

        save(self, path)

    @classmethod
    def _restore(cls, saved: Any) -> Self:
        """Return the classifier of a model file."""
        return cls(**saved.settings)._with_model(StreamClassifier._restore(saved))

    def _with_model(self, model: StreamClassifier) -> Self:
        """Take a model of the same settings, and return this classifier."""
        self._model, self.features = model, None if model.features.is_plain else model.features
        return self

    def __copy__(self) -> Self:
        # A copy that shared its model would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _model=self._model.copy())
        return other

    @property
    def _multiclass(self) -> bool:
        return True


@merged.register
def _(
    first: RiverClassifier, models: Sequence[RiverClassifier], prior: RiverClassifier | None, method: Method
) -> RiverClassifier:
    together: RiverClassifier = first.clone()
    inside = [model._model for model in models]
    return together._with_model(merged(inside[0], inside, None if prior is None else prior._model, method))


def _index_of(x: Any) -> Any:
    """Return the index of a data frame of pandas; None for other tables, which have none."""
    return x.index if hasattr(x, "iloc") else None


def _make_class(rule: Rule) -> type[RiverClassifier]:
    names = {s.name: s.name_in(Face.RIVER) for s in settings_for(Face.RIVER, rule)}
    names |= {p.name: p.name for p in rule.parameters}

    def start(self: RiverClassifier) -> None:
        given = {inner: getattr(self, name) for inner, name in names.items()}
        self._model = StreamClassifier(rule, features=self.features, **given)

    contents = {"__doc__": docstring(Face.RIVER, rule), "__module__": __name__, "_rule": rule}
    made = initializer(rule.estimator, Face.RIVER, rule, start)
    return type(rule.estimator, (RiverClassifier,), {"__init__": made, **contents})


_made: dict[str, type[RiverClassifier]] = {}


def __getattr__(name: str) -> type[RiverClassifier]:
    for rule in (AUTO, *all_rules()):
        if name == rule.estimator:
            # A rule that was declared again, say in a notebook, gets a new class.
            if name not in _made or _made[name]._rule is not rule:
                _made[name] = _make_class(rule)
            return _made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(rule.estimator for rule in (AUTO, *all_rules()))
