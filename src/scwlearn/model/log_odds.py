"""Probabilities from scores that are log-odds already: those of a committee, whose members are calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import LARGEST_LOGIT

Array = NDArray[np.float64]


class LogOdds:
    """Has the interface of a `Calibration`, but learns nothing: a score is the log-odds of its class.

    Parameters
    ----------
    n_scores : int, default=1
        Scores per example: 1 in the binary case, else the number of classes.

    Examples
    --------
    >>> from scwlearn.model.log_odds import LogOdds
    >>> LogOdds().probability(0.0, 1.0)
    0.5
    >>> LogOdds(3).probabilities([[0.0, 0.0, -float("inf")]], [1.0])
    array([[0.5, 0.5, 0. ]])
    """

    #: It has learned from none.
    rows = 0

    def __init__(self, n_scores: int = 1) -> None:
        self.n_scores = n_scores

    def learn(self, scores: ArrayLike, variances: ArrayLike, *looks: Any, probabilities: Array | None = None) -> None:
        """Do nothing but compute the probabilities, if wanted."""
        if probabilities is not None:
            probabilities[:] = self.probabilities(scores, variances)

    def learn_one(self, *look: Any) -> None:
        """Do nothing."""

    def probability(self, score: float, variance: float) -> float:
        """Return P(+1) of a single row."""
        return float(_sigmoid(np.array([score]))[0])

    def probabilities(self, scores: ArrayLike, variances: ArrayLike) -> Array:
        """Return P(+1) of each row (binary), or P of each class for each row."""
        logits = np.asarray(scores, dtype=np.float64)
        if self.n_scores == 1:
            return _sigmoid(logits)
        below = np.where(np.isneginf(logits), -np.inf, logits - logits.max(axis=1, keepdims=True, initial=-1e300))
        odds = np.where(np.isneginf(below), 0.0, np.exp(np.maximum(below, -LARGEST_LOGIT)))
        total = odds.sum(axis=1, keepdims=True)
        return np.where(total > 0, odds / np.where(total > 0, total, 1.0), 1 / max(1, logits.shape[1]))

    def mirrored(self) -> Self:
        """Return the curve of the opposite scores."""
        return self

    def expanded(self, n_classes: int = 2) -> Self:
        """Return the curve with one score per class."""
        return type(self)(n_classes)

    def arranged(self, places: ArrayLike, n_classes: int) -> Self:
        """Return the curve of `n_classes` classes."""
        return type(self)(n_classes)

    def add_classes(self, count: int) -> None:
        """Append classes that have not been seen yet."""
        self.n_scores += count

    @classmethod
    def merged(cls, parts: Sequence[LogOdds], prior: LogOdds | None = None) -> Self:
        """Return the curve of a merged model."""
        return cls(parts[0].n_scores)


def _sigmoid(logits: Array) -> Array:
    # Of a single row, too: math.exp may differ in the last bit.
    return 1 / (1 + np.exp(-np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)))
