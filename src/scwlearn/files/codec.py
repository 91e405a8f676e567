"""Codecs shared by all parts of a model file: settings and labels as JSON, and arrays of a checked type and shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.json_fields import Label, Name, Scalar, shorten
from scwlearn._util.plain_values import plain_label, plain_scalar
from scwlearn.data.labels import Classes
from scwlearn.files.json_reader import InvalidModelFile, reject

#: The arrays of a file by name.
Arrays = dict[str, NDArray[Any]]

#: Types of arrays.
FLOAT64, INT64, INT32, BYTE = "<f8", "<i8", "<i4", "u1"

#: The largest finite double, and the smallest above 0.
LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324

_NUMERIC_LABELS = tuple(np.dtype(kind).str for kind in "?bhiqBHIQefd")
# A wider string type than this is narrowed to the longest label.
_MAX_PADDED_LABEL = 64
# Padding may take this many times the memory of the labels.
_MOST_PADDING = 4


@dataclass(frozen=True)
class StoredObject:
    """A setting that is not a scalar: numbers by label, as JSON keys are strings, or the members of a committee."""

    by_label: Annotated[list[tuple[Label, StoredSetting]] | None, Name("by label")] = None
    members: list[str | dict[str, Scalar]] | None = None

    def __post_init__(self) -> None:
        if (self.by_label is None) == (self.members is None):
            raise ValueError("an object must have the field 'by label' or 'members'")


#: The JSON of a setting, and of several by name.
StoredSetting = Scalar | StoredObject
StoredSettings = dict[str, StoredSetting]


@dataclass(frozen=True)
class StoredClasses:
    """Labels in the order of their class numbers, and the type of their array."""

    type: str
    labels: list[Label]


def encode_setting(name: str, value: Any) -> Any:
    """Return what is stored of a setting."""
    try:
        if name == "members" and value is not None:
            members = [
                member if isinstance(member, str) else {str(k): plain_scalar(v) for k, v in member.items()}
                for member in value
            ]
            return StoredObject(members=members)
        if isinstance(value, Mapping):
            pairs = [(plain_label(label), encode_setting(name, weight)) for label, weight in value.items()]
            return StoredObject(by_label=pairs)
        return plain_scalar(value)
    except TypeError:
        pass
    if callable(value):
        raise TypeError(f"{name} is a function, which cannot be saved: model files hold no code")
    if name == "random_state":
        raise TypeError(f"random_state is {value!r}, which cannot be saved; use an integer or None")
    raise TypeError(f"{name} is {value!r}, which cannot be saved; use a number, string, bool, None or dict of these")


def decode_setting(value: StoredSetting, what: str) -> Any:
    """Return a setting from what is stored of it."""
    if not isinstance(value, StoredObject):
        return value
    if value.by_label is None:
        return value.members
    weights = {label: decode_setting(weight, what) for label, weight in value.by_label}
    if len(weights) < len(value.by_label):
        raise InvalidModelFile(f"{what} has a duplicate label")
    return weights


def encode_settings(settings: Mapping[str, Any]) -> StoredSettings:
    """Return what is stored of settings by name."""
    return {name: encode_setting(name, value) for name, value in settings.items()}


def decode_settings(stored: StoredSettings, path: str) -> dict[str, Any]:
    """Return settings by name; neither names nor values are checked further."""
    return {name: decode_setting(value, f"{path}.{name}") for name, value in stored.items()}


def encode_classes(classes: Classes) -> StoredClasses:
    """Return what is stored of the labels."""
    labels = classes.labels
    values = [plain_scalar(label) for label in classes.values]
    if labels.dtype.kind == "U" and labels.itemsize > 4 * _MAX_PADDED_LABEL:
        widest = max(map(len, values))
        labels = labels.astype(f"<U{widest}" if _is_compact(widest, values) else object)
    return StoredClasses(labels.dtype.str, values)


def decode_classes(stored: StoredClasses, path: str) -> Classes:
    """Return the labels of a file."""
    kind, values = stored.type, stored.labels
    if len({*values}) < len(values):
        reject(f"{path}.labels", values, "distinct numbers, strings or bools")
    if not values:
        return Classes()
    labels = np.array(values, dtype=_label_dtype(kind, values, path))
    # The conversion must not have rounded, cut off or changed the type of a label.
    if labels.tolist() != values or [*map(type, labels.tolist())] != [*map(type, values)]:
        reject(f"{path}.labels", values, f"of type {kind!r}")
    try:
        return Classes().add(labels)
    except (TypeError, ValueError) as error:
        raise InvalidModelFile(f"{path}.labels: {error}") from None


def _label_dtype(kind: str, values: list[Any], path: str) -> np.dtype[Any]:
    if kind in _NUMERIC_LABELS:
        if not _converts(np.dtype(kind), values):
            reject(f"{path}.labels", values, f"of type {kind!r}")
        return np.dtype(kind)
    if kind == "|O":
        return np.dtype(object)
    width = int(kind[2:]) if kind[:2] == "<U" and kind.isascii() and kind[2:].isdecimal() and len(kind) < 14 else 0
    longest = max(len(value) if isinstance(value, str) else 0 for value in values)
    if not max(1, longest) <= width <= max(longest, _MAX_PADDED_LABEL) or not _is_compact(width, values):
        reject(f"{path}.type", kind, "the type of an array of labels")
    return np.dtype(kind)


def _is_compact(width: int, values: list[Any]) -> bool:
    """Return whether an array of strings of this width takes memory in proportion to the labels."""
    used = sum(len(value) for value in values if isinstance(value, str))
    return width * len(values) <= _MAX_PADDED_LABEL * len(values) + _MOST_PADDING * used


def _converts(dtype: np.dtype[Any], values: list[Any]) -> bool:
    """Return whether NumPy converts all values to a numeric type without an error."""
    if dtype.kind not in "iu":
        return all(not isinstance(value, str) and abs(value) <= LARGEST for value in values)
    bounds = np.iinfo(dtype)
    return all(type(value) is int and bounds.min <= value <= bounds.max for value in values)


class ArrayReader:
    """The arrays of a file, taken one by one and checked for type and shape; `finish` refuses what is left."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Take an array of the given type and shape; None stands for any length."""
        if name not in self._left:
            raise InvalidModelFile(f"array {name!r} is missing")
        array = self._left.pop(name)
        matches = len(shape) == array.ndim and all(
            expected in (None, actual) for expected, actual in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not matches:
            expected = ", ".join("any" if length is None else str(length) for length in shape)
            raise InvalidModelFile(
                f"array {name!r} must be {np.dtype(dtype)} of shape ({expected}), got {array.dtype} of {array.shape}"
            )
        return array

    def part(self, prefix: str) -> ArrayReader:
        """Take all arrays whose names start with `prefix`, by the rest of their names."""
        names = [name for name in self._left if name.startswith(prefix)]
        return ArrayReader({name.removeprefix(prefix): self._left.pop(name) for name in names})

    def finish(self) -> None:
        """Refuse arrays that have not been taken."""
        if self._left:
            raise InvalidModelFile(f"unexpected arrays: {shorten([*self._left])[1:-1]}")


def check_range(name: str, array: NDArray[Any], low: float, high: float, requirement: str, *where: int | slice) -> None:
    """Raise an error for the first value of ``array[where]`` that is NaN or not in [low, high]."""
    values = array[where] if where else array
    # Minimum and maximum need no temporary array; both are NaN if a value is.
    if not values.size or (low <= values.min() and values.max() <= high):
        return
    first = iter(np.argwhere(~((values >= low) & (values <= high)))[0].tolist())
    index = [axis if isinstance(axis, int) else (axis.start or 0) + next(first) for axis in where]
    index += first
    raise InvalidModelFile(f"{name}{index}: {requirement}, got {array[tuple(index)]}")
