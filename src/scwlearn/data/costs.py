"""Costs of decisions: what it costs to predict one label where another is true."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.plain_values import plain_setting
from scwlearn._util.real_numbers import real_number
from scwlearn.data.labels import Classes

Array = NDArray[np.float64]

_ALLOWED = "costs must be a dict from true labels to dicts from predicted labels to costs, or None"


class Costs:
    """Cost of each predicted label for each true label; a mistake that is not listed costs 1, a correct label 0.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.data.costs import Costs
    >>> from scwlearn.data.labels import Classes
    >>> costs, classes = Costs({"ham": {"spam": 5.0}}), Classes().add(np.array(["spam", "ham"]))
    >>> costs.decide(np.array([[0.2, 0.8], [0.1, 0.9]]), classes)
    array([1, 0])
    """

    def __init__(self, given: Mapping[Any, Mapping[Any, float]]) -> None:
        if not isinstance(given, Mapping) or not all(isinstance(row, Mapping) for row in given.values()):
            raise TypeError(f"{_ALLOWED}, got {given!r}")
        for true, row in given.items():
            for predicted, cost in row.items():
                number = real_number(cost)
                if number is None or not 0 <= number < math.inf:
                    raise ValueError(
                        f"a cost must be a finite number >= 0, got costs[{true!r}][{predicted!r}] = {cost!r}"
                    )
        # A copy, because the caller may change theirs.
        self.given = plain_setting(given)
        self._labels = [*dict.fromkeys([*self.given, *(label for row in self.given.values() for label in row)])]

    def check_labels(self, classes: Classes) -> None:
        """Raise a ValueError for labels that are not classes."""
        unknown = [label for label in self._labels if label not in classes.numbers]
        if unknown:
            listed = ", ".join(map(repr, unknown))
            known = ", ".join(map(repr, classes.values_in_order[:10])) + (", ..." if len(classes) > 10 else "")
            raise ValueError(f"costs names labels that are not classes: {listed}; the classes are {known}")

    def extra(self, classes: Classes) -> list[ExtraCosts]:
        """Return by how much the given costs differ from the usual ones, in the order of the true labels.

        Labels that are not classes yet have no effect. Nothing has the size of all pairs of classes.
        """
        known, values = classes.numbers, classes.values_in_order
        place = {label: bisect_left(values, label) for label in self._labels if label in known}
        found = []
        for true in sorted(place.keys() & self.given.keys(), key=place.__getitem__):
            row = {place[label]: cost for label, cost in self.given[true].items() if label in place}
            usual = np.array([predicted != place[true] for predicted in row], dtype=np.float64)
            more = np.array([*row.values()], dtype=np.float64) - usual
            found.append(ExtraCosts(place[true], np.array([*row], dtype=np.intp), more))
        return found

    def decide(self, probabilities: Array, classes: Classes) -> NDArray[np.intp]:
        """Return the number of the class of least expected cost for each row of probabilities, in label order.

        Ties go to the first label.
        """
        # Up to a constant, the expected cost is -p where all mistakes cost 1. A matrix product would round a row
        # differently alone and among others, and so decide near ties in two ways.
        expected = -probabilities
        for true, predicted, more in self.extra(classes):
            expected[:, predicted] += probabilities[:, true, np.newaxis] * more
        numbers: NDArray[np.intp] = classes.order[expected.argmin(axis=1)]
        return numbers


class ExtraCosts(NamedTuple):
    """What predictions cost beyond the usual where one class is true; classes are places in the order of the labels."""

    true: int
    predicted: NDArray[np.intp]
    more: Array


def given_costs(given: Any, *, has_probabilities: bool) -> Costs | None:
    """Return the costs that a user gave a model, or None; raise a ValueError if it has no probabilities."""
    if given is None:
        return None
    if not has_probabilities:
        raise ValueError(
            "costs need probabilities, which a model with a precomputed kernel does not have; leave them out, or pass "
            "the kernel as a function"
        )
    return Costs(given)
