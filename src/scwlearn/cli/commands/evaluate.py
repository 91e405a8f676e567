"""Measure how well a model does on labelled data.

The model does not learn from DATA. Labels that it does not know count as wrong. Weights in DATA are used. Labels and
probabilities of all examples are kept in memory.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.options import (
    DataOptions,
    SectionCommand,
    data_options,
    json_option,
    model_argument,
    quiet_option,
    section,
)
from scwlearn.display.formatting import align, one_line, plural

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


@click.command(cls=SectionCommand, help=__doc__)
@model_argument
@data_options
@section("Output", json_option("Print the metrics as JSON."), quiet_option)
def command(**given: Any) -> None:
    """Evaluate a model; see the help above."""
    # NumPy is imported from here on: --help does without it.
    from scwlearn.cli.input import Input
    from scwlearn.runs.evaluate import evaluate
    from scwlearn.runs.trained_model import TrainedModel

    options, terminal = DataOptions.take(given), Terminal(quiet=given["quiet"])
    model = TrainedModel.read(given["model"])
    data = Input(options, terminal, model.data_schema)
    with data.progress("evaluating"):
        evaluation = evaluate(model, data.examples())
    data.report_skipped()
    if given["as_json"]:
        click.echo(json.dumps(evaluation.to_json() | {"skipped": data.skipped.count}, ensure_ascii=False))
    else:
        click.echo("\n".join([*_metrics(evaluation), *_confusion(evaluation)]))


def _metrics(evaluation: Evaluation) -> list[str]:
    second = one_line(evaluation.classes[1]) if len(evaluation.classes) > 1 else ""
    metrics = {"examples": f"{evaluation.examples}" + " (weighted)" * evaluation.weighted}
    for name, title in _TITLES.items():
        value, reason = getattr(evaluation, name), evaluation.notes.get(name)
        if name != "f1" or value is not None:
            shown = "-" if value is None else f"{value:.4f}"
            metrics[title.format(second=second)] = shown if reason is None else f"{shown}  ({reason})"
    note = evaluation.notes.get("labels")
    return [*align(metrics), *([] if note is None else [f"note: {note}"])]


def _confusion(evaluation: Evaluation) -> list[str]:
    if evaluation.confusion is None:
        return ["", f"no confusion matrix: {plural(len(evaluation.classes), 'class', 'classes')} are too many"]
    names = [one_line(label) for label in evaluation.classes]
    columns = names[: len(evaluation.confusion[0])]
    cells = [
        [str(value) if isinstance(value, int) else f"{value:.6g}" for value in row] for row in evaluation.confusion
    ]
    left = max(map(len, names))
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]

    def line(name: str, values: list[str]) -> str:
        parts = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
        return "  ".join([name.ljust(left), *parts])

    head = ["", "confusion matrix (rows: true class, columns: predicted class)", line("", columns)]
    return head + [line(name, values) for name, values in zip(names, cells, strict=True)]
