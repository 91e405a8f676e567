"""Metrics of predictions that were made before learning: confusion matrix, log-loss, reliability, baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.labels import Classes, looks_sorted
from scwlearn.data.run_record import Baseline, Bin
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.lesson import ProgressiveScores

#: Confusion matrices of more classes than this are not kept.
MAX_CONFUSION_CLASSES = 100

_BINS = 10
# Floor of a probability, so that no single example dominates the log-loss.
_MIN_PROBABILITY = 1e-15


def log_losses(probabilities: NDArray[np.float64], truth: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return -log(probability of the true class) of each example."""
    own = probabilities[np.arange(len(probabilities)), truth]
    return -np.log(np.maximum(own, _MIN_PROBABILITY))


class ProbabilityMetrics:
    """Log-loss and reliability of predicted probabilities."""

    def __init__(self) -> None:
        self._loss, self._count = 0.0, 0
        # Columns: examples, sum of their largest probabilities, correct predictions.
        self._bins = np.zeros((_BINS, 3))

    def update(self, probabilities: NDArray[np.float64], truth: NDArray[np.intp]) -> None:
        """Add examples: their probabilities, and the column of the true class of each."""
        rows = np.arange(len(probabilities))
        self._loss += float(log_losses(probabilities, truth).sum())
        self._count += len(rows)
        best = probabilities.argmax(axis=1)
        confidence = probabilities[rows, best]
        bins = np.minimum((confidence * _BINS).astype(np.intp), _BINS - 1)
        for column, values in enumerate((np.ones(len(rows)), confidence, best == truth)):
            self._bins[:, column] += np.bincount(bins, values, minlength=_BINS)

    @property
    def log_loss(self) -> float | None:
        """Mean of -log(probability of the true class); None without examples."""
        return self._loss / self._count if self._count else None

    @property
    def sums(self) -> tuple[float, int, NDArray[np.float64]]:
        """What adds up over parts of the data: the sum of -log(probability), the examples, and the bins."""
        return self._loss, self._count, self._bins

    def add(self, loss: float, count: int, bins: ArrayLike) -> None:
        """Add the sums of other examples."""
        self._loss, self._count, self._bins = self._loss + loss, self._count + count, self._bins + np.asarray(bins)

    def reliability(self) -> list[Bin] | None:
        """Return how often the most likely class was right, by its probability; None without examples."""
        if not self._count:
            return None
        return [Bin(int(count), total / count, int(right)) for count, total, right in self._bins if count]


class LabelCounts:
    """Counts of labels and of their changes: the baseline of a run, and whether its labels are sorted."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._changes = 0
        self._last: Any = None

    def update(self, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> None:
        """Count the labels of the next batch; those of weight 0 are left out."""
        labels = labels if weights is None else labels[weights != 0]
        values, counts = np.unique(labels, return_counts=True)
        self._add(labels, dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def update_numbers(self, numbers: NDArray[np.int32]) -> None:
        """Count the labels of the next batch, given as class numbers, which need not be sorted."""
        counts = np.bincount(numbers)
        values = np.flatnonzero(counts)
        self._add(numbers, dict(zip(values.tolist(), counts[values].tolist(), strict=True)))

    def _add(self, labels: NDArray[Any], counts: dict[Any, int]) -> None:
        if not len(labels):
            return
        self._counts.update(counts)
        is_new = self._last is not None and bool(self._last != labels[0])
        self._changes += is_new + int(np.count_nonzero(labels[1:] != labels[:-1]))
        self._last = labels[-1]

    @property
    def counts(self) -> Counter[Any]:
        """The number of examples of each label."""
        return self._counts

    @property
    def labels(self) -> list[Any]:
        """The labels so far, sorted."""
        return sorted(self._counts)

    def baseline(self, names: Sequence[Any] | None = None) -> Baseline | None:
        """Return the baseline of all examples so far; None before the first. Labels may be places in `names`."""
        if not self._counts:
            return None
        labels = self.labels
        totals = [self._counts[label] for label in labels]
        return majority_baseline(labels if names is None else [names[number] for number in labels], totals)

    @property
    def looks_sorted(self) -> bool:
        """Whether the label changes far less often than in random order."""
        return looks_sorted(self._counts.values(), self._changes)


class ProgressiveMetrics(ProbabilityMetrics):
    """Metrics of each example before the classifier learns from it, those of probabilities if asked for."""

    def __init__(self, classifier: Classifier, *, probabilities: bool) -> None:
        super().__init__()
        self._probabilities, self._argmax_consistent = probabilities, classifier.argmax_consistent
        self._n_known = len(classifier.classes)
        # By class number; rows: true class.
        self._confusion = np.zeros((MAX_CONFUSION_CLASSES,) * 2, dtype=np.int64)
        self.label_counts = LabelCounts()

    def __call__(self, batch: ProgressiveScores) -> None:
        """Add examples with the scores that they had before learning."""
        snapshot = batch.snapshot
        # Before a second class appears, examples may be predicted as the class still to come, as in the mistake count.
        predicted = (batch.scores >= 0).astype(np.intp) if snapshot.is_binary else snapshot.predict(batch.scores)
        if len(snapshot.classes) <= MAX_CONFUSION_CLASSES:
            counts = np.bincount(batch.numbers * MAX_CONFUSION_CLASSES + predicted)
            self._confusion.reshape(-1)[: len(counts)] += counts
        self.label_counts.update_numbers(batch.numbers)
        if not self._probabilities:
            return
        seen = self._seen_before(batch.numbers)
        if len(snapshot.classes) > 1:
            scores, consistent = batch.scores[seen], self._argmax_consistent
            if batch.calibrated is None:
                probabilities = snapshot.probabilities(scores, batch.variances[seen], argmax_consistent=consistent)
            else:
                probabilities = snapshot.by_class(batch.calibrated[seen], scores, argmax_consistent=consistent)
            self.update(probabilities, label_ranks(snapshot.classes)[batch.numbers[seen]])

    def _seen_before(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which examples had a probability before them: two classes were known, and their own."""
        largest = np.maximum.accumulate(np.append(self._n_known - 1, numbers))
        self._n_known = int(largest[-1]) + 1
        seen: NDArray[np.bool_] = (numbers <= largest[:-1]) & (largest[:-1] >= 1)
        return seen

    def confusion(self, classes: Classes) -> list[list[int]] | None:
        """Return the confusion matrix in label order (rows: true class); None for too many classes."""
        if len(classes) > MAX_CONFUSION_CLASSES:
            return None
        ordered: list[list[int]] = self._confusion[np.ix_(classes.order, classes.order)].tolist()
        return ordered


def majority_baseline(labels: Sequence[Any], totals: Sequence[float] | NDArray[Any]) -> Baseline:
    """Return the baseline of examples, given their labels and the number or total weight of the examples of each."""
    top, total = int(np.argmax(totals)), float(np.sum(totals))
    return Baseline(labels[top], (total - float(totals[top])) / total)


def label_ranks(classes: Classes) -> NDArray[np.intp]:
    """Return the rank of each class number among the sorted labels."""
    ranks: NDArray[np.intp] = np.argsort(classes.order)
    return ranks
