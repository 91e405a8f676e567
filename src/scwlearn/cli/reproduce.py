"""scwlearn reproduce: the paper's tables and figures, run on all cores, resumed where they were left."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
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
    from scwlearn.datasets import DataSet
    from scwlearn.experiments.tables import Table

_EMBEDDED = ("synthetic", "synthetic-noise", "embedded")
_QUICK: dict[str, Any] = {"permutations": 3, "values": 3, "rows": 20_000}


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
    help="A Python file that declares rules of your own with @rule; they take part. Several may be given.",
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
@click.option("--quick", is_flag=True, help="3 permutations, 3 values a parameter, 20,000 rows a set: under a minute.")
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
    from scwlearn.experiments.reproduction import Reproduction, write_report
    from scwlearn.experiments.results import Results
    from scwlearn.experiments.study import Settings, cost_of_set, run_set
    from scwlearn.threads import allowed_threads

    for path in own:
        _declare_rules(path)
    rules = _chosen_rules(algorithms)
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
    page, _ = write_report(Reproduction(sets, rules, blocks, settings, remarks), directory, told.print)
    _show(directory, page, blocks)


def _declare_rules(path: Path) -> None:
    """Import a file of rules under the name that it has."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is not a Python file: its name must end in .py")
    if name in sys.modules:
        raise CommandError(f"{path}: there is a module {name} already; give the file another name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _chosen_rules(names: Sequence[str] | None) -> list[Rule]:
    if names is None or names == ["all"]:
        return all_rules() + all_variants()
    return [find_rule(name) for name in dict.fromkeys(names)]


def _load(
    names: Sequence[str] | None, given: Path | None, widest: int | None, told: Console
) -> tuple[list[DataSet], list[str]]:
    """The sets that are there, and remarks on those that are not."""
    from scwlearn.datasets import all_sets, data_directory, is_there, load_set, select_sets

    directory = data_directory(given)
    remarks: list[str] = []
    if names is None:
        of_paper = select_sets(["paper"])
        none_there = not any(named.parts and is_there(named, directory) for named in of_paper)
        names = _EMBEDDED if none_there else ("paper",)
        if none_there:
            missing = [named.name for named in of_paper if named.parts]
            remarks.append(_how_to_get(missing, directory))
    loaded = []
    for name in names:
        if name not in {named.name for named in all_sets()} and Path(name).is_file():
            loaded.append(_own_set(Path(name)))
            continue
        chosen = select_sets([name])
        missing = [named.name for named in chosen if not is_there(named, directory)]
        if missing and len(chosen) == 1:
            raise CommandError(_how_to_get(missing, directory))
        if missing:
            remarks.append(_how_to_get(missing, directory))
        for named in chosen:
            if widest is not None and named.features > widest:
                remarks.append(f"{named.name} has {named.features} features, too many for a full covariance: left out.")
            elif named.name not in missing:
                told.print(f"loading {named.name}")
                loaded.append(load_set(named, directory))
    if not loaded:
        raise CommandError("no data set is left to run on")
    return list({data.name: data for data in loaded}.values()), remarks


def _how_to_get(missing: Iterable[str], directory: Path) -> str:
    names = " ".join(missing)
    return (
        f"not in {directory}: {names.replace(' ', ', ')}. Get them with `scwlearn datasets fetch {names}`, or say "
        "where they are with --data-dir."
    )


def _own_set(path: Path) -> DataSet:
    """A LIBSVM file of the user's: two labels, of which the larger is +1."""
    import numpy as np

    from scwlearn.data.libsvm import load_libsvm
    from scwlearn.datasets import DataSet

    rows, labels = load_libsvm(path)
    values = np.unique(labels)
    if len(values) != 2:
        raise CommandError(f"{path} has {len(values)} different labels; a set for this comparison has two")
    return DataSet(path.stem, path.stem, rows, np.where(labels == values[1], 1, -1).astype(np.int8))


def _show(directory: Path, page: Path, blocks: Sequence[Sequence[Any]]) -> None:
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
    """A table for the terminal."""
    grid = Grid(title=table.title, title_justify="left")
    for column in table.columns:
        grid.add_column(column, justify="left" if table.is_words(column) else "right", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell.replace("**", ""), style="bold" if "**" in cell else "") for cell in row))
    return grid
