"""Labels: what a user passes as y, and the -1 and +1 that the learner sees."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_KINDS = {"b": "bool", "i": "number", "u": "number", "f": "number", "U": "str"}


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return "str"
    if isinstance(value, bool | np.bool_):
        return "bool"
    return "number" if isinstance(value, Number) else type(value).__name__


def label_kind(labels: Any, *, name: str = "y") -> str:
    """The one kind of the labels (number, bool, str ...), or a TypeError if there are several."""
    dtype = getattr(labels, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _KINDS:
        return _KINDS[dtype.kind]
    # Lists are looked at before NumPy turns [1, "a"] into two strings.
    seen: dict[str, object] = {}
    for value in np.asarray(labels, dtype=object).ravel():
        seen.setdefault(_kind_of(value), value)
    if len(seen) > 1:
        mixed = ", ".join(f"{value!r} ({kind})" for kind, value in seen.items())
        raise TypeError(f"the labels in {name} are of mixed types: {mixed}; use labels of one type")
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
    # True is 1, as everywhere in Python, but "1" is not.
    kinds = {kind.replace("bool", "number") for kind in (label_kind(labels), label_kind(classes))}
    if len(labels) and len(kinds) > 1:
        raise TypeError(f"y holds labels of type {label_kind(labels)}, but the classes are {classes.tolist()}")
    positive = labels == classes[1]
    unknown = np.flatnonzero(~(positive | (labels == classes[0])))
    if len(unknown):
        wrong = labels[unknown[:1]].tolist()
        raise ValueError(f"y[{unknown[0]}] = {wrong[0]!r} is not one of the classes {classes.tolist()}")
    return np.where(positive, 1, -1).astype(np.int8)


def check_signs(y: ArrayLike, count: int) -> NDArray[np.int8]:
    """Labels that are -1 and +1 already, one for each of so many rows."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"y must be a vector of {count} labels, one a row of X, got the shape {labels.shape}")
    if np.ma.is_masked(y):
        raise ValueError("y is a masked array with masked values; a learner needs every label")
    wrong = np.flatnonzero((labels != 1) & (labels != -1))
    if len(wrong):
        raise ValueError(f"a learner's labels are -1 and +1, got y[{wrong[0]}] = {labels[wrong[:1]].tolist()[0]!r}")
    return labels.real.astype(np.int8)
