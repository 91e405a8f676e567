"""Table 3: mistakes, updates and time of each algorithm on each data set."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy import stats

from scwlearn.experiments.online_runs import OnlineRuns


def as_good_as_best(values: list[NDArray[np.float64]]) -> list[bool]:
    """Which of the paired samples a t-test at 95 % cannot tell from the one with the lowest mean."""
    best = values[int(np.argmin([v.mean() for v in values]))]

    def as_good(sample: NDArray[np.float64]) -> bool:
        difference = sample - best
        # Equal in every permutation, or by the same amount: a t-test has no variance to go by.
        if difference.std() <= 1e-12 * np.abs(difference).max(initial=1.0):
            return bool(np.allclose(sample, best))
        return bool(stats.ttest_1samp(difference, 0.0).pvalue > 0.05)

    return [as_good(v) for v in values]


def table3(runs: Iterable[OnlineRuns]) -> Table:
    """One data set's block, the best with a star; one run per algorithm, all over the same permutations."""
    runs = list(runs)
    table = Table(title=f"{runs[0].data} ({runs[0].seen[-1]} examples, {len(runs[0].mistake_rate)} permutations)")
    table.add_column("algorithm")
    for column in ("mistake rate", "updates", "time (ms)", "parameters"):
        table.add_column(column, justify="left" if column == "parameters" else "right")
    cells = [
        _cells([r.mistake_rate[:, -1] for r in runs], "{:.4f} ± {:.4f}"),
        _cells([r.updates[:, -1] for r in runs], "{:.0f} ± {:.0f}"),
        # What else the machine did shows in a mean of times, and would decide a test on them.
        [f"{1000 * np.median(r.seconds[:, -1]):.1f}" for r in runs],
    ]
    for i, run in enumerate(runs):
        parameters = " ".join(f"{name}={value:g}" for name, value in run.parameters.items())
        table.add_row(run.rule.title, *(column[i] for column in cells), parameters)
    return table


def _cells(values: list[NDArray[np.float64]], form: str) -> list[str]:
    texts = [form.format(v.mean(), v.std(ddof=1) if len(v) > 1 else 0.0) for v in values]
    return [f"[bold]* {t}[/bold]" if best else t for t, best in zip(texts, as_good_as_best(values), strict=True)]
