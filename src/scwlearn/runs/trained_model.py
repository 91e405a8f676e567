"""A trained classifier with the schema of its data and the record of its training, its file, and what they hold."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn._util.json_fields import to_json
from scwlearn.data.run_record import Record, TopWeight
from scwlearn.data.schema import Schema
from scwlearn.files import SavedModel, read, write
from scwlearn.files.container import FORMAT
from scwlearn.learning.about import schema_of_names
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.committee.members import member_classifiers
from scwlearn.learning.explain import (
    INTERCEPT,
    Weight,
    largest_named_weights,
    largest_numbered_weights,
    largest_weights,
)
from scwlearn.learning.learner import Learner
from scwlearn.rules import AUTO, Rule, all_rules

Facts = dict[str, Any]


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A classifier, and what its file keeps with it."""

    classifier: Classifier
    #: How its data are read; None for a model made in Python.
    schema: Schema | None = None
    record: Record | None = None
    #: The file that it was read from.
    saved: SavedModel | None = None

    @classmethod
    def read(cls, path: str | Path) -> TrainedModel:
        """Read a model file; raise a ValueError unless it holds a trained classifier."""
        saved = read(path)
        if not isinstance(saved.learner, Classifier):
            what = f"a {saved.class_name}" if saved.learner is not None else f"an untrained {saved.class_name}"
            raise ValueError(f"{path} holds {what}; expected a trained classifier")
        return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> TrainedModel:
        """Wrap the content of a model file, which must be a classifier."""
        return cls(saved.learner, saved.schema, saved.record, saved)

    def write(self, path: str | Path) -> None:
        """Replace a model file atomically."""
        write(self._to_save(), path)

    def to_model(self) -> Any:
        """Return the model that `scwlearn.load` makes of the file."""
        return self._to_save().to_model()

    def _to_save(self) -> SavedModel:
        if self.saved is None:
            saved = SavedModel.from_classifier(self.classifier)
        else:
            saved = self.saved.continued(self.classifier)
        return replace(saved, schema=self.schema, record=self.record)

    @property
    def rule(self) -> Rule:
        """The algorithm."""
        rule = self.classifier.config.rule
        assert isinstance(rule, Rule)
        return rule

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the algorithm, defaults included."""
        return dict(self.classifier.config.parameters)

    @property
    def settings(self) -> dict[str, Any]:
        """All other settings, as JSON values."""
        classifier = self.classifier
        costs = {} if classifier.costs is None else {"costs": classifier.costs.given}
        return json_settings(classifier.config.settings | {"class_weight": classifier.class_weights.given} | costs)

    @property
    def n_features(self) -> int:
        """Number of known features."""
        return len(self.vocabulary.names) if self.vocabulary is not None else self.classifier.learner.n_features or 0

    @property
    def vocabulary(self) -> Any:
        """Names of the features; None if they are numbered."""
        return getattr(self.classifier.learner, "vocabulary", None)

    @property
    def column_names(self) -> list[str] | None:
        """The column names of the data frame that an estimator was fitted on."""
        attributes = {} if self.saved is None else self.saved.attributes
        names: list[str] | None = attributes.get("feature_names_in_")
        return names

    @property
    def feature_names(self) -> Iterable[Any]:
        """The names of the features; empty if they are numbered."""
        return self.column_names or [] if self.vocabulary is None else self.vocabulary.names

    @property
    def data_schema(self) -> Schema | None:
        """How to read data for this model; None to detect it."""
        return self.schema or schema_of_names(self.vocabulary)

    @property
    def first_number(self) -> int:
        """The number of the first feature, if features are numbered: 1, unless its data starts at 0."""
        return 0 if self.data_schema is not None and self.data_schema.zero_based else 1

    @property
    def reading(self) -> dict[str, Any]:
        """How data are read for this model: schema, features, slots of hashed names, names."""
        classifier = self.classifier
        return {
            "schema": self.data_schema,
            "features": classifier.features,
            "slots": classifier.config.slots,
            "known_names": lambda: self.feature_names,
            "lost_names": self._find_lost_names(),
            "known_label_kind": self._label_kind,
        }

    def _label_kind(self) -> str | None:
        labels = self.classifier.classes.values
        return None if not labels else "categorical" if isinstance(labels[0], str) else "numeric"

    def _find_lost_names(self) -> Callable[[list[str]], set[str]] | None:
        """Return what finds the names whose slots several names share, of which each keeps one; None if none does."""
        vocabulary = self.vocabulary
        if vocabulary is None or not vocabulary.hashed:
            return None
        kept = {slot: name for slot, (name, is_shared) in vocabulary.features.items() if is_shared}

        def lost(names: list[str]) -> set[str]:
            slots = zip(names, vocabulary.find(names, False).tolist(), strict=True)
            return {name for name, slot in slots if slot in kept and kept[slot] != name}

        return lost if kept else None

    @property
    def has_kernel(self) -> bool:
        """Whether the model has a kernel, and so no weights of features."""
        return not isinstance(self.classifier.learner, Learner)

    def members(self) -> list[TrainedModel]:
        """Return the members of a committee, or this model itself."""
        classifier = self.classifier
        if not isinstance(classifier.learner, Committee):
            return [self]
        return [replace(self, classifier=member) for member in member_classifiers(classifier)]

    def top_weights(self, count: int) -> dict[Any, list[Weight]]:
        """Return the largest weights of each class of a linear model; with two classes, of the second.

        The weights are those of scaled features. Numbered features are named as in their file.
        """
        if self.classifier.learner.model is None:
            return {}
        if self.vocabulary is not None:
            top = largest_named_weights(self.classifier.snapshot, count)
            if self.vocabulary.key_type is not int:
                return top
            first = self.first_number
            return {label: [w._replace(name=w.name + first) for w in weights] for label, weights in top.items()}
        names = self.column_names or range(self.first_number, self.first_number + self.n_features)
        if not isinstance(self.classifier.learner, Committee):
            return largest_numbered_weights(self.classifier.snapshot, names, count)
        return largest_weights(
            names, self.classifier.class_labels(), self.classifier.weights(), self._variances(), count
        )

    def constants(self) -> dict[Any, Weight]:
        """Return the intercept of each class (with two classes, of the second); empty without intercepts."""
        if self.classifier.learner.model is None or not self.classifier.config.intercept:
            return {}
        variances = self._variances()
        weights = self.classifier.weights()[:, -1].tolist()
        deviations = [math.nan] * len(weights) if variances is None else np.sqrt(variances[:, -1]).tolist()
        labels = self.classifier.class_labels()
        return {label: Weight(INTERCEPT, w, d) for label, w, d in zip(labels, weights, deviations, strict=True)}

    def _variances(self) -> Any:
        return None if self.rule.order == 1 else self.classifier.variances()

    def record_weights(self, count: int) -> dict[str, list[TopWeight]]:
        """Return the largest weights as a record keeps them."""
        top = self.top_weights(count)
        return {str(label): [TopWeight(**_facts(w) | {"name": str(w.name)}) for w in own] for label, own in top.items()}


def after_training(classifier: Classifier, schema: Schema | None, resumed: TrainedModel | None) -> TrainedModel:
    """Return the model of a classifier that has learned from data of this schema, without a record.

    A resumed model keeps what else was in its file: its class, settings, notes and so on.
    """
    if resumed is None:
        if schema is not None:
            classifier.features = schema.features
        return TrainedModel(classifier, schema)
    if schema is not None:
        # The features of the model stay; which columns of a CSV file are numeric is known for the file only.
        schema = replace(schema, features=classifier.features, is_resolved=False)
    return replace(resumed, classifier=classifier, schema=schema, record=None)


def json_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON values; a kernel that is a function is left out."""
    return {
        name: {str(k): v for k, v in value.items()} if isinstance(value, dict) else value
        for name, value in settings.items()
        if value is None or isinstance(value, bool | int | float | str | dict)
    }


def _facts(weight: Weight) -> Facts:
    """Return a weight as JSON values; a deviation that is not known is None."""
    return weight._asdict() | {"deviation": None if math.isnan(weight.deviation) else weight.deviation}


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
    rule = next(rule for rule in (AUTO, *all_rules()) if saved.class_name in (rule.estimator, rule.kernel_estimator))
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
    facts["named"] = False
    if not isinstance(learner, Committee):
        facts["prior"] = {"mean": 0.0, "variance": learner.config.initial_variance}
    if not isinstance(learner, Learner | Committee):
        kernel = {"name": learner.kernel.of, **learner.kernel.parameters}
        return facts | {"features": learner.n_features, "kernel": kernel, "support": learner.support.count}
    names = None if learner.vocabulary is None else learner.vocabulary.names
    if isinstance(learner, Committee):
        weights = zip(learner.config.titles, learner.mixture.weights.tolist(), strict=True)
        facts["members"] = [{"member": title, "weight": weight} for title, weight in weights]
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
    if not model.classifier.features.is_plain:
        facts["records"] = model.classifier.features.to_json()
    if model.column_names is not None:
        facts["columns"] = model.column_names
    if model.record is not None:
        record = model.record
        facts["trained"] = {"command": record.command, "began": record.began, "sources": record.sources}
        if record.holdout is not None:
            facts["held_out"] = record.holdout
    if model.saved is not None and model.saved.made is not None:
        facts["made"] = to_json(model.saved.made, defaults=False)
    if not isinstance(model.classifier.learner, Learner) or model.classifier.learner.model is None:
        if features:
            raise ValueError("the model has no weights of features")
        return facts
    weights = _chosen_weights(model, features) if features else model.top_weights(top)
    facts["weights"] = {str(label): [_facts(weight) for weight in own] for label, own in weights.items()}
    facts["constants"] = {str(label): _facts(weight) for label, weight in model.constants().items()}
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
