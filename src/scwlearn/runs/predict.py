"""Predictions of a trained model, as arrays and as lines of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.formats import get_format
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.display.formatting import one_line
from scwlearn.learning.lesson import parts_of
from scwlearn.runs.batches import align_rows
from scwlearn.runs.coverage import Coverage, CoverageCounter
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


def predict(
    model: TrainedModel, examples: Batch, *, probabilities: bool = True, counter: CoverageCounter | None = None
) -> Predictions:
    """Predict a batch, faster without probabilities; raise a ValueError if its features are not those of the model.

    `counter` counts the features that the model knows.
    """
    classifier = model.classifier
    now = classifier.snapshot
    x = align_rows(model, examples, counter or CoverageCounter(model))
    if not len(now.classes):
        raise ValueError("the model has not been trained yet")
    variances = chances = None
    if probabilities or classifier.costs is not None:
        scores, variances = now.learner.scores_and_top_variances(x)
        chances = now.probabilities(scores, variances, argmax_consistent=classifier.argmax_consistent)
    else:
        scores = now.learner.scores(x)
    ordered = now.by_label(scores)[0] if now.is_binary else scores[:, now.classes.order]
    if classifier.costs is not None and chances is not None:
        numbers = classifier.costs.decide(chances, now.classes)
    else:
        numbers = now.predict(scores)
    return Predictions(label_ranks(now.classes)[numbers], ordered, variances, chances)


def parts_to_predict(model: TrainedModel, examples: Batch) -> Iterator[Batch]:
    """Yield the parts of a batch whose scores for all classes fit into memory together."""
    parts = parts_of(len(examples), len(model.classifier.classes))
    yield from [examples] if len(parts) < 2 else (examples.slice(part.start, part.stop) for part in parts)


class PredictionLines:
    """Formats the predictions of a model, one line per example.

    `columns` are written after the label, in this order: scores, probabilities, confidence, variance, tags. With
    `as_json`, a line is an object with everything.
    """

    def __init__(self, model: TrainedModel, columns: Collection[str], *, as_json: bool = False) -> None:
        self._model, self._columns, self._as_json = model, columns, as_json
        self._probabilities = as_json or not {"probabilities", "confidence", "variance"}.isdisjoint(columns)
        self._labels = model.classifier.classes.values_in_order
        self._texts = [one_line(label) for label in self._labels]
        self._counter = CoverageCounter(model)

    @property
    def coverage(self) -> Coverage:
        """How many of the features so far the model knows."""
        return self._counter.result()

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
        return chain.from_iterable(map(self._lines, parts_to_predict(self._model, examples)))

    def _lines(self, examples: Batch) -> Iterator[str]:
        found = predict(self._model, examples, probabilities=self._probabilities, counter=self._counter)
        if self._as_json:
            return self._objects(examples, found)
        ranks = found.ranks
        columns: list[Iterable[str]] = [[self._texts[rank] for rank in ranks.tolist()]]
        if "scores" in self._columns:
            columns += _texts(found.scores)
        if found.probabilities is not None and found.variances is not None:
            if "probabilities" in self._columns:
                columns += _texts(found.probabilities)
            if "confidence" in self._columns:
                columns += _texts(found.probabilities[np.arange(len(ranks)), ranks])
            if "variance" in self._columns:
                columns += _texts(found.variances)
        if "tags" in self._columns:
            columns.append(repeat("", len(ranks)) if examples.tags is None else map(one_line, examples.tags))
        return iter(columns[0]) if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))

    def _objects(self, examples: Batch, found: Predictions) -> Iterator[str]:
        assert found.variances is not None
        assert found.probabilities is not None
        names = [str(label) for label in self._labels]
        columns = [array.tolist() for array in (found.ranks, found.scores, found.probabilities, found.variances)]
        tags = [None] * len(examples) if examples.tags is None else examples.tags
        for rank, scores, probabilities, variance, tag in zip(*columns, tags, strict=True):
            value: dict[str, Any] = {"label": self._labels[rank]}
            if isinstance(scores, list):
                value["scores"] = dict(zip(names, scores, strict=True))
            else:
                value["score"] = scores
            value |= {"probabilities": dict(zip(names, probabilities, strict=True)), "variance": variance}
            if tag is not None:
                value["tag"] = tag
            yield json.dumps(value, ensure_ascii=False)


class LineGaps(SkippedRecords):
    """Counts input lines without an example, so that output line i belongs to input line i.

    In tables, records are counted instead of lines: a header is no record, and a record may span several lines.
    """

    def __init__(self) -> None:
        super().__init__()
        #: Called with the number of lines without an example, as soon as nothing but such lines is left to answer.
        self.answer: Callable[[int], object] = lambda count: None
        self._skipped = np.zeros(0, dtype=np.int64)
        self._last = 0

    def begin(self) -> None:
        """Count from the beginning of another source."""
        self._last, self._skipped = 0, self._skipped[:0]

    def leave_out(self, places: NDArray[np.int64]) -> None:
        """Note the places of records of a table that are left out."""
        self._skipped = np.append(self._skipped, places)

    def before(self, examples: Batch, format: str) -> list[int]:
        """Return the number of lines without an example before each example of the next batch."""
        lines = examples.lines
        if get_format(format).fixed_columns:
            passed = np.searchsorted(self._skipped, lines)
            self._skipped = self._skipped[passed[-1] :]
            gaps = np.diff(passed, prepend=0)
        else:
            gaps = np.diff(lines, prepend=self._last) - 1
        self._last = int(lines[-1])
        counts: list[int] = gaps.tolist()
        return counts

    def reach(self, line: int | None) -> None:
        """Answer the lines without an example that follow the last example."""
        count = len(self._skipped) if line is None else line - self._last
        self._skipped, self._last = self._skipped[:0], self._last if line is None else line
        if count:
            self.answer(count)


def _texts(numbers: Array) -> list[Iterable[str]]:
    """Return columns of numbers that parse back to the same values."""
    return [map(repr, column.tolist()) for column in (numbers[np.newaxis] if numbers.ndim == 1 else numbers.T)]
