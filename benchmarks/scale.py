"""Carry training on parts to internet scale on paper: bytes per round, time of a pass, stragglers and deaths.

The constants are measured on this machine in about a minute, or given as options. Bytes are computed from them, and
times simulated. Prints the tables of docs/scale.md and draws its picture; --publish updates both.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from publish_evaluation import shrink
from scale_constants import PER_ROW, SEED, WHOLE, Constants, expected_distinct, measure

from scwlearn.display import pictures
from scwlearn.display.theme import COLOURS, DASHES, FAINT
from scwlearn.distributed.plan import FAN_IN, ROUNDS, Plan, tree, warm_up_of

Array = NDArray[np.float64]

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True)
class Job:
    """A pass over `size` bytes of data."""

    features: float
    parts: int
    rounds: int = ROUNDS
    size: float = 1e13
    #: One for each part if not given.
    workers: int | None = None
    #: Whether each worker merges a slice of the features for all parts, which scwlearn does not do.
    sliced: bool = False


@dataclass(frozen=True)
class Cluster:
    """Network and reliability of the workers."""

    #: Bytes per second, of each worker.
    bandwidth: float = 1.25e9
    #: Standard deviation of the logarithm of a task's time, whose median is that of an undisturbed task.
    spread: float = 0.0
    #: Deaths of each worker in an hour, and seconds until it is replaced.
    deaths: float = 0.0
    restart: float = 60.0
    #: Whether idle workers start late tasks a second time, once three quarters of all are done.
    copies: bool = False


UNDISTURBED = Cluster()


# Bytes.


def changed(features: float, rows: float, constants: Constants) -> float:
    """Return the expected number of features that some rows change."""
    return expected_distinct(features, rows * constants.updating * PER_ROW)


def delta_bytes(features: float, rows: float, constants: Constants) -> float:
    """Return the bytes of what some rows change, as `pack` sends it: whole if it is more than half of the model."""
    changes = changed(features, rows, constants)
    wide = 2 * 4 if 2 * (features + 1) >= 2**31 else 0  # places in 8 bytes instead of 4, for mean and variance
    return WHOLE * features if changes > features / 2 else (constants.sent + wide) * changes


def round_bytes(job: Job, rows: float, constants: Constants) -> list[float]:
    """Return the bytes of a round: from tasks, from merges, to all workers, and to all if it were sent as a change."""
    levels = tree(job.parts)
    sizes = [delta_bytes(job.features, rows * FAN_IN**height, constants) for height in range(len(levels))]
    merges = sum(size * len(level) for size, level in zip(sizes[1:], levels, strict=False))
    whole, workers = WHOLE * job.features, job.workers or job.parts
    as_change = delta_bytes(job.features, rows * job.parts, constants)
    return [job.parts * sizes[0], merges + whole, workers * whole, workers * as_change]


# Time.


def single_stream(job: Job, constants: Constants) -> float:
    """Return the seconds of the pass in one stream on one machine."""
    return job.size / constants.row_bytes * constants.row_seconds(job.features, stream=True)


@cache
def _shares(parts: int, rounds: int, rows: int) -> list[Array]:
    plan = Plan(parts, rounds, warm_up=warm_up_of(0, rows))
    return [np.array([float(one.end - one.begin) for one in some]) for some in plan.stretches()]


def simulate(job: Job, constants: Constants, cluster: Cluster = UNDISTURBED, repeats: int = 1) -> Array:
    """Return the seconds of `repeats` passes."""
    random, total = np.random.default_rng(SEED), np.zeros(repeats)
    for number, shares in enumerate(_shares(job.parts, job.rounds, int(job.size / constants.row_bytes))):
        rows = shares * job.size / constants.row_bytes
        # Nothing has been learned yet that could be sent before the first round.
        total += _round(job, constants, cluster, np.tile(rows, (repeats, 1)), random, sends_model=number > 0)
    return total


def _round(job: Job, constants: Constants, cluster: Cluster, rows: Array, random: Any, *, sends_model: bool) -> Array:
    """Return the seconds of a round: the model goes out, all parts learn, and the tree merges what they learned."""
    features, workers, most = job.features, min(job.workers or job.parts, rows.shape[1]), float(rows.max())
    model = WHOLE * features / cluster.bandwidth
    again = cluster.restart + model
    extra = constants.task_place * features + constants.task_change * changed(features, most, constants)
    ends = _learn(rows * constants.row_seconds(features) + extra, workers, cluster, again, random)
    sliced = 0.0
    for height, level in enumerate(tree(rows.shape[1])):
        receive = delta_bytes(features, most * FAN_IN**height, constants) / cluster.bandwidth
        union = changed(features, most * FAN_IN ** (height + 1), constants)
        merge = constants.merge_place * features + constants.merge_change * union
        if job.sliced:
            sliced += sum(map(len, level)) * (merge + (0.0 if height else receive)) / workers
            continue
        ready = np.stack([ends[:, group].max(axis=1) for group in level], axis=1)
        sizes = np.array([len(group) for group in level], dtype=np.float64)
        ends = ready + _tried(np.tile(sizes * (receive + merge), (len(rows), 1)), cluster, again, random)
    if job.sliced:
        ends = ends.max(axis=1, keepdims=True) + _tried(np.full((len(rows), workers), sliced), cluster, again, random)
    # Each worker that has the model sends it on, or all send their slices at once. The client gets it as well.
    hops = 1 if job.sliced else math.ceil(math.log2(workers + 1))
    seconds: Array = ends.max(axis=1) + model * (hops * sends_model + 1)
    return seconds


def _learn(base: Array, workers: int, cluster: Cluster, again: float, random: Any) -> Array:
    """Return when each task ends, where a worker that is free takes the next one."""
    took = _tried(base, cluster, again, random)
    begins, free, every = np.zeros_like(took), np.zeros((len(took), workers)), np.arange(len(took))
    for task in range(took.shape[1] if took.shape[1] > workers else 0):
        worker = free.argmin(axis=1)
        begins[:, task] = free[every, worker]
        free[every, worker] += took[:, task]
    ends: Array = begins + took
    if cluster.copies:
        late = begins + 1.5 * np.median(took, axis=1, keepdims=True)
        copied = np.maximum(late, np.quantile(ends, 0.75, axis=1, keepdims=True))
        ends = np.where(ends > copied, np.minimum(ends, copied + _tried(base, cluster, again, random)), ends)
    return ends


def _tried(base: Array, cluster: Cluster, again: float, random: Any) -> Array:
    """Return how long tasks take, including what they lose to deaths."""
    # A lost task waits for a new worker, or for another one to finish its own task.
    waiting = np.minimum(base, again)
    lost, done = np.zeros_like(base), np.zeros(base.shape, dtype=bool)
    took: Array = base * np.exp(cluster.spread * random.standard_normal(base.shape))
    while cluster.deaths and not done.all():
        death = random.exponential(3600 / cluster.deaths, base.shape)
        done |= death >= took
        lost += np.where(done, 0.0, death + waiting)
        took = np.where(done, took, base * np.exp(cluster.spread * random.standard_normal(base.shape)))
    return lost + took


def speedup(job: Job, constants: Constants) -> float:
    """Return how many times as fast as one stream an undisturbed cluster is."""
    return single_stream(job, constants) / float(simulate(job, constants)[0])


def break_even(job: Job, constants: Constants) -> float:
    """Return the bytes of data from which on an undisturbed cluster is faster than one stream."""
    low, high = 6.0, 20.0
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(replace(job, size=10**middle), constants) > 1 else (middle, high)
    return float(10**high)


# Tables and the picture.

SIZES, PARTS = (1e6, 1e7, 1e8, 1e9), (8, 64, 512, 4096)
#: Passes that are simulated for each kind of trouble, the width of their model, and the workers.
REPEATS, TROUBLED, WORKERS = 100, 1e6, (8, 64, 512)
TROUBLES = {
    "none": UNDISTURBED,
    "spread 0.25": Cluster(spread=0.25),
    "spread 0.5": Cluster(spread=0.5),
    "spread 1": Cluster(spread=1.0),
    "spread 1, second copies": Cluster(spread=1.0, copies=True),
    "each worker dies once a day": Cluster(deaths=1 / 24),
    "each worker dies once an hour": Cluster(deaths=1),
    "spread 0.5, each dies once a day": Cluster(spread=0.5, deaths=1 / 24),
}
MORE_PARTS = 4


def slowdown(workers: int, cluster: Cluster, size: float, constants: Constants, more: int = 1) -> float:
    """Return the mean time of a pass with `more` parts per worker, relative to one part and no trouble."""
    job = Job(TROUBLED, workers, size=size)
    times = simulate(replace(job, parts=more * workers, workers=workers), constants, cluster, REPEATS)
    return float(times.mean() / simulate(job, constants)[0])


def _power(number: float) -> str:
    return f"$10^{{{math.log10(number):.0f}}}$"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def _amount(size: float) -> str:
    unit = int(math.log10(size) // 3)
    return f"{_two_digits(size / 1000**unit)} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB')[unit]}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---|" + "--:|" * (len(head) - 1), *lines[1:]])


def tables(constants: Constants, size: float) -> dict[str, str]:
    """Return the tables by their names on the page."""
    values = [(each.metadata, getattr(constants, each.name)) for each in fields(constants)]
    rows, rounds = (1e4, 1e5, 1e6, 1e7), (1, 2, 4, 8, 16, 64)
    parts = [f"{count} parts" for count in PARTS]
    models = (1, constants.task_memory, constants.merge_memory)

    def deltas(width: float) -> list[float]:
        return [delta_bytes(width, count, constants) for count in rows]

    def speeds(width: float, count: int) -> str:
        job = Job(width, count, size=size)
        today, sliced = (_two_digits(speedup(one, constants)) for one in (job, replace(job, sliced=True)))
        return f"{today} ({sliced})"

    def trouble(cluster: Cluster) -> list[str]:
        cases = [*[(workers, 1) for workers in WORKERS], (64, MORE_PARTS)]
        return [f"{slowdown(workers, cluster, size, constants, more):.2f}" for workers, more in cases]

    found: dict[str, tuple[list[str], list[list[str]]]] = {
        "constants": (
            ["constant", "value"],
            [[about["what"], f"{value * about['factor']:.3g}{about['unit']}"] for about, value in values],
        ),
        "models": (
            ["features", "model", "memory to learn", f"memory to merge {FAN_IN}", *[f"{_power(n)} rows" for n in rows]],
            [
                [_power(width), *[_amount(n * WHOLE * width) for n in models], *map(_amount, deltas(width))]
                for width in SIZES
            ],
        ),
        "bytes": (
            ["features", "parts", "tasks send", "merges send", "models to workers", "the same as changes"],
            [
                [_power(width), f"{count}", *map(_amount, round_bytes(Job(width, count), 1e6, constants))]
                for width in SIZES
                for count in (64, 4096)
            ],
        ),
        "speedup": (
            ["features", "one stream", "break-even, 64 parts", *parts],
            [
                [
                    _power(width),
                    f"{single_stream(Job(width, 1, size=size), constants) / 3600:.1f} h",
                    _amount(break_even(Job(width, 64), constants)),
                    *[speeds(width, count) for count in PARTS],
                ]
                for width in SIZES
            ],
        ),
        "rounds": (
            ["features", *[f"{n} round{'s' * (n > 1)}" for n in rounds]],
            [[_power(w), *[_two_digits(speedup(Job(w, 64, n, size), constants)) for n in rounds]] for w in SIZES],
        ),
        "troubles": (
            ["trouble", *[f"{workers} workers" for workers in WORKERS], f"64 workers, {MORE_PARTS * 64} parts"],
            [[name, *trouble(cluster)] for name, cluster in TROUBLES.items()],
        ),
    }
    return {name: _table(*each) for name, each in found.items()}


def draw(constants: Constants, size: float, path: Path) -> None:
    """Draw the speed-up against one stream by the number of parts, with and without stragglers."""
    from matplotlib import pyplot as plt

    counts = [2**k for k in range(1, 13)]
    with pictures.picture_style():
        figure, panels = plt.subplots(1, 2, sharey=True, figsize=(10, 4.4), layout="constrained")
        for number, width in enumerate(SIZES):
            colour = COLOURS[f"c{number}"][0]
            for panel, sliced in zip(panels, (False, True), strict=True):
                jobs = [Job(width, count, size=size, sliced=sliced) for count in counts]
                panel.plot(counts, [speedup(job, constants) for job in jobs], color=colour, label=_power(width))
                slow = [
                    single_stream(job, constants) / simulate(job, constants, Cluster(spread=0.5), 10).mean()
                    for job in jobs
                ]
                panel.plot(counts, slow, color=colour, linestyle=DASHES["dotted"])
        for panel, title in zip(panels, ("merged as today", "merged in slices (not implemented)"), strict=True):
            panel.plot(counts, counts, color=FAINT, linewidth=1)
            panel.axhline(1, color=FAINT, linewidth=1)
            panel.set(title=title, xscale="log", yscale="log", xlabel="parts, with a worker each", ylim=(0.3, 4096))
            panel.grid()
        panels[0].set_ylabel(f"times as fast as one stream, {_amount(size)}")
        panels[0].legend(title="features", frameon=False)
        pictures.write_both(figure, path)
        plt.close(figure)


def publish(found: dict[str, str], picture: Path) -> None:
    """Update the tables of docs/scale.md and its picture."""
    shrink(picture.with_suffix(".png"), DOCS / "images" / "scale.webp")
    page = DOCS / "scale.md"
    text = page.read_text()
    for name, table in found.items():
        begin, end = f"<!-- {name} -->\n\n", f"\n\n<!-- /{name} -->"
        text = re.sub(f"{begin}.*?{end}", lambda _, new=begin + table + end: new, text, flags=re.DOTALL)  # type: ignore[misc]
    page.write_text(text)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terabytes", type=float, default=10.0, help="data of the pass that is simulated; default: 10")
    parser.add_argument("--output", type=Path, default=DOCS.parent / "build" / "scale")
    parser.add_argument("--publish", action="store_true", help="update docs/scale.md")
    for each in fields(Constants):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=float, help="instead of measuring it")
    asked = vars(parser.parse_args())
    given = {each.name: asked[each.name] for each in fields(Constants) if asked[each.name] is not None}
    if len(given) < len(fields(Constants)):
        with tempfile.TemporaryDirectory() as directory:
            given = {**vars(measure(Path(directory))), **given}
    print("constants: " + " ".join(f"--{name.replace('_', '-')} {value:.4g}" for name, value in given.items()))
    constants, size = Constants(**given), asked["terabytes"] * 1e12
    found = tables(constants, size)
    for name, table in found.items():
        print(f"\n{name}\n\n{table}")
    picture = asked["output"] / "scale"
    draw(constants, size, picture)
    if asked["publish"]:
        publish(found, picture)


if __name__ == "__main__":
    main()
