"""Merging learners for labels of any kind: classes are united, and what was learned of each finds its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.learning.merging.learners import added
from scwlearn.learning.merging.models import How, everyone, merged, refuse
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.model.calibration import Calibration
from scwlearn.model.snapshot import Known

Places = NDArray[np.int32]


@merged.register
def _(first: ClassLearner, models: Sequence[ClassLearner], prior: ClassLearner | None, how: How) -> ClassLearner:
    all_of_them = everyone(models, prior)
    _check_recipes(all_of_them)
    if not isinstance(first.learner, Learner | MultiLearner):
        refuse(first.learner)
    classes = _united(all_of_them)
    parts = [_part(model, classes) for model in all_of_them.values()]
    before = None if prior is None else parts.pop()
    learners, calibrations = [part.learner for part in parts], [part.calibration for part in parts]
    together = first._twin()
    learner = merged(learners[0], learners, before and before.learner, how)
    calibration = _merged_curves(calibrations, before and before.calibration)
    together.now = Known(learner, calibration, classes)
    together.class_weights.seen = added([part.seen for part in parts], before and before.seen)
    return together


def _merged_curves(parts: Sequence[Any], before: Any) -> Any:
    if before is not None and all(part.rows == before.rows for part in parts):
        # Nobody has learned since.
        return copy(before)
    return type(parts[0]).merged(parts, before)


class _Part(NamedTuple):
    """What a model knows, with the numbers that the classes have among all."""

    learner: Any
    calibration: Any
    #: How many examples of each class there have been, where classes are balanced.
    seen: NDArray[np.int64]


def _part(model: ClassLearner, classes: Classes) -> _Part:
    places, count = classes.find(model.classes.labels).numbers, len(classes)
    learner, calibration = _of_two(model, places) if count <= 2 else _of_several(model, places, count)
    seen = np.zeros(count, dtype=np.int64)
    seen[places[: len(model.class_weights.seen)]] = model.class_weights.seen
    return _Part(learner, calibration, seen)


def _of_two(model: ClassLearner, places: Places) -> tuple[Learner, Calibration]:
    if not len(places) or places[0] == 0:
        return model.learner, model.calibration
    # The class that came first here, label -1, is the second of all.
    learner = copy(model.learner)
    if learner.gaussian is not None:
        np.negative(learner.gaussian.mean, out=learner.gaussian.mean)
    return learner, model.calibration.mirrored()


def _of_several(model: ClassLearner, places: Places, count: int) -> tuple[MultiLearner, Calibration]:
    calibration: Calibration | None = None
    if not model.is_binary:
        learner, calibration = model.learner, model.calibration
    elif model.has_begun and len(places) == 2:
        learner, calibration = model.recipe.from_binary(model.learner), model.calibration.expanded()
    else:
        # A class that was alone has met no rival: nothing is known of the other one, nor of probabilities.
        learner = model.recipe.from_binary(model.learner) if model.has_begun else model.recipe.several(count)
    if calibration is not None and np.array_equal(places, np.arange(count)):
        return learner, calibration
    other = learner._twin()
    other._classes = count
    if learner.gaussians is not None:
        other.gaussians = learner.gaussians.seated(places, count)
    return other, Calibration(count) if calibration is None else calibration.arranged(places, count)


def _united(models: Mapping[str, ClassLearner]) -> Classes:
    """All classes, in the order in which they come up over the models."""
    classes, first = Classes(), ""
    for title, model in models.items():
        if not len(model.classes):
            continue
        first = first or title
        check_same("kind of labels", models[first].classes.kind, model.classes.kind, first, title)
        classes = classes.add(classes.find(model.classes.labels).new)
    return classes


def _check_recipes(models: Mapping[str, ClassLearner]) -> None:
    title, first = next(iter(models.items()))
    for other_title, model in models.items():
        for what, value in _recipe(first).items():
            check_same(what, value, _recipe(model).get(what), title, other_title)


def _recipe(model: ClassLearner) -> dict[str, Any]:
    recipe = model.recipe
    kinds = {"kind": recipe.for_two, "rule": recipe.rule, "parameters": recipe.parameters}
    return kinds | recipe.how | recipe.how_several | {"class_weight": model.class_weights.given}
