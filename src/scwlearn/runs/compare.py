"""The comparison engine: algorithms on the same examples in the same random orders, each run in one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event, Lock
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from scwlearn._util.memory import available_memory, thread_pool
from scwlearn._util.progress import ProgressReporter
from scwlearn._util.significance import as_good_as_best, average_ranks, best_of, paired_p, spread
from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.io.errors import DataError
from scwlearn.rules import Rule
from scwlearn.runs.batches import numbers_as_names, training_labels
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.results import Job, Outcome
from scwlearn.runs.tune import ModelBatch, best_first, grid_cells

Array = NDArray[np.float64]

#: The order on which parameters are chosen; the orders that are reported count from 1.
TUNING_ORDER = 0
#: Folds of a cross-validation.
FOLDS = 5

# Examples learned in one call by `compare`: the scores of all their classes are in memory.
_ROWS_PER_CALL = 2**14
# Bytes of a stored value with its column, and of an example with its label.
_VALUE_BYTES, _EXAMPLE_BYTES = 16, 32
# The data, its parts while they are joined, and an order of it.
_COPIES = 3


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The runs of an algorithm: arrays of shape (orders, checkpoints)."""

    rule: Rule
    parameters: Mapping[str, float]
    #: Examples seen at each checkpoint.
    seen: NDArray[np.intp]
    #: Progressive error up to each checkpoint.
    errors: Array
    updates: Array
    #: Processor time of one thread.
    seconds: Array

    @classmethod
    def from_outcomes(cls, rule: Rule, parameters: Mapping[str, float], runs: Sequence[Outcome], **more: Any) -> Self:
        """Build the arrays from one outcome for each order; `more` are the fields of a subclass."""
        seen = np.array(runs[0].seen)
        return cls(
            rule=rule,
            parameters=dict(parameters),
            seen=seen,
            errors=np.array([run.mistakes for run in runs]) / np.maximum(seen, 1),
            updates=np.array([run.updates for run in runs], dtype=float),
            seconds=np.array([run.seconds for run in runs]),
            **more,
        )

    @property
    def final_errors(self) -> Array:
        """The error of each order."""
        return self.errors[:, -1]

    @property
    def final_updates(self) -> Array:
        """The number of updates of each order."""
        return self.updates[:, -1]

    @property
    def mean_error(self) -> float:
        """The mean error over the orders."""
        return float(self.final_errors.mean())

    @property
    def median_seconds(self) -> float:
        """The median time, which is robust to a pause of the machine."""
        return float(np.median(self.seconds[:, -1]))


@dataclass(frozen=True)
class Standing:
    """An algorithm in a comparison."""

    runs: Runs
    #: Mean rank over the orders, 1 for the lowest error.
    rank: float
    #: p-value of a paired t-test against the best; None for the best, and if there is no variance to test with.
    p: float | None
    as_good_as_best: bool

    @property
    def std(self) -> float:
        """Standard deviation of the error over the orders."""
        return spread(self.runs.final_errors)


def standings(runs: Sequence[Runs]) -> list[Standing]:
    """Rank algorithms by mean error; ties keep their order."""
    errors = [each.final_errors for each in runs]
    best = best_of(errors)
    ranks = average_ranks({each.rule.name: each.final_errors for each in runs})
    found = [
        Standing(each, ranks[each.rule.name], None if place == best else paired_p(errors[place], errors[best]), same)
        for place, (each, same) in enumerate(zip(runs, as_good_as_best(errors), strict=True))
    ]
    return sorted(found, key=lambda each: each.runs.mean_error)


def row_order(count: int, seed: int, number: int) -> NDArray[np.intp]:
    """Return a random order of rows; `number` distinguishes the orders of one seed."""
    return np.random.default_rng([seed, number]).permutation(count)


class StoppedError(Exception):
    """A job that was stopped before its end."""


class _Ordered:
    """Examples in one order, cut at the checkpoints and into calls of `learn`."""

    def __init__(self, examples: Batch, checkpoints: int, rows_per_call: int | None) -> None:
        count = len(examples)
        self.examples, self.labels = examples, training_labels(examples)
        self.checkpoints = {*np.linspace(0, count, checkpoints + 1).astype(int).tolist()[1:]}
        cuts = {0, *self.checkpoints, *range(0, count, rows_per_call or max(1, count))}
        self.parts = [(stop, examples.slice(start, stop)) for start, stop in pairwise(sorted(cuts))]


class Trials:
    """Runs of learners on examples in random orders; concurrent runs share one copy of an order."""

    def __init__(
        self,
        examples: Batch,
        make_learner: Callable[[Job], Any],
        *,
        seed: int,
        shuffle: bool = True,
        rows: int | None = None,
        rows_per_call: int | None = None,
    ) -> None:
        self._examples, self._make_learner = examples, make_learner
        self._seed, self._shuffle, self._rows, self._rows_per_call = seed, shuffle, rows, rows_per_call
        self._lock = Lock()
        self._in_use: WeakValueDictionary[tuple[int, int], _Ordered] = WeakValueDictionary()
        self._latest: _Ordered | None = None

    def in_order(self, number: int, checkpoints: int = 1) -> _Ordered:
        """Return the examples in an order, cut into parts."""
        with self._lock:
            found = self._in_use.get((number, checkpoints))
            if found is None:
                count = len(self._examples)
                order = row_order(count, self._seed, number) if self._shuffle else np.arange(count)
                self._latest = None  # its memory may be needed
                examples = self._examples.take(order[: self._rows])
                found = self._in_use[number, checkpoints] = _Ordered(examples, checkpoints, self._rows_per_call)
            # The next job is likely to need the same order.
            self._latest = found
            return found

    def run(self, job: Job, stop: Event) -> Outcome:
        """Run a job in the calling thread; raise StoppedError soon after `stop` is set."""
        ordered = self.in_order(job.order, job.checkpoints)
        learner = self._make_learner(job)
        if job.fold:
            return _run_fold(learner, ordered, job.fold - 1)
        points, seconds, start = [], 0.0, 0
        for end, part in ordered.parts:
            seconds += _learn(learner, part, ordered.labels[start:end])
            start = end
            if end in ordered.checkpoints:
                counts = learner.counts
                points.append((counts.seen, counts.mistakes, counts.updates, round(seconds, 6)))
            if stop.is_set() and end < len(ordered.examples):
                raise StoppedError
        return Outcome(*zip(*points, strict=True))


def _run_fold(learner: Any, ordered: _Ordered, held_out: int) -> Outcome:
    """Learn from the other folds in order and count the mistakes on the fold that is held out."""
    folds = np.array_split(np.arange(len(ordered.examples)), FOLDS)
    rest = np.concatenate([fold for number, fold in enumerate(folds) if number != held_out])
    seconds = _learn(learner, ordered.examples.take(rest), ordered.labels[rest])
    test = folds[held_out]
    wrong = int(np.sum((learner.scores(ordered.examples.x.take(test)) >= 0) != (ordered.labels[test] > 0)))
    return Outcome((len(test),), (wrong,), (learner.counts.updates,), (round(seconds, 6),))


def _learn(learner: Any, part: Batch, labels: NDArray[Any]) -> float:
    """Learn from examples and return the time. Jobs share the processor: only thread time excludes waiting."""
    start = time.thread_time()
    learner.learn(part.x, labels, weights=part.weights)
    return time.thread_time() - start


def run_jobs(
    jobs: Iterable[Job],
    run: Callable[[Job, Event], Outcome],
    results: MutableMapping[Job, Outcome],
    finished: Callable[[Job, bool], object],
    *,
    workers: int | None = None,
) -> None:
    """Run the jobs that have no result yet, in threads, and add their outcomes to the results.

    `finished(job, known)` is called after each job, where `known` tells that its result was there before. After Ctrl-C
    or an error, the jobs under way stop soon, and the outcomes so far are in the results.
    """
    missing, stop = [], Event()
    # In order of permutations, so that concurrent jobs share one.
    for job in sorted(jobs, key=lambda job: job.order):
        if job in results:
            finished(job, True)
        else:
            missing.append(job)
    # One thread for each job: no locks, and its time is that of one core.
    with threadpool_limits(1), thread_pool(workers or allowed_threads()) as pool:
        running = {pool.submit(run, job, stop): job for job in missing}
        try:
            for future in as_completed([*running]):
                job = running.pop(future)
                results[job] = future.result()
                finished(job, False)
        except BaseException:
            stop.set()
            waiting = {future: job for future, job in running.items() if not future.cancel()}
            for future, job in waiting.items():
                if future.exception() is None:
                    results[job] = future.result()
            raise


def read_all(batches: Iterable[Batch], limit: int | None = None) -> Batch:
    """Return all examples, or the first `limit`, in memory; raise ValueError if they do not fit."""
    parts: list[Batch] = []
    count = needed = 0
    for examples in batches:
        part = examples if limit is None else examples.slice(0, min(len(examples), limit - count))
        rows = part.x.rows if isinstance(part.x, NamedRows) else part.x
        needed += _COPIES * (_VALUE_BYTES * rows.stored + _EXAMPLE_BYTES * len(part))
        available = available_memory()
        # One copy is in memory already.
        if available is not None and needed * (_COPIES - 1) // _COPIES > available:
            raise DataError(
                f"{part.source} is too large: a comparison shuffles the data in memory, and {count + len(part)} "
                f"examples need {needed / 2**30:.3g} GiB, more than is available",
                hint="compare fewer examples with {limit}",
            )
        parts.append(part)
        count += len(part)
        if count == limit:
            break
    if not count:
        raise ValueError("the data holds no examples")
    return Batch.concatenate(parts)


def compare(
    examples: Batch,
    configs: Sequence[ModelConfig],
    report: ProgressReporter,
    *,
    permutations: int,
    seed: int = 0,
    tune: bool = False,
) -> list[Runs]:
    """Run algorithms with the same settings once over each of several orders; progress is reported in runs.

    With `tune`, the parameters of each are chosen from the paper's grid first, on a separate order, as one more run.
    """
    if configs[0].learner_config.max_features is not None:
        examples = numbers_as_names(examples)
    labels = training_labels(examples)
    chosen = {config.rule.name: config.for_labels(labels) for config in configs}
    trials = Trials(examples, lambda job: chosen[job.rule].classifier(), seed=seed, rows_per_call=_ROWS_PER_CALL)
    if tune:
        settings = chosen[configs[0].rule.name].settings
        models = ModelBatch(grid_cells([config.rule for config in configs], settings=settings))
        ordered = trials.in_order(TUNING_ORDER)
        for _, part in ordered.parts:
            models.learn(part)
            report.advance(len(configs) * len(part) / len(ordered.examples), "tuning")
        for best in reversed(best_first(models.finish())):
            chosen[best.rule.name] = best.cell
    # Jobs differ only in algorithm and order; `chosen` has the parameters.
    job = Job("", "", "", "", "", (), seed, 0, len(examples), version="")
    jobs = {name: [replace(job, rule=name, order=order) for order in range(1, permutations + 1)] for name in chosen}
    results: dict[Job, Outcome] = {}

    def finished(job: Job, known: bool) -> None:
        report.advance(1.0, chosen[job.rule].rule.title)

    run_jobs((job for each in jobs.values() for job in each), trials.run, results, finished)
    return [
        Runs.from_outcomes(config.rule, config.parameters, [results[job] for job in jobs[name]])
        for name, config in chosen.items()
    ]
