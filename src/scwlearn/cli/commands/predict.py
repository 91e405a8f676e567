"""Predict a label for each input line.

Output line i belongs to line i of DATA; columns are separated by tabs. Labels in DATA are ignored. A line without an
example (blank, a comment, or skipped) gives an empty line, or null with --json. Of tables, line i belongs to record i:
the header and blank lines give no output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.model_options import decision_options, with_costs
from scwlearn.cli.options import (
    STDIO,
    OutputFile,
    SectionCommand,
    check_outputs,
    data_options,
    model_argument,
    option,
    output_options,
    section,
)

_column_options = section(
    "Columns besides the label",
    option("--scores", is_flag=True, help="Score of each class; with two classes, only of the second."),
    option("--probabilities", is_flag=True, help="Probability of each class."),
    option("--confidence", is_flag=True, help="Probability of the label."),
    option("--variance", is_flag=True, help="Variance of the score, x'Sigma x."),
    option("--tags", is_flag=True, help="Tags of VW data."),
)
_output_options = output_options(
    option(
        "-o",
        "--output",
        type=OutputFile(or_stdout=True),
        help="File to write, replaced atomically.  [default: -, standard output]",
    ),
    option("--column-names", is_flag=True, help="Print a first line with the names of the columns."),
    json="Print a JSON object for each line, with all columns.",
)


@click.command(
    cls=SectionCommand,
    params=[model_argument, *data_options, *decision_options, *_column_options, *_output_options],
    help=__doc__,
)
def command(**given: Any) -> None:
    """Predict; see the help above."""
    # NumPy is imported from here on: --help does without it.
    from scwlearn.cli.input import Input
    from scwlearn.runs.predict import LineGaps, PredictionLines
    from scwlearn.runs.trained_model import TrainedModel
    from scwlearn.runs.warnings import unknown_features

    output: Path | None = None if str(given["output"]) == STDIO else given["output"]
    if given["as_json"] and given["column_names"]:
        raise click.UsageError("--column-names needs columns, and --json has none; give one of them")
    columns = [name for name in ("scores", "probabilities", "confidence", "variance", "tags") if given[name]]
    model = with_costs(TrainedModel.read(given["model"]), given["costs"])
    predictions = PredictionLines(model, columns, as_json=given["as_json"])
    gaps = LineGaps()
    data = Input(given, model, labels="ignored", eager=True, skipped=gaps)
    check_outputs({"-o": output}, [given["model"], *data.files])
    empty = "null\n" if given["as_json"] else "\n"
    with (
        _open(output) as write,
        data.progress("predicting", show=output is not None or not sys.stdout.isatty()),
    ):
        gaps.answer = lambda count: write(empty * count)
        if given["column_names"]:
            write(predictions.header() + "\n")
        for examples in data.examples():
            assert data.schema is not None
            lines = zip(gaps.before(examples, data.schema.format), predictions.lines(examples), strict=True)
            write("".join(f"{empty * count}{line}\n" for count, line in lines))
    data.report_skipped()
    data.terminal.warn(unknown_features(predictions.coverage))


@contextmanager
def _open(output: Path | None) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes text to a file, or to standard output if there is none."""
    if output is not None:
        from scwlearn._util.atomic import atomic_file
        from scwlearn._util.special import open_special

        special = open_special(output)
        with special or atomic_file(output) as file:

            def write_bytes(text: str) -> None:
                file.write(text.encode("utf-8", "surrogatepass"))
                if special is not None:
                    file.flush()

            yield write_bytes
        return

    def write(text: str) -> None:
        sys.stdout.write(text)
        # The reader of a pipe wants to see each prediction at once.
        sys.stdout.flush()

    yield write
