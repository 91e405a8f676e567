"""Settings and labels as JSON has them, and the arrays of a file as whoever reads them expects them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes
from scwlearn.files.document import Document, Refused, shown

# How a dict of weights by label stands in a file: JSON's own have strings as keys.
_BY_LABEL = "by label"

_NUMBERS = tuple(np.dtype(kind).str for kind in "?bhiqBHIQefd")
# Wider strings than these are kept only where a label is that long.
_WIDTH_KEPT = 64


def scalar(value: Any) -> Any:
    """A number, a string, a bool or None as Python has it; a TypeError for anything else."""
    plain = value.item() if isinstance(value, np.generic) else value
    # A class of the user's own may be a number and more.
    for kind in (bool, int, float, str):
        if type(plain) is kind:
            return plain
    if plain is None:
        return None
    raise TypeError(f"{type(value).__name__}")


def setting_to_json(name: str, value: Any) -> Any:
    """A parameter of a model."""
    try:
        if isinstance(value, Mapping):
            return {_BY_LABEL: [[scalar(label), scalar(weight)] for label, weight in value.items()]}
        return scalar(value)
    except TypeError:
        raise TypeError(_why_not(name, value)) from None


def _why_not(name: str, value: Any) -> str:
    if callable(value):
        return f"{name} is a function of your own, which a model file cannot hold: it holds no code"
    if name == "random_state":
        return f"random_state is {value!r}, which cannot be saved; set it to a number or to None first"
    return f"{name} is {value!r}, which cannot be saved; numbers, strings, bools, None and dicts of them can"


def setting_from_json(value: Any, what: str) -> Any:
    """A parameter of a model."""
    if isinstance(value, list):
        raise Refused(f"{what} must be a number, a string, true, false or null, got {shown(value)}")
    if not isinstance(value, dict):
        return value
    fields = Document(value, what)
    pairs = fields.list(_BY_LABEL)
    fields.end()
    if not all(isinstance(pair, list) and len(pair) == 2 and _is_label(pair[0]) for pair in pairs):
        raise Refused(f"{what} must hold pairs of a label and a number")
    weights = dict(pairs)
    if len(weights) < len(pairs):
        raise Refused(f"{what} has a label twice")
    return weights


def settings_to_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a model by name."""
    return {name: setting_to_json(name, value) for name, value in settings.items()}


def settings_from_json(parent: Document, name: str) -> dict[str, Any]:
    """Parameters of a model by name, whatever they are."""
    return {key: setting_from_json(value, f"{parent.what}.{name}.{key}") for key, value in parent.fields(name).items()}


def classes_to_json(classes: Classes) -> dict[str, Any]:
    """The labels by number, and the type of their array."""
    labels = classes.labels
    try:
        values = [scalar(label) for label in classes.values]
    except TypeError as error:
        raise TypeError(f"labels of type {error} cannot be saved; strings, numbers and bools can") from None
    if labels.dtype.kind == "U" and labels.itemsize > 4 * _WIDTH_KEPT:
        labels = np.array(values)
    if labels.dtype.str not in _NUMBERS and labels.dtype.kind not in "OU":
        raise TypeError(f"labels of type {labels.dtype} cannot be saved; strings, numbers and bools can")
    return {"type": labels.dtype.str, "labels": values}


def classes_from_json(fields: Document) -> Classes:
    """The labels by number."""
    kind, values = fields.text("type"), fields.list("labels")
    fields.end()
    if not all(map(_is_label, values)) or len(set(values)) < len(values):
        raise Refused(f"{fields.what}.labels must be numbers, strings or bools, each once, got {shown(values)}")
    if not values:
        return Classes()
    labels = np.array(values, dtype=_label_type(kind, values, fields))
    # To another type they might have been rounded, cut off or turned into text.
    if labels.tolist() != values or [*map(type, labels.tolist())] != [*map(type, values)]:
        raise Refused(f"{fields.what}.labels are not of the type {kind!r}")
    return Classes().add(labels)


def _label_type(kind: str, values: list[Any], fields: Document) -> np.dtype[Any]:
    if kind in _NUMBERS:
        if all(isinstance(value, str) for value in values) or not _fits(kind, values):
            raise Refused(f"{fields.what}.labels are not of the type {kind!r}")
        return np.dtype(kind)
    if kind == "|O":
        return np.dtype(object)
    longest = max(len(value) if isinstance(value, str) else 0 for value in values)
    width = int(kind[2:]) if kind[:2] == "<U" and kind[2:].isdecimal() and len(kind) < 14 else 0
    if not max(1, longest) <= width <= max(longest, _WIDTH_KEPT):
        fields.refuse("type", kind, "a type of labels")
    return np.dtype(kind)


def _fits(kind: str, values: list[Any]) -> bool:
    """Whether NumPy takes these numbers for that type without an error."""
    dtype = np.dtype(kind)
    if dtype.kind not in "iu":
        return all(not isinstance(value, str) and abs(value) <= 1e308 for value in values)
    bounds = np.iinfo(dtype)
    return all(type(value) is int and bounds.min <= value <= bounds.max for value in values)


def _is_label(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


class Tensors:
    """The arrays of a file, taken one by one. One that is not of the type or the shape that it must have is refused."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(arrays)

    def take(self, name: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """An array of that type, whose sizes are these, or any where there is None."""
        if name not in self._left:
            raise Refused(f"has no array {name!r}")
        array = self._left.pop(name)
        fits = len(shape) == array.ndim and all(
            want in (None, has) for want, has in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(kind) or not fits:
            wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
            got = f"{array.dtype} and {array.shape}"
            raise Refused(f"array {name!r} must be of type {np.dtype(kind)} and shape {wanted}, got {got}")
        return array

    def end(self) -> None:
        """All arrays have been taken."""
        if self._left:
            raise Refused(f"has an array {next(iter(self._left))!r} that this model does not have")
