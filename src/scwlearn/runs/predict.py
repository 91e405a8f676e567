"""Predictions of a trained model, as arrays and as lines of text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.formats import get_format
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.display.formatting import one_line
from scwlearn.runs.align import align_rows
from scwlearn.runs.metrics import label_ranks
from scwlearn.runs.trained_model import TrainedModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions for a batch; columns are classes in the order of their labels."""

    #: Rank of the predicted label among the sorted labels.
    ranks: NDArray[np.intp]
    #: (examples,) for up to two classes, of the second one; else (examples, classes).
    scores: Array
    #: x'Sigma x of the predicted class; None without probabilities.
    variances: Array | None
    #: (examples, classes), if asked for.
    probabilities: Array | None


class Predictor:
    """Predicts with a trained model; scores alone are faster than probabilities."""

    def __init__(self, model: TrainedModel, *, probabilities: bool = False) -> None:
        self._model, self._probabilities = model, probabilities

    def ranks(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the rank of each label among the sorted labels of the model; -1 for an unknown one."""
        classes = self._model.classifier.classes
        ranks = np.append(label_ranks(classes), -1)
        return ranks[np.minimum(classes.find(labels).numbers, len(classes))]

    def predict(self, examples: Batch) -> Predictions:
        """Predict a batch; raise a ValueError if its features are not those of the model."""
        classifier = self._model.classifier
        now = classifier.snapshot
        x = align_rows(classifier, examples, self._model.column_names)
        if not len(now.classes):
            raise ValueError("the model has not been trained yet")
        if not self._probabilities:
            scores, variances, probabilities = now.learner.scores(x), None, None
        else:
            scores, variances = now.learner.scores_and_variances(x)
            if not now.is_binary:
                variances = np.take_along_axis(variances, scores.argmax(axis=1, keepdims=True), axis=1)[:, 0]
            probabilities = now.probabilities(scores, variances, argmax_consistent=classifier.argmax_consistent)
        ordered = now.by_label(scores)[0] if now.is_binary else scores[:, now.classes.order]
        return Predictions(label_ranks(now.classes)[now.predict(scores)], ordered, variances, probabilities)


class PredictionLines:
    """Formats the predictions of a model, one line per example.

    Parameters
    ----------
    model : TrainedModel
    columns : collection of {"scores", "probabilities", "confidence", "variance", "tags"}
        What to write besides the label, in this order.
    as_json : bool
        Whether to write an object with everything for each example instead.
    """

    def __init__(self, model: TrainedModel, columns: Collection[str], *, as_json: bool = False) -> None:
        self._columns, self._as_json = columns, as_json
        needed = as_json or not {"probabilities", "confidence", "variance"}.isdisjoint(columns)
        self._predictor = Predictor(model, probabilities=needed)
        self._labels = model.classifier.classes.values_in_order
        self._texts = [one_line(label) for label in self._labels]

    def header(self) -> str:
        """Return the names of the columns."""
        scores = [f"score:{text}" for text in self._texts] if len(self._labels) > 2 else ["score"]
        names = {
            "scores": scores,
            "probabilities": [f"probability:{text}" for text in self._texts],
            "confidence": ["confidence"],
            "variance": ["variance"],
            "tags": ["tag"],
        }
        return "\t".join(["label", *(name for column in names if column in self._columns for name in names[column])])

    def lines(self, examples: Batch) -> Iterator[str]:
        """Return a line for each example."""
        predictions = self._predictor.predict(examples)
        if self._as_json:
            return self._objects(examples, predictions)
        ranks, probabilities, variances = predictions.ranks, predictions.probabilities, predictions.variances
        columns: list[Iterable[str]] = [[self._texts[rank] for rank in ranks.tolist()]]
        if "scores" in self._columns:
            columns += _texts(predictions.scores)
        if probabilities is not None and variances is not None:
            if "probabilities" in self._columns:
                columns += _texts(probabilities)
            if "confidence" in self._columns:
                columns += _texts(probabilities[np.arange(len(ranks)), ranks])
            if "variance" in self._columns:
                columns += _texts(variances)
        if "tags" in self._columns:
            columns.append(repeat("", len(ranks)) if examples.tags is None else map(one_line, examples.tags))
        return iter(columns[0]) if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))

    def _objects(self, examples: Batch, predictions: Predictions) -> Iterator[str]:
        assert predictions.variances is not None
        assert predictions.probabilities is not None
        names = [str(label) for label in self._labels]
        scores, probabilities = predictions.scores.tolist(), predictions.probabilities.tolist()
        variances = predictions.variances.tolist()
        for i, rank in enumerate(predictions.ranks.tolist()):
            value: dict[str, Any] = {"label": self._labels[rank]}
            if predictions.scores.ndim == 2:
                value["scores"] = dict(zip(names, scores[i], strict=True))
            else:
                value["score"] = scores[i]
            value |= {"probabilities": dict(zip(names, probabilities[i], strict=True)), "variance": variances[i]}
            if examples.tags is not None:
                value["tag"] = examples.tags[i]
            yield json.dumps(value, ensure_ascii=False)


class LineGaps(SkippedRecords):
    """Counts input lines without an example, so that output line i belongs to input line i.

    In tables, records are counted instead of lines: a header is no record, and a record may span several lines.
    """

    def __init__(self) -> None:
        super().__init__()
        self._skipped: list[tuple[str, int]] = []
        self._source, self._last = "", 0

    def add(self, error: DataError) -> None:
        """Count a skipped record, and remember its place."""
        super().add(error)
        self._skipped.append((error.source, error.line))

    def before(self, examples: Batch, format: str) -> list[int]:
        """Return the number of lines without an example before each example of the next batch."""
        if examples.source != self._source:
            self._source, self._last = examples.source, 0
        lines = examples.lines
        if get_format(format).fixed_columns:
            skipped = np.array([line for source, line in self._skipped if source == self._source], dtype=np.int64)
            self._skipped = [place for place in self._skipped if place[0] != self._source]
            gaps = np.diff(np.searchsorted(np.sort(skipped), lines), prepend=0)
        else:
            self._skipped.clear()
            gaps = np.diff(lines, prepend=self._last) - 1
        self._last = int(lines[-1])
        counts: list[int] = gaps.tolist()
        return counts


def _texts(numbers: Array) -> list[Iterable[str]]:
    """Return columns of numbers that parse back to the same values."""
    return [map(repr, column.tolist()) for column in (numbers[np.newaxis] if numbers.ndim == 1 else numbers.T)]
