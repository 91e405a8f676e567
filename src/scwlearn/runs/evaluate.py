"""How well a model does on examples with labels: what scikit-learn's functions say of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples
from scwlearn.data.labels import Classes
from scwlearn.runs.predict import Predictor, Wanted
from scwlearn.runs.progressive import other_labels, training_labels
from scwlearn.runs.trained_model import Model

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

#: Up to so many classes there is a table of confusions: one of more cannot be read.
MOST_CLASSES = 100
#: Probabilities are compared with how often they come true in so many bins of equal width.
BINS = 15


@dataclass(frozen=True)
class Evaluation:
    """The figures; None where one means nothing, and then `notes` says why."""

    examples: int
    accuracy: float
    balanced_accuracy: float
    f1_macro: float
    #: Of the second of two classes.
    f1: float | None
    log_loss: float | None
    #: Of two classes from 0 to 1, of more from 0 to 2.
    brier: float | None
    #: The expected calibration error.
    ece: float | None
    #: The area under the ROC curve, of more than two classes the mean of each against the rest.
    auc: float | None
    #: The classes of the model, then labels that it has never met; lines of the confusion are true, columns predicted.
    classes: list[Any]
    confusion: list[list[float]] | None
    #: Whether what examples weigh was used.
    weighted: bool
    notes: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class _Seen:
    """What is kept of all examples. Classes are numbered in the order of their labels, those never met behind them."""

    classes: list[Any]
    known: int
    truth: Numbers
    predicted: Numbers
    #: (examples, known classes).
    probabilities: Array
    weights: Array | None


def evaluate(model: Model, batches: Iterable[Examples]) -> Evaluation:
    """How well a model does on examples that it does not learn from.

    The data come in batches; kept are, of each example, its label, what was predicted, and a number for each class.
    """
    seen = _gathered(model, batches)
    notes: dict[str, str] = {}
    met = seen.truth < seen.known
    if not met.all():
        count = int((~met).sum())
        notes["labels"] = (
            f"{count} of {len(met)} examples have labels that the model has never met: they count as wrong, and are "
            "left out of log-loss, Brier score, ECE and AUC"
        )
    sure = _Judged(seen.probabilities[met], seen.truth[met], None if seen.weights is None else seen.weights[met])
    return Evaluation(
        examples=len(met),
        **_of_labels(seen),
        **sure.figures(notes),
        classes=seen.classes,
        confusion=_confusion(seen),
        weighted=seen.weights is not None,
        notes=notes,
    )


def _gathered(model: Model, batches: Iterable[Examples]) -> _Seen:
    predictor = Predictor(model, Wanted(probabilities=True))
    known = model.learner.classes
    classes = known
    truth, predicted, probabilities, weights = [], [], [], []
    for examples in batches:
        labels = training_labels(examples)
        try:
            found = classes.find(labels)
        except TypeError:
            raise ValueError(f"{examples.source}, line {examples.lines[0]}: {other_labels(labels, known)}") from None
        classes = classes.add(found.new)
        answers = predictor.answers(examples)
        assert answers.probabilities is not None
        truth.append(found.numbers)
        predicted.append(answers.places)
        probabilities.append(answers.probabilities)
        weights.append(np.ones(len(labels)) if examples.weights is None else examples.weights)
    if not truth:
        raise ValueError("there is no example to judge by")
    order, numbers = _in_order(known, classes), np.concatenate(truth)
    weighed = np.concatenate(weights)
    if not weighed.any():
        raise ValueError("all examples weigh 0, so that there is nothing to judge by")
    return _Seen(
        classes=[classes.values[i] for i in order],
        known=len(known),
        truth=np.argsort(order)[numbers],
        predicted=np.concatenate(predicted),
        probabilities=np.concatenate(probabilities),
        weights=None if (weighed == 1).all() else weighed,
    )


def _in_order(known: Classes, all_of_them: Classes) -> Numbers:
    """The numbers of the classes: those known in the order of their labels, then the others, as they came."""
    return np.concatenate([known.order, np.arange(len(known), len(all_of_them))]).astype(np.intp)


def _of_labels(seen: _Seen) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    told: dict[str, Any] = {"sample_weight": seen.weights}
    with _unwarned():
        balanced = balanced_accuracy_score(seen.truth, seen.predicted, **told)
    told["zero_division"] = 0.0
    second = None
    if seen.known == 2:
        second = float(f1_score(seen.truth == 1, seen.predicted == 1, **told))
    return {
        "accuracy": float(accuracy_score(seen.truth, seen.predicted, sample_weight=seen.weights)),
        "balanced_accuracy": float(balanced),
        "f1_macro": float(f1_score(seen.truth, seen.predicted, average="macro", **told)),
        "f1": second,
    }


@dataclass(frozen=True)
class _Judged:
    """Probabilities, and the classes that were right, all of which the model knows."""

    probabilities: Array
    truth: Numbers
    weights: Array | None

    def figures(self, notes: dict[str, str]) -> dict[str, Any]:
        """What can be said of them; why the others cannot goes to the notes."""
        names = ("log_loss", "brier", "ece", "auc")
        reason = ""
        if self.probabilities.shape[1] < 2:
            reason = "the model knows only one class"
        elif not len(self.truth):
            reason = "the model has never met any of the labels"
        elif self.weights is not None and not self.weights.any():
            reason = "all examples whose labels the model knows weigh 0"
        if reason:
            notes |= dict.fromkeys(names, reason)
            return dict.fromkeys(names)
        return {"log_loss": self._log_loss(), "brier": self._brier(), "ece": self._ece(), "auc": self._auc(notes)}

    def _log_loss(self) -> float:
        from sklearn.metrics import log_loss

        labels = np.arange(self.probabilities.shape[1])
        return float(log_loss(self.truth, self.probabilities, labels=labels, sample_weight=self.weights))

    def _brier(self) -> float:
        if self.probabilities.shape[1] == 2:
            from sklearn.metrics import brier_score_loss

            return float(brier_score_loss(self.truth == 1, self.probabilities[:, 1], sample_weight=self.weights))
        true = np.eye(self.probabilities.shape[1])[self.truth]
        return float(np.average(np.square(self.probabilities - true).sum(axis=1), weights=self.weights))

    def _ece(self) -> float:
        return calibration_error(self.probabilities, self.truth, self.weights)

    def _auc(self, notes: dict[str, str]) -> float | None:
        from sklearn.metrics import roc_auc_score

        weights = np.ones(len(self.truth)) if self.weights is None else self.weights
        count = np.bincount(self.truth, weights > 0, minlength=self.probabilities.shape[1])
        there = np.flatnonzero(count)
        if len(there) < 2:
            notes["auc"] = "the data have examples of only one class"
            return None
        if self.probabilities.shape[1] == 2:
            return float(roc_auc_score(self.truth == 1, self.probabilities[:, 1], sample_weight=self.weights))
        if len(there) < len(count):
            notes["auc"] = f"the mean of the {len(there)} classes of which there are examples, of {len(count)}"
        areas = [roc_auc_score(self.truth == c, self.probabilities[:, c], sample_weight=self.weights) for c in there]
        return float(np.mean(areas))


def calibration_error(probabilities: Array, truth: Numbers, weights: Array | None = None) -> float:
    """The expected calibration error: how far probabilities are from how often they come true, on the average.

    It is that of the second of two classes, or of the likeliest of more, in bins of equal width.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.runs.evaluate import calibration_error
    >>> said = np.array([[0.1, 0.9]] * 10)
    >>> round(calibration_error(said, np.array([1] * 7 + [0] * 3)), 3)
    0.2
    """
    if probabilities.shape[1] == 2:
        said, right = probabilities[:, 1], truth == 1
    else:
        top = probabilities.argmax(axis=1)
        said, right = probabilities[np.arange(len(top)), top], truth == top
    counted = np.ones(len(said)) if weights is None else weights
    bins = np.minimum((said * BINS).astype(np.intp), BINS - 1)
    return float(np.abs(np.bincount(bins, (said - right) * counted, BINS)).sum() / counted.sum())


def _confusion(seen: _Seen) -> list[list[float]] | None:
    from sklearn.metrics import confusion_matrix

    if len(seen.classes) > MOST_CLASSES:
        return None
    labels = np.arange(len(seen.classes))
    with _unwarned():
        table = confusion_matrix(seen.truth, seen.predicted, labels=labels, sample_weight=seen.weights)
    lines: list[list[float]] = table[:, : seen.known].tolist()
    return lines


@contextmanager
def _unwarned() -> Iterator[None]:
    """That there are no examples of a class, or of one class only, is nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true|A single label was found")
        yield
