"""Compare algorithms on the same data in several random orders."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import columns, print_json, print_text
from scwlearn.cli.model_options import AlgorithmCommand, algorithm_options, model_config, model_options, train_command
from scwlearn.cli.options import check_outputs, count_option, data_options, option, output_options, plot_option, section
from scwlearn.display.formatting import parameter_text, plural

if TYPE_CHECKING:
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
_output_options = output_options(
    plot_option("Draw the error of each algorithm in each order."),
    json="Print all numbers as JSON.",
    quiet="Show no progress.",
)
_params = data_options + algorithm_options("all", several=True) + model_options + _run_options + _output_options


@click.command(cls=AlgorithmCommand, params=_params)
def command(**given: Any) -> None:
    """Train algorithms on DATA in the same random orders, and test which of them differ from the best.

    DATA is the same as for train, and is held in memory. The measure is the progressive error: how often an example is
    predicted wrongly before it is learned. The table shows its mean and standard deviation over the orders, and a
    paired t-test against the best.
    """
    from scwlearn.cli.input import Input
    from scwlearn.runs.batches import learned_examples, training_labels
    from scwlearn.runs.compare import compare, read_all, standings
    from scwlearn.runs.metrics import LabelCounts
    from scwlearn.runs.warnings import training_warnings

    configs = [model_config(rule, {}, given) for rule in given["algorithm"]]
    data, permutations = Input(given, configs[0]), given["permutations"]
    check_outputs({"--plot": given["plot"]}, data.files)
    with data.progress("reading"), closing(data.examples()) as batches:
        learned = [*learned_examples([read_all(batches, given["limit"])], configs[0])]
    data.report_skipped()
    data.check_learned(len(learned))
    (examples,) = learned
    sizes = {"example": len(examples), "algorithm": len(configs), "order": permutations}
    data.terminal.note(", ".join(plural(size, noun) for noun, size in sizes.items()))
    how = {name: given[name] for name in ("permutations", "seed", "tune")}
    # Tuning counts as one order.
    with data.terminal.progress((permutations + given["tune"]) * len(configs), "comparing") as report:
        found = standings(compare(examples, configs, report, **how))
    counts = LabelCounts()
    counts.update(training_labels(examples), examples.weights)
    about = len(examples), found[0].runs.mean_error, counts.labels, counts.baseline()
    data.terminal.warn(training_warnings(*about, configs[0].settings, subject="the best algorithm", shuffled=True))
    if given["limit"] is not None and counts.looks_sorted:
        text = "labels come in long runs, as in a sorted file: the first examples may not be like the rest"
        data.terminal.warn([f"{text}; shuffle the file, or drop --limit"])
    best = train_command(found[0].runs.rule, found[0].runs.parameters)
    if given["as_json"]:
        summary = {
            "command": best,
            "sources": data.names,
            "seen": len(examples),
            "skipped": data.skipped.count,
            "permutations": permutations,
            "seed": given["seed"],
            "tuned": given["tune"],
            "baseline": counts.baseline(),
            "algorithms": [_summary(each) for each in found],
        }
        print_json(summary)
    else:
        print_text("\n".join([*_table(found), "", _note(found), f"best: {best}"]))
    if given["plot"] is not None:
        from scwlearn.report.pictures import draw_comparison

        names = ", ".join(Path(name).name for name in data.names)
        draw_comparison(found, f"{names}, {plural(len(examples), 'example')}", given["plot"])
        data.terminal.note(f"plot: {given['plot']}")


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
    table = [["  error", "± std", "rank", "p", "updates", "seconds", "algorithm and parameters"]]
    for each in found:
        runs = each.runs
        numbers = [
            f"{'*' if each.as_good_as_best else ' '}{runs.mean_error:7.2%}",
            f"{100 * each.std:.2f}" if len(runs.final_errors) > 1 else "",
            f"{each.rank:.1f}",
            "" if each.p is None else f"{each.p:.4f}" if each.p >= 0.0001 else "<0.0001",
            f"{runs.final_updates.mean():.1f}",
            f"{runs.median_seconds:.4f}",
        ]
        table.append([*numbers, f"{runs.rule.name} {parameter_text(runs.parameters)}"])
    return columns(table, right=range(6))


def _note(found: Sequence[Standing]) -> str:
    if len(found[0].runs.final_errors) < 2:
        return "* the best; a test needs more than one order (--permutations)"
    return "* the best, and all that a paired t-test at 95 % cannot distinguish from it (p: against the best)"
