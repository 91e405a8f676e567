"""Write an HTML report on one or more runs."""

from __future__ import annotations

from pathlib import Path

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.options import OutputFile, SectionCommand, check_outputs, option, output_options

_runs = click.Argument(
    ["runs"], nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path, dir_okay=False)
)
_output_options = output_options(
    option("-o", "--output", type=OutputFile(), required=True, metavar="PAGE", help="HTML page to write.")
)


@click.command(cls=SectionCommand, params=[_runs, *_output_options])
def command(runs: tuple[Path, ...], output: Path, quiet: bool) -> None:
    """Write an HTML page about RUNs: learning curves, reliability, confusion matrix and largest weights.

    A RUN is a model saved by scwlearn train, or a file with the output of its --json. The page is self-contained.
    """
    check_outputs({"-o": output}, runs)
    from scwlearn.report import write_page
    from scwlearn.runs.records import read_records

    write_page([record for path in runs for record in read_records(path)], output)
    Terminal(quiet=quiet).note(f"report: {output}")
