"""The scikit-learn face of a learner; estimators.py makes one class of it for each rule."""

from __future__ import annotations

import importlib
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

from scwlearn.checks import flag, whole_number
from scwlearn.covariance import Gaussian
from scwlearn.data.labels import as_signs, binary_classes, label_kind
from scwlearn.data.rows import Rows
from scwlearn.learner import Learner
from scwlearn.rounds import Counts
from scwlearn.rules import Rule
from scwlearn.signatures import Setting, docstring, settings, signature

Array = NDArray[np.float64]

#: The module in which the classes are found by their names.
ESTIMATORS = "scwlearn.estimators"


class OnlineClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the classifiers of all rules share: fit, partial_fit and predict on top of a learner."""

    _rule: ClassVar[Rule]
    _with_kernel: ClassVar[bool] = False
    #: How the model is kept: settings that cannot change once it has begun.
    _fixed: ClassVar[tuple[str, ...]] = ("fit_intercept",)

    classes_: NDArray[Any]
    n_features_in_: int
    fit_intercept: bool
    n_epochs: int
    shuffle: bool
    random_state: int | np.random.RandomState | None
    _learner: Any
    _began: dict[str, Any]

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the examples in order, `n_epochs` times, starting from the prior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples. Read where they lie if C-ordered float32 or float64, or CSR.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.

        Returns
        -------
        self
        """
        with _attributes_kept(self):
            epochs = whole_number("n_epochs", self.n_epochs)
            rows, labels = self._examples(X, y, reset=True)
            learner = self._begin(rows)
            self.classes_ = binary_classes(labels)
            signs = as_signs(labels, self.classes_)
            random = _random(self.random_state)
            shuffle = flag("shuffle", self.shuffle)
            for _ in range(epochs):
                learner.learn(rows, signs, order=random.permutation(len(rows)) if shuffle else None)
            self._learner = learner
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning from the examples in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (2,), optional
            The two labels. Needed in the first call if `y` does not hold both.

        Returns
        -------
        self
        """
        with _attributes_kept(self):
            first = not self.__sklearn_is_fitted__()
            rows, labels = self._examples(X, y, reset=first)
            learner = self._begin(rows) if first else self._same_learner()
            if classes is not None:
                label_kind(classes, name="classes")
                given = binary_classes(classes, name="classes")
                if first:
                    self.classes_ = given
                elif not np.array_equal(given, self.classes_):
                    raise ValueError(f"classes={given.tolist()} is not what the model began with: {self.classes_}")
            elif first and len(np.unique(labels)) < 2:
                raise ValueError("the first partial_fit holds one class only; name both with classes=[...]")
            elif first:
                self.classes_ = binary_classes(labels)
            learner.learn(rows, as_signs(labels, self.classes_))
            self._learner = learner
        return self

    def decision_function(self, X: Any) -> Array:
        """The score mu.x (and intercept) of each example: its sign is the class, its size the margin."""
        check_is_fitted(self)
        scores: Array = self._learner.scores(self._rows(X, reset=False))
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each example; a score of exactly 0 gives the second class."""
        scores = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(scores >= 0).astype(np.intp)]
        return labels

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
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _new_learner(self, rows: Rows) -> Any:
        """A learner with the parameters as they are now, about to begin with some rows."""

    def _begin(self, rows: Rows) -> Any:
        self._began = {name: getattr(self, name) for name in self._fixed}
        return self._new_learner(rows)

    def _own_parameters(self) -> dict[str, Any]:
        return {p.name: getattr(self, p.name) for p in self._rule.parameters}

    def _same_learner(self) -> Any:
        """The learner so far, with the rule's parameters as they are now; how the model is kept cannot change."""
        for name in self._fixed:
            began, wanted = self._began[name], getattr(self, name)
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
        counts: Counts = self._begun(name).counts
        return counts

    def _begun(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit")
        return self._learner


class LinearClassifier(OnlineClassifier):
    """A classifier with a weight for each feature."""

    @property
    def coef_(self) -> Array:
        """The mean weights, of shape (1, n_features)."""
        return self._gaussian("coef_").weights()[np.newaxis, : self.n_features_in_]

    @property
    def intercept_(self) -> Array:
        """The mean constant, of shape (1,)."""
        constant = self._gaussian("intercept_").weights()[self.n_features_in_ :]
        return constant if len(constant) else np.zeros(1)

    def _new_learner(self, rows: Rows) -> Learner:
        names = ("covariance", "initial_variance") if self._rule.order == 2 else ()
        how: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Learner(self._rule, intercept=flag("fit_intercept", self.fit_intercept), **how, **self._own_parameters())

    def _gaussian(self, name: str) -> Gaussian:
        gaussian: Gaussian | None = self._begun(name).gaussian
        assert gaussian is not None
        return gaussian


class SecondOrderClassifier(LinearClassifier):
    """A linear classifier that knows how sure it is of each weight."""

    _fixed = ("covariance", "initial_variance", "fit_intercept")

    covariance: str
    initial_variance: float

    def margin_variance(self, X: Any) -> Array:
        """x'Sigma x of each example: how unsure its score is."""
        check_is_fitted(self)
        variances: Array = self._learner.margin_variances(self._rows(X, reset=False))
        return variances

    @property
    def variance_(self) -> Array:
        """The variance of each weight, of shape (1, n_features)."""
        return self._gaussian("variance_").variances()[np.newaxis, : self.n_features_in_]

    @property
    def covariance_(self) -> Array:
        """Sigma of the weights, of shape (n_features, n_features)."""
        gaussian = self._gaussian("covariance_")
        if gaussian.covariance.name != "full":
            raise AttributeError(f"covariance_ needs a full covariance; this one is {gaussian.covariance.name}")
        return gaussian.matrix()[: self.n_features_in_, : self.n_features_in_]

    @property
    def covariance_kind_(self) -> str:
        """What the parameter `covariance` became."""
        return self._gaussian("covariance_kind_").covariance.name


def make_estimator(rule: Rule) -> type[OnlineClassifier]:
    """The scikit-learn class of a rule: its parameters as keyword arguments, its formula in the docstring."""
    base = LinearClassifier if rule.order == 1 else SecondOrderClassifier
    return make_class(rule, rule.estimator, base, settings(rule), docstring(rule))


def make_class(
    rule: Rule, name: str, base: type[OnlineClassifier], taken: tuple[Setting, ...], documentation: str
) -> type[OnlineClassifier]:
    """A class of that name for a rule, which takes these settings."""
    defaults = {s.name: s.default for s in taken}

    def __init__(self: OnlineClassifier, **given: Any) -> None:
        for argument in given:
            if argument not in defaults:
                raise TypeError(f"{name} has no parameter {argument!r}; it has {', '.join(defaults)}")
        for parameter, default in defaults.items():
            setattr(self, parameter, given.get(parameter, default))

    __init__.__qualname__ = name
    # scikit-learn reads the parameters of an estimator from here.
    __init__.__signature__ = signature(taken)  # type: ignore[attr-defined]
    return type(
        name, (base,), {"__init__": __init__, "__doc__": documentation, "__module__": ESTIMATORS, "_rule": rule}
    )


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
