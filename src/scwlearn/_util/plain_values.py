"""Settings as plain Python values, so that equal ones are equal whatever the classes of their numbers and strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scwlearn._native import as_number


def plain_scalar(value: Any) -> Any:
    """Return a number, string, bool or None as the plain Python type; raise a TypeError for anything else."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or type(plain) in (bool, int, float, str):
        return plain
    # Members of an Enum may be strings or integers.
    if isinstance(plain, str):
        return str.__str__(plain)
    number = int(plain) if isinstance(plain, int) else as_number(plain)
    if number is None:
        raise TypeError(type(value).__name__)
    return number


def plain_label(label: Any) -> Any:
    """Return a label as the plain Python type; raise a TypeError for what is none."""
    plain = plain_scalar(label)
    # A fraction may be no float, and would become the label next to it.
    if plain != label:
        raise TypeError(type(label).__name__)
    return plain


def plain_setting(value: Any) -> Any:
    """Return a setting as a model file keeps it: scalars, dicts and lists of these; anything else stays as it is."""
    if isinstance(value, Mapping):
        return {_or_itself(plain_label, label): plain_setting(own) for label, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain_setting(each) for each in value]
    return _or_itself(plain_scalar, value)


def _or_itself(plain: Callable[[Any], Any], value: Any) -> Any:
    try:
        return plain(value)
    except TypeError:
        return value
