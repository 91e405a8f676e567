"""Checks of arguments: each returns the value as a plain Python type, or raises an error that says what is allowed."""

from __future__ import annotations

import sys
from numbers import Integral
from typing import Any

import numpy as np


def is_masked(value: Any) -> bool:
    """Return whether `value` is a masked array with masked entries."""
    # A masked array exists only if numpy.ma is loaded; importing it here would slow down every start.
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(value))


def check_bool(name: str, value: Any) -> bool:
    """Return a Python or NumPy bool as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_int(name: str, value: Any, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return an integer in the given range as an int."""
    allowed = f"an integer >= {minimum}" if maximum is None else f"an integer from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a string that is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def is_unicode(text: str) -> bool:
    """Return whether a string is valid Unicode, as opposed to half a character: native code reads no others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(name: str, value: Any) -> str:
    """Return a string that is valid Unicode."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not is_unicode(value):
        raise ValueError(f"{name} must be valid Unicode, got {value!r}")
    return value
