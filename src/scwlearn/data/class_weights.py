"""Weights of classes: given by label, or such that all classes seen so far weigh the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes
from scwlearn.data.weights import check_weights

Array = NDArray[np.float64]


class ClassWeights:
    """What an example weighs by its class.

    A dict says it for each label; labels that are not in it weigh 1. "balanced" counts along: an example weighs
    n/(k n_y), with n examples of k classes so far and n_y of its own, itself included, so that each class has weighed
    about as much as any other at any time.
    """

    def __init__(self, given: Mapping[Any, float] | str | None) -> None:
        if isinstance(given, str) and given != "balanced":
            raise ValueError(f"class_weight must be a dict of labels, 'balanced' or None, got {given!r}")
        if given is not None and not isinstance(given, str | Mapping):
            raise TypeError(f"class_weight must be a dict of labels, 'balanced' or None, got {given!r}")
        # A copy: whoever changes theirs later does not change what was checked.
        self.given = dict(given) if isinstance(given, Mapping) else given
        if isinstance(given, Mapping):
            check_weights(list(given.values()), len(given), name="the values of class_weight")
        #: How many examples of each class there have been; only "balanced" counts.
        self.seen: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def leave(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these labels are of classes that weigh anything."""
        none = (
            {label for label, weight in self.given.items() if weight == 0} if isinstance(self.given, Mapping) else set()
        )
        return np.array([label not in none for label in labels.tolist()] if none else np.ones(len(labels)), dtype=bool)

    def of(self, numbers: NDArray[np.int32], classes: Classes) -> tuple[Array | None, NDArray[np.int64]]:
        """What each of these examples weighs, None for 1 each, and the counts then."""
        if self.given is None:
            return None, self.seen
        if isinstance(self.given, Mapping):
            by_number = np.array([self.given.get(label, 1.0) for label in classes.labels.tolist()], dtype=np.float64)
            return by_number[numbers], self.seen
        before = self._seen_of(len(classes))
        of_class = before[numbers] + _places_within(numbers) + 1
        is_first = of_class == 1
        known = np.count_nonzero(before) + np.cumsum(is_first)
        total = before.sum() + np.arange(1, len(numbers) + 1)
        return total / (known * of_class), before + np.bincount(numbers, minlength=len(classes))

    def of_next(self, number: int, classes: Classes) -> float:
        """What the next example weighs, of a known class."""
        if self.given is None:
            return 1.0
        if isinstance(self.given, Mapping):
            return float(self.given.get(classes.values[number], 1.0))
        seen = self._seen_of(len(classes))
        of_class = int(seen[number]) + 1
        known = int(np.count_nonzero(seen)) + (of_class == 1)
        return (int(seen.sum()) + 1) / (known * of_class)

    def count(self, number: int, classes: Classes) -> None:
        """One more example of a class has been learned from."""
        if isinstance(self.given, str):
            self.seen = self._seen_of(len(classes))
            self.seen[number] += 1

    def _seen_of(self, count: int) -> NDArray[np.int64]:
        """How many examples there have been of each of so many classes."""
        seen = np.zeros(count, dtype=np.int64)
        seen[: len(self.seen)] = self.seen
        return seen


def _places_within(numbers: NDArray[np.int32]) -> NDArray[np.intp]:
    """For each example how many of its class come before it."""
    by_class = np.argsort(numbers, kind="stable")
    in_order = numbers[by_class]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]]) if len(numbers) else np.empty(0, dtype=np.intp)
    lengths = np.diff(np.r_[starts, len(numbers)])
    places = np.empty(len(numbers), dtype=np.intp)
    places[by_class] = np.arange(len(numbers)) - np.repeat(starts, lengths)
    return places
