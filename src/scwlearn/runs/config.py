"""The configuration of a model: checked before the data are opened, and without importing what learns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from scwlearn.data.costs import Costs
from scwlearn.data.weights import ClassWeights
from scwlearn.learning.committee.config import configure
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.settings import Face
from scwlearn.rules import Rule

if TYPE_CHECKING:
    from scwlearn.learning.classifier import Classifier


@dataclass(frozen=True)
class ModelConfig:
    """An algorithm with its parameters, and settings by the names that estimators and streams give them."""

    rule: Rule
    parameters: Mapping[str, float]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def learner_config(self) -> LearnerConfig:
        """The configuration of the learner; a ValueError or TypeError for invalid settings."""
        settings = {name: value for name, value in self.settings.items() if name not in ("class_weight", "costs")}
        return configure(self.rule, {**settings, **self.parameters}, defaults_of=Face.COMMAND)

    @property
    def reading(self) -> dict[str, Any]:
        """How data are read for the model: the number of slots that names are hashed into."""
        return {"slots": self.learner_config.slots}

    def check(self) -> None:
        """Raise a ValueError or TypeError for invalid settings."""
        ClassWeights(self.settings.get("class_weight"))
        if (costs := self.settings.get("costs")) is not None:
            Costs(costs)
        _ = self.learner_config

    def classifier(self) -> Classifier:
        """Return a new classifier; raise a ValueError or TypeError for invalid settings."""
        from scwlearn.learning.classifier import Classifier

        return Classifier(self.learner_config, self.settings.get("class_weight"), self.settings.get("costs"))

    def for_labels(self, labels: NDArray[Any]) -> ModelConfig:
        """Convert the labels of class weights and costs, given as text, to the type of these labels."""
        names = {"class_weight": "class weight", "costs": "cost"}
        given = {name: value for name in names if isinstance(value := self.settings.get(name), Mapping)}
        typed = {name: with_labels_like(labels, value, names[name]) for name, value in given.items()}
        return replace(self, settings={**self.settings, **typed})


def with_labels_like(labels: NDArray[Any], given: Mapping[Any, Any], what: str) -> dict[Any, Any]:
    """Return a dict by label, or a dict of these, with labels that were given as text in the type of `labels`."""
    kind = labels.dtype.kind
    if kind in "UO":
        return dict(given)
    found: dict[Any, Any] = {}
    for text, value in given.items():
        label = _bool(text) if kind == "b" else _number(text)
        if label is None:
            raise ValueError(f"{what} for {text!r}: the labels in the data are {_KINDS.get(kind, 'numbers')}")
        if label in found:
            raise ValueError(f"two values of {what} for {text!r}, which is the label {label!r}")
        found[label] = with_labels_like(labels, value, what) if isinstance(value, Mapping) else value
    return found


_KINDS = {"b": "true and false"}


def _bool(text: Any) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(text).lower())


def _number(text: Any) -> Any:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
