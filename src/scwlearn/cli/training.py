"""A run of scwlearn train: what it reads, what it says, what it writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.algorithm import choices_of, given_model_options, rule_of
from scwlearn.cli.input import CommandReading
from scwlearn.cli.messages import IN_LONG_RUNS, counted
from scwlearn.cli.options import Data, checked_own, own_parameters
from scwlearn.cli.output import check_apart
from scwlearn.cli.provenance import made_now
from scwlearn.cli.table import StepTable
from scwlearn.runs.config import Choices
from scwlearn.runs.record import Point, Record
from scwlearn.runs.train import Hooks, Plan, Told, Training
from scwlearn.runs.trained_model import Model

if TYPE_CHECKING:
    from scwlearn._util.progress import ProgressReporter
    from scwlearn.data.examples import Examples


# More classes than these, and a new one with every tenth example, are hardly meant.
_MANY_CLASSES = 50


class TrainingRun:
    """One run of the command."""

    def __init__(self, data: Data, given: dict[str, Any]) -> None:
        self._given = given
        self._quiet: bool = given["quiet"]
        self._path: Path | None = given["model"]
        self._made = made_now()
        if given["save_every"] is not None and self._path is None:
            raise click.UsageError("--save-every needs -m: where to save the model")
        resumed = None if given["resume"] is None else Model.read(given["resume"])
        self._reading = CommandReading(data, None if resumed is None else resumed.schema)
        check_apart({"-m": self._path, "--report": given["report"]}, self._reading.names)
        if given["epochs"] > 1 and self._reading.once_only:
            raise click.UsageError("--epochs needs files: what comes from a pipe can be read only once")
        probabilities = given["probabilities"] or given["report"] is not None
        plan = Plan(given["epochs"], given["holdout"], probabilities, given["save_every"])
        self._table = StepTable(log_loss=probabilities)
        hooks = Hooks(None if self._quiet else self._say_step, self._at_epoch, self._at_save)
        if resumed is None:
            rule = rule_of(given["algorithm"])
            choices = choices_of(rule, checked_own(rule, own_parameters(given)), given)
            self._training = Training(choices, plan, hooks=hooks)
        else:
            choices = _same_choices(resumed, given)
            learner = (
                resumed.learner.with_parameters(dict(choices.parameters)) if own_parameters(given) else resumed.learner
            )
            self._training = Training(choices, plan, learner, hooks)
        self._bar: ProgressReporter | None = None

    def go(self) -> None:
        """Learn, save and say what came of it."""
        try:
            with self._reading.progress(self._quiet, self._given["epochs"]) as self._bar:
                self._training.run(self._epoch)
            self._bar = None
        except KeyboardInterrupt:
            if self._given["save_every"] is not None and self._training.course is not None:
                self._save()
                seen = counted(self._training.begun.counts.seen, "example")
                self._say(f"interrupted after {seen}; saved {self._path}")
            elif self._path is not None:
                self._say("nothing is saved; --save-every N saves on the way and at Ctrl-C")
            raise
        if self._training.course is None:
            raise ValueError(f"{', '.join(map(str, self._reading.names))}: no example to learn from")
        record = self._record(finished=True)
        self._conclude(record)
        if self._path is not None:
            self._model(record).write(self._path)
            self._say(f"model: {self._path}")
        if self._given["report"] is not None:
            from scwlearn.report import write_page

            write_page([record], self._given["report"])
            self._say(f"report: {self._given['report']}")
        if self._given["as_json"]:
            click.echo(json.dumps(record.to_json(), ensure_ascii=False))

    def _epoch(self, number: int) -> Iterable[Examples]:
        return self._reading.examples(self._given["shuffle_buffer"], self._given["seed"] + number)

    def _at_epoch(self, number: int) -> None:
        if number:
            self._say(f"epoch {number + 1} of {self._given['epochs']}")

    def _at_save(self, training: Training) -> None:
        self._save()

    def _save(self) -> None:
        assert self._path is not None
        self._model(self._record(finished=False)).write(self._path)

    def _model(self, record: Record) -> Model:
        return Model(self._training.begun, self._reading.schema, record)

    def _record(self, *, finished: bool) -> Record:
        told = Told(
            **self._made,
            sources=[str(name) for name in self._reading.names],
            schema=self._reading.schema,
            skipped=self._reading.skipped.count,
            settings={name: self._given[name] for name in ("seed", "shuffle_buffer", "holdout")},
        )
        return self._training.record(told, finished=finished)

    def _conclude(self, record: Record) -> None:
        end = record.curve[-1]
        if end.seen & (end.seen - 1):
            self._say_step(end)
        parts = [
            f"{counted(end.seen, 'example')} in {end.seconds:.2f} s",
            f"{counted(end.mistakes, 'mistake')} ({end.mistakes / max(1, end.seen):.2%})",
            counted(record.n_features, "feature"),
            counted(len(record.classes), "class", "classes"),
        ]
        self._say(", ".join(parts))
        if len(record.classes) == 1:
            self._say(f"all of them have the label {record.classes[0]}: there is nothing to tell apart yet")
        if len(record.classes) > max(_MANY_CLASSES, end.seen / 10):
            self._say("so many classes: numbers that were measured are not what a classifier predicts")
        assert self._training.course is not None
        if self._training.course.watcher.in_long_runs:
            buffer = "a larger --shuffle-buffer" if self._given["shuffle_buffer"] else "--shuffle-buffer N"
            self._say(f"{IN_LONG_RUNS}: the last of them may count most; {buffer} mixes them")
        if record.holdout is not None:
            loss = record.holdout.get("log_loss")
            shown = "" if loss is None else f", log-loss {loss:.4f}"
            count = counted(int(record.holdout["count"]), "example")
            self._say(f"held out: {count}, error {record.holdout['error']:.2%}{shown}")
        self._reading.report_skipped(self._say)

    def _say_step(self, point: Point) -> None:
        """A line of the table, with the head above the first one: data that cannot be read have no table."""
        if self._table.is_new:
            self._say(self._table.header())
        self._say(self._table.line(point))

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._bar_or_stderr(text)

    def _bar_or_stderr(self, text: str) -> None:
        if self._bar is None:
            click.echo(text, err=True)
        else:
            self._bar.note(text)


def _same_choices(resumed: Model, given: dict[str, Any]) -> Choices:
    """What a model that goes on was made with; only the algorithm's own parameters may change."""
    source = click.get_current_context().get_parameter_source("algorithm")
    if not resumed.is_linear:
        raise ValueError(f"{given['resume']} holds a model with a kernel, which goes on in Python alone")
    rule = resumed.rule
    if source is not None and source.name == "COMMANDLINE" and given["algorithm"] != rule.name:
        raise click.UsageError(f"the model to go on with learns by {rule.name}, not by {given['algorithm']}")
    if odd := given_model_options():
        raise click.UsageError(f"a model that goes on stays as it was made; leave out {', '.join(odd)}")
    recipe = resumed.learner.recipe
    settings = {**recipe.how, **recipe.how_several}
    return Choices(rule, checked_own(rule, {**recipe.parameters, **own_parameters(given)}), settings)
