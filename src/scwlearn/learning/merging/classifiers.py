"""Merging classifiers: classes are matched by label, then learners and calibrations are merged class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Lock
from scwlearn.data.features import Features
from scwlearn.data.labels import Classes
from scwlearn.learning.about import common_about
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.committee.members import member_classifiers
from scwlearn.learning.learner import Learner
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.learning.merging.growth import check_growth
from scwlearn.learning.merging.learners import add_counts
from scwlearn.learning.merging.models import Method, merged
from scwlearn.model.calibration import Calibration
from scwlearn.model.mixture import Mixture
from scwlearn.model.snapshot import Snapshot

Places = NDArray[np.int32]

# What an error suggests where models differ in a field of their `Features`.
_HINTS = {"others": "columns of tables are fixed and keys of records are not, so train all models on one of them"}


@merged.register
def _(first: Classifier, models: Sequence[Classifier], prior: Classifier | None, method: Method) -> Classifier:
    by_title = method.titled(models, prior)
    _check_settings(by_title)
    if not isinstance(first.learner, Learner):
        method.refuse(first.learner)
    classes = _unite_classes(by_title)
    check_growth(by_title, again=prior is not None)
    together = first._shallow_copy()
    together._lock = Lock()
    together.features = _unite_features(by_title)
    # What the prior was made from is not what the models have learned from.
    together.about = common_about(dict(zip(by_title, models, strict=False)))
    if isinstance(first.learner, Committee):
        together.snapshot, seen = _merge_committees(models, prior, classes, method)
    else:
        together.snapshot, seen = _merge_learners(by_title, prior is not None, classes, method)
    together.class_weights.seen = seen
    return together


def _merge_learners(
    by_title: Mapping[str, Classifier], has_prior: bool, classes: Classes, method: Method
) -> tuple[Snapshot, NDArray[np.int64]]:
    """Merge classifiers with a learner each; the last is their prior, if there is one."""
    parts = [_part(model, classes) for model in by_title.values()]
    before = parts.pop() if has_prior else None
    learners, calibrations = [part.learner for part in parts], [part.calibration for part in parts]
    learner = merged(learners[0], learners, before and before.learner, method)
    calibration = _merge_calibrations(calibrations, before and before.calibration)
    seen = add_counts([part.seen for part in parts], before and before.seen)
    return Snapshot(learner, calibration, classes), seen


def _merge_committees(
    models: Sequence[Classifier], prior: Classifier | None, classes: Classes, method: Method
) -> tuple[Snapshot, NDArray[np.int64]]:
    """Merge the members of the same place, each with its calibration, then the mixtures."""
    members = zip(*map(member_classifiers, models), strict=True)
    starts = [None] * len(models[0].learner.config.member_configs) if prior is None else member_classifiers(prior)
    done = [
        _merge_learners(method.titled(parts, start), start is not None, classes, method)
        for parts, start in zip(members, starts, strict=True)
    ]
    first, seen = done[0]
    committees = [model.learner for model in models]
    before = None if prior is None else prior.learner
    learner = Committee.from_config(committees[0].config, None if first.is_binary else len(first.classes))
    learner.take_members([snapshot.learner for snapshot, _ in done])
    curves = [snapshot.calibration for snapshot, _ in done]
    mixtures = [committee.mixture for committee in committees]
    learner.mixture = Mixture.merged(mixtures, curves, before and before.mixture)
    learner._tally = add_counts([committee._tally for committee in committees], before and before._tally)
    return Snapshot(learner, learner.calibration_type(curves[0].n_scores), first.classes), seen


def _merge_calibrations(parts: Sequence[Any], before: Any) -> Any:
    if before is not None and all(part.rows == before.rows for part in parts):
        # None has learned since the common model.
        return copy(before)
    return type(parts[0]).merged(parts, before)


class _Part(NamedTuple):
    """A model whose classes have the numbers that they have in the merged one."""

    learner: Any
    calibration: Any
    #: The number of examples of each class, where classes are balanced.
    seen: NDArray[np.int64]


def _part(model: Classifier, classes: Classes) -> _Part:
    places, count = classes.find(model.classes.labels).numbers, len(classes)
    learner, calibration = _binary(model, places) if count <= 2 else _several(model, places, count)
    seen = np.zeros(count, dtype=np.int64)
    seen[places[: len(model.class_weights.seen)]] = model.class_weights.seen
    return _Part(learner, calibration, seen)


def _binary(model: Classifier, places: Places) -> tuple[Learner, Calibration]:
    if not len(places) or places[0] == 0:
        return model.learner, model.calibration
    # The first class of this model, label -1, is the second of the merged one.
    learner = copy(model.learner)
    if learner.model is not None:
        learner.model.negate()
    return learner, model.calibration.mirrored()


def _several(model: Classifier, places: Places, count: int) -> tuple[Learner, Calibration]:
    calibration: Calibration | None = None
    if not model.is_binary:
        learner, calibration = model.learner, model.calibration
    elif model.is_fitted and len(places) == 2:
        learner, calibration = model.learner.split(), model.calibration.expanded()
    else:
        # With a single class, nothing is known about another class or about probabilities.
        learner = model.learner.split() if model.is_fitted else model.several(count)
    if calibration is not None and np.array_equal(places, np.arange(count)):
        return learner, calibration
    other = learner._shallow_copy()
    other._classes = count
    if learner.model is not None:
        other.model = learner.model.with_classes(places, count)
    return other, Calibration(count) if calibration is None else calibration.arranged(places, count)


def _unite_classes(models: Mapping[str, Classifier]) -> Classes:
    """Return all classes in the order in which they occur over the models."""
    classes, first = Classes(), ""
    for title, model in models.items():
        if not len(model.classes):
            continue
        first = first or title
        check_same("kind of labels", models[first].classes.kind, model.classes.kind, first, title)
        classes = classes.add(classes.find(model.classes.labels).new)
    return classes


def _check_settings(models: Mapping[str, Classifier]) -> None:
    title, first = next(iter(models.items()))
    for other_title, model in models.items():
        other = _settings(model)
        for name, value in _settings(first).items():
            check_same(name, value, other.get(name), title, other_title)


def _settings(model: Classifier) -> dict[str, Any]:
    costs = None if model.costs is None else model.costs.given
    own = {"class_weight": model.class_weights.given, "costs": costs}
    return {"kind": model.learner_type, **model.config.values(), **own}


def _unite_features(models: Mapping[str, Classifier]) -> Features:
    """Return the features of all models; each may have columns that the others lack, but none of another kind."""
    (title, first), *others = models.items()
    for other_title, model in others:
        for name in (f.name for f in fields(Features) if f.name != "kinds"):
            one, other = getattr(first.features, name), getattr(model.features, name)
            check_same(name, one, other, title, other_title, hint=_HINTS.get(name))
    if all(model.features.kinds == first.features.kinds for _, model in others):
        return first.features
    declared: dict[str, tuple[str, str]] = {}
    for title, model in models.items():
        for key, kind in model.features.kinds.items():
            known, by = declared.setdefault(key, (kind, title))
            _check_kind(key, known, kind, by, title)
    for title, model in models.items():
        kind = model.features.others
        differing = [key for key, (known, _) in declared.items() if kind != known and key not in model.features.kinds]
        objects = [key for key in differing if declared[key][0] == "ignore"]
        for key in _learned_columns(model, differing, objects):
            known, by = declared[key]
            _check_kind(key, known, kind, by, title)
    return first.features.declare({key: kind for key, (kind, _) in declared.items()})


def _check_kind(key: str, kind: str, other: str, title: str, other_title: str) -> None:
    check_same(
        f"kind of {key!r}", kind, other, title, other_title, hint="declare the same kind for all before training"
    )


def _learned_columns(model: Classifier, keys: Sequence[str], objects: Sequence[str]) -> list[str]:
    """Return those of the keys, which the model does not declare, of which it may have learned something.

    Some of them may be `objects`, with other keys in them.
    """
    vocabulary = model.learner.vocabulary
    if vocabulary is None or model.features.others == "ignore" or not keys:
        return []
    known = [*vocabulary.features.values()]
    if any(shared or name is None for name, shared in known):
        # Of the names that share a slot, at most one is known.
        return [*keys]
    # What is ignored owns all features of its values, of any kind.
    owner_of = replace(model.features, kinds=dict.fromkeys(keys, "ignore")).spec().owner_of
    names = [name for name, _ in known if isinstance(name, str)]
    owners = {owner_of(name) for name in names}
    for key in objects:
        if any(name.startswith(key + model.features.separator) for name in names):
            owners.add(key)
    return [key for key in keys if key in owners]
