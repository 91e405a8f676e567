"""What a model file holds, in words and numbers that a person can read."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn.files import SavedModel, read
from scwlearn.files.container import FORMAT
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.explain import Weight
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.runs.trained_model import Model

Facts = dict[str, Any]


def describe(path: str | Path, top: int = 10, features: Sequence[str] = ()) -> Facts:
    """What a file holds: all of it plain, as JSON has it. What there is none of is left out.

    `top` weights are shown of each class; where features are named, they are shown instead.
    """
    stored = read(path)
    facts: Facts = {
        "file": os.fspath(path),
        "bytes": os.path.getsize(path),
        "format": FORMAT,
        "library": stored.library,
        "kind": stored.kind,
        "class": stored.class_name,
    }
    learner = stored.learner
    if learner is None:
        return facts | _of_untaught(stored)
    told = learner.recipe if isinstance(learner, ClassLearner) else learner
    inner = learner.learner if isinstance(learner, ClassLearner) else learner
    facts |= _algorithm(told.rule, told.parameters) | {"settings": _settings(learner)} | _state(inner)
    if isinstance(learner, ClassLearner):
        facts |= _of_classes(Model.of(stored), top, features)
    elif features:
        raise ValueError(f"{os.fspath(path)} holds a {stored.class_name} without labels; its weights have no classes")
    return facts


def _of_untaught(stored: SavedModel) -> Facts:
    from scwlearn.rules import all_rules

    rule = next(rule for rule in all_rules() if stored.class_name in (rule.estimator, rule.kernel_estimator))
    own = {p.name for p in rule.parameters}
    told = stored.settings
    facts = _algorithm(rule, {name: told[name] for name in told if name in own})
    return facts | {"settings": {name: _plain(told[name]) for name in told if name not in own}, "fitted": False}


def _algorithm(rule: Any, parameters: dict[str, Any]) -> Facts:
    return {"algorithm": rule.name, "title": rule.title, "parameters": rule.check(parameters)}


def _settings(learner: Any) -> Facts:
    """How the model was made, the prior among it."""
    if isinstance(learner, ClassLearner):
        recipe = learner.recipe
        how = {name: value for name, value in {**recipe.how, **recipe.how_several}.items() if name != "kernel"}
        return how | {"class_weight": _plain(learner.class_weights.given)}
    names = ("intercept", "initial_variance", "variance_floor", "scale", "max_features", "overflow", "multi_class")
    return {name: getattr(learner, name) for name in names if hasattr(learner, name)}


def _state(inner: Any) -> Facts:
    """What was learned so far, whatever the labels."""
    counts = inner.counts
    facts: Facts = {"seen": counts.seen, "mistakes": counts.mistakes, "updates": counts.updates}
    facts["fitted"] = inner.n_features is not None
    if not facts["fitted"]:
        return facts
    if isinstance(inner, Learner | MultiLearner):
        model: Any = inner.model
        names = None if inner.vocabulary is None else inner.vocabulary.names
        facts["features"] = inner.n_features if names is None else len(names)
        facts["named"] = names is not None
        facts["nonzero"] = int(np.count_nonzero(model.weights()))
        facts["covariance"] = model.covariance.name
        facts["prior"] = {"mean": 0.0, "variance": model.initial_variance}
        return facts
    kernel = {"name": inner.kernel.of, **inner.kernel.parameters}
    return facts | {
        "features": inner.n_features,
        "named": False,
        "kernel": kernel,
        "support": inner.support.count,
        "prior": {"mean": 0.0, "variance": inner.initial_variance},
    }


def _of_classes(model: Model, top: int, features: Sequence[str]) -> Facts:
    facts: Facts = {"classes": _counted_classes(model)}
    if model.schema is not None:
        facts["data"] = model.schema.to_json()
    if model.column_names is not None:
        facts["columns"] = model.column_names
    if model.record is not None:
        record = model.record
        facts["trained"] = {"command": record.command, "began": record.began, "sources": record.sources}
        if record.holdout is not None:
            facts["held_out"] = record.holdout
    assert model.stored is not None
    if "made" in model.stored.notes:
        facts["made"] = model.stored.notes["made"]
    if not model.is_linear or model.learner.learner.model is None:
        if features:
            raise ValueError("this model has no weights of features to show")
        return facts
    shown = model.top_weights(top) if not features else _chosen(model, features)
    facts["weights"] = {str(label): [_weight(weight) for weight in weights] for label, weights in shown.items()}
    facts["constants"] = {str(label): _weight(weight) for label, weight in model.constants().items()}
    return facts


def _counted_classes(model: Model) -> list[Facts]:
    """The labels in order, with how many examples there were of each where that is known."""
    classes = model.learner.classes
    labels = classes.values_in_order
    counts: list[int] | None = None
    seen = model.learner.class_weights.seen
    if len(seen) == len(labels):
        counts = [int(seen[number]) for number in classes.order]
    elif model.record is not None and model.record.confusion is not None and model.record.classes == labels:
        counts = [sum(line) for line in model.record.confusion]
    if counts is None or sum(counts) != model.learner.counts.seen:
        # The record is of the last run alone.
        return [{"label": label} for label in labels]
    return [{"label": label, "examples": count} for label, count in zip(labels, counts, strict=True)]


def _chosen(model: Model, features: Sequence[str]) -> dict[Any, list[Weight]]:
    """The weights of these features."""
    every = model.top_weights(model.n_features)
    wanted = set(features)
    found = {label: [w for w in weights if str(w.name) in wanted] for label, weights in every.items()}
    missing = wanted - {str(weight.name) for weights in found.values() for weight in weights}
    if missing:
        raise ValueError(f"the model knows no feature {sorted(missing)[0]!r}")
    return found


def _weight(weight: Weight) -> Facts:
    deviation = None if math.isnan(weight.deviation) else weight.deviation
    return {"name": weight.name, "weight": weight.weight, "deviation": deviation}


def _plain(value: Any) -> Any:
    return {str(key): number for key, number in value.items()} if isinstance(value, dict) else value
