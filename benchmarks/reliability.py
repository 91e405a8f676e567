"""How good probabilities are: log-loss, Brier score, calibration error, and where they are wrong."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

BINS = 15
#: Rows that show a share to within some hundredths.
ENOUGH = 150
#: A probability that was 0 and came true costs no more than this one.
LEAST = 1e-15


class Quality(NamedTuple):
    """What a table shows of probabilities; the less the better."""

    log_loss: float
    brier: float
    #: Expected calibration error, of bins of equal width and of bins of equally many rows.
    ece: float
    ece_mass: float
    #: What `ece_mass` would be, by chance, if the probabilities were true.
    ece_true: float
    error: float


def quality(probabilities: Array, labels: Numbers) -> Quality:
    """Of the probabilities of all classes, (rows, classes), and the numbers of the true ones."""
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
        # As it is defined for two classes; both count in the sum.
        float(squares.mean() / (2 if probabilities.shape[1] == 2 else 1)),
        _error(p, hit, equal_width(p)),
        _error(p, hit, equal_mass(p)),
        float(np.mean(by_chance)),
        float((probabilities.argmax(axis=1) != labels).mean()),
    )


def confidence(probabilities: Array, labels: Numbers) -> tuple[Array, NDArray[np.bool_]]:
    """What calibration is about: P of the second of two classes, or of the likeliest of more; and whether it was it."""
    if probabilities.shape[1] == 2:
        return probabilities[:, 1], labels == 1
    top = probabilities.argmax(axis=1)
    return probabilities[np.arange(len(top)), top], labels == top


def equal_width(p: Array) -> Numbers:
    """The bin of each row, each a fifteenth of the way from 0 to 1."""
    return np.minimum((p * BINS).astype(np.intp), BINS - 1)


def equal_mass(p: Array) -> Numbers:
    """The bin of each row, each with a fifteenth of the rows."""
    bins = np.empty(len(p), dtype=np.intp)
    bins[np.argsort(p, kind="stable")] = np.arange(len(p)) * BINS // len(p)
    return bins


def curve(p: Array, hit: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The mean of P and how often it came true, in bins of equal width, joined until each has rows enough to tell."""
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
