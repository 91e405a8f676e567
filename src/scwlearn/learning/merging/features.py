"""The features of models that are merged: united, by name where they have names, and in the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VARIANCE, SMALLEST_VARIANCE, Vocabulary
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.model.average import LAG_SCALE
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, SPREAD_SCALE, Gaussian
from scwlearn.model.scale import RunningScale

#: Where the named features of a model are in the merged one; None if all features stay where they are.
Places = NDArray[np.int64] | None


def unite_names(known: Mapping[str, Vocabulary | None]) -> tuple[Vocabulary | None, dict[str, Places]]:
    """Return all names in the order in which the models met them, and the places of the features of each model.

    The models, by title, have all learned something. If features have no names, the first result is None.
    """
    kinds = {title: "without names" if names is None else "with names" for title, names in known.items()}
    _check_all_same("kind of features", kinds)
    vocabularies = {title: names for title, names in known.items() if names is not None}
    if not vocabularies:
        return None, {}
    # A vocabulary without keys is compatible with all others.
    types = {title: one.key_type for title, one in vocabularies.items() if one.key_type is not None}
    _check_all_same("type of keys", types)
    (title, first), *others = vocabularies.items()
    united = copy(first)
    places = {title: np.arange(len(first))} | {title: united.unite(one) for title, one in others}
    # Hashed names have the same indices in all models.
    return united, {} if united.hashed else places


def arrange_alike(
    models: Sequence[Gaussian | None],
    places: Sequence[Places],
    united: Vocabulary | None,
    intercept: bool,
    prior: Callable[[int], Gaussian],
) -> list[Gaussian]:
    """Return the models, with named features at `places`, over the features of all; for None, the prior."""
    size = widest(models, united, intercept)
    return [
        prior(size) if model is None else _arranged(model, size - intercept, intercept, named)
        for model, named in zip(models, places, strict=True)
    ]


def widest(models: Sequence[Gaussian | None], united: Vocabulary | None, intercept: bool) -> int:
    """Return the number of weights for the features of all models."""
    named = 0 if united is None or united.hashed else len(united) + intercept
    return max(named, *(intercept if model is None else model.size for model in models))


def _arranged(model: Gaussian, width: int, intercept: bool, places: Places) -> Gaussian:
    """Return the model with room for `width` features, and its named ones at their places."""
    room = model.size - intercept
    if width > room:
        model = model.widened(room, width - room)
    if places is None:
        return model
    # Features without names fill the other places in order; the intercept stays last.
    order = np.arange(model.size)
    order[np.delete(order[:width], places)] = np.arange(len(places), width)
    order[places] = np.arange(len(places))
    return model if np.array_equal(order, np.arange(model.size)) else model.reordered(order)


def no_longer_known(
    learners: Sequence[Learner], places: Sequence[Places], width: int, *, again: bool
) -> list[NDArray[np.intp]]:
    """Return the features that each learner does not know, but the one that all others continued from (`again`).

    With `max_features`, a learner may have dropped them. The one that the others continued from is the last.
    """
    known = np.zeros((len(learners), width), bool)
    for mask, learner, named in zip(known, learners, places, strict=True):
        if learner.model is not None:
            mask[slice(learner.n_features) if named is None else named] = True
    return [np.flatnonzero(again & known[-1] & ~mask) for mask in known]


def without_evidence(model: Gaussian, features: NDArray[np.intp], start: Gaussian) -> Gaussian:
    """Return the model without evidence about some features: given the others, they are as in `start`.

    A feature that was dropped has the weight 0 and the variance of the prior, as if evidence against what `start` knows
    of it had been found.
    """
    if not len(features):
        return model
    other, form, one = model.copy(), model.covariance, type(model.covariance)()
    for number in range(model.classes):
        own, before = model.scalars[0 if model.joint else number], start.scalars[0 if start.joint else number]
        row = start.covariance.row(start.memory, number)
        one.means(row)[:] *= before[MEAN_SCALE] / own[MEAN_SCALE]
        spread = one.diagonal_in_place(row)
        # Sigma has grown since in all directions that were not seen.
        spread *= before[SPREAD_SCALE] / own[SPREAD_SCALE] * (own[GROWTH] / before[GROWTH])
        np.clip(spread, SMALLEST_VARIANCE, LARGEST_VARIANCE, out=spread)
        form.fill(other.memory, number, one.adopt(form.row(model.memory, number), features, row))
    if other.average is not None:
        middle = without_evidence(model.at_average(), features, start.at_average())
        lags = (other.weights() - middle.weights()) / other.average.state[: model.classes, LAG_SCALE, np.newaxis]
        other.average.lag[features, : model.classes] = lags[:, features].T
    return other


def rescale_alike(
    learners: Sequence[Learner],
    models: list[Gaussian],
    places: Sequence[Places],
    unknown: Sequence[NDArray[np.intp]],
    *,
    again: bool,
) -> tuple[list[Gaussian], RunningScale | None]:
    """Return the models as if each had learned behind the scale of all, and that scale.

    A weight grows as its feature shrinks, and the intercept makes up for a centre that moves. A variance, which is
    relative to the prior, stays. If the last learner is what all others continued from (`again`), the others count as
    one on average, because they have that in common; the features that each does not know are scaled as there.
    """
    if learners[0].running_scale is None:
        return models, None
    width = models[0].size - learners[0].config.intercept
    scales = [_arranged_scale(learner, width, named) for learner, named in zip(learners, places, strict=True)]
    start, units = scales[-1], [_Units.of(scale) for scale in scales]
    for scale, own, features in zip(scales, units, unknown, strict=True):
        scale.arrays[0][1:][features] = start.arrays[0][1:][features]
        for mine, there in zip(own, units[-1], strict=True):
            mine[features] = there[features]
    parts = scales[:-1] if again else scales
    together = parts[0].merged(parts[1:])
    if again:
        together.thin(len(parts))
    intercept, after = learners[0].config.intercept, _Units.of(together)
    return [_rescaled(model, own, after, intercept) for model, own in zip(models, units, strict=True)], together


class _Units(NamedTuple):
    """What is subtracted from each feature, and what it is then divided by."""

    centres: Array
    scales: Array

    @classmethod
    def of(cls, scale: RunningScale) -> _Units:
        # A feature that a model never met, or that was always the same, has no weight.
        return cls(scale.centres, np.where(np.isfinite(scale.scales), scale.scales, 1.0))


def _arranged_scale(learner: Learner, width: int, places: Places) -> RunningScale:
    own = learner.running_scale
    assert own is not None
    if learner.model is None:
        return own.arranged(np.empty(0, np.int64), width)
    if places is None:
        return own.arranged(np.arange(learner.n_features or 0), width)
    return own.arranged(np.arange(len(places)), width, places=places)


def _rescaled(model: Gaussian, before: _Units, after: _Units, intercept: bool) -> Gaussian:
    model = model.copy()
    means, width = [model.covariance.means(model.memory)], len(before.scales)
    for rows in means if model.average is None else [*means, model.average.lag.T]:
        weights = rows[:, :width]
        if intercept:
            rows[:, width] += weights @ ((after.centres - before.centres) / before.scales)
        weights *= after.scales / before.scales
    return model


def _check_all_same(what: str, found: dict[str, Any]) -> None:
    for title, value in found.items():
        first = next(iter(found))
        check_same(what, found[first], value, first, title)
