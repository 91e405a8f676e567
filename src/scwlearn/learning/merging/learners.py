"""Merging learners: features and scales are united, then the Gaussians are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Lock, Vocabulary
from scwlearn._util.memory import ensure_memory
from scwlearn.learning.about import common_about
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging.features import (
    Places,
    arrange_alike,
    no_longer_known,
    rescale_alike,
    unite_names,
    widest,
    without_evidence,
)
from scwlearn.learning.merging.gaussians import check_same, merge_gaussians
from scwlearn.learning.merging.growth import check_growth
from scwlearn.learning.merging.models import Method, merged
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.scale import RunningScale
from scwlearn.model.vocabulary import certain_features


@merged.register
def _(first: Learner, models: Sequence[Learner], prior: Learner | None, method: Method) -> Learner:
    by_title = method.titled(models, prior)
    _check_settings(by_title)
    check_growth(by_title, again=prior is not None)
    together = first._shallow_copy()
    together._lock = Lock()
    together.about = common_about(dict(zip(by_title, models, strict=False)))
    together.running_scale = copy(first.running_scale)
    together._tally = add_counts([model._tally for model in models], None if prior is None else prior._tally)
    together._classes = max(model._known_classes() for model in by_title.values())
    if any(model.model is not None for model in by_title.values()):
        known = {title: model.vocabulary for title, model in by_title.items() if model.model is not None}
        vocabulary, named = unite_names(known)
        places = [named.get(title) for title in by_title]
        learners = _of_one_form([*by_title.values()], together._classes, vocabulary)
        wide = _arranged(learners, together._classes, vocabulary, places)
        again = prior is not None
        unknown = no_longer_known(learners, places, wide[0].size - first.config.intercept, again=again)
        wide = [without_evidence(own, features, wide[-1]) for own, features in zip(wide, unknown, strict=True)]
        gaussians, scale = rescale_alike(learners, wide, places, unknown, again=again)
        before = None if prior is None else gaussians.pop()
        learned = sum(model.counts.seen > (0 if prior is None else prior.counts.seen) for model in models)
        rule, weights = method.for_models(first.rule, gaussians[0], learned, again=again)
        _take(together, merge_gaussians(gaussians, rule, weights, before), vocabulary, scale)
    return together


def _of_one_form(learners: Sequence[Learner], classes: int, vocabulary: Vocabulary | None) -> Sequence[Learner]:
    """Return the learners; if "auto" has made Sigma diagonal in one, or does so for what all know, then in all."""
    full = [learner.model is None or learner.model.covariance.correlated for learner in learners]
    fits = vocabulary is None or learners[0].keeps_full(len(vocabulary), classes)
    if learners[0].config.covariance != "auto" or not any(full) or (all(full) and fits):
        return learners
    return [_diagonal(learner) for learner in learners]


def _diagonal(learner: Learner) -> Learner:
    if learner.model is None or not learner.model.covariance.correlated:
        return learner
    other = learner._shallow_copy()
    other.model = learner.diagonal(learner.model)
    return other


def _take(together: Learner, gaussian: Gaussian, vocabulary: Vocabulary | None, scale: RunningScale | None) -> None:
    """Give a learner the merged model, without the features that are too many for its vocabulary."""
    width = gaussian.size - together.config.intercept
    if vocabulary is not None and vocabulary.max_features is not None and len(vocabulary) > vocabulary.max_features:
        kept = certain_features(gaussian, vocabulary, len(vocabulary) - vocabulary.max_features)
        gaussian = gaussian.marginal(np.append(kept, np.arange(width, gaussian.size)))
        vocabulary, scale = vocabulary.kept(kept), scale and scale.arranged(kept, len(kept))
    together.model, together.vocabulary, together.running_scale = gaussian, vocabulary, scale


def _check_settings(models: Mapping[str, Learner]) -> None:
    """Raise a ValueError unless the learners, by title, have the same configuration."""
    title, first = next(iter(models.items()))
    for other_title, model in models.items():
        check_same("labels", first.is_binary, model.is_binary, title, other_title)
        other = model.config.values()
        for name, value in first.config.values().items():
            check_same(name, value, other[name], title, other_title)


def add_counts(counts: Sequence[NDArray[np.int64]], before: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Add the counts of all models; what they have in common counts once."""
    start = np.zeros_like(counts[0]) if before is None else before
    return sum((count - start for count in counts), start)


def _arranged(
    learners: Sequence[Learner], classes: int, vocabulary: Vocabulary | None, places: Sequence[Places]
) -> list[Gaussian]:
    """Return the Gaussians over the same features and classes; the prior for learners that have learned nothing."""
    gaussians: list[Gaussian | None] = [learner.model for learner in learners]
    binary, intercept = learners[0].is_binary, learners[0].config.intercept
    known = next(gaussian for gaussian in gaussians if gaussian is not None)
    size = widest(gaussians, vocabulary, intercept)

    def prior(size: int) -> Gaussian:
        variance, several = learners[0].config.initial_variance, None if binary else classes
        averaged = known.average is not None
        return Gaussian.prior(known.covariance, size, variance, classes=several, joint=known.joint, averaged=averaged)

    # Copies by features and by classes, and of the result; a QR decomposition takes some more.
    per_model = int(np.prod(known.covariance.shape(size, known.lanes)))
    copies = (1 if binary else 2) * (len(learners) + 1) + (7 if known.covariance.correlated else 0)
    what = f"merging {len(learners)} models with {size} weights" + ("" if binary else f" for each of {classes} classes")
    with ensure_memory(8 * per_model * copies, what=what, instead="merge fewer at a time"):
        wide = arrange_alike(gaussians, places, vocabulary, intercept, prior)
        return [
            gaussian
            if binary or gaussian.classes == classes
            else gaussian.with_classes(range(gaussian.classes), classes)
            for gaussian in wide
        ]
