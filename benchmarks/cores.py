"""Measure what several cores of one machine are worth: the tables of docs/cores.md.

The first table compares `n_jobs=1` with more threads, in turns, so that noise affects all of them alike; the model is
the same. The second compares one learner with shards that learn in threads and are merged: their time, and the change
of the held-out error.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data_sets import SEED, argument_parser
from quality.sets import SETS

from scwlearn import AROW, SCW1, AutoClassifier, merge

NAMES = ["a9a", "w7a", "covtype7", "20news-tfidf", "mnist"]
MOST_ROWS = 1_000_000


class Split(NamedTuple):
    """Training rows in the order of the pass, and rows held out."""

    x: Any
    y: Any
    x_test: Any
    y_test: Any


def load(name: str, directory: Path) -> Split:
    """Shuffle the rows of a set, at most MOST_ROWS, and hold out a fifth."""
    data = SETS[name](directory)
    x = data.x.tocsr() if hasattr(data.x, "tocsr") else np.ascontiguousarray(data.x, dtype=np.float64)
    y = np.unique(data.y, return_inverse=True)[1]
    places = np.random.default_rng(SEED).permutation(len(y))[:MOST_ROWS]
    test, rows = np.split(places, [len(places) // 5])
    return Split(x[rows], y[rows], x[test], y[test])


def learn_in_shards(model: Any, x: Any, y: Any, shards: int, rounds: int, warm_up: int) -> Any:
    """Return the model after a pass: its copies learn in threads, and are merged after each round."""
    first = min(warm_up, len(y) // 4)
    model.partial_fit(x[:first], y[:first], classes=np.unique(y))
    cuts = np.linspace(first, len(y), rounds * shards + 1).astype(int)
    parts = [slice(*cut) for cut in pairwise(cuts)]

    def learn(part: slice) -> Any:
        return copy(model).partial_fit(x[part], y[part])

    with ThreadPoolExecutor(shards) as pool:
        for begin in range(0, len(parts), shards):
            model = merge(list(pool.map(learn, parts[begin : begin + shards])), prior=model)
    return model


def learn_and_merge_once(model: Any, x: Any, y: Any, shards: int) -> Any:
    """Return what shards that know nothing learn in threads, merged in the end."""
    classes, cuts = np.unique(y), np.linspace(0, len(y), shards + 1).astype(int)

    def learn(part: slice) -> Any:
        return copy(model).partial_fit(x[part], y[part], classes=classes)

    with ThreadPoolExecutor(shards) as pool:
        return merge(list(pool.map(learn, (slice(*cut) for cut in pairwise(cuts)))))


def in_turns(ways: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the best time of each way in milliseconds, and its last result."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, way in ways.items():
            begin = time.perf_counter()
            results[name] = way()
            times[name].append(1000 * (time.perf_counter() - begin))
    return {name: min(taken) for name, taken in times.items()}, results


def fit(new: Callable[[], Any], x: Any, y: Any) -> Any:
    """Return a new model, fitted."""
    return new().fit(x, y)


def threads_table(names: list[str], directory: Path, jobs: int, repeats: int) -> None:
    """Print the time of models with one thread and with several."""
    models: dict[str, Callable[..., Any]] = {
        "`AutoClassifier()`": AutoClassifier,
        "`SCW1`, ovr, diagonal": lambda **how: SCW1(covariance="diagonal", multi_class="ovr", **how),
        "`SCW1`, ovr, full": lambda **how: SCW1(covariance="full", multi_class="ovr", **how),
    }
    print(f"\n| model | set | rows | classes | 1 thread | {jobs} threads | speed-up |\n|---|---|--:|--:|--:|--:|--:|")
    for name in names:
        data = load(name, directory)
        classes = len(np.unique(data.y))
        for title, model in models.items():
            if ("ovr" in title and classes == 2) or ("full" in title and data.x.shape[1] > 1000):
                continue
            rows = min(len(data.y), 1000 if "full" in title and data.x.shape[1] > 500 else MOST_ROWS)
            x, y = data.x[:rows], data.y[:rows]
            ways: dict[str, Callable[[], Any]] = {
                str(n): partial(fit, partial(model, random_state=0, n_jobs=n), x, y) for n in (1, jobs)
            }
            taken, _ = in_turns(ways, repeats)
            one, several = taken["1"], taken[str(jobs)]
            cells = f"{one:.0f} ms | {several:.0f} ms | {one / several:.2f}"
            print(f"| {title} | {name} | {rows:,} | {classes} | {cells} |", flush=True)


def shards_table(names: list[str], directory: Path, repeats: int) -> None:
    """Print the error and time of one learner, and how those of shards differ."""
    print("\n| model | set | one learner | 2 shards, one merge | 2 shards, 4 rounds | 4 shards, 4 rounds |")
    print("|---|---|--:|--:|--:|--:|")
    for name in names:
        data = load(name, directory)
        for new in (SCW1, AROW, AutoClassifier):
            print(f"| `{new.__name__}` | {name} | {' | '.join(shards_cells(new, data, repeats))} |", flush=True)


def shards_cells(new: type[Any], data: Split, repeats: int) -> list[str]:
    """Return the error and time of one learner, and the change of the error and the speed-up of shards."""
    x, y, classes = data.x, data.y, np.unique(data.y)
    ways: dict[str, Callable[[], Any]] = {
        "one": lambda: new().partial_fit(x, y, classes=classes),
        "once": lambda: learn_and_merge_once(new(), x, y, 2),
        "2": lambda: learn_in_shards(new(), x, y, 2, 4, 20_000),
        "4": lambda: learn_in_shards(new(), x, y, 4, 4, 20_000),
    }
    taken, models = in_turns(ways, repeats)
    errors = {way: 100 * float(np.mean(model.predict(data.x_test) != data.y_test)) for way, model in models.items()}
    one, error = taken.pop("one"), errors["one"]
    return [f"{error:.2f} %, {one:.0f} ms", *(f"{errors[way] - error:+.2f}, {one / taken[way]:.2f}x" for way in taken)]


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, NAMES, SETS)
    parser.add_argument("--jobs", type=int, default=2, help="threads of the first table; default: 2")
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    parser.add_argument("--tables", nargs="+", default=["threads", "shards"], choices=["threads", "shards"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if "threads" in asked.tables:
        threads_table(asked.sets, asked.data_dir, asked.jobs, asked.repeats)
    if "shards" in asked.tables:
        shards_table(asked.sets, asked.data_dir, asked.repeats)


if __name__ == "__main__":
    main()
