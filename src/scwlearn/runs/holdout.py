"""What a classifier says of examples that it does not learn from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.teaching import Look
from scwlearn.runs.align import fitting
from scwlearn.runs.metrics import Watcher
from scwlearn.runs.progressive import training_labels

Array = NDArray[np.float64]


class Said(NamedTuple):
    """What is said of some examples, by the numbers of the classes."""

    #: (examples,) for up to two classes, else (examples, classes).
    scores: Array
    #: x'Sigma x; of several classes of the one with the largest score.
    variances: Array
    numbers: NDArray[np.intp]


def say(learner: ClassLearner, examples: Examples) -> Said:
    """What a classifier says of examples."""
    now = learner.now
    scores, variances = now.learner.looks(fitting(learner, examples))
    if not now.is_binary:
        top = scores.argmax(axis=1, keepdims=True)
        variances = np.take_along_axis(variances, top, axis=1)[:, 0]
    return Said(scores, variances, now.numbers(scores))


def judged(learner: ClassLearner, batches: Iterable[Examples], *, probabilities: bool) -> dict[str, float]:
    """How well a classifier does on examples with labels: their count, the error, and the log-loss if asked for."""
    count = mistakes = 0
    watcher = Watcher(probabilities=True, agree=learner.agrees)
    for examples in batches:
        labels = training_labels(examples)
        said = say(learner, examples)
        found = learner.classes.find(labels).numbers
        count, mistakes = count + len(labels), mistakes + int((said.numbers != found).sum())
        # What it has never met has no probability.
        known = found < len(learner.classes)
        if probabilities and known.any():
            watcher.judge(Look(learner.now, found[known], said.scores[known], said.variances[known]))
    result = {"count": count, "error": mistakes / max(1, count)}
    if watcher.log_loss is not None:
        result["log_loss"] = watcher.log_loss
    return result
