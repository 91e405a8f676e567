"""The tasks of a distributed training, as pure functions: learn from a part of the data, and merge models.

A task gets the model that all tasks of its round go on from, as bytes, and returns what has changed since. It runs with
one thread: more threads of BLAS would change the last bits of a merge.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from scwlearn import __version__
from scwlearn._util.threads import one_thread
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.parts import Part, read_part
from scwlearn.data.schema import Schema
from scwlearn.distributed.errors import OtherVersion, UnreadablePart
from scwlearn.distributed.plan import tree
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.counters import Counts
from scwlearn.learning.merging import merge_group
from scwlearn.learning.merging.gaussians import check_merge_rule, check_same
from scwlearn.runs.train import TrainingRun
from scwlearn.runs.trained_model import TrainedModel

# Errors of skipped examples that a part describes.
_DESCRIBED_ERRORS = 3


@dataclass(frozen=True)
class Place:
    """Which task of a plan it is. Epochs, rounds and parts count from 1; round 0 is the warm-up."""

    epoch: int
    round: int
    part: int

    def __str__(self) -> str:
        """Return the place in words."""
        stage = f"round {self.round}, part {self.part}" if self.round else "warm-up"
        return stage + (f" of epoch {self.epoch}" if self.epoch > 1 else "")


@dataclass(frozen=True)
class Report:
    """What a task learned from, in JSON values; labels, counts and confusion are in one order.

    Examples
    --------
    >>> from scwlearn.distributed import train
    >>> def show(report):
    ...     print(report.place, report.seen, report.mistakes / max(1, report.seen))
    >>> trained = train("clicks.csv", on_report=show)  # doctest: +SKIP
    """

    place: Place
    data: str
    #: About how many bytes the task read.
    size: int = 0
    seen: int = 0
    mistakes: int = 0
    updates: int = 0
    seconds: float = 0.0
    #: Numbers of examples and of mistakes, at powers of two and at the end.
    curve: list[tuple[int, int]] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    label_counts: list[int] = field(default_factory=list)
    looks_sorted: bool = False
    confusion: list[list[int]] | None = None
    #: `ProbabilityMetrics.sums`, as lists.
    probabilities: list[Any] = field(default_factory=list)
    uneven_features: str = ""
    skipped: int = 0
    unlabelled: int = 0
    #: The arguments of each `DataError`.
    first_errors: list[dict[str, Any]] = field(default_factory=list)
    #: Why nothing was learned, if the part could not be read.
    error: str = ""
    #: Bytes of what changed in the model, and the largest memory of the worker so far.
    sent: int = 0
    memory: int = 0

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Report:
        """Return a report from JSON values."""
        return cls(**value | {"place": Place(**value["place"])})

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Learned:
    """The result of a task: what has changed in the model, or the whole model, and how it came about."""

    model: bytes
    reports: tuple[Report, ...] = ()
    #: Seconds of merging, of this task and of those whose results it merged.
    merging: float = 0.0


class Sized(Protocol):
    """A task of a known size."""

    @property
    def size(self) -> int:
        """About how many bytes it reads; 0 if there is nothing to learn."""


class Task(Sized, Protocol):
    """A task that learns. It can be pickled, and its result depends on nothing but itself and the model."""

    @property
    def place(self) -> Place:
        """Which task of the plan it is."""

    def __call__(self, start: bytes) -> Learned:
        """Go on from a packed model."""


@dataclass(frozen=True)
class LearnFiles:
    """A task that learns from a part of files."""

    place: Place
    part: Part
    schema: Schema
    options: ReaderOptions
    probabilities: bool = False
    calibrate: bool = True
    shuffle_buffer: int = 0
    seed: int = 0
    #: Whether a part that cannot be read is left out.
    skip_unreadable: bool = False
    version: str = __version__

    @property
    def size(self) -> int:
        """Bytes of the part."""
        return self.part.size

    def __call__(self, start: bytes) -> Learned:
        """Learn from the part."""
        check_version(self.version)
        began = time.perf_counter()
        skipped = SkippedRecords()
        place = self.place
        seed = np.random.SeedSequence([self.seed, place.epoch, place.round, place.part]).generate_state(1)[0]
        run = TrainingRun(
            unpack(start).learner,
            shuffle_buffer=self.shuffle_buffer,
            seed=int(seed),
            probabilities=self.probabilities,
            calibrate=self.calibrate,
            coarse_curve=True,
        )
        # The schema says how the columns of the first file are read; later files may have others.
        known = {
            name: value for name, value in TrainedModel(run.classifier).reading.items() if name.startswith("known_")
        }
        options = replace(self.options, skipped=skipped, read_ahead=False, on_read=None, **known)
        try:
            with closing(read_part(self.part, self.schema, options)) as batches:
                run.run(lambda epoch: batches)
        except (OSError, ValueError) as error:
            unreadable = UnreadablePart(f"{place} ({self.part})", error)
            if not self.skip_unreadable:
                raise unreadable from error
            # Without hints, which would have to name options.
            why = unreadable.render(lambda option: None)
            return Learned(pack(unpack(start), start), (Report(place, str(self.part), self.size, error=why),))
        model = pack(SavedModel.from_classifier(run.classifier), start)
        about: dict[str, Any] = {
            "skipped": skipped.count,
            "unlabelled": skipped.unlabelled,
            "first_errors": [vars(error) for error in skipped.first[:_DESCRIBED_ERRORS]],
            "seconds": time.perf_counter() - began,
            "sent": len(model),
            "memory": peak_memory(),
        }
        return Learned(model, (Report(place, str(self.part), self.size, **_results(run), **about),))


def _results(run: TrainingRun) -> dict[str, Any]:
    """Return the fields of a report that a run knows."""
    if not run.has_begun:
        return {}
    counts, metrics, classes = run.counts, run.metrics, run.classifier.classes
    by_number = metrics.label_counts.counts
    labels = classes.values
    confusion = metrics.confusion(classes)
    return {
        "seen": counts.seen,
        "mistakes": counts.mistakes,
        "updates": counts.updates,
        "curve": [(point.seen, point.mistakes) for point in run.points],
        "labels": classes.values_in_order,
        "label_counts": [by_number[labels.index(label)] for label in classes.values_in_order],
        "looks_sorted": metrics.label_counts.looks_sorted,
        "confusion": confusion,
        "probabilities": [*metrics.sums[:2], metrics.sums[2].tolist()],
        "uneven_features": run.uneven_features,
    }


def merge_learned(
    start: bytes,
    learned: Sequence[Learned],
    *,
    count: int = 1,
    rule: str = "auto",
    whole: bool = False,
    version: str = __version__,
) -> Learned:
    """Merge the results of tasks that went on from the same model.

    Parameters
    ----------
    start : bytes
        The packed model that they went on from.
    learned : sequence of Learned
        Results of `Task` or of this function, in the order of the plan.
    count : int
        How many tasks of the whole round have something to learn, which sets the damping of "auto"; 1 above the first
        level of the tree, where it has been applied.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    whole : bool
        Whether to return the whole model, not what has changed.
    version : str
        Version of scwlearn that made the plan.

    Returns
    -------
    Learned
        The merged model, with all reports.
    """
    check_version(version)
    began = time.perf_counter()
    with one_thread():
        models = [unpack(each.model, start, copy=False) for each in learned]
        merged = _merged(unpack(start, copy=False), models, rule, count)
    model = pack(merged) if whole else pack(merged, start)
    reports = tuple(report for each in learned for report in each.reports)
    seconds = time.perf_counter() - began + sum(each.merging for each in learned)
    return Learned(model, reports, seconds)


#: The numbers of some results, and the function of the start model and of these results that merges them.
MergeStep = tuple[list[int], Callable[..., Learned]]


def merge_steps(tasks: Sequence[Sized], rule: str = "auto") -> list[list[MergeStep]]:
    """Return how the results of tasks are merged: levels of groups of the results of the level below.

    The last level has one group, whose result is the whole model. Runners call this first, so that nothing is learned
    if the rule is unknown.
    """
    check_merge_rule(rule)
    learning = max(1, sum(task.size > 0 for task in tasks))
    levels: list[list[MergeStep]] = []
    for height, level in enumerate(tree(len(tasks))):
        count, whole = 1 if height else learning, len(level) == 1
        merge = partial(merge_learned, count=count, rule=rule, whole=whole, version=__version__)
        levels.append([(group, merge) for group in level])
    return levels


def _merged(start: SavedModel, models: Sequence[SavedModel], rule: str, count: int) -> SavedModel:
    before = start.learner if start.learner is not None and start.learner.is_fitted else None
    seen = 0 if before is None else before.counts.seen
    moved = [each for each in models if each.learner is not None and each.learner.counts.seen > seen]
    if not moved:
        return start
    first = moved[0]
    if len(moved) == count == 1:
        # One stream: a merge would do no more than round, and choose the weights of a committee anew.
        return first
    for each in moved:
        names, others = (one.attributes.get("feature_names_in_") for one in (first, each))
        check_same("feature_names_in_", names, others, "a part", "another")
    learner = merge_group([each.learner for each in moved], rule, before, count)
    width = {"n_features_in_": learner.learner.n_features} if "n_features_in_" in first.attributes else {}
    return replace(first, learner=learner, attributes=first.attributes | width)


def seen_by(packed: bytes) -> int:
    """Return how many examples a packed model has learned from."""
    learner = unpack(packed, copy=False).learner
    return learner.counts.seen if learner is not None and learner.is_fitted else 0


def check_version(version: str) -> None:
    """Raise an error if this process has another version of scwlearn than the one that made the plan."""
    if version != __version__:
        raise OtherVersion(
            f"a worker has scwlearn {__version__}, but the plan was made with {version}; install the same version on "
            "all workers"
        )


def peak_memory() -> int:
    """Return the largest memory of this process so far in bytes; 0 where it is not known."""
    try:
        # Linux's getrusage counts the process that started this one, too.
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return _peak_of_usage()


def _peak_of_usage() -> int:
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def learn_rows(
    start: bytes, x: Any, y: Any, weights: Any = None, *, place: Place, data: str = "", version: str = __version__
) -> Learned:
    """Go on from a packed model with examples in memory.

    Parameters
    ----------
    start : bytes
        An estimator or a `StreamClassifier`, packed.
    x : array, sparse matrix, data frame, or list of dicts
        The examples, as `partial_fit` or `learn_many` of the model accepts them.
    y, weights : array-like
        Their labels and, if given, their weights.
    place : Place
        Which task of the plan it is.
    data : str
        What the examples are, for messages.
    version : str
        Version of scwlearn that made the plan.

    Returns
    -------
    Learned
        What has changed in the model, and a report.

    Raises
    ------
    UnreadablePart
        If the model cannot learn from the examples.
    """
    check_version(version)
    began = time.perf_counter()
    saved = unpack(start)
    about: dict[str, Any] = {}
    if len(y):
        model = saved.to_model()
        before = Counts() if saved.learner is None else saved.learner.counts
        try:
            learn_local(model, x, y, weights)
        except (TypeError, ValueError) as error:
            raise UnreadablePart(f"{place}{data and f' ({data})'}", error) from error
        saved = SavedModel.from_model(model)
        done = saved.learner.counts - before
        about = {"seen": done.seen, "mistakes": done.mistakes, "updates": done.updates}
        about["curve"] = [(done.seen, done.mistakes)]
    packed = pack(saved, start)
    about |= {"seconds": time.perf_counter() - began, "sent": len(packed), "memory": peak_memory()}
    return Learned(packed, (Report(place, data, **about),))


def learn_local(model: Any, x: Any, y: Any, weights: Any = None) -> None:
    """Have a local model learn examples in the way of its kind."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(x, y, sample_weight=weights)
    else:
        model.learn_many(x, y, weights)
