"""The plan of a distributed training: which parts of the data are learned side by side, in which rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeVar

from scwlearn._util.checks import check_int

T = TypeVar("T")

#: How many models are merged at once. More make a flatter tree, and take more memory.
FAN_IN = 8
# Rounds after the warm-up; docs/distributed.md has the measurements.
ROUNDS = 4
# The fraction of the data that the first part learns alone; at most half of its share.
_WARM_UP = Fraction(1, 50)
# Bytes for each part, and the most parts, if their number is not given.
_PART_BYTES, _MOST_BY_SIZE = 256 * 2**20, 128
# What a plan may have.
_MOST_PARTS, _MOST_ROUNDS = 2**16, 2**10


class Stretch(NamedTuple):
    """What one task learns from: the data between two fractions of all."""

    begin: Fraction
    end: Fraction


@dataclass(frozen=True)
class Plan:
    """Rounds of tasks that learn side by side from the same model, and are merged.

    The data is cut into `parts`. In each round, every part goes on from the merged model of the round before, and
    learns the next stretch of its own examples. Before that, the first part learns alone for a short while, so that no
    round begins with models that know nothing. Nothing here depends on the workers.

    Parameters
    ----------
    parts : int
        How many parts learn side by side.
    rounds : int
        How many times all of them are merged in one pass.
    epochs : int
        Passes over the data.
    warm_up : bool
        Whether the first part learns alone at the beginning of each pass.

    Examples
    --------
    >>> from scwlearn.distributed.plan import Plan
    >>> plan = Plan(parts=4, rounds=2)
    >>> [len(stretches) for stretches in plan.stretches()]
    [1, 4, 4]
    >>> Plan(parts=1, rounds=8).rounds
    1
    """

    parts: int
    rounds: int = ROUNDS
    epochs: int = 1
    warm_up: bool = True

    def __post_init__(self) -> None:
        for name, most in (("parts", _MOST_PARTS), ("rounds", _MOST_ROUNDS), ("epochs", None)):
            object.__setattr__(self, name, check_int(name, getattr(self, name), maximum=most))
        if self.parts == 1:
            # One stream.
            object.__setattr__(self, "rounds", 1)
            object.__setattr__(self, "warm_up", False)

    def stretches(self) -> list[list[Stretch]]:
        """Return the stretches of each round of one pass."""
        share = Fraction(1, self.parts)
        first = min(_WARM_UP, share / 2) if self.warm_up else Fraction(0)
        found = [[Stretch(Fraction(0), first)]] if first else []
        for number in range(self.rounds):
            found.append(
                [
                    _within(first if part == 0 else part * share, (part + 1) * share, number, self.rounds)
                    for part in range(self.parts)
                ]
            )
        return found


def _within(begin: Fraction, end: Fraction, number: int, count: int) -> Stretch:
    size = (end - begin) / count
    return Stretch(begin + number * size, begin + (number + 1) * size)


def default_parts(size: int) -> int:
    """Return the number of parts for data of `size` bytes."""
    return min(max(2, -(-size // _PART_BYTES)), _MOST_BY_SIZE)


def groups(items: Sequence[T], fan_in: int = FAN_IN) -> list[Sequence[T]]:
    """Return neighbours in groups of nearly equal size, as many as are merged at once."""
    count = -(-len(items) // fan_in)
    ends = [len(items) * i // count for i in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def tree(count: int, fan_in: int = FAN_IN) -> list[list[list[int]]]:
    """Return how `count` models are merged: levels of groups of numbers of the level below, up to a single group.

    Examples
    --------
    >>> from scwlearn.distributed.plan import tree
    >>> tree(5, fan_in=2)
    [[[0], [1, 2], [3, 4]], [[0], [1, 2]], [[0, 1]]]
    """
    levels: list[list[list[int]]] = []
    while not levels or len(levels[-1]) > 1:
        level = groups(range(count if not levels else len(levels[-1])), fan_in)
        levels.append([list(group) for group in level])
    return levels
