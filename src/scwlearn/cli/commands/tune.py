"""Find the best parameters of a grid in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scwlearn.cli.commands.train import shuffle_options
from scwlearn.cli.model_options import DEFAULT_ALGORITHM, SeveralCommand, algorithms_option, model_options
from scwlearn.cli.options import DataOptions, data_options, option, with_options
from scwlearn.cli.output import OutputFile

_GRID, _OUTPUT = "Grid", "Output"

_grid_options = with_options(
    option(
        "--grid",
        multiple=True,
        section=_GRID,
        metavar="NAME=VALUE,...",
        help="Values of a parameter, for the algorithms that have it; may be given for several. [default: the paper's]",
    ),
    option(
        "--metric",
        type=click.Choice(("error", "log-loss")),
        default="error",
        show_default=True,
        section=_GRID,
        help="What the best is judged by, both before learning from each example; log-loss takes longer.",
    ),
)
_output_options = with_options(
    option(
        "-m",
        "--model",
        type=OutputFile(),
        section=_OUTPUT,
        help="Where to save the best model, as train would make it.",
    ),
    option("--top", type=click.IntRange(1), default=10, show_default=True, section=_OUTPUT, help="Cells to show."),
    option(
        "--plot",
        type=click.Path(path_type=Path, dir_okay=False),
        section=_OUTPUT,
        metavar="FILE.svg|png",
        help="Draw a map of the grid.",
    ),
    option("--json", "as_json", is_flag=True, section=_OUTPUT, help="All cells for programs on standard output."),
    option("-q", "--quiet", is_flag=True, section=_OUTPUT, help="The best command line alone, and no progress."),
)


@click.command(cls=SeveralCommand)
@data_options
@algorithms_option(DEFAULT_ALGORITHM)
@model_options
@_grid_options
@shuffle_options
@_output_options
def command(**given: Any) -> None:
    """Learn from DATA with every combination of parameters at once, in one pass, and print the best command line.

    DATA are as for train. What counts is how often each model is wrong about an example before it learns from it.
    """
    from scwlearn.cli.tuning import TuningRun  # loads NumPy, which --help can do without

    TuningRun(DataOptions.take(given), given).go()
