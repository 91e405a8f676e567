"""Compare algorithms on the same data in several random orders."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.model_options import (
    SeveralCommand,
    algorithms_option,
    model_config,
    model_options,
    model_settings,
    rules_named,
    train_command,
)
from scwlearn.cli.options import DataOptions, count_option, data_options, option, section
from scwlearn.cli.output import PlotFile
from scwlearn.display.formatting import parameter_text, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scwlearn.cli.input import Input
    from scwlearn.data.batch import Batch
    from scwlearn.runs.compare import Standing

_run_options = section(
    "Run",
    count_option("-k", "--permutations", default=10, text="Number of random orders of the data."),
    count_option("--seed", default=0, low=0, text="Random seed."),
    option(
        "--tune",
        is_flag=True,
        help="First choose the parameters of each algorithm from the paper's grid, on a separate order.",
    ),
    count_option("--limit", text="Use only the first N examples."),
)
_output_options = section(
    "Output",
    option(
        "--plot",
        type=PlotFile(),
        metavar="FILE.svg|png",
        help="Draw the error of each algorithm in each order.",
    ),
    option("--json", "as_json", is_flag=True, help="Print all numbers as JSON."),
    option("-q", "--quiet", is_flag=True, help="Show no progress."),
)


@click.command(cls=SeveralCommand)
@data_options
@algorithms_option("all")
@model_options
@_run_options
@_output_options
def command(**given: Any) -> None:
    """Train algorithms on DATA in the same random orders, and test which of them differ from the best.

    DATA is read as by train and held in memory. The measure is the progressive error: how often an example is predicted
    wrongly before it is learned. The table shows its mean and standard deviation over the orders, and a paired t-test
    against the best.
    """
    from scwlearn.cli.input import Input
    from scwlearn.runs.compare import Comparison, standings

    options, terminal = DataOptions.take(given), Terminal(quiet=given["quiet"])
    rules, permutations = rules_named(given["algorithm"]), given["permutations"]
    for rule in rules:
        model_config(rule, rule.check({}), given)
    settings, data = model_settings(given), Input(options, terminal)
    examples = _read(data, given["limit"])
    data.report_skipped()
    comparison = Comparison(examples, rules, settings, given["seed"])
    sizes = {"example": len(examples), "algorithm": len(rules), "order": permutations}
    terminal.note(", ".join(plural(size, noun) for noun, size in sizes.items()))
    # Tuning counts as one order.
    with terminal.progress((permutations + given["tune"]) * len(rules), "comparing") as report:
        if given["tune"]:
            comparison.tune(report)
        found = standings(comparison.run(permutations, report))
    best = train_command(found[0].runs.rule, found[0].runs.parameters)
    if given["as_json"]:
        summary = {
            "command": best,
            "sources": [str(name) for name in data.names],
            "seen": len(examples),
            "skipped": data.skipped.count,
            "permutations": permutations,
            "seed": given["seed"],
            "tuned": given["tune"],
            "algorithms": [_summary(each) for each in found],
        }
        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        click.echo("\n".join([*_table(found), "", _note(found), f"best: {best}"]))
    if given["plot"] is not None:
        from scwlearn.report.comparison_picture import draw_comparison

        names = ", ".join(Path(name).name for name in data.names)
        draw_comparison(found, f"{names}, {plural(len(examples), 'example')}", given["plot"])
        terminal.note(f"plot: {given['plot']}")


def _read(data: Input, limit: int | None) -> Batch:
    from scwlearn.runs.compare import read_all

    try:
        with data.progress("reading"), closing(data.examples()) as batches:
            return read_all(batches, limit)
    except ValueError as error:
        raise ValueError(str(error).replace("(limit)", "(--limit N)")) from None


def _summary(each: Standing) -> dict[str, Any]:
    runs = each.runs
    return {
        "algorithm": runs.rule.name,
        "parameters": dict(runs.parameters),
        "error": runs.mean_error,
        "std": each.std,
        "rank": each.rank,
        "p": each.p,
        "as_good_as_best": each.as_good_as_best,
        "errors": runs.final_errors.tolist(),
        "updates": runs.final_updates.tolist(),
        "seconds": runs.seconds[:, -1].tolist(),
    }


def _table(found: Sequence[Standing]) -> list[str]:
    lines = [f"{'error':>9} {'± std':>8}{'rank':>7}{'p':>9}{'updates':>11}{'seconds':>10}  algorithm and parameters"]
    for each in found:
        runs = each.runs
        p = "" if each.p is None else f"{each.p:.4f}" if each.p >= 0.0001 else "<0.0001"
        std = f"{100 * each.std:.2f}" if len(runs.final_errors) > 1 else ""
        mark = "*" if each.as_good_as_best else " "
        lines.append(
            f"{mark}{runs.mean_error:8.2%} {std:>8}{each.rank:7.1f}{p:>9}{runs.final_updates.mean():11.1f}"
            f"{runs.median_seconds:10.4f}  {runs.rule.name} {parameter_text(runs.parameters)}".rstrip()
        )
    return lines


def _note(found: Sequence[Standing]) -> str:
    if len(found[0].runs.final_errors) < 2:
        return "* the best; a test needs more than one order (--permutations)"
    return "* the best, and all that a paired t-test at 95 % cannot distinguish from it (p: against the best)"
