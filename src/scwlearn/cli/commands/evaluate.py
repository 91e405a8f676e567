"""Measure how well a model does on labelled data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.options import (
    Data,
    SectionCommand,
    data_options,
    model_argument,
    option,
    quiet_option,
    with_options,
)

if TYPE_CHECKING:
    from scwlearn.runs.evaluate import Evaluation

_TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "F1, mean of the classes",
    "f1": "F1 of {second}",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "ece": "calibration error (ECE)",
    "auc": "AUC",
}

_output_options = with_options(
    option("--json", "as_json", is_flag=True, section="Output", help="The figures for programs."),
    quiet_option,
)


@click.command(cls=SectionCommand)
@model_argument
@data_options
@_output_options
def command(**given: Any) -> None:
    """Say how well MODEL does on DATA, which it does not learn from.

    Labels that it has never met count as wrong. What examples weigh is used where DATA say it. Of each example its
    label and its probabilities are kept in memory until the end.
    """
    from scwlearn.cli.input import CommandReading
    from scwlearn.runs.evaluate import evaluate
    from scwlearn.runs.trained_model import Model

    data = Data.of(given)
    model = Model.read(given["model"])
    reading = CommandReading(data, model.data_schema)
    with reading.progress(given["quiet"], what="evaluating"):
        evaluation = evaluate(model, reading.examples())
    if not given["quiet"]:
        reading.report_skipped(lambda line: click.echo(line, err=True))
    if given["as_json"]:
        told = evaluation.to_json() | {"skipped": reading.skipped.count}
        click.echo(json.dumps(told, ensure_ascii=False))
    else:
        click.echo("\n".join(_table(evaluation)))


def _table(evaluation: Evaluation) -> list[str]:
    from scwlearn.runs.predict import one_line

    figures = {"examples": f"{evaluation.examples}" + " (weighted)" * evaluation.weighted}
    remarks = [f"note: {evaluation.notes['labels']}"] if "labels" in evaluation.notes else []
    for name, title in _TITLES.items():
        value = getattr(evaluation, name)
        if name == "f1" and value is None:
            continue
        reason = evaluation.notes.get(name)
        shown = "-" if value is None else f"{value:.4f}"
        figures[title.format(second=evaluation.classes[1:2] and one_line(evaluation.classes[1]))] = (
            shown if reason is None else f"{shown}  ({reason})"
        )
    width = max(map(len, figures))
    lines = [f"{title.ljust(width)}  {shown}" for title, shown in figures.items()]
    return lines + remarks + _confusion(evaluation)


def _confusion(evaluation: Evaluation) -> list[str]:
    if evaluation.confusion is None:
        return ["", f"{len(evaluation.classes)} classes: too many for a table of confusions"]
    from scwlearn.runs.predict import one_line

    names = [one_line(label) for label in evaluation.classes]
    columns = names[: len(evaluation.confusion[0])]
    cells = [
        [str(value) if isinstance(value, int) else f"{value:.6g}" for value in line] for line in evaluation.confusion
    ]
    left = max(map(len, names))
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]

    def line(name: str, values: list[str]) -> str:
        parts = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
        return "  ".join([name.ljust(left), *parts])

    head = ["", "confusion: a line for each true class, a column for each predicted one", line("", columns)]
    return head + [line(name, values) for name, values in zip(names, cells, strict=True)]
