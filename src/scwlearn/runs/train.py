"""Training runs: passes over the data, with holdout, checkpoints and a record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from heapq import merge
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn import __version__
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.io.errors import DataError
from scwlearn.data.run_record import Baseline, Pass, Point, Record
from scwlearn.data.schema import Schema
from scwlearn.data.shuffle import shuffled
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.counters import Counts
from scwlearn.learning.data_warnings import has_many_labels
from scwlearn.learning.examine import describe_sizes
from scwlearn.learning.progressive import ProgressiveValidation, curve_steps, is_curve_step
from scwlearn.runs.batches import check_label_type, learned_examples, numbers_as_names, training_labels
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.metrics import ProgressiveMetrics, label_ranks, log_losses, majority_baseline
from scwlearn.runs.trained_model import TrainedModel, after_training
from scwlearn.runs.warnings import many_labels

#: Largest weights of each class in a record.
TOP_WEIGHTS = 20
# Examples that show whether labels are classes.
_ENOUGH = 1024


@dataclass(eq=False)
class TrainingRun:
    """A training run with progressive validation.

    The first batch decides whether features have names and whether labels are numbers.
    """

    #: Algorithm and settings of a new model, or a trained classifier to continue with.
    model: ModelConfig | Classifier
    _: KW_ONLY
    #: The model that the classifier belongs to, if training resumes; see `after_training`.
    resumed: TrainedModel | None = None
    epochs: int = 1
    #: Fraction of the examples that is kept apart for `holdout_metrics`; 0.1 is every tenth.
    holdout: float = 0.0
    #: Examples that are shuffled at a time, other than those that are kept apart; 0 for none. Each epoch has its order.
    shuffle_buffer: int = 0
    seed: int = 0
    #: Whether to judge probabilities, too.
    probabilities: bool = False
    #: Whether the probabilities learn in the first epoch, too; later ones decide for themselves.
    calibrate: bool = True
    #: Call `on_save` each time that the number of examples is a multiple of it.
    save_every: int | None = None
    #: Number of threads for classes or members that learn without each other.
    jobs: int = 1
    #: Whether the curve has points at powers of two only, as many short runs need.
    coarse_curve: bool = False
    #: What a trained classifier counted before, as part of this run.
    before: Counts = field(default_factory=Counts)
    #: Called at each power of two examples, and when the model should be saved.
    on_doubling: Callable[[Point], None] | None = None
    on_save: Callable[[], None] = lambda: None
    #: Called early, with what is suspicious about the data.
    on_warning: Callable[[str], None] = lambda text: None
    clock: Callable[[], float] = time.perf_counter
    points: list[Point] = field(default_factory=list, init=False)
    passes: list[Pass] = field(default_factory=list, init=False)
    held_out: list[Batch] = field(default_factory=list, init=False)
    #: Whether there was an example to learn from.
    has_begun: bool = field(default=False, init=False)
    #: Examples seen when the model was last saved on the way.
    saved: int = field(default=0, init=False)
    #: Once the run has begun.
    metrics: ProgressiveMetrics = field(init=False)
    _started: float = field(default=0.0, init=False)
    _has_warned: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        saves = () if self.save_every is None else count(self.save_every, self.save_every)
        steps = (2**k for k in count()) if self.coarse_curve else curve_steps()
        self._validation = ProgressiveValidation(merge(steps, saves), self.before)

    @property
    def counts(self) -> Counts:
        """What happened since the run began."""
        return self._validation.counts

    @property
    def log_loss(self) -> float | None:
        """Log-loss so far; None without probabilities."""
        return self.metrics.log_loss if self.has_begun else None

    @property
    def classifier(self) -> Classifier:
        """The classifier so far; a ValueError before the first example of a new one."""
        if isinstance(self.model, ModelConfig):
            raise ValueError("the model has not been trained yet")
        return self.model

    @property
    def uneven_features(self) -> str:
        """The sizes of features in words if they differ too much; numbers count from 1, as in files."""
        uneven = self.classifier.findings and self.classifier.findings.uneven_features
        return describe_sizes(uneven, "feature", first=1) if uneven else ""

    def run(self, read: Callable[[int], Iterable[Batch]]) -> None:
        """Learn from the batches that `read` returns for each epoch, from 0, in the order of the data."""
        for epoch in range(self.epochs):
            before = self.counts
            batches = self._hold_out(learned_examples(read(epoch), self.model), keep=epoch == 0)
            for part in shuffled(batches, self.shuffle_buffer, self.seed + epoch):
                self.learn(part)
            done = self.counts - before
            self.calibrate = not (self.has_begun and self.classifier.learns_by_heart(done.seen))
            self.passes.append(Pass(done.seen, done.mistakes, done.updates))
        self.finish()

    def learn(self, examples: Batch) -> None:
        """Learn from a batch; after an error, the classifier has learned everything up to the last checkpoint."""
        labels = training_labels(examples)
        if not self.has_begun:
            self._begin(labels)
        check_label_type(labels, self.classifier.classes, examples)
        if self.classifier.config.max_features is not None:
            examples = numbers_as_names(examples)

        def learn(start: int, stop: int) -> Counts:
            part = examples if stop - start == len(examples) else examples.slice(start, stop)
            return self._learn(part, labels[start:stop])

        for counts in self._validation.learn(len(examples), learn):
            self._at_checkpoint(counts)
        # The parts may have been too short to tell anything.
        learned = self.classifier.class_weights.rows_of_weight(labels, None, examples.weights)
        self.classifier.examine(examples.x, labels[learned], learned)

    def finish(self) -> None:
        """Add the last point of the learning curve; batches that were learned without `run` are one pass."""
        if self.has_begun:
            self.passes = self.passes or [Pass(self.counts.seen, self.counts.mistakes, self.counts.updates)]
            self.points = [point for point in self.points if point.seen < self.counts.seen]
            self.points.append(self._with_nonzero(self._point()))

    def holdout_metrics(self) -> dict[str, float] | None:
        """Return count, error and, if asked for, log-loss of the held-out examples; None without any."""
        if not self.has_begun or not self.held_out:
            return None
        from scwlearn.runs.predict import predict

        classes = self.classifier.classes
        ranks = np.append(label_ranks(classes), -1)
        seen, weight, mistakes, known_weight, loss = 0, 0.0, 0.0, 0.0, 0.0
        for examples in self.held_out:
            predicted, weights = predict(TrainedModel(self.classifier), examples), _weights(examples)
            # -1 for a label that was never learned.
            truth = ranks[np.minimum(classes.find(training_labels(examples)).numbers, len(classes))]
            seen, weight = seen + len(truth), weight + float(weights.sum())
            mistakes += float(weights[predicted.ranks != truth].sum())
            known = truth >= 0
            if self.probabilities and predicted.probabilities is not None and len(classes) > 1:
                known_weight += float(weights[known].sum())
                loss += float(weights[known] @ log_losses(predicted.probabilities[known], truth[known]))
        result = {"count": seen, "error": mistakes / weight}
        return result | {"log_loss": loss / known_weight} if known_weight else result

    def holdout_baseline(self) -> Baseline | None:
        """Return the baseline of the held-out examples; None without any."""
        counts: Counter[Any] = Counter()
        for examples in self.held_out:
            values, places = np.unique(training_labels(examples), return_inverse=True)
            counts.update(dict(zip(values.tolist(), np.bincount(places, _weights(examples)).tolist(), strict=True)))
        labels = sorted(counts)
        return majority_baseline(labels, [counts[label] for label in labels]) if labels else None

    def trained_model(
        self,
        schema: Schema | None,
        *,
        sources: Iterable[str],
        settings: Mapping[str, Any] = MappingProxyType({}),
        finished: bool = True,
        **about: Any,
    ) -> TrainedModel:
        """Return the model with a record of the run so far; `about` are fields of `Record` that the caller knows.

        Only a finished run has top weights and holdout metrics.
        """
        classifier = self.classifier
        model = after_training(classifier, schema, self.resumed)
        record = Record(
            version=__version__,
            sources=list(sources),
            algorithm=model.rule.name,
            parameters=model.parameters,
            settings={**model.settings, "covariance": classifier.covariance_kind, **settings},
            classes=list(classifier.classes.values_in_order),
            n_features=model.n_features,
            curve=list(self.points),
            epochs=self.epochs,
            passes=list(self.passes),
            baseline=self.metrics.label_counts.baseline(classifier.classes.values),
            sorted_labels=self.metrics.label_counts.looks_sorted,
            uneven_features=self.uneven_features,
            reliability=self.metrics.reliability(),
            confusion=self.metrics.confusion(classifier.classes),
            top_weights=model.record_weights(TOP_WEIGHTS) if finished else {},
            holdout=self.holdout_metrics() if finished else None,
            holdout_baseline=self.holdout_baseline() if finished else None,
            **about,
        )
        return replace(model, record=record)

    def _begin(self, labels: NDArray[Any]) -> None:
        if isinstance(self.model, ModelConfig):
            self.model = self.model.for_labels(labels).classifier()
        self.metrics = ProgressiveMetrics(self.model, probabilities=self.probabilities)
        self._started, self.has_begun = self.clock(), True

    def _learn(self, part: Batch, labels: NDArray[Any]) -> Counts:
        classifier = self.classifier
        if not isinstance(part.x, NamedRows):
            part = part.widened(classifier.widen(part.x.width, alone=True))
        try:
            return classifier.learn(
                part.x,
                labels,
                weights=part.weights,
                observer=self.metrics,
                calibrate=self.calibrate,
                jobs=self.jobs,
            )
        except ValueError:
            self._check_feature_counts(part)
            raise

    def _check_feature_counts(self, part: Batch) -> None:
        """Raise a DataError for the first example with more features than the model may have."""
        limit = self.classifier.config.max_features
        if limit is None or not isinstance(part.x, NamedRows):
            return
        for line, features in zip(part.lines.tolist(), part.x.dicts(), strict=True):
            if len(features) > limit:
                problem, found = f"an example has at most {limit} features", str(len(features))
                hint = "raise {max_features}"
                raise DataError(problem, found=found, source=part.source, line=line, hint=hint)

    def _at_checkpoint(self, counts: Counts) -> None:
        seen = counts.seen
        if self.save_every is None or is_curve_step(seen):
            point = self._point()
            self.points.append(point)
            if self.on_doubling is not None and seen & (seen - 1) == 0:
                # Counting weights takes as long as learning from a thousand examples; only a reader needs it.
                self.on_doubling(self._with_nonzero(point))
        if self.save_every is not None and seen % self.save_every == 0:
            self.on_save()
            self.saved = seen

        if seen >= _ENOUGH and seen & (seen - 1) == 0 and not self._has_warned:
            labels = len(self.classifier.classes)
            self._has_warned = has_many_labels(labels, seen)
            if self._has_warned:
                self.on_warning(many_labels(labels, seen))

    def _point(self) -> Point:
        counts, seconds = self.counts, self.clock() - self._started
        return Point(counts.seen, counts.mistakes, counts.updates, None, seconds, self.metrics.log_loss)

    def _with_nonzero(self, point: Point) -> Point:
        return point._replace(nonzero=self.classifier.count_nonzero())

    def _hold_out(self, batches: Iterable[Batch], *, keep: bool) -> Iterator[Batch]:
        """Yield the examples to learn from, if any; keep the others apart, the same in each epoch."""
        if not self.holdout:
            yield from batches
            return
        read = 0
        for examples in batches:
            numbers = read + np.arange(len(examples))
            read += len(examples)
            # An example is held out where the target count reaches the next integer.
            held_out = np.floor((numbers + 1) * self.holdout) > np.floor(numbers * self.holdout)
            kept = np.flatnonzero(held_out)
            if keep and len(kept):
                self.held_out.append(examples.take(kept))
            if not held_out.all():
                yield examples.take(np.flatnonzero(~held_out))


def _weights(examples: Batch) -> NDArray[np.float64]:
    return np.ones(len(examples)) if examples.weights is None else examples.weights
