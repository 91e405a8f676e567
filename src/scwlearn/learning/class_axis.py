"""What differs between binary and multi-class learners: labels, the shape of scores, and the native calls.

A binary learner takes labels -1 and +1, gives one score per example, and has a model with one row of weights. A
multi-class learner takes class numbers from 0, gives a score per class, and moves a class against its rival.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Model, OneByOne, Rule, Vocabulary, learn_rows, score_rows
from scwlearn._util.memory import ensure_memory
from scwlearn.data.labels import check_class_numbers, check_signs, classes_after
from scwlearn.data.rows import Block, Rows
from scwlearn.learning.batch import map_blocks
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Trace
from scwlearn.model.covariance import Covariance
from scwlearn.model.gaussian import Gaussian, lanes_for

Array = NDArray[np.float64]

# Few enough that Ctrl-C is answered at once.
_ROWS_SCORED_AT_ONCE = 2**18
# With more classes, labels that do not fit into memory are probably no classes.
_FEW_CLASSES = 1000
# Floats that a row takes while it is scored, per class.
_FLOATS_PER_CLASS = 64
#: What to do instead of a model of too many weights, for messages.
FEWER_WEIGHTS = "features with names can be hashed into fewer weights: {overflow=hash}"


@dataclass(eq=False)
class Recorded:
    """Scores and variances of rows just before they were learned from, in learning order."""

    #: (rows,), or (rows, classes) with -infinity for classes not known then.
    scores: Array
    #: x'Sigma x; with several classes that of the class with the largest score.
    variances: Array
    #: The fields of a `Trace`, one row per round; binary only.
    lines: Array | None = None
    #: Whether to compute variances if that needs an extra pass, which with a full covariance changes the last
    #: bits of the scores.
    has_variances: bool = True
    #: Called with each part that has been learned from; again from the first part on if all rows are learned again.
    follow: Callable[[Recorded, slice], None] | None = None

    @classmethod
    def of_trace(cls, rounds: int) -> Recorded:
        """Return room for the trace of a binary learner."""
        lines = np.zeros((rounds, len(Trace._fields)))
        return cls(lines[:, 0], lines[:, 1], lines)

    def part(self, part: slice) -> Recorded:
        """Return the record of some of the rows, in the same memory."""
        lines = None if self.lines is None else self.lines[part]
        return Recorded(self.scores[part], self.variances[part], lines, self.has_variances)

    def finish(self, part: slice) -> None:
        """Report that a part of the rows has been learned from."""
        if self.follow is not None:
            self.follow(self, part)

    def out(self, part: slice) -> dict[str, Any]:
        """Return the arrays that the native loops write for a part of the rows."""
        if self.lines is not None:
            return {"trace": self.lines[part]}
        return {"scores": self.scores[part], "variances": self.variances[part] if self.has_variances else None}


class ClassAxis(ABC):
    """Labels, scores and native calls of a learner: `Binary` or `MultiClass`."""

    @abstractmethod
    def check_labels(self, y: ArrayLike, count: int) -> NDArray[Any]:
        """Return `count` labels as the native loops take them, or raise an error."""

    @abstractmethod
    def from_numbers(self, numbers: NDArray[np.int32]) -> NDArray[Any]:
        """Return class numbers as the native loops take them."""

    @abstractmethod
    def classes_after(self, labels: NDArray[Any], known: int) -> int:
        """Return the number of classes after these labels, or raise an error for one that is out of turn."""

    @abstractmethod
    def prior(self, covariance: Covariance, size: int, classes: int, config: LearnerConfig) -> Gaussian:
        """Return a model that has learned nothing, with room for `classes` classes."""

    @abstractmethod
    def reserve(
        self, covariance: Covariance, size: int, classes: int, *, averaged: bool
    ) -> AbstractContextManager[None]:
        """Raise an error that says what to choose instead if a model of this size does not fit into memory."""

    @abstractmethod
    def record(self, rows: int, classes: int) -> Recorded:
        """Return room for the scores and variances of `rows` rows."""

    @abstractmethod
    def empty_scores(self, rows: int, classes: int) -> Array:
        """Return room for the scores of `rows` examples."""

    @abstractmethod
    def squeeze(self, columns: Array) -> Array:
        """Return values per row and class, (rows, classes), in the shape of scores."""

    @abstractmethod
    def score_before_first(self, y: float, w: float, known: int) -> Any:
        """Return the score of the example that a model starts with."""

    @abstractmethod
    def scores(self, gaussian: Gaussian, rows: Rows, intercept: bool) -> Array:
        """Compute the scores of rows."""

    def learn(
        self,
        rule: Rule,
        native: Model,
        block: Block,
        labels: NDArray[Any],
        weights: Array | None,
        config: LearnerConfig,
        record: Recorded | None,
        *,
        at_once: int,
        threads: int,
        jobs: int,
        checked: bool,
    ) -> bool:
        """Learn from a block of rows; return False if it was not checked, and a row is not valid."""
        rows = block.values, block.indices, block.offsets, block.width, config.intercept
        out: dict[str, Any] = {} if record is None else record.out(slice(block.start, block.start + block.count))
        how = {"order": block.order, "checked": checked, "jobs": jobs, **out}
        return learn_rows(rule, native, *rows, labels, weights, at_once, threads, **how)

    def one_by_one(
        self, rule: Rule, native: Model, config: LearnerConfig, vocabulary: Vocabulary | None, scales: Any
    ) -> OneByOne:
        """Return a native handle for single examples."""
        return OneByOne(vocabulary, rule, native, config.intercept, config.scale, scales)


class Binary(ClassAxis):
    """Two classes, labelled -1 and +1."""

    def check_labels(self, y: ArrayLike, count: int) -> NDArray[np.int8]:
        return check_signs(y, count)

    def from_numbers(self, numbers: NDArray[np.int32]) -> NDArray[np.int8]:
        # `np.where` takes 25 times as long: it branches for each label.
        signs: NDArray[np.int8] = np.int8(2) * (numbers != 0) - np.int8(1)
        return signs

    def classes_after(self, labels: NDArray[Any], known: int) -> int:
        return 1

    def prior(self, covariance: Covariance, size: int, classes: int, config: LearnerConfig) -> Gaussian:
        return Gaussian.prior(covariance, size, config.initial_variance, averaged=config.averages)

    def reserve(
        self, covariance: Covariance, size: int, classes: int, *, averaged: bool
    ) -> AbstractContextManager[None]:
        return ensure_memory(
            # While it learns, there may be a copy for a rollback.
            2 * 8 * _entries(covariance, size, 1, averaged=averaged),
            what=f"{{covariance={covariance.name}}} with {size} weights",
            instead=(
                "{covariance=diagonal} needs only two numbers per feature" if covariance.correlated else FEWER_WEIGHTS
            ),
        )

    def record(self, rows: int, classes: int) -> Recorded:
        return Recorded(np.empty(rows), np.empty(rows))

    def empty_scores(self, rows: int, classes: int) -> Array:
        return np.empty(rows)

    def squeeze(self, columns: Array) -> Array:
        return columns[:, 0]

    def score_before_first(self, y: float, w: float, known: int) -> float:
        return 0.0

    def scores(self, gaussian: Gaussian, rows: Rows, intercept: bool) -> Array:
        covariance, memory = gaussian.covariance.name, gaussian.memory
        if rows.stored > gaussian.size and covariance != "identity":
            # Without the variances between them the weights fill half as much of the cache.
            covariance, memory = "identity", np.ascontiguousarray(gaussian.mean)
        scores = np.empty(len(rows))
        # Nothing is checked before: a bad value or index shows in the score, and the order of features does not matter.
        for block in rows.blocks(_ROWS_SCORED_AT_ONCE, check=False):
            part = scores[block.start : block.start + block.count]
            values = block.values, block.indices, block.offsets, block.width, intercept
            if not score_rows(
                covariance, False, 1, 1, memory, gaussian.scalars, gaussian.average_arrays, *values, part
            ):
                rows.check()
        return scores


class MultiClass(ClassAxis):
    """Any number of classes, numbered from 0; a label that is the number of known classes brings a new one."""

    def check_labels(self, y: ArrayLike, count: int) -> NDArray[np.int32]:
        return check_class_numbers(y, count)

    def from_numbers(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        return numbers

    def classes_after(self, labels: NDArray[Any], known: int) -> int:
        return classes_after(labels, known)

    def prior(self, covariance: Covariance, size: int, classes: int, config: LearnerConfig) -> Gaussian:
        joint = config.multi_class == "joint"
        return Gaussian.prior(
            covariance, size, config.initial_variance, classes=classes, joint=joint, averaged=config.averages
        )

    def reserve(
        self, covariance: Covariance, size: int, classes: int, *, averaged: bool
    ) -> AbstractContextManager[None]:
        return ensure_memory(
            2 * 8 * _entries(covariance, size, lanes_for(classes), averaged=averaged),
            what=f"{{covariance={covariance.name}}} with {size} weights for each of {classes} classes",
            instead="{covariance=diagonal} or {shared_covariance=True} needs less"
            + ("; are the labels a regression target?" if classes > _FEW_CLASSES else ""),
        )

    def record(self, rows: int, classes: int) -> Recorded:
        return Recorded(np.empty((rows, classes)), np.empty(rows))

    def empty_scores(self, rows: int, classes: int) -> Array:
        return np.empty((rows, classes))

    def squeeze(self, columns: Array) -> Array:
        return columns

    def score_before_first(self, y: float, w: float, known: int) -> Array:
        scores = np.full(classes_after(check_class_numbers([y], 1), known) if w else known, -np.inf)
        scores[:known] = 0.0
        return scores

    def scores(self, gaussian: Gaussian, rows: Rows, intercept: bool) -> Array:
        lanes, classes = gaussian.lanes, gaussian.classes
        form = gaussian.covariance.name, gaussian.covariance.shared, lanes, classes
        model = *form, gaussian.memory, gaussian.scalars, gaussian.average_arrays
        scores = np.empty((len(rows), classes))

        def score(block: Any) -> Array:
            part: Array = scores[block.start : block.start + block.count]
            score_rows(*model, block.values, block.indices, block.offsets, block.width, intercept, part)
            return part

        map_blocks(rows, rows.stored // max(1, len(rows)) + _FLOATS_PER_CLASS * classes, score)
        return scores


def _entries(covariance: Covariance, size: int, lanes: int, *, averaged: bool) -> int:
    return math.prod(covariance.shape(size, lanes)) + (size * lanes if averaged else 0)


def check_scores_out(scores: Array, shape: tuple[int, ...]) -> None:
    """Raise an error unless scores of this shape, or with more columns, can be written to `scores`."""
    _check_out("scores_out", scores)
    fits = scores.ndim == len(shape) and len(scores) == shape[0] and scores.shape[1:] >= shape[1:]
    if not fits:
        more = " or more columns" if len(shape) > 1 else ""
        raise ValueError(f"scores_out must have the shape {shape}{more}, got {scores.shape}")


def check_variances_out(variances: Array, rows: int) -> None:
    """Raise an error unless the variances of `rows` rows can be written to `variances`."""
    _check_out("variances_out", variances)
    if variances.shape != (rows,):
        raise ValueError(f"variances_out must have the shape ({rows},), got {variances.shape}")


def _check_out(name: str, out: Array) -> None:
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.writeable):
        raise TypeError(f"{name} must be a writable NumPy array of float64")
