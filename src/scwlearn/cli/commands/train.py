"""Train a model in one pass, with progressive validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scwlearn.cli.algorithm import algorithm_options
from scwlearn.cli.options import Data, FiniteRange, SectionCommand, data_options, option, quiet_option, with_options
from scwlearn.cli.output import OutputFile

_RUN, _OUTPUT = "Run", "Output"

#: In which order examples come.
shuffle_options = with_options(
    option(
        "--shuffle-buffer",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        section=_RUN,
        help="Shuffle the examples within a buffer of N.",
    ),
    option("--seed", type=click.IntRange(0), default=0, show_default=True, section=_RUN, help="Of the shuffling."),
)
_run_options = with_options(
    option(
        "--epochs", type=click.IntRange(1), default=1, show_default=True, section=_RUN, help="Passes over the data."
    ),
    option(
        "--holdout",
        type=FiniteRange(0.0, 1.0, max_open=True),
        default=0.0,
        metavar="PART",
        section=_RUN,
        help="Keep this part of the examples apart, and judge the model by them in the end; 0.1: every tenth.",
    ),
    shuffle_options,
    option(
        "--resume",
        type=click.Path(path_type=Path, dir_okay=False),
        section=_RUN,
        metavar="MODEL",
        help="Go on with this model, as if it had never stopped.",
    ),
    option(
        "--save-every",
        type=click.IntRange(1),
        section=_RUN,
        metavar="N",
        help="Save the model after every N examples, and at Ctrl-C.",
    ),
)
_output_options = with_options(
    option(
        "-m",
        "--model",
        type=OutputFile(),
        section=_OUTPUT,
        help="Where to save the model.",
    ),
    option(
        "--probabilities",
        is_flag=True,
        section=_OUTPUT,
        help="Judge the probabilities along the way: log-loss, reliability.",
    ),
    option(
        "--report",
        type=OutputFile(),
        section=_OUTPUT,
        metavar="PAGE",
        help="Write a page about the run (HTML); implies --probabilities.",
    ),
    option("--json", "as_json", is_flag=True, section=_OUTPUT, help="A summary for programs on standard output."),
    quiet_option,
)


@click.command(cls=SectionCommand)
@data_options
@algorithm_options
@_run_options
@_output_options
def command(**given: Any) -> None:
    """Learn from DATA, each example once: it is classified first, and what came of it is counted.

    DATA are files of LIBSVM, VW, CSV, TSV, JSON lines, Parquet or Arrow, perhaps compressed, patterns of their names,
    or - for standard input.
    """
    from scwlearn.cli.training import TrainingRun  # loads NumPy, which --help can do without

    TrainingRun(Data.of(given), given).go()
