"""Evaluate a trained model on labelled examples, with the metrics of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.run_record import Baseline
from scwlearn.runs.batches import check_label_type, training_labels
from scwlearn.runs.coverage import Coverage, CoverageCounter
from scwlearn.runs.metrics import MAX_CONFUSION_CLASSES, majority_baseline
from scwlearn.runs.predict import predict
from scwlearn.runs.trained_model import TrainedModel

Array = NDArray[np.float64]
Ranks = NDArray[np.intp]

#: Bins of equal width of the expected calibration error.
BINS = 15


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a model; a metric that is undefined is None, and `notes` says why."""

    examples: int
    accuracy: float
    balanced_accuracy: float
    f1_macro: float
    #: Of the second of two classes.
    f1: float | None
    log_loss: float | None
    #: From 0 to 1 for two classes, from 0 to 2 for more.
    brier: float | None
    #: Expected calibration error.
    ece: float | None
    #: Area under the ROC curve; for more than two classes, the mean of each against the rest.
    auc: float | None
    #: Classes of the model, then labels that it does not know.
    classes: list[Any]
    #: Rows: true class; columns: predicted class. None for too many classes.
    confusion: list[list[float]] | None
    #: Whether the data have weights.
    weighted: bool
    #: Weighted as the accuracy is.
    baseline: Baseline
    features: Coverage
    notes: dict[str, str] = field(default_factory=dict)


def evaluate(model: TrainedModel, batches: Iterable[Batch]) -> Evaluation:
    """Evaluate a model on labelled examples, without learning from them; labels and probabilities stay in memory.

    Raises ValueError if there are no examples, their labels are of another type, or all have weight 0.
    """
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score

    known = classes = model.classifier.classes
    results, counter = [], CoverageCounter(model)
    for examples in batches:
        labels = training_labels(examples)
        check_label_type(labels, known, examples)
        found = classes.find(labels)
        classes = classes.add(found.new)
        predictions = predict(model, examples, counter=counter)
        weights = np.ones(len(labels)) if examples.weights is None else examples.weights
        results.append((found.numbers, predictions.ranks, predictions.probabilities, weights))
    if not results:
        raise ValueError("there are no examples to evaluate on")
    numbers, predicted, probabilities, weights = (np.concatenate(parts) for parts in zip(*results, strict=True))
    if not weights.any():
        raise ValueError("all examples have weight 0")
    used = None if (weights == 1).all() else weights
    # Known classes sorted by label, then the others in order of appearance.
    order = np.concatenate([known.order, np.arange(len(known), len(classes))]).astype(np.intp)
    truth = np.argsort(order)[numbers]
    is_known = truth < len(known)
    notes: dict[str, str] = {}
    if not is_known.all():
        notes["labels"] = (
            f"{int((~is_known).sum())} of {len(truth)} examples have labels that the model does not know: they count "
            "as wrong, and are left out of log-loss, Brier score, ECE and AUC"
        )
    known_weights = None if used is None else used[is_known]
    weighted: dict[str, Any] = {"sample_weight": used}
    options = weighted | {"zero_division": 0.0}
    confusion = None
    with warnings.catch_warnings():
        # Of scikit-learn, about classes without examples, and data of a single class.
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true|A single label was found")
        if len(classes) <= MAX_CONFUSION_CLASSES:
            table = confusion_matrix(truth, predicted, labels=np.arange(len(classes)), **weighted)
            confusion = table[:, : len(known)].tolist()
        return Evaluation(
            examples=len(truth),
            accuracy=float(accuracy_score(truth, predicted, **weighted)),
            balanced_accuracy=float(balanced_accuracy_score(truth, predicted, **weighted)),
            f1_macro=float(f1_score(truth, predicted, average="macro", **options)),
            f1=float(f1_score(truth == 1, predicted == 1, **options)) if len(known) == 2 else None,
            **_probability_metrics(probabilities[is_known], truth[is_known], known_weights, notes),
            classes=[classes.values[i] for i in order],
            confusion=confusion,
            weighted=used is not None,
            baseline=majority_baseline([classes.values[i] for i in order], np.bincount(truth, weights)),
            features=counter.result(),
            notes=notes,
        )


def _probability_metrics(
    probabilities: Array, truth: Ranks, weights: Array | None, notes: dict[str, str]
) -> dict[str, Any]:
    """Return the metrics of probabilities for examples of known classes; `notes` receives why one is undefined."""
    count = probabilities.shape[1]
    reason = ""
    if count < 2:
        reason = "the model knows only one class"
    elif not len(truth):
        reason = "the model knows none of the labels"
    elif weights is not None and not weights.any():
        reason = "all examples of known classes have weight 0"
    if reason:
        names = ("log_loss", "brier", "ece", "auc")
        notes |= dict.fromkeys(names, reason)
        return dict.fromkeys(names)
    from sklearn.metrics import brier_score_loss, log_loss

    if count == 2:
        brier = brier_score_loss(truth == 1, probabilities[:, 1], sample_weight=weights)
    else:
        brier = np.average(np.square(probabilities - np.eye(count)[truth]).sum(axis=1), weights=weights)
    return {
        "log_loss": float(log_loss(truth, probabilities, labels=np.arange(count), sample_weight=weights)),
        "brier": float(brier),
        "ece": calibration_error(probabilities, truth, weights),
        "auc": _auc(probabilities, truth, weights, notes),
    }


def _auc(probabilities: Array, truth: Ranks, weights: Array | None, notes: dict[str, str]) -> float | None:
    from sklearn.metrics import roc_auc_score

    counts = np.bincount(truth, None if weights is None else weights > 0, minlength=probabilities.shape[1])
    present = np.flatnonzero(counts)
    if len(present) < 2:
        notes["auc"] = "the data have examples of only one class"
        return None
    if len(counts) == 2:
        return float(roc_auc_score(truth == 1, probabilities[:, 1], sample_weight=weights))
    if len(present) < len(counts):
        notes["auc"] = f"mean of the {len(present)} classes with examples, of {len(counts)}"
    return float(np.mean([roc_auc_score(truth == c, probabilities[:, c], sample_weight=weights) for c in present]))


def calibration_error(probabilities: Array, truth: Ranks, weights: Array | None = None) -> float:
    """Compute the expected calibration error, in bins of equal width; `truth` is the column of the true class.

    For two classes it is that of the probability of the second; for more, of the largest probability.
    """
    if probabilities.shape[1] == 2:
        confidence, right = probabilities[:, 1], truth == 1
    else:
        top = probabilities.argmax(axis=1)
        confidence, right = probabilities[np.arange(len(top)), top], truth == top
    total = np.ones(len(confidence)) if weights is None else weights
    bins = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    return float(np.abs(np.bincount(bins, (confidence - right) * total, BINS)).sum() / total.sum())
