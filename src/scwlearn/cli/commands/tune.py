"""Find the best parameters on a grid in one pass."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.commands.train import shuffle_options
from scwlearn.cli.console import Terminal
from scwlearn.cli.messages import SORTED_LABELS
from scwlearn.cli.model_options import (
    DEFAULT_ALGORITHM,
    SeveralCommand,
    algorithms_option,
    model_config,
    model_options,
    rules_named,
    train_command,
)
from scwlearn.cli.options import DataOptions, count_option, data_options, option, section, usage_error, words
from scwlearn.cli.output import OutputFile, PlotFile, check_outputs, invocation
from scwlearn.display.formatting import number_text, parameter_text, plural

if TYPE_CHECKING:
    from scwlearn.data.batch import Batch
    from scwlearn.runs.tune import CellResult

_grid_options = section(
    "Grid",
    option(
        "--grid",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Values of a parameter, for the algorithms that have it; may be repeated. [default: the paper's]",
    ),
    option(
        "--metric",
        type=click.Choice(("error", "log-loss")),
        default="error",
        show_default=True,
        help="What to minimise, measured before learning from each example; log-loss takes longer.",
    ),
)
_output_options = section(
    "Output",
    option("-m", "--model", type=OutputFile(), help="Save the best model, as train would make it."),
    count_option("--top", default=10, text="Cells to show."),
    option("--plot", type=PlotFile(), metavar="FILE.svg|png", help="Draw a map of the grid."),
    option("--json", "as_json", is_flag=True, help="Print all cells as JSON."),
    option("-q", "--quiet", is_flag=True, help="Print only the best command, and no progress."),
)


@click.command(cls=SeveralCommand)
@data_options
@algorithms_option(DEFAULT_ALGORITHM)
@model_options
@_grid_options
@shuffle_options
@_output_options
def command(**given: Any) -> None:
    """Train a model on DATA for every combination of parameters, in one pass, and print the best train command.

    DATA is read as by train. The measure is the progressive error: how often an example is predicted wrongly before it
    is learned.
    """
    _TuneRun(DataOptions.take(given), given).run()


class _TuneRun:
    """One run of the command."""

    def __init__(self, options: DataOptions, given: dict[str, Any]) -> None:
        from scwlearn.cli.input import Input
        from scwlearn.runs.tune import ModelBatch, grid_cells

        self._given, self._metric = given, given["metric"]
        self._terminal, self._invocation = Terminal(quiet=given["quiet"]), invocation()
        rules = rules_named(given["algorithm"])
        with usage_error("--grid"):
            self._cells = grid_cells(rules, _grid_values(given["grid"]))
        self._data = Input(options, self._terminal)
        check_outputs({"-m": given["model"], "--plot": given["plot"]}, self._data.names)
        self._configs = [model_config(cell.rule, cell.parameters, given) for cell in self._cells]
        # Keeping all models takes much longer than reading the data a second time for the best.
        keep = given["model"] is not None and self._data.is_pipe
        self._models = ModelBatch(self._configs, probabilities=self._metric == "log-loss", keep=keep)

    def run(self) -> None:
        """Train all models and report the best."""
        from scwlearn.runs.labels import LabelOrder, training_labels
        from scwlearn.runs.tune import CellResult, best_first

        start, order = time.perf_counter(), LabelOrder()
        self._terminal.note(f"{plural(len(self._cells), 'model')} in one pass")
        with self._data.progress("tuning"):
            for examples in self._examples():
                self._models.learn(examples)
                order.update(training_labels(examples))
            self._models.finish()
        seconds = time.perf_counter() - start
        results = [
            CellResult(*each) for each in zip(self._cells, self._models.counts, self._models.log_losses, strict=True)
        ]
        if not results[0].counts.seen:
            raise ValueError(f"{', '.join(map(str, self._data.names))}: no example to learn from")
        best = best_first(results, self._metric)
        self._terminal.note(f"{plural(best[0].counts.seen, 'example')} in {seconds:.2f} s")
        self._data.report_skipped()
        if order.looks_sorted:
            self._terminal.note(f"warning: {SORTED_LABELS}: the errors may not carry over to other orders")
            self._terminal.note("use --shuffle-buffer N to shuffle them")
        for hint in _border_hints(best):
            self._terminal.note(hint)
        more = ["--probabilities"] if self._metric == "log-loss" else []
        self._print(best, train_command(best[0].rule, best[0].parameters, *more), seconds)
        if self._given["model"] is not None:
            self._save(results.index(best[0]))
        if self._given["plot"] is not None:
            from scwlearn.report.grid_picture import draw_grid

            draw_grid(results, self._metric, self._given["plot"])
            self._terminal.note(f"plot: {self._given['plot']}")

    def _examples(self) -> Iterator[Batch]:
        return self._data.examples(self._given["shuffle_buffer"], self._given["seed"])

    def _print(self, best: Sequence[CellResult], command: str, seconds: float) -> None:
        if self._given["as_json"]:
            click.echo(json.dumps(self._summary(best, command, seconds), ensure_ascii=False))
        elif self._given["quiet"]:
            click.echo(command)
        else:
            from scwlearn.cli.heat_map import heat_map

            lines = heat_map([each for each in best if each.rule == best[0].rule], self._metric)
            click.echo("\n".join([*self._table(best), "", *lines, *([""] if lines else []), f"best: {command}"]))

    def _table(self, best: Sequence[CellResult]) -> list[str]:
        """List the best cells, or the best cell of each algorithm if there are several."""
        by_rule: dict[str, CellResult] = {}
        for result in best:
            by_rule.setdefault(result.rule.name, result)
        shown = [*by_rule.values()] if len(by_rule) > 1 else best[: self._given["top"]]
        with_loss = shown[0].log_loss is not None
        head = f"{'error':>8}{'mistakes':>10}{'updates':>10}" + ("  log-loss" if with_loss else "")
        lines = [f"{head}  algorithm and parameters"]
        for each in shown:
            loss = f"{each.log_loss:10.4f}" if with_loss else ""
            counts = f"{each.error:8.2%}{each.counts.mistakes:10}{each.counts.updates:10}"
            lines.append(f"{counts}{loss}  {each.rule.name} {parameter_text(each.parameters)}".rstrip())
        return lines

    def _summary(self, best: Sequence[CellResult], command: str, seconds: float) -> dict[str, Any]:
        cells = [
            {
                "algorithm": each.rule.name,
                "parameters": dict(each.parameters),
                "error": each.error,
                "mistakes": each.counts.mistakes,
                "updates": each.counts.updates,
                **({} if each.log_loss is None else {"log_loss": each.log_loss}),
            }
            for each in best
        ]
        return {
            "command": command,
            "metric": self._metric,
            "sources": [str(name) for name in self._data.names],
            "seen": best[0].counts.seen,
            "skipped": self._data.skipped.count,
            "seconds": seconds,
            "best": cells[0],
            "cells": cells,
        }

    def _save(self, number: int) -> None:
        from scwlearn.runs.train import TrainingRun
        from scwlearn.runs.trained_model import TrainedModel

        if self._models.trainings:
            training = self._models.trainings[number]
        else:
            training = TrainingRun(self._configs[number])
            training.run(lambda epoch: self._examples())
        schema = self._data.schema
        record = training.record(
            schema,
            **self._invocation,
            sources=self._data.names,
            skipped=self._data.skipped.count,
            settings={name: self._given[name] for name in ("seed", "shuffle_buffer")},
        )
        TrainedModel(training.classifier, schema, record).write(self._given["model"])
        self._terminal.note(f"model: {self._given['model']}")


def _border_hints(best: Sequence[CellResult]) -> Iterator[str]:
    """Warn if the best value of a parameter is the smallest or the largest of its grid."""
    from scwlearn.runs.tune import grid_axes

    for name, values in grid_axes([each for each in best if each.rule == best[0].rule]).items():
        value = best[0].parameters[name]
        for end, word in ((values[0], "smallest"), (values[-1], "largest")):
            if value == end:
                yield f"the best {name}, {number_text(value)}, is the {word} of the grid; extend it: --grid {name}=..."


def _grid_values(grids: Sequence[str]) -> dict[str, list[float]]:
    """Parse NAME=VALUE,... options; the values of a repeated name are joined."""
    values: dict[str, list[float]] = {}
    for text in grids:
        name, _, listed = text.partition("=")
        try:
            numbers = [float(word) for word in words(listed)]
        except ValueError:
            numbers = []
        if not numbers:
            raise ValueError(f"expected NAME=VALUE,... as in C=0.1,1,10, got {text!r}")
        values.setdefault(name.strip(), []).extend(numbers)
    return values
