"""The scikit-learn face of a kernel learner; estimators.py makes one class of it for each rule."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from scwlearn._util.checks import check_bool
from scwlearn.data.rows import Rows
from scwlearn.estimators.base import OnlineClassifier, make_class
from scwlearn.kernels.functions import PARAMETERS, PRECOMPUTED, Kernel
from scwlearn.kernels.learner import KernelLearner
from scwlearn.kernels.multi import KernelMultiLearner
from scwlearn.learning.classifier import SEVERAL, Recipe
from scwlearn.learning.settings import kernel_docstring, kernel_settings
from scwlearn.rules import Rule

Array = NDArray[np.float64]


class KernelClassifier(OnlineClassifier):
    """A classifier that compares examples by a kernel."""

    _with_kernel = True
    _fixed: ClassVar[tuple[str, ...]] = (
        "kernel",
        "gamma",
        "degree",
        "coef0",
        "budget",
        "tolerance",
        "max_support",
        "multi_class",
        "rivals",
        *OnlineClassifier._fixed,
    )

    kernel: str | Callable[..., Any]
    gamma: float | str
    degree: float
    coef0: float
    budget: int | None
    tolerance: float | None
    max_support: int
    multi_class: str
    initial_variance: float

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        if self.kernel == PRECOMPUTED:
            raise ValueError(
                "partial_fit does not work with kernel='precomputed': its examples are columns of one matrix; use fit, "
                "or pass the kernel as a function"
            )
        return super().partial_fit(X, y, classes, sample_weight)

    partial_fit.__doc__ = OnlineClassifier.partial_fit.__doc__

    @property
    def n_support_(self) -> int:
        """How many examples the support has."""
        count: int = self._begun("n_support_").learner.support.count
        return count

    @property
    def support_vectors_(self) -> Any:
        """The examples in whose span the model lies."""
        learner = self._begun("support_vectors_").learner
        if learner.kernel.is_precomputed:
            raise AttributeError("support_vectors_ is not known with a precomputed kernel; support_ has their columns")
        return learner.support.examples

    @property
    def support_(self) -> NDArray[np.intp]:
        """The columns of these examples in a precomputed kernel matrix."""
        learner = self._begun("support_").learner
        if not learner.kernel.is_precomputed:
            raise AttributeError("support_ is for a precomputed kernel; support_vectors_ has the examples")
        columns: NDArray[np.intp] = learner.support.examples
        return columns

    @property
    def dual_coef_(self) -> Array:
        """The mean as a combination of the support: (1, n_support) for two classes, else (n_classes, n_support)."""
        learner = self._begun("dual_coef_")
        return learner.now.by_label(learner.learner.dual_coefficients())

    @property
    def gamma_(self) -> float:
        """What `gamma` became."""
        parameters = self._begun("gamma_").learner.kernel.parameters
        if "gamma" not in parameters:
            raise AttributeError(f"kernel {self.kernel!r} takes no gamma")
        gamma: float = parameters["gamma"]
        return gamma

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _recipe(self, rows: Rows) -> Recipe:
        how = {name: getattr(self, name) for name in ("budget", "tolerance", "max_support")}
        how["kernel"] = Kernel(self.kernel, self._kernel_parameters(rows))
        how["intercept"] = check_bool("fit_intercept", self.fit_intercept)
        if self._rule.order == 2:
            how["initial_variance"] = self.initial_variance
        several = {name: getattr(self, name) for name in SEVERAL if hasattr(self, name)}
        return Recipe(KernelLearner, KernelMultiLearner, self._rule, self._own_parameters(), how, several)

    def _kernel_parameters(self, rows: Rows) -> dict[str, float]:
        known = PARAMETERS.get(self.kernel, {}) if isinstance(self.kernel, str) else {}
        given = {"degree": self.degree, "coef0": self.coef0}
        found = {name: _number(name, given[name]) for name in known if name in given}
        return found | {"gamma": _gamma(self.gamma, rows)} if "gamma" in known else found


class SecondOrderKernelClassifier(KernelClassifier):
    """A kernel classifier that knows how sure it is of each score."""

    _fixed = (*KernelClassifier._fixed, "initial_variance")

    def margin_variance(self, X: Any) -> Array:
        """x'Sigma x of each example in the space of the kernel, for more than two classes of each class.

        It says how unsure a score is.
        """
        check_is_fitted(self)
        return self._learner.margin_variances(self._rows(X, reset=False))


def make_kernel_estimator(rule: Rule) -> type[OnlineClassifier]:
    """The scikit-learn class of a rule with a kernel."""
    base = KernelClassifier if rule.order == 1 else SecondOrderKernelClassifier
    return make_class(rule, rule.kernel_estimator, base, kernel_settings(rule), kernel_docstring(rule))


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def _gamma(gamma: Any, rows: Rows) -> float:
    if gamma == "auto":
        return 1.0 / max(1, rows.width)
    if gamma == "scale":
        rows.check()
        variance = rows.variance()
        return 1.0 / (max(1, rows.width) * variance) if variance > 0 else 1.0
    if isinstance(gamma, str) or _number("gamma", gamma) <= 0:
        raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {gamma!r}")
    return float(gamma)
