"""Default parameters: the single setting of each algorithm that costs least over all data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn.display.formatting import parameter_text
from scwlearn.display.tables import Table
from scwlearn.experiments.study import Blocks, DataSetRuns

# Added to every error: otherwise a few rows of nearly separable data sets would decide.
_ERROR_OFFSET = 5e-4

Point = tuple[tuple[str, float], ...]


def setting_costs(runs: Sequence[DataSetRuns]) -> dict[Point, float]:
    """Return for each cell of an algorithm's grid its error relative to the best, as geometric mean over data sets."""
    logs: dict[Point, list[float]] = {}
    for run in runs:
        best = min(cell.error for cell in run.cells)
        for cell in run.cells:
            ratio = (cell.error + _ERROR_OFFSET) / (best + _ERROR_OFFSET)
            logs.setdefault(tuple(cell.parameters.items()), []).append(float(np.log(ratio)))
    return {point: float(np.exp(np.mean(values))) for point, values in logs.items() if len(values) == len(runs)}


def defaults_table(blocks: Blocks) -> Table:
    """Compare the best single setting of each algorithm with its default."""
    by_rule: dict[str, list[DataSetRuns]] = {}
    for run in (run for block in blocks for run in block if run.rule.parameters):
        by_rule.setdefault(run.rule.name, []).append(run)
    rows = []
    for runs in by_rule.values():
        rule, costs = runs[0].rule, setting_costs(runs)
        best = min(costs, key=costs.__getitem__)
        default = tuple((p.name, p.default) for p in rule.parameters)
        rows.append(
            (
                rule.title,
                parameter_text(dict(best)),
                f"{costs[best]:.3f}",
                str(sum(cost <= 1.02 * costs[best] for cost in costs.values())),
                parameter_text(dict(default)),
                f"{costs[default]:.3f}" if default in costs else "not in the grid",
            )
        )
    columns = ("algorithm", "best single setting", "its cost", "settings within 2 %", "default", "cost of the default")
    note = (
        "Cost: errors relative to those of the best setting on each data set, as geometric mean over "
        f"{len(blocks)} data sets; a setting that is best everywhere has cost 1."
    )
    return Table("One setting for all data sets", columns, rows, (note,), frozenset({"best single setting", "default"}))
