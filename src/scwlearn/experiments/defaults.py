"""One setting for all data sets: which point of its grid costs an algorithm least where nothing is tuned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.table3 import settings
from scwlearn.experiments.tables import Table
from scwlearn.rules import Rule

# Sets on which hardly anything is wrong would decide by a few rows.
_FEWEST_MISTAKES = 5e-4


def costs(runs: Sequence[OnlineRuns]) -> dict[tuple[tuple[str, float], ...], float]:
    """For each point of an algorithm's grid, its mistakes over those of the best: the geometric mean over sets."""
    logs: dict[tuple[tuple[str, float], ...], list[float]] = {}
    for run in runs:
        best = min(cell.mistake_rate for cell in run.cells)
        for cell in run.cells:
            ratio = (cell.mistake_rate + _FEWEST_MISTAKES) / (best + _FEWEST_MISTAKES)
            logs.setdefault(tuple(cell.parameters.items()), []).append(float(np.log(ratio)))
    return {point: float(np.exp(np.mean(values))) for point, values in logs.items() if len(values) == len(runs)}


def defaults(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """For every algorithm with parameters: the point that costs least, and what its default costs."""
    rules: dict[str, Rule] = {run.rule.name: run.rule for block in blocks for run in block if run.rule.parameters}
    rows = []
    for name, rule in rules.items():
        runs = [run for block in blocks for run in block if run.rule.name == name]
        by_point = costs(runs)
        best = min(by_point, key=by_point.__getitem__)
        default = tuple((p.name, p.default) for p in rule.parameters)
        of_default = f"{by_point[default]:.3f}" if default in by_point else "not in the grid"
        as_good = sum(cost <= 1.02 * by_point[best] for cost in by_point.values())
        rows.append(
            (
                rule.title,
                settings(dict(best)),
                f"{by_point[best]:.3f}",
                str(as_good),
                settings(dict(default)),
                of_default,
            )
        )
    columns = ("algorithm", "best single setting", "its cost", "as good within 2 %", "default", "cost of the default")
    note = (
        "Cost: mistakes over those of the best point of the grid on each set, the geometric mean over "
        f"{len(blocks)} sets; 1 would be a setting that is best everywhere."
    )
    return Table("One setting for all sets", columns, rows, (note,), frozenset({"best single setting", "default"}))
