"""Weights of examples and of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import LARGEST_WEIGHT, SMALLEST_WEIGHT, as_number
from scwlearn._util.checks import is_masked
from scwlearn._util.plain_values import plain_setting
from scwlearn.data.labels import Classes, count_labels

Array = NDArray[np.float64]

#: What a weight may be, for messages.
ALLOWED_WEIGHT = f"0 or a number from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"


def check_weights(weights: ArrayLike | None, count: int, *, name: str = "weights") -> Array | None:
    """Return the weights of `count` rows, or None if all weigh the same."""
    if weights is None:
        return None
    if is_masked(weights):
        raise ValueError(f"{name} is a masked array with masked values; every example needs a weight")
    given = np.asarray(weights)
    if given.dtype.kind not in "biufO":
        raise TypeError(f"{name} must be numbers, got {given.dtype}")
    if given.shape != (count,):
        raise ValueError(f"{name} must be a vector of {count} weights, one per row of X, got shape {given.shape}")
    if given.dtype == object:
        # NumPy would read strings as numbers, and None as NaN.
        numbers = [as_number(weight) for weight in given]
        if None in numbers:
            place = numbers.index(None)
            raise TypeError(f"{name} must be numbers, got {name}[{place}] = {given[place]!r}")
        given = np.array(numbers, dtype=np.float64)
    # A copy, which cannot change after it was checked.
    checked = np.array(given, dtype=np.float64)
    bad = np.flatnonzero(~is_weight(checked))
    if len(bad):
        raise ValueError(f"a weight must be {ALLOWED_WEIGHT}, got {name}[{bad[0]}] = {checked[bad[0]]}")
    return checked


def is_weight(values: Array) -> NDArray[np.bool_]:
    """Return which values are valid weights."""
    valid: NDArray[np.bool_] = (values == 0) | ((values >= SMALLEST_WEIGHT) & (values <= LARGEST_WEIGHT))
    return valid


def weigh(by_class: Array, weights: Array) -> Array:
    """Return checked weights of examples times those of their classes."""
    products = by_class * weights
    bad = np.flatnonzero(~is_weight(products))
    if len(bad):
        place = bad[0]
        raise ValueError(
            f"the weight of an example times that of its class must be {ALLOWED_WEIGHT}, "
            f"got {weights[place]} * {by_class[place]:.3g} = {products[place]:.3g}"
        )
    return products


def nonzero_rows(order: NDArray[np.intp], weights: Array | None) -> NDArray[np.intp]:
    """Return the order without the rows of weight 0."""
    return order if weights is None or weights.all() else order[weights[order] != 0]


def spread(values: NDArray[Any], places: slice | NDArray[np.intp], count: int) -> NDArray[Any]:
    """Return `count` values: these at their places, and 0 elsewhere."""
    if isinstance(places, slice):
        return values
    found = np.zeros(count, dtype=values.dtype)
    found[places] = values
    return found


class ClassWeights:
    """Weights of examples by their class.

    A dict gives the weight of each label; other labels weigh 1. With "balanced", an example weighs n/(k n_y), where n
    examples of k classes, n_y of them of its own class, have been seen so far, itself included. So all classes have had
    about the same total weight at any time.
    """

    def __init__(self, given: Mapping[Any, float] | str | None) -> None:
        allowed = "class_weight must be a dict from labels to weights, 'balanced' or None"
        if isinstance(given, str) and given != "balanced":
            raise ValueError(f"{allowed}, got {given!r}")
        if given is not None and not isinstance(given, str | Mapping):
            raise TypeError(f"{allowed}, got {given!r}")
        if isinstance(given, Mapping):
            check_weights(list(given.values()), len(given), name="class_weight values")
        # A copy, because the caller may change theirs.
        self.given = plain_setting(given)
        #: Number of examples of each class so far; counted only for "balanced".
        self.seen: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def left_out(self) -> set[Any]:
        """The labels of weight 0."""
        return {label for label, weight in self.given.items() if weight == 0} if isinstance(self.given, dict) else set()

    def is_nonzero(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which labels belong to classes of a non-zero weight."""
        zero = self.left_out
        return np.array([label not in zero for label in labels.tolist()], dtype=bool)

    def rows_of_weight(
        self, labels: NDArray[Any], order: NDArray[np.intp] | None, sample_weights: Array | None
    ) -> slice | NDArray[np.intp]:
        """Return the rows of a weight other than 0, in learning order."""
        left_out = bool(self.left_out)
        if order is None and not left_out and (sample_weights is None or sample_weights.all()):
            return slice(None)
        places = nonzero_rows(np.arange(len(labels)) if order is None else order, sample_weights)
        return places[self.is_nonzero(labels[places])] if left_out else places

    def of(self, numbers: NDArray[np.int32], classes: Classes) -> tuple[Array | None, NDArray[np.int64]]:
        """Return the weights of examples given their class numbers (None if all are 1), and the counts after them."""
        if self.given is None:
            return None, self.seen
        if isinstance(self.given, dict):
            by_number = np.array([self.given.get(label, 1.0) for label in classes.labels.tolist()], dtype=np.float64)
            return by_number[numbers], self.seen
        before = self._counts(len(classes))
        of_class = before[numbers] + _rank_within_class(numbers) + 1
        known = np.count_nonzero(before) + np.cumsum(of_class == 1)
        total = before.sum() + np.arange(1, len(numbers) + 1)
        return total / (known * of_class), before + np.bincount(numbers, minlength=len(classes))

    def of_next(self, number: int, classes: Classes) -> float:
        """Return the weight of the next example, which is of a known class."""
        if self.given is None:
            return 1.0
        if isinstance(self.given, dict):
            return float(self.given.get(classes.values[number], 1.0))
        seen = self._counts(len(classes))
        of_class = int(seen[number]) + 1
        known = int(np.count_nonzero(seen)) + (of_class == 1)
        return (int(seen.sum()) + 1) / (known * of_class)

    def count(self, number: int, classes: Classes) -> None:
        """Count one learned example of a class."""
        if isinstance(self.given, str):
            self.seen = self._counts(len(classes))
            self.seen[number] += 1

    def _counts(self, classes: int) -> NDArray[np.int64]:
        """Return the counts of the first `classes` classes."""
        seen = np.zeros(classes, dtype=np.int64)
        seen[: len(self.seen)] = self.seen
        return seen


def training_classes(labels: NDArray[Any], weights: Array | None, class_weights: ClassWeights) -> NDArray[Any]:
    """Return the classes of all examples of a weight; raise a ValueError if no classifier can learn from them."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is zero for every example; there is nothing to learn from")
    classes, _ = count_labels(labels if weights is None else labels[weights != 0])
    if len(classes) < 2:
        raise ValueError(f"y holds {len(classes)} class(es), {classes.tolist()}; a classifier needs two classes")
    if not class_weights.is_nonzero(classes).any():
        raise ValueError("class_weight is zero for every class; there is nothing to learn from")
    return classes


def _rank_within_class(numbers: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return for each example how many examples of its class precede it."""
    by_class = np.argsort(numbers, kind="stable")
    in_order = numbers[by_class]
    ranks = np.empty(len(numbers), dtype=np.intp)
    ranks[by_class] = np.arange(len(numbers)) - np.searchsorted(in_order, in_order)
    return ranks
