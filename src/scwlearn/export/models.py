"""From weights to a model that says what they say, and can go on learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.data.labels import as_labels
from scwlearn.export.weights import SEVERAL, Array, Weights
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.learner import Learner
from scwlearn.model import Gaussian
from scwlearn.model.gaussian import NORM2, NORM2_PEAK, ROUNDS
from scwlearn.rules import Rule, find_rule
from scwlearn.runs.config import Choices
from scwlearn.runs.trained_model import Model

#: How weights go on learning that do not say.
DEFAULT_ALGORITHM = "scw1"


def model_of(
    weights: Weights,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
) -> Model:
    """A classifier with these weights, which goes on by a rule: the one given, or the one that they learned by.

    Weights of which no variance is given have the prior's. A Sigma in full begins without correlations, of which
    weights say nothing.
    """
    own: dict[str, Any] = dict(parameters or {})
    if rule is None:
        rule = find_rule(weights.algorithm or DEFAULT_ALGORITHM)
        own = weights.parameters | own
    if initial_variance is not None:
        weights = replace(weights, initial_variance=initial_variance)
    learner = Choices(rule, rule.check(own), _settings(weights, rule)).learner()
    learner.name_classes(as_labels(weights.classes))
    _teach(learner, weights)
    if weights.calibration is not None:
        state = learner.calibration.state
        if weights.calibration.shape != state.shape:
            raise ValueError(f"calibration must have {len(state)} numbers, got {weights.calibration.size}")
        learner.calibration.state = weights.calibration
    return Model(learner, weights.schema)


def _settings(weights: Weights, rule: Rule) -> dict[str, Any]:
    """How the learner is made; what the rule does not know is left out."""
    told = {name: weights.settings[name] for name in (*SEVERAL, "covariance") if name in weights.settings}
    if rule.order == 1:
        told = {name: value for name, value in told.items() if name in ("multi_class", "rivals")}
    elif told.get("covariance") == "identity":
        del told["covariance"]
    if not rule.has_rivals:
        told.pop("rivals", None)
    return told | {"fit_intercept": weights.intercept is not None, "initial_variance": weights.initial_variance}


def _teach(learner: ClassLearner, weights: Weights) -> None:
    """Let a learner that has learned nothing know the weights."""
    inner, named = learner.learner, weights.features is not None
    model = inner._prior(weights.coef.shape[1], named=named)
    means = _with_constant(weights.coef, weights.intercept)
    variances = None if learner.recipe.rule.order == 1 else _variances(weights)
    if isinstance(inner, Learner):
        _fill(model, means[0], None if variances is None else variances[0])
        norms = [float(means[0] @ means[0])]
    else:
        for number, mean in enumerate(means):
            one = model.of_class(number)
            _fill(one, mean, None if variances is None else variances[number])
            model.covariance.fill(model.memory, number, mean, one)
        norms = np.square(means).sum(axis=1).tolist()
        norms = [sum(norms)] if model.joint else norms
    scalars = model.scalars.reshape(-1, model.scalars.shape[-1])
    for line, norm2 in zip(scalars, norms, strict=False):
        line[[NORM2, NORM2_PEAK]] = norm2
        line[ROUNDS] = weights.counts[0]
    inner.model = model
    inner._tally = np.array(weights.counts, dtype=np.int64)
    if weights.features is not None:
        inner.vocabulary = Vocabulary(None, False)
        inner.vocabulary.add(weights.features, np.ones(len(weights.features), dtype=np.int64))


def _variances(weights: Weights) -> Array | None:
    if weights.variance is None:
        return None
    constant = weights.intercept_variance
    if constant is None and weights.intercept is not None:
        constant = np.full(len(weights.intercept), np.nan)
    variances = _with_constant(weights.variance, constant)
    return np.where(np.isnan(variances), weights.initial_variance, variances)


def _fill(gaussian: Gaussian, mean: Array, variances: Array | None) -> None:
    gaussian.mean[:] = mean
    if variances is not None:
        spread = gaussian.spread[1] if gaussian.covariance.name == "full" else gaussian.spread
        spread[: len(variances)] = variances


def _with_constant(lines: Array, constants: Array | None) -> Array:
    return lines if constants is None else np.column_stack([lines, constants])
