"""Compare mistakes without scaling, with running scales, and with scales computed in advance.

The scales "rms", "standard" and "unit" are scwlearn's own; the others are computed here in NumPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import river.datasets
import sklearn.datasets
from data_sets import SEED, SOURCES, DataSet, argument_parser, load, orders
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from scwlearn.data.rows import Rows
from scwlearn.learning.grid import count_grid
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES
from scwlearn.rules import Rule, find_rule

Matrix = NDArray[np.float64]

LEARNERS = [
    ("scw1", "diagonal"),
    ("scw1", "full"),
    ("arow", "diagonal"),
    ("arow", "full"),
    ("pa1", "identity"),
    ("perceptron", "identity"),
]
SETS = ["svmguide3", "elec2", "cod-rna", "a9a", "ijcnn1", "covtype"]
#: Sets of the comparison of kinds, by what their features are.
GROUPS = {
    "measurements": [
        *("svmguide3", "elec2", "cod-rna", "ijcnn1", "covtype", "iris", "wine", "breast-cancer"),
        *("Bananas", "ImageSegments", "Phishing"),
    ],
    "pixels": ["mitface", "usps", "mnist1vs2", "digits"],
    "0 or 1, and words": ["splice", "mushrooms", "a9a", "w7a", "20news", "20news-unit"],
}
#: Where standardised values are clipped, besides scwlearn's own limit of 3.
LIMITS = {"at 2": 2.0, "at 4": 4.0, "at 5": 5.0, "nowhere": np.inf}


def distorted(x: Matrix, draw: int) -> Matrix:
    """Multiply every feature by a random factor from a thousandth to a thousand."""
    factors: Matrix = np.power(10.0, np.random.default_rng([SEED, draw]).uniform(-3, 3, x.shape[1]))
    return x * factors


def over(x: Matrix, scales: Matrix) -> Matrix:
    """Divide the values by their scales; zeros stay zero."""
    return np.divide(x, scales, out=np.zeros_like(x), where=x != 0)


def running_mean(values: Matrix, counted: NDArray[np.bool_]) -> Matrix:
    """Return the mean of the counted values up to each row."""
    mean: Matrix = np.cumsum(values, axis=0) / np.maximum(1, np.cumsum(counted, axis=0))
    return mean


def root_mean_square(x: Matrix) -> Matrix:
    """Return the root mean square of the non-zero values of each feature."""
    scales: Matrix = np.sqrt(np.square(x).sum(axis=0) / np.maximum(1, np.count_nonzero(x, axis=0)))
    return scales


def standardised(x: Matrix) -> Matrix:
    """Standardise every feature, which destroys zeros."""
    spread = x.std(axis=0)
    result: Matrix = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result


#: The columns of the table: functions of the rows in learning order, and of the same rows with distorted feature
#: sizes. Running scales give the same result for both.
WAYS: dict[str, Callable[[Matrix, Matrix], Any]] = {
    "unscaled": lambda x, bad: x,
    "distorted": lambda x, bad: bad,
    "rms": lambda x, bad: RunningScale("rms").learn(bad),
    "standard": lambda x, bad: RunningScale("standard").learn(bad),
    "unit": lambda x, bad: RunningScale("unit").learn(bad),
    "running RMS, zeros counted": lambda x, bad: over(x, np.sqrt(running_mean(x**2, np.ones(x.shape, bool)))),
    "running mean abs": lambda x, bad: over(x, running_mean(np.abs(x), x != 0)),
    "running max": lambda x, bad: over(x, np.maximum.accumulate(np.abs(x), axis=0)),
    "RMS in advance": lambda x, bad: over(x, np.broadcast_to(root_mean_square(x), x.shape)),
    "max in advance": lambda x, bad: over(x, np.broadcast_to(np.abs(x).max(axis=0), x.shape)),
    "standardised in advance": lambda x, bad: standardised(x),
}


def clipped(x: Matrix, limit: float) -> Matrix:
    """Scale rows as the kind "standard" does, but clip them elsewhere."""
    rows = np.arange(1.0, len(x) + 1)[:, np.newaxis]
    counts = np.cumsum(x != 0, axis=0)
    often = (2 * counts >= rows) & (counts > 0)
    # Relative to the first row, so that squares of values far from 0 do not cancel.
    apart = x - x[0]
    mean = np.cumsum(apart, axis=0) / rows
    spread = np.sqrt(np.maximum(0.0, np.cumsum(apart**2, axis=0) / rows - mean**2))
    sizes = np.sqrt(np.cumsum(x**2, axis=0) / np.maximum(1, counts))
    known = spread > 1e-9 * np.abs(mean + x[0])
    centred = np.divide(apart - mean, spread, out=np.zeros_like(x), where=known)
    return np.clip(np.where(often, centred, over(x, sizes)), -limit, limit)


def grid(rule: Rule) -> list[dict[str, float]]:
    """Return every second value of the declared grids: a coarse C x eta grid."""
    values = product(*(p.grid[::2] for p in rule.parameters))
    return [dict(zip((p.name for p in rule.parameters), v, strict=True)) for v in values]


def rates(rule: str, covariance: str, cells: list[dict[str, float]], x: Any, y: NDArray[np.int8]) -> list[float]:
    """Return the mistake rate of one pass for each parameter setting."""
    counts = count_grid(rule, cells, x, y, covariance=covariance, intercept=True)
    return [c.mistakes / c.seen for c in counts]


def judge(data: DataSet, way: Callable[[Matrix, Matrix], Any], count: int, tuned: bool) -> list[float]:
    """Return the mistake rate of each learner over several orders, with parameters chosen on another one."""
    tuning, *judging = orders(data, count)
    found = []
    for draw in range(count):
        bad = distorted(data.x, draw)
        order = judging[draw % len(judging)]
        (x, y), (other, labels) = ((way(data.x[o], bad[o]), data.y[o]) for o in (order, tuning))
        line = []
        for rule, covariance in LEARNERS:
            cells = grid(find_rule(rule)) if tuned else [{}]
            best = int(np.argmin(rates(rule, covariance, cells, other, labels))) if tuned else 0
            line += rates(rule, covariance, [cells[best]], x, y)
        found.append(line)
    means: list[float] = np.mean(found, axis=0).tolist()
    return means


def print_table(sets: list[DataSet], count: int, tuned: bool) -> None:
    """Print mistakes in %, a row per set and learner."""
    print(f"{'Tuned' if tuned else 'Default parameters'}, mistakes in %:\n")
    print(f"| set | learner | {' | '.join(WAYS)} |")
    print(f"|---|---|{'--:|' * len(WAYS)}")
    for data in sets:
        by_way = [judge(data, way, count, tuned) for way in WAYS.values()]
        for (rule, covariance), line in zip(LEARNERS, zip(*by_way, strict=True), strict=True):
            name = find_rule(rule).title + ("" if covariance == "identity" else f", {covariance}")
            print(f"| {data.name} | {name} | {' | '.join(f'{100 * rate:.2f}' for rate in line)} |", flush=True)
    print()


def print_kinds(directory: Path, count: int) -> None:
    """Print mistakes in proportion to those without scaling, as geometric means over sets."""
    kinds = product(("none", "rms", "standard", "unit"), (1, 10))
    runs: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {
        kind + (f", initial variance {variance}" if variance > 1 else ""): partial(_scaled, kind, float(variance))
        for kind, variance in kinds
    }
    runs |= {f"standard, clipped {name}": partial(_clipped, limit) for name, limit in LIMITS.items()}
    found: dict[tuple[str, str, str], float] = {}
    for name in chain.from_iterable(GROUPS.values()):
        data = _set(name, directory)
        small = data.x.shape[1] <= 1000
        made = dense(data) if small else data
        for title, run in runs.items():
            if not small and "clipped" in title:
                continue
            for rule in ("scw1", "arow"):
                found[name, title, rule] = float(
                    np.mean([_rate(rule, *run(made.x[order]), made.y[order]) for order in orders(data, count)[1:]])
                )
    columns = [*product(("scw1", "arow"), GROUPS)]
    print("Default parameters and covariance, mistakes in proportion to those without scaling:\n")
    print(f"| scale | {' | '.join(f'{find_rule(rule).title}, {group}' for rule, group in columns)} |")
    print(f"|---|{'--:|' * len(columns)}")
    for title in runs:
        cells = []
        for rule, group in columns:
            names = [name for name in GROUPS[group] if (name, title, rule) in found]
            ratios = [found[name, title, rule] / found[name, "none", rule] for name in names]
            cells.append(f"{np.exp(np.mean(np.log(ratios))):.2f}")
        print(f"| {title} | {' | '.join(cells)} |", flush=True)
    print()


def _scaled(kind: str, variance: float, x: Any) -> tuple[Any, dict[str, Any]]:
    return x, {"scale": kind, "initial_variance": variance}


def _clipped(limit: float, x: Any) -> tuple[Any, dict[str, Any]]:
    return clipped(x, limit), {}


def _set(name: str, directory: Path) -> DataSet:
    """Load a set of scwlearn's benchmarks, of scikit-learn or of River."""
    if name in SOURCES:
        return load(name, directory)
    if name[0].isupper():
        rows = [*getattr(river.datasets, name)()]
        keys = sorted({key for x, _ in rows for key in x})
        x, labels = np.array([[float(x.get(key, 0)) for key in keys] for x, _ in rows]), [str(y) for _, y in rows]
    else:
        x, labels = getattr(sklearn.datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    numbers = np.unique(labels, return_inverse=True)[1].astype(np.int8)
    return DataSet(name, name, x, numbers if numbers.max() > 1 else 2 * numbers - 1, True)


def _rate(rule: str, x: Any, settings: dict[str, Any], y: NDArray[np.int8]) -> float:
    classes = int(y.max()) + 1
    counts = Learner(rule, intercept=True, n_classes=classes if classes > 2 else None, **settings).learn(x, y)
    return counts.mistakes / counts.seen


def dense(data: DataSet) -> DataSet:
    """Return the set with dense rows."""
    x = data.x.toarray() if sparse.issparse(data.x) else data.x
    return DataSet(data.name, data.title, np.ascontiguousarray(x, dtype=np.float64), data.y, data.shuffle)


def print_seconds() -> None:
    """Print CPU time per value: learning the scale, applying it, and learning with diagonal AROW."""
    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((50_000, 60))
    few = sparse.random_array((20_000, 20_000), density=0.003, format="csr", rng=generator)
    print("| rows | scale | learn the scale, ns per value | apply it | learn with AROW, diagonal |")
    print("|---|---|--:|--:|--:|")
    for name, rows in (("dense", Rows(x)), ("sparse", Rows(few))):
        y = np.where(generator.random(len(rows)) < 0.5, 1, -1).astype(np.int8)
        for kind in SCALE_NAMES:
            scale = RunningScale(kind)
            scaled = scale.learn(rows)
            works = (
                lambda rows=rows, kind=kind: RunningScale(kind).learn(rows),
                lambda rows=rows, scale=scale: scale.apply(rows),
                lambda rows=scaled, y=y: Learner("arow", covariance="diagonal").learn(rows, y),
            )
            cells = [f"{1e9 * seconds(work) / rows.stored:.1f}" for work in works]
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
    print()


def seconds(work: Callable[[], object]) -> float:
    """Return the smallest CPU time of several runs."""
    times = []
    for _ in range(20):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, SETS)
    parser.add_argument("--orders", type=int, default=3, help="evaluation orders, besides the one for tuning")
    parser.add_argument("--seconds-only", action="store_true", help="only the timings, which need no data")
    parser.add_argument("--kinds-only", action="store_true", help="leave out the tables of single sets")
    given = parser.parse_args()
    print_seconds()
    if given.seconds_only:
        return
    print_kinds(given.data_dir, given.orders)
    if given.kinds_only:
        return
    sets = [dense(load(name, given.data_dir)) for name in given.sets]
    for tuned in (False, True):
        print_table(sets, given.orders, tuned)


if __name__ == "__main__":
    main()
