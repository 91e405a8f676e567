"""Values of JSON objects as features, labels and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE, LARGEST_WEIGHT, SMALLEST_WEIGHT
from scwlearn.data.tables.columns import LONGEST_LABEL, LONGEST_PREFIX, words_of

#: How deep objects may lie in each other.
MOST_NESTED = 32

_SHOWN = 40
_LARGEST_WHOLE = 2**63 - 1


class BadValueError(ValueError):
    """A value that cannot be used: under which key, and what is allowed."""

    def __init__(self, key: str | None, message: str) -> None:
        super().__init__(message)
        self.key = key


def found(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text[:_SHOWN] + "..." * (len(text) > _SHOWN)


def flat(
    record: Mapping[str, Any], ignore: frozenset[str], before: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """The keys and values of an object, those of an object in it under "key.its key"; null is as good as nothing."""
    if depth > MOST_NESTED:
        raise BadValueError(before[:_SHOWN], f"objects lie in each other at most {MOST_NESTED} deep")
    for key, value in record.items():
        name = before + key
        if name in ignore or value is None:
            continue
        if isinstance(value, dict):
            _check_prefix(name)
            yield from flat(value, ignore, name + ".", depth + 1)
        else:
            yield name, value


def _check_prefix(key: str) -> None:
    if len(key) > LONGEST_PREFIX:
        what = f"the key of several features has at most {LONGEST_PREFIX} characters, with those above it"
        raise BadValueError(key[:_SHOWN], f"{what}; found {found(key)}")


def number(key: str, value: Any, allowed: str = "a number") -> float:
    """A value as a number that a feature can have."""
    if isinstance(value, int | float) and -LARGEST_VALUE <= value <= LARGEST_VALUE:
        return float(value)
    raise BadValueError(key, f"{allowed} is finite and at most {LARGEST_VALUE:g} in size; found {found(value)}")


def features(key: str, value: Any, kind: str | None) -> Iterator[tuple[str, float]]:
    """The features that a value is, where the key may have a kind: names and values."""
    if isinstance(value, list):
        _check_prefix(key)
        for word in value:
            if not isinstance(word, str):
                raise BadValueError(key, f"a list holds strings, each a feature of its own; found {found(word)}")
            yield f"{key}={word}", 1.0
    elif isinstance(value, str):
        if kind == "numeric":
            raise BadValueError(key, f"the key is numeric: its value is a number; found {found(value)}")
        if kind == "text":
            _check_prefix(key)
            for word in words_of(value):
                yield f"{key}={word}", 1.0
        else:
            yield f"{key}={value}", 1.0
    elif kind == "categorical":
        yield f"{key}={value}", 1.0
    elif kind == "text":
        raise BadValueError(key, f"the key is text: its value is a string or a list of them; found {found(value)}")
    elif value != 0:
        yield key, number(key, value)
    # A zero says nothing.


def label(key: str, value: Any, kind: str) -> Any:
    """A label of this kind."""
    if kind == "numeric":
        if isinstance(value, str | list):
            raise BadValueError(key, f"the labels are numbers; found {found(value)}")
        number(key, value, "a label")
        return value
    if isinstance(value, list) or (not isinstance(value, str) and kind == "string"):
        raise BadValueError(key, f"the labels are strings; found {found(value)}")
    text = str(value)
    if len(text) > LONGEST_LABEL:
        raise BadValueError(key, f"a label has at most {LONGEST_LABEL} characters; found {found(value)}")
    return text


def label_array(values: list[Any], kind: str) -> NDArray[Any]:
    """Labels of one kind, of which None stands for no label."""
    if kind != "numeric":
        return np.array(["" if value is None else value for value in values], dtype=str)
    if all(value is None or isinstance(value, bool) for value in values):
        return np.array([bool(value) for value in values])
    plain = [0 if value is None else value for value in values]
    if all(float(value).is_integer() and abs(value) <= _LARGEST_WHOLE for value in plain):
        return np.array([int(value) for value in plain], dtype=np.int64)
    return np.array(plain, dtype=np.float64)


def weight(key: str, value: Any) -> float:
    """A weight that an example can have."""
    usual = isinstance(value, int | float) and (value == 0 or SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT)
    if not usual:
        shown = "nothing" if value is None else found(value)
        message = f"a weight is 0 or a number from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}; found {shown}"
        raise BadValueError(key, message)
    return float(value)
