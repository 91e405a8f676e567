"""Labels: what a user passes as y, and the -1 and +1 that the learner sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._util.checks import is_masked

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


def as_labels(y: Any) -> NDArray[Any]:
    """Labels of examples that come without a matrix: strings, numbers or bools, all of one kind."""
    if isinstance(y, str | bytes | Mapping):
        raise TypeError(f"y must be a list of labels, one for each example, got {type(y).__name__}")
    given = y if hasattr(y, "dtype") else list(y)
    if is_masked(given):
        raise ValueError("y is a masked array with masked values; every example needs a label")
    if isinstance(given, list) and {type(label) for label in given} == {bool, int}:
        # As one by one, where True is 1.
        given = [int(label) for label in given]
    kind = label_kind(given)
    labels = np.asarray(given)
    if kind not in _KINDS.values() or labels.dtype.kind == "c":
        raise TypeError(f"labels must be strings, numbers or bools, got {'complex' if kind == 'number' else kind}")
    if labels.ndim != 1:
        raise ValueError(f"y must hold one label for each example, got the shape {labels.shape}")
    if labels.dtype.kind == "O" and kind == "str":
        labels = labels.astype(str)
    if isinstance(given, list) and labels.dtype.kind == "f" and labels.tolist() != given:
        # Large whole numbers would be rounded.
        labels = np.array(given, dtype=object)
    if labels.dtype.kind in "fO":
        bad = [i for i, label in enumerate(labels.tolist()) if label != label or abs(label) == math.inf]
        if bad:
            raise ValueError(f"y[{bad[0]}] is not finite; a label must be")
    return labels


# Labels are compared with so many classes faster than they are sorted.
_FEW = 8


class Classes:
    """The labels known so far, numbered from 0: those named in advance in their order, others as they come."""

    def __init__(self) -> None:
        #: The labels by number, and as Python knows them, also in order.
        self.labels: NDArray[Any] = np.empty(0)
        self.values: list[Any] = []
        self.values_in_order: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self._kind = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def kind(self) -> str:
        """What kind of labels they are (number, str ...); nothing before the first."""
        return self._kind

    @property
    def order(self) -> NDArray[np.intp]:
        """The numbers of the classes in the order of their labels, as users see them."""
        return np.argsort(self.labels, kind="stable")

    @property
    def in_order(self) -> NDArray[Any]:
        """The labels in order."""
        labels: NDArray[Any] = self.labels[self.order]
        return labels

    def find(self, labels: NDArray[Any]) -> Numbered:
        """The number of each label; those never seen get the next ones, in the order in which they come."""
        self.check_kind(labels)
        if labels.dtype == self.labels.dtype and labels.dtype != object and len(self) <= _FEW:
            # Numbers from 1: what stays 0 is none of these.
            found = np.zeros(len(labels), dtype=np.int32)
            for number, label in enumerate(self.labels, 1):
                found += np.int32(number) * (labels == label)
            if found.all():
                return Numbered(found - np.int32(1), labels[:0])
        values, first, places = np.unique(labels, return_index=True, return_inverse=True)
        known = [self.numbers.get(value, -1) for value in values.tolist()]
        new = [i for i in np.argsort(first) if known[i] < 0]
        for number, i in enumerate(new, start=len(self)):
            known[i] = number
        return Numbered(np.array(known, dtype=np.int32)[places.ravel()], values[new])

    def add(self, new: NDArray[Any]) -> Classes:
        """These classes and some more, with the next numbers."""
        if not len(new):
            return self
        wider = Classes()
        wider.labels = _together(self.labels, new) if len(self) else np.array(new)
        wider.values, wider.values_in_order = wider.labels.tolist(), wider.in_order.tolist()
        wider.numbers = {label: number for number, label in enumerate(wider.values)}
        wider._kind = self._kind or _comparable(label_kind(new))
        return wider

    def first(self, count: int) -> Classes:
        """The classes of the first so many numbers."""
        return self if count >= len(self) else Classes().add(self.labels[:count])

    def check_kind(self, labels: NDArray[Any]) -> None:
        """A TypeError for labels that are of another kind than those known."""
        kind = _comparable(label_kind(labels))
        if len(labels) and self._kind and kind != self._kind:
            raise TypeError(f"y holds labels of type {label_kind(labels)}, but the classes are {_shown(self.in_order)}")


class Numbered(NamedTuple):
    """Labels as numbers, and the classes that they bring."""

    numbers: NDArray[np.int32]
    new: NDArray[Any]


def given_classes(classes: ArrayLike) -> NDArray[Any]:
    """Classes that are named in advance, each once and in order; a ValueError if there are none."""
    label_kind(classes, name="classes")
    given: NDArray[Any] = np.unique(np.asarray(classes))
    if not len(given):
        raise ValueError("classes names no class; leave it out, or name those to come")
    return given


def _together(known: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    labels = np.concatenate([known, new])
    if labels.dtype.kind == "f" and labels.tolist() != known.tolist() + new.tolist():
        # A large whole number would be rounded.
        labels = np.concatenate([known.astype(object), new.astype(object)])
    return labels


def _comparable(kind: str) -> str:
    # True is 1, as everywhere in Python, but "1" is not.
    return kind.replace("bool", "number")


def _shown(labels: NDArray[Any]) -> str:
    return "[" + ", ".join(map(repr, labels[:5].tolist())) + (", ...]" if len(labels) > 5 else "]")


def check_signs(y: ArrayLike, count: int) -> NDArray[np.int8]:
    """Labels that are -1 and +1 already, one for each of so many rows."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"y must be a vector of {count} labels, one a row of X, got the shape {labels.shape}")
    if is_masked(y):
        raise ValueError("y is a masked array with masked values; a learner needs every label")
    wrong = np.flatnonzero((labels != 1) & (labels != -1))
    if len(wrong):
        raise ValueError(f"a learner's labels are -1 and +1, got y[{wrong[0]}] = {labels[wrong[:1]].tolist()[0]!r}")
    return labels.real.astype(np.int8)


def check_class_numbers(y: ArrayLike, count: int) -> NDArray[np.int32]:
    """Numbers of classes, one for each of so many rows."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"y must be a vector of {count} labels, one a row of X, got the shape {labels.shape}")
    if is_masked(y):
        raise ValueError("y is a masked array with masked values; a learner needs every label")
    if count and labels.dtype.kind not in "iuf":
        raise TypeError(f"the labels of a learner for several classes are whole numbers from 0, got {labels.dtype}")
    most = np.iinfo(np.int32).max
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~((labels >= 0) & (labels < most) & (labels == np.floor(labels))))
    if len(wrong):
        raise ValueError(f"y[{wrong[0]}] = {labels[wrong[0]]}; labels are whole numbers from 0, and less than {most}")
    return labels.astype(np.int32)


def classes_after(labels: NDArray[np.int32], known: int, *, name: str = "y") -> int:
    """How many classes are known after these labels; an error for one that is neither known nor the next."""
    if not len(labels):
        return known
    after = np.maximum.accumulate(np.append(known, labels.astype(np.int64) + 1))
    wrong = np.flatnonzero(labels > after[:-1])
    if len(wrong):
        label, before = labels[wrong[0]], after[wrong[0]]
        raise ValueError(
            f"{name} holds the label {label} where {before} classes are known; a label is the number of a known class, "
            f"or {before} for a new one"
        )
    return int(after[-1])
