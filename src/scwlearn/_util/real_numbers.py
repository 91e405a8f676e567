"""Real numbers of any class as floats, without NumPy, whose import takes long."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def real_number(value: Any) -> float | None:
    """Return a real number as a float, infinite if it is too large for one, or None for any other object or a bool."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an int may be larger than any float
        return math.inf if value == abs(value) else -math.inf
