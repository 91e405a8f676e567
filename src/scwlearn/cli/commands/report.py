"""Write an HTML report on one or more runs."""

from __future__ import annotations

from pathlib import Path

import click

from scwlearn.cli.options import SectionCommand, option, quiet_option
from scwlearn.cli.output import OutputFile, check_outputs


@click.command(cls=SectionCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path, dir_okay=False))
@option(
    "-o",
    "--output",
    type=OutputFile(),
    required=True,
    section="Output",
    metavar="PAGE",
    help="Where to write the page (HTML).",
)
@quiet_option
def command(runs: tuple[Path, ...], output: Path, quiet: bool) -> None:
    """Write one page about RUNs: their mistakes on the way, probabilities, confusions, largest weights.

    A RUN is a model that scwlearn train saved, or what its --json printed, kept in a file. The page needs no network.
    """
    check_outputs({"-o": output}, runs)
    from scwlearn.report import write_page
    from scwlearn.runs.record import read_records

    records = [record for path in runs for record in read_records(path)]
    write_page(records, output)
    if not quiet:
        click.echo(f"report: {output}", err=True)
