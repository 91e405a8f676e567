"""Train a model in one pass, with progressive validation.

Each example is classified before the model learns from it, so the error rates are those on unseen examples.

DATA are files in LIBSVM, VW, CSV, TSV, JSON lines, Parquet or Arrow format, compressed or not, glob patterns, or - for
standard input.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.messages import SORTED_LABELS
from scwlearn.cli.model_options import (
    AlgorithmCommand,
    algorithm_options,
    check_parameters,
    given_model_options,
    given_parameters,
    model_config,
    rule_named,
)
from scwlearn.cli.options import (
    DataOptions,
    FiniteRange,
    count_option,
    data_options,
    is_given,
    json_option,
    option,
    quiet_option,
    section,
)
from scwlearn.cli.output import OutputFile, check_outputs, invocation
from scwlearn.display.formatting import plural

if TYPE_CHECKING:
    from scwlearn.learning.classifier import Classifier
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.record import Point, Record
    from scwlearn.runs.train import TrainingRun
    from scwlearn.runs.trained_model import TrainedModel

# More classes than this, a new one with every tenth example, are probably a regression target.
_MANY_CLASSES = 50

#: Options for the order of examples.
shuffle_options = section(
    "Run",
    count_option("--shuffle-buffer", default=0, low=0, text="Shuffle examples within a buffer of N."),
    count_option("--seed", default=0, low=0, text="Random seed for shuffling."),
)
_run_options = section(
    "Run",
    count_option("--epochs", default=1, text="Passes over the data."),
    option(
        "--holdout",
        type=FiniteRange(0.0, 1.0, max_open=True),
        default=0.0,
        metavar="FRACTION",
        help="Hold out this fraction of the examples and evaluate the model on them; 0.1 is every tenth.",
    ),
    shuffle_options,
    option(
        "--resume",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="MODEL",
        help="Continue training this model.",
    ),
    count_option("--save-every", text="Save the model every N examples, and at Ctrl-C."),
)
_output_options = section(
    "Output",
    option("-m", "--model", type=OutputFile(), help="File to save the model to."),
    option("--probabilities", is_flag=True, help="Measure log-loss and reliability, too."),
    option("--report", type=OutputFile(), metavar="PAGE", help="Write an HTML report; implies --probabilities."),
    json_option("Print the record of the run as JSON."),
    quiet_option,
)


@click.command(cls=AlgorithmCommand, help=__doc__)
@data_options
@algorithm_options
@_run_options
@_output_options
def command(**given: Any) -> None:
    """Train a model; see the help above."""
    # NumPy is imported from here on: --help does without it.
    from scwlearn.cli.input import Input
    from scwlearn.runs.train import TrainingRun
    from scwlearn.runs.trained_model import TrainedModel

    started, terminal = invocation(), Terminal(quiet=given["quiet"])
    path, page, epochs = given["model"], given["report"], given["epochs"]
    options = DataOptions.take(given)
    if given["save_every"] is not None and path is None:
        raise click.UsageError("--save-every needs -m, the file to save to")
    resumed = None if given["resume"] is None else TrainedModel.read(given["resume"])
    data = Input(options, terminal, None if resumed is None else resumed.schema)
    check_outputs({"-m": path, "--report": page}, data.names)
    if epochs > 1 and data.is_pipe:
        raise click.UsageError("--epochs needs files; a pipe can be read only once")
    model = _new_model(given) if resumed is None else _resumed_model(given, resumed)

    def save(record: Record) -> None:
        TrainedModel(run.classifier, data.schema, record).write(path)

    def record(*, finished: bool) -> Record:
        return run.record(
            data.schema,
            **started,
            sources=data.names,
            skipped=data.skipped.count,
            settings={name: given[name] for name in ("seed", "shuffle_buffer", "holdout")},
            finished=finished,
        )

    def note_epoch(epoch: int) -> None:
        if epoch:
            terminal.note(f"epoch {epoch + 1} of {epochs}")

    probabilities = given["probabilities"] or page is not None
    table = _CurveTable(terminal, log_loss=probabilities)
    run = TrainingRun(
        model,
        epochs=epochs,
        holdout=given["holdout"],
        probabilities=probabilities,
        save_every=given["save_every"],
        on_doubling=None if terminal.quiet else table.add,
        on_epoch=note_epoch,
        on_save=lambda: save(record(finished=False)),
    )
    try:
        with data.progress("training", epochs=epochs):
            run.run(lambda epoch: data.examples(given["shuffle_buffer"], given["seed"] + epoch))
    except KeyboardInterrupt:
        if given["save_every"] is not None and run.has_begun:
            save(record(finished=False))
            terminal.note(f"interrupted after {plural(run.classifier.counts.seen, 'example')}; saved {path}")
        elif path is not None:
            terminal.note("the model was not saved; --save-every N saves it on the way and at Ctrl-C")
        raise
    if not run.has_begun:
        raise ValueError(f"{', '.join(data.names)}: no examples to learn from")
    result = record(finished=True)
    table.finish(result.curve[-1])
    for line in (_summary(result), *_warnings(run, result, given)):
        terminal.note(line)
    data.report_skipped()
    if path is not None:
        save(result)
        terminal.note(f"model: {path}")
    if page is not None:
        from scwlearn.report import write_page

        write_page([result], page)
        terminal.note(f"report: {page}")
    if given["as_json"]:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False))


def _new_model(given: dict[str, Any]) -> ModelConfig:
    rule = rule_named(given["algorithm"])
    return model_config(rule, check_parameters(rule, given_parameters(given)), given)


def _resumed_model(given: dict[str, Any], resumed: TrainedModel) -> Classifier:
    """Return the classifier to continue with; only the parameters of its algorithm may change."""
    if not resumed.is_linear:
        raise ValueError(f"{given['resume']} holds a kernel model; the command line trains linear models only")
    rule, parameters = resumed.rule, given_parameters(given)
    if is_given("algorithm") and given["algorithm"] != rule.name:
        raise click.UsageError(f"{given['resume']} was trained with {rule.name}, not {given['algorithm']}")
    if fixed := given_model_options():
        raise click.UsageError(f"the settings of a resumed model cannot change; drop {', '.join(fixed)}")
    if not parameters:
        return resumed.classifier
    return resumed.classifier.with_parameters(check_parameters(rule, {**resumed.parameters, **parameters}))


def _summary(record: Record) -> str:
    end = record.curve[-1]
    parts = [
        f"{plural(end.seen, 'example')} in {end.seconds:.2f} s",
        f"{plural(end.mistakes, 'mistake')} ({end.mistakes / max(1, end.seen):.2%})",
        plural(record.n_features, "feature"),
        plural(len(record.classes), "class", "classes"),
    ]
    if record.holdout is None:
        return ", ".join(parts)
    loss = record.holdout.get("log_loss")
    shown = "" if loss is None else f", log-loss {loss:.4f}"
    count = plural(int(record.holdout["count"]), "example")
    return f"{', '.join(parts)}\nholdout: {count}, error {record.holdout['error']:.2%}{shown}"


def _warnings(run: TrainingRun, record: Record, given: dict[str, Any]) -> list[str]:
    seen, classes = record.curve[-1].seen, record.classes
    found = []
    if len(classes) == 1:
        found.append(f"all examples have the label {classes[0]}; a classifier needs at least two classes")
    if len(classes) > max(_MANY_CLASSES, seen / 10):
        found.append(f"{len(classes):,} distinct labels in {plural(seen, 'example')}; is this a regression target?")
    if run.metrics.looks_sorted:
        buffer = "a larger --shuffle-buffer" if given["shuffle_buffer"] else "--shuffle-buffer N"
        found.append(f"{SORTED_LABELS}; the last ones may dominate the model (use {buffer} to mix them)")
    if unseen := run.unseen_class_weights():
        found.append(f"--class-weight names labels that did not appear: {', '.join(map(str, unseen))}")
    return [f"warning: {text}" for text in found]


_CURVE_WIDTHS = {
    "examples": 11,
    "mistakes": 10,
    "rate": 8,
    "since last": 11,
    "updates": 10,
    "nonzero": 10,
    "examples/s": 11,
}


class _CurveTable:
    """The learning curve as a table: error rate so far and since the line before."""

    def __init__(self, terminal: Terminal, *, log_loss: bool) -> None:
        self._terminal = terminal
        self._widths = _CURVE_WIDTHS | ({"log-loss": 10} if log_loss else {})
        self._last: Point | None = None

    def add(self, point: Point) -> None:
        """Print a line, after the header if it is the first: invalid data get no header."""
        last, self._last = self._last, point
        if last is None:
            self._print(self._widths)
        seen, mistakes = (0, 0) if last is None else (last.seen, last.mistakes)
        cells = [
            f"{point.seen}",
            f"{point.mistakes}",
            f"{point.mistakes / max(1, point.seen):.4f}",
            f"{(point.mistakes - mistakes) / max(1, point.seen - seen):.4f}",
            f"{point.updates}",
            "" if point.nonzero is None else f"{point.nonzero}",
            f"{point.seen / point.seconds:.0f}" if point.seconds > 0 else "",
        ]
        if "log-loss" in self._widths:
            cells.append("" if point.log_loss is None else f"{point.log_loss:.4f}")
        self._print(cells)

    def finish(self, point: Point) -> None:
        """Print the last line, unless the run ended at a power of two, whose line is there already."""
        if point.seen & (point.seen - 1):
            self.add(point)

    def _print(self, cells: Any) -> None:
        widths = self._widths.values()
        self._terminal.note("".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
