"""Models from weights: they score the same, and can continue to learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.data.labels import as_labels
from scwlearn.export.weights import KEPT_SETTINGS, Array, Weights
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.settings import Face, settings_for
from scwlearn.model.gaussian import NORM2, NORM2_PEAK, ROUNDS, Gaussian
from scwlearn.rules import Rule, find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.trained_model import TrainedModel

#: Algorithm of weights that name none.
DEFAULT_ALGORITHM = "scw1"


def to_model(
    weights: Weights,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
) -> TrainedModel:
    """Return a classifier with these weights that continues by the given rule, or else by their own.

    Weights without a variance get that of the prior. A full covariance starts without correlations.
    """
    checked: dict[str, Any] = dict(parameters or {})
    if rule is None:
        rule = find_rule(weights.algorithm or DEFAULT_ALGORITHM)
        checked = weights.parameters | checked
    if initial_variance is not None:
        weights = replace(weights, initial_variance=initial_variance)
    classifier = ModelConfig(rule, rule.check(checked), _settings(weights, rule)).classifier()
    classifier.add_classes(as_labels(weights.classes))
    _set_weights(classifier, weights)
    if weights.calibration is not None:
        state = classifier.calibration.state
        if weights.calibration.shape != state.shape:
            raise ValueError(f"calibration must have {len(state)} numbers, got {weights.calibration.size}")
        classifier.calibration.state = weights.calibration
    return TrainedModel(classifier, weights.schema)


def _settings(weights: Weights, rule: Rule) -> dict[str, Any]:
    """Return the settings of the learner, without those that do not apply to the rule."""
    applicable = {setting.name for setting in settings_for(Face.ESTIMATOR, rule)}
    settings = {name: value for name, value in weights.settings.items() if name in KEPT_SETTINGS and name in applicable}
    if settings.get("covariance") == "identity":
        # Weights of a first-order algorithm, continued by a second-order one.
        del settings["covariance"]
    return settings | {"intercept": weights.intercept is not None, "initial_variance": weights.initial_variance}


def _set_weights(classifier: Classifier, weights: Weights) -> None:
    """Give the weights to a classifier that has learned nothing."""
    learner, named = classifier.learner, weights.features is not None
    model: Gaussian = learner._prior(weights.coef.shape[1], learner._known_classes(), named=named)
    means = _with_intercept(weights.coef, weights.intercept)
    variances = None if model.covariance.name == "identity" else _variances(weights)
    for number, mean in enumerate(means):
        one = model.of_class(number)
        one.mean[:] = mean
        if variances is not None:
            one.covariance.diagonal_in_place(one.memory)[:] = variances[number]
        model.covariance.fill(model.memory, number, one.memory)
    norms = [means[0] @ means[0]] if model.is_binary else np.square(means).sum(axis=1).tolist()
    for scalars, norm2 in zip(model.scalars, [sum(norms)] if model.joint else norms, strict=False):
        scalars[[NORM2, NORM2_PEAK]] = norm2
        scalars[ROUNDS] = weights.counts[0]
    learner.model = model
    learner._tally = np.array(weights.counts, dtype=np.int64)
    if weights.features is not None:
        learner.vocabulary = Vocabulary(None, False)
        learner.vocabulary.add(weights.features, np.ones(len(weights.features), dtype=np.int64))


def _variances(weights: Weights) -> Array | None:
    if weights.variance is None:
        return None
    of_intercept = weights.intercept_variance
    if of_intercept is None and weights.intercept is not None:
        of_intercept = np.full(len(weights.intercept), np.nan)
    variances = _with_intercept(weights.variance, of_intercept)
    return np.where(np.isnan(variances), weights.initial_variance, variances)


def _with_intercept(rows: Array, intercept: Array | None) -> Array:
    return rows if intercept is None else np.column_stack([rows, intercept])
