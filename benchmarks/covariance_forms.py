"""Compare seven representations of a full Sigma on five badly scaled or collinear streams, and their cost."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from exact_sigma import Array, positive, posterior, ratios, udu
from numpy.typing import NDArray
from sigma_forms import FORMS, Bierman, Form

from scwlearn import Learner
from scwlearn.model.gaussian import SPREAD_SCALE
from scwlearn.rules import Rule, find_rule


class Stream(NamedTuple):
    """Features scale (z + eps noise) with a common factor z; the label is the sign of z, one in ten wrong."""

    rule: str
    dtype: type
    scale: float
    eps: float

    @property
    def title(self) -> str:
        name = find_rule(self.rule).title
        return f"{name} {np.dtype(self.dtype).name}, scale {self.scale:g}, eps {self.eps:g}"

    def rows(self, count: int, size: int = 10) -> tuple[Array, NDArray[np.int8]]:
        """Return the first rows of the stream, always the same."""
        normal = np.random.default_rng(8).standard_normal((count, size + 1))
        z = normal[:, :1]
        wrong = np.random.default_rng(9).random(count) < 0.1
        y = np.where((z[:, 0] > 0) ^ wrong, 1, -1).astype(np.int8)
        return (self.scale * (z + self.eps * normal[:, 1:])).astype(self.dtype), y


STREAMS = (
    Stream("scw1", np.float32, 100, 1e-6),
    Stream("scw1", np.float64, 1e4, 1e-8),
    Stream("scw1", np.float64, 1e8, 1e-3),
    Stream("arow", np.float64, 1e8, 1e-3),
    # Not collinear, only large: some forms never recover what the first updates lose.
    Stream("arow", np.float64, 1e12, 1),
)


class Run(NamedTuple):
    """Result of one form on one stream."""

    title: str
    mistakes: int
    updates: int
    #: Updates until Sigma was first found indefinite, and until a row had x'Sigma x <= 0.
    indefinite: int | None
    refused: int | None
    refusals: int
    #: Smallest and largest ratio of x'Sigma x to the exact value over all x.
    least: float
    largest: float


def run(form: Form, rule: Rule, x: Array, y: NDArray[np.int8]) -> Run:
    """Learn the stream with one form, row by row."""
    constants = rule.constants({"C": 1.0, "eta": 0.75} if rule.name == "scw1" else {})
    mean = np.zeros(x.shape[1], x.dtype)
    mistakes = refusals = 0
    indefinite = refused = None
    taken: list[int] = []
    precisions: list[float] = []
    for t, (row, label) in enumerate(zip(x, y.tolist(), strict=True)):
        score, v = float(mean @ row), form.look(row)
        mistakes += (score >= 0) != (label > 0)
        if not 0 < v < math.inf:
            refusals += 1
            refused = len(taken) if refused is None else refused
            continue
        step = rule.step(label * score, v, 0.0, t + 1, constants)
        if step.precision == 0:
            continue
        mean += x.dtype.type(step.alpha * label) * form.move(step.precision, v)
        taken.append(t)
        precisions.append(step.precision)
        # An exact test takes milliseconds, so not after every update of a long run.
        if indefinite is None and (len(taken) <= 100 or len(taken) % 100 == 0) and not positive(form.exact()):
            indefinite = len(taken)
    if indefinite is None and not positive(form.exact()):
        indefinite = len(taken)
    least, largest = ratios(form.exact(), form.inverse, posterior(x[taken], np.array(precisions)))
    return Run(form.title, mistakes, len(taken), indefinite, refused, refusals, least, largest)


def native_run(stream: Stream, x: Array, y: NDArray[np.int8]) -> Run:
    """Learn the stream with scwlearn, which always keeps float64. Sigma is tested only at the end."""
    learner = Learner(stream.rule, covariance="full")
    trace = learner.trace(x, y)
    gaussian = learner.model
    assert gaussian is not None
    # The factors of the only lane: D in row 2, the columns of U from row 3 on.
    factors = gaussian.memory[0, 2:, : gaussian.size]
    sigma = Fraction(float(gaussian.scalars[0, SPREAD_SCALE])) * udu(factors[1:].T, factors[0])
    moved, unsound = np.flatnonzero(trace.precision), np.flatnonzero(~(trace.variance > 0))
    mistakes = int(np.sum((trace.score >= 0) != (y > 0)))
    indefinite = None if positive(sigma) else len(moved)
    refused = int(np.searchsorted(moved, unsound[0])) if len(unsound) else None
    least, largest = ratios(sigma, False, posterior(x[moved], trace.precision[moved]))
    title = "scwlearn (Bierman, float64)"
    return Run(title, mistakes, len(moved), indefinite, refused, len(unsound), least, largest)


def print_streams(rows: int) -> None:
    """Print a summary with a column per stream, then a line per stream and form."""
    found: dict[Stream, list[Run]] = {}
    for stream in STREAMS:
        x, y = stream.rows(rows)
        found[stream] = [run(form(x.shape[1], x.dtype), find_rule(stream.rule), x, y) for form in FORMS]
        found[stream].append(native_run(stream, x, y))
    print(f"| form | {' | '.join(stream.title for stream in STREAMS)} |")
    print(f"|---|{'--:|' * len(STREAMS)}")
    for of_form in zip(*found.values(), strict=True):
        print(f"| {of_form[0].title} | {' | '.join(in_short(line) for line in of_form)} |")
    print()
    print("| stream | form | indefinite after | first v <= 0 after | rows with v <= 0 | least x'Sigma x/exact", end=" ")
    print("| largest | updates | mistake rate |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for stream, lines in found.items():
        for line in lines:
            cells = [stream.title, line.title, after(line.indefinite), after(line.refused), str(line.refusals)]
            cells += [figure(line.least), figure(line.largest), str(line.updates), f"{line.mistakes / rows:.4f}"]
            print(f"| {' | '.join(cells)} |")


def in_short(line: Run) -> str:
    """Return the updates until Sigma was indefinite or a row had v <= 0, or else the largest relative error."""
    broken = [updates for updates in (line.indefinite, line.refused) if updates is not None]
    if broken:
        return f"breaks after {min(broken)}"
    error = max(line.largest, 1 / line.least) - 1
    return f"{error:.0e}" if error < 0.01 else f"{error:.2g}"


def after(updates: int | None) -> str:
    """Format a number of updates, or "never"."""
    return "never" if updates is None else str(updates)


def figure(ratio: float) -> str:
    """Format a ratio that should be 1, as its error if that is small."""
    return f"1 {'+' if ratio >= 1 else '-'} {abs(ratio - 1):.0e}" if abs(ratio - 1) < 0.01 else f"{ratio:.3g}"


def print_costs(sizes: tuple[int, ...]) -> None:
    """Print the time of a score and of an update, a line per form."""
    # glibc returns large temporary matrices to the system each time until one of this size has been freed.
    np.ones(2_000_000)
    print(f"| form | flops to score | to update | {' | '.join(f'score, d = {d} | update' for d in sizes)} |")
    print(f"|---|--:|--:|{'--:|--:|' * len(sizes)}")
    for form in FORMS:
        cells = [f"{form.title} (NumPy)", form.look_flops, form.move_flops]
        for size in sizes:
            cells += [micro(seconds) for seconds in form_cost(form(size))]
        print(f"| {' | '.join(cells)} |", flush=True)
    cells = ["scwlearn (Bierman, C++)", Bierman.look_flops, Bierman.move_flops]
    for size in sizes:
        cells += [micro(seconds) for seconds in native_cost(size)]
    print(f"| {' | '.join(cells)} |")


def micro(seconds: float) -> str:
    """Format a time in microseconds."""
    return f"{1e6 * seconds:.1f} us"


def form_cost(form: Form) -> tuple[float, float]:
    """Measure the seconds of one score and of one update on dense rows."""
    x = np.random.default_rng(1).standard_normal(len(form.kept))
    v = form.look(x)
    return seconds_of(lambda: form.look(x)), seconds_of(lambda: form.move(1e-3, v))


def seconds_of(action: Callable[[], object], least: float = 0.1) -> float:
    """Return the smallest mean of five repetitions of about `least` CPU seconds each."""
    start = time.process_time()
    action()
    times = max(1, int(least / (time.process_time() - start)))

    def mean() -> float:
        start = time.process_time()
        for _ in range(times):
            action()
        return (time.process_time() - start) / times

    return min(mean() for _ in range(5))


def native_cost(size: int) -> tuple[float, float]:
    """Measure the seconds of one score and one update in scwlearn: runs that never and that always update."""
    rows = max(100, 10_000_000 // size**2)
    x = np.random.default_rng(1).standard_normal((rows, size))
    # With such a large r the margin stays below 1.
    always = Learner("arow", covariance="full", r=1e9)
    never = Learner("arow", covariance="full")
    y = np.where(x[:, 0] > 0, 1, -1)
    never.learn(x[:1], y[:1])
    assert never.model is not None
    never.model.mean[:] = 0
    never.model.mean[0] = 1e9
    assert never.learn(x, y).updates == 0
    assert always.learn(x, y).updates == rows
    look = seconds_of(lambda: never.learn(x, y)) / rows
    return look, seconds_of(lambda: always.learn(x, y)) / rows - look


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of each stream")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 300], help="features for the costs")
    given = parser.parse_args()
    print_streams(given.rows)
    print()
    print_costs(tuple(given.sizes))


if __name__ == "__main__":
    main()
