"""Merging learners, for two classes and for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn._util.memory import ensure_memory
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging.features import alike_in_scale, arranged_alike, united_names, widest
from scwlearn.learning.merging.gaussians import check_same, merge_gaussians, merge_side_by_side
from scwlearn.learning.merging.models import How, everyone, merged
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.model import Gaussian
from scwlearn.model.gaussians import Gaussians, lanes_for, prior_scalars
from scwlearn.model.scale import RunningScale
from scwlearn.model.vocabulary import certain_features

# What learners must have in common.
_SETTINGS = (
    "rule",
    "parameters",
    "covariance",
    "intercept",
    "initial_variance",
    "variance_floor",
    "scale",
    "max_features",
    "overflow",
)
_SETTINGS_OF_SEVERAL = (*_SETTINGS, "multi_class", "shared_covariance", "rivals")

Several = TypeVar("Several", Learner, MultiLearner)


@merged.register
def _(first: Learner, models: Sequence[Learner], prior: Learner | None, how: How) -> Learner:
    all_of_them = everyone(models, prior)
    check_settings(all_of_them, _SETTINGS)
    together = _counted(first, models, prior)
    if any(model.gaussian is not None for model in all_of_them.values()):
        vocabulary = _names_of_all(all_of_them)
        wide = _arranged([*all_of_them.values()], vocabulary)
        gaussians, scale = alike_in_scale([*all_of_them.values()], wide, vocabulary, again=prior is not None)
        before = None if prior is None else gaussians.pop()
        rule = how.rule_for(first.rule, gaussians[0].covariance.name, again=prior is not None)
        gaussian = merge_gaussians(gaussians, rule, how.weights, before)
        _take(together, gaussian, vocabulary, scale)
    return together


@merged.register
def _(first: MultiLearner, models: Sequence[MultiLearner], prior: MultiLearner | None, how: How) -> MultiLearner:
    all_of_them = everyone(models, prior)
    check_settings(all_of_them, _SETTINGS_OF_SEVERAL)
    together = _counted(first, models, prior)
    together._classes = max(model.n_classes for model in all_of_them.values())
    if any(model.gaussians is not None for model in all_of_them.values()):
        vocabulary = _names_of_all(all_of_them)
        wide = _arranged_classes([*all_of_them.values()], together._classes, vocabulary)
        several, scale = alike_in_scale([*all_of_them.values()], wide, vocabulary, again=prior is not None)
        before = None if prior is None else several.pop()
        rule = how.rule_for(first.rule, several[0].covariance.name, again=prior is not None)
        _take(together, merge_classes(several, rule, how.weights, before), vocabulary, scale)
    return together


def _counted(first: Several, models: Sequence[Several], prior: Several | None) -> Several:
    """A learner with the counts of all."""
    together = first._twin()
    together.running_scale = copy(first.running_scale)
    together._tally = added([model._tally for model in models], None if prior is None else prior._tally)
    return together


def _names_of_all(models: Mapping[str, Any]) -> Vocabulary | None:
    return united_names({title: model.vocabulary for title, model in models.items() if model.model is not None})


def _take(together: Any, model: Any, vocabulary: Vocabulary | None, scale: RunningScale | None) -> None:
    """Give a learner what was merged, without the features, if any, that are too many for its vocabulary."""
    width = model.size - together.intercept
    if vocabulary is not None and vocabulary.max_features is not None and len(vocabulary) > vocabulary.max_features:
        kept = certain_features(model, vocabulary, len(vocabulary) - vocabulary.max_features)
        model = model.marginal(np.append(kept, np.arange(width, model.size)))
        vocabulary, scale = vocabulary.kept(kept), scale and scale.arranged(kept, len(kept))
    together.model, together.vocabulary, together.running_scale = model, vocabulary, scale


def merge_classes(
    models: Sequence[Gaussians], rule: str, weights: Sequence[float], prior: Gaussians | None
) -> Gaussians:
    """The models of the same classes, over the same features, class by class."""
    first = models[0]
    if first.classes == 0:
        return first.copy()
    numbers = range(first.classes)
    stacks = [[model.of_class(number) for model in models] for number in numbers]
    priors = None if prior is None else [prior.of_class(number) for number in numbers]
    gaussians = merge_side_by_side(stacks, rule, weights, priors, joint=first.joint)
    covariance, size, variance = first.covariance, first.size, first.initial_variance
    memory = covariance.start(size, first.classes, variance)
    for lane, gaussian in enumerate(gaussians):
        covariance.fill(memory, lane, gaussian.mean, gaussian)
    lanes = lanes_for(first.classes)
    scalars = prior_scalars(1 if first.joint else lanes)
    scalars[: first.classes] = [gaussian.scalars for gaussian in gaussians[: len(scalars)]]
    memory = covariance.enlarge(memory, lanes, variance, np.arange(first.classes))
    return replace(first, memory=memory, scalars=scalars, known=first.known.copy())


def check_settings(models: Mapping[str, Any], settings: Sequence[str]) -> None:
    """An error where models, by their titles, are not of one kind."""
    title, first = next(iter(models.items()))
    for other_title, model in models.items():
        for setting in settings:
            check_same(setting, getattr(first, setting), getattr(model, setting), title, other_title)


def added(counts: Sequence[NDArray[np.int64]], before: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The counts of all; what they have in common counts once."""
    start = np.zeros_like(counts[0]) if before is None else before
    return sum((count - start for count in counts), start)


def _arranged(learners: Sequence[Learner], vocabulary: Vocabulary | None) -> list[Gaussian]:
    """The Gaussians over the same features; of those that have learned nothing, the prior."""
    gaussians, intercept = [learner.gaussian for learner in learners], learners[0].intercept
    covariance = next(gaussian.covariance for gaussian in gaussians if gaussian is not None)
    size = widest(gaussians, vocabulary, intercept)
    # A copy of each, and what a QR decomposition takes.
    copies = len(learners) + (8 if covariance.name == "full" else 1)
    what = f"merging {len(learners)} models with {size} weights"
    with ensure_memory(8 * covariance.entries(size) * copies, what=what, instead="merge fewer at a time"):
        return arranged_alike(
            gaussians,
            [learner.vocabulary for learner in learners],
            vocabulary,
            intercept,
            lambda size: Gaussian.prior(covariance, size, learners[0].initial_variance),
        )


def _arranged_classes(learners: Sequence[MultiLearner], classes: int, vocabulary: Vocabulary | None) -> list[Gaussians]:
    """The models over the same features, of so many classes; of those that have learned nothing, the prior."""
    several, intercept = [learner.gaussians for learner in learners], learners[0].intercept
    taught = next(gaussians for gaussians in several if gaussians is not None)
    covariance, size = taught.covariance, widest(several, vocabulary, intercept)
    # Two copies of each, by features and by classes, and two of what they become.
    entries = covariance.entries(size, lanes_for(classes)) * 2 * (len(learners) + 1)
    what = f"merging {len(learners)} models with {size} weights for each of {classes} classes"
    with ensure_memory(8 * entries, what=what, instead="merge fewer at a time"):
        wide = arranged_alike(
            several,
            [learner.vocabulary for learner in learners],
            vocabulary,
            intercept,
            lambda size: Gaussians.prior(covariance, size, classes, learners[0].initial_variance, joint=taught.joint),
        )
        return [
            gaussians if gaussians.classes == classes else gaussians.seated(range(gaussians.classes), classes)
            for gaussians in wide
        ]
