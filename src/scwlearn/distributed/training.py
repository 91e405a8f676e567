"""Distributed training on files: the plan is made here, and any runner carries it out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn._util.checks import check_int
from scwlearn._util.threads import one_blas_thread
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.io.streams import Source, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.parts import PartedData
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema
from scwlearn.distributed.plan import ROUNDS, Plan, default_parts, few_examples, warm_up_of
from scwlearn.distributed.processes import Processes
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import Learned, LearnFiles, Place, Report, Task
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.rules import AUTO, find_rule
from scwlearn.runs.batches import training_labels
from scwlearn.runs.metrics import ProbabilityMetrics, majority_baseline
from scwlearn.runs.record import Baseline, LearnedPart, Pass, Point, Record, Round
from scwlearn.runs.train import TOP_WEIGHTS, ModelConfig
from scwlearn.runs.trained_model import TrainedModel

# A task that learns more than this share of all examples leaves little to the others.
_LARGEST_SHARE = 0.6

#: Called with the report of each task.
OnReport = Callable[[Report], None]


@dataclass
class DistributedRun:
    """A run of a plan: the model so far, and what its rounds report.

    Parameters
    ----------
    runner : Runner
        Where the tasks run.
    model : bytes
        The packed model to start from.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    on_report : callable, optional
        Called with the report of each task when it has ended.
    """

    runner: Runner
    model: bytes
    rule: str = "auto"
    on_report: OnReport = lambda report: None
    reports: list[Report] = field(default_factory=list, init=False)
    rounds: list[Round] = field(default_factory=list, init=False)
    #: Seconds since the beginning, after each round.
    seconds: list[float] = field(default_factory=list, init=False)
    _began: float = field(default_factory=time.perf_counter, init=False)

    def run_rounds(self, rounds: Iterable[Sequence[Task]]) -> None:
        """Run rounds, each from the merged model of the one before; after an error, the last merged model is kept."""
        with closing(self.runner.run_rounds(self.model, rounds, self.on_report, rule=self.rule)) as results:
            try:
                for learned in results:
                    self._take(learned)
            finally:
                # A runner may keep it elsewhere.
                self.model = bytes(self.model)

    def _take(self, learned: Learned) -> None:
        """Go on with the merged model of a round."""
        reports = sorted(learned.reports, key=lambda report: report.place.part)
        self.reports += reports
        place, sent = reports[0].place, sum(report.sent for report in reports)
        self.rounds.append(Round(place.epoch, place.round, len(self.model), sent, learned.merging))
        self.seconds.append(time.perf_counter() - self._began)
        self.model = learned.model

    def reports_of(self, one: Round) -> list[Report]:
        """Return the reports of a round."""
        return [each for each in self.reports if (each.place.epoch, each.place.round) == (one.epoch, one.round)]

    @property
    def seen(self) -> int:
        """Examples learned from."""
        return sum(report.seen for report in self.reports)

    def count_skipped(self, skipped: SkippedRecords) -> None:
        """Count what the tasks have skipped in the first pass."""
        for report in (each for each in self.reports if each.place.epoch == 1):
            skipped.count += report.skipped
            skipped.unlabelled += report.unlabelled
            skipped.first += [DataError(error) for error in report.first_errors][: skipped.keep - len(skipped.first)]


@dataclass(frozen=True)
class FileTraining:
    """A training on files, ready to run.

    Parameters
    ----------
    sources : sequence of paths, patterns, URLs or batches
        The data.
    model : ModelConfig or Classifier
        Algorithm and settings of a new model, or a trained classifier to continue with.
    options : ReaderOptions
        How to read; with ``on_error="skip"``, whole parts that cannot be read are left out as well.
    reading : mapping
        Arguments of `read_batches`: `schema`, or `format`, `label` and so on.
    parts, rounds, epochs : int or None
        See `Plan`; None for the default.
    """

    sources: Sequence[Source | Batch]
    model: ModelConfig | Classifier
    options: ReaderOptions = ReaderOptions()
    reading: Mapping[str, Any] = field(default_factory=dict)
    parts: int | None = None
    rounds: int | None = None
    epochs: int = 1
    probabilities: bool = False
    shuffle_buffer: int = 0
    seed: int = 0
    rule: str = "auto"

    def prepare(self) -> PreparedTraining:
        """Read the first examples, which decide how all are read, and cut the data."""
        sizes: list[int] = []
        options = replace(self.options, read_ahead=False, on_read=sizes.append)
        schema, batches = read_batches(self.sources, options=options, **self.reading)
        with closing(batches):
            first = next(batches)
        model, seen = self.model, 0
        if isinstance(model, ModelConfig):
            model = model.for_labels(training_labels(first)).classifier()
        elif model.is_fitted:
            seen = model.counts.seen
        data = PartedData(self.sources, schema, self.options)
        parts = default_parts(data.size) if self.parts is None else self.parts
        warm_up = warm_up_of(seen, data.estimated_examples(len(first), sum(sizes)))
        plan = Plan(parts, ROUNDS if self.rounds is None else self.rounds, self.epochs, warm_up)
        return PreparedTraining(self, schema, model, data, plan)


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

    def check_seen(self, run: DistributedRun, names: Sequence[str]) -> None:
        """Raise a ValueError if there was nothing to learn from."""
        if not run.seen:
            why = next((f"; {report.error}" for report in run.reports if report.error), "")
            raise ValueError(f"{', '.join(names)}: no examples to learn from{why}")

    def trained_model(
        self,
        run: DistributedRun,
        *,
        sources: Iterable[str],
        settings: Mapping[str, Any] = MappingProxyType({}),
        **about: Any,
    ) -> TrainedModel:
        """Return the model with a record of the run; `about` are fields of `Record` that the caller knows."""
        classifier: Classifier = unpack(run.model).learner
        schema = self.schema
        if isinstance(self.training.model, Classifier):
            # Which columns of a CSV file are numeric is known for the file only.
            schema = replace(schema, features=classifier.features)
        classifier.features = schema.features
        model = TrainedModel(classifier, schema)
        labels = classifier.classes.values_in_order
        totals = Totals(labels, run.reports)
        record = Record(
            version=__version__,
            sources=list(sources),
            algorithm=model.rule.name,
            parameters=model.parameters,
            settings={
                **model.settings,
                "covariance": classifier.covariance_kind,
                **settings,
                "parts": self.plan.parts,
                "rounds": self.plan.rounds,
            },
            classes=list(labels),
            n_features=model.n_features,
            curve=_curve(run, classifier.count_nonzero()),
            epochs=self.plan.epochs,
            passes=_passes(run, self.plan.epochs),
            baseline=totals.baseline,
            sorted_labels=any(report.looks_sorted for report in run.reports),
            uneven_features=next((r.uneven_features for r in run.reports if r.uneven_features), ""),
            reliability=totals.metrics.reliability(),
            confusion=totals.confusion,
            top_weights=model.record_weights(TOP_WEIGHTS),
            parts=[_learned_part(report) for report in run.reports],
            rounds=list(run.rounds),
            **about,
        )
        return replace(model, record=record)


class Totals:
    """The sums of reports, whose tasks may know different classes."""

    def __init__(self, labels: Sequence[Any], reports: Iterable[Report]) -> None:
        places = {label: place for place, label in enumerate(labels)}
        self._labels, self._counts = labels, np.zeros(len(labels))
        confusion: Any = np.zeros((len(labels), len(labels)), dtype=np.int64)
        self.metrics = ProbabilityMetrics()
        for report in reports:
            own = [places[label] for label in report.labels]
            self._counts[own] += report.label_counts
            if report.probabilities:
                self.metrics.add(*report.probabilities)
            if report.confusion is None and report.seen:
                confusion = None
            elif confusion is not None and report.confusion:
                confusion[np.ix_(own, own)] += np.array(report.confusion)
        #: None for too many classes.
        self.confusion: list[list[int]] | None = None if confusion is None else confusion.tolist()

    @property
    def baseline(self) -> Baseline | None:
        """The most frequent label; None without examples."""
        return majority_baseline(self._labels, self._counts) if self._counts.any() else None


def _curve(run: DistributedRun, nonzero: int) -> list[Point]:
    """Return the totals after each round."""
    points: list[Point] = []
    seen = mistakes = updates = 0
    metrics = ProbabilityMetrics()
    for one, seconds in zip(run.rounds, run.seconds, strict=True):
        own = run.reports_of(one)
        seen += sum(report.seen for report in own)
        mistakes += sum(report.mistakes for report in own)
        updates += sum(report.updates for report in own)
        for report in own:
            if report.probabilities:
                metrics.add(*report.probabilities)
        if not points or seen > points[-1].seen:
            points.append(Point(seen, mistakes, updates, None, seconds, metrics.log_loss))
    return [*points[:-1], replace(points[-1], nonzero=nonzero)] if points else []


def _passes(run: DistributedRun, epochs: int) -> list[Pass]:
    passes = []
    for epoch in range(1, epochs + 1):
        own = [report for report in run.reports if report.place.epoch == epoch]
        passes.append(Pass(sum(r.seen for r in own), sum(r.mistakes for r in own), sum(r.updates for r in own)))
    return passes


def _learned_part(report: Report) -> LearnedPart:
    place = report.place
    return LearnedPart(
        place.epoch, place.round, place.part, report.seen, report.mistakes, report.seconds, report.curve, report.error
    )


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
    prepared.check_seen(run, names)
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
) -> tuple[ModelConfig | Classifier, Mapping[str, Any]]:
    """Return the model to train, and how its data are read."""
    if isinstance(algorithm, TrainedModel):
        if settings:
            raise TypeError(f"a trained model keeps its settings; drop {', '.join(settings)}")
        return algorithm.classifier, {"schema": algorithm.schema, **reading}
    misplaced = settings.keys() & signature(read_batches).parameters.keys()
    if misplaced:
        name = min(misplaced)
        raise TypeError(f"{name} is about reading the data; pass reading={{{name!r}: {settings[name]!r}}}")
    return ModelConfig(AUTO if algorithm == AUTO.name else find_rule(algorithm), {}, settings), reading
