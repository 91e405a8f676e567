"""Grids: which values of their parameters algorithms are tried with, and which of the cells came out best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scwlearn.learning.counters import Counts
from scwlearn.learning.tuning import grid
from scwlearn.rules import Rule


@dataclass(frozen=True)
class Cell:
    """An algorithm with values of its parameters."""

    rule: Rule
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    counts: Counts
    #: None where no probabilities were asked for.
    log_loss: float | None = None

    @property
    def error(self) -> float:
        """The part of the examples that was classified wrongly before it was learned from."""
        return self.counts.mistakes / max(1, self.counts.seen)

    def value(self, metric: str) -> float:
        """What it is judged by, lower better."""
        if metric == "error":
            return self.error
        if self.log_loss is None:
            raise ValueError("no probabilities were asked for, so that there is no log-loss to judge by")
        return self.log_loss


def cells_of(rules: Sequence[Rule], given: Mapping[str, Sequence[float]]) -> list[Cell]:
    """Every combination of the values given, and of the paper's for the parameters of which none are given.

    A ValueError for a name that no algorithm has, or a value that it does not allow.

    Examples
    --------
    >>> from scwlearn.rules import find_rule
    >>> from scwlearn.runs.grids import cells_of
    >>> [dict(cell.parameters) for cell in cells_of([find_rule("scw1")], {"C": [0.1, 1.0], "eta": [0.9]})]
    [{'C': 0.1, 'eta': 0.9}, {'C': 1.0, 'eta': 0.9}]
    """
    for name in given:
        if not any(name in _names(rule) for rule in rules):
            raise ValueError("; ".join(_has_no(rule, name) for rule in rules))
    return [cell for rule in rules for cell in _cells_of(rule, {n: v for n, v in given.items() if n in _names(rule)})]


def best_first(outcomes: Iterable[Outcome], metric: str = "error") -> list[Outcome]:
    """The outcomes from the best on. Of equal cells of an algorithm the one with the larger values comes first, as in
    the authors' toolbox; of equal algorithms the one that was named first."""
    by_rule: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_rule.setdefault(outcome.cell.rule.name, []).append(outcome)
    # Sorting keeps the order of what is equal.
    return sorted((each for group in by_rule.values() for each in group[::-1]), key=lambda each: each.value(metric))


def axes_of(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Of the cells of one algorithm: the parameters that vary, with their values from the smallest."""
    rule = outcomes[0].cell.rule
    values = {p.name: sorted({o.cell.parameters[p.name] for o in outcomes}) for p in rule.parameters}
    return {name: several for name, several in values.items() if len(several) > 1}


def _cells_of(rule: Rule, given: Mapping[str, Sequence[float]]) -> list[Cell]:
    own = {p.name: p for p in rule.parameters}
    chosen = {name: sorted({own[name].check(value) for value in values}) for name, values in given.items()}
    return [Cell(rule, parameters) for parameters in grid(rule, chosen)]


def _names(rule: Rule) -> list[str]:
    return [p.name for p in rule.parameters]


def _has_no(rule: Rule, name: str) -> str:
    names = _names(rule)
    return f"{rule.name} has no parameter {name!r}; it has {', '.join(names) if names else 'none'}"
