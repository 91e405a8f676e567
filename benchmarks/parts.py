"""Compare training in parts with one stream by held-out error: the tables of docs/distributed.md.

The rows of each set are shuffled, and a fifth is held out. Results are kept in build/parts.jsonl, so that a run which
was interrupted goes on.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data_sets import SEED, argument_parser
from quality.sets import SETS, Examples

from scwlearn.data.batch import Batch
from scwlearn.data.rows import Rows, as_rows
from scwlearn.distributed import Serial
from scwlearn.distributed.plan import Plan
from scwlearn.distributed.training import FileTraining
from scwlearn.files.transport import unpack
from scwlearn.rules import AUTO, find_rule
from scwlearn.runs.config import ModelConfig

NAMES = ["a9a", "covtype7", "20news-tfidf", "mnist", "w7a", "ijcnn1"]
ALGORITHMS = ["scw1", "arow", "auto"]
PARTS = (2, 8, 32, 128)
#: Parts with fewer examples than this are expected to lose accuracy.
FEWEST = 2000
RESULTS = Path("build/parts.jsonl")


class Case(NamedTuple):
    """A set in one order, learned with an algorithm by a plan."""

    name: str
    algorithm: str
    order: int
    parts: int
    one_merge: bool


class Split(NamedTuple):
    """Training rows in the order of the pass, and rows held out."""

    training: Batch
    x: Any
    y: Any


def split(data: Examples, order: int) -> Split:
    """Shuffle the rows and hold out a fifth."""
    places = np.random.default_rng([SEED, order]).permutation(len(data.y))
    test, rows = np.split(places, [len(places) // 5])
    labels = np.unique(data.y, return_inverse=True)[1]
    x = data.x.tocsr() if hasattr(data.x, "tocsr") else np.asarray(data.x, dtype=np.float64)
    own = as_rows(x[rows], check=False)
    if not isinstance(own, Rows):
        raise TypeError("rows expected")
    batch = Batch(own, labels[rows], None, np.arange(1, len(rows) + 1), "memory")
    return Split(batch, x[test], labels[test])


def held_out_error(part: Split, case: Case) -> float:
    """Train by the plan of a case, and return the error on the held-out rows in percent."""
    rule = AUTO if case.algorithm == "auto" else find_rule(case.algorithm)
    training = FileTraining([part.training], ModelConfig(rule, {}), parts=case.parts)
    prepared = training.prepare()
    if case.one_merge:
        prepared = replace(prepared, plan=Plan(case.parts, rounds=1, warm_up=Fraction(0)))
    model = unpack(prepared.run(Serial()).model).learner
    return 100 * float(np.mean(model.predict(part.x) != part.y))


def cases(name: str, algorithm: str, order: int) -> Iterator[Case]:
    """Yield one stream, then all parts with one merge and with the default rounds."""
    yield Case(name, algorithm, order, 1, False)
    for parts in PARTS:
        for one_merge in (True, False):
            yield Case(name, algorithm, order, parts, one_merge)


def measure(names: list[str], algorithms: list[str], orders: int, directory: Path) -> dict[Case, tuple[float, int]]:
    """Return the error and the number of training rows of each case; measure those that are missing."""
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found = {Case(*case): (error, rows) for case, error, rows in map(json.loads, lines)}
    for name in names:
        data = None
        for order in range(orders):
            part = None
            for algorithm in algorithms:
                for case in cases(name, algorithm, order):
                    if case in found:
                        continue
                    data = SETS[name](directory) if data is None else data
                    part = split(data, order) if part is None else part
                    found[case] = held_out_error(part, case), len(part.training)
                    with RESULTS.open("a") as file:
                        print(json.dumps([case, *found[case]]), file=file)
                    print(*case, f"{found[case][0]:.3f}", flush=True)
    return found


def table(found: dict[Case, tuple[float, int]], names: list[str], algorithm: str, orders: int) -> str:
    """Return the Markdown table of an algorithm: the change of the error in points, one merge / default rounds."""
    lines = ["| set | one stream | " + " | ".join(f"{parts} parts" for parts in PARTS) + " |", "|---|--:|" + "---|" * 4]
    for name in names:
        single = [found[Case(name, algorithm, order, 1, False)] for order in range(orders)]
        cells = [_cell(found, name, algorithm, parts, orders) for parts in PARTS]
        lines.append(f"| {name} | {np.mean([error for error, _ in single]):.2f} % | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: dict[Case, tuple[float, int]], name: str, algorithm: str, parts: int, orders: int) -> str:
    errors = {
        kind: np.array([found[Case(name, algorithm, order, *kind)][0] for order in range(orders)])
        for kind in ((1, False), (parts, True), (parts, False))
    }
    single, rows = errors[1, False].mean(), found[Case(name, algorithm, 0, 1, False)][1]
    once, rounds = (float((errors[parts, kind] - errors[1, False]).mean()) for kind in (True, False))
    if rows // parts < FEWEST:
        return f"*{once:+.2f} / {rounds:+.2f}*"
    missed = rounds > max(0.1, 0.02 * single)
    return f"{once:+.2f} / **{rounds:+.2f}**" + (" (missed)" if missed else "")


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, NAMES, SETS)
    parser.add_argument("--orders", type=int, default=3, help="shuffled orders of the rows; default: 3")
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(asked.sets, asked.algorithms, asked.orders, asked.data_dir)
    for algorithm in asked.algorithms:
        print(f"\n{algorithm}\n\n{table(found, asked.sets, algorithm, asked.orders)}")


if __name__ == "__main__":
    main()
