"""List, fetch, verify, show and export data sets by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal, columns, print_text
from scwlearn.cli.options import STDIO, OutputFile, usage_error
from scwlearn.data.formats import format_names

if TYPE_CHECKING:
    from scwlearn.datasets import NamedSet


def _directory_option(name: str, help: str) -> Callable[[Any], Any]:
    def inherit(ctx: click.Context, _: click.Parameter, value: Path | None) -> Any:
        """Use the directory given before the name of the subcommand, unless there is another after it."""
        ctx.obj = value or ctx.obj
        return ctx.obj

    kind = click.Path(path_type=Path, file_okay=False)
    return click.option(name, "directory", type=kind, callback=inherit, help=help)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from scwlearn.datasets import GROUPS, all_sets

    groups = [] if param.nargs == 1 else [*GROUPS, "all"]
    return [name for name in (*(named.name for named in all_sets()), *groups) if name.startswith(incomplete)]


_name = click.argument("name", shell_complete=_complete)
_names = partial(click.argument, "names", nargs=-1, shell_complete=_complete)
_data_dir = _directory_option("--data-dir", "Directory of the files. Default: SCWLEARN_DATA, or the user's cache.")
_quiet = click.option("--quiet", "-q", is_flag=True, help="Show no progress.")


@click.group(invoke_without_command=True)
@_data_dir
@click.pass_context
def command(ctx: click.Context, directory: Path | None) -> None:
    """List, fetch, verify, show and export data sets by name; list them by default."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command, directory=directory)


@command.command("list")
@_data_dir
def list_command(directory: Path | None) -> None:
    """List all data sets, and whether their files are present."""
    from scwlearn.datasets import all_sets, data_directory, is_present

    place = data_directory(directory)
    table = [("name", "group", "rows x features", "state", "licence")]
    missing = []
    for named in all_sets():
        state = "generated" if not named.files else "present" if is_present(named, place) else "missing"
        table.append((named.name, named.group, f"{named.rows} x {named.features}", state, named.licence))
        if state == "missing":
            missing.append(named)
    print_text("\n".join([*columns(table), "", f"Directory: {place}", *how_to_get(missing)]))


def how_to_get(missing: Sequence[NamedSet]) -> list[str]:
    """Explain how to get data sets whose files are missing."""
    by_hand = [named.name for named in missing if any(file.by_hand for file in named.files)]
    available = [named.name for named in missing if named.name not in by_hand]
    text = []
    if available:
        text.append(f"Get the missing ones with `scwlearn datasets fetch {' '.join(available)}`.")
    if by_hand:
        text.append(f"To make {', '.join(by_hand)} by hand, see `scwlearn datasets show NAME`.")
    if missing:
        text.append("If the files are elsewhere, use --data-dir DIRECTORY or set SCWLEARN_DATA.")
    return text


@command.command("fetch")
@_names(required=True, metavar="NAME...")
@_directory_option("--cache", "Directory to write the files to. Default: as --data-dir.")
@_quiet
def fetch_command(names: tuple[str, ...], directory: Path | None, quiet: bool) -> None:
    """Download data sets and verify them.

    NAME is a data set, or one of the groups paper, extra, embedded and all.
    """
    from scwlearn.datasets import data_directory, select_sets
    from scwlearn.datasets.fetch import FetchError, fetch

    with usage_error():
        chosen = select_sets(names)
    cache = data_directory(directory)
    failures = []
    with Terminal(quiet=quiet).progress(sum(len(named.files) for named in chosen), "fetching") as report:
        for named in chosen:
            try:
                fetch(named, cache, report)
            except FetchError as error:  # the others may be available
                failures.append(str(error))
            else:
                report.note(f"{named.name}: {f'in {cache}' if named.files else 'needs no files'}")
        if failures:
            raise click.ClickException("\n".join(failures))


@command.command("verify")
@_names(metavar="[NAME]...")
@_data_dir
@_quiet
def verify_command(names: tuple[str, ...], directory: Path | None, quiet: bool) -> None:
    """Check files against their checksums.

    By default those of all data sets that are present.
    """
    from scwlearn.datasets import all_sets, data_directory, is_present, select_sets
    from scwlearn.datasets.load import file_state

    where, bad = data_directory(directory), []
    with usage_error():
        chosen = select_sets(names) if names else [named for named in all_sets() if is_present(named, where)]
    files = {file.path: file for named in chosen for file in named.files}
    with Terminal(quiet=quiet).progress(len(files), "verifying") as report:
        for path, file in files.items():
            state = file_state(file, where)
            print_text(f"{path}: {state}")
            report.advance(1.0, path)
            if state != "good":
                bad.append(path)
    if not files:
        print_text(f"No files to check in {where}.")
    if bad:
        raise click.ClickException(
            f"not as declared in {where}: {', '.join(bad)}; scwlearn datasets fetch replaces them"
        )


@command.command("show")
@_name
@_data_dir
def show_command(name: str, directory: Path | None) -> None:
    """Show everything that is declared about a data set."""
    from scwlearn.datasets import data_directory, find_set

    with usage_error():
        named = find_set(name)
    for heading, text in _facts(named, data_directory(directory)):
        print_text(f"{heading + ':':<10} {text}")


def _facts(named: NamedSet, directory: Path) -> Iterable[tuple[str, str]]:
    yield "name", named.name
    yield "title", named.title
    yield "group", named.group
    yield "size", f"{named.rows} rows x {named.features} features, {named.positives} rows labelled +1"
    if named.files:
        positive = ", ".join(f"{value:g}" for value in named.positive)
        others = "all others" if named.negative is None else ", ".join(f"{value:g}" for value in named.negative)
        yield "labels", f"{positive} as +1, {others} as -1"
    yield "form", named.form
    yield "stored as", "a float64 matrix" if named.dense else "a sparse matrix (CSR)"
    yield "order", "may be shuffled" if named.shuffle else "must be kept"
    yield "licence", named.licence
    yield "cite", named.cite
    for file in named.files:
        yield "file", f"{directory / file.path}{'' if (directory / file.path).is_file() else ' (missing)'}"
        yield "content", f"sha256 {file.sha256}"
        for source in file.sources:
            yield from (("source", url) for url in source.urls)
        if file.by_hand:
            yield "by hand", file.by_hand


@command.command("export")
@_name
@click.argument("file", type=OutputFile(or_stdout=True))
@_data_dir
@click.option(
    "--format",
    "data_format",
    type=click.Choice(format_names()),
    help="Default: according to the suffix of FILE.",
)
def export_command(name: str, file: Path, directory: Path | None, data_format: str | None) -> None:
    """Write a data set to FILE; - is standard output.

    It has the labels -1 and +1, and its features are prepared as declared.
    """
    from scwlearn.data.formats import format_of_path
    from scwlearn.data.writing import write_batches
    from scwlearn.datasets import find_set, load_set

    with usage_error():
        named = find_set(name)
    chosen = data_format or format_of_path(file.name)
    if chosen is None:
        raise click.UsageError(f"the suffix of {file.name} implies no format; use --format")
    examples = [load_set(named, directory).examples()]
    if str(file) == STDIO:
        write_batches(examples, sys.stdout.buffer, chosen)
        return
    count = write_batches(examples, file, chosen)
    print_text(f"{file}: {count} examples of {named.name}")
