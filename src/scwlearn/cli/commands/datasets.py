"""List, fetch, verify, show and export data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.output import OutputFile


def _directory_option(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, "directory", type=click.Path(path_type=Path, file_okay=False), help=text)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from scwlearn.datasets import GROUPS, all_sets

    groups = [] if param.nargs == 1 else [*GROUPS, "all"]
    return [name for name in (*(named.name for named in all_sets()), *groups) if name.startswith(incomplete)]


def _names(*, required: bool = True) -> Callable[[Any], Any]:
    return click.argument("names", nargs=-1, required=required, metavar="NAME...", shell_complete=_complete)


_data_dir = _directory_option("--data-dir", "Where the files are. Default: SCWLEARN_DATA, or the cache of scwlearn.")
_quiet = click.option("--quiet", "-q", is_flag=True, help="No progress.")

# What the commands do loads NumPy and more, which --help can do without.


@click.group(invoke_without_command=True)
@_data_dir
@click.pass_context
def command(ctx: click.Context, directory: Path | None) -> None:
    """The data sets by name. Without a command: which there are, and which of them are here."""
    ctx.obj = directory
    if ctx.invoked_subcommand is None:
        from scwlearn.cli.named_sets import list_sets

        list_sets(directory)


@command.command("list")
@_data_dir
@click.pass_obj
def list_command(given: Path | None, directory: Path | None) -> None:
    """Which sets there are, and which of them are here."""
    from scwlearn.cli.named_sets import list_sets

    list_sets(directory or given)


@command.command("fetch")
@_names()
@_directory_option("--cache", "Where the files go. Default: where sets are looked for.")
@_quiet
@click.pass_obj
def fetch_command(given: Path | None, names: tuple[str, ...], directory: Path | None, quiet: bool) -> None:
    """Get sets from their public sources, checked. NAME is a set, or paper, extra, embedded, all."""
    from scwlearn.cli.named_sets import fetch_sets

    fetch_sets(names, directory or given, quiet)


@command.command("verify")
@_names(required=False)
@_data_dir
@_quiet
@click.pass_obj
def verify_command(given: Path | None, names: tuple[str, ...], directory: Path | None, quiet: bool) -> None:
    """Check the content of the files.

    Those of all sets that are here, or of those that are named.
    """
    from scwlearn.cli.named_sets import verify_sets

    verify_sets(names, directory or given, quiet)


@command.command("show")
@click.argument("name", shell_complete=_complete)
@_data_dir
@click.pass_obj
def show_command(given: Path | None, name: str, directory: Path | None) -> None:
    """All that is declared of a set."""
    from scwlearn.cli.named_sets import show_set

    show_set(name, directory or given)


@command.command("export")
@click.argument("name", shell_complete=_complete)
@click.argument("file", type=OutputFile(or_stdout=True))
@_data_dir
@click.option(
    "--format",
    "data_format",
    type=click.Choice(("libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")),
    help="Default: what the name of FILE ends with.",
)
@click.pass_obj
def export_command(given: Path | None, name: str, file: Path, directory: Path | None, data_format: str | None) -> None:
    """Write a set to FILE; - is standard output.

    It has two classes, and is prepared as declared.
    """
    from scwlearn.cli.named_sets import export_set

    export_set(name, file, directory or given, data_format)
