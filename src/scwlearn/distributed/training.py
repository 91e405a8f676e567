"""Distributed training on files: the plan is made here, and any runner carries it out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from inspect import signature
from types import MappingProxyType
from typing import Any

from scwlearn._util.checks import check_int
from scwlearn._util.threads import one_blas_thread
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.io.streams import Source, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.parts import PartedData
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema
from scwlearn.distributed.plan import ROUNDS, Plan, default_parts, few_examples, warm_up_of
from scwlearn.distributed.processes import Processes
from scwlearn.distributed.record import record_of
from scwlearn.distributed.run import DistributedRun, OnReport
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import LearnFiles, Place
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.learning.merging.gaussians import check_merge_rule
from scwlearn.rules import AUTO, find_rule
from scwlearn.runs.batches import training_labels
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.trained_model import TrainedModel, after_training

# A task that learns more than this share of all examples leaves little to the others.
_LARGEST_SHARE = 0.6


@dataclass(frozen=True)
class FileTraining:
    """A training on files, ready to run.

    Parameters
    ----------
    sources : sequence of paths, patterns, URLs or batches
        The data.
    model : ModelConfig or TrainedModel
        Algorithm and settings of a new model, or a trained model to continue with.
    options : ReaderOptions
        How to read; with ``on_error="skip"``, whole parts that cannot be read are left out as well.
    reading : mapping
        Arguments of `read_batches`: `schema`, or `format`, `label` and so on.
    parts, rounds, epochs : int or None
        See `Plan`; None for the default.
    """

    sources: Sequence[Source | Batch]
    model: ModelConfig | TrainedModel
    options: ReaderOptions = ReaderOptions()
    reading: Mapping[str, Any] = field(default_factory=dict)
    parts: int | None = None
    rounds: int | None = None
    epochs: int = 1
    probabilities: bool = False
    shuffle_buffer: int = 0
    seed: int = 0
    rule: str = "auto"

    def __post_init__(self) -> None:
        check_merge_rule(self.rule)
        object.__setattr__(self, "options", replace(self.options, slots=self.model.reading["slots"]))

    def prepare(self) -> PreparedTraining:
        """Read the first examples, which decide how all are read, and cut the data."""
        sizes: list[int] = []
        own = dict(self.model.reading)
        given = {"schema": own.pop("schema", None), **self.reading}
        # The rest is called as in `ReaderOptions`.
        options = replace(self.options, read_ahead=False, on_read=sizes.append, **own)
        schema, batches = read_batches(self.sources, options=options, **given)
        with closing(batches):
            first = next(batches)
        if isinstance(self.model, TrainedModel):
            classifier = self.model.classifier
        else:
            classifier = self.model.for_labels(training_labels(first)).classifier()
        seen = classifier.counts.seen if classifier.is_fitted else 0
        data = PartedData(self.sources, schema, self.options)
        parts = default_parts(data.size) if self.parts is None else self.parts
        warm_up = warm_up_of(seen, data.estimated_examples(len(first), sum(sizes)))
        plan = Plan(parts, ROUNDS if self.rounds is None else self.rounds, self.epochs, warm_up)
        return PreparedTraining(self, schema, classifier, data, plan)


@dataclass(frozen=True)
class PreparedTraining:
    """A training whose data have been cut."""

    training: FileTraining
    schema: Schema
    classifier: Classifier
    data: PartedData
    plan: Plan

    @property
    def size(self) -> int:
        """Bytes that all passes read."""
        return self.data.size * self.plan.epochs

    def run(self, runner: Runner, on_report: OnReport = lambda report: None) -> DistributedRun:
        """Carry out the plan; an error leaves no half-trained model behind."""
        with one_blas_thread():
            start = pack(SavedModel.from_classifier(self.classifier))
        run = DistributedRun(runner, start, self.training.rule, on_report)
        calibrate = True
        for epoch in range(1, self.plan.epochs + 1):
            before = run.seen
            rounds = [[self.data.part(*stretch) for stretch in one] for one in self.plan.stretches(epoch)]
            first = self.plan.first_round if epoch == 1 else 1
            run.run_rounds(
                [self._task(Place(epoch, number, i + 1), part, calibrate) for i, part in enumerate(parts)]
                for number, parts in enumerate(rounds, first)
            )
            calibrate = not unpack(run.model).learner.learns_by_heart(run.seen - before)
        return run

    def _task(self, place: Place, part: Any, calibrate: bool) -> LearnFiles:
        given = self.training
        return LearnFiles(
            place,
            part,
            self.schema,
            given.options,
            probabilities=given.probabilities,
            calibrate=calibrate,
            shuffle_buffer=given.shuffle_buffer,
            seed=given.seed,
            skip_unreadable=given.options.skips,
        )

    def warnings(self, run: DistributedRun) -> list[str]:
        """Return what the user should know about the parts."""
        own = [report.seen for report in run.reports if report.place.epoch == 1]
        examples = sum(own)
        found = few_examples(examples, self.plan.parts)
        if self.plan.parts > 1 and max(own) > _LARGEST_SHARE * examples:
            found.append(
                f"one task learned {max(own):,} of {examples:,} examples, so training was hardly parallel; compressed "
                "and remote files are not split: decompress them, or use many smaller ones"
            )
        failed = [report for report in run.reports if report.error]
        if failed:
            found.append(f"parts that could not be read were left out: {len(failed)}; the first: {failed[0].error}")
        return found

    def trained_model(
        self,
        run: DistributedRun,
        *,
        settings: Mapping[str, Any] = MappingProxyType({}),
        **about: Any,
    ) -> TrainedModel:
        """Return the model with a record of the run; `about` are fields of `Record` that the caller knows."""
        given = self.training.model
        resumed = given if isinstance(given, TrainedModel) else None
        model = after_training(unpack(run.model).learner, self.schema, resumed)
        return replace(model, record=record_of(run, self.plan, model, settings, **about))


def train(
    data: Source | Batch | Sequence[Source | Batch],
    algorithm: str | TrainedModel = "scw1",
    *,
    runner: Runner | None = None,
    parts: int | None = None,
    rounds: int | None = None,
    epochs: int = 1,
    shuffle_buffer: int = 0,
    seed: int = 0,
    on_error: str = "raise",
    on_report: OnReport = lambda report: None,
    rule: str = "auto",
    reading: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> TrainedModel:
    """Train a model on files, split into parts that workers learn in parallel.

    The model depends on the data, `parts`, `rounds` and the settings; not on the runner, its workers, or which of them
    died.

    Parameters
    ----------
    data : path, pattern, URL, or list of them
        Files of one format, compressed or not.
    algorithm : str or TrainedModel
        Name of the algorithm, or "auto" for the committee; or the model to continue training, which is not changed.
    runner : Runner, optional
        Where to train: `Processes(n)`, `DaskRunner(client)`, `SparkRunner(session)` or `Serial()`. By default, as many
        processes as there are processors.
    parts : int, optional
        Into how many parts the data is split; by default one for each 256 MB, from 2 to 128.
    rounds : int, optional
        How many times all parts are merged in a pass; 4 by default.
    epochs : int
        Passes over the data.
    shuffle_buffer : int
        Size of the buffer in which the examples of each part are shuffled; 0 for no shuffling.
    seed : int
        Random seed for shuffling.
    on_error : {"raise", "skip"}
        Whether an example or a part that cannot be read is an error, or left out.
    on_report : callable, optional
        Called with the `Report` of each task when it has ended.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge; see `scwlearn.merge`.
    reading : mapping
        What else `scwlearn.data.reading.read_batches` should know: `format`, `label`, `weight`, `features` and so on.
    **settings
        Parameters of the algorithm and settings of the model, as for `StreamClassifier`.

    Returns
    -------
    TrainedModel
        `to_model` makes an estimator or a `StreamClassifier` of it, `write` saves it, and `record` tells how it was
        trained.

    Raises
    ------
    UnreadablePart
        If a part cannot be read; nothing is learned.
    OtherVersion
        If a worker has another version of scwlearn.
    WorkerDied
        If a task has killed too many workers.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn.distributed import Serial, train
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "mails.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("label,subject\\n" + "spam,offer\\nham,meeting\\n" * 2000)
    ...     model = train(path, runner=Serial(), parts=2).to_model()
    >>> model.predict_one({"subject": "offer"}), model.counts.seen
    ('spam', 4000)
    """
    if not isinstance(runner, Runner | None):
        raise TypeError(f"runner must be a runner, such as Processes(4), got {runner!r}")
    began = datetime.now(UTC).isoformat(timespec="seconds")
    sources: list[Any] = [*data] if isinstance(data, list | tuple) else [data]
    model, reading = _model(algorithm, settings, reading)
    training = FileTraining(
        sources,
        model,
        ReaderOptions(on_error=on_error),
        reading,
        parts,
        rounds,
        epochs,
        shuffle_buffer=check_int("shuffle_buffer", shuffle_buffer, minimum=0),
        seed=check_int("seed", seed, minimum=0),
        rule=rule,
    )
    prepared = training.prepare()
    if runner is None:
        with Processes() as processes:
            run = prepared.run(processes, on_report)
    else:
        run = prepared.run(runner, on_report)
    names = [source.source if isinstance(source, Batch) else source_name(source) for source in sources]
    run.check_seen(names)
    skipped = SkippedRecords()
    run.count_skipped(skipped)
    messages = prepared.warnings(run)
    if skipped.count:
        messages.append(f"examples that could not be read were skipped: {skipped.count}; the first: {skipped.first[0]}")
    for message in messages:
        warnings.warn(message, DataWarning, stacklevel=2)
    about = {"seed": seed, "shuffle_buffer": shuffle_buffer}
    return prepared.trained_model(run, sources=names, settings=about, command="", began=began, skipped=skipped.count)


def _model(
    algorithm: str | TrainedModel, settings: Mapping[str, Any], reading: Mapping[str, Any]
) -> tuple[ModelConfig | TrainedModel, Mapping[str, Any]]:
    """Return the model to train, and how its data are read."""
    if isinstance(algorithm, TrainedModel):
        if settings:
            raise TypeError(f"a trained model keeps its settings; drop {', '.join(settings)}")
        return algorithm, reading
    misplaced = settings.keys() & signature(read_batches).parameters.keys()
    if misplaced:
        name = min(misplaced)
        raise TypeError(f"{name} is about reading the data; pass reading={{{name!r}: {settings[name]!r}}}")
    return ModelConfig(AUTO if algorithm == AUTO.name else find_rule(algorithm), {}, settings), reading
