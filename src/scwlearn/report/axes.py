"""Axes: from numbers to places in a picture, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

#: Numbers beyond these are not drawn: twice as large, or a tenth of it, must still be a number.
HUGE, _TINY = 1e300, 1e-290


@dataclass(frozen=True)
class Axis:
    """A stretch of a picture, from `start` to `end`, that stands for the numbers from `low` to `high`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a number is."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        along = ((math.log(value) if self.log else value) - low) / (high - low)
        return self.start + along * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether a number is on the axis."""
        return self.low <= value <= self.high


def linear(low: float, high: float, start: float, end: float, most: int = 6, tight: bool = False) -> Axis:
    """An axis of equal steps from tick to tick, or tightly around the numbers given; of one number alone, around it."""
    size = max(abs(low), abs(high))
    if not high - low > max(1e-9 * size, _TINY):
        low, high = (low - size / 2, high + size / 2) if size > _TINY else (0.0, 1.0)
    step = _step((high - low) / max(1, most - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(_round(number * step) for number in range(first, last + 1))
    if tight:
        return Axis(low, high, start, end, tuple(tick for tick in ticks if low <= tick <= high))
    return Axis(ticks[0], ticks[-1], start, end, ticks)


def logarithmic(low: float, high: float, start: float, end: float, most: int = 7) -> Axis:
    """An axis of equal ratios, from the first count to the last; both are above 0."""
    if not high > low:
        low, high = low / 4, high * 4
    # There is no half of an example.
    return Axis(low, high, start, end, tuple(tick for tick in _log_ticks(low, high, most) if tick >= 1), log=True)


def _log_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    within = [10.0**power for power in range(first, last + 1) if low <= 10.0**power <= high]
    if len(within) >= 3:
        return tuple(within[:: math.ceil(len(within) / most)])
    finer = (factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5))
    within = [tick for tick in finer if low <= tick <= high]
    return tuple(within) if within else (low, high)


def _step(least: float) -> float:
    """The smallest of 1, 2, 5, 10 ... and their tenths and so on that is not below this."""
    power = math.floor(math.log10(least))
    steps = (factor * 10.0**each for each in count(power) for factor in (1, 2, 5))
    return next(step for step in steps if step >= least * (1 - 1e-9))


def _round(value: float) -> float:
    # 3 * 0.1 is not 0.3, and would be written in full.
    return float(f"{value:.12g}")


def finite(values: Iterable[float | None]) -> list[float]:
    """Those that can be drawn."""
    return [value for value in values if value is not None and abs(value) < HUGE]
