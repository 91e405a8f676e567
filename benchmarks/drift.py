"""Mistakes in % with a floor on the variance: its gain under drift, and its cost without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from data_sets import SEED, argument_parser, load, orders
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from scwlearn.model.scale import RunningScale
from scwlearn.rules import find_rule

Labels = NDArray[np.int8]
FLOORS = (0.0, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 0.9)
RULES = ("scw1", "scw2", "cw", "arow", "nherd", "narow", "second_order_perceptron", "iellip")
COVARIANCES = ("diagonal", "full")
FIRST_ORDER = ("pa1", "perceptron")
STATIONARY = ["a9a", "ijcnn1", "covtype-scaled"]
#: Learners whose mistakes are shown for each part of the stream.
SHOWN = [("scw1", "diagonal"), ("scw1", "full"), ("arow", "diagonal"), ("arow", "full")]
WINDOWS = 12


def mistakes(rule: str, covariance: str, floor: float, x: Any, y: Labels) -> NDArray[np.bool_]:
    """Return which rows of one pass were misclassified."""
    learner = Learner(rule, covariance=covariance, intercept=True, variance_floor=floor)
    wrong: NDArray[np.bool_] = (learner.trace(x, y).score >= 0) != (y > 0)
    return wrong


def title_of(rule: str, covariance: str) -> str:
    """Return the name of a learner in the tables."""
    return find_rule(rule).title + ("" if covariance == "auto" else f", {covariance}")


def print_line(*cells: str) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def print_floors(x: Any, y: Labels, rules: tuple[str, ...] = RULES) -> None:
    """Print a row per rule and covariance, with a column per floor."""
    print_line("learner", *(f"{floor:g}" for floor in FLOORS))
    print(f"|---|{'--:|' * len(FLOORS)}")
    for rule in rules:
        for covariance in COVARIANCES:
            rates = [100 * mistakes(rule, covariance, floor, x, y).mean() for floor in FLOORS]
            print_line(title_of(rule, covariance), *(f"{rate:.2f}" for rate in rates))


def print_windows(streams: list[tuple[Any, Labels]], floors: tuple[float, ...]) -> None:
    """Print a row per learner and floor, with a column per part of the stream and one for all."""
    print_line("learner", "floor", *(str(k + 1) for k in range(WINDOWS)), "all")
    print(f"|---|--:|{'--:|' * (WINDOWS + 1)}")
    for rule, covariance in [*SHOWN, ("pa1", "auto")]:
        for floor in floors if covariance != "auto" else (0.0,):
            wrong = np.mean([mistakes(rule, covariance, floor, x, y) for x, y in streams], axis=0)
            rates = [100 * part.mean() for part in (*np.array_split(wrong, WINDOWS), wrong)]
            print_line(title_of(rule, covariance), f"{floor:g}", *(f"{rate:.1f}" for rate in rates))
    print()


def print_elec2(directory: Path) -> None:
    """Print the tables of elec2 in its order, unscaled and with a running scale."""
    data = load("elec2", directory)
    x = data.x.toarray() if sparse.issparse(data.x) else data.x
    same_again = np.mean(data.y[1:] != data.y[:-1])
    for name, rows in (("as distributed", x), ("with a running scale", RunningScale().learn(x))):
        print(f"elec2, {name}\n")
        print_floors(rows, data.y)
        for rule in FIRST_ORDER:
            rate = 100 * mistakes(rule, "auto", 0.0, rows, data.y).mean()
            print_line(title_of(rule, "auto"), f"{rate:.2f}", *[""] * (len(FLOORS) - 1))
        print_line("previous label", f"{100 * same_again:.2f}", *[""] * (len(FLOORS) - 1))
        print(f"\nelec2, {name}, in {WINDOWS} parts\n")
        print_windows([(rows, data.y)], (0.0, 0.01, 0.1))


def changing_stream(seed: int, rows: int = 12_000, features: int = 20) -> tuple[NDArray[np.float64], Labels]:
    """Generate a stream whose labels follow one direction in the first half and an orthogonal one in the second."""
    generator = np.random.default_rng([SEED, seed])
    x = generator.standard_normal((rows, features))
    directions = np.linalg.qr(generator.standard_normal((features, 2)))[0].T
    score = np.where(np.arange(rows) < rows // 2, x @ directions[0], x @ directions[1])
    y = np.where(score + 0.1 * generator.standard_normal(rows) >= 0, 1, -1).astype(np.int8)
    return x, y


def print_stationary(sets: list[str], directory: Path) -> None:
    """Print the cost of a floor without drift."""
    for name in sets:
        data = load(name, directory)
        order = orders(data, 1)[1]
        print(f"{name}, shuffled\n")
        print_floors(data.x[order], data.y[order], ("scw1", "arow"))
        print()


def main() -> None:
    """Print the tables."""
    given = argument_parser(__doc__, STATIONARY).parse_args()
    print_elec2(given.data_dir)
    print(f"a direction that changes in the middle, 10 streams, in {WINDOWS} parts\n")
    print_windows([changing_stream(seed) for seed in range(10)], (0.0, 0.01, 0.1))
    print_stationary(given.sets, given.data_dir)


if __name__ == "__main__":
    main()
