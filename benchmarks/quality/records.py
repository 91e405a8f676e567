"""Records of the quality benchmark: a JSON line for each set, order, features and model, so that a run can resume."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reliability import quality
from speed.harness import Unavailable, threads

from quality.models import MODELS, SLOW_WORK, Outcome
from quality.sets import FEATURES, Split, load, split

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Key:
    """What a record is about."""

    set: str
    order: int
    features: str
    model: str


@dataclass(frozen=True)
class Record:
    """Measures of a model on a set in one order; smaller is better, None where a model has no such measure."""

    key: Key
    rows: int
    test_rows: int
    progressive: float | None
    held_out: float
    balanced: float
    log_loss: float | None
    ece: float | None
    seconds: float


def read(path: Path) -> dict[Key, Record]:
    """Read the records of a file; the last of a key counts."""
    if not path.exists():
        return {}
    found = {}
    for line in path.read_text().splitlines():
        values = json.loads(line)
        key = Key(**values.pop("key"))
        found[key] = Record(key, **values)
    return found


def drop(path: Path, sets: Iterable[str], models: Sequence[str]) -> None:
    """Remove the records of these models on these sets from the file."""
    kept = [record for key, record in read(path).items() if key.set not in sets or key.model not in models]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_line(record) for record in kept))


def measure(path: Path, directory: Path, sets: Iterable[str], models: Sequence[str], orders: int, jobs: int) -> None:
    """Add to the file what it does not have yet, one thread per process."""
    done = frozenset(read(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(_measure_order, path, directory, name, order, tuple(models), done)
            for name in sets
            for order in range(orders)
        ]
        for task in waiting:
            task.result()


_load = lru_cache(maxsize=1)(load)


def _measure_order(
    path: Path, directory: Path, name: str, order: int, models: tuple[str, ...], done: frozenset[Key]
) -> None:
    wanted = [Key(name, order, features, model) for features in FEATURES for model in models]
    missing = [key for key in wanted if key not in done]
    if not missing:
        return
    try:
        data = _load(name, directory)
    except (FileNotFoundError, Unavailable) as error:
        print(f"{name} left out: {error}", file=sys.stderr)
        return
    if data.ordered and order > 0:
        return
    for features in FEATURES:
        part = split(data, order, features)
        for key in missing:
            too_slow = MODELS[key.model].slow and order > 0 and part.work > SLOW_WORK
            if key.features == features and not too_slow:
                _run(path, key, part)


def _run(path: Path, key: Key, part: Split) -> None:
    try:
        with threads(1), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # that one pass may be too few, that features are not scaled
            outcome = MODELS[key.model].run(part)
    except (Unavailable, ValueError) as error:
        print(f"{key.set}, {key.features}, {key.model} left out: {error}", file=sys.stderr)
        return
    record = _judge(key, part, outcome)
    print(f"{key.set} {key.order} {key.features} {key.model}: {record.held_out:.4f}", file=sys.stderr, flush=True)
    # A single write of a line at the end: the lines of two processes do not mix.
    with path.open("ab", buffering=0) as file:
        file.write(_line(record).encode())


def _line(record: Record) -> str:
    return json.dumps(asdict(record)) + "\n"


def _judge(key: Key, part: Split, outcome: Outcome) -> Record:
    wrong = outcome.predicted != part.y_test
    of_class = [wrong[part.y_test == number].mean() for number in np.unique(part.y_test)]
    log_loss = ece = None
    if outcome.probabilities is not None:
        found = quality(_proper(outcome.probabilities), part.y_test)
        log_loss, ece = found.log_loss, found.ece_mass
    return Record(
        key,
        len(part.y),
        len(part.y_test),
        outcome.progressive,
        float(wrong.mean()),
        float(np.mean(of_class)),
        log_loss,
        ece,
        outcome.seconds,
    )


def _proper(probabilities: Array) -> Array:
    """Replace rows that are no probabilities, which diverging peers return, by equal ones."""
    usable = np.isfinite(probabilities).all(axis=1) & (probabilities.sum(axis=1) > 0)
    return np.where(usable[:, None], probabilities, 1 / probabilities.shape[1])
