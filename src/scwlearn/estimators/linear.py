"""The linear estimators: a weight for each feature and, for second-order rules, its variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from scwlearn._util.locks import reading
from scwlearn.data.rows import Rows, as_vector
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.making import make_class
from scwlearn.estimators.margin_variance import MarginVariance
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.explain import explain_row
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.explain import Part, Weight, largest_weights
from scwlearn.learning.settings import Face
from scwlearn.rules import Rule

Array = NDArray[np.float64]


class ExplainedClassifier(OnlineClassifier):
    """A classifier whose scores are explained by features."""

    @reading
    def top_features(self, n: int = 10) -> dict[Any, list[Weight]]:
        """Return the n largest weights in absolute value of each class (with two classes, of the second).

        Weights apply to features as the model sees them, after scaling; those of a committee are what a typical value
        of each feature adds to the score.

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
        >>> from sklearn.datasets import load_iris
        >>> from scwlearn import SCW1
        >>> iris = load_iris(as_frame=True)
        >>> model = SCW1(random_state=0).fit(iris.data, iris.target)
        >>> {label: top[0].name for label, top in model.top_features(1).items()}
        {0: 'petal length (cm)', 1: 'petal width (cm)', 2: 'petal length (cm)'}
        """
        learner = self._fitted("top_features")
        return largest_weights(self._named(), learner.class_labels(), learner.weights(), self._variances(), n)

    def explain(self, x: Any) -> dict[Any, list[Part]]:
        """Return what each feature of one example adds to the score of each class (with two classes, of the second).

        Values and weights are as the model sees them, after scaling. Those of a committee are before scaling, since its
        members scale differently, and their standard deviations are NaN.

        Parameters
        ----------
        x : array-like of shape (n_features,), or array-like or sparse matrix of shape (1, n_features)
            The example. The index of a pandas Series must be the names of the features, as the columns of a data frame.

        Returns
        -------
        dict
            A list of `Part` by label, the largest first, the intercept last. They add up to the score.

        Examples
        --------
        >>> from scwlearn import AROW
        >>> model = AROW().fit([[1.0, 0.0], [0.0, 1.0]], ["day", "night"])
        >>> parts = model.explain([0.5, 2.0])["night"]
        >>> [part.name for part in parts]
        [1, 0, '(intercept)']
        >>> bool(abs(sum(part.adds for part in parts) - model.decision_function([[0.5, 2.0]])[0]) < 1e-12)
        True
        """
        check_is_fitted(self)
        rows = self._rows(_one_row(x), reset=False)
        if len(rows) != 1:
            raise ValueError(f"x has {len(rows)} rows; pass one example")
        with self._lock:
            # Before the row is made dense, which takes memory only where there are weights for all of it.
            self._classifier.learner._fitted()
            return explain_row(self._classifier.snapshot, self._named(), rows.dense()[0])

    def _named(self) -> Sequence[Any]:
        names = getattr(self, "feature_names_in_", None)
        # A range takes no memory: where nothing was learned, a model file may state any number of features.
        return range(self.n_features_in_) if names is None else names.tolist()

    def _variances(self) -> Array | None:
        return None


class LinearClassifier(ExplainedClassifier):
    """A classifier with a weight for each feature, and with more than two classes for each class."""

    _face = Face.ESTIMATOR

    @property
    @reading
    def coef_(self) -> Array:
        """The weights that predictions use: (1, n_features) for two classes, otherwise (n_classes, n_features).

        They apply to features as given, even if the model scales them. They cannot express that `scale="standard"`
        clips values, nor the length of a row, by which `scale="unit"` divides it.
        """
        weights = self._learned("coef_").weights()[:, : self.n_features_in_]
        return weights / self._classifier.feature_scales(self.n_features_in_)

    @property
    @reading
    def intercept_(self) -> Array:
        """The mean intercepts: (1,) for two classes, otherwise (n_classes,)."""
        learner, count = self._learned("intercept_"), self.n_features_in_
        weights = learner.weights()
        centred: Array = weights[:, :count] @ (learner.feature_centres(count) / learner.feature_scales(count))
        constants = weights[:, count:]
        return (constants[:, 0] if constants.size else 0.0) - centred

    def _new_classifier(self, rows: Rows, labels: NDArray[Any], weights: Array | None) -> Classifier:
        settings = self._settings()
        class_weight = settings.pop("class_weight", None)
        return Classifier(LearnerConfig.create(self._rule, settings, defaults_of=self._face), class_weight)


class SecondOrderClassifier(MarginVariance, LinearClassifier):
    """A linear classifier that keeps the variance of each weight."""

    @property
    @reading
    def variance_(self) -> Array:
        """The variance of each weight, in the shape of `coef_`."""
        variances = self._learned("variance_").variances()[:, : self.n_features_in_]
        return variances / np.square(self._classifier.feature_scales(self.n_features_in_))

    @property
    @reading
    def covariance_(self) -> Array:
        """Sigma: (n_features, n_features), or one per class with more than two classes."""
        learner = self._learned("covariance_")
        if not learner.learner.model.covariance.correlated:
            raise AttributeError(f"covariance_ needs a full covariance; this one is {learner.covariance_kind}")
        scales = learner.feature_scales(self.n_features_in_)
        return learner.matrix()[..., : self.n_features_in_, : self.n_features_in_] / np.outer(scales, scales)

    @property
    def covariance_kind_(self) -> str:
        """The form of Sigma in use; `covariance` may leave it open ("auto")."""
        return self._fitted("covariance_kind_").covariance_kind

    def _variances(self) -> Array | None:
        return self._classifier.variances()


def _one_row(x: Any) -> Any:
    """Return an example as a matrix, as `predict` takes it."""
    if np.ndim(x) == 2 or hasattr(x, "tocsr"):
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        # With the names of a pandas Series, so that they are compared with those of the model.
        return x.to_frame().T
    return as_vector(x)[np.newaxis]


def make_estimator(rule: Rule) -> type[OnlineClassifier]:
    """Return the linear estimator class of a rule."""
    return make_class(rule, Face.ESTIMATOR, LinearClassifier if rule.order == 1 else SecondOrderClassifier)
