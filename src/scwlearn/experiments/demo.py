"""The main job on embedded data: every algorithm by progressive validation, Table 3 and Figure 1 at the end.

python -m scwlearn.experiments.demo [--output DIRECTORY] [--permutations N]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from scwlearn.data.synthetic import make_synthetic
from scwlearn.experiments.figure1 import figure1
from scwlearn.experiments.online_runs import DataSet, OnlineRuns, online_runs
from scwlearn.experiments.table3 import table3
from scwlearn.rules import all_rules

LEGEND = (
    "*: the best, and what a paired t-test at 95 % cannot tell from it. Time: median. One pass, no intercept, "
    "a full covariance for the second-order algorithms (from SOP on), parameters tuned on one other permutation."
)


def embedded_sets() -> list[DataSet]:
    """The paper's synthetic sets, and two that come with scikit-learn, standardised."""
    cancer_x, cancer_y = load_breast_cancer(return_X_y=True)
    digits_x, digits_y = load_digits(return_X_y=True)
    return [
        DataSet("synthetic", *make_synthetic()),
        DataSet("synthetic, 10 % of the labels flipped", *make_synthetic(label_noise=0.1)),
        DataSet("breast cancer", scale(cancer_x), np.where(cancer_y == 1, 1, -1)),
        DataSet("digits, even against odd", scale(digits_x), np.where(digits_y % 2 == 0, 1, -1)),
    ]


def run_all(sets: list[DataSet], permutations: int, console: Console) -> list[list[OnlineRuns]]:
    """Every algorithm on every set, with a progress bar on a terminal and a line a set elsewhere."""
    rules = all_rules()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    blocks = []
    with Progress(*columns, *times, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(sets) * len(rules) * (permutations + 1))
        for data in sets:
            block = []
            for rule in rules:
                bar.update(task, description=f"{data.name}: {rule.title}")
                block.append(online_runs(data, rule, permutations=permutations, done=lambda: bar.advance(task)))
            blocks.append(block)
            if not console.is_terminal:
                console.print(f"{data.name}: {len(rules)} algorithms, tuned, {permutations} permutations each: done")
    return blocks


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; 0 when all went well."""
    parser = argparse.ArgumentParser(description="Every algorithm on embedded data: a table and a picture.")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="where the picture goes")
    parser.add_argument("--permutations", type=int, default=20, help="random orders of each set (default 20)")
    given = parser.parse_args(arguments)
    if given.permutations < 2:
        parser.error("--permutations must be at least 2")

    blocks = run_all(embedded_sets(), given.permutations, Console(file=sys.stderr))
    wide = None if sys.stdout.isatty() else 110
    out = Console(width=wide)
    for block in blocks:
        out.print(table3(block))
    out.print(LEGEND)
    picture = figure1(blocks, given.output / "figure1.png")
    out.print(f"Curves like the paper's Figure 1: {os.fspath(picture.resolve())}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
