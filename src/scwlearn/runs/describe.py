"""Describe what a model file holds."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scwlearn.files import SavedModel, read
from scwlearn.files.container import FORMAT
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.explain import Weight
from scwlearn.learning.learner import Learner
from scwlearn.rules import all_rules
from scwlearn.runs.trained_model import TrainedModel, json_settings

Facts = dict[str, Any]


def describe(path: str | Path, top: int = 10, features: Sequence[str] = ()) -> Facts:
    """Describe a model file, as JSON values; what does not apply is left out.

    It lists the `top` largest weights of each class, or those of the given features. Raises ValueError if the file is
    not a model, or has no weights for the features.
    """
    saved = read(path)
    facts: Facts = {
        "file": os.fspath(path),
        "bytes": os.path.getsize(path),
        "format": FORMAT,
        "library": saved.library,
        "kind": saved.kind,
        "class": saved.class_name,
    }
    learner = saved.learner
    if learner is None:
        return facts | _untrained(saved)
    config = learner.config
    facts |= _algorithm(config.rule, config.parameters) | {"settings": json_settings(config.settings)}
    if isinstance(learner, Classifier):
        model = TrainedModel.from_saved(saved)
        facts["settings"] = model.settings
        return facts | _state(learner.learner) | _classifier(model, top, features)
    if features:
        raise ValueError(f"{os.fspath(path)} holds a {saved.class_name}, whose weights belong to no label")
    return facts | _state(learner)


def _untrained(saved: SavedModel) -> Facts:
    rule = next(rule for rule in all_rules() if saved.class_name in (rule.estimator, rule.kernel_estimator))
    own = {p.name for p in rule.parameters}
    parameters = {name: value for name, value in saved.settings.items() if name in own}
    settings = {name: value for name, value in saved.settings.items() if name not in own}
    return _algorithm(rule, parameters) | {"settings": json_settings(settings), "fitted": False}


def _algorithm(rule: Any, parameters: dict[str, Any]) -> Facts:
    return {"algorithm": rule.name, "title": rule.title, "parameters": rule.check(parameters)}


def _state(learner: Any) -> Facts:
    """Describe what a learner has learned, whatever its labels."""
    counts, model = learner.counts, learner.model
    facts: Facts = {"seen": counts.seen, "mistakes": counts.mistakes, "updates": counts.updates}
    facts["fitted"] = learner.n_features is not None
    if not facts["fitted"]:
        return facts
    facts |= {"prior": {"mean": 0.0, "variance": learner.config.initial_variance}, "named": False}
    if not isinstance(learner, Learner):
        kernel = {"name": learner.kernel.of, **learner.kernel.parameters}
        return facts | {"features": learner.n_features, "kernel": kernel, "support": learner.support.count}
    names = None if learner.vocabulary is None else learner.vocabulary.names
    return facts | {
        "features": learner.n_features if names is None else len(names),
        "named": names is not None,
        "nonzero": model.count_nonzero(),
        "covariance": model.covariance.name,
    }


def _classifier(model: TrainedModel, top: int, features: Sequence[str]) -> Facts:
    facts: Facts = {"classes": _classes(model)}
    if model.schema is not None:
        facts["data"] = model.schema.to_json()
    if model.column_names is not None:
        facts["columns"] = model.column_names
    if model.record is not None:
        record = model.record
        facts["trained"] = {"command": record.command, "began": record.began, "sources": record.sources}
        if record.holdout is not None:
            facts["held_out"] = record.holdout
    if model.saved is not None and "made" in model.saved.notes:
        facts["made"] = model.saved.notes["made"]
    if not model.is_linear or model.classifier.learner.model is None:
        if features:
            raise ValueError("the model has no weights of features")
        return facts
    weights = _chosen_weights(model, features) if features else model.top_weights(top)
    facts["weights"] = {str(label): [_weight(weight) for weight in own] for label, own in weights.items()}
    facts["constants"] = {str(label): _weight(weight) for label, weight in model.constants().items()}
    return facts


def _classes(model: TrainedModel) -> list[Facts]:
    """Return the sorted labels, with their numbers of examples where known."""
    classes = model.classifier.classes
    labels = classes.values_in_order
    counts: list[int] | None = None
    seen = model.classifier.class_weights.seen
    if len(seen) == len(labels):
        counts = [int(seen[number]) for number in classes.order]
    elif model.record is not None and model.record.confusion is not None and model.record.classes == labels:
        counts = [sum(line) for line in model.record.confusion]
    if counts is None or sum(counts) != model.classifier.counts.seen:
        # The record covers the last run only.
        return [{"label": label} for label in labels]
    return [{"label": label, "examples": count} for label, count in zip(labels, counts, strict=True)]


def _chosen_weights(model: TrainedModel, features: Sequence[str]) -> dict[Any, list[Weight]]:
    wanted = set(features)
    every = model.top_weights(model.n_features)
    found = {label: [w for w in weights if str(w.name) in wanted] for label, weights in every.items()}
    missing = wanted - {str(weight.name) for weights in found.values() for weight in weights}
    if missing:
        raise ValueError(f"the model has no feature {sorted(missing)[0]!r}")
    return found


def _weight(weight: Weight) -> Facts:
    deviation = None if math.isnan(weight.deviation) else weight.deviation
    return {"name": weight.name, "weight": weight.weight, "deviation": deviation}
