"""Settings that a user gives: what each kind may be, and an error that says so."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def flag(name: str, value: Any) -> bool:
    """True or False, NumPy's included."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def whole_number(name: str, value: Any, *, most: int | None = None) -> int:
    """A whole number from 1 on."""
    allowed = "a whole number " + ("of at least 1" if most is None else f"from 1 to {most}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    number = int(value)
    if number < 1 or (most is not None and number > most):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number
