"""Measure the cost of a full Sigma with several classes, compared with a diagonal one."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
from data_sets import SEED
from numpy.typing import NDArray

from scwlearn import Learner

FORMS: dict[str, dict[str, Any]] = {
    "joint": {},
    "one Σ": {"shared_covariance": True},
    "ovr": {"multi_class": "ovr"},
}
SIZES = [(100, 10), (100, 100), (100, 800), (300, 10), (300, 40), (300, 100), (500, 10), (500, 34), (500, 67)]
TIMES = 5


def examples(rows: int, size: int, classes: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Generate dense correlated rows; a random matrix plus noise determines the class."""
    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((rows, size)) @ generator.standard_normal((size, size)) / np.sqrt(size)
    scores = x @ generator.standard_normal((size, classes)) / np.sqrt(size)
    return x, (scores + 0.3 * generator.standard_normal(scores.shape)).argmax(axis=1)


def seconds(x: NDArray[np.float64], y: NDArray[np.intp], classes: int, covariance: str, how: dict[str, Any]) -> float:
    """Return the CPU seconds of one pass of SCW-I, the best of several."""
    best = np.inf
    for _ in range(TIMES):
        learner = Learner("scw1", covariance=covariance, n_classes=classes, **how)
        # Exclude the creation of the prior.
        learner.learn(x[:1], y[:1])
        start = time.process_time()
        learner.learn(x[1:], y[1:])
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print microseconds per dense row."""
    heads = [f"{form}: full | diagonal" for form in FORMS]
    print(f"| d | classes | numbers | {' | '.join(heads)} |\n|{'--:|' * 9}")
    for size, classes in SIZES:
        x, y = examples(400_000 // size, size, classes)
        cells = [str(size), str(classes), f"{classes * size**2 / 2**20:.1f} M"]
        for how, covariance in product(FORMS.values(), ("full", "diagonal")):
            cells.append(f"{1e6 * seconds(x, y, classes, covariance, how) / len(y):.1f}")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
