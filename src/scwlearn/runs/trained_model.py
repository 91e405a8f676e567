"""Models as the command knows them: what a file holds, how their data is read, and what their run left behind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn.data.examples import Schema
from scwlearn.data.io.detect import FORMATS
from scwlearn.files import SavedModel, read, write
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.explain import CONSTANT, Weight, largest_weights
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.rules import Rule
from scwlearn.runs.record import Record, TopWeight

# Among the notes of a file.
_DATA, _RUN = "data", "run"


@dataclass(frozen=True)
class Model:
    """A classifier with a weight for each feature, and what is kept with it."""

    learner: ClassLearner
    #: None for a model that was not made by the command.
    schema: Schema | None = None
    record: Record | None = None
    #: What the file was, where it was one.
    stored: SavedModel | None = None

    @classmethod
    def read(cls, path: str | Path) -> Model:
        """From a file."""
        stored = read(path)
        if not isinstance(stored.learner, ClassLearner):
            raise ValueError(f"{path} holds {_described(stored)}; the command works with classifiers that have learned")
        return cls.of(stored)

    @classmethod
    def of(cls, stored: SavedModel) -> Model:
        """From what a file holds, which must be a classifier."""
        run = stored.notes.get(_RUN)
        return cls(stored.learner, schema_of(stored), None if run is None else Record.from_json(run), stored)

    def write(self, path: str | Path) -> None:
        """To a file, as a whole or not at all."""
        notes = dict(self.stored.notes) if self.stored is not None else {}
        if self.schema is not None:
            notes[_DATA] = self.schema.to_json()
        if self.record is not None:
            notes[_RUN] = self.record.to_json()
        write(SavedModel.from_learner(self.learner, notes), path)

    @property
    def rule(self) -> Rule:
        """The algorithm."""
        return self.learner.recipe.rule

    @property
    def has_names(self) -> bool:
        """Whether features are known by name, or by their number."""
        return getattr(self.learner.learner, "vocabulary", None) is not None

    @property
    def n_features(self) -> int:
        """How many features are known."""
        vocabulary = getattr(self.learner.learner, "vocabulary", None)
        if vocabulary is not None:
            return len(vocabulary.names)
        return self.learner.learner.n_features or 0

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns that an estimator learned from, where they had some."""
        attributes = {} if self.stored is None else self.stored.attributes
        names: list[str] | None = attributes.get("feature_names_in_")
        return names

    @property
    def data_schema(self) -> Schema | None:
        """How data for this model are read; None: as they say themselves.

        Features whose names are whole numbers can only be meant by the numbers that LIBSVM data have.
        """
        vocabulary = getattr(self.learner.learner, "vocabulary", None)
        if self.schema is None and vocabulary is not None and vocabulary.key_type is int:
            return Schema("libsvm", zero_based=True)
        return self.schema

    @property
    def is_linear(self) -> bool:
        """Whether there is a weight for each feature: there is none with a kernel."""
        return isinstance(self.learner.learner, Learner | MultiLearner)

    def top_weights(self, count: int) -> dict[Any, list[Weight]]:
        """The largest weights of each class, of two of the second. Numbered features are called as in their file.

        They are for features as the model sees them, which is after scaling.
        """
        if self.learner.learner.model is None:
            return {}
        if self.has_names:
            top: dict[Any, list[Weight]] = SavedModel.from_learner(self.learner).to_model().top_features(count)
            by_number = self.learner.learner.vocabulary.key_type is int
            if by_number and self.schema is not None and not self.schema.zero_based:
                return {label: [w._replace(name=w.name + 1) for w in weights] for label, weights in top.items()}
            return top
        # An estimator that was not made by the command is not known to have met a file: LIBSVM's usual numbers.
        first = 0 if self.schema is not None and self.schema.zero_based else 1
        names = self.column_names or range(first, first + self.n_features)
        return largest_weights(names, self.learner.class_labels(), self.learner.weights(), self._variances(), count)

    def constants(self) -> dict[Any, Weight]:
        """The constant of each class, of two of the second; none where none is learned."""
        if self.learner.learner.model is None or not self.learner.learner.intercept:
            return {}
        variances = self._variances()
        weights = self.learner.weights()[:, -1].tolist()
        spread = [math.nan] * len(weights) if variances is None else np.sqrt(variances[:, -1]).tolist()
        labels = self.learner.class_labels()
        return {label: Weight(CONSTANT, w, d) for label, w, d in zip(labels, weights, spread, strict=True)}

    def _variances(self) -> Any:
        return None if self.rule.order == 1 else self.learner.variances()

    def shown_weights(self, count: int) -> dict[str, list[TopWeight]]:
        """The same as a record keeps them."""
        return {
            str(label): [
                TopWeight(str(name), weight, None if math.isnan(deviation) else deviation)
                for name, weight, deviation in weights
            ]
            for label, weights in self.top_weights(count).items()
        }


def schema_of(stored: SavedModel) -> Schema | None:
    """How the data of a model are read; None where it does not say."""
    data = stored.notes.get(_DATA)
    return None if data is None else checked_schema(data)


def checked_schema(value: Any) -> Schema:
    """A schema as JSON has it; a ValueError for what is none."""
    try:
        schema = Schema.from_json(value)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"data must say how data are read: {error}") from None
    if schema.format not in FORMATS:
        raise ValueError(f"data must say how data are read; found the format {schema.format!r:.60}")
    return schema


def _described(stored: SavedModel) -> str:
    return f"a {stored.class_name}" if stored.learner is not None else f"a {stored.class_name} that is not fitted"
