"""Find the best parameters on a grid in one pass."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.commands.train import shuffle_options, trained_model
from scwlearn.cli.console import columns, print_json, print_text
from scwlearn.cli.model_options import AlgorithmCommand, algorithm_options, model_options, model_settings, train_command
from scwlearn.cli.options import (
    OutputFile,
    check_outputs,
    choice_option,
    count_option,
    data_options,
    option,
    output_options,
    plot_option,
    section,
    usage_error,
    words,
)
from scwlearn.display.formatting import number_text, parameter_text, plural

if TYPE_CHECKING:
    from scwlearn.cli.input import Input
    from scwlearn.data.run_record import Baseline
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.tune import CellResult

# From the best to the worst.
_SHADES = "█▓▒░ "

_grid_options = section(
    "Grid",
    option(
        "--grid",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Values of a parameter, for the algorithms that have it; may be repeated.  [default: the paper's]",
    ),
    choice_option(
        "--metric",
        "error",
        "log-loss",
        text="What to minimise, measured before learning from each example; log-loss takes longer.",
    ),
)
_output_options = output_options(
    option("-m", "--model", type=OutputFile(), help="File to save the best model to, the same as that of train."),
    count_option("--top", default=10, text="Number of cells of the grid to show."),
    plot_option("Draw a map of the grid."),
    json="Print all cells as JSON.",
    quiet="Print only the best command, and no progress.",
)
_params = (
    data_options + algorithm_options(several=True) + model_options + _grid_options + shuffle_options + _output_options
)


@click.command(cls=AlgorithmCommand, params=_params)
def command(**given: Any) -> None:
    """Train a model for every combination of parameters in one pass over DATA, and print the best train command.

    DATA is the same as for train. The measure is the progressive error: how often an example is predicted wrongly
    before it is learned.
    """
    from scwlearn.cli.input import Input
    from scwlearn.data.shuffle import shuffled
    from scwlearn.runs.batches import learned_examples
    from scwlearn.runs.train import TrainingRun
    from scwlearn.runs.tune import ModelBatch, best_first
    from scwlearn.runs.warnings import training_warnings

    cells, metric = _cells(given), given["metric"]
    data = Input(given, cells[0])
    check_outputs({"-m": given["model"], "--plot": given["plot"]}, data.files)
    note = data.terminal.note
    # Keeping all models takes much longer than reading the data a second time for the best.
    keep = given["model"] is not None and data.is_pipe
    models = ModelBatch(cells, probabilities=metric == "log-loss", keep=keep)
    start = time.perf_counter()
    note(f"{plural(len(cells), 'model')} in one pass")
    with data.progress("tuning"):
        learned = learned_examples(data.examples(), cells[0])
        for examples in shuffled(learned, given["shuffle_buffer"], given["seed"]):
            models.learn(examples)
        results = models.finish()
    seconds = time.perf_counter() - start
    data.check_learned(results[0].counts.seen)
    ranked = best_first(results, metric)
    best = ranked[0]
    note(f"{plural(best.counts.seen, 'example')} in {seconds:.2f} s")
    data.report_skipped()
    counts = models.label_counts
    about = best.counts.seen, best.error, counts.labels, counts.baseline()
    settings = {**best.cell.settings, "shuffle_buffer": given["shuffle_buffer"]}
    data.terminal.warn(training_warnings(*about, settings, subject="the best model", sorted_labels=counts.looks_sorted))
    own = [each for each in ranked if each.rule == best.rule]
    for hint in _border_hints(own):
        note(hint)
    best_command = train_command(best.rule, best.parameters, *(["--probabilities"] if metric == "log-loss" else []))
    if given["as_json"]:
        print_json(_summary(ranked, metric, data, counts.baseline(), best_command, seconds))
    elif given["quiet"]:
        print_text(best_command)
    else:
        lines = heat_map(own, metric)
        blocks = [_table(ranked, given["top"]), *([lines] if lines else []), [f"best: {best_command}"]]
        print_text("\n\n".join("\n".join(block) for block in blocks))
    if given["model"] is not None:
        number = results.index(best)
        if models.trainings:
            run = models.trainings[number]
        else:
            run = TrainingRun(cells[number], shuffle_buffer=given["shuffle_buffer"], seed=given["seed"])
            run.run(lambda epoch: data.examples())
        trained_model(run, data, given).write(given["model"])
        note(f"model: {given['model']}")
    if given["plot"] is not None:
        from scwlearn.report.pictures import draw_grid

        draw_grid(results, metric, given["plot"])
        note(f"plot: {given['plot']}")


def _cells(given: dict[str, Any]) -> list[ModelConfig]:
    """Return the cells of the grid, or raise a usage error."""
    from scwlearn.runs.tune import grid_cells

    settings = model_settings(given)
    with usage_error("--grid"):
        values: dict[str, list[float]] = {}
        for text in given["grid"]:
            name, _, listed = text.partition("=")
            try:
                numbers = [float(word) for word in words(listed)]
            except ValueError:
                numbers = []
            if not numbers:
                raise ValueError(f"expected NAME=VALUE,... as in C=0.1,1,10, got {text!r}")
            values.setdefault(name.strip(), []).extend(numbers)
        cells = grid_cells(given["algorithm"], values, settings)
    with usage_error():
        for cell in cells:
            cell.classifier()
    return cells


def _border_hints(ranked: Sequence[CellResult]) -> Iterator[str]:
    """Warn if the best value of a parameter is the smallest or the largest of its grid."""
    from scwlearn.runs.tune import grid_axes

    for name, values in grid_axes(ranked).items():
        value = ranked[0].parameters[name]
        for end, word in ((values[0], "smallest"), (values[-1], "largest")):
            if value == end:
                yield f"the best {name}, {number_text(value)}, is the {word} of the grid; extend it: --grid {name}=..."


def _table(ranked: Sequence[CellResult], top: int) -> list[str]:
    """List the best cells, or the best cell of each algorithm if there are several."""
    by_rule: dict[str, CellResult] = {}
    for result in ranked:
        by_rule.setdefault(result.rule.name, result)
    shown = [*by_rule.values()] if len(by_rule) > 1 else ranked[:top]
    loss = [] if shown[0].log_loss is None else ["log-loss"]
    table = [["error", "mistakes", "updates", *loss, "algorithm and parameters"]]
    for each in shown:
        numbers = [f"{each.error:.2%}", str(each.counts.mistakes), str(each.counts.updates)]
        numbers += [] if each.log_loss is None else [f"{each.log_loss:.4f}"]
        table.append([*numbers, f"{each.rule.name} {parameter_text(each.parameters)}"])
    return columns(table, right=range(len(table[0]) - 1))


def heat_map(ranked: Sequence[CellResult], metric: str) -> list[str]:
    """Return the lines of a map over one or two parameters of an algorithm; none if more parameters vary."""
    from scwlearn.runs.tune import grid_axes

    axes = grid_axes(ranked)
    if not 1 <= len(axes) <= 2:
        return []
    down, *across = axes
    values = {tuple(each.parameters[name] for name in axes): each.value(metric) for each in ranked}
    best, ordered = next(iter(values)), sorted(values.values())
    columns = [(value,) for value in axes[across[0]]] if across else [()]
    titles = [number_text(value) for column in columns for value in column]
    labels = [number_text(value) for value in axes[down]]
    left, width = max(map(len, [down, *labels])), max([7, *map(len, titles)])
    lines = [f"{'error in %' if metric == 'error' else metric} (darker is better, * is the best)"]
    if across:
        lines.append(" " * (left + 1) + across[0].rjust(width))
    rows = [(down, titles)]
    for label, value in zip(labels, axes[down], strict=True):
        cells = []
        for column in columns:
            each = values[value, *column]
            text = f"{100 * each:.2f}" if metric == "error" else f"{each:.3f}"
            # Each shade covers a fifth of the cells, however far the others are from the best.
            shade = _SHADES[len(_SHADES) * bisect_left(ordered, each) // len(ordered)]
            cells.append(f"{text}{'*' if (value, *column) == best else ' '}{shade}")
        rows.append((label, cells))
    lines += [" ".join([label.rjust(left), *(cell.rjust(width) for cell in cells)]) for label, cells in rows]
    return [line.rstrip() for line in lines]


def _summary(
    ranked: Sequence[CellResult], metric: str, data: Input, baseline: Baseline | None, command: str, seconds: float
) -> dict[str, Any]:
    cells = [
        {
            "algorithm": each.rule.name,
            "parameters": dict(each.parameters),
            "error": each.error,
            "mistakes": each.counts.mistakes,
            "updates": each.counts.updates,
            **({} if each.log_loss is None else {"log_loss": each.log_loss}),
        }
        for each in ranked
    ]
    return {
        "command": command,
        "metric": metric,
        "sources": data.names,
        "seen": ranked[0].counts.seen,
        "skipped": data.skipped.count,
        "seconds": seconds,
        "baseline": baseline,
        "best": cells[0],
        "cells": cells,
    }
