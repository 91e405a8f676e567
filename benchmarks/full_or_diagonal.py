"""Compare mistakes and seconds of a full Sigma with the better diagonal, by data set and by number of features."""

from __future__ import annotations

import time
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from data_sets import DataSet, argument_parser, load, orders
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.model.full import Full
from scwlearn.rules import Rule, find_rule

RULES = tuple(find_rule(name) for name in ("scw1", "scw2", "arow"))
COVARIANCES = ("full", "diagonal", "diagonal-drop")
#: Row limits of sets on which a pass with a full Sigma takes seconds.
FEWER_ROWS = {"mnist1vs2": 4000, "mnist1vs2-scaled": 4000, "w7a": 5000}
#: 20news has 59,051 features: its full Sigma would take 28 GB.
SETS = [
    "elec2",
    "cod-rna",
    "cod-rna-scaled",
    "svmguide3",
    "ijcnn1",
    "covtype",
    "covtype-scaled",
    "splice",
    "mushrooms",
    "a9a",
]
SETS += ["usps", "w7a", "mitface", "mnist1vs2", "mnist1vs2-scaled"]
SIZES = (10, 30, 100, 200, 300, 500, 700, 1000)

Values = dict[str, float]


class Judged(NamedTuple):
    """Results of a rule with one covariance on one set, over the evaluation orders."""

    covariance: str
    rate: float
    spread: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.rate:.4f} ± {self.spread:.4f}"


def grid(rule: Rule) -> list[Values]:
    """Return every second value of the declared grids: a coarse C x eta grid."""
    values = product(*(p.grid[::2] for p in rule.parameters))
    return [dict(zip((p.name for p in rule.parameters), v, strict=True)) for v in values]


def learn(rule: Rule, covariance: str, values: Values, x: Any, y: NDArray[np.int8]) -> tuple[float, float]:
    """Return the mistake rate and the CPU seconds of one pass."""
    learner = Learner(rule, covariance=covariance).with_parameters(values)
    start = time.process_time()
    counts = learner.learn(x, y)
    return counts.mistakes / counts.seen, time.process_time() - start


def judge(data: DataSet, rule: Rule, covariance: str, count: int, tuned: bool) -> Judged:
    """Choose the parameters on one order and evaluate them on the others."""
    tuning, *judging = (order[: FEWER_ROWS.get(data.name)] for order in orders(data, count))
    values: Values = {}
    if tuned:
        x, y = data.x[tuning], data.y[tuning]
        values = min(grid(rule), key=lambda v: learn(rule, covariance, v, x, y)[0])
    runs = [learn(rule, covariance, values, data.x[order], data.y[order]) for order in judging]
    rates, seconds = np.array(runs).T
    return Judged(covariance, rates.mean(), np.std(rates, ddof=1) if len(rates) > 1 else 0.0, float(seconds.min()))


def print_sets(sets: list[DataSet], count: int, tuned: bool) -> None:
    """Print a row per set and rule."""
    print(f"{'Tuned' if tuned else 'Default parameters'}:\n")
    print("| set | rows | d | rule | full | better diagonal | its way | full/diagonal | s full | s diagonal |")
    print("|---|--:|--:|---|---|---|---|--:|--:|--:|")
    for data, rule in product(sets, RULES):
        full, *diagonals = (judge(data, rule, covariance, count, tuned) for covariance in COVARIANCES)
        best = min(diagonals, key=lambda judged: judged.rate)
        rows = min(len(data.y), FEWER_ROWS.get(data.name, len(data.y)))
        cells = [data.name, str(rows), str(data.x.shape[1]), rule.title, str(full), str(best), best.covariance]
        cells += [f"{full.rate / best.rate:.2f}", f"{full.seconds:.3f}", f"{best.seconds:.3f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print()


def print_sizes() -> None:
    """Print seconds per 10,000 dense rows by the number of features."""
    print("| d | updates per row | full, s per 10,000 rows | diagonal | full/diagonal | Sigma, MB |")
    print("|--:|--:|--:|--:|--:|--:|")
    for size in SIZES:
        rows = min(10_000, 1_000_000_000 // size**2)
        generator = np.random.default_rng(size)
        x = generator.standard_normal((rows, size))
        y = np.where(x @ generator.standard_normal(size) > 0, 1, -1) * generator.choice([1, -1], rows, p=[0.9, 0.1])
        updates = Learner("scw1", covariance="full", C=1.0).learn(x, y).updates / rows
        full, diagonal = (
            10_000 / rows * min(learn(find_rule("scw1"), way, {"C": 1.0}, x, y)[1] for _ in range(3))
            for way in ("full", "diagonal")
        )
        cells = [str(size), f"{updates:.2f}", f"{full:.3f}", f"{diagonal:.4f}", f"{full / diagonal:.0f}"]
        cells.append(f"{8 * prod(Full().shape(size, 1)) / 1e6:.2f}")
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, SETS)
    parser.add_argument("--orders", type=int, default=5, help="evaluation orders, besides the one for tuning")
    parser.add_argument("--sizes-only", action="store_true", help="only the seconds by width, which need no data")
    given = parser.parse_args()
    sets = [] if given.sizes_only else [load(name, given.data_dir) for name in given.sets]
    for tuned in (True, False) if sets else ():
        print_sets(sets, given.orders, tuned)
    print_sizes()


if __name__ == "__main__":
    main()
