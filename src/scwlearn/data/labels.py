"""Labels: what users pass as `y`, and the signs and class numbers that the learners see."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._util.checks import is_masked

#: Integers from here on are not exact as floats: two labels could become one.
FIRST_INEXACT = 2.0**53

#: Integers that model files hold, as labels and as names of features.
INT64 = range(-(2**63), 2**63)

_KINDS = {"b": "bool", "i": "number", "u": "number", "f": "number", "U": "str"}
# What has a label each, in an argument.
_ITEMS = {"y": "example", "classes": "class"}
# Up to this many classes, comparing with each is faster than sorting.
_FEW_CLASSES = 8
# Integers in a range up to this are counted instead of sorted.
_SMALL_RANGE = 2**16


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return "str"
    if issubclass(kind, bool | np.bool_):
        return "bool"
    # To NumPy, a difference of dates is an integer.
    is_number = issubclass(kind, int | np.integer | float | np.floating) and not issubclass(kind, np.timedelta64)
    return "number" if is_number else kind.__name__


def _fixed_type(labels: Any) -> np.dtype[Any] | None:
    """Return the type of an array whose items are no Python objects of any length."""
    dtype = getattr(labels, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind not in "OT" else None


def label_kind(labels: Any, *, name: str = "y") -> str:
    """Return the kind of the labels: number, bool or str.

    Raise a TypeError if they are of another kind, of several or floats of more than 64 bits, and a ValueError if one
    ends with NUL or is too large an integer.
    """
    if (dtype := _fixed_type(labels)) is not None:
        _check_floats({dtype.type}, name)
        if dtype.kind == "u" and dtype.itemsize == 8 and labels.size:
            _check_integers([int(labels.max())], name)
        return _checked_kind(_KINDS.get(dtype.kind, dtype.type.__name__))
    # Lists are inspected before NumPy turns [1, "a"] into two strings, and "a\0" into "a".
    values = np.asarray(labels, dtype=object).ravel().tolist()
    types = set(map(type, values))
    kinds = {_kind_of(each) for each in types}
    _check_floats(types, name)
    if integers := {each for each in types if not issubclass(each, float | np.floating) and _kind_of(each) == "number"}:
        _check_integers([int(value) for value in values if type(value) in integers], name)
    if len(kinds) > 1:
        seen: dict[str, object] = {}
        for value in values:
            seen.setdefault(_kind_of(type(value)), value)
        mixed = ", ".join(f"{value!r} ({kind})" for kind, value in seen.items())
        raise TypeError(f"{name} has labels of mixed types: {mixed}; use labels of one type")
    if kinds == {"str"} and "\0" in "".join(values):
        for value in exact_labels(values):
            if value.endswith("\0"):
                raise ValueError(
                    f"{name} has the label {value!r}, but a label must not end with NUL: NumPy would remove it"
                )
    return _checked_kind(next(iter(kinds), "number"))


def _checked_kind(kind: str) -> str:
    if kind not in _KINDS.values():
        raise TypeError(f"labels must be strings, numbers or bools, got {kind}")
    return kind


def _check_floats(types: Collection[type], name: str) -> None:
    # Neither model files nor exports hold such a number.
    if np.longdouble in types and np.dtype(np.longdouble).itemsize > 8:
        raise TypeError(f"{name} has labels of type longdouble; convert them to float64")


def _check_integers(labels: list[int], name: str) -> None:
    for label in (min(labels), max(labels)):
        if label not in INT64:
            raise ValueError(
                f"{name} has a whole number of {label.bit_length()} bits; such a label must be from -2**63 to 2**63 - 1"
            )


def exact_labels(labels: Any, *, name: str = "y") -> Any:
    """Return labels whose strings are of type str; raise a ValueError for masked ones.

    Of a string of another class, an Enum for example, NumPy takes what `str()` says, cut to the length of the string;
    of a masked array it takes what lies under the mask.
    """
    _check_unmasked(labels, name)
    if _fixed_type(labels) is not None:
        return labels
    values = np.asarray(labels, dtype=object)
    if all(each is str or not issubclass(each, str) for each in set(map(type, values.ravel().tolist()))):
        return labels
    items = (str.__str__(value) if isinstance(value, str) else value for value in values.ravel().tolist())
    exact = np.fromiter(items, dtype=object, count=values.size).reshape(values.shape)
    return exact if hasattr(labels, "dtype") else exact.tolist()


def _check_unmasked(labels: Any, name: str) -> None:
    if is_masked(labels):
        raise ValueError(f"{name} is a masked array with masked values; every {_ITEMS[name]} needs a label")


def listed(labels: Any) -> Any:
    """Return a column of another library as a list, and any other labels as they are."""
    if hasattr(labels, "to_pylist"):  # Arrow
        return labels.to_pylist()
    is_numpy = isinstance(getattr(labels, "dtype", np.dtype(object)), np.dtype)
    return labels if is_numpy else np.asarray(labels, dtype=object).tolist()


def as_labels(y: Any, *, name: str = "y") -> NDArray[Any]:
    """Return labels that come without a matrix: strings, numbers or bools, all of one kind."""
    if isinstance(y, str | bytes | bytearray | Mapping | set | frozenset) or not hasattr(y, "__iter__"):
        raise TypeError(f"{name} must be a list with one label per {_ITEMS[name]}, got {type(y).__name__}")
    _check_unmasked(y, name)
    given = y = listed(y)
    if _fixed_type(y) is None:
        # A table's column of strings takes longer to go through.
        given = exact_labels(np.asarray(y, dtype=object).tolist() if hasattr(y, "dtype") else list(y))
    if isinstance(given, list) and {_kind_of(each) for each in set(map(type, given))} == {"bool", "number"}:
        # As in calls for single examples, where True is 1.
        given = [int(label) if isinstance(label, bool | np.bool_) else label for label in given]
    label_kind(given, name=name)
    labels = _as_array(given)
    if labels.ndim != 1:
        raise ValueError(f"{name} must have one label per {_ITEMS[name]}, got shape {labels.shape}")
    if labels.dtype.kind in "fO":
        bad = [i for i, label in enumerate(labels.tolist()) if label != label or abs(label) == math.inf]
        if bad:
            raise ValueError(f"labels must be finite, got {name}[{bad[0]}] = {labels[bad[0]]}")
    return labels


def labels_of_rows(y: Any) -> Any:
    """Return labels that come with a matrix: strings, numbers or bools, all of one kind, in an array of any shape.

    Strings stay objects in an array of objects, as in scikit-learn; numbers and bools do not.
    """
    given = listed(y)
    _check_unmasked(given, "y")
    if _fixed_type(given) is None:
        given = exact_labels(given if isinstance(given, list) else np.asarray(given, dtype=object).tolist())
    if label_kind(given) == "str" and isinstance(given, list) and isinstance(getattr(y, "dtype", None), np.dtype):
        return np.array(given, dtype=object)
    return _as_array(given) if isinstance(given, list) else given


def _as_array(given: Any) -> NDArray[Any]:
    labels = np.asarray(given)
    if isinstance(given, list) and labels.dtype.kind == "f" and labels.tolist() != given:
        labels = _unrounded(given)
    return labels


def _unrounded(labels: list[Any]) -> NDArray[Any]:
    """Return numbers of which floats would round large integers: as integers if all are whole, else as objects."""
    # Scikit-learn's metrics take no objects that are numbers.
    are_whole = all(math.isfinite(label) and label == int(label) for label in labels)
    return np.array([*map(int, labels)], dtype=np.int64) if are_whole else np.array(labels, dtype=object)


def count_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different labels, sorted, and how often each occurs."""
    if labels.dtype.kind in "iu" and len(labels):
        least, low, high = labels.min(), int(labels.min()), int(labels.max())
        if high - low < _FEW_CLASSES:
            few = np.arange(high - low + 1).astype(labels.dtype) + least
            counts = np.array([np.count_nonzero(labels == label) for label in few])
            return few[counts > 0], counts[counts > 0]
        if high - low < _SMALL_RANGE:
            # A difference may wrap in a narrow type, but not if it is read without a sign.
            places = (labels - least).view(f"u{labels.itemsize}").astype(np.intp, copy=False)
            counts = np.bincount(places)
            found = np.flatnonzero(counts)
            return found.astype(labels.dtype) + least, counts[found]
    values, counts = np.unique(labels, return_counts=True)
    return values, counts


#: Fewer labels say nothing about their order.
FEWEST_IN_ORDER = 100
# Labels look sorted if they change less often than this fraction of the changes expected in random order.
_FEW_CHANGES = 0.05


def looks_sorted(counts: Collection[int], changes: int) -> bool:
    """Return whether labels come in long runs, given how often each occurs and how often the label changes."""
    seen = sum(counts)
    expected = seen - sum(count * count for count in counts) / max(1, seen)
    return seen >= FEWEST_IN_ORDER and changes < _FEW_CHANGES * expected


class Classes:
    """Immutable numbering of the known labels from 0: declared ones in sorted order, others by first appearance."""

    def __init__(self) -> None:
        #: The labels by number: as an array, as Python values, and as sorted Python values.
        self.labels: NDArray[Any] = np.empty(0)
        self.values: list[Any] = []
        self.values_in_order: list[Any] = []
        self.numbers: dict[Any, int] = {}
        #: Kind of the labels (number, str ...); empty before the first label.
        self.kind = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def order(self) -> NDArray[np.intp]:
        """Class numbers in the order of their labels."""
        return np.argsort(self.labels, kind="stable")

    @property
    def in_order(self) -> NDArray[Any]:
        """Sorted labels."""
        labels: NDArray[Any] = self.labels[self.order]
        return labels

    def find(self, labels: NDArray[Any]) -> Numbered:
        """Return the number of each label; new labels get the next numbers, by first appearance."""
        # A copy: another thread may change the labels between two passes over them.
        labels = labels.copy()
        self.check_kind(labels)
        if labels.dtype == self.labels.dtype and labels.dtype != object and len(self) <= _FEW_CLASSES:
            # Numbers from 1; 0 means that the label is new.
            found = np.zeros(len(labels), dtype=np.int8)
            for number, label in enumerate(self.labels, 1):
                found += np.int8(number) * (labels == label)
            if found.all():
                return Numbered((found - np.int8(1)).astype(np.int32), labels[:0])
        if len(labels) == 1:
            # Sorting would take longer than learning from the example.
            number = self.numbers.get(labels.tolist()[0], len(self))
            return Numbered(np.array([number], dtype=np.int32), labels[: number == len(self)])
        values, first, places = np.unique(labels, return_index=True, return_inverse=True)
        known = [self.numbers.get(value, -1) for value in values.tolist()]
        new = [i for i in np.argsort(first) if known[i] < 0]
        for number, i in enumerate(new, start=len(self)):
            known[i] = number
        return Numbered(np.array(known, dtype=np.int32)[places.ravel()], values[new])

    def add(self, new: NDArray[Any]) -> Classes:
        """Return these classes and new ones with the next numbers."""
        if not len(new):
            return self
        wider = Classes()
        labels = _concatenated(self.labels, new) if len(self) else np.array(new)
        # Arrays of FITS, HDF5 and other files may come in the byte order of another machine.
        wider.labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        wider.values, wider.values_in_order = wider.labels.tolist(), wider.in_order.tolist()
        wider.numbers = {label: number for number, label in enumerate(wider.values)}
        wider.kind = self.kind or _comparable(label_kind(new))
        return wider

    def first(self, count: int) -> Classes:
        """Return the first `count` classes."""
        return self if count >= len(self) else Classes().add(self.labels[:count])

    def check_kind(self, labels: NDArray[Any]) -> None:
        """Raise a TypeError if the labels are not of the same kind as the known ones."""
        kind = _comparable(label_kind(labels))
        if len(labels) and self.kind and kind != self.kind:
            shown = ", ".join(map(repr, self.in_order[:5].tolist())) + (", ..." if len(self) > 5 else "")
            raise TypeError(f"y has labels of type {label_kind(labels)}, but the classes are [{shown}]")


class Numbered(NamedTuple):
    """Labels as class numbers, and the new classes among them."""

    numbers: NDArray[np.int32]
    new: NDArray[Any]


def given_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return classes that are declared in advance, unique and sorted; raise a ValueError if there are none."""
    # Their order does not matter.
    ordered = list(classes) if isinstance(classes, set | frozenset) else classes
    given: NDArray[Any] = np.unique(as_labels(ordered, name="classes"))
    if not len(given):
        raise ValueError("classes is empty; leave it out, or name the classes to come")
    return given


def _concatenated(known: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    labels = np.concatenate([known, new])
    if labels.dtype.kind == "f" and labels.tolist() != known.tolist() + new.tolist():
        labels = _unrounded(known.tolist() + new.tolist())
    return labels


def _comparable(kind: str) -> str:
    # True equals 1, as everywhere in Python, but "1" does not.
    return kind.replace("bool", "number")


def _label_vector(y: ArrayLike, count: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"y must be a vector of {count} labels, one per row of X, got shape {labels.shape}")
    if is_masked(y):
        raise ValueError("y is a masked array with masked values; every row needs a label")
    return labels


def check_signs(y: ArrayLike, count: int) -> NDArray[np.int8]:
    """Return the labels of `count` rows, each -1 or +1."""
    # Checked as a copy, which cannot change afterwards.
    labels = _label_vector(y, count).copy()
    if labels.dtype.kind in "cmM":
        raise TypeError(f"labels must be -1 or +1, got {labels.dtype}")
    wrong = np.flatnonzero((labels != 1) & (labels != -1))
    if len(wrong):
        raise ValueError(f"labels must be -1 or +1, got y[{wrong[0]}] = {labels[wrong[:1]].tolist()[0]!r}")
    return labels.real.astype(np.int8)


def check_class_numbers(y: ArrayLike, count: int) -> NDArray[np.int32]:
    """Return the class numbers of `count` rows."""
    # Checked as a copy, which cannot change afterwards.
    labels = _label_vector(y, count).copy()
    if count and labels.dtype.kind not in "iuf":
        raise TypeError(f"labels must be class numbers from 0, got {labels.dtype}")
    most = np.iinfo(np.int32).max
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~((labels >= 0) & (labels < most) & (labels == np.floor(labels))))
    if len(wrong):
        raise ValueError(f"labels must be integers from 0 to {most - 1}, got y[{wrong[0]}] = {labels[wrong[0]]}")
    return labels.astype(np.int32)


def classes_after(labels: NDArray[np.int32], known: int, *, name: str = "y") -> int:
    """Return the number of known classes after these labels; a new class must have the next number."""
    if not len(labels):
        return known
    after = np.maximum.accumulate(np.append(known, labels.astype(np.int64) + 1))
    wrong = np.flatnonzero(labels > after[:-1])
    if len(wrong):
        label, before = labels[wrong[0]], after[wrong[0]]
        raise ValueError(
            f"{name} has the label {label} where {before} classes are known; use the number of a known class, "
            f"or {before} for a new one"
        )
    return int(after[-1])
