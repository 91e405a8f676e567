"""Compare averaged weights with the latest ones, for each algorithm: the table of docs/averaging.md.

The sets are those of the quality benchmark; some ship with River, which must be installed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from data_sets import argument_parser
from quality.report import geometric_mean
from quality.sets import SETS, Split, load, split
from sklearn.metrics import log_loss

import scwlearn
from scwlearn.rules import all_rules


class Result(NamedTuple):
    """Mistakes before learning and on the test rows, and the sum of the log-loss over the test rows."""

    progressive: float
    held_out: float
    log_loss: float


def run(name: str, part: Split, *, average: bool) -> Result:
    """Train an estimator with default parameters in one pass, and count its mistakes."""
    model = getattr(scwlearn, name)(average=average, shuffle=False).fit(part.x, part.y)
    wrong = float(np.sum(model.predict(part.x_test) != part.y_test))
    loss = log_loss(part.y_test, model.predict_proba(part.x_test), labels=model.classes_, normalize=False)
    return Result(model.n_mistakes_, wrong, float(loss))


def measure(name: str, directory: Path, orders: int) -> dict[tuple[str, bool], list[Result]]:
    """Return the results of each algorithm with and without averaging in each order of a set."""
    data = load(name, directory)
    found: dict[tuple[str, bool], list[Result]] = {}
    for order in range(1 if data.ordered else orders):
        part = split(data, order, "raw")
        for rule in all_rules():
            for average in (False, True):
                result = run(rule.estimator, part, average=average)
                found.setdefault((rule.estimator, average), []).append(result)
    return found


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, [*SETS], SETS)
    parser.add_argument("--orders", type=int, default=5, help="shuffled orders of the rows; default: 5")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios: dict[str, list[list[float]]] = {rule.estimator: [] for rule in all_rules()}
    for name in asked.sets:
        found = measure(name, asked.data_dir, asked.orders)
        for estimator, rows in ratios.items():
            latest, averaged = (np.mean(found[estimator, average], axis=0) + 0.5 for average in (False, True))
            rows.append((averaged / latest).tolist())
    print("| algorithm | averages by default | progressive error | held-out error | log-loss |\n|---|---|--:|--:|--:|")
    for rule in all_rules():
        means = [geometric_mean([*column]) for column in zip(*ratios[rule.estimator], strict=True)]
        cells = " | ".join(f"{mean:.2f}" for mean in means)
        print(f"| {rule.title} | {'yes' if rule.averaged else 'no'} | {cells} |")


if __name__ == "__main__":
    main()
