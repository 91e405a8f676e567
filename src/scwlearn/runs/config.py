"""What is to be learned and how: an algorithm with its parameters, and everything else that a model is made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.recipe import linear_recipe
from scwlearn.rules import Rule


@dataclass(frozen=True)
class Choices:
    """An algorithm, its own parameters, and settings by the names that its scikit-learn class has for them.

    Two more are for names: `max_features` and `overflow`, as `StreamClassifier` takes them.
    """

    rule: Rule
    parameters: Mapping[str, float]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bounds_names(self) -> bool:
        """Whether features are to be kept by name, because there is a bound on them."""
        return self.settings.get("max_features") is not None

    def learner(self) -> ClassLearner:
        """A classifier that has learned nothing yet."""
        recipe = linear_recipe(self.rule, {**self.settings, **self.parameters})
        return ClassLearner(recipe, self.settings.get("class_weight"))

    def for_labels(self, labels: NDArray[Any]) -> Choices:
        """With weights of classes whose labels, given as text, are of the kind of these."""
        weights = self.settings.get("class_weight")
        if not isinstance(weights, Mapping) or labels.dtype.kind in "UO":
            return self
        return replace(self, settings={**self.settings, "class_weight": {_number(k): w for k, w in weights.items()}})


def _number(text: Any) -> Any:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"the labels are numbers; there is none for the class weight of {text!r}") from None
    return int(number) if number.is_integer() else number
