"""Codecs shared by all parts of a model file: settings and labels as JSON, and arrays of a checked type and shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, shorten

#: The arrays of a file by name.
Arrays = dict[str, NDArray[Any]]

#: Types of arrays.
FLOAT64, INT64, INT32, BYTE = "<f8", "<i8", "<i4", "u1"

#: The largest finite double, and the smallest above 0.
LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324

# Key of a dict of weights by label: JSON's own objects have only strings as keys.
_BY_LABEL = "by label"
# Key of a list of members of a committee.
_MEMBERS = "members"

_NUMERIC_LABELS = tuple(np.dtype(kind).str for kind in "?bhiqBHIQefd")
# A wider string type than this is narrowed to the longest label.
_MAX_PADDED_LABEL = 64


def encode_scalar(value: Any) -> Any:
    """Return a number, string, bool or None as the plain Python type; raise a TypeError for anything else."""
    plain = value.item() if isinstance(value, np.generic) else value
    # Exact types: a subclass may carry more than its value.
    if plain is None or type(plain) in (bool, int, float, str):
        return plain
    raise TypeError(type(value).__name__)


def encode_setting(name: str, value: Any) -> Any:
    """Return the JSON of a setting: a scalar, a dict of scalars or dicts by label, or the members of a committee."""
    try:
        if name == _MEMBERS and value is not None:
            return {
                _MEMBERS: [
                    member if isinstance(member, str) else {str(k): encode_scalar(v) for k, v in member.items()}
                    for member in value
                ]
            }
        if isinstance(value, Mapping):
            return {
                _BY_LABEL: [[encode_scalar(label), encode_setting(name, weight)] for label, weight in value.items()]
            }
        return encode_scalar(value)
    except TypeError:
        pass
    if callable(value):
        raise TypeError(f"{name} is a function, which cannot be saved: model files hold no code")
    if name == "random_state":
        raise TypeError(f"random_state is {value!r}, which cannot be saved; use an integer or None")
    raise TypeError(f"{name} is {value!r}, which cannot be saved; use a number, string, bool, None or dict of these")


def decode_setting(value: Any, what: str) -> Any:
    """Return a setting from its JSON."""
    if isinstance(value, list):
        raise InvalidModelFile(f"{what} must be a number, a string, true, false or null, got {shorten(value)}")
    if not isinstance(value, dict):
        return value
    fields = JsonObject(value, what)
    if _MEMBERS in fields:
        members = fields.array(_MEMBERS)
        fields.finish()
        if not all(isinstance(member, dict | str) for member in members):
            raise InvalidModelFile(f"{what} must be a list of strings and objects, got {shorten(members)}")
        return members
    pairs = fields.array(_BY_LABEL)
    fields.finish()
    if not all(isinstance(pair, list) and len(pair) == 2 and _is_label(pair[0]) for pair in pairs):
        raise InvalidModelFile(f"{what} must be a list of pairs of a label and a number, got {shorten(pairs)}")
    weights = {label: decode_setting(weight, what) for label, weight in pairs}
    if len(weights) < len(pairs):
        raise InvalidModelFile(f"{what} has a duplicate label")
    return weights


def encode_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of settings by name."""
    return {name: encode_setting(name, value) for name, value in settings.items()}


def decode_settings(parent: JsonObject, name: str) -> dict[str, Any]:
    """Take settings by name; neither names nor values are checked further."""
    return {key: decode_setting(value, f"{parent.path}.{name}.{key}") for key, value in parent.mapping(name).items()}


def encode_classes(classes: Classes) -> dict[str, Any]:
    """Return the JSON of the labels in the order of their class indices, and of the type of their array."""
    labels = classes.labels
    try:
        values = [encode_scalar(label) for label in classes.values]
    except TypeError as error:
        raise TypeError(f"labels of type {error} cannot be saved; use strings, numbers or bools") from None
    if labels.dtype.kind == "U" and labels.itemsize > 4 * _MAX_PADDED_LABEL:
        labels = np.array(values)
    if labels.dtype.str not in _NUMERIC_LABELS and labels.dtype.kind not in "OU":
        raise TypeError(f"labels of type {labels.dtype} cannot be saved; use strings, numbers or bools")
    return {"type": labels.dtype.str, "labels": values}


def decode_classes(fields: JsonObject) -> Classes:
    """Return the labels of a file."""
    kind, values = fields.string("type"), fields.array("labels")
    fields.finish()
    if not all(map(_is_label, values)) or len(set(values)) < len(values):
        fields.reject("labels", values, "distinct numbers, strings or bools")
    if not values:
        return Classes()
    labels = np.array(values, dtype=_label_dtype(kind, values, fields))
    # The conversion must not have rounded, cut off or changed the type of a label.
    if labels.tolist() != values or [*map(type, labels.tolist())] != [*map(type, values)]:
        fields.reject("labels", values, f"of type {kind!r}")
    return Classes().add(labels)


def _label_dtype(kind: str, values: list[Any], fields: JsonObject) -> np.dtype[Any]:
    if kind in _NUMERIC_LABELS:
        if not _converts(np.dtype(kind), values):
            fields.reject("labels", values, f"of type {kind!r}")
        return np.dtype(kind)
    if kind == "|O":
        return np.dtype(object)
    longest = max(len(value) if isinstance(value, str) else 0 for value in values)
    width = int(kind[2:]) if kind[:2] == "<U" and kind[2:].isdecimal() and len(kind) < 14 else 0
    if not max(1, longest) <= width <= max(longest, _MAX_PADDED_LABEL):
        fields.reject("type", kind, "the type of an array of labels")
    return np.dtype(kind)


def _converts(dtype: np.dtype[Any], values: list[Any]) -> bool:
    """Return whether NumPy converts all values to a numeric type without an error."""
    if dtype.kind not in "iu":
        return all(not isinstance(value, str) and abs(value) <= 1e308 for value in values)
    bounds = np.iinfo(dtype)
    return all(type(value) is int and bounds.min <= value <= bounds.max for value in values)


def _is_label(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


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
