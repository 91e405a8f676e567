"""What scwlearn datasets does: lists, fetches, verifies, shows and exports data sets by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np
from rich.table import Table

from scwlearn.cli.app import CommandError
from scwlearn.cli.console import output, progress
from scwlearn.data.examples import Examples
from scwlearn.data.rows import Rows
from scwlearn.datasets import DataSet, NamedSet, all_sets, data_directory, find_set, is_there, load_set, select_sets
from scwlearn.datasets.fetch import FetchError, fetch
from scwlearn.datasets.load import state_of


def fetch_sets(names: Sequence[str], directory: Path | None, quiet: bool) -> None:
    """Get sets from their sources."""
    with _wrong_usage():
        chosen = select_sets(names)
    cache = data_directory(directory)
    failures = []
    with progress(sum(len(named.parts) for named in chosen), quiet, "fetching") as report:
        for named in chosen:
            try:
                fetch(named, cache, report)
            except FetchError as error:  # the others may well be had
                failures.append(str(error))
            else:
                report.note(f"{named.name}: {f'in {cache}' if named.parts else 'needs no files'}")
        if failures:
            raise CommandError("\n".join(failures))


def verify_sets(names: Sequence[str], directory: Path | None, quiet: bool) -> None:
    """Check the content of files."""
    where = data_directory(directory)
    with _wrong_usage():
        chosen = select_sets(names) if names else [named for named in all_sets() if is_there(named, where)]
    parts = {part.path: part for named in chosen for part in named.parts}
    out = output()
    bad = []
    with progress(len(parts), quiet, "verifying") as report:
        for path, part in parts.items():
            state = state_of(part, where)
            out.print(f"{path}: {state}", soft_wrap=True)
            report.advance(1.0, path)
            if state != "good":
                bad.append(path)
    if not parts:
        out.print(f"No files to check in {where}.", soft_wrap=True)
    if bad:
        raise CommandError(f"not as declared in {where}: {', '.join(bad)}; scwlearn datasets fetch gets them anew")


def show_set(name: str, directory: Path | None) -> None:
    """Print all that is declared of a set."""
    with _wrong_usage():
        named = find_set(name)
    out = output()
    for heading, text in _facts(named, data_directory(directory)):
        out.print(f"{heading + ':':<10} {text}", soft_wrap=True)


def export_set(name: str, file: Path, directory: Path | None, data_format: str | None) -> None:
    """Write a set to a file, in the format that is given or that its name says."""
    from scwlearn.data.io.detect import format_of_name
    from scwlearn.data.io.streams import STDIN
    from scwlearn.data.writing import write_examples

    with _wrong_usage():
        named = find_set(name)
    chosen = data_format or format_of_name(file.name)
    if chosen is None:
        raise click.UsageError(f"the name {file.name} says no format; --format does")
    examples = [_as_examples(load_set(named, directory))]
    if str(file) == STDIN:
        write_examples(examples, sys.stdout.buffer, chosen)
        return
    count = write_examples(examples, file, chosen)
    output().print(f"{file}: {count} examples of {named.name}", soft_wrap=True)


def _as_examples(data: DataSet) -> Examples:
    lines = np.arange(1, len(data.y) + 1)
    return Examples(x=Rows(data.x), labels=data.y.astype(np.int64), weights=None, lines=lines, source=data.name)


def list_sets(given: Path | None) -> None:
    """Print which sets there are, and which of them are here."""
    directory = data_directory(given)
    table = Table("name", "group", "rows x features", "state", "licence", box=None, pad_edge=False)
    missing = []
    for named in all_sets():
        state = "generated" if not named.parts else "there" if is_there(named, directory) else "missing"
        table.add_row(named.name, named.group, f"{named.rows} x {named.features}", state, named.licence)
        if state == "missing":
            missing.append(named)
    out = output()
    out.print(table)
    out.print(f"\nThe directory is {directory}.", soft_wrap=True)
    fetched = [named.name for named in missing if all(part.sources for part in named.parts)]
    by_hand = [named.name for named in missing if named.name not in fetched]
    if fetched:
        out.print(f"To get what is missing: scwlearn datasets fetch {' '.join(fetched)}", soft_wrap=True)
    if by_hand:
        out.print(f"To be made by hand, see scwlearn datasets show NAME: {' '.join(by_hand)}", soft_wrap=True)
    if missing:
        out.print("If the files are elsewhere: --data-dir DIRECTORY, or set SCWLEARN_DATA.", soft_wrap=True)


def _facts(named: NamedSet, directory: Path) -> Iterable[tuple[str, str]]:
    yield "name", named.name
    yield "title", named.title
    yield "group", named.group
    yield "size", f"{named.rows} rows x {named.features} features, {named.positives} rows of +1"
    if named.parts:
        negative = "the others" if named.negative is None else _numbers(named.negative)
        yield "labels", f"{_numbers(named.positive)} as +1, {negative} as -1"
    yield "form", named.form
    yield "kept as", "a matrix of float64" if named.dense else "a sparse matrix (CSR)"
    yield "order", "may be shuffled" if named.shuffle else "to be kept"
    yield "licence", named.licence
    yield "cite", named.cite
    for part in named.parts:
        here = "" if (directory / part.path).is_file() else " (missing)"
        yield "file", f"{directory / part.path}{here}"
        yield "content", f"sha256 {part.sha256}"
        for source in part.sources:
            for url in source.urls:
                yield "source", url
        if part.by_hand:
            yield "by hand", part.by_hand


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


@contextmanager
def _wrong_usage() -> Iterator[None]:
    """A name that is not there is not the data's fault."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from None
