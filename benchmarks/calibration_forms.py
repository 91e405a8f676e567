"""Find the best function from a score and its variance to a probability: the first table of docs/probabilities.md.

One pass of each algorithm. Functions with parameters are fitted to the progressive scores in the last third of the
stream; log-loss and calibration error are measured on test rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from calibration import SETS
from class_sets import Split
from data_sets import DEFAULT_DIRECTORY, SEED
from numpy.typing import NDArray
from reliability import quality
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from scwlearn import Learner
from scwlearn.learning.counters import Trace
from scwlearn.model.calibration import Calibration

Array = NDArray[np.float64]

RULES = ("arow", "nherd", "scw1", "scw2", "cw", "pa1", "perceptron")
#: The first half of the newsgroups against the second.
HALF = 10

#: Scores and variances of rows.
Scored = tuple[Array, Array]
Signal = Callable[[Array, Array], Array]


def logistic(*signals: Signal) -> Callable[[Trace, Array, Scored], Array]:
    """Return a logistic regression on some signals."""

    def probabilities(before: Trace, y: Array, test: Scored) -> Array:
        late = slice(len(y) * 2 // 3, None)
        columns, new = (
            np.stack([signal(*each) for signal in signals], axis=1)
            for each in ((before.score[late], before.variance[late]), test)
        )
        usual = np.sqrt((columns**2).mean(axis=0))
        fitted: Array = LogisticRegression().fit(columns / usual, y[late]).predict_proba(new / usual)[:, 1]
        return fitted

    return probabilities


def noisy(f: Array, v: Array) -> Array:
    """Return the score relative to unit noise plus its own variance."""
    return f / np.sqrt(1 + v)


def sure(f: Array, v: Array) -> Array:
    """Return the number of standard deviations from 0, saturated at 8."""
    return np.where(f == 0, 0.0, f / np.where(f == 0, 1.0, np.sqrt(v) + abs(f) / 8))


def learned_online(before: Trace, y: Array, test: Scored) -> Array:
    """Return the probabilities of scwlearn's online calibration."""
    calibration = Calibration()
    calibration.learn(before.score, before.variance, y == 1)
    return calibration.probabilities(*test)


FORMS: dict[str, Callable[[Trace, Array, Scored], Array]] = {
    "Φ(f/√(1 + v)), uncalibrated": lambda before, y, test: ndtr(noisy(*test)),
    "line in f": logistic(lambda f, v: f),
    "line in f/√(1 + v)": logistic(noisy),
    "line in f/√v, saturated": logistic(sure),
    "line in both": logistic(noisy, sure),
    "line in both plus knots, online": learned_online,
}


def halves(split: Split) -> Split:
    """Turn twenty classes into two."""
    if split.classes == 2:
        return split
    return Split(split.x, (split.y < HALF).astype(np.intp), split.x_test, (split.y_test < HALF).astype(np.intp))


def main() -> None:
    """Print a table for each group of algorithms, over all sets."""
    directory = Path(os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY))
    splits = [halves(load(directory)) for load in SETS.values()]
    print(f"| log-loss, ECE of equal mass | {' | '.join(RULES)} |\n|---|{'---|' * len(RULES)}")
    cells: dict[str, list[str]] = {form: [] for form in FORMS}
    for rule in RULES:
        found: dict[str, list[tuple[float, float]]] = {form: [] for form in FORMS}
        for split in splits:
            order = np.random.default_rng(SEED).permutation(len(split.y))
            y = np.where(split.y[order] == 1, 1, -1)
            learner = Learner(rule, intercept=True)
            before = learner.trace(split.x[order], y)
            test = learner.scores(split.x_test), learner.margin_variances(split.x_test)
            for form, probabilities in FORMS.items():
                p = probabilities(before, y, test)
                measured = quality(np.stack([1 - p, p], axis=1), split.y_test)
                found[form].append((measured.log_loss, measured.ece_mass))
        for form, values in found.items():
            loss, error = np.mean(values, axis=0)
            cells[form].append(f"{loss:.3f}, {error:.3f}")
    for form, row in cells.items():
        print(f"| {form} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
