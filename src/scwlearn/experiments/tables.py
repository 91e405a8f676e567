"""Table 2, the data sets; Table 3, mistakes, updates and time; and the best single setting of each algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.significance import as_good_as_best, spread
from scwlearn.datasets import DataSet
from scwlearn.display.document import Table
from scwlearn.display.formatting import parameter_text
from scwlearn.experiments.paper import TABLE2, published_cell
from scwlearn.experiments.study import Block, Blocks, DataSetRuns

_TIME = "Time: median processor time of one thread; the rows are learned in 20 parts."
_MANY = (
    "Mean ± standard deviation over {count} permutations. **Bold**: the best, and all that a paired t-test at 95 % "
    f"cannot distinguish from it. {_TIME}"
)
_ONE = f"A single order, so there is no test. **Bold**: the best. {_TIME}"
_KEPT = "This stream keeps its order: the parameters were chosen on the run that is shown."
_EMPTY = (
    "{count} rows have no feature, and nothing is learned from them. The paper counts them as updates of algorithms "
    "with a hinge loss."
)

# Added to every error: otherwise a few rows of nearly separable data sets would decide on the best single setting.
_ERROR_OFFSET = 5e-4

#: The parameters of a cell of a grid.
Setting = tuple[tuple[str, float], ...]


def data_set_table(sets: Sequence[DataSet]) -> Table:
    """Return rows, features, the share of positive labels and of nonzero values, and the paper's size."""
    rows = []
    for data in sets:
        count, width = data.x.shape
        stored = data.x.nnz if hasattr(data.x, "nnz") else int(np.count_nonzero(data.x))
        printed = TABLE2.get(data.name)
        agrees = "" if printed is None else "yes" if printed == (count, width) else "**no**"
        size = "" if printed is None else f"{printed[0]} x {printed[1]}"
        positive, nonzero = 100 * np.mean(data.y > 0), 100 * stored / max(1, count * width)
        rows.append((data.title, str(count), str(width), size, agrees, f"{positive:.1f} %", f"{nonzero:.1f} %"))
    columns = ("data set", "rows", "features", "in the paper", "agrees", "labels +1", "nonzero values")
    return Table("Table 2: the data sets", columns, rows)


def results_table(runs: Block) -> Table:
    """Return the block of Table 3 of one data set."""
    rates = _bold_best([run.final_errors for run in runs], "{:.4f} ± {:.4f}")
    updates = _bold_best([run.final_updates for run in runs], "{:.1f} ± {:.1f}")
    published = [published_cell(run) for run in runs]
    rows = []
    for run, rate, update, cell in zip(runs, rates, updates, published, strict=True):
        paper = ["", "", "", ""]
        if cell is not None:
            paper = [
                f"{cell.mistake_rate:.3f} ± {cell.rate_std:.3f}",
                f"{cell.stds_to(run.mean_error):+.1f}",
                f"{cell.updates:.1f} ± {cell.updates_std:.1f}",
                f"{1000 * cell.seconds:.0f}",
            ]
        row = {
            "algorithm": run.rule.title,
            "mistake rate": rate,
            "paper": paper[0],
            "difference (paper's std)": paper[1],
            "updates": update,
            "paper's updates": paper[2],
            "time (ms)": f"{1000 * run.median_seconds:.2f}",
            "paper's time (ms)": paper[3],
            "parameters": parameter_text(run.parameters),
        }
        rows.append({column: text for column, text in row.items() if "paper" not in column or any(published)})
    first = runs[0]
    count = len(first.errors)
    notes = [_MANY.format(count=count) if count > 1 else _ONE]
    if first.keeps_order:
        notes.append(_KEPT)
    if first.empty_rows:
        notes.append(_EMPTY.format(count=first.empty_rows))
    title = f"{first.title} ({first.seen[-1]} examples)"
    return Table(title, [*rows[0]], [[*row.values()] for row in rows], notes, frozenset({"parameters"}))


def _bold_best(values: Sequence[NDArray[np.float64]], form: str) -> list[str]:
    texts = [form.format(v.mean(), spread(v)) for v in values]
    return [f"**{t}**" if best else t for t, best in zip(texts, as_good_as_best(values), strict=True)]


def all_results(blocks: Blocks) -> Table:
    """Return a row for each algorithm on each data set; without times, so that equal runs give equal bytes."""
    return Table.of(
        "Table 3, all data sets",
        [run for block in blocks for run in block],
        {
            "set": lambda run: run.name,
            "algorithm": lambda run: run.rule.name,
            "covariance": lambda run: run.covariance,
            "mistake rate": lambda run: repr(run.mean_error),
            "std": lambda run: repr(spread(run.final_errors)),
            "updates": lambda run: repr(float(run.final_updates.mean())),
            "updates std": lambda run: repr(spread(run.final_updates)),
            "parameters": lambda run: parameter_text(run.parameters),
        },
    )


def all_times(blocks: Blocks) -> Table:
    """Return the median seconds of each algorithm on each data set."""
    rows = [(run.name, run.rule.name, f"{run.median_seconds:.6f}") for block in blocks for run in block]
    return Table("Times", ("set", "algorithm", "seconds"), rows)


def setting_costs(runs: Sequence[DataSetRuns]) -> dict[Setting, float]:
    """Return for each cell of an algorithm's grid its error relative to the best, as geometric mean over data sets."""
    logs: dict[Setting, list[float]] = {}
    for run in runs:
        best = min(cell.error for cell in run.cells)
        for cell in run.cells:
            ratio = (cell.error + _ERROR_OFFSET) / (best + _ERROR_OFFSET)
            logs.setdefault(tuple(cell.parameters.items()), []).append(float(np.log(ratio)))
    return {setting: float(np.exp(np.mean(values))) for setting, values in logs.items() if len(values) == len(runs)}


def defaults_table(blocks: Blocks) -> Table:
    """Compare the best single setting of each algorithm over all data sets with its default."""
    by_rule: dict[str, list[DataSetRuns]] = {}
    for run in (run for block in blocks for run in block if run.rule.parameters):
        by_rule.setdefault(run.rule.name, []).append(run)
    rows = []
    for runs in by_rule.values():
        rule, costs = runs[0].rule, setting_costs(runs)
        best = min(costs, key=costs.__getitem__)
        default = tuple((p.name, p.default) for p in rule.parameters)
        cost = f"{costs[default]:.3f}" if default in costs else "not in the grid"
        near = sum(cost <= 1.02 * costs[best] for cost in costs.values())
        settings = parameter_text(dict(best)), parameter_text(dict(default))
        rows.append((rule.title, settings[0], f"{costs[best]:.3f}", str(near), settings[1], cost))
    columns = ("algorithm", "best single setting", "its cost", "settings within 2 %", "default", "cost of the default")
    note = (
        "Cost: errors relative to those of the best setting on each data set, as geometric mean over "
        f"{len(blocks)} data sets; a setting that is best everywhere has cost 1."
    )
    return Table("One setting for all data sets", columns, rows, (note,), frozenset({"best single setting", "default"}))
