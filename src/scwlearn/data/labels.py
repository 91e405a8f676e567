"""Labels: what a user passes as y, and the -1 and +1 that the learner sees."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _kind_of(value: object) -> str:
    if isinstance(value, str | np.str_):
        return "str"
    if isinstance(value, bytes | np.bytes_):
        return "bytes"
    if isinstance(value, bool | np.bool_):
        return "bool"
    return "number" if isinstance(value, Number) else type(value).__name__


def label_kind(y: Any) -> str:
    """The one kind of the labels (number, bool, str ...), or a TypeError if there are several."""
    kinds = {"b": "bool", "i": "number", "u": "number", "f": "number", "U": "str", "S": "bytes"}
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in kinds:
        return kinds[dtype.kind]
    # Lists are looked at before NumPy turns [1, "a"] into two strings.
    seen: dict[str, object] = {}
    for value in np.asarray(y, dtype=object).ravel():
        seen.setdefault(_kind_of(value), value)
    if len(seen) > 1:
        mixed = ", ".join(f"{value!r} ({kind})" for kind, value in seen.items())
        raise TypeError(f"the labels in y are of mixed types: {mixed}; use labels of one type")
    return next(iter(seen), "number")


def binary_classes(labels: Any, *, name: str = "y") -> NDArray[Any]:
    """The two labels in order, or a ValueError if there are fewer or more."""
    classes: NDArray[Any] = np.unique(np.asarray(labels))
    if len(classes) < 2:
        raise ValueError(f"{name} holds {len(classes)} class(es), {classes.tolist()}; a classifier needs two classes")
    if len(classes) > 2:
        shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if len(classes) > 5 else "")
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass: "
            f"{name} holds {len(classes)} classes ({shown})"
        )
    return classes


def as_signs(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int8]:
    """-1 for the first class, +1 for the second; an error for a label that is neither."""
    if len(labels) and label_kind(labels) != label_kind(classes):
        raise TypeError(f"y holds labels of type {label_kind(labels)}, but the classes are {classes.tolist()}")
    positive = labels == classes[1]
    unknown = np.flatnonzero(~(positive | (labels == classes[0])))
    if len(unknown):
        wrong = labels[unknown[:1]].tolist()
        raise ValueError(f"y[{unknown[0]}] = {wrong[0]!r} is not one of the classes {classes.tolist()}")
    return np.where(positive, 1, -1).astype(np.int8)
