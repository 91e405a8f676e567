"""A study: every algorithm, tuned, over random permutations of a data set, on all cores, each run once."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from scwlearn._util.progress import ProgressReporter
from scwlearn.datasets import DataSet
from scwlearn.experiments.jobs import FOLDS, TUNING_ORDER, Job, Outcome, StoppedError, data_id, execute, rule_id
from scwlearn.experiments.online_runs import Cell, OnlineRuns, curves
from scwlearn.experiments.results import Results
from scwlearn.learning.tuning import grid
from scwlearn.rules import Rule

#: How parameters are chosen: the authors' toolbox counts online mistakes over one permutation, the paper speaks of
#: cross-validation.
TUNINGS = ("libol", "cv")
COVARIANCES_OFFERED = ("full", "diagonal")
CHECKPOINTS = 20

#: Wider sets are not run with a full covariance: a model of so many features has 32 MB, an update as many operations.
WIDEST_FULL = 2000

# About what a run costs, in seconds on a core: to start it, a row, and each of its multiplications; a tenth of the rows
# move a full Sigma. All that hangs on it is the time that a display says is left.
_COST_OF_A_RUN, _COST_OF_A_ROW, _COST_OF_A_MULTIPLICATION = 2e-3, 0.5e-6, 1e-10
_SHARE_OF_UPDATES = 0.1


@dataclass(frozen=True)
class Settings:
    """How each set is run."""

    permutations: int = 20
    seed: int = 0
    tuning: str = "libol"
    #: "full", or "diagonal" for the diagonal that suits each rule.
    covariance: str = "full"
    #: So many values of each parameter, evenly from its grid, and so many rows of each order; None: all.
    values: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise ValueError(f"permutations must be at least 1, got {self.permutations}")
        for name, given, allowed in (
            ("tuning", self.tuning, TUNINGS),
            ("covariance", self.covariance, COVARIANCES_OFFERED),
        ):
            if given not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {given!r}")

    @property
    def widest(self) -> int | None:
        """How many features a set may have; None: any number."""
        return WIDEST_FULL if self.covariance == "full" else None

    def covariance_of(self, rule: Rule) -> str:
        if rule.order == 1:
            return "identity"
        return rule.diagonal if self.covariance == "diagonal" else "full"

    def cells(self, rule: Rule) -> list[tuple[tuple[str, float], ...]]:
        """The points of the grid, from the largest values to the smallest: of equal ones the first is taken."""
        kept = {p.name: _spread_out(p.grid or (p.default,), self.values) for p in rule.parameters}
        points = [tuple(point.items()) for point in grid(rule)]
        return [point for point in reversed(points) if all(value in kept[name] for name, value in point)]


def _spread_out(values: tuple[float, ...], count: int | None) -> tuple[float, ...]:
    """So many of the values, evenly."""
    if count is None or len(values) <= count:
        return values
    step = len(values) / count
    return tuple(values[int((k + 0.5) * step)] for k in range(count))


def run_set(
    data: DataSet,
    rules: Sequence[Rule],
    settings: Settings,
    results: Results,
    *,
    workers: int,
    report: ProgressReporter,
) -> list[OnlineRuns]:
    """Whatever is not among the results yet is run and added to them; all of it together, rule by rule.

    The report is told seconds on a core, about. On Ctrl-C, or any error, the runs under way stop soon, and what was
    done is among the results.
    """
    fingerprint = data_id(data)
    plans = [_Plan(data, rule, settings, fingerprint) for rule in rules]
    ready = deque((plan, job) for plan in plans for job in plan.first_jobs())
    started: dict[Future[Outcome], tuple[_Plan, Job]] = {}
    stop = Event()

    def done(plan: _Plan, job: Job) -> None:
        # Going on with an algorithm that is tuned shows its results early.
        ready.extendleft((plan, each) for each in reversed(plan.jobs_after(job, results)))

    # A run has a thread to itself: several side by side need no locks, and its time is that of one core.
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        try:
            while ready or started:
                while ready and len(started) < 2 * workers:
                    plan, job = ready.popleft()
                    if job in results:
                        report.done_before(plan.cost(job))
                        done(plan, job)
                    else:
                        started[pool.submit(execute, job, plan.rule, data, stop)] = plan, job
                for future in wait(started, return_when=FIRST_COMPLETED).done if started else ():
                    plan, job = started.pop(future)
                    results.add(job, _result(future, plan))
                    report.advance(plan.cost(job), f"{data.title}: {plan.rule.title}")
                    done(plan, job)
        except BaseException:
            stop.set()
            for future, (_, job) in started.items():
                if not future.cancel() and isinstance(outcome := _outcome(future), Outcome):
                    results.add(job, outcome)
            raise
    return [plan.runs(results) for plan in plans]


def cost_of_set(data: DataSet, rules: Sequence[Rule], settings: Settings) -> float:
    """About how many seconds on a core `run_set` takes."""
    return sum(_Plan(data, rule, settings, "").cost_of_all() for rule in rules)


def _result(future: Future[Outcome], plan: _Plan) -> Outcome:
    try:
        return future.result()
    except ValueError as error:
        raise ValueError(f"{plan.rule.name} on {plan.data.name}: {error}") from error


def _outcome(future: Future[Outcome]) -> Outcome | BaseException:
    try:
        return future.result()
    except (StoppedError, Exception) as error:
        return error


def _empty_rows(data: DataSet) -> int:
    x = data.x
    filled = np.diff(x.indptr) > 0 if sparse.issparse(x) else x.any(axis=1)
    return int(np.count_nonzero(~filled))


class _Plan:
    """The runs of one algorithm on one set: first over its grid, then, with the best parameters, over permutations."""

    def __init__(self, data: DataSet, rule: Rule, settings: Settings, fingerprint: str) -> None:
        self.data, self.rule, self.settings = data, rule, settings
        rows = len(data.y)
        self._common = {
            "data": data.name,
            "data_id": fingerprint,
            "rule": rule.name,
            "rule_id": rule_id(rule),
            "covariance": settings.covariance_of(rule),
            "seed": settings.seed,
            "rows": rows if settings.rows is None else min(rows, settings.rows),
        }
        self.cells = settings.cells(rule)
        self._awaited = set(self.first_jobs())
        # An order that is kept gives the same run each time.
        self.orders = range(1, (settings.permutations if data.shuffle else 1) + 1)

    def _job(self, parameters: tuple[tuple[str, float], ...], order: int, **how: int) -> Job:
        return Job(**self._common, parameters=parameters, order=order, **how)  # type: ignore[arg-type]

    def _tuning_jobs(self, cell: tuple[tuple[str, float], ...]) -> list[Job]:
        folds = range(1, FOLDS + 1) if self.settings.tuning == "cv" else (0,)
        return [self._job(cell, TUNING_ORDER, fold=fold) for fold in folds]

    def first_jobs(self) -> list[Job]:
        return [job for cell in self.cells for job in self._tuning_jobs(cell)]

    def jobs_after(self, job: Job, results: Results) -> list[Job]:
        """What this result is the last condition of."""
        if job not in self._awaited:
            return []
        self._awaited.remove(job)
        return [] if self._awaited else self._runs_of(self._best(results))

    def _runs_of(self, parameters: tuple[tuple[str, float], ...]) -> list[Job]:
        return [self._job(parameters, order, checkpoints=CHECKPOINTS) for order in self.orders]

    def _judged(self, results: Results) -> list[Cell]:
        judged = []
        for parameters in self.cells:
            outcomes = [results[job] for job in self._tuning_jobs(parameters)]
            rows = sum(o.seen[-1] for o in outcomes)
            rate = sum(o.mistakes[-1] for o in outcomes) / rows
            # A fold learns from the others: so many updates over all rows.
            share = FOLDS / (FOLDS - 1) if self.settings.tuning == "cv" else 1.0
            updates = share * sum(o.updates[-1] for o in outcomes) / len(outcomes)
            judged.append(Cell(dict(parameters), rate, updates))
        return judged

    def _best(self, results: Results) -> tuple[tuple[str, float], ...]:
        cells = self._judged(results)
        return tuple(min(cells, key=lambda cell: cell.mistake_rate).parameters.items())

    def runs(self, results: Results) -> OnlineRuns:
        best = self._best(results)
        return OnlineRuns(
            data=self.data.title,
            name=self.data.name,
            rule=self.rule,
            covariance=self.settings.covariance_of(self.rule),
            parameters=dict(best),
            cells=tuple(self._judged(results)),
            empty_rows=_empty_rows(self.data),
            keeps_order=not self.data.shuffle,
            **curves([results[job] for job in self._runs_of(best)]),
        )

    def cost(self, job: Job) -> float:
        width: int = self.data.x.shape[1]
        stored: float = getattr(self.data.x, "nnz", self.data.x.size) / max(1, len(self.data.y))
        work = width * stored / 2 + _SHARE_OF_UPDATES * width**2 if job.covariance == "full" else 6 * stored
        return _COST_OF_A_RUN + job.rows * (_COST_OF_A_ROW + _COST_OF_A_MULTIPLICATION * work)

    def cost_of_all(self) -> float:
        jobs = self.first_jobs()
        return self.cost(jobs[0]) * (len(jobs) + len(self.orders))
