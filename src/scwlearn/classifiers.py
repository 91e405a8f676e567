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
from scwlearn.classes import SEVERAL, ClassLearner, Recipe
from scwlearn.data.labels import given_classes, label_kind
from scwlearn.data.rows import Rows
from scwlearn.data.weights import check_weights
from scwlearn.explain import Part, Weight, largest_weights, parts_of_scores
from scwlearn.learner import Learner
from scwlearn.multiclass import MultiLearner
from scwlearn.rounds import Counts
from scwlearn.rules import Rule
from scwlearn.signatures import Setting, docstring, initializer, settings

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
            epochs = whole_number("n_epochs", self.n_epochs)
            rows, labels = self._examples(X, y, reset=True)
            weights = check_weights(sample_weight, len(rows), name="sample_weight")
            learner = self._begin(rows)
            if weights is not None and not weights.any():
                raise ValueError("sample_weight is zero for every example, so that there is nothing to learn from")
            learner.name_classes(_at_least_two(labels if weights is None else labels[weights != 0]))
            random = _random(self.random_state)
            shuffle = flag("shuffle", self.shuffle)
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


class LinearClassifier(OnlineClassifier):
    """A classifier with a weight for each feature, and for more than two classes for each class."""

    _fixed: ClassVar[tuple[str, ...]] = ("multi_class", "rivals", "scale", *OnlineClassifier._fixed)

    multi_class: str
    scale: bool

    @property
    def coef_(self) -> Array:
        """The mean weights, of shape (1, n_features) for two classes, else (n_classes, n_features).

        For features as they are given, also where they are scaled inside.
        """
        weights = self._begun("coef_").weights()[:, : self.n_features_in_]
        return weights / self._learner.feature_scales(self.n_features_in_)

    @property
    def intercept_(self) -> Array:
        """The mean constants, of shape (1,) for two classes, else (n_classes,)."""
        weights = self._begun("intercept_").weights()
        constants = weights[:, self.n_features_in_ :]
        return constants[:, 0] if constants.size else np.zeros(len(weights))

    def top_features(self, n: int = 10) -> dict[Any, list[Weight]]:
        """The n largest weights by size, with names and standard deviations, for each class (of two, the second).

        First-order algorithms know no deviations: they are NaN. Weights are for features as the model sees them, which
        is after scaling.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from scwlearn import SCW1
        >>> iris = load_iris(as_frame=True)
        >>> model = SCW1(shuffle=True, random_state=0).fit(iris.data, iris.target)
        >>> {label: top[0].name for label, top in model.top_features(1).items()}
        {0: 'petal length (cm)', 1: 'petal width (cm)', 2: 'petal length (cm)'}
        """
        learner = self._begun("top_features")
        return largest_weights(self._named(), learner.class_labels(), learner.weights(), self._deviations(), n)

    def explain(self, x: Any) -> dict[Any, list[Part]]:
        """What each feature of one example adds to the score of each class (of two, the second), the largest first.

        The constant, if there is one, comes last. All parts together are the score. Values and weights are as the model
        sees them, which is after scaling.

        Examples
        --------
        >>> from scwlearn import AROW
        >>> model = AROW().fit([[1.0, 0.0], [0.0, 1.0]], ["day", "night"])
        >>> parts = model.explain([0.5, 2.0])["night"]
        >>> [part.name for part in parts]
        [1, 0, '(constant)']
        >>> bool(abs(sum(part.adds for part in parts) - model.decision_function([[0.5, 2.0]])[0]) < 1e-12)
        True
        """
        check_is_fitted(self)
        values = Rows(np.asarray(x.toarray() if hasattr(x, "toarray") else x).reshape(1, -1)).dense()[0]
        if len(values) != self.n_features_in_:
            raise ValueError(
                f"x has {len(values)} features, but this model has {self.n_features_in_}; pass one example"
            )
        learner = self._learner
        seen = values / learner.feature_scales(self.n_features_in_)
        return parts_of_scores(self._named(), learner.class_labels(), learner.weights(), self._deviations(), seen)

    def _named(self) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if names is None else names.tolist()

    def _deviations(self) -> Array | None:
        return None

    def _recipe(self, rows: Rows) -> Recipe:
        several = {name: getattr(self, name) for name in SEVERAL if hasattr(self, name)}
        taken = ("covariance", "initial_variance", "variance_floor", "scale")
        how = {name: getattr(self, name) for name in taken if hasattr(self, name)}
        how["intercept"] = flag("fit_intercept", self.fit_intercept)
        return Recipe(Learner, MultiLearner, self._rule, self._own_parameters(), how, several)


class SecondOrderClassifier(LinearClassifier):
    """A linear classifier that knows how sure it is of each weight."""

    _fixed = ("covariance", "initial_variance", "variance_floor", "shared_covariance", *LinearClassifier._fixed)

    covariance: str
    initial_variance: float
    variance_floor: float
    shared_covariance: bool

    def margin_variance(self, X: Any) -> Array:
        """x'Sigma x of each example, for more than two classes of each class: how unsure its score is.

        Examples
        --------
        >>> from scwlearn import AROW
        >>> model = AROW().fit([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
        >>> seen, strange = model.margin_variance([[1.0, 0.0], [0.0, 1.0]])
        >>> bool(seen < strange)
        True
        """
        check_is_fitted(self)
        return self._learner.margin_variances(self._rows(X, reset=False))

    @property
    def variance_(self) -> Array:
        """The variance of each weight, of the shape of `coef_`."""
        variances = self._begun("variance_").variances()[:, : self.n_features_in_]
        return variances / np.square(self._learner.feature_scales(self.n_features_in_))

    @property
    def covariance_(self) -> Array:
        """Sigma of the weights, of shape (n_features, n_features), for more than two classes with one for each."""
        learner = self._begun("covariance_")
        if learner.covariance_kind != "full":
            raise AttributeError(f"covariance_ needs a full covariance; this one is {learner.covariance_kind}")
        scales = learner.feature_scales(self.n_features_in_)
        return learner.matrix()[..., : self.n_features_in_, : self.n_features_in_] / np.outer(scales, scales)

    @property
    def covariance_kind_(self) -> str:
        """What the parameter `covariance` became."""
        return self._begun("covariance_kind_").covariance_kind

    def _deviations(self) -> Array | None:
        deviations: Array = np.sqrt(self._learner.variances())
        return deviations


def make_estimator(rule: Rule) -> type[OnlineClassifier]:
    """The scikit-learn class of a rule: its parameters as keyword arguments, its formula in the docstring."""
    base = LinearClassifier if rule.order == 1 else SecondOrderClassifier
    return make_class(rule, rule.estimator, base, settings(rule), docstring(rule))


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
