"""Table 3: mistakes, updates and time of each algorithm on each data set, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.significance import as_good_as_best, spread
from scwlearn.display.formatting import parameter_text
from scwlearn.display.tables import Table
from scwlearn.experiments.paper import published_cell
from scwlearn.experiments.study import Block, Blocks

_COLUMNS = (
    "algorithm",
    "mistake rate",
    "paper",
    "difference (paper's std)",
    "updates",
    "paper's updates",
    "time (ms)",
    "paper's time (ms)",
    "parameters",
)
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


def results_table(runs: Block) -> Table:
    """Return the block of one data set."""
    rates = _cells([run.final_errors for run in runs], "{:.4f} ± {:.4f}")
    updates = _cells([run.final_updates for run in runs], "{:.1f} ± {:.1f}")
    rows = []
    for run, rate, update in zip(runs, rates, updates, strict=True):
        paper = ("", "", "", "")
        if (cell := published_cell(run)) is not None:
            paper = (
                f"{cell.mistake_rate:.3f} ± {cell.rate_std:.3f}",
                f"{cell.stds_to(run.mean_error):+.1f}",
                f"{cell.updates:.1f} ± {cell.updates_std:.1f}",
                f"{1000 * cell.seconds:.0f}",
            )
        time = f"{1000 * run.median_seconds:.2f}"
        row = (run.rule.title, rate, *paper[:2], update, paper[2], time, paper[3], parameter_text(run.parameters))
        rows.append(row)
    first = runs[0]
    count = len(first.errors)
    notes = [_MANY.format(count=count) if count > 1 else _ONE]
    if first.keeps_order:
        notes.append(_KEPT)
    if first.empty_rows:
        notes.append(_EMPTY.format(count=first.empty_rows))
    shown = [i for i, column in enumerate(_COLUMNS) if "paper" not in column or any(map(published_cell, runs))]
    return Table(
        f"{first.title} ({first.seen[-1]} examples)",
        [_COLUMNS[i] for i in shown],
        [[row[i] for i in shown] for row in rows],
        notes,
        frozenset({"parameters"}),
    )


def all_results(blocks: Blocks) -> Table:
    """Return a row for each algorithm on each data set; without times, so that equal runs give equal bytes."""
    columns = ("set", "algorithm", "covariance", "mistake rate", "std", "updates", "updates std", "parameters")
    rows = [
        (
            run.name,
            run.rule.name,
            run.covariance,
            repr(run.mean_error),
            repr(spread(run.final_errors)),
            repr(float(run.final_updates.mean())),
            repr(spread(run.final_updates)),
            parameter_text(run.parameters),
        )
        for block in blocks
        for run in block
    ]
    return Table("Table 3, all data sets", columns, rows)


def all_times(blocks: Blocks) -> Table:
    """Return the median seconds of each algorithm on each data set."""
    rows = [(run.name, run.rule.name, f"{run.median_seconds:.6f}") for block in blocks for run in block]
    return Table("Times", ("set", "algorithm", "seconds"), rows)


def _cells(values: Sequence[NDArray[np.float64]], form: str) -> list[str]:
    texts = [form.format(v.mean(), spread(v)) for v in values]
    return [f"**{t}**" if best else t for t, best in zip(texts, as_good_as_best(values), strict=True)]
