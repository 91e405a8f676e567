"""A run of scwlearn tune: what it reads, what it says, what it writes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.heat_map import heat_map
from scwlearn.cli.input import Input
from scwlearn.cli.messages import SORTED_LABELS, number_text, plural
from scwlearn.cli.model_options import model_config, rules_named, train_command
from scwlearn.cli.options import DataOptions, words
from scwlearn.cli.output import check_outputs, invocation
from scwlearn.cli.plots import checked_plot
from scwlearn.runs.grids import Outcome, axes_of, best_first, cells_of
from scwlearn.runs.labels import LabelOrder, training_labels
from scwlearn.runs.side_by_side import SideBySide
from scwlearn.runs.train import RunInfo, TrainingRun
from scwlearn.runs.trained_model import TrainedModel

if TYPE_CHECKING:
    from scwlearn.data.examples import Examples


class TuningRun:
    """One run of the command."""

    def __init__(self, data: DataOptions, given: dict[str, Any]) -> None:
        self._given, self._terminal = given, Terminal(quiet=given["quiet"])
        self._metric: str = given["metric"]
        self._path: Path | None = given["model"]
        self._plot: Path | None = checked_plot(given["plot"])
        self._made = invocation()
        self._rules = rules_named(given["algorithm"])
        try:
            self._cells = cells_of(self._rules, _values_of(given["grid"]))
        except (TypeError, ValueError) as error:
            raise click.BadParameter(str(error), param_hint="--grid") from None
        self._data = Input(data, self._terminal)
        check_outputs({"-m": self._path, "--plot": self._plot}, self._data.names)
        self._choices = [model_config(cell.rule, cell.parameters, given) for cell in self._cells]
        # Models that are kept take much longer than to read the data once more for the best.
        keep = self._path is not None and self._data.is_pipe
        self._models = SideBySide(self._choices, probabilities=self._metric == "log-loss", keep=keep)

    def go(self) -> None:
        """Learn, and say what is the best."""
        start = time.perf_counter()
        order = LabelOrder()
        self._say(f"{plural(len(self._cells), 'model')} in one pass")
        with self._data.progress("tuning"):
            for examples in self._examples():
                self._models.learn(examples)
                order.update(training_labels(examples))
            self._models.finish()
        seconds = time.perf_counter() - start
        outcomes = [
            Outcome(*each) for each in zip(self._cells, self._models.counts, self._models.log_losses, strict=True)
        ]
        if not outcomes[0].counts.seen:
            raise ValueError(f"{', '.join(map(str, self._data.names))}: no example to learn from")
        best = best_first(outcomes, self._metric)
        self._say(f"{plural(best[0].counts.seen, 'example')} in {seconds:.2f} s")
        self._data.report_skipped()
        if order.looks_sorted:
            self._say(f"{SORTED_LABELS}: errors in that order say little about others")
            self._say("--shuffle-buffer N mixes them")
        for hint in _at_the_border(best):
            self._say(hint)
        more = ["--probabilities"] if self._metric == "log-loss" else []
        command = train_command(best[0].cell.rule, best[0].cell.parameters, *more)
        self._print(best, command, seconds)
        if self._path is not None:
            self._save(outcomes.index(best[0]), self._path)
        if self._plot is not None:
            from scwlearn.cli.grid_picture import draw_grid

            draw_grid(outcomes, self._metric, self._plot)
            self._say(f"plot: {self._plot}")

    def _examples(self) -> Iterator[Examples]:
        return self._data.examples(self._given["shuffle_buffer"], self._given["seed"])

    def _print(self, best: Sequence[Outcome], command: str, seconds: float) -> None:
        if self._given["as_json"]:
            click.echo(json.dumps(self._summary(best, command, seconds), ensure_ascii=False))
        elif self._given["quiet"]:
            click.echo(command)
        else:
            click.echo("\n".join([*self._table(best), "", *self._map(best), f"best: {command}"]))

    def _table(self, best: Sequence[Outcome]) -> list[str]:
        """The best cells, of several algorithms the best of each."""
        by_rule: dict[str, Outcome] = {}
        for outcome in best:
            by_rule.setdefault(outcome.cell.rule.name, outcome)
        shown = [*by_rule.values()] if len(by_rule) > 1 else best[: self._given["top"]]
        with_loss = shown[0].log_loss is not None
        head = f"{'error':>8}{'mistakes':>10}{'updates':>10}" + ("  log-loss" if with_loss else "")
        lines = [f"{head}  algorithm and parameters"]
        for each in shown:
            loss = f"{each.log_loss:10.4f}" if with_loss else ""
            counts = f"{each.error:8.2%}{each.counts.mistakes:10}{each.counts.updates:10}"
            lines.append(f"{counts}{loss}  {each.cell.rule.name} {_shown(each)}".rstrip())
        return lines

    def _map(self, best: Sequence[Outcome]) -> list[str]:
        """The grid of the best algorithm."""
        rule = best[0].cell.rule
        lines = heat_map([outcome for outcome in best if outcome.cell.rule == rule], self._metric)
        return [*lines, ""] if lines else []

    def _summary(self, best: Sequence[Outcome], command: str, seconds: float) -> dict[str, Any]:
        cells = [
            {
                "algorithm": each.cell.rule.name,
                "parameters": dict(each.cell.parameters),
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

    def _save(self, place: int, path: Path) -> None:
        if self._models.trainings:
            training = self._models.trainings[place]
        else:
            training = TrainingRun(self._choices[place])
            training.run(lambda epoch: self._examples())
        info = RunInfo(
            **self._made,
            sources=[str(name) for name in self._data.names],
            schema=self._data.schema,
            skipped=self._data.skipped.count,
            settings={name: self._given[name] for name in ("seed", "shuffle_buffer")},
        )
        TrainedModel(training.trained, self._data.schema, training.record(info)).write(path)
        self._say(f"model: {path}")

    def _say(self, text: str) -> None:
        self._terminal.note(text)


def _at_the_border(best: Sequence[Outcome]) -> Iterator[str]:
    """Where the best may lie beyond the grid."""
    cell = best[0].cell
    for name, values in axes_of([outcome for outcome in best if outcome.cell.rule == cell.rule]).items():
        value = cell.parameters[name]
        for end, word in ((values[0], "smaller"), (values[-1], "larger")):
            if value == end:
                yield f"no {word} {name} than {number_text(value)}, the best, was tried: --grid {name}=... does"


def _shown(outcome: Outcome) -> str:
    return " ".join(f"{name}={number_text(value)}" for name, value in outcome.cell.parameters.items())


def _values_of(grids: Sequence[str]) -> dict[str, list[float]]:
    """What is given as NAME=VALUE,... for each name; what is given twice adds up."""
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
