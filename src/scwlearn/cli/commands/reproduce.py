"""Reproduce the paper's tables and figures."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.commands.datasets import how_to_get
from scwlearn.cli.console import Terminal, columns, print_text
from scwlearn.cli.options import Params, SectionCommand, choice_option, count_option, option, usage_error, words
from scwlearn.rules import Rule, all_rules, all_variants, find_rule

if TYPE_CHECKING:
    from scwlearn.datasets import DataSet, NamedSet
    from scwlearn.experiments.study import Blocks

# Data sets that need no files.
_GENERATED = ["synthetic", "synthetic-noise", "embedded"]
_QUICK: dict[str, Any] = {"permutations": 3, "values": 3, "rows": 10_000}


def _names(ctx: click.Context, parameter: click.Parameter, given: str | None) -> list[str] | None:
    return None if given is None else [name for word in words(given) if (name := word.strip())]


_params: Params = [
    option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="Directory of the data sets. Default: SCWLEARN_DATA, or the user's cache.",
    ),
    option(
        "--datasets",
        callback=_names,
        metavar="NAME,NAME...",
        help="Data sets, groups (paper, extra, embedded, all) or LIBSVM files. Default: those of the paper that are "
        "present, or else those that need no files.",
    ),
    option(
        "--algorithms",
        callback=_names,
        metavar="NAME,NAME...",
        help="Default: all, and LIBOL's variants of two of them.",
    ),
    option(
        "--rules",
        "own",
        multiple=True,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Python file that declares further rules with @rule; may be repeated. If the file changes, its runs are "
        "repeated; changes in modules that it imports are not noticed.",
    ),
    count_option("--permutations", text="Random orders of each data set. Default: 20."),
    count_option("--seed", default=0, low=0, text="Random seed of all orders."),
    choice_option(
        "--tuning",
        "libol",
        "cv",
        text="Choose parameters by online mistakes on one permutation, or by 5-fold cross-validation.",
    ),
    choice_option("--covariance", "full", "diagonal", text="Covariance of the second-order algorithms."),
    option(
        "--quick", is_flag=True, help="3 permutations, 3 values of each parameter, at most 10,000 rows: under a minute."
    ),
    count_option("--workers", text="Concurrent runs. Default: the number of cores."),
    option(
        "--output",
        "directory",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("reproduction"),
        show_default=True,
        help="Directory for results, tables, figures and the report; results that it holds already are reused.",
    ),
    option("--quiet", "-q", is_flag=True, help="Show no progress."),
]


@click.command(cls=SectionCommand, params=_params)
def command(**given: Any) -> None:
    """Reproduce the paper's tables and figures, on its data sets or on others.

    After Ctrl-C or a crash, the same command resumes.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise click.ClickException('the figures need Matplotlib: pip install "scwlearn[paper]"')
    from scwlearn.experiments.reproduction import write_report
    from scwlearn.experiments.study import StudySettings, run_data_set, study_cost
    from scwlearn.runs.results import Results

    terminal, directory = Terminal(quiet=given["quiet"]), given["directory"]
    rules = _chosen_rules(given["algorithms"], [rule for path in given["own"] for rule in _rules_in(path)])
    settings = {name: given[name] for name in ("seed", "tuning", "covariance")} | (_QUICK if given["quick"] else {})
    if given["permutations"] is not None:
        settings["permutations"] = given["permutations"]
    study = StudySettings(**settings)
    sets, remarks = _load(given["datasets"], given["data_dir"], study.max_features, terminal.note)
    for remark in remarks:
        terminal.note(remark)
    directory.mkdir(parents=True, exist_ok=True)
    cost = sum(study_cost(data, rules, study) for data in sets)
    with Results(directory / "results.jsonl") as results:
        before = len(results)
        try:
            with terminal.progress(cost, "reproduce") as report:
                how: dict[str, Any] = {"workers": given["workers"], "report": report}
                blocks = [run_data_set(data, rules, study, results, **how) for data in sets]
        except KeyboardInterrupt:
            terminal.note(f"stopped: {len(results) - before} new runs are in {results.path}; the same command resumes")
            raise
    terminal.note("drawing and writing the report")
    page = write_report(directory, sets, rules, blocks, study, remarks)
    _print_tables(page, blocks)


def _rules_in(path: Path) -> list[Rule]:
    """Import a file as a module of its name and return the rules that it declares."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.ClickException(f"{path} is not a Python file: its name must end in .py")
    if name in sys.modules:
        raise click.ClickException(f"{path}: a module {name} exists already; rename the file")
    before = {rule.name for rule in all_rules()}
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ValueError as error:
        raise click.ClickException(f"{path}: {error}") from error
    return [rule for rule in all_rules() if rule.name not in before]


def _chosen_rules(names: Sequence[str] | None, own: Sequence[Rule]) -> list[Rule]:
    """Return the named rules, and those of the user in any case."""
    if names is None or names == ["all"]:
        return all_rules() + all_variants()
    with usage_error("--algorithms"):
        chosen = [find_rule(name) for name in names]
    if not chosen:
        raise click.BadParameter("expected at least one name", param_hint="--algorithms")
    return list({rule.name: rule for rule in [*chosen, *own]}.values())


def _load(
    names: Sequence[str] | None, given: Path | None, max_features: int | None, say: Callable[[str], None]
) -> tuple[list[DataSet], list[str]]:
    """Load the data sets that are present; return them with remarks on the others."""
    from scwlearn.datasets import all_sets, data_directory, is_present, load_set, select_sets

    directory = data_directory(given)
    remarks: list[str] = []
    if names is None:
        with_files = [named for named in select_sets(["paper"]) if named.files]
        names = ["paper"]
        if not any(is_present(named, directory) for named in with_files):
            names = _GENERATED
            remarks.append(_remark(with_files, directory))
    known = {named.name for named in all_sets()}
    paths = [name for name in names if name not in known and Path(name).is_file()]
    own = [_user_set(Path(path), known, max_features) for path in paths]
    with usage_error("--datasets"):
        chosen = select_sets([name for name in names if name not in paths])
    missing = [named for named in chosen if not is_present(named, directory)]
    if requested := [named for named in missing if named.name in names]:
        raise click.ClickException(_remark(requested, directory))
    if missing:
        remarks.append(_remark(missing, directory))
    loaded = []
    for named in chosen:
        if max_features is not None and named.features > max_features:
            remarks.append(f"{named.name} has {named.features} features, too many for a full covariance: skipped.")
        elif named not in missing:
            say(f"loading {named.name}")
            loaded.append(load_set(named, directory))
    sets = {data.name: data for data in [*loaded, *own]}
    if len(sets) < len(loaded) + len(own):
        raise click.ClickException("two files have the same name; rename one of them")
    if not sets:
        raise click.ClickException(" ".join(["no data set to run on.", *remarks]))
    return list(sets.values()), remarks


def _remark(missing: Sequence[NamedSet], directory: Path) -> str:
    names = ", ".join(named.name for named in missing)
    return " ".join([f"not in {directory}: {names}.", *how_to_get(missing)])


def _user_set(path: Path, taken: Container[str], max_features: int | None) -> DataSet:
    """Load a LIBSVM file with two labels, of which the larger becomes +1."""
    import numpy as np

    from scwlearn.data.formats.libsvm import load_libsvm
    from scwlearn.datasets import DataSet

    rows, labels = load_libsvm(path)
    values = np.unique(labels)
    if len(values) != 2:
        raise click.ClickException(f"{path} has {len(values)} distinct labels; this comparison needs two")
    if max_features is not None and rows.shape[1] > max_features:
        raise click.ClickException(
            f"{path} has {rows.shape[1]} features, too many for a full covariance; use --covariance diagonal"
        )
    # The name is used in the file names of figures.
    name = re.sub(r"[^A-Za-z0-9._-]", "_", path.stem)
    if name in taken:
        raise click.ClickException(f"{path}: {name} is the name of a built-in data set; rename the file")
    return DataSet(name, name, rows, np.where(labels == values[1], 1, -1).astype(np.int8))


def _print_tables(page: Path, blocks: Blocks) -> None:
    from scwlearn.experiments.paper import agreement_table, comparisons
    from scwlearn.experiments.tables import results_table

    tables = [results_table(block) for block in blocks]
    if comparisons(blocks):
        tables.append(agreement_table(blocks))
    for table in tables:
        numbers = {place for place, title in enumerate(table.columns) if not table.is_text(title)}
        rows = [[_starred(cell, place in numbers) for place, cell in enumerate(row)] for row in table.rows]
        print_text("\n".join([table.title, *columns([table.columns, *rows], right=numbers), ""]))
    print_text("* as good as the best algorithm (paired t-test, 95 %)\n")
    print_text(f"The report, with figures: {page.resolve()}")


def _starred(cell: str, is_number: bool) -> str:
    """Return a cell of the report as plain text: a bold number gets a star."""
    return re.sub(r"^\*\*(.*)\*\*$", r"* \1" if is_number else r"\1", cell)
