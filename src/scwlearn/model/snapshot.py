"""What a classifier knows at one moment, and what it says of scores: labels and probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.labels import Classes

Array = NDArray[np.float64]

#: What is predicted is likelier than all else at least by this factor, so that rounding does not make it a tie.
MORE = 1 + 1e-12
BARELY = 0.5 * MORE


class Known(NamedTuple):
    """What is learned, at one moment: who reads it meets all of it, whatever is learned meanwhile."""

    #: From -1 and +1, or from class numbers.
    learner: Any
    #: From scores to probabilities; another one for more than two classes.
    calibration: Any
    classes: Classes

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes at most, which are the -1 and +1 of a binary learner."""
        return len(self.classes.values) <= 2

    def numbers(self, scores: Array) -> NDArray[np.intp]:
        """The class of each example by its scores; of equal ones the class that was known first, of two the second."""
        if len(self.classes) == 1:
            return np.zeros(len(scores), dtype=np.intp)
        return (scores >= 0).astype(np.intp) if self.is_binary else self._of_known(scores).argmax(axis=1)

    def chances(self, scores: Array, variances: Array, *, agree: bool) -> Array:
        """The probability of each class, in the order of their labels.

        `variances` are those of the class with the largest score. Where they are to agree with what is predicted, that
        is the likeliest, also where scores are close and classes are not as frequent as they say.
        """
        if not self.is_binary:
            scores = self._of_known(scores)
            several = self.calibration.probabilities(scores, variances)
            if agree:
                several = _with_likeliest(several, scores.argmax(axis=1, keepdims=True))
            ordered: Array = several[:, self.classes.order]
            return ordered
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        second = self.calibration.probabilities(scores, variances)
        if agree:
            second = np.where(scores >= 0, np.maximum(second, BARELY), np.minimum(second, 1 - BARELY))
        return np.stack([1 - second, second], axis=1)[:, self.classes.order]

    def class_labels(self) -> list[Any]:
        """The label of each line of `by_label`: of two classes the second, whose scores are those of the model."""
        return self.classes.values_in_order[-1:] if self.is_binary else self.classes.values_in_order

    def by_label(self, weights: Array) -> Array:
        """Weights or scores that a learner has for each class, in the order of the labels; of two, of the second."""
        if not self.is_binary:
            return weights[self.classes.order]
        # The class that came first, label -1, may be the second by its label, or the only one.
        first_is_last = len(self.classes) == 1 or (len(self.classes) == 2 and self.classes.order[0] == 1)
        return (-weights if first_is_last else weights)[np.newaxis]

    def variances_by_label(self, variances: Array) -> Array:
        """The variances that go with them."""
        return variances[np.newaxis] if self.is_binary else variances[self.classes.order]

    def _of_known(self, scores: Array) -> Array:
        # Meanwhile the learner may have met another class.
        return scores[:, : len(self.classes)]


def _with_likeliest(probabilities: Array, top: NDArray[np.intp]) -> Array:
    """The probabilities with that of the class at the top larger than any other."""
    likeliest = probabilities.max(axis=1, keepdims=True) * MORE
    others = np.count_nonzero(probabilities >= np.take_along_axis(probabilities, top, axis=1), axis=1) > 1
    lifted = probabilities[others]
    np.put_along_axis(lifted, top[others], likeliest[others], axis=1)
    probabilities[others] = lifted / lifted.sum(axis=1, keepdims=True)
    return probabilities
