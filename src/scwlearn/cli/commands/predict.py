"""Predict a label for each input line."""

from __future__ import annotations

from typing import Any

import click

from scwlearn.cli.options import (
    Data,
    SectionCommand,
    data_options,
    model_argument,
    option,
    quiet_option,
    with_options,
)
from scwlearn.cli.output import OutputFile

_SAID, _OUTPUT = "What is printed besides the label", "Output"

_said_options = with_options(
    option("--scores", is_flag=True, section=_SAID, help="The score of the second of two classes, else of each class."),
    option("--probabilities", is_flag=True, section=_SAID, help="The probability of each class."),
    option("--confidence", is_flag=True, section=_SAID, help="The probability of the label."),
    option("--variance", is_flag=True, section=_SAID, help="How unsure the score of the label is: x'Sigma x."),
    option("--tags", is_flag=True, section=_SAID, help="What VW data call each example."),
)
_output_options = with_options(
    option(
        "-o",
        "--output",
        type=OutputFile(or_stdout=True),
        section=_OUTPUT,
        help="Where to write it, as a whole or not at all.  [default: -, standard output]",
    ),
    option("--header", is_flag=True, section=_OUTPUT, help="Begin with a line of the names of the columns."),
    option("--json", "as_json", is_flag=True, section=_OUTPUT, help="All there is to say as an object for each line."),
    quiet_option,
)


@click.command(cls=SectionCommand)
@model_argument
@data_options
@_said_options
@_output_options
def command(**given: Any) -> None:
    """Say what MODEL takes each line of DATA for: one line for each, in their order, as they come.

    Labels in DATA are not looked at. A line without an example (blank, a comment, or one that is skipped because it is
    broken) is answered by an empty line, or null with --json; lines behind the last example of a file are not, nor
    blank lines of tables. Columns have tabs between them.
    """
    from scwlearn.cli.predicting import PredictionRun  # loads NumPy, which --help can do without

    PredictionRun(Data.of(given), given).go()
