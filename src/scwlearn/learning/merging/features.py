"""Features of models that are merged: all of them united, by name where they have names, and in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.model import Gaussian
from scwlearn.model.gaussians import Gaussians
from scwlearn.model.scale import RunningScale

#: What a model keeps for each of its features.
Features = TypeVar("Features", Gaussian, Gaussians)
#: Features by name, as learners know them.
Names = dict[Any, int]


def united_names(known: Mapping[str, Vocabulary | None]) -> Vocabulary | None:
    """All names, in the order in which the models met them; None if the features have none.

    The models, by their titles, have all learned something.
    """
    kinds = {title: "without names" if names is None else "with names" for title, names in known.items()}
    _check_all_same("kind of features", kinds)
    vocabularies = {title: names for title, names in known.items() if names is not None}
    if not vocabularies:
        return None
    # One that has met no key yet agrees with all.
    types = {title: one.key_type for title, one in vocabularies.items() if one.key_type is not None}
    _check_all_same("type of keys", types)
    first, *others = vocabularies.values()
    return reduce(Vocabulary.united, others, copy(first))


def arranged_alike(
    models: Sequence[Features | None],
    vocabularies: Sequence[Vocabulary | None],
    united: Vocabulary | None,
    intercept: bool,
    prior: Callable[[int], Features],
) -> list[Features]:
    """The models, each with its vocabulary, over the features of all; for None, the prior of that size."""
    # Names that are hashed have their places.
    names = None if united is None or united.hashed else united.names
    size = widest(models, united, intercept)
    return [
        prior(size)
        if model is None
        else arranged(model, size - intercept, intercept, None if known is None else known.names, names)
        for model, known in zip(models, vocabularies, strict=True)
    ]


def widest(models: Sequence[Features | None], united: Vocabulary | None, intercept: bool) -> int:
    """How many weights it takes for the features of all."""
    named = 0 if united is None or united.hashed else len(united) + intercept
    return max(named, *(intercept if model is None else model.size for model in models))


def arranged(model: Features, width: int, intercept: bool, known: Names | None, names: Names | None) -> Features:
    """The model with room for `width` features, and those that it knows by name where `names` has them."""
    room = model.size - intercept
    if width > room:
        model = model.widened(room, width - room)
    if known is None or names is None:
        return model
    used = set(known.values())
    free: Iterator[int] = (column for column in range(width) if column not in used)
    order = [known[name] if name in known else next(free) for name in names]
    order += [*free, width][: model.size - len(order)]
    return model if order == [*range(model.size)] else model.reordered(np.array(order))


def alike_in_scale(
    learners: Sequence[Any], models: list[Features], united: Vocabulary | None, *, again: bool
) -> tuple[list[Features], RunningScale | None]:
    """The models, over the same features, as if each had learned behind the scale of all, which is given as well.

    A weight grows as its feature shrinks. Its variance, which is a part of the prior's, stays. Where the last is what
    all went on from, the others count as one on average, because they have that in common.
    """
    if learners[0].running_scale is None:
        return models, None
    width = models[0].size - learners[0].intercept
    names = None if united is None or united.hashed else united.names
    scales = [_arranged_scale(learner, width, names) for learner in learners]
    parts = scales[:-1] if again else scales
    scale = parts[0].merged(parts[1:])
    if again:
        scale.thin(len(parts))
    return [_rescaled(model, own, scale) for model, own in zip(models, scales, strict=True)], scale


def _arranged_scale(learner: Any, width: int, names: Names | None) -> RunningScale:
    own: RunningScale = learner.running_scale
    if learner.model is None:
        return own.arranged(np.empty(0, np.int64), width)
    if names is None or learner.names is None:
        return own.arranged(np.arange(learner.n_features), width)
    arranged = own.arranged(np.empty(0, np.int64), width)
    assert arranged.state is not None
    assert own.state is not None
    for name, column in learner.names.items():
        arranged.state[names[name]] = own.state[column]
    return arranged


def _rescaled(model: Features, own: RunningScale, scale: RunningScale) -> Features:
    model = model.copy()
    means = model.mean if isinstance(model, Gaussian) else model.covariance.means(model.memory)
    # What a model never met has no weight.
    means[..., : len(own.scales)] *= scale.scales / own.scales
    return model


def _check_all_same(what: str, found: dict[str, Any]) -> None:
    for title, value in found.items():
        first = next(iter(found))
        check_same(what, found[first], value, first, title)
