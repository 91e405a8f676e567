"""The scikit-learn face of a learner: what all estimators share. estimators.py makes two classes for each rule."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from scwlearn._util.checks import check_bool, check_int
from scwlearn.data.labels import given_classes, label_kind
from scwlearn.data.rows import Rows
from scwlearn.data.weights import check_weights
from scwlearn.learning.classifier import ClassLearner, Recipe
from scwlearn.learning.counters import Counts
from scwlearn.learning.settings import Setting, initializer
from scwlearn.rules import Rule

Array = NDArray[np.float64]

#: The module in which the classes are found by their names.
ESTIMATORS = "scwlearn.estimators"


class OnlineClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the classifiers of all rules share: fit, partial_fit and predict on top of a learner."""

    _rule: ClassVar[Rule]
    _with_kernel: ClassVar[bool] = False
    #: How the model is kept: settings that cannot change once it has begun.
    _fixed: ClassVar[tuple[str, ...]] = ("fit_intercept", "class_weight")

    n_features_in_: int
    fit_intercept: bool
    class_weight: Any
    n_epochs: int
    shuffle: bool
    random_state: int | np.random.RandomState | None
    _learner: ClassLearner
    _began: dict[str, Any]

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the examples in order, `n_epochs` times, starting from the prior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples. Read where they lie if C-ordered float32 or float64, or CSR.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes. All classes take part from the start.
        sample_weight : array-like of shape (n_samples,), optional
            What each example weighs; the class says what that means to it. 0 leaves it out.

        Returns
        -------
        self
        """
        with _attributes_kept(self):
            epochs = check_int("n_epochs", self.n_epochs)
            rows, labels = self._examples(X, y, reset=True)
            weights = check_weights(sample_weight, len(rows), name="sample_weight")
            learner = self._begin(rows)
            if weights is not None and not weights.any():
                raise ValueError("sample_weight is zero for every example, so that there is nothing to learn from")
            learner.name_classes(_at_least_two(labels if weights is None else labels[weights != 0]))
            random = _random(self.random_state)
            shuffle = check_bool("shuffle", self.shuffle)
            for _ in range(epochs):
                order = random.permutation(len(rows)) if shuffle else None
                learner.learn(rows, labels, order=order, weights=weights)
            self._learner = learner
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on learning from the examples in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels. One that was never seen before is a new class, which begins from the prior.
        classes : array-like of shape (n_classes,), optional
            Labels to come. They take part from now on, as classes without an example so far.
        sample_weight : array-like of shape (n_samples,), optional
            What each example weighs; the class says what that means to it. 0 leaves it out.

        Returns
        -------
        self
        """
        with _attributes_kept(self):
            first = not self.__sklearn_is_fitted__()
            rows, labels = self._examples(X, y, reset=first)
            weights = check_weights(sample_weight, len(rows), name="sample_weight")
            learner = self._begin(rows) if first else self._same_learner()
            if classes is not None:
                named = given_classes(classes)
                learner.classes.check_kind(labels)
                rows.check()
                learner.name_classes(named)
            learner.learn(rows, labels, weights=weights)
            self._learner = learner
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels known so far, in order."""
        return self._begun("classes_").classes.in_order

    def decision_function(self, X: Any) -> Array:
        """The score mu.x (and intercept) of each example, for more than two classes of each class.

        Of two classes, its sign says which it is, and its size is the margin.
        """
        check_is_fitted(self)
        return self._learner.scores(self._rows(X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each example: of the class with the largest score."""
        check_is_fitted(self)
        return self._learner.predict(self._rows(X, reset=False))

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, of shape (n_samples, n_classes), in the order of `classes_`."""
        check_is_fitted(self)
        return self._learner.probabilities(self._rows(X, reset=False))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of `predict_proba`."""
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save this estimator to a file, from which `scwlearn.load` makes it again."""
        from scwlearn import save

        save(self, path)

    @property
    def n_seen_(self) -> int:
        """How many examples the model has learned from, each epoch counted."""
        return self._counts("n_seen_").seen

    @property
    def n_mistakes_(self) -> int:
        """How many of them it classified wrongly just before learning from them."""
        return self._counts("n_mistakes_").mistakes

    @property
    def n_updates_(self) -> int:
        """How many of them changed the model."""
        return self._counts("n_updates_").updates

    def __copy__(self) -> Self:
        # A copy that shared its learner would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        if self.__sklearn_is_fitted__():
            other._learner = copy(self._learner)
        return other

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # By its rule, which knows where it was declared; a subclass is found by its name as usual.
        if type(self).__module__ != ESTIMATORS:
            return super().__reduce_ex__(protocol)
        return _new_of_rule, (self._rule, self._with_kernel), self.__getstate__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _recipe(self, rows: Rows) -> Recipe:
        """How to make learners with the parameters as they are now, about to begin with some rows."""

    def _begin(self, rows: Rows) -> ClassLearner:
        # Copies: a dict of weights may be changed in its place.
        self._began = {name: copy(getattr(self, name)) for name in self._fixed if hasattr(self, name)}
        return ClassLearner(self._recipe(rows), self.class_weight)

    def _own_parameters(self) -> dict[str, Any]:
        return {p.name: getattr(self, p.name) for p in self._rule.parameters}

    def _same_learner(self) -> ClassLearner:
        """The learner so far, with the rule's parameters as they are now; how the model is kept cannot change."""
        for name, began in self._began.items():
            wanted = getattr(self, name)
            if began != wanted:
                raise ValueError(
                    f"{name} cannot change from {began!r} to {wanted!r} once the model has begun; "
                    "fit it anew or clone it first"
                )
        return self._learner.with_parameters(self._own_parameters())

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        # Rows checks the values and says where a bad one is; it converts once it knows that a sparse matrix is sound.
        accepted = {"accept_sparse": True, "ensure_all_finite": False}
        return Rows(validate_data(self, X, reset=reset, **accepted), check=False)

    def _examples(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Rows, NDArray[Any]]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        label_kind(y)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        rows = self._rows(X, reset=reset)
        check_consistent_length(range(len(rows)), labels)
        return rows, labels

    def _counts(self, name: str) -> Counts:
        return self._begun(name).counts

    def _begun(self, name: str) -> ClassLearner:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit")
        return self._learner


def make_class(
    rule: Rule, name: str, base: type[OnlineClassifier], taken: tuple[Setting, ...], documentation: str
) -> type[OnlineClassifier]:
    """A class of that name for a rule, which takes these settings."""
    contents = {"__doc__": documentation, "__module__": ESTIMATORS, "_rule": rule}
    return type(name, (base,), {"__init__": initializer(name, taken), **contents})


def _new_of_rule(rule: Rule, with_kernel: bool) -> OnlineClassifier:
    name = rule.kernel_estimator if with_kernel else rule.estimator
    made: type[OnlineClassifier] = getattr(importlib.import_module(ESTIMATORS), name)
    return object.__new__(made)


@contextmanager
def _attributes_kept(estimator: OnlineClassifier) -> Iterator[None]:
    """Put the estimator's attributes back as they were when anything is raised."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _random(seed: Any) -> np.random.RandomState:
    try:
        random: np.random.RandomState = check_random_state(seed)
    except ValueError as error:
        raise ValueError(f"random_state must be None, a whole number or a RandomState: {error}") from None
    return random


def _at_least_two(labels: NDArray[Any]) -> NDArray[Any]:
    classes: NDArray[Any] = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"y holds {len(classes)} class(es), {classes.tolist()}; a classifier needs two classes")
    return classes
