"""A snapshot of a classifier, and the labels and probabilities that follow from its scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes

Array = NDArray[np.float64]

#: The predicted class gets at least this many times the probability of any other, so that rounding cannot make another
#: class the most probable one.
MARGIN = 1 + 1e-12
JUST_OVER_HALF = 0.5 * MARGIN


class Snapshot(NamedTuple):
    """Immutable snapshot of a classifier: a concurrent reader never sees a half-applied update."""

    #: A learner on labels -1 and +1, or on class numbers.
    learner: Any
    #: Maps scores to probabilities.
    calibration: Any
    classes: Classes

    @property
    def is_binary(self) -> bool:
        """Whether there are at most two classes, which are the labels -1 and +1 of a binary learner."""
        return len(self.classes.values) <= 2

    def predict(self, scores: Array) -> NDArray[np.signedinteger[Any]]:
        """Return the class number of each example. Ties go to the lowest number; in the binary case, to class 1."""
        if len(self.classes) == 1:
            return np.zeros(len(scores), dtype=np.intp)
        # New memory may take longer than scoring, so bytes do.
        return (scores >= 0).view(np.int8) if self.is_binary else self._known(scores).argmax(axis=1)

    def predict_one(self, score: Any) -> int:
        """Return the class number of a single example, as `predict` does."""
        if self.is_binary:
            return int(len(self.classes.values) == 2 and score >= 0)
        return int(score[: len(self.classes.values)].argmax())

    def probabilities(self, scores: Array, variances: Array, *, argmax_consistent: bool) -> Array:
        """Return the probability of each class, in the order of the labels.

        Parameters
        ----------
        scores : array
            The scores of the examples.
        variances : array of shape (examples,)
            x'Sigma x, with several classes that of the class with the largest score.
        argmax_consistent : bool
            Whether the predicted class must be the most probable one, even where scores are close and classes are not
            as frequent as the scores suggest.
        """
        known = scores if self.is_binary else self._known(scores)
        calibrated = self.calibration.probabilities(*in_range(known, variances))
        return self.by_class(calibrated, known, argmax_consistent=argmax_consistent)

    def by_class(self, calibrated: Array, scores: Array, *, argmax_consistent: bool) -> Array:
        """Return what the calibration says of these scores as the probability of each class; see `probabilities`."""
        if not self.is_binary:
            if argmax_consistent:
                calibrated = _with_most_probable(calibrated, scores.argmax(axis=1, keepdims=True))
            ordered: Array = calibrated[:, self.classes.order]
            return ordered
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        if argmax_consistent:
            lifted, lowered = np.maximum(calibrated, JUST_OVER_HALF), np.minimum(calibrated, 1 - JUST_OVER_HALF)
            calibrated = np.where(scores >= 0, lifted, lowered)
        return np.stack([1 - calibrated, calibrated], axis=1)[:, self.classes.order]

    def class_labels(self) -> list[Any]:
        """Return the label of each row of `by_label`: with two classes only the second."""
        return self.classes.values_in_order[-1:] if self.is_binary else self.classes.values_in_order

    def by_label(self, weights: Array) -> Array:
        """Return weights or scores of a learner, one row per class, in the order of the labels.

        With two classes there is one row, that of the second label.
        """
        if not self.is_binary:
            return weights[self.classes.order]
        # The first class seen has label -1; it may be the second in the order of the labels, or the only one.
        first_is_last = len(self.classes) == 1 or (len(self.classes) == 2 and self.classes.order[0] == 1)
        rows = weights.reshape(1, -1)
        return -rows if first_is_last else rows

    def variances_by_label(self, variances: Array) -> Array:
        """Return the variances that go with the weights of `by_label`."""
        return variances.reshape(1, -1) if self.is_binary else variances[self.classes.order]

    def _known(self, scores: Array) -> Array:
        # Another thread may have brought the learner another class.
        return scores[:, : len(self.classes)]


def in_range(scores: Array, variances: Array) -> tuple[Array, Array]:
    """Return scores and variances with the largest floats for those that have overflowed, and 0 for unknown scores."""
    if np.isfinite(scores.sum() + variances.sum()) and variances.min(initial=0.0) >= 0:
        return scores, variances
    largest = np.finfo(np.float64).max
    return np.nan_to_num(scores, nan=0.0), np.where(variances >= 0, np.minimum(variances, largest), largest)


def _with_most_probable(probabilities: Array, top: NDArray[np.intp]) -> Array:
    """Raise the probability of the class at the top above those that are no smaller."""
    largest = probabilities.max(axis=1, keepdims=True) * MARGIN
    not_alone = np.count_nonzero(probabilities >= np.take_along_axis(probabilities, top, axis=1), axis=1) > 1
    raised = probabilities[not_alone]
    np.put_along_axis(raised, top[not_alone], largest[not_alone], axis=1)
    probabilities[not_alone] = raised / raised.sum(axis=1, keepdims=True)
    return probabilities
