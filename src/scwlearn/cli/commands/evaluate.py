"""Measure how well a model does on labelled data.

The model does not learn from DATA. Labels that it does not know count as wrong. Weights in DATA are used. Labels and
probabilities of all examples are kept in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import columns, print_json, print_text
from scwlearn.cli.model_options import decision_options, with_costs
from scwlearn.cli.options import SectionCommand, data_options, model_argument, output_options
from scwlearn.display.formatting import one_line, plural

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


_output_options = output_options(json="Print the metrics as JSON.")


@click.command(
    cls=SectionCommand, params=[model_argument, *data_options, *decision_options, *_output_options], help=__doc__
)
def command(**given: Any) -> None:
    """Evaluate a model; see the help above."""
    # NumPy is imported from here on: --help does without it.
    from scwlearn.cli.input import Input
    from scwlearn.runs.evaluate import evaluate
    from scwlearn.runs.trained_model import TrainedModel
    from scwlearn.runs.warnings import is_weighted, unknown_features, with_advice, worse_than_baseline

    model = with_costs(TrainedModel.read(given["model"]), given["costs"])
    data = Input(given, model)
    with data.progress("evaluating"):
        evaluation = evaluate(model, data.examples())
    data.report_skipped()
    data.terminal.warn(unknown_features(evaluation.features))
    if not is_weighted(model.settings):
        worse = worse_than_baseline(1 - evaluation.accuracy, evaluation.baseline, evaluation.examples)
        data.terminal.warn(with_advice(worse, model.settings, "try training with"))
    if given["as_json"]:
        print_json(vars(evaluation) | {"skipped": data.skipped.count})
    else:
        print_text("\n".join([*_metrics(evaluation), *_confusion(evaluation)]))


def _metrics(evaluation: Evaluation) -> list[str]:
    second = one_line(evaluation.classes[1]) if len(evaluation.classes) > 1 else ""
    metrics = {"examples": f"{evaluation.examples}" + " (weighted)" * evaluation.weighted}
    always = f"always predicting {one_line(evaluation.baseline.label)}"
    for name, title in _TITLES.items():
        value, reason = getattr(evaluation, name), evaluation.notes.get(name)
        if name != "f1" or value is not None:
            shown = "-" if value is None else f"{value:.4f}"
            metrics[title.format(second=second)] = shown if reason is None else f"{shown}  ({reason})"
        if name == "accuracy":
            metrics["baseline accuracy"] = f"{1 - evaluation.baseline.error:.4f}  ({always})"
    note = evaluation.notes.get("labels")
    return [*columns(metrics.items()), *([] if note is None else [f"note: {note}"])]


def _confusion(evaluation: Evaluation) -> list[str]:
    if evaluation.confusion is None:
        return ["", f"no confusion matrix: {plural(len(evaluation.classes), 'class', 'classes')} are too many"]
    names = [one_line(label) for label in evaluation.classes]
    table = [["", *names[: len(evaluation.confusion[0])]]]
    for name, row in zip(names, evaluation.confusion, strict=True):
        table.append([name, *(str(value) if isinstance(value, int) else f"{value:.6g}" for value in row)])
    return [
        "",
        "confusion matrix (rows: true class, columns: predicted class)",
        *columns(table, range(1, len(table[0]))),
    ]
