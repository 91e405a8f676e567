"""Reproduce the paper's tables and figures."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from scwlearn.cli.app import CommandError
from scwlearn.cli.console import output, progress
from scwlearn.rules import Rule, all_rules, all_variants, find_rule

if TYPE_CHECKING:
    from scwlearn.datasets import DataSet, NamedSet
    from scwlearn.experiments.tables import Table

_EMBEDDED = ("synthetic", "synthetic-noise", "embedded")
_QUICK: dict[str, Any] = {"permutations": 3, "values": 3, "rows": 10_000}


def _words(ctx: click.Context, parameter: click.Parameter, given: str | None) -> list[str] | None:
    """What commas separate."""
    return None if given is None else [word.strip() for word in given.split(",") if word.strip()]


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the data sets are. Default: SCWLEARN_DATA, or the cache that `scwlearn datasets fetch` fills.",
)
@click.option(
    "--datasets",
    callback=_words,
    metavar="NAME,NAME...",
    help="Names, groups (paper, extra, embedded, all) or LIBSVM files of your own. Default: the paper's that are "
    "there; where none is, those that need no files.",
)
@click.option(
    "--algorithms",
    callback=_words,
    metavar="NAME,NAME...",
    help="Default: all, and what LIBOL computes in the place of two of them.",
)
@click.option(
    "--rules",
    "own",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A Python file that declares rules of your own with @rule; they take part. Several may be given. When the "
    "file changes its runs are made again; what it imports is not watched.",
)
@click.option("--permutations", type=click.IntRange(min=1), help="Random orders of each set. Default: 20.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="What all orders follow from.")
@click.option(
    "--tuning",
    type=click.Choice(["libol", "cv"]),
    default="libol",
    show_default=True,
    help="Parameters by online mistakes over one permutation, or by 5-fold cross-validation.",
)
@click.option(
    "--covariance",
    type=click.Choice(["full", "diagonal"]),
    default="full",
    show_default=True,
    help="What the second-order algorithms keep.",
)
@click.option("--quick", is_flag=True, help="3 permutations, 3 values a parameter, 10,000 rows a set: under a minute.")
@click.option("--workers", type=click.IntRange(min=1), help="Runs at a time. Default: as many as there are cores.")
@click.option(
    "--output",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduction"),
    show_default=True,
    help="Where results, tables, figures and the report go; runs that are there already are not made again.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(
    data_dir: Path | None,
    datasets: list[str] | None,
    algorithms: list[str] | None,
    own: tuple[Path, ...],
    permutations: int | None,
    seed: int,
    tuning: str,
    covariance: str,
    quick: bool,
    workers: int | None,
    directory: Path,
    quiet: bool,
) -> None:
    """The paper's tables and figures, on its data or what is there of them.

    Stopped with Ctrl-C or by a crash, the same command goes on where it was.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError('drawing needs matplotlib: pip install "scwlearn[paper]"')
    from scwlearn._util.threads import allowed_threads
    from scwlearn.experiments.reproduction import Reproduction, write_report
    from scwlearn.experiments.results import Results
    from scwlearn.experiments.study import Settings, cost_of_set, run_set

    rules = _chosen_rules(algorithms, [rule for path in own for rule in _declared_in(path)])
    how = _QUICK if quick else {}
    if permutations is not None:
        how = how | {"permutations": permutations}
    settings = Settings(seed=seed, tuning=tuning, covariance=covariance, **how)
    told = Console(file=sys.stderr, markup=False, highlight=False, quiet=quiet, soft_wrap=True)
    sets, remarks = _load(datasets, data_dir, settings.widest, told)
    for remark in remarks:
        told.print(remark)
    directory.mkdir(parents=True, exist_ok=True)
    cost = sum(cost_of_set(data, rules, settings) for data in sets)
    with Results(directory / "results.jsonl") as results:
        before = len(results)
        try:
            with progress(cost, quiet, "reproduce") as report:
                blocks = [
                    run_set(data, rules, settings, results, workers=workers or allowed_threads(), report=report)
                    for data in sets
                ]
        except KeyboardInterrupt:
            made = len(results) - before
            told.print(
                f"stopped: {made} runs were made and kept in {results.path}; the same command goes on from there"
            )
            raise
    page = write_report(Reproduction(sets, rules, blocks, settings, remarks), directory, told.print)
    _show(page, blocks)


def _declared_in(path: Path) -> list[Rule]:
    """Import a file of rules under the name that it has; the rules that it declares."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is not a Python file: its name must end in .py")
    if name in sys.modules:
        raise CommandError(f"{path}: there is a module {name} already; give the file another name")
    before = {rule.name for rule in all_rules()}
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    return [rule for rule in all_rules() if rule.name not in before]


def _chosen_rules(names: Sequence[str] | None, own: Sequence[Rule]) -> list[Rule]:
    """Those named, and those of one's own in any case."""
    if names is None or names == ["all"]:
        return all_rules() + all_variants()
    try:
        chosen = [find_rule(name) for name in names]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithms") from None
    if not chosen:
        raise click.BadParameter("no algorithm is named", param_hint="--algorithms")
    return list({rule.name: rule for rule in [*chosen, *own]}.values())


def _load(
    names: Sequence[str] | None, given: Path | None, widest: int | None, told: Console
) -> tuple[list[DataSet], list[str]]:
    """The sets that are there, and remarks on those that are not."""
    from scwlearn.datasets import all_sets, data_directory, is_there, load_set, select_sets

    directory = data_directory(given)
    remarks: list[str] = []
    none_there = False
    if names is None:
        of_paper = select_sets(["paper"])
        none_there = not any(named.parts and is_there(named, directory) for named in of_paper)
        names = _EMBEDDED if none_there else ("paper",)
        if none_there:
            remarks.append(_how_to_get([named for named in of_paper if named.parts], directory))
    known = {named.name for named in all_sets()}
    own = [_own_set(Path(name), known, widest) for name in names if name not in known and Path(name).is_file()]
    try:
        chosen = select_sets([name for name in names if name in known or not Path(name).is_file()])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--datasets") from None
    missing = [named for named in chosen if not is_there(named, directory)]
    if named_and_missing := [named for named in missing if named.name in names]:
        raise CommandError(_how_to_get(named_and_missing, directory))
    if missing and not none_there:
        remarks.append(_how_to_get(missing, directory))
    loaded = []
    for named in chosen:
        if widest is not None and named.features > widest:
            remarks.append(f"{named.name} has {named.features} features, too many for a full covariance: left out.")
        elif named not in missing:
            told.print(f"loading {named.name}")
            loaded.append(load_set(named, directory))
    sets = {data.name: data for data in [*loaded, *own]}
    if len(sets) < len(loaded) + len(own):
        raise CommandError("two of the files have the same name; give one of them another")
    if not sets:
        raise CommandError(" ".join(["no data set is left to run on.", *remarks]))
    return list(sets.values()), remarks


def _how_to_get(missing: Sequence[NamedSet], directory: Path) -> str:
    by_hand = [named.name for named in missing if any(part.by_hand for part in named.parts)]
    to_fetch = [named.name for named in missing if named.name not in by_hand]
    text = f"not in {directory}: {', '.join(named.name for named in missing)}."
    if to_fetch:
        text += f" Get them with `scwlearn datasets fetch {' '.join(to_fetch)}`, or say where they are with --data-dir."
    for name in by_hand:
        text += f" `scwlearn datasets show {name}` says where to get it by hand."
    return text


def _own_set(path: Path, taken: Container[str], widest: int | None) -> DataSet:
    """A LIBSVM file of the user's: two labels, of which the larger is +1."""
    import numpy as np

    from scwlearn.data.libsvm import load_libsvm
    from scwlearn.datasets import DataSet

    rows, labels = load_libsvm(path)
    values = np.unique(labels)
    if len(values) != 2:
        raise CommandError(f"{path} has {len(values)} different labels; a set for this comparison has two")
    if widest is not None and rows.shape[1] > widest:
        raise CommandError(
            f"{path} has {rows.shape[1]} features, too many for a full covariance: --covariance diagonal"
        )
    # The name of figures' files.
    name = re.sub(r"[^A-Za-z0-9._-]", "_", path.stem)
    if name in taken:
        raise CommandError(f"{path}: {name} is the name of a data set that is known; give the file another")
    return DataSet(name, name, rows, np.where(labels == values[1], 1, -1).astype(np.int8))


def _show(page: Path, blocks: Sequence[Sequence[Any]]) -> None:
    """The tables that one wants to see at once."""
    from scwlearn.experiments.agreement import agreement, comparisons
    from scwlearn.experiments.table3 import table3

    out = output()
    for block in blocks:
        out.print(_grid(table3(block)))
    if comparisons(blocks):
        out.print(_grid(agreement(blocks)))
    out.print(f"The report, with figures: {page.resolve()}", soft_wrap=True)


def _grid(table: Table) -> Grid:
    """A table for the terminal; numbers in bold have a star, for those that have no bold."""
    grid = Grid(title=table.title, title_justify="left")
    for column in table.columns:
        grid.add_column(column, justify="left" if table.is_words(column) else "right", overflow="fold")
    for row in table.rows:
        grid.add_row(
            *(_cell(cell, star=not table.is_words(name)) for name, cell in zip(table.columns, row, strict=True))
        )
    return grid


def _cell(text: str, *, star: bool) -> Text:
    plain = text.removeprefix("**").removesuffix("**")
    return Text(text) if plain == text else Text(f"* {plain}" if star else plain, style="bold")
