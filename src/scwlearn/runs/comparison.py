"""Algorithms compared on the same data, kept in memory, in several random orders."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.memory import available_memory
from scwlearn._util.progress import ProgressReporter
from scwlearn._util.significance import as_good_as_best, average_ranks, best_of, paired_p, spread
from scwlearn.data.examples import Examples, NamedRows
from scwlearn.data.parts import Part, join
from scwlearn.learning.counters import Counts
from scwlearn.rules import Rule
from scwlearn.runs.align import numbers_as_names
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.grids import Outcome, best_first, cells_of
from scwlearn.runs.labels import training_labels
from scwlearn.runs.side_by_side import SideBySide, in_threads

Array = NDArray[np.float64]

# The order on which parameters are chosen; those that are reported count from 1.
_TUNING_ORDER = 0
# Examples that are learned from at a time: the scores of all their classes lie in memory.
_ROWS_AT_ONCE = 2**14
# Bytes of a value with its column, and of an example with its label.
_BYTES_OF_A_VALUE, _BYTES_OF_AN_EXAMPLE = 16, 32
# The data, its parts while they are joined, and an order of it.
_COPIES = 3


@dataclass(frozen=True)
class Runs:
    """What an algorithm did: a number for each order of the data."""

    rule: Rule
    parameters: Mapping[str, float]
    error: Array
    updates: Array
    #: Of the processor, in one thread.
    seconds: Array

    @property
    def mean(self) -> float:
        """Of the error."""
        return float(self.error.mean())

    @property
    def std(self) -> float:
        """Of the error over the orders (n - 1)."""
        return spread(self.error)

    @property
    def typical_seconds(self) -> float:
        """The median, which a pause of the machine in one of the runs does not move."""
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Standing:
    """Where an algorithm stands among the others."""

    runs: Runs
    #: Mean over the orders, 1 for the lowest error.
    rank: float
    #: Of a paired t-test against the best; None for the best, and where there is nothing to test by.
    p: float | None
    as_good_as_best: bool


def gathered(batches: Iterable[Examples], limit: int | None = None) -> Examples:
    """All examples, or the first so many, in memory; a ValueError where it will not hold them."""
    parts: list[Examples] = []
    count = needed = 0
    for examples in batches:
        part = examples if limit is None else examples.part(0, min(len(examples), limit - count))
        rows = part.x.rows if isinstance(part.x, NamedRows) else part.x
        needed += _COPIES * (_BYTES_OF_A_VALUE * rows.stored + _BYTES_OF_AN_EXAMPLE * len(part))
        available = available_memory()
        # What is read lies in memory already.
        if available is not None and needed * (_COPIES - 1) // _COPIES > available:
            raise ValueError(
                f"{part.source} is too large: all orders of the data are made in memory, and {count + len(part)} "
                f"examples need {needed / 2**30:.3g} GiB of it, which is not there; compare fewer examples (limit)"
            )
        parts.append(part)
        count += len(part)
        if count == limit:
            break
    if not count:
        raise ValueError("there is no example to learn from")
    return join([Part.of(part) for part in parts]).examples()


class Comparison:
    """Algorithms with the same settings, each with its own parameters, on the same examples."""

    def __init__(self, examples: Examples, rules: Sequence[Rule], settings: Mapping[str, Any], seed: int = 0) -> None:
        self._examples = numbers_as_names(examples) if settings.get("max_features") is not None else examples
        labels = training_labels(examples)
        self._configs = {rule.name: ModelConfig(rule, rule.check({}), settings).for_labels(labels) for rule in rules}
        self._seed = seed

    def tune(self, report: ProgressReporter) -> None:
        """Choose the parameters of each algorithm from the paper's grid, on an order of their own.

        The report is told of as much as a run of each.
        """
        rules = [config.rule for config in self._configs.values()]
        cells = cells_of(rules, {})
        settings = next(iter(self._configs.values())).settings
        models = SideBySide([ModelConfig(cell.rule, cell.parameters, settings) for cell in cells])
        for part in self._in_order(_TUNING_ORDER):
            models.learn(part)
            report.advance(len(rules) * len(part) / len(self._examples), "tuning")
        models.finish()
        outcomes = [Outcome(cell, counts) for cell, counts in zip(cells, models.counts, strict=True)]
        for outcome in reversed(best_first(outcomes)):
            cell = outcome.cell
            self._configs[cell.rule.name] = ModelConfig(cell.rule, cell.parameters, settings)

    def run(self, permutations: int, report: ProgressReporter) -> list[Runs]:
        """Let each algorithm go through each order once, as many at a time as there are threads.

        The report is told of each run.
        """
        results: dict[str, list[tuple[Counts, float]]] = {name: [] for name in self._configs}

        def run(config: ModelConfig) -> None:
            learner, start = config.learner(), time.thread_time()
            for part in parts:
                learner.learn(part.x, training_labels(part), weights=part.weights)
            results[config.rule.name].append((learner.counts, time.thread_time() - start))
            report.advance(1.0, config.rule.title)

        for number in range(1, permutations + 1):
            parts = [*self._in_order(number)]
            in_threads(run, self._configs.values(), each_alone=True)
        return [self._runs(config, results[name]) for name, config in self._configs.items()]

    def _in_order(self, number: int) -> Iterator[Examples]:
        """All examples in a random order, in parts."""
        order = np.random.default_rng([self._seed, number]).permutation(len(self._examples))
        examples = self._examples.chosen(order)
        for start in range(0, len(examples), _ROWS_AT_ONCE):
            yield examples.part(start, min(start + _ROWS_AT_ONCE, len(examples)))

    def _runs(self, config: ModelConfig, results: Sequence[tuple[Counts, float]]) -> Runs:
        counts = [each for each, _ in results]
        return Runs(
            config.rule,
            dict(config.parameters),
            np.array([each.mistakes / max(1, each.seen) for each in counts]),
            np.array([each.updates for each in counts], dtype=float),
            np.array([seconds for _, seconds in results]),
        )


def standings(runs: Sequence[Runs]) -> list[Standing]:
    """The algorithms from the lowest mean error on; of equal ones in their order."""
    errors = [each.error for each in runs]
    best = best_of(errors)
    ranks = average_ranks({each.rule.name: each.error for each in runs})
    good = as_good_as_best(errors)
    found = [
        Standing(each, ranks[each.rule.name], None if place == best else paired_p(each.error, errors[best]), same)
        for place, (each, same) in enumerate(zip(runs, good, strict=True))
    ]
    return sorted(found, key=lambda each: each.runs.mean)
