"""The base of all scikit-learn estimators: fit, partial_fit and predict on top of a classifier."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from scwlearn._native import Lock
from scwlearn._util.checks import check_int
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.locks import Frozen, changing, reading
from scwlearn._util.threads import job_threads
from scwlearn.data.labels import given_classes, label_kind, labels_of_rows
from scwlearn.data.rows import ALLOWED_VALUE, Rows, check_unmasked
from scwlearn.data.weights import check_weights, training_classes
from scwlearn.estimators.fixed import check_fixed, fixed_settings
from scwlearn.estimators.orders import orders_of_fit
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.counters import Counts
from scwlearn.learning.settings import Face, settings_for
from scwlearn.rules import Rule

Array = NDArray[np.float64]

#: The module in which the classes are found by name.
ESTIMATORS = "scwlearn.estimators"

# The attributes that training sets.
_TRAINED = frozenset({"_classifier", "_started_with", "n_features_in_", "feature_names_in_"})


class OnlineClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators of all rules."""

    _rule: ClassVar[Rule]
    _face: ClassVar[Face]

    n_features_in_: int
    class_weight: Any
    costs: Any
    n_epochs: int
    shuffle: bool
    random_state: int | np.random.RandomState | None
    _classifier: Classifier
    # The settings when training began; they cannot change afterwards.
    _started_with: dict[str, Any]
    # Made when it is first needed, since a constructor sets nothing but parameters.
    _made_lock: Lock

    @property
    def _lock(self) -> Lock:
        made: Lock = self.__dict__.setdefault("_made_lock", Lock())
        return made

    @changing
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a new model in `n_epochs` passes over the examples, in random order unless `shuffle` is False.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples. Read in place if C-ordered float32 or float64, or CSR.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes. All classes take part from the start.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each example; the docstring of the class says how it acts. Examples of weight 0 are skipped.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For bad examples, labels, weights or settings. The estimator is then unchanged.
        DataWarning
            After learning from suspicious examples, and only if you turned warnings into errors.
        """
        epochs = check_int("n_epochs", self.n_epochs)
        trial, jobs = self._trial(), self._jobs
        rows, labels = trial._examples(X, y, reset=True)
        weights = check_weights(sample_weight, len(rows), name="sample_weight")
        classifier = trial._start(rows, labels, weights).with_costs(self._costs)
        classifier.add_classes(training_classes(labels, weights, classifier.class_weights))
        if classifier.costs is not None:
            classifier.costs.check_labels(classifier.classes)
        orders = orders_of_fit(self, labels, weights, classifier.class_weights)
        calibrate = True
        for _ in range(epochs):
            order = next(orders)
            with self._lock.learning:  # a kernel may call code of the user's
                done = classifier.learn(rows, labels, order=order, weights=weights, calibrate=calibrate, jobs=jobs)
            calibrate = not classifier.learns_by_heart(done.seen)
        trial._classifier = classifier
        with interrupts_held():
            self._take_over(trial)
        classifier.warn(stacklevel=3)
        return self

    @changing
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training on the examples in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels. A label never seen before is a new class, which starts from the prior.
        classes : array-like of shape (n_classes,), optional
            Labels to declare in advance. These classes take part from now on.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each example; the docstring of the class says how it acts. Examples of weight 0 are skipped.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For bad examples, labels, weights or classes, and for settings that changed since training began. The
            estimator is then unchanged.
        DataWarning
            After learning from suspicious examples, and only if you turned warnings into errors.
        """
        first = not self.__sklearn_is_fitted__()
        trial, jobs = self._trial(), self._jobs
        rows, labels = trial._examples(X, y, reset=first)
        weights = check_weights(sample_weight, len(rows), name="sample_weight")
        # Examples of weight 0 decide nothing.
        goes_on = not first and self._classifier.is_fitted
        classifier = trial._continue() if goes_on else trial._start(rows, labels, weights)
        classifier = classifier.with_costs(self._costs)
        if first:
            classifier.about = getattr(self, "_about", None)
        elif not goes_on:
            classifier.about = self._classifier.about
            classifier.add_classes(self._classifier.classes.labels)
        if classes is not None:
            named = given_classes(classes)
            classifier.classes.check_kind(labels)
            rows.check()
            classifier.add_classes(named)
        # It learns in the memory of the present model.
        with interrupts_held():
            with self._lock.learning:
                classifier.learn(rows, labels, weights=weights, jobs=jobs)
            trial._classifier = classifier
            self._take_over(trial)
        classifier.warn(stacklevel=3)
        return self

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on examples and their labels, of any type that `fit` takes."""
        accuracy: float = super().score(X, labels_of_rows(y), sample_weight)
        return accuracy

    @property
    def classes_(self) -> NDArray[Any]:
        """The known labels, sorted."""
        return self._fitted("classes_").classes.in_order

    def decision_function(self, X: Any) -> Array:
        """Compute the score of each example.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) with more than two classes
            The scores, in the order of `classes_`; with two classes, that of the second.
        """
        check_is_fitted(self)
        return self._classifier.scores(self._rows(X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each example: of the class with the largest score, or of the least expected cost.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The labels. Ties go to the earliest class, with two classes to the second; `fit` takes the classes in the
            order of `classes_`.
        """
        check_is_fitted(self)
        return self._current_classifier.predict(self._rows(X, reset=False))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self._classifier.probabilities(self._rows(X, reset=False))

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class; see `predict_proba`."""
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save this estimator to a file, which `scwlearn.load` reads."""
        from scwlearn import save

        save(self, path)

    @classmethod
    def _restore(cls, saved: Any) -> Self:
        """Return the estimator of a model file."""
        model = cls(**saved.settings)
        if saved.learner is not None:
            model._classifier, model._started_with = saved.learner, dict(saved.fixed_settings)
            model.n_features_in_ = saved.attributes["n_features_in_"]
            if "feature_names_in_" in saved.attributes:
                model.feature_names_in_ = np.array(saved.attributes["feature_names_in_"], dtype=object)
        return model

    @property
    def n_seen_(self) -> int:
        """The number of examples learned from, each epoch counted."""
        return self._counts("n_seen_").seen

    @property
    def n_mistakes_(self) -> int:
        """The number of examples that were misclassified just before they were learned from."""
        return self._counts("n_mistakes_").mistakes

    @property
    def n_updates_(self) -> int:
        """The number of examples that changed the model."""
        return self._counts("n_updates_").updates

    @reading
    def __copy__(self) -> Self:
        # A copy that shared its classifier would learn for both.
        other = object.__new__(type(self))
        other.__dict__.update(self._state())
        if self.__sklearn_is_fitted__():
            other._classifier = copy(self._classifier)
        return other

    @reading
    def __getstate__(self) -> Any:
        # With a copy of the classifier, since it is pickled after other threads may learn again.
        state = {name: value for name, value in super().__getstate__().items() if name != "_made_lock"}
        return state | ({"_classifier": Frozen(copy(self._classifier))} if self.__sklearn_is_fitted__() else {})

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # Generated classes are pickled by their rule, which knows where it was declared; subclasses by name, as usual.
        if type(self).__module__ != ESTIMATORS:
            return super().__reduce_ex__(protocol)
        return _new_of_rule, (self._rule, self._face), self.__getstate__()

    def _state(self) -> dict[str, Any]:
        """Return the attributes that another estimator may have, too."""
        return {name: value for name, value in self.__dict__.copy().items() if name != "_made_lock"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_classifier")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _new_classifier(self, rows: Rows, labels: NDArray[Any], weights: Array | None) -> Classifier:
        """Return a classifier with the current parameters, given the first examples that it will learn from."""

    def _trial(self) -> Self:
        """Return an estimator with the same attributes, whose training this one takes over if it succeeds."""
        trial = object.__new__(type(self))
        trial.__dict__ = self.__dict__.copy()
        return trial

    def _take_over(self, trial: Self) -> None:
        """Take over the training of a trial, but not its parameters: another thread may have set them."""
        trained = {name: value for name, value in vars(trial).items() if name in _TRAINED}
        for name in _TRAINED - trained.keys():
            self.__dict__.pop(name, None)
        # In one step, since other threads may predict.
        self.__dict__.update(trained)

    def _start(self, rows: Rows, labels: NDArray[Any], weights: Array | None) -> Classifier:
        self._started_with = fixed_settings(self, self._face, self._rule)
        return self._new_classifier(rows, labels, weights)

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the model and the rule's parameters, by the names that a learner takes."""
        # The constructor of a subclass may take only some of them.
        declared = {s.name_in(self._face): s.name for s in settings_for(self._face, self._rule) if not s.mutable}
        declared |= {p.name: p.name for p in self._rule.parameters}
        return {inner: getattr(self, name) for name, inner in declared.items() if hasattr(self, name)}

    def _continue(self) -> Classifier:
        """Return the classifier with the current parameters of the rule; other settings cannot change."""
        check_fixed(self, self._started_with)
        return self._classifier.with_parameters({p.name: getattr(self, p.name) for p in self._rule.parameters})

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        # `Rows` checks the values, names the place of a bad one, and converts sparse matrices after checking them.
        first = X[0] if isinstance(X, list | tuple) and X else X
        # SciPy's matrices in the form of dicts are no records.
        if isinstance(first, dict) and not hasattr(first, "tocsr"):
            raise TypeError(
                f"X holds dicts, but {type(self).__name__} has numbered columns; StreamClassifier takes dicts, and "
                "scikit-learn's DictVectorizer turns them into columns"
            )
        check_unmasked(X)
        accepted = {"accept_sparse": True, "ensure_all_finite": False}
        try:
            return Rows(validate_data(self, X, reset=reset, **accepted), check=False)
        except OverflowError:  # an int may be larger than any float
            raise ValueError(f"X holds a number that is too large; {ALLOWED_VALUE}") from None

    def _examples(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Rows, NDArray[Any]]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = self._rows(X, reset=reset)
        # Of the columns of other libraries, scikit-learn would make floats.
        labels = column_or_1d(labels_of_rows(y), warn=True)
        if labels.dtype.kind in "fO" and label_kind(labels) == "number":
            # It sorts the labels; all others can only be those of classes.
            check_classification_targets(labels.astype(np.float64, copy=False))
        check_consistent_length(range(len(rows)), labels)
        return rows, labels

    @property
    def _current_classifier(self) -> Classifier:
        """The classifier, with the costs that were set last."""
        return self._classifier.with_costs(self._costs)

    @property
    def _costs(self) -> Any:
        # The constructor of a subclass may not take them.
        return getattr(self, "costs", None)

    @property
    def _jobs(self) -> int:
        # Kernel estimators have no such setting.
        return job_threads(getattr(self, "n_jobs", None))

    def _counts(self, name: str) -> Counts:
        return self._fitted(name).counts

    def _fitted(self, name: str) -> Classifier:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit")
        return self._classifier

    def _learned(self, name: str) -> Classifier:
        if not self._fitted(name).is_fitted:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned from an example")
        return self._classifier


def _new_of_rule(rule: Rule, face: Face) -> OnlineClassifier:
    name = rule.kernel_estimator if face is Face.KERNEL_ESTIMATOR else rule.estimator
    made: type[OnlineClassifier] = getattr(importlib.import_module(ESTIMATORS), name)
    return object.__new__(made)
