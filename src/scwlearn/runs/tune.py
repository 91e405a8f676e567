"""Grids of parameters, and many models that learn from the same examples in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.memory import thread_pool
from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import Batch
from scwlearn.data.labels import Classes
from scwlearn.data.rows import Rows
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.counters import Counts
from scwlearn.learning.grid import learn_together
from scwlearn.learning.progressive import ProgressiveValidation, curve_steps
from scwlearn.learning.tuning import grid, nearest_first
from scwlearn.rules import Rule
from scwlearn.runs.batches import training_labels
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.metrics import LabelCounts
from scwlearn.runs.train import TrainingRun

# Batches are collected until they hold this many values for each feature: interleaving the models costs as much as
# learning from a few. They need less memory than two of the models.
_VALUES_PER_FEATURE = 8


@dataclass(frozen=True)
class CellResult:
    """The counts of a cell of a grid, and its log-loss if probabilities were requested."""

    cell: ModelConfig
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
            raise ValueError(
                "there is no log-loss: it needs probabilities, and an example of a class that was seen before"
            )
        return self.log_loss


def grid_cells(
    rules: Sequence[Rule],
    given: Mapping[str, Sequence[float]] = MappingProxyType({}),
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> list[ModelConfig]:
    """Return every combination of the given values, and of the paper's for the other parameters.

    Raises ValueError if no algorithm has a parameter of that name, or if a value is not allowed.
    """
    declared = {rule: {p.name: p for p in rule.parameters} for rule in rules}
    for name in given:
        if not any(name in own for own in declared.values()):
            raise ValueError(
                "; ".join(
                    f"{rule.name} has no parameter {name!r}; its parameters: {', '.join(own) or 'none'}"
                    for rule, own in declared.items()
                )
            )
    cells = []
    for rule, own in declared.items():
        chosen = {n: sorted({own[n].check(value) for value in given[n]}) for n in given if n in own}
        cells += [ModelConfig(rule, parameters, settings) for parameters in grid(rule, chosen)]
    return cells


def best_first(results: Iterable[CellResult], metric: str = "error") -> list[CellResult]:
    """Sort results from the best.

    Among equal cells of an algorithm the one nearest to its default parameters comes first; equal algorithms keep their
    order.
    """
    by_rule: dict[str, list[CellResult]] = {}
    for result in results:
        by_rule.setdefault(result.rule.name, []).append(result)
    ordered = []
    for group in by_rule.values():
        defaults = {p.name: p.default for p in group[0].rule.parameters}
        ordered += [group[place] for place in nearest_first([each.parameters for each in group], defaults)]
    return sorted(ordered, key=lambda each: each.value(metric))


def grid_axes(results: Sequence[CellResult]) -> dict[str, list[float]]:
    """Return the parameters that vary among the cells of one algorithm, with their sorted values."""
    values = {p.name: sorted({each.parameters[p.name] for each in results}) for p in results[0].rule.parameters}
    return {name: several for name, several in values.items() if len(several) > 1}


class ModelBatch:
    """Models that learn from the same examples; each has the counts that it would have alone.

    As long as features are numbered, there are two classes and no weights, the models learn together, which is many
    times as fast. They learn separately if they are kept or their probabilities are needed.
    """

    def __init__(self, cells: Sequence[ModelConfig], *, probabilities: bool = False, keep: bool = False) -> None:
        self._cells, self._probabilities = cells, probabilities
        self.label_counts = LabelCounts()
        self._joint: _JointModels | None = None
        # Separate runs; empty while the models learn together.
        self._trainings: list[TrainingRun] = []
        if keep or probabilities or any(map(_needs_own_run, cells)):
            self._trainings = [TrainingRun(cell, probabilities=probabilities) for cell in cells]
        else:
            self._joint = _JointModels([cell.classifier() for cell in cells])

    def learn(self, examples: Batch) -> None:
        """Let every model learn from some examples."""
        labels = training_labels(examples)
        self.label_counts.update(labels, examples.weights)
        if self._joint is not None:
            if self._joint.learn(examples, labels):
                return
            self._separate()
        with thread_pool(allowed_threads()) as pool:
            # The first error is raised here; the models that have not begun are left out.
            for _ in pool.map(lambda training: training.learn(examples), self._trainings):
                pass

    def finish(self) -> list[CellResult]:
        """Learn from examples that were collected, end the runs, and return the result of each model."""
        if self._joint is not None:
            self._joint.finish()
            found: list[tuple[Counts, float | None]] = [(learner.counts, None) for learner in self._joint.learners]
        else:
            for training in self._trainings:
                training.finish()
            found = [(training.counts, training.log_loss) for training in self._trainings]
        return [CellResult(cell, *result) for cell, result in zip(self._cells, found, strict=True)]

    @property
    def trainings(self) -> list[TrainingRun]:
        """The training of each model; empty if some examples were learned together."""
        return [] if any(training.before.seen for training in self._trainings) else self._trainings

    def _separate(self) -> None:
        """Let each model continue by itself."""
        assert self._joint is not None
        self._joint.finish()
        for cell, learner in zip(self._cells, self._joint.learners, strict=True):
            model = learner if learner.counts.seen else cell
            self._trainings.append(TrainingRun(model, probabilities=self._probabilities, before=learner.counts))
        self._joint = None


def _needs_own_run(cell: ModelConfig) -> bool:
    own = cell.rule.is_committee or cell.learner_config.max_features is not None
    return own or cell.settings.get("class_weight") is not None


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

    def learn(self, examples: Batch, labels: NDArray[Any]) -> bool:
        """Learn from examples, now or once enough are collected; return False if the models must learn separately."""
        rows, found = examples.x, self._classes.find(labels)
        classes = self._classes.add(found.new)
        if len(classes) > 2 or examples.weights is not None or not isinstance(rows, Rows):
            return False
        rows.check()
        self._classes = classes
        signs = np.where(found.numbers == 0, -1, 1).astype(np.int8)
        if self._cuts is None:
            self._cuts = any(each.learner.covariance_for(rows.width) == "full" for each in self.learners)
        if self._cuts:
            self._learn_cut(rows, signs)
            return True
        self._collected.append(replace(examples, labels=signs))
        self._stored += rows.stored
        if self._stored >= _VALUES_PER_FEATURE * rows.width:
            self._learn_collected()
        return True

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
