"""The configuration of a model: an algorithm, its parameters and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.settings import Face
from scwlearn.rules import Rule


@dataclass(frozen=True)
class ModelConfig:
    """An algorithm with its parameters, and settings by the names that estimators and streams give them."""

    rule: Rule
    parameters: Mapping[str, float]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def learner_config(self) -> LearnerConfig:
        """The configuration of the learner; a ValueError or TypeError for invalid settings."""
        settings = {name: value for name, value in self.settings.items() if name != "class_weight"}
        return LearnerConfig.create(self.rule, {**settings, **self.parameters}, defaults_of=Face.COMMAND)

    def classifier(self) -> Classifier:
        """Return a new classifier; raise a ValueError or TypeError for invalid settings."""
        return Classifier(self.learner_config, self.settings.get("class_weight"))

    def for_labels(self, labels: NDArray[Any]) -> ModelConfig:
        """Convert the labels of class weights, given as text, to the type of these labels."""
        weights = self.settings.get("class_weight")
        if not isinstance(weights, Mapping) or labels.dtype.kind in "UO":
            return self
        return replace(self, settings={**self.settings, "class_weight": {_number(k): w for k, w in weights.items()}})


def _number(text: Any) -> Any:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"class weight for {text!r}: the labels in the data are numbers") from None
    return int(number) if number.is_integer() else number
