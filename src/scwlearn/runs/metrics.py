"""What examples were taken for before they were learned from: confusions, probabilities, and how good these were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes
from scwlearn.learning.teaching import Look
from scwlearn.runs.label_order import Mixing
from scwlearn.runs.record import Bin

#: Up to so many classes confusions are counted: a table of more cannot be read.
MOST_CLASSES = 100

_BINS = 10
# The probability of what happened is never taken for less: a single one is not to make all others count nothing.
_LEAST = 1e-15


class Watcher:
    """Counts what a classifier says of each example before it learns from it."""

    def __init__(self, *, probabilities: bool, agree: bool = True, met: int = 0) -> None:
        """`met` classes have been met before."""
        self._probabilities, self._agree = probabilities, agree
        self._met = met
        self._log_loss, self._seen = 0.0, 0
        # By the numbers of the classes.
        self._confusion: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)
        # For each bin: how many, the sum of their probabilities, how many were right.
        self._bins = np.zeros((_BINS, 3))
        self._mixing = Mixing()

    def __call__(self, look: Look) -> None:
        """Count these examples."""
        # Also while there is one class, as mistakes are counted: the first example may be taken for one still to come.
        two = look.known.is_binary
        predicted = (look.scores >= 0).astype(np.intp) if two else look.known.numbers(look.scores)
        self._count(look.numbers, predicted, len(look.known.classes))
        self._mixing.see(look.numbers)
        if self._probabilities:
            again = self._met_before(look.numbers)
            self.judge(Look(look.known, look.numbers[again], look.scores[again], look.variances[again]))

    def _met_before(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which are not the first of their class: that had no probability. Classes are numbered as they come."""
        most = np.maximum.accumulate(np.append(self._met - 1, numbers))
        self._met = int(most[-1]) + 1
        again: NDArray[np.bool_] = numbers <= most[:-1]
        return again

    def judge(self, look: Look) -> None:
        """Take in how likely each example was said to be of its class. Of a single class there is nothing to say."""
        if len(look.known.classes) < 2:
            return
        chances = look.known.chances(look.scores, look.variances, agree=self._agree)
        place = np.empty(len(look.known.classes), dtype=np.intp)
        place[look.known.classes.order] = np.arange(len(place))
        rows = np.arange(len(chances))
        own = chances[rows, place[look.numbers]]
        self._log_loss -= float(np.log(np.maximum(own, _LEAST)).sum())
        self._seen += len(own)
        best = chances.argmax(axis=1)
        likely = chances[rows, best]
        bins = np.minimum((likely * _BINS).astype(np.intp), _BINS - 1)
        for column, values in enumerate((np.ones(len(own)), likely, best == place[look.numbers])):
            self._bins[:, column] += np.bincount(bins, values, minlength=_BINS)

    @property
    def in_long_runs(self) -> bool:
        """Whether labels come in long runs, as in a sorted file."""
        return self._mixing.in_long_runs

    @property
    def log_loss(self) -> float | None:
        """The mean of -log(probability of the class); None where nobody asked for it."""
        return self._log_loss / self._seen if self._seen else None

    def reliability(self) -> list[Bin] | None:
        """How often the class was right that was said to be the likeliest, by how likely it was said to be."""
        if not self._seen:
            return None
        return [Bin(int(count), total / count, int(right)) for count, total, right in self._bins if count]

    def confusion(self, classes: Classes) -> list[list[int]] | None:
        """Of each class, in the order of their labels, how many were taken for which; None for too many classes."""
        if len(classes) > MOST_CLASSES:
            return None
        table = np.zeros((len(classes),) * 2, dtype=np.int64)
        # What the first example was taken for may never have come.
        known = min(len(self._confusion), len(classes))
        table[:known, :known] = self._confusion[:known, :known]
        in_order: list[list[int]] = table[np.ix_(classes.order, classes.order)].tolist()
        return in_order

    def _count(self, numbers: NDArray[np.int32], predicted: NDArray[np.intp], classes: int) -> None:
        size = max(classes, len(self._confusion), 2)
        if size > MOST_CLASSES:
            return
        table = np.zeros((size, size), dtype=np.int64)
        table[: len(self._confusion), : len(self._confusion)] = self._confusion
        table += np.bincount(numbers * size + predicted, minlength=size * size).reshape(size, size)
        self._confusion = table
