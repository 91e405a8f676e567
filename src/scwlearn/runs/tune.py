"""Grids of parameters, and many models that learn from the same examples in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import Batch
from scwlearn.data.labels import Classes
from scwlearn.data.rows import Rows
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.counters import Counts
from scwlearn.learning.grid import learn_together
from scwlearn.learning.progressive import ProgressiveValidation, curve_steps
from scwlearn.learning.tuning import grid
from scwlearn.rules import Rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.labels import training_labels
from scwlearn.runs.train import TrainingRun

Item = TypeVar("Item")

# Batches are collected until they hold this many values for each feature: interleaving the models costs as much as
# learning from a few. They need less memory than two of the models.
_VALUES_PER_FEATURE = 8


@dataclass(frozen=True)
class Cell:
    """An algorithm with values of its parameters."""

    rule: Rule
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class CellResult:
    """The counts of a cell, and its log-loss if probabilities were requested."""

    cell: Cell
    counts: Counts
    log_loss: float | None = None

    @property
    def rule(self) -> Rule:
        """The algorithm."""
        return self.cell.rule

    @property
    def parameters(self) -> Mapping[str, float]:
        """The values of its parameters."""
        return self.cell.parameters

    @property
    def error(self) -> float:
        """The share of mistakes, each example predicted before it was learned."""
        return self.counts.mistakes / max(1, self.counts.seen)

    def value(self, metric: str) -> float:
        """Return the "error" or the "log-loss"; lower is better."""
        if metric == "error":
            return self.error
        if self.log_loss is None:
            raise ValueError("the log-loss needs probabilities, which were not requested")
        return self.log_loss


def grid_cells(rules: Sequence[Rule], given: Mapping[str, Sequence[float]] | None = None) -> list[Cell]:
    """Return every combination of the given values, and of the paper's for the other parameters.

    Raises ValueError if no algorithm has a parameter of that name, or if a value is not allowed.

    Examples
    --------
    >>> from scwlearn.rules import find_rule
    >>> from scwlearn.runs.tune import grid_cells
    >>> [dict(cell.parameters) for cell in grid_cells([find_rule("scw1")], {"C": [0.1, 1.0], "eta": [0.9]})]
    [{'C': 0.1, 'eta': 0.9}, {'C': 1.0, 'eta': 0.9}]
    """
    given = given or {}
    declared = [{p.name: p for p in rule.parameters} for rule in rules]
    for name in given:
        if not any(name in own for own in declared):
            raise ValueError(
                "; ".join(
                    f"{rule.name} has no parameter {name!r}; its parameters: {', '.join(own) or 'none'}"
                    for rule, own in zip(rules, declared, strict=True)
                )
            )
    cells = []
    for rule, own in zip(rules, declared, strict=True):
        chosen = {n: sorted({own[n].check(value) for value in given[n]}) for n in given if n in own}
        cells += [Cell(rule, parameters) for parameters in grid(rule, chosen)]
    return cells


def best_first(results: Iterable[CellResult], metric: str = "error") -> list[CellResult]:
    """Sort results from the best.

    Among equal cells of an algorithm the one with the larger values comes first, as in the authors' toolbox; equal
    algorithms keep their order.
    """
    by_rule: dict[str, list[CellResult]] = {}
    for result in results:
        by_rule.setdefault(result.rule.name, []).append(result)
    return sorted((each for group in by_rule.values() for each in group[::-1]), key=lambda each: each.value(metric))


def grid_axes(results: Sequence[CellResult]) -> dict[str, list[float]]:
    """Return the parameters that vary among the cells of one algorithm, with their sorted values."""
    values = {p.name: sorted({each.parameters[p.name] for each in results}) for p in results[0].rule.parameters}
    return {name: several for name, several in values.items() if len(several) > 1}


class ModelBatch:
    """Models that learn from the same examples; each has the counts that it would have alone.

    As long as features are numbered, there are two classes and no weights, the models learn together, which is many
    times as fast. They learn separately if they are kept or their probabilities are needed.
    """

    def __init__(self, configs: Sequence[ModelConfig], *, probabilities: bool = False, keep: bool = False) -> None:
        self._configs, self._probabilities = list(configs), probabilities
        self._joint: _JointModels | None = None
        if not (keep or probabilities or any(map(_needs_own_run, configs))):
            self._joint = _JointModels([each.classifier() for each in configs])
        # Separate runs; empty while the models learn together.
        self._trainings = [] if self._joint else [TrainingRun(each, probabilities=probabilities) for each in configs]
        self._complete = self._joint is None

    def learn(self, examples: Batch) -> None:
        """Let every model learn from some examples."""
        labels = training_labels(examples)
        if self._joint is not None:
            if self._joint.accepts(examples, labels):
                self._joint.learn(examples, labels)
                return
            self._separate()
        _in_threads(lambda training: training.learn(examples), self._trainings)

    def finish(self) -> None:
        """Learn from examples that were collected, and end the runs."""
        if self._joint is not None:
            self._joint.finish()
        for training in self._trainings:
            training.finish()

    @property
    def trainings(self) -> list[TrainingRun]:
        """The training of each model; empty if some examples were learned together."""
        return self._trainings if self._complete else []

    @property
    def counts(self) -> list[Counts]:
        """The counts of each model."""
        if self._joint is not None:
            return [learner.counts for learner in self._joint.learners]
        return [training.counts for training in self._trainings]

    @property
    def log_losses(self) -> list[float | None]:
        """The log-loss of each model; None if it was not requested."""
        if self._joint is not None:
            return [None] * len(self._configs)
        return [each.log_loss for each in self._trainings]

    def _separate(self) -> None:
        """Let each model continue by itself."""
        assert self._joint is not None
        self._joint.finish()
        self._complete = not self._joint.learners[0].counts.seen
        for config, learner in zip(self._configs, self._joint.learners, strict=True):
            model = learner if learner.counts.seen else config
            self._trainings.append(TrainingRun(model, probabilities=self._probabilities, since=Counts()))
        self._joint = None


def _needs_own_run(config: ModelConfig) -> bool:
    return config.is_bounded or config.settings.get("class_weight") is not None


def _in_threads(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Apply a function to all items in threads; the first error is raised."""
    with ThreadPoolExecutor(allowed_threads()) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _JointModels:
    """Models of two classes on the same numbered features, without probabilities, that learn together."""

    def __init__(self, learners: list[Classifier]) -> None:
        self.learners = learners
        self._classes = Classes()
        # Labelled -1 and +1.
        self._collected: list[Batch] = []
        self._stored = 0
        # The last bits of a full covariance depend on where the rows are cut: there, cut as a single run does.
        self._cuts: bool | None = None
        self._validation = ProgressiveValidation(curve_steps())

    def accepts(self, examples: Batch, labels: NDArray[Any]) -> bool:
        """Whether the models can learn from these examples together."""
        known = len(self._classes.add(self._classes.find(labels).new))
        return known <= 2 and examples.weights is None and isinstance(examples.x, Rows)

    def learn(self, examples: Batch, labels: NDArray[Any]) -> None:
        """Learn from the examples, now or once enough are collected."""
        rows = examples.x
        assert isinstance(rows, Rows)
        rows.check()
        found = self._classes.find(labels)
        self._classes = self._classes.add(found.new)
        signs = np.where(found.numbers == 0, -1, 1).astype(np.int8)
        if self._cuts is None:
            self._cuts = any(_is_full(learner, rows.width) for learner in self.learners)
        if self._cuts:
            self._learn_cut(rows, signs)
            return
        self._collected.append(replace(examples, labels=signs))
        self._stored += rows.stored
        if self._stored >= _VALUES_PER_FEATURE * rows.width:
            self._learn_collected()

    def finish(self) -> None:
        """Learn from what is collected; afterwards each model can continue by itself."""
        self._learn_collected()
        for learner in self.learners:
            learner.snapshot = learner.snapshot._replace(classes=self._classes)

    def _learn_collected(self) -> None:
        if self._collected:
            joined = Batch.concatenate(self._collected)
            assert isinstance(joined.x, Rows)
            assert joined.labels is not None
            self._learn(joined.x, joined.labels)
            self._collected, self._stored = [], 0

    def _learn_cut(self, rows: Rows, signs: NDArray[np.int8]) -> None:
        def learn(start: int, stop: int) -> Counts:
            self._learn(rows.slice(start, stop), signs[start:stop])
            return Counts(seen=stop - start)

        for _ in self._validation.learn(len(rows), learn):
            pass

    def _learn(self, rows: Rows, signs: NDArray[np.int8]) -> None:
        for learner in self.learners:
            width = learner.widen(rows.width)
        learn_together([learner.learner for learner in self.learners], rows.widened(max(width, rows.width)), signs)


def _is_full(learner: Classifier, width: int) -> bool:
    return bool(learner.learner.covariance_for(width) == "full")
