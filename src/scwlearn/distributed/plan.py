"""The plan of a distributed training: which parts of the data are learned in parallel, in which rounds."""

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
#: Examples that are learned in one stream before the first round; a model that knows as many needs no warm-up.
WARM_UP = 20_000
#: Parts with fewer examples than this lose accuracy against one stream.
MIN_EXAMPLES = 2000
# The warm-up takes no more than this fraction of the data.
_MOST_WARM_UP = Fraction(1, 4)
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
    """Rounds of tasks that learn in parallel from the same model, and whose results are merged.

    First, some examples are learned in one stream, so that no round begins with a model that knows nothing. The others
    are cut into `parts`. In each round, every part goes on from the merged model of the round before, and learns the
    next stretch of its own examples. Nothing here depends on the workers.

    Parameters
    ----------
    parts : int
        Into how many parts the data is split.
    rounds : int
        How many times all of them are merged in one pass.
    epochs : int
        Passes over the data.
    warm_up : Fraction
        The fraction of the data for the warm-up, in the first pass only. For partitions, this is an upper limit.

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
    warm_up: Fraction = _MOST_WARM_UP

    def __post_init__(self) -> None:
        for name, most in (("parts", _MOST_PARTS), ("rounds", _MOST_ROUNDS), ("epochs", None)):
            object.__setattr__(self, name, check_int(name, getattr(self, name), maximum=most))
        if self.parts == 1:
            # One stream.
            object.__setattr__(self, "rounds", 1)
            object.__setattr__(self, "warm_up", Fraction(0))

    @property
    def first_round(self) -> int:
        """The number of the first round; the warm-up is round 0."""
        return 0 if self.warm_up else 1

    def stretches(self, epoch: int = 1) -> list[list[Stretch]]:
        """Return the stretches of each round of a pass, of data that can be cut anywhere."""
        first = self.warm_up if epoch == 1 else Fraction(0)
        share = (1 - first) / self.parts
        rounds = [[Stretch(Fraction(0), first)]] if first else []
        for number in range(self.rounds):
            begins = [first + share * (part + Fraction(number, self.rounds)) for part in range(self.parts)]
            rounds.append([Stretch(begin, begin + share / self.rounds) for begin in begins])
        return rounds

    def rows(self, part: int, number: int, count: int) -> range:
        """Return the rows that a part learns in a round, if the parts are partitions, which stay as they are.

        Parameters
        ----------
        part : int
            Which partition, from 1. The first has the warm-up.
        number : int
            Which round; 0 is the warm-up.
        count : int
            How many rows the partition has.
        """
        first = min(WARM_UP, int(count * min(Fraction(1), self.warm_up * self.parts))) if part == 1 else 0
        if number == 0:
            return range(first)
        begin, end = (first + (count - first) * n // self.rounds for n in (number - 1, number))
        return range(begin, end)


def warm_up_of(seen: int, examples: int = 0) -> Fraction:
    """Return the fraction of the data that is learned first.

    Parameters
    ----------
    seen : int
        Examples that the model knows already.
    examples : int
        About how many the data has; 0 if that is not known.
    """
    if seen >= WARM_UP:
        return Fraction(0)
    return min(Fraction(WARM_UP, examples), _MOST_WARM_UP) if examples else _MOST_WARM_UP


def few_examples(examples: int, parts: int) -> list[str]:
    """Return a warning if parts have too few examples."""
    each, enough = examples // parts, examples // MIN_EXAMPLES
    if parts == 1 or each >= MIN_EXAMPLES:
        return []
    instead = f"use {enough} parts" if enough > 1 else "train in one stream"
    return [f"each of the {parts} parts has about {each} examples, too few to be as accurate as one stream; {instead}"]


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
