"""What a model says of examples, as lines of text: one for each line of the data, in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples
from scwlearn.runs.align import fitting
from scwlearn.runs.trained_model import Model

Array = NDArray[np.float64]

#: Formats whose lines are not their records: a header comes first, and a record may go on over several lines.
_WITH_HEADER = ("csv", "tsv")
_BREAKS = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class Wanted:
    """What is asked for besides the label."""

    scores: bool = False
    probabilities: bool = False
    confidence: bool = False
    variance: bool = False
    tags: bool = False
    #: An object with all of it for each example.
    as_json: bool = False

    @property
    def needs_variances(self) -> bool:
        """Scores alone take less time."""
        return self.probabilities or self.confidence or self.variance or self.as_json


@dataclass(frozen=True)
class Answers:
    """What a model says of some examples; classes are in the order of their labels."""

    #: The number of the label in that order.
    places: NDArray[np.intp]
    #: (examples,) of the second of two classes, else (examples, classes).
    scores: Array
    #: x'Sigma x; of several classes that of the predicted one. None where nobody asked for it, nor for what needs it.
    variances: Array | None
    #: (examples, classes).
    probabilities: Array | None


class Predictor:
    """Lets a model answer, and writes the answers down."""

    def __init__(self, model: Model, wanted: Wanted) -> None:
        self._model, self._wanted = model, wanted
        self._labels = model.learner.classes.values_in_order
        self._texts = [one_line(label) for label in self._labels]

    def answers(self, examples: Examples) -> Answers:
        """What the model says of these."""
        learner = self._model.learner
        now = learner.now
        x = fitting(learner, examples, self._model.column_names)
        if not self._labels:
            raise ValueError("the model has not learned from any example yet")
        place = np.empty(len(self._labels), dtype=np.intp)
        place[now.classes.order] = np.arange(len(place))
        if not self._wanted.needs_variances:
            scores = now.learner.scores(x)
            return Answers(place[now.numbers(scores)], _by_label(now, scores), None, None)
        scores, variances = now.learner.looks(x)
        if not now.is_binary:
            variances = np.take_along_axis(variances, scores.argmax(axis=1, keepdims=True), axis=1)[:, 0]
        chances = now.chances(scores, variances, agree=learner.agrees)
        return Answers(place[now.numbers(scores)], _by_label(now, scores), variances, chances)

    def header(self) -> str:
        """The names of the columns."""
        names, several = ["label"], len(self._labels) > 2
        if self._wanted.scores:
            names += [f"score:{text}" for text in self._texts] if several else ["score"]
        if self._wanted.probabilities:
            names += [f"probability:{text}" for text in self._texts]
        names += [name for name in ("confidence", "variance") if getattr(self._wanted, name)]
        return "\t".join(names + ["tag"] * self._wanted.tags)

    def lines(self, examples: Examples) -> Iterator[str]:
        """A line for each of these."""
        answers = self.answers(examples)
        if self._wanted.as_json:
            return self._objects(examples, answers)
        labels = [self._texts[place] for place in answers.places.tolist()]
        columns: list[Iterable[str]] = [labels]
        if self._wanted.scores:
            columns += _shown(answers.scores)
        if answers.probabilities is not None:
            if self._wanted.probabilities:
                columns += _shown(answers.probabilities)
            if self._wanted.confidence:
                columns += _shown(_of_predicted(answers))
        if self._wanted.variance and answers.variances is not None:
            columns += _shown(answers.variances)
        if self._wanted.tags:
            columns.append(repeat("", len(labels)) if examples.tags is None else map(one_line, examples.tags))
        return iter(labels) if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))

    def _objects(self, examples: Examples, answers: Answers) -> Iterator[str]:
        assert answers.variances is not None
        assert answers.probabilities is not None
        names = [str(label) for label in self._labels]
        several = answers.scores.ndim == 2
        scores, chances = answers.scores.tolist(), answers.probabilities.tolist()
        variances, places = answers.variances.tolist(), answers.places.tolist()
        for i, place in enumerate(places):
            said: dict[str, Any] = {"label": self._labels[place]}
            said |= {"scores": dict(zip(names, scores[i], strict=True))} if several else {"score": scores[i]}
            said |= {"probabilities": dict(zip(names, chances[i], strict=True)), "variance": variances[i]}
            if examples.tags is not None:
                said["tag"] = examples.tags[i]
            yield json.dumps(said, ensure_ascii=False)


class Places:
    """Where the examples stand among the lines of their sources, so that a line without one is answered, too.

    Of tables it is the records that count: a header is none, and a record may go on over several lines.
    """

    def __init__(self, format: str, broken: list[tuple[str, int]]) -> None:
        """`broken` gets the source and the line of whatever could not be read, before the examples behind it come."""
        self._by_record = format in _WITH_HEADER
        self._broken = broken
        self._source, self._last = "", 0

    def empty_before(self, examples: Examples) -> list[int]:
        """How many lines without an example are before each of these."""
        if examples.source != self._source:
            self._source, self._last = examples.source, 0
        lines = examples.lines
        if self._by_record:
            faulty = np.array([line for source, line in self._broken if source == self._source], dtype=np.int64)
            self._broken[:] = [fault for fault in self._broken if fault[0] != self._source]
            before = np.diff(np.searchsorted(np.sort(faulty), lines), prepend=0)
        else:
            self._broken.clear()
            before = np.diff(lines, prepend=self._last) - 1
        self._last = int(lines[-1])
        counts: list[int] = before.tolist()
        return counts


def one_line(value: Any) -> str:
    """A label or a tag as text without tabs and line breaks, which would be taken for the ends of columns and lines."""
    return str(value).translate(_BREAKS)


def _by_label(now: Any, scores: Array) -> Array:
    return now.by_label(scores)[0] if now.is_binary else scores[:, now.classes.order]


def _of_predicted(answers: Answers) -> Array:
    assert answers.probabilities is not None
    return answers.probabilities[np.arange(len(answers.places)), answers.places]


def _shown(numbers: Array) -> list[Iterable[str]]:
    """Columns of numbers, which read back are the same."""
    return [map(repr, column.tolist()) for column in (numbers[np.newaxis] if numbers.ndim == 1 else numbers.T)]
