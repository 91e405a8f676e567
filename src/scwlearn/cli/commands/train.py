"""Train a model in one pass, with progressive validation.

Each example is classified before the model learns from it, so the error rates are those on unseen examples.

DATA are files in LIBSVM, VW, CSV, TSV, JSON, Parquet or Arrow format, compressed or not, given by paths, glob
patterns or URLs; - for standard input; or a name that scwlearn datasets lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal, print_json
from scwlearn.cli.distribution import distribution_options, is_distributed, train_distributed
from scwlearn.cli.messages import is_given
from scwlearn.cli.model_options import (
    AlgorithmCommand,
    algorithm_options,
    check_parameters,
    given_model_options,
    given_parameters,
    model_config,
    model_options,
)
from scwlearn.cli.options import (
    OutputFile,
    check_outputs,
    count_option,
    data_options,
    option,
    output_options,
    section,
)
from scwlearn.display.formatting import plural

if TYPE_CHECKING:
    from scwlearn.cli.input import Input
    from scwlearn.data.batch import Batch
    from scwlearn.data.run_record import Baseline, Point, Record
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.train import TrainingRun
    from scwlearn.runs.trained_model import TrainedModel

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
        type=click.FloatRange(0.0, 1.0, max_open=True),
        default=0.0,
        metavar="FRACTION",
        help="Hold out this fraction of the examples and evaluate the model on them; 0.1 is every tenth.",
    ),
    option(
        "--resume",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="MODEL",
        help="Continue training this model.",
    ),
    count_option("--save-every", text="Save the model every N examples, and at Ctrl-C or SIGTERM."),
    count_option(
        "--jobs",
        default=1,
        text="Learn on up to N threads, with -a auto or --multi-class ovr. The model does not depend on N.",
    ),
)
_output_options = output_options(
    option("-m", "--model", type=OutputFile(), help="File to save the model to."),
    option("--probabilities", is_flag=True, help="Also measure log-loss and reliability."),
    option("--report", type=OutputFile(), metavar="PAGE", help="Write an HTML report; implies --probabilities."),
    json="Print the record of the run as JSON.",
)
_params = data_options + algorithm_options() + model_options + _run_options + shuffle_options
_params += distribution_options + _output_options


@click.command(cls=AlgorithmCommand, params=_params, help=__doc__)
def command(**given: Any) -> None:
    """Train a model; see the help above."""
    # NumPy is imported from here on: --help does without it. What learns is imported once the data are being read.
    from scwlearn.cli.input import Input

    path, page, epochs = given["model"], given["report"], given["epochs"]
    if given["save_every"] is not None and path is None:
        raise click.UsageError("--save-every needs -m, the file to save to")
    if math.isnan(given["holdout"]):
        raise click.BadParameter("nan is not in the range 0.0<=x<1.0", param_hint="--holdout")
    resumed = None if given["resume"] is None else _read_model(given["resume"])
    model = _model(given, resumed)
    # What a pipe has delivered is learned at once if it is to be saved on the way.
    eager = given["save_every"] is not None
    data = Input(given, model, eager=eager)
    terminal = data.terminal
    check_outputs({"-m": path, "--report": page}, data.files)
    # Only the model may be replaced, by itself.
    check_outputs({"--report": page}, [] if resumed is None else [given["resume"]])
    if epochs > 1 and data.is_pipe:
        raise click.UsageError("--epochs needs files; a pipe can be read only once")
    training: AbstractContextManager[TrainedModel]
    if is_distributed(given):
        if data.is_pipe:
            raise click.UsageError("several workers need files; a pipe can be read only once")
        training = nullcontext(train_distributed(given, data, model))
    else:
        training = _train(given, data, model)
    with training as result:
        from scwlearn.runs.warnings import record_warnings

        record = result.record
        assert record is not None
        terminal.note(_summary(record))
        terminal.warn(record_warnings(record))
        data.report_skipped()
        if path is not None:
            result.write(path)
    if path is not None:
        terminal.note(f"model: {path}")
    if page is not None:
        from scwlearn.report import write_page

        write_page([record], page)
        terminal.note(f"report: {page}")
    if given["as_json"]:
        print_json(record.to_json())


@contextmanager
def _train(given: dict[str, Any], data: Input, model: ModelConfig | TrainedModel) -> Iterator[TrainedModel]:
    """Train in one stream, with progress, and yield the model.

    At Ctrl-C, also while the caller uses the model, it is saved if the user wants it.
    """
    terminal, path, epochs = data.terminal, given["model"], given["epochs"]
    table = _CurveTable(terminal, log_loss=_wants_probabilities(given))
    run: TrainingRun | None = None
    try:
        try:
            with data.progress("training", epochs=epochs):
                # Opened first, so that threads read and parse while the run is imported.
                first = data.examples()
                run = _new_run(given, data, model, table)
                run.run(partial(_read_pass, data, run, first))
        except (OSError, ValueError):
            if run is not None and run.counts.seen:
                terminal.note(_stopped(run, path))
            raise
        data.check_learned(run.counts.seen)
        result = trained_model(run, data, given)
        table.finish(run.points[-1])
        if epochs > 1:
            terminal.note(_pass_line(run))
        yield result
    except KeyboardInterrupt:
        if given["save_every"] is not None and run is not None and run.counts.seen:
            run.on_save()
            terminal.note(f"stopped after {plural(run.counts.seen, 'example')}; saved {path}")
        elif given["save_every"] is not None:
            terminal.note("stopped before the first example; the model was not saved")
        elif path is not None:
            terminal.note("the model was not saved; --save-every N saves it on the way and at Ctrl-C or SIGTERM")
        raise


def _new_run(given: dict[str, Any], data: Input, model: ModelConfig | TrainedModel, table: _CurveTable) -> TrainingRun:
    """Return the run that the options describe."""
    from scwlearn._util.threads import job_threads
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.train import TrainingRun

    start, resumed = (model, None) if isinstance(model, ModelConfig) else (model.classifier, model)

    def save() -> None:
        trained_model(run, data, given, finished=False).write(given["model"])

    run = TrainingRun(
        start,
        resumed=resumed,
        epochs=given["epochs"],
        holdout=given["holdout"],
        shuffle_buffer=given["shuffle_buffer"],
        seed=given["seed"],
        probabilities=_wants_probabilities(given),
        save_every=given["save_every"],
        jobs=job_threads(given["jobs"]),
        on_doubling=None if data.terminal.quiet else table.add,
        on_save=save,
        on_warning=lambda text: data.terminal.warn([text]),
    )
    return run


def _wants_probabilities(given: dict[str, Any]) -> bool:
    return given["probabilities"] or given["report"] is not None


def _read_pass(data: Input, run: TrainingRun, first: Iterable[Batch], epoch: int) -> Iterable[Batch]:
    """Return the examples of a pass, the first of which is open; print the line about the pass before."""
    if not epoch:
        return first
    data.terminal.note(_pass_line(run))
    return data.examples()


def _read_model(path: Path) -> TrainedModel:
    from scwlearn.runs.trained_model import TrainedModel

    return TrainedModel.read(path)


def trained_model(run: TrainingRun, data: Input, given: dict[str, Any], *, finished: bool = True) -> TrainedModel:
    """Return the model of a run of train or tune, with the schema of its data and its record."""
    settings: dict[str, Any] = {name: given[name] for name in ("seed", "shuffle_buffer", "holdout") if name in given}
    return run.trained_model(data.schema, **data.provenance, settings=settings, finished=finished)


def _model(given: dict[str, Any], resumed: TrainedModel | None) -> ModelConfig | TrainedModel:
    """Return a new configuration, or the model to continue with: only parameters of its algorithm may change."""
    rule, parameters = given["algorithm"], given_parameters(given)
    if resumed is None:
        return model_config(rule, parameters, given)
    if resumed.has_kernel:
        raise ValueError(f"{given['resume']} holds a kernel model; the command line trains linear models only")
    if is_given("algorithm") and rule.name != resumed.rule.name:
        raise click.UsageError(f"{given['resume']} was trained with {resumed.rule.name}, not {rule.name}")
    if fixed := given_model_options():
        raise click.UsageError(f"the settings of a resumed model cannot change; drop {', '.join(fixed)}")
    if not parameters:
        return resumed
    checked = check_parameters(resumed.rule, {**resumed.parameters, **parameters})
    return replace(resumed, classifier=resumed.classifier.with_parameters(checked))


def _stopped(run: TrainingRun, path: Path | None) -> str:
    """Return the note on a run that an error in its data has stopped."""
    stopped = f"stopped after {plural(run.counts.seen, 'example')}"
    if path is None:
        return stopped
    if run.saved:
        return f"{stopped}; {path} is the model after {plural(run.saved, 'example')}"
    if run.save_every is not None:
        return f"{stopped}; the model was not saved"
    return f"{stopped}; the model was not saved (--save-every N saves it on the way)"


def _pass_line(run: TrainingRun) -> str:
    """Return the line about the last pass."""
    last = run.passes[-1]
    mistakes = f"{plural(last.mistakes, 'mistake')} in {plural(last.seen, 'example')}"
    return f"epoch {len(run.passes)} of {run.epochs}: {mistakes} ({last.mistakes / max(1, last.seen):.2%})"


def _summary(record: Record) -> str:
    end = record.curve[-1]
    parts = [
        f"{plural(end.seen, 'example')} in {end.seconds:.2f} s",
        f"{plural(end.mistakes, 'mistake')} ({end.mistakes / max(1, end.seen):.2%}{_baseline(record.baseline)})",
        plural(record.n_features, "feature"),
        plural(len(record.classes), "class", "classes"),
    ]
    if record.holdout is None:
        return ", ".join(parts)
    loss = record.holdout.get("log_loss")
    shown = "" if loss is None else f", log-loss {loss:.4f}"
    count = plural(int(record.holdout["count"]), "example")
    error = f"error {record.holdout['error']:.2%}{_baseline(record.holdout_baseline)}"
    return f"{', '.join(parts)}\nholdout: {count}, {error}{shown}"


def _baseline(baseline: Baseline | None) -> str:
    return "" if baseline is None else f", baseline {baseline.error:.2%}"


class _CurveTable:
    """The learning curve as a table: error rate so far and since the line before."""

    _TITLES = ("examples", "mistakes", "rate", "since last", "updates", "nonzero", "examples/s", "log-loss")

    def __init__(self, terminal: Terminal, *, log_loss: bool) -> None:
        self._terminal = terminal
        self._line = "{:>11}{:>10}{:>8}{:>11}{:>10}{:>10}{:>11}" + "{:>10}" * log_loss
        self._seen = self._mistakes = 0

    def add(self, point: Point) -> None:
        """Print a line, after the header if it is the first: invalid data get no header."""
        if not self._seen:
            self._terminal.note(self._line.format(*self._TITLES))
        cells = (
            point.seen,
            point.mistakes,
            f"{point.mistakes / max(1, point.seen):.4f}",
            f"{(point.mistakes - self._mistakes) / max(1, point.seen - self._seen):.4f}",
            point.updates,
            "" if point.nonzero is None else point.nonzero,
            f"{point.seen / point.seconds:.0f}" if point.seconds > 0 else "",
            "" if point.log_loss is None else f"{point.log_loss:.4f}",
        )
        self._terminal.note(self._line.format(*cells))
        self._seen, self._mistakes = point.seen, point.mistakes

    def finish(self, point: Point) -> None:
        """Print the last line, unless the run ended at a power of two, whose line is there already."""
        if point.seen & (point.seen - 1):
            self.add(point)
