"""The paper's protocol on a data set: tune every algorithm on one permutation, then run it on the others."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn._util.checks import check_choice
from scwlearn._util.progress import ProgressReporter
from scwlearn.datasets import DataSet
from scwlearn.learning.counters import Counts
from scwlearn.learning.learner import Learner
from scwlearn.rules import Rule
from scwlearn.runs.compare import FOLDS, TUNING_ORDER, Runs, Trials, run_jobs
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.results import Job, Outcome, data_checksum, rule_checksum
from scwlearn.runs.tune import CellResult, grid_cells

#: How parameters are chosen: the authors' toolbox counts online mistakes on one permutation, the paper speaks of
#: cross-validation.
TUNINGS = ("libol", "cv")
COVARIANCES_OFFERED = ("full", "diagonal")
CHECKPOINTS = 20

#: Wider data sets are not run with a full covariance: a model of 2000 features takes 32 MB, an update 4 million steps.
MAX_FULL_FEATURES = 2000

# Approximate cost in seconds on a core of starting a job, of a row and of a multiplication, and the share of rows that
# update a full covariance. Only the estimate of the remaining time depends on them.
_JOB_COST, _ROW_COST, _MULTIPLICATION_COST = 2e-3, 0.5e-6, 1e-10
_UPDATE_SHARE = 0.1


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study."""

    permutations: int = 20
    seed: int = 0
    tuning: str = "libol"
    #: "full", or "diagonal" for the diagonal form that suits each rule.
    covariance: str = "full"
    #: Number of values of each parameter, spread evenly over its grid, and of rows of each permutation; None for all.
    values: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise ValueError(f"permutations must be at least 1, got {self.permutations}")
        check_choice("tuning", self.tuning, TUNINGS)
        check_choice("covariance", self.covariance, COVARIANCES_OFFERED)

    @property
    def max_features(self) -> int | None:
        """The largest number of features of a data set; None for any."""
        return MAX_FULL_FEATURES if self.covariance == "full" else None

    def covariance_of(self, rule: Rule) -> str:
        """Return the covariance that a rule is run with."""
        if rule.order == 1:
            return "identity"
        return rule.diagonal if self.covariance == "diagonal" else "full"

    def cells(self, rule: Rule) -> list[ModelConfig]:
        """Return the grid from the largest values to the smallest: the first of equal cells wins."""
        return grid_cells([rule], {p.name: self._spread(p.grid or (p.default,)) for p in rule.parameters})[::-1]

    def _spread(self, values: Sequence[float]) -> Sequence[float]:
        if self.values is None or len(values) <= self.values:
            return values
        step = len(values) / self.values
        return [values[int((k + 0.5) * step)] for k in range(self.values)]


@dataclass(frozen=True, kw_only=True)
class DataSetRuns(Runs):
    """The runs of a tuned algorithm on a data set."""

    #: Title and name of the data set.
    title: str
    name: str
    covariance: str
    #: The grid on the tuning permutation.
    cells: tuple[CellResult, ...]
    #: Rows without any feature: they are predicted, but nothing is learned from them.
    empty_rows: int
    #: Whether the rows keep their order, which is then also that of tuning.
    keeps_order: bool


#: The runs of each algorithm on one data set, and those of all data sets.
Block = Sequence[DataSetRuns]
Blocks = Sequence[Block]


def mean_errors(blocks: Blocks) -> dict[str, NDArray[np.float64]]:
    """Return the mean error on each data set, by the title of the algorithm; all have the same algorithms."""
    return {
        run.rule.title: np.array([block[place].mean_error for block in blocks]) for place, run in enumerate(blocks[0])
    }


def run_data_set(
    data: DataSet,
    rules: Sequence[Rule],
    settings: StudySettings,
    results: MutableMapping[Job, Outcome],
    *,
    workers: int | None = None,
    report: ProgressReporter,
) -> list[DataSetRuns]:
    """Run all algorithms on a data set, adding what is missing to the results.

    Progress is reported in approximate seconds on a core. After Ctrl-C or an error, the outcomes so far are in the
    results.
    """
    checksum = data_checksum(data.x, data.y, shuffle=data.shuffle)
    plans = {rule.name: _Plan(data, rule, settings, checksum) for rule in rules}

    def make_learner(job: Job) -> Learner:
        parameters: dict[str, Any] = dict(job.parameters)
        return Learner(plans[job.rule].rule, covariance=job.covariance, **parameters)

    trials = Trials(data.examples(), make_learner, seed=settings.seed, shuffle=data.shuffle, rows=settings.rows)

    def run(job: Job, stop: Event) -> Outcome:
        try:
            return trials.run(job, stop)
        except ValueError as error:
            raise ValueError(f"{job.rule} on {data.name}: {error}") from error

    def finished(job: Job, known: bool) -> None:
        plan = plans[job.rule]
        if known:
            report.done_before(plan.cost)
        else:
            report.advance(plan.cost, f"{data.title}: {plan.rule.title}")

    run_jobs((job for plan in plans.values() for job in plan.tuning_jobs), run, results, finished, workers=workers)
    cells = {name: plan.cells(results) for name, plan in plans.items()}
    jobs = {name: plan.final_jobs(cells[name]) for name, plan in plans.items()}
    run_jobs((job for each in jobs.values() for job in each), run, results, finished, workers=workers)
    filled = np.diff(data.x.indptr) > 0 if sparse.issparse(data.x) else data.x.any(axis=1)
    return [
        DataSetRuns.from_outcomes(
            plan.rule,
            dict(jobs[name][0].parameters),
            [results[job] for job in jobs[name]],
            title=data.title,
            name=data.name,
            covariance=settings.covariance_of(plan.rule),
            cells=tuple(cells[name]),
            empty_rows=int(np.count_nonzero(~filled)),
            keeps_order=not data.shuffle,
        )
        for name, plan in plans.items()
    ]


def study_cost(data: DataSet, rules: Sequence[Rule], settings: StudySettings) -> float:
    """Estimate the seconds on a core that `run_data_set` takes."""
    return sum(_Plan(data, rule, settings, "").total_cost for rule in rules)


class _Plan:
    """The jobs of an algorithm on a data set: its grid on the tuning permutation, then the best cell on the others."""

    def __init__(self, data: DataSet, rule: Rule, settings: StudySettings, checksum: str) -> None:
        self.rule = rule
        rows = len(data.y)
        self._job = Job(
            data=data.name,
            data_id=checksum,
            rule=rule.name,
            rule_id=rule_checksum(rule),
            covariance=settings.covariance_of(rule),
            parameters=(),
            seed=settings.seed,
            order=TUNING_ORDER,
            rows=rows if settings.rows is None else min(rows, settings.rows),
        )
        folds = range(1, FOLDS + 1) if settings.tuning == "cv" else (0,)
        self._grid = [
            (cell, [replace(self._job, parameters=tuple(cell.parameters.items()), fold=fold) for fold in folds])
            for cell in settings.cells(rule)
        ]
        self.tuning_jobs = [job for _, jobs in self._grid for job in jobs]
        # A data set that keeps its order gives the same run each time.
        self._orders = range(1, (settings.permutations if data.shuffle else 1) + 1)
        width: int = data.x.shape[1]
        stored: float = getattr(data.x, "nnz", data.x.size) / max(1, rows)
        work = width * stored / 2 + _UPDATE_SHARE * width**2 if self._job.covariance == "full" else 6 * stored
        #: The estimated seconds of each job, and of all.
        self.cost = _JOB_COST + self._job.rows * (_ROW_COST + _MULTIPLICATION_COST * work)
        self.total_cost = self.cost * (len(self.tuning_jobs) + len(self._orders))

    def cells(self, results: Mapping[Job, Outcome]) -> list[CellResult]:
        """Return the grid with its results."""
        found = []
        for cell, jobs in self._grid:
            seen, mistakes, updates = (
                sum(getattr(results[job], name)[-1] for job in jobs) for name in ("seen", "mistakes", "updates")
            )
            # With k folds every row is learned k - 1 times.
            found.append(CellResult(cell, Counts(seen, mistakes, round(updates / max(1, len(jobs) - 1)))))
        return found

    def final_jobs(self, cells: Sequence[CellResult]) -> list[Job]:
        """Return the runs with the best parameters."""
        best = min(cells, key=lambda cell: cell.error)
        parameters = tuple(best.parameters.items())
        return [replace(self._job, parameters=parameters, order=n, checkpoints=CHECKPOINTS) for n in self._orders]
