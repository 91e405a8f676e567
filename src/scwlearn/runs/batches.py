"""Batches of examples for a classifier: their labels checked, their features aligned by name or by number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.labels import FIRST_INEXACT, Classes
from scwlearn.data.rows import Rows
from scwlearn.data.weights import ClassWeights
from scwlearn.learning.learner import Learner
from scwlearn.runs.config import ModelConfig

if TYPE_CHECKING:
    from scwlearn.learning.classifier import Classifier
    from scwlearn.runs.coverage import CoverageCounter
    from scwlearn.runs.trained_model import TrainedModel


def training_labels(examples: Batch) -> NDArray[Any]:
    """Return the labels of examples, integers where possible; raise a ValueError if one is missing or too large."""
    labels = examples.labels
    if labels is None:
        raise ValueError(f"{examples.source} has no labels")
    if examples.labelled is not None and not examples.labelled.all():
        line = examples.lines[int(examples.labelled.argmin())]
        raise ValueError(f"{examples.source}, line {line}: the label is missing")
    if labels.dtype.kind != "f":
        return labels
    if (large := np.abs(labels) >= FIRST_INEXACT).any():
        index = int(large.argmax())
        raise ValueError(
            f"{examples.source}, line {examples.lines[index]}: label {labels[index]:.17g}; "
            "numeric labels must be below 2^53 in magnitude, or distinct labels could become one"
        )
    integers = labels.astype(np.int64)
    return integers if (integers == labels).all() else labels


def learned_examples(batches: Iterable[Batch], model: ModelConfig | Classifier) -> Iterator[Batch]:
    """Yield the examples of a weight other than 0, by the class weights of a model, too.

    The others take no part in what depends on the number of examples, such as shuffling.
    """
    class_weights = None if isinstance(model, ModelConfig) else model.class_weights
    for examples in batches:
        labels = training_labels(examples)
        if class_weights is None:
            assert isinstance(model, ModelConfig)
            class_weights = ClassWeights(model.for_labels(labels).settings.get("class_weight"))
        rows = class_weights.rows_of_weight(labels, None, examples.weights)
        learned = examples if isinstance(rows, slice) else examples.take(rows)
        if len(learned):
            yield learned


def check_label_type(labels: NDArray[Any], classes: Classes, examples: Batch) -> None:
    """Raise a ValueError if the labels of a batch are of another type than those of a model."""
    try:
        classes.check_kind(labels)
    except TypeError:
        known = classes.values_in_order
        listed = ", ".join(map(repr, known[:5])) + ", ..." * (len(known) > 5)
        raise ValueError(
            f"{examples.source}, line {examples.lines[0]}: label {labels[:1].tolist()[0]!r} is of another type than "
            f"the labels of the model: {listed}"
        ) from None


def align_rows(model: TrainedModel, examples: Batch, counter: CoverageCounter) -> Rows | NamedRows:
    """Return the rows of examples in the features of a model; unknown features are counted and dropped."""
    learner, names = model.classifier.learner, model.column_names
    width: int | None = learner.n_features
    if width is None:
        raise ValueError("the model has not been trained yet")
    vocabulary = model.vocabulary
    if vocabulary is not None:
        if isinstance(examples.x, NamedRows) == (vocabulary.key_type is int):
            raise _other_features(examples, "numbered" if vocabulary.key_type is int else "named")
        named = numbers_as_names(examples).x
        assert isinstance(named, NamedRows)
        return counter.watch(named)
    rows = examples.x
    if isinstance(rows, NamedRows):
        if names is None:
            raise _other_features(examples, "numbered")
        columns = {name: column for column, name in enumerate(names)}
        return counter.watch(rows).in_columns([columns.get(name, -1) for name in rows.names], None, width)
    if rows.width > width and not isinstance(learner, Learner):
        # An unknown feature has no weight in a linear model, but it would change every kernel value.
        raise ValueError(f"{examples.source} has {rows.width} features; the kernel model was trained on {width}")
    aligned = rows.widened(width) if rows.width < width else rows.narrowed(width)
    counter.add_numbered(rows, aligned)
    return aligned


def numbers_as_names(examples: Batch) -> Batch:
    """Return examples whose numbered features are named by their numbers, from 0."""
    return examples if isinstance(examples.x, NamedRows) else replace(examples, x=NamedRows.of_numbers(examples.x))


def _other_features(examples: Batch, learned: str) -> ValueError:
    found = {"named": "numbered", "numbered": "named"}[learned]
    return ValueError(f"{examples.source} has {found} features, but the model was trained on {learned} features")
