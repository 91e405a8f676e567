"""The estimators with a weight for each feature, and those that know how sure they are of it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from scwlearn.data.rows import Rows
from scwlearn.estimators.base import OnlineClassifier, make_class
from scwlearn.learning.classifier import Recipe
from scwlearn.learning.explain import Part, Weight, largest_weights, parts_of_scores
from scwlearn.learning.recipe import linear_recipe
from scwlearn.learning.settings import docstring, settings
from scwlearn.rules import Rule

Array = NDArray[np.float64]


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
        return largest_weights(self._named(), learner.class_labels(), learner.weights(), self._variances(), n)

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
        return parts_of_scores(self._named(), learner.class_labels(), learner.weights(), self._variances(), seen)

    def _named(self) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if names is None else names.tolist()

    def _variances(self) -> Array | None:
        return None

    def _recipe(self, rows: Rows) -> Recipe:
        # A subclass may have some of them as attributes only.
        names = [setting.name for setting in settings(self._rule) if hasattr(self, setting.name)]
        return linear_recipe(self._rule, {name: getattr(self, name) for name in names})


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

    def _variances(self) -> Array | None:
        return self._learner.variances()


def make_estimator(rule: Rule) -> type[OnlineClassifier]:
    """The scikit-learn class of a rule: its parameters as keyword arguments, its formula in the docstring."""
    base = LinearClassifier if rule.order == 1 else SecondOrderClassifier
    return make_class(rule, rule.estimator, base, settings(rule), docstring(rule))
