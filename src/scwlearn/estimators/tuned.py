"""The estimator that tunes: it picks the parameters of a classifier by its progressive error in one pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from scwlearn._util.interrupts import interrupts_held
from scwlearn.data.weights import check_weights, training_classes
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.orders import as_random_state, orders_of_fit
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.tuning import combinations, count_each, nearest_first

# Parameters that change no cell: all learn the same examples once, in the same order, and count mistakes.
_OF_FIT = ("n_epochs", "shuffle", "random_state", "n_jobs", "costs")

Array = NDArray[np.float64]


class TunedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of this library with the best parameters of a grid.

    `fit` trains a classifier for each cell of the grid in one pass over the training examples, and counts how many it
    misclassifies just before it learns from them. The cell with the fewest mistakes is trained on all examples. So no
    data is held out, and nothing is repeated for folds. With two classes and no weights, all cells of a linear
    classifier learn together, which takes about as long as a few runs.

    All cells are compared on the same examples, those of a `sample_weight` other than 0. A cell whose `class_weight`
    is 0 for a class learns nothing about it, so each of its examples counts as a mistake.

    Parameters
    ----------
    estimator : OnlineClassifier, default=None
        The classifier to tune, with the settings that all cells have in common; None for `SCW1()`.
    param_grid : dict of str to list, default=None
        The values to try for each parameter of the classifier, other than `n_epochs`, `shuffle`, `random_state`,
        `n_jobs` and `costs`; None for the paper's grid of its algorithm.
    random_state : int, RandomState or None, default=None
        Random seed for shuffling, the same for all cells; None for that of `estimator`.
    n_jobs : int or None, default=-1
        Number of threads on which the cells learn, all from the same examples in memory; None for 1, -1 for all cores,
        -2 for all but one. The result is the same to the last bit.

    Attributes
    ----------
    best_params_ : dict
        The best cell; of equal ones, the one nearest to the parameters of `estimator`.
    best_error_ : float
        Its progressive error in the first pass.
    best_estimator_ : OnlineClassifier
        The classifier with these parameters, trained on all examples. It can learn on with `partial_fit`.
    results_ : dict
        All cells: "params", a list of dicts, and "progressive_error", an array.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X was a data frame with string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from scwlearn import AROW, TunedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TunedClassifier(AROW(random_state=0)).fit(X, y)
    >>> model.best_params_
    {'r': 0.125}
    >>> model.score(X, y) > 0.9
    True
    """

    # What can be saved and merged instead.
    _part_to_save = "best_estimator_"

    best_estimator_: OnlineClassifier
    best_params_: dict[str, Any]
    best_error_: float
    results_: dict[str, Any]

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune the classifier and train it with the best parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each example.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For bad examples, labels, weights or parameters. The estimator is then unchanged.
        """
        base = self._base()
        cells = self._cells(base)
        # All cells, and the best one afterwards, see the examples in the same order.
        seed = base.random_state if self.random_state is None else self.random_state
        if not isinstance(seed, int | np.integer):
            seed = as_random_state(seed).randint(2**31 - 1)
        base.set_params(random_state=seed)
        rows, labels = base._examples(X, y, reset=True)
        weights = check_weights(sample_weight, len(rows), name="sample_weight")
        rows.check()
        classifiers = [clone(base).set_params(**cell)._new_classifier(rows, labels, weights) for cell in cells]
        for classifier in classifiers:
            training_classes(labels, weights, classifier.class_weights)

        def order_of(classifier: Classifier) -> NDArray[np.intp] | None:
            return next(orders_of_fit(base, labels, weights, classifier.class_weights))

        counts = count_each(classifiers, rows, labels, order_of=order_of, weights=weights, n_jobs=self.n_jobs)
        mistakes = [each.mistakes for each in counts]
        best = min(nearest_first(cells, base.get_params()), key=mistakes.__getitem__)
        fitted = clone(base).set_params(**cells[best]).fit(X, y, sample_weight)
        errors = np.array([each.mistakes / max(1, each.seen) for each in counts])
        results = {"params": cells, "progressive_error": errors}
        with interrupts_held():
            self.best_estimator_, self.best_params_, self.best_error_ = fitted, cells[best], float(errors[best])
            self.results_ = results
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._best("classes_").classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._best("n_features_in_").n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, if X was a data frame with string column names."""
        names: NDArray[Any] = self._best("feature_names_in_").feature_names_in_
        return names

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each example with the best classifier."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class with the best classifier, in the order of `classes_`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class; see `predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Compute the score of each example with the best classifier."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the best classifier on examples and their labels."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y, sample_weight)

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        if self.__sklearn_is_fitted__():
            other.best_estimator_ = copy(self.best_estimator_)
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # A precomputed kernel must be cut along its rows and its columns.
        tags.input_tags.pairwise = self.estimator is not None and get_tags(self.estimator).input_tags.pairwise
        return tags

    def _best(self, name: str) -> OnlineClassifier:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before fit")
        return self.best_estimator_

    def _base(self) -> OnlineClassifier:
        """Return a new classifier with the common settings."""
        if self.estimator is None:
            from scwlearn.estimators import SCW1

            new: OnlineClassifier = SCW1()
            return new
        if not isinstance(self.estimator, OnlineClassifier):
            raise TypeError(
                f"estimator must be a classifier of scwlearn such as SCW1(), got {self.estimator!r}; tune others with "
                "scikit-learn's GridSearchCV"
            )
        base: OnlineClassifier = clone(self.estimator)
        return base

    def _cells(self, base: OnlineClassifier) -> list[dict[str, Any]]:
        if self.param_grid is None:
            return combinations({p.name: p.grid for p in base._rule.parameters if p.grid})
        if not isinstance(self.param_grid, Mapping):
            raise TypeError(f"param_grid must be a dict of names and lists of values, got {self.param_grid!r}")
        known = base.get_params()
        axes = {}
        for name, values in self.param_grid.items():
            if name not in known:
                raise ValueError(
                    f"param_grid: {type(base).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            if name in _OF_FIT:
                raise ValueError(f"param_grid: {name} is the same for all cells; set it in estimator")
            # An iterator would be empty in the next fit.
            if isinstance(values, str) or not isinstance(values, Collection) or not list(values):
                raise ValueError(f"param_grid[{name!r}] must be a list of values, got {values!r}")
            axes[name] = list(values)
        return combinations(axes)
