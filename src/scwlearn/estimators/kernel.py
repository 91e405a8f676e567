"""The kernel estimators: scores in the feature space of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._util.locks import reading
from scwlearn._util.real_numbers import real_number
from scwlearn.data.rows import Rows
from scwlearn.data.weights import ClassWeights
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.making import make_class
from scwlearn.estimators.margin_variance import MarginVariance
from scwlearn.kernels.functions import PARAMETERS, PRECOMPUTED, Kernel
from scwlearn.kernels.learner import KernelLearner, kernel_config
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.settings import Face
from scwlearn.rules import Rule

Array = NDArray[np.float64]


class KernelClassifier(OnlineClassifier):
    """A classifier in the feature space of a kernel."""

    _face = Face.KERNEL_ESTIMATOR

    kernel: str | Callable[..., Any]
    gamma: float | str
    degree: float
    coef0: float

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        if self.kernel == PRECOMPUTED:
            raise ValueError(
                "partial_fit does not work with kernel='precomputed', whose examples are columns of one matrix; "
                "use fit, or pass the kernel as a function"
            )
        return super().partial_fit(X, y, classes, sample_weight)

    partial_fit.__doc__ = OnlineClassifier.partial_fit.__doc__

    @property
    def n_support_(self) -> int:
        """The number of support examples."""
        count: int = self._fitted("n_support_").learner.support.count
        return count

    @property
    def support_vectors_(self) -> Any:
        """The support examples."""
        learner = self._fitted("support_vectors_").learner
        if learner.kernel.is_precomputed:
            raise AttributeError("support_vectors_ is not known with a precomputed kernel; support_ has their columns")
        return learner.support.examples

    @property
    def support_(self) -> NDArray[np.intp]:
        """The columns of the support examples in a precomputed kernel matrix."""
        learner = self._fitted("support_").learner
        if not learner.kernel.is_precomputed:
            raise AttributeError("support_ is for a precomputed kernel; support_vectors_ has the examples")
        columns: NDArray[np.intp] = learner.support.examples
        return columns

    @property
    @reading
    def dual_coef_(self) -> Array:
        """The mean as a combination of the support: (1, n_support) for two classes, else (n_classes, n_support)."""
        classifier = self._fitted("dual_coef_")
        return classifier.snapshot.by_label(classifier.learner.dual_coefficients())

    @property
    def gamma_(self) -> float:
        """The value of gamma in use; `gamma` may leave it to the data ("scale", "auto")."""
        parameters = self._fitted("gamma_").learner.kernel.parameters
        if "gamma" not in parameters:
            raise AttributeError(f"kernel {self.kernel!r} takes no gamma")
        gamma: float = parameters["gamma"]
        return gamma

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _new_classifier(self, rows: Rows, labels: NDArray[Any], weights: Array | None) -> Classifier:
        settings = self._settings()
        class_weight = settings.pop("class_weight", None)
        if isinstance(self.gamma, str):
            # It depends on the values of the rows, so those of weight 0 must not count.
            rows.check()
            places = ClassWeights(class_weight).rows_of_weight(labels, None, weights)
            rows = rows if isinstance(places, slice) else rows.take(places)
        given = {name: value for name, value in settings.items() if name not in _OF_KERNEL}
        given["kernel"] = Kernel(self.kernel, self._kernel_parameters(rows))
        return Classifier(kernel_config(self._rule, given, defaults_of=self._face), class_weight, learner=KernelLearner)

    def _kernel_parameters(self, rows: Rows) -> dict[str, float]:
        known = PARAMETERS.get(self.kernel, {}) if isinstance(self.kernel, str) else {}
        given = {"degree": self.degree, "coef0": self.coef0}
        found = {name: _number(name, given[name]) for name in known if name in given}
        return found | {"gamma": _gamma(self.gamma, rows)} if "gamma" in known else found


class SecondOrderKernelClassifier(MarginVariance, KernelClassifier):
    """A kernel classifier of a second-order rule: scores have variances."""


# Settings of the kernel, not of the learner.
_OF_KERNEL = ("gamma", "degree", "coef0")


def make_kernel_estimator(rule: Rule) -> type[OnlineClassifier]:
    """Return the kernel estimator class of a rule."""
    base = KernelClassifier if rule.order == 1 else SecondOrderKernelClassifier
    return make_class(rule, Face.KERNEL_ESTIMATOR, base)


def _number(name: str, value: Any) -> float:
    number = real_number(value)
    if number is None or not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return number


def _gamma(gamma: Any, rows: Rows) -> float:
    if gamma == "auto":
        return 1.0 / max(1, rows.width)
    if gamma == "scale":
        variance = rows.variance()
        return 1.0 / (max(1, rows.width) * variance) if variance > 0 else 1.0
    if isinstance(gamma, str) or _number("gamma", gamma) <= 0:
        raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {gamma!r}")
    return float(gamma)
