"""Compare algorithms on the same data, in several random orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scwlearn.cli.model_options import SeveralCommand, algorithms_option, model_options
from scwlearn.cli.options import DataOptions, data_options, option, with_options

_RUN, _OUTPUT = "Run", "Output"

_run_options = with_options(
    option(
        "-k",
        "--permutations",
        type=click.IntRange(1),
        default=10,
        show_default=True,
        metavar="K",
        section=_RUN,
        help="Random orders of the data.",
    ),
    option("--seed", type=click.IntRange(0), default=0, show_default=True, section=_RUN, help="Of the orders."),
    option(
        "--tune",
        is_flag=True,
        section=_RUN,
        help="Choose the parameters of each algorithm first, from the paper's grid, on an order of its own.",
    ),
    option(
        "--limit", type=click.IntRange(1), metavar="N", section=_RUN, help="Take only the first N examples of the data."
    ),
)
_output_options = with_options(
    option(
        "--plot",
        type=click.Path(path_type=Path, dir_okay=False),
        section=_OUTPUT,
        metavar="FILE.svg|png",
        help="Draw the error of each algorithm in each order.",
    ),
    option("--json", "as_json", is_flag=True, section=_OUTPUT, help="All numbers for programs on standard output."),
    option("-q", "--quiet", is_flag=True, section=_OUTPUT, help="No progress."),
)


@click.command(cls=SeveralCommand)
@data_options
@algorithms_option("all")
@model_options
@_run_options
@_output_options
def command(**given: Any) -> None:
    """Let algorithms learn from DATA in the same random orders, and test which of them differ from the best.

    DATA are as for train, and are kept in memory. What counts is how often each algorithm is wrong about an example
    before it learns from it: mean and standard deviation over the orders, and a paired t-test against the best.
    """
    from scwlearn.cli.comparing import ComparingRun  # loads NumPy, which --help can do without

    ComparingRun(DataOptions.take(given), given).go()
