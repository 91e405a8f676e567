"""Labels of a run: checked before learning, and watched for sorted data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.labels import Classes

# Larger integers are not exact as floats: two labels could become one.
_MAX_LABEL = 2.0**53
# Fewer examples say nothing about their order.
_MIN_EXAMPLES = 100
# Labels look sorted if they change less often than this fraction of the changes expected in random order.
_FEW_CHANGES = 0.05


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
    if (large := np.abs(labels) > _MAX_LABEL).any():
        index = int(large.argmax())
        raise ValueError(
            f"{examples.source}, line {examples.lines[index]}: label {labels[index]:.17g}; "
            "numeric labels must be at most 2^53 in magnitude, or distinct labels could become one"
        )
    integers = labels.astype(np.int64)
    return integers if (integers == labels).all() else labels


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


class LabelOrder:
    """Detects labels in sorted order, for which progressive validation says little about new examples.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.runs.labels import LabelOrder
    >>> order = LabelOrder()
    >>> order.update(np.repeat([0, 1], 100))
    >>> order.looks_sorted
    True
    """

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._changes = 0
        self._last: NDArray[Any] | None = None

    def update(self, labels: NDArray[Any]) -> None:
        """Count how often the label changes in the next batch."""
        values, counts = np.unique(labels, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        joined = labels if self._last is None else np.concatenate([self._last, labels])
        self._changes += int(np.count_nonzero(joined[1:] != joined[:-1]))
        self._last = labels[-1:] if len(labels) else self._last

    @property
    def looks_sorted(self) -> bool:
        """Whether the label changes far less often than in random order."""
        seen = self._counts.total()
        expected = seen - sum(count * count for count in self._counts.values()) / max(1, seen)
        return seen >= _MIN_EXAMPLES and len(self._counts) > 1 and self._changes < _FEW_CHANGES * expected
