"""Two sides of a comparison, timed in turns: what a comparison is, and how it is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

#: As many pairs at least, unless the time is up: then no fewer than FEWEST.
REPETITIONS, FEWEST = 5, 3
#: Short work is repeated until it has taken so many seconds, so that the clock and the scheduler do not decide.
SHORT, MOST = 2.0, 25

Quality = dict[str, float]


class Unavailable(Exception):
    """A peer that is not installed."""


@dataclass(frozen=True)
class Scale:
    """How large the work is: small to see that all of it runs, or as the targets ask."""

    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """The size that applies."""
        return quick if self.quick else full

    @property
    def budget(self) -> float:
        """Seconds after which a comparison makes do with fewer repetitions."""
        return 4.0 if self.quick else 150.0


@dataclass(frozen=True)
class Side:
    """One of two: what is timed, and how good the result is, which is not timed."""

    name: str
    run: Callable[[], Any]
    judge: Callable[[Any], Quality] = lambda _: {}
    threads: int = 1
    #: Whether `run` returns the seconds that it took: for work in another process, without that process's start.
    own_clock: bool = False


@dataclass(frozen=True)
class Race:
    """Our side, the other side, and the size of the work that both do."""

    size: str
    ours: Side
    peer: Side
    #: Megabytes that go through, where a rate says more than seconds.
    megabytes: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Target:
    """What a comparison is to reach: a ratio of the peer's time to ours, or a rate of ours."""

    least: float
    said: str
    rate: bool = False


def times_faster(factor: float) -> Target:
    """Ours takes 1/factor of the peer's time or less."""
    return Target(factor, f"at least {factor:g}x")


def share_of_time(factor: float) -> Target:
    """Ours takes no more than factor times the peer's time: for limits, which nobody beats."""
    return Target(1 / factor, f"at least {1 / factor:.2g}x ({factor:g} of its time)")


def megabytes_a_second(rate: float) -> Target:
    """The one target that is not a ratio."""
    return Target(rate, f"at least {rate:g} MB/s", rate=True)


@dataclass(frozen=True)
class Comparison:
    """A row of the table: its name, its target, and how to set it up."""

    name: str
    work: str
    against: str
    target: Target | None
    prepare: Callable[[Scale], Race]


@dataclass(frozen=True)
class Result:
    """What came of a comparison: samples in seconds, pair by pair, or why there are none."""

    entry: Comparison
    race: Race | None = None
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    our_quality: Quality = field(default_factory=dict)
    peer_quality: Quality = field(default_factory=dict)
    missing: str = ""

    @property
    def ratios(self) -> list[float]:
        """The peer's time over ours, of each pair: what disturbs the machine disturbs both of them."""
        return [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return median(self.ratios)

    @property
    def rates(self) -> tuple[float, float] | None:
        """Megabytes a second, ours and the peer's, where that says more than seconds."""
        if self.race is None or self.race.megabytes is None:
            return None
        return self.race.megabytes / median(self.ours), self.race.megabytes / median(self.peer)

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none or nothing was measured."""
        target = self.entry.target
        if target is None or self.race is None:
            return None
        return (self.rates[0] if target.rate and self.rates else self.ratio) >= target.least


#: Every comparison, as the files that enter them are imported.
COMPARISONS: list[Comparison] = []

Prepare = Callable[[Scale], Race]


def comparison(work: str, *, against: str, target: Target | None = None) -> Callable[[Prepare], Prepare]:
    """Enter a function that sets up a race as a row of the table; the row has the function's name."""

    def enter(prepare: Prepare) -> Prepare:
        COMPARISONS.append(Comparison(prepare.__name__.replace("_", "-"), work, against, target, prepare))
        return prepare

    return enter


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for BLAS and OpenMP, and so for the library, which follows them."""
    with threadpool_limits(count):
        yield


def as_time(seconds: float) -> str:
    """Three digits and a unit. What is 1 but for rounding takes the larger one."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 0.999:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def seconds(side: Side) -> tuple[float, Any]:
    """How long one run takes, and what it returned."""
    with threads(side.threads):
        start = time.perf_counter()
        result = side.run()
        taken = time.perf_counter() - start
    return (float(result) if side.own_clock else taken), result


def in_turns(sides: list[Side], *, budget: float, short: float = SHORT) -> tuple[list[list[float]], list[Any]]:
    """The samples of each side and its last result. Each goes first in its turn; the first round is not counted."""
    begin = time.perf_counter()
    last = [seconds(side)[1] for side in sides]
    warm_up = time.perf_counter() - begin
    samples: list[list[float]] = [[] for _ in sides]
    for turn in range(MOST):
        spent = time.perf_counter() - begin
        enough = turn >= REPETITIONS and spent - warm_up > short
        if enough or (turn >= FEWEST and spent > budget):
            break
        for place in range(len(sides)):
            which = (turn + place) % len(sides)
            taken, last[which] = seconds(sides[which])
            samples[which].append(taken)
    return samples, last


def hold(entry: Comparison, scale: Scale) -> Result:
    """Run a comparison. Whatever goes wrong in it is said in its row, and the others go on."""
    try:
        race = entry.prepare(scale)
        sides = [race.ours, race.peer]
        (ours, peer), (our_last, peer_last) = in_turns(sides, budget=scale.budget, short=0.0 if scale.quick else SHORT)
        return Result(entry, race, ours, peer, race.ours.judge(our_last), race.peer.judge(peer_last))
    except Unavailable as reason:
        return Result(entry, missing=str(reason))
    except Exception as error:
        return Result(entry, missing=f"failed: {type(error).__name__}: {error}")
