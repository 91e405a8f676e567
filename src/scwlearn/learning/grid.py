"""Many binary learners over the same rows at once: the rows are checked and read once, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Model, ModelBatches, learn_each
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.memory import ensure_memory
from scwlearn._util.threads import job_threads
from scwlearn.data.labels import check_signs
from scwlearn.data.rows import Block, Rows, as_rows, row_numbers
from scwlearn.learning.batch import WORK_OF_A_BLOCK
from scwlearn.learning.counters import Counts
from scwlearn.learning.learner import Learner
from scwlearn.model.covariance import zeros
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.scale import RunningScale
from scwlearn.rules import OwnRule, Rule

#: Called with the rows done and the rows in total, each counted once per learner.
Progress = Callable[[int, int], None]

# Models that have learned nothing, by covariance, intercept, initial variance and whether they average.
_Priors = dict[tuple[str, bool, float, bool], Gaussian]

# Bytes of the models that go through the rows at a time, so that a grid over millions of features needs
# little more memory than its results.
_BYTES_AT_ONCE = 2**28

# Models are interleaved if at least this many fit at a time, and if the rows have this many values per feature: copying
# them there and back costs as much as learning from two or three values per feature.
_FEWEST_INTERLEAVED = 3
_VALUES_PER_FEATURE = 3


def learn_grid(
    rule: str | Rule | OwnRule,
    cells: Iterable[Mapping[str, float]],
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
    **settings: Any,
) -> list[Learner]:
    """Train a learner for each cell of a grid of parameters, as if each had learned by itself.

    Parameters
    ----------
    rule : str, Rule or function
        As for `Learner`.
    cells : list of dict
        The parameters of each learner.
    x, y, order
        As for `Learner.learn`.
    progress : function, optional
        Called now and then with the rows done and the rows in total, each counted once per learner.
    n_jobs : int or None
        The number of threads, all of which read the same rows; None for 1, -1 for all cores, -2 for all but one. The
        learners are the same to the last bit.
    **settings
        Settings and parameters that all learners have in common.

    Returns
    -------
    list of Learner
        One for each cell.

    Examples
    --------
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.grid import learn_grid
    >>> X, y = make_synthetic(1000, label_noise=0.1)
    >>> learners = learn_grid("scw1", [{"C": C} for C in (0.25, 1.0, 4.0)], X, y, covariance="diagonal")
    >>> [learner.counts.seen for learner in learners]
    [1000, 1000, 1000]
    """
    learners = [Learner(rule, **(settings | dict(cell))) for cell in cells]
    learn_together(learners, x, y, order=order, progress=progress, n_jobs=n_jobs)
    return learners


def count_grid(
    rule: str | Rule | OwnRule,
    cells: Iterable[Mapping[str, float]],
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
    **settings: Any,
) -> list[Counts]:
    """Return the counts of the learners of `learn_grid`, without keeping the learners, which saves their memory.

    Parameters
    ----------
    rule, cells, x, y, order, progress, n_jobs, **settings
        As for `learn_grid`.

    Returns
    -------
    list of Counts
        One for each cell.

    Examples
    --------
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.grid import count_grid
    >>> X, y = make_synthetic(1000, label_noise=0.1)
    >>> counts = count_grid("scw1", [{"C": C} for C in (0.25, 1.0, 4.0)], X, y, covariance="diagonal")
    >>> [count.seen for count in counts]
    [1000, 1000, 1000]
    """
    learners = [Learner(rule, **(settings | dict(cell))) for cell in cells]
    return count_together(learners, x, y, order=order, progress=progress, n_jobs=n_jobs)


def count_together(
    learners: Sequence[Learner],
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
) -> list[Counts]:
    """Return the counts that `learn_together` would return, and leave the learners as they are."""
    return [run.counts for run in _run_all(learners, x, y, order, progress, keep=False, threads=job_threads(n_jobs))]


def learn_together(
    learners: Sequence[Learner],
    x: Any,
    y: ArrayLike,
    *,
    order: ArrayLike | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = -1,
) -> list[Counts]:
    """Let each learner learn from each row in turn, as by its own `learn`.

    All or nothing: after an error or Ctrl-C every learner is as it was.

    Parameters
    ----------
    learners : sequence of Learner
        Binary learners. They may differ in everything but the number of features, and may have learned before.
    x, y, order
        As for `Learner.learn`.
    progress, n_jobs
        As for `learn_grid`.

    Returns
    -------
    list of Counts
        Rows seen, mistakes and updates of each learner.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.learning.grid import learn_together
    >>> X, y = make_synthetic(1000)
    >>> learners = [Learner("pa1"), Learner("scw1", covariance="diagonal")]
    >>> [counts.seen for counts in learn_together(learners, X, y)]
    [1000, 1000]
    """
    runs = _run_all(learners, x, y, order, progress, keep=True, threads=job_threads(n_jobs))
    counts = [run.counts for run in runs]
    with interrupts_held():
        for run in runs:
            run.learner.model, run.learner._tally, run.learner.running_scale = run.model, run.tally, run.scale
    return counts


@dataclass
class _Run:
    """A learner on its way; its own state is not written to."""

    learner: Learner
    #: Where it starts from; new learners share a prior.
    model: Gaussian
    tally: NDArray[np.int64]
    scale: RunningScale | None

    @property
    def counts(self) -> Counts:
        return Counts(*self.tally.tolist()) - self.learner.counts

    def native(self, model: Gaussian | None = None) -> Model:
        return (self.model if model is None else model).native(self.tally, **self.learner.config.native)


@dataclass(frozen=True)
class _Batch:
    """Checked rows and labels, and the order in which to go through them."""

    rows: Rows
    labels: NDArray[np.int8]
    places: NDArray[np.intp] | None
    report: Callable[[int], None]
    threads: int

    @property
    def stored(self) -> float:
        return self.rows.stored / max(1, len(self.rows))

    def blocks(self, rows: float) -> Iterator[tuple[Block, NDArray[np.int8]]]:
        for block in self.rows.blocks(max(1, int(rows)), self.places):
            part = slice(block.start, block.start + block.count)
            yield block, self.labels[part] if self.places is None else self.labels[self.places[part]]


def _run_all(
    learners: Sequence[Learner],
    x: Any,
    y: ArrayLike,
    order: ArrayLike | None,
    progress: Progress | None,
    *,
    keep: bool,
    threads: int,
) -> list[_Run]:
    rows = as_rows(x)
    labels = check_signs(y, len(rows))
    places = None if order is None else row_numbers(order, len(rows))
    runs = _start(learners, rows, keep)
    done, total = 0, len(rows) * len(runs)

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    batch = _Batch(rows, labels, places, report, threads)
    _learn_in_python([run for run in runs if run.learner.config.compiled is None], batch, keep)
    for group, scaled in _by_scale([run for run in runs if run.learner.config.compiled], batch):
        _learn_alike(group, scaled, keep)
    return runs


def _by_scale(runs: list[_Run], batch: _Batch) -> Iterator[tuple[list[_Run], _Batch]]:
    """Group runs that scale the rows alike, and yield each group with the batch as it sees it."""
    groups: dict[tuple[str, bytes | None] | None, list[_Run]] = {}
    for run in runs:
        state = None if run.scale is None else run.scale.state
        alike = None if run.scale is None else (run.scale.kind, None if state is None else state.tobytes())
        groups.setdefault(alike, []).append(run)
    for group in groups.values():
        scale = group[0].scale
        if scale is None:
            yield group, batch
            continue
        rows = scale.learn(batch.rows, order=batch.places)
        priors: _Priors = {}
        for run in group:
            run.scale = scale if run is group[0] else scale.copy()
            if run.learner.model is None:
                # A scale may change which features are rare, by which a full Sigma is arranged.
                run.model = _prior(run.learner, rows, priors)
        labels = batch.labels if batch.places is None else batch.labels[batch.places]
        yield group, replace(batch, rows=rows, labels=labels, places=None)


def _learn_alike(runs: list[_Run], batch: _Batch, keep: bool) -> None:
    """Let learners with compiled rules learn, those of one kind together."""
    groups: dict[tuple[bool, bool, str, bool], list[_Run]] = {}
    for run in runs:
        rule, config = run.learner.rule, run.learner.config
        uses_norm = isinstance(rule, Rule) and rule.uses_norm
        alike = uses_norm, config.averages, run.model.covariance.name, config.intercept
        groups.setdefault(alike, []).append(run)
    for (uses_norm, averages, _, _), group in groups.items():
        size, entries = group[0].model.size, group[0].model.memory.size
        at_once = max(1, _BYTES_AT_ONCE // (8 * max(1, entries)))
        pays = min(at_once, len(group)) >= _FEWEST_INTERLEAVED and batch.rows.stored >= _VALUES_PER_FEATURE * size
        alone = uses_norm or averages or group[0].model.covariance.correlated
        learn = _interleaved if pays and not alone else _one_by_one
        if learn is _one_by_one:
            at_once = max(at_once, batch.threads)
        for first in range(0, len(group), at_once):
            learn(group[first : first + at_once], batch, keep)


def _start(learners: Sequence[Learner], rows: Rows, keep: bool) -> list[_Run]:
    if not all(learner.is_binary for learner in learners):
        raise TypeError("learners that learn together must be binary, with labels -1 and +1")
    models = [learner if learner.model is None else learner.model for learner in learners]
    if len(set(map(id, models))) < len(models):
        raise ValueError("two learners are the same object or share memory; each must have its own")
    priors: _Priors = {}
    runs, needed = [], 0
    for learner in learners:
        learner._check_rows(rows)
        model = _prior(learner, rows, priors) if learner.model is None else learner.model.writable()
        runs.append(_Run(learner, model, learner._tally.copy(), copy(learner.running_scale)))
        needed += 8 * model.memory.size
    what, instead = f"{len(runs)} models with {rows.width} features", "let fewer learn at a time"
    with ensure_memory(needed if keep else 0, what=what, instead=instead):
        return runs


def _prior(learner: Learner, rows: Rows, priors: _Priors) -> Gaussian:
    """Return the prior of a learner; those that are alike share it."""
    config = learner.config
    key = (learner.covariance_for(rows.width), config.intercept, config.initial_variance, config.averages)
    return priors[key] if key in priors else priors.setdefault(key, learner._first_model(rows, 1))


def _interleaved(runs: list[_Run], batch: _Batch, keep: bool) -> None:
    """Learn with models that keep at most one variance per feature, side by side in registers."""
    threads, start = batch.threads, runs[0].model
    rules = [run.learner.config.native_rule for run in runs]
    intercept = runs[0].learner.config.intercept
    together = ModelBatches(rules, [run.native() for run in runs], intercept, threads)
    per_row = len(runs) * start.covariance.work(start.size, batch.stored, 1, 1, True)
    for block, labels in batch.blocks(threads * WORK_OF_A_BLOCK / per_row):
        together.learn(block.values, block.indices, block.offsets, block.width, labels)
        batch.report(block.count * len(runs))
    if keep:
        for run in runs:
            memory = zeros(*run.model.memory.shape)
            run.model = replace(run.model, memory=memory, scalars=np.empty_like(run.model.scalars))
        together.write([run.native() for run in runs])


def _one_by_one(runs: list[_Run], batch: _Batch, keep: bool) -> None:
    """Learn with each model in its own loop, as many at a time as there are threads."""
    threads = batch.threads
    models = [run.model.copy() for run in runs]
    rules = [run.learner.config.native_rule for run in runs]
    natives = [run.native(model) for model, run in zip(models, runs, strict=True)]
    covariance, size, intercept = models[0].covariance, models[0].size, runs[0].learner.config.intercept
    # With fewer models than threads, a large model can use several.
    inside = max(1, threads // len(runs)) if covariance.uses_threads(size) else 1
    per_row = covariance.work(size, batch.stored, 1, 1, True)
    at_once = min(covariance.block(size, batch.stored, 1, True), len(batch.rows) or 1)
    # The same blocks as for a single learner, because the last bits of a full covariance depend on them.
    for block, labels in batch.blocks(WORK_OF_A_BLOCK / per_row):
        share = max(threads, int(threads * WORK_OF_A_BLOCK / (per_row * max(1, block.count))))
        for first in range(0, len(runs), share):
            part = slice(first, first + share)
            rows = (block.values, block.indices, block.offsets, block.width, intercept, labels)
            learn_each(rules[part], natives[part], *rows, at_once, threads, inside)
            batch.report(block.count * len(natives[part]))
    if keep:
        for run, model in zip(runs, models, strict=True):
            run.model = model


def _learn_in_python(runs: list[_Run], batch: _Batch, keep: bool) -> None:
    """Learn with rules that are not compiled, one model after another."""
    for run in runs:
        trial = copy(run.learner)
        trial.learn(batch.rows, batch.labels, order=batch.places)
        run.tally, run.scale = trial._tally, trial.running_scale
        if keep and trial.model is not None:
            run.model = trial.model
        batch.report(len(batch.rows))
