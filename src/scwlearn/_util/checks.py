"""Settings that a user gives: what each kind may be, and an error that says so."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_masked(value: Any) -> bool:
    """Whether it is a masked array with masked values."""
    # Nobody has one who has not imported numpy.ma, which takes a fifth as long as the rest of NumPy.
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(value))


def flag(name: str, value: Any) -> bool:
    """True or False, NumPy's included."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def part(name: str, value: Any) -> float:
    """A number from 0 on, below 1."""
    allowed = "a number of at least 0 and below 1"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    number = float(value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def whole_number(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """A whole number from 1, or the least allowed, on."""
    allowed = "a whole number " + (f"of at least {least}" if most is None else f"from {least} to {most}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    number = int(value)
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of some names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value
