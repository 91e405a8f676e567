"""What the estimators of second-order rules have in common, linear ones and those of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from scwlearn.estimators.base import OnlineClassifier

Array = NDArray[np.float64]


class MarginVariance(OnlineClassifier):
    """Base of the estimators of second-order rules: scores have variances."""

    def margin_variance(self, X: Any) -> Array:
        """Compute x'Sigma x, the variance of the score, of each example.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) with more than two classes
            The variances.

        Examples
        --------
        >>> from scwlearn import AROW
        >>> model = AROW().fit([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
        >>> seen, strange = model.margin_variance([[1.0, 0.0], [0.0, 1.0]])
        >>> bool(seen < strange)
        True
        """
        check_is_fitted(self)
        return self._classifier.margin_variances(self._rows(X, reset=False))
