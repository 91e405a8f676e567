"""Quality of probabilities: log-loss, Brier score, calibration error and reliability curves."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

BINS = 15
#: Rows needed to estimate a frequency to within a few hundredths.
ENOUGH = 150
#: Lower bound on probabilities in the log-loss.
LEAST = 1e-15


class Quality(NamedTuple):
    """Measures of the quality of probabilities; smaller is better."""

    log_loss: float
    brier: float
    #: Expected calibration error with bins of equal width and of equal mass.
    ece: float
    ece_mass: float
    #: Expected `ece_mass` of perfectly calibrated probabilities.
    ece_true: float
    error: float


def quality(probabilities: Array, labels: Numbers) -> Quality:
    """Compute the quality of probabilities, an array (rows, classes), given the true class numbers."""
    rows = np.arange(len(labels))
    of_truth = probabilities[rows, labels]
    truth = np.zeros_like(probabilities)
    truth[rows, labels] = 1.0
    squares = ((probabilities - truth) ** 2).sum(axis=1)
    p, hit = confidence(probabilities, labels)
    random = np.random.default_rng(0)
    by_chance = [_error(p, random.random(len(p)) < p, equal_mass(p)) for _ in range(20)]
    return Quality(
        float(-np.log(np.maximum(of_truth, LEAST)).mean()),
        # The binary definition; the sum counts both classes.
        float(squares.mean() / (2 if probabilities.shape[1] == 2 else 1)),
        _error(p, hit, equal_width(p)),
        _error(p, hit, equal_mass(p)),
        float(np.mean(by_chance)),
        float((probabilities.argmax(axis=1) != labels).mean()),
    )


def confidence(probabilities: Array, labels: Numbers) -> tuple[Array, NDArray[np.bool_]]:
    """Return P of the positive class, or of the most probable of several, and whether it was the true class."""
    if probabilities.shape[1] == 2:
        return probabilities[:, 1], labels == 1
    top = probabilities.argmax(axis=1)
    return probabilities[np.arange(len(top)), top], labels == top


def equal_width(p: Array) -> Numbers:
    """Return the bin of each row, for 15 bins of equal width."""
    return np.minimum((p * BINS).astype(np.intp), BINS - 1)


def equal_mass(p: Array) -> Numbers:
    """Return the bin of each row, for 15 bins of equal mass."""
    bins = np.empty(len(p), dtype=np.intp)
    bins[np.argsort(p, kind="stable")] = np.arange(len(p)) * BINS // len(p)
    return bins


def curve(p: Array, hit: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return mean P and observed frequency in bins of equal width, joined until each has enough rows."""
    order = np.argsort(p, kind="stable")
    ends = [0]
    for end in np.searchsorted(equal_width(p)[order], np.arange(BINS), side="right"):
        if end - ends[-1] >= ENOUGH:
            ends.append(end)
    ends[-1] = len(p)
    parts = [order[start:end] for start, end in itertools.pairwise(ends)]
    return np.array([p[part].mean() for part in parts]), np.array([hit[part].mean() for part in parts])


def _error(p: Array, hit: NDArray[np.bool_], bins: Numbers) -> float:
    return float(np.abs(np.bincount(bins, p - hit, BINS)).sum() / len(p))
