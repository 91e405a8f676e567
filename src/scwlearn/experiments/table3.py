"""Table 3: mistakes, updates and time of each algorithm on each data set, beside the numbers that the paper prints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.significance import as_good_as_best, spread
from scwlearn.experiments import paper
from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.tables import Table

COLUMNS = (
    "algorithm",
    "mistake rate",
    "paper's",
    "difference in its std",
    "updates",
    "paper's updates",
    "time (ms)",
    "paper's time (ms)",
    "parameters",
)
_TIME = "Time: the median of the processor's, one thread; the rows come in 20 parts."
_MANY = (
    "Mean ± standard deviation over {count} permutations. **Bold**: the best, and what a paired t-test at 95 % cannot "
    f"tell from it. {_TIME}"
)
_ONE = f"One order, on which nothing can be tested. **Bold**: the best. {_TIME}"
_KEPT = "The order of this stream is kept: the parameters were chosen on the run that is shown."
_EMPTY = (
    "{count} rows have no feature: nothing is learned from them. The paper counts them as updates where the loss is a "
    "hinge loss."
)


def table3(runs: Sequence[OnlineRuns]) -> Table:
    """One data set's block; one run per algorithm, all over the same permutations."""
    rates = _cells([r.final_rates for r in runs], "{:.4f} ± {:.4f}")
    updates = _cells([r.final_updates for r in runs], "{:.1f} ± {:.1f}")
    rows = []
    for run, rate, update in zip(runs, rates, updates, strict=True):
        printed = ("", "", "", "")
        if (cell := paper.printed(run)) is not None:
            printed = (
                f"{cell.mistake_rate:.3f} ± {cell.rate_std:.3f}",
                f"{cell.stds_to(float(run.final_rates.mean())):+.1f}",
                f"{cell.updates:.1f} ± {cell.updates_std:.1f}",
                f"{1000 * cell.seconds:.0f}",
            )
        time = f"{1000 * run.typical_seconds:.2f}"
        parameters = settings(run.parameters)
        rows.append((run.rule.title, rate, *printed[:2], update, printed[2], time, printed[3], parameters))
    count = len(runs[0].mistake_rate)
    notes = [_MANY.format(count=count) if count > 1 else _ONE]
    if runs[0].keeps_order:
        notes.append(_KEPT)
    if runs[0].empty_rows:
        notes.append(_EMPTY.format(count=runs[0].empty_rows))
    title = f"{runs[0].data} ({runs[0].seen[-1]} examples)"
    words = frozenset({"parameters"})
    if all(paper.printed(run) is None for run in runs):
        kept = [i for i, column in enumerate(COLUMNS) if "paper" not in column and "difference" not in column]
        rows = [tuple(row[i] for i in kept) for row in rows]  # type: ignore[misc]
        columns = tuple(COLUMNS[i] for i in kept)
        return Table(title, columns, rows, notes, words)
    return Table(title, COLUMNS, rows, notes, words)


def long_table(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """All sets, one line for each algorithm on each; without times, so that equal runs give equal bytes."""
    columns = ("set", "algorithm", "covariance", "mistake rate", "std", "updates", "updates std", "parameters")
    rows = [
        (
            run.name,
            run.rule.name,
            run.covariance,
            repr(float(run.final_rates.mean())),
            repr(spread(run.final_rates)),
            repr(float(run.final_updates.mean())),
            repr(spread(run.final_updates)),
            settings(run.parameters),
        )
        for block in blocks
        for run in block
    ]
    return Table("Table 3, all sets", columns, rows)


def settings(parameters: dict[str, float]) -> str:
    """Parameters as the tables show them."""
    return " ".join(f"{name}={value:g}" for name, value in parameters.items())


def _cells(values: list[NDArray[np.float64]], form: str) -> list[str]:
    texts = [form.format(v.mean(), spread(v)) for v in values]
    return [f"**{t}**" if best else t for t, best in zip(texts, as_good_as_best(values), strict=True)]


def times(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """The median seconds of each algorithm on each set."""
    rows = [(run.name, run.rule.name, f"{run.typical_seconds:.6f}") for block in blocks for run in block]
    return Table("Times", ("set", "algorithm", "seconds"), rows)
