"""The record of a distributed training, put together from the reports of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.data.run_record import Baseline, LearnedPart, Pass, Point, Record
from scwlearn.distributed.plan import Plan
from scwlearn.distributed.run import DistributedRun
from scwlearn.distributed.tasks import Report
from scwlearn.runs.metrics import ProbabilityMetrics, majority_baseline
from scwlearn.runs.train import TOP_WEIGHTS
from scwlearn.runs.trained_model import TrainedModel


def record_of(
    run: DistributedRun, plan: Plan, model: TrainedModel, settings: Mapping[str, Any], **about: Any
) -> Record:
    """Return the record of a run.

    Parameters
    ----------
    run : DistributedRun
        The run, which has ended.
    plan : Plan
        Its plan.
    model : TrainedModel
        The result.
    settings : mapping
        Settings of the run that are not those of the model.
    **about
        Fields of `Record` that only the caller knows: the sources, the command, when it began.
    """
    classifier = model.classifier
    labels = classifier.classes.values_in_order
    totals = Totals(labels, run.reports)
    return Record(
        version=__version__,
        algorithm=model.rule.name,
        parameters=model.parameters,
        settings={
            **model.settings,
            "covariance": classifier.covariance_kind,
            **settings,
            "parts": plan.parts,
            "rounds": plan.rounds,
        },
        classes=list(labels),
        n_features=model.n_features,
        curve=_curve(run, classifier.count_nonzero()),
        epochs=plan.epochs,
        passes=_passes(run, plan.epochs),
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
    return [*points[:-1], points[-1]._replace(nonzero=nonzero)] if points else []


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
