"""The benchmark harness: what a comparison is, and how its two sides are timed alternately."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

#: Minimum number of pairs; FEWEST once the time budget is spent.
REPETITIONS, FEWEST = 5, 3
#: Short work is repeated for at least SHORT seconds, at most MOST times, to average out clock and scheduler noise.
SHORT, MOST = 2.0, 25

Quality = dict[str, float]


class Unavailable(Exception):
    """A comparison that cannot run here, with the reason: a peer is not installed, or a call is not supported."""


@dataclass(frozen=True)
class Scale:
    """Size of the work: full size, or small for a smoke test."""

    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """Return the size for this run."""
        return quick if self.quick else full

    @property
    def budget(self) -> float:
        """Seconds after which a comparison settles for fewer repetitions."""
        return 4.0 if self.quick else 150.0


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the timed work, and an untimed judgement of its result."""

    name: str
    run: Callable[[], Any]
    judge: Callable[[Any], Quality] = lambda _: {}
    threads: int = 1
    #: `run` returns its own duration in seconds: for work in a subprocess, excluding its start-up.
    own_clock: bool = False
    #: Instructions can be counted: not those of another process, nor of threads that wait for each other.
    counted: bool = True


@dataclass(frozen=True)
class Race:
    """The two sides of a comparison, and the size of their work."""

    size: str
    ours: Side
    peer: Side
    #: Megabytes processed, where a rate is more telling than seconds.
    megabytes: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Target:
    """Target of a comparison: a ratio of the peer's time to ours, or a rate of ours."""

    least: float
    said: str
    rate: bool = False


def times_faster(factor: float) -> Target:
    """Require at most 1/factor of the peer's time."""
    return Target(factor, f"at least {factor:g}x")


def share_of_time(factor: float) -> Target:
    """Require at most factor times the peer's time: for hardware limits, which cannot be beaten."""
    return Target(1 / factor, f"at least {1 / factor:.2g}x ({factor:g} times its time)")


def megabytes_a_second(rate: float) -> Target:
    """Require a throughput: the only target that is not a ratio."""
    return Target(rate, f"at least {rate:g} MB/s", rate=True)


class Group(StrEnum):
    """Groups of the chart, from top to bottom."""

    FIT = "fit on arrays"
    ONE = "one example at a time"
    FILE = "files and commands"
    FULL = "full covariance and kernels"
    SCORE = "scoring"


@dataclass(frozen=True)
class Bar:
    """A bar of the chart: its group, what is timed, and the peer, in a few words."""

    group: Group
    work: str
    peer: str


@dataclass(frozen=True)
class Comparison:
    """A row of the table: its name, its target, its bar in the chart, and its setup function."""

    name: str
    work: str
    against: str
    target: Target | None
    chart: Bar | None
    prepare: Callable[[Scale], Race]


@dataclass(frozen=True)
class Result:
    """Result of a comparison: paired samples in seconds, or the reason why it did not run."""

    entry: Comparison
    race: Race | None = None
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    our_quality: Quality = field(default_factory=dict)
    peer_quality: Quality = field(default_factory=dict)
    missing: str = ""
    #: Instructions of one run of each side, at the small sizes.
    instructions: tuple[int, int] | None = None

    @property
    def ratios(self) -> list[float]:
        """Ratio of the peer's time to ours for each pair; a disturbance of the machine affects both."""
        return [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]

    @property
    def ratio(self) -> float:
        """Median ratio: how many times as fast we are."""
        return median(self.ratios)

    @property
    def rates(self) -> tuple[float, float] | None:
        """Throughput in MB/s, ours and the peer's, where the work has a size in bytes."""
        if self.race is None or self.race.megabytes is None:
            return None
        return self.race.megabytes / median(self.ours), self.race.megabytes / median(self.peer)

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None without a target or a measurement."""
        target = self.entry.target
        if target is None or self.race is None:
            return None
        return (self.rates[0] if target.rate and self.rates else self.ratio) >= target.least


#: All comparisons registered by the imported modules.
COMPARISONS: list[Comparison] = []

Prepare = Callable[[Scale], Race]


def comparison(
    work: str, *, against: str, target: Target | None = None, chart: Bar | None = None, name: str | None = None
) -> Callable[[Prepare], Prepare]:
    """Register a function that sets up a race as a row of the table, by default under the function's name."""

    def enter(prepare: Prepare) -> Prepare:
        own = name or prepare.__name__.replace("_", "-")
        COMPARISONS.append(Comparison(own, work, against, target, chart, prepare))
        return prepare

    return enter


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limit the threads of BLAS and OpenMP, which scwlearn follows."""
    with threadpool_limits(count):
        yield


def as_time(seconds: float) -> str:
    """Format a duration with three digits and a unit; 0.9995 ms counts as 1 ms."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 0.999:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def seconds(side: Side) -> tuple[float, Any]:
    """Time one run; return the seconds and the result."""
    with threads(side.threads):
        start = time.perf_counter()
        result = side.run()
        taken = time.perf_counter() - start
    return (float(result) if side.own_clock else taken), result


def in_turns(sides: list[Side], *, budget: float, short: float = SHORT) -> tuple[list[list[float]], list[Any]]:
    """Time the sides alternately; return the samples and the last results. The first round is a warm-up."""
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
    """Run a comparison. A failure is reported in its row and does not stop the others."""
    try:
        race = entry.prepare(scale)
        sides = [race.ours, race.peer]
        (ours, peer), (our_last, peer_last) = in_turns(sides, budget=scale.budget, short=0.0 if scale.quick else SHORT)
        return Result(entry, race, ours, peer, race.ours.judge(our_last), race.peer.judge(peer_last))
    except Unavailable as reason:
        return Result(entry, missing=str(reason))
    except Exception as error:
        return Result(entry, missing=f"failed: {type(error).__name__}: {error}")
