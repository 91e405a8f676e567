"""One run of an algorithm over one order of a data set: what is asked for, and what came of it."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import __version__, _native
from scwlearn.datasets import DataSet
from scwlearn.learning.learner import Learner
from scwlearn.learning.progressive import progressive_validation
from scwlearn.rules import Rule

#: How many parts of the data take turns as what the parameters are judged on, where cross-validation chooses them.
FOLDS = 5

#: The order of rows on which parameters are chosen; those that are reported count from 1.
TUNING_ORDER = 0

# Runs go side by side: the time of the processor does not count how long one waits for another.
_CLOCK = time.thread_time


@functools.cache
def _version() -> str:
    return f"{__version__}-{hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Job:
    """What is to be run. Equal jobs have equal results, times aside, with any number of workers."""

    data: str
    #: A checksum of the rows and labels, and one of the rule's source: what has changed is not the same job.
    data_id: str
    rule: str
    rule_id: str
    covariance: str
    parameters: tuple[tuple[str, float], ...]
    seed: int
    #: Which of the random orders that follow from the seed.
    order: int
    #: How many rows of that order are used.
    rows: int
    #: Which part of the order is left out and then scored (from 1); 0 where each row is classified, then learned from.
    fold: int = 0
    checkpoints: int = 1
    #: Of the library, with a checksum of its native loops.
    version: str = field(default_factory=_version)


@dataclass(frozen=True)
class Outcome:
    """What a run had come to at each checkpoint."""

    seen: tuple[int, ...]
    mistakes: tuple[int, ...]
    updates: tuple[int, ...]
    seconds: tuple[float, ...]


class StoppedError(Exception):
    """A run that was told to stop before its end."""


def to_line(job: Job, outcome: Outcome) -> dict[str, Any]:
    """A job and its outcome for the file of results."""
    return {**asdict(job), "parameters": dict(job.parameters), **asdict(outcome)}


def from_line(line: dict[str, Any]) -> tuple[Job, Outcome]:
    """The way back; KeyError or TypeError where something is missing or of another kind."""
    outcome = Outcome(*(tuple(line[name]) for name in ("seen", "mistakes", "updates", "seconds")))
    if not len(outcome.seen) == len(outcome.mistakes) == len(outcome.updates) == len(outcome.seconds) > 0:
        raise ValueError("its lists are not of one length")
    fields = {name: line[name] for name in Job.__dataclass_fields__}
    return Job(**{**fields, "parameters": tuple(line["parameters"].items())}), outcome


def order_of(data: DataSet, seed: int, number: int, rows: int) -> NDArray[np.intp]:
    """The first `rows` of a random order; a stream that drifts keeps its own."""
    count = len(data.y)
    order = np.random.default_rng([seed, number]).permutation(count) if data.shuffle else np.arange(count)
    return order[:rows]


def execute(job: Job, rule: Rule, data: DataSet, stop: Event) -> Outcome:
    """Run it, in the calling thread alone; `StoppedError` soon after `stop` is set."""
    how: dict[str, Any] = dict(job.parameters)
    learner = Learner(rule, covariance=job.covariance, **how)
    order = order_of(data, job.seed, job.order, job.rows)
    if job.fold:
        return _fold(learner, data, np.array_split(order, FOLDS), job.fold - 1)
    reports = []
    x, y = data.x[order], data.y[order]
    for report in progressive_validation(learner, x, y, checkpoints=job.checkpoints, clock=_CLOCK):
        reports.append(report)
        if stop.is_set() and report.counts.seen < len(order):
            raise StoppedError
    return Outcome(
        seen=tuple(r.counts.seen for r in reports),
        mistakes=tuple(r.counts.mistakes for r in reports),
        updates=tuple(r.counts.updates for r in reports),
        seconds=tuple(round(r.seconds, 6) for r in reports),
    )


def _fold(learner: Learner, data: DataSet, parts: list[NDArray[np.intp]], left_out: int) -> Outcome:
    """Learn from the other parts in their order; the mistakes are those on the part that is left out."""
    rest = np.concatenate([part for number, part in enumerate(parts) if number != left_out])
    (report,) = progressive_validation(learner, data.x[rest], data.y[rest], clock=_CLOCK)
    held = parts[left_out]
    wrong = int(np.sum((learner.scores(data.x[held]) >= 0) != (data.y[held] > 0)))
    return Outcome((len(held),), (wrong,), (report.counts.updates,), (round(report.seconds, 6),))


def data_id(data: DataSet) -> str:
    """A checksum of what a run sees of a data set."""
    digest = hashlib.sha256(repr((data.x.shape, data.shuffle)).encode())
    x = data.x
    for array in (x.data, x.indices, x.indptr) if sparse.issparse(x) else (x,):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(np.ascontiguousarray(data.y).data)
    return digest.hexdigest()[:16]


def rule_id(rule: Rule) -> str:
    """A checksum of the file that declares a rule; in a notebook, of the function. What it imports is not looked at."""
    module = sys.modules.get(rule.function.__module__)
    try:
        source = inspect.getsource(
            rule.function if module is None or rule.function.__module__ == "__main__" else module
        )
    except (OSError, TypeError):
        source = repr((rule.function.__code__.co_code, rule.function.__code__.co_consts))
    return hashlib.sha256(source.encode()).hexdigest()[:16]
