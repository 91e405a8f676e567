"""Models of the quality benchmark: each makes one pass over the training rows in their order, unless it is batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

import scwlearn
from quality import peers
from quality.sets import Split

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

#: scikit-learn predicts a block of rows before it learns from them: each by itself at first, then this share of those
#: seen so far. Row by row it would take minutes.
_BLOCK = 0.02
#: A slow model runs in one order only on sets with more work than this.
SLOW_WORK = 3_000_000


@dataclass(frozen=True)
class Outcome:
    """Predictions for the test rows, and what was measured in training."""

    predicted: Numbers
    probabilities: Array | None
    #: Share of mistakes on examples just before they were learned; None for batch models.
    progressive: float | None
    seconds: float


@dataclass(frozen=True)
class Model:
    """A model of the benchmark: its name in tables, and how to run it."""

    title: str
    run: Callable[[Split], Outcome]
    slow: bool = False


def _default(name: str) -> Callable[[Split], Outcome]:
    def run(split: Split) -> Outcome:
        model = getattr(scwlearn, name)(shuffle=False)
        start = time.perf_counter()
        model.fit(split.x, split.y)
        seconds = time.perf_counter() - start
        return replace(_fitted(model, split, seconds), progressive=model.n_mistakes_ / model.n_seen_)

    return run


def _tuned(split: Split) -> Outcome:
    """Run SCW1 with the cell of its grid that makes the fewest mistakes in one pass over the training rows."""
    model = scwlearn.TunedClassifier(scwlearn.SCW1(shuffle=False))
    start = time.perf_counter()
    model.fit(split.x, split.y)
    return replace(_fitted(model, split, time.perf_counter() - start), progressive=model.best_error_)


def _online(make: Callable[[], Any], split: Split) -> Outcome:
    """Run a model of scikit-learn: fitted in one pass, and once more in blocks for its progressive error."""
    model = make()
    start = time.perf_counter()
    model.fit(split.x, split.y)
    seconds = time.perf_counter() - start
    found, other = _fitted(model, split, seconds), make()
    mistakes, classes = 0, np.arange(split.classes)
    for first, last in _blocks(len(split.y)):
        x, y = split.x[first:last], split.y[first:last]
        mistakes += int(np.sum(other.predict(x) != y)) if first else 1
        other.partial_fit(x, y, classes=classes)
    return replace(found, progressive=mistakes / len(split.y))


def _blocks(rows: int) -> Iterator[tuple[int, int]]:
    first = 0
    while first < rows:
        last = min(rows, first + max(1, int(_BLOCK * first)))
        yield first, last
        first = last


def _batch(make: Callable[[], Any], split: Split) -> Outcome:
    model = make()
    start = time.perf_counter()
    model.fit(split.x, split.y)
    return _fitted(model, split, time.perf_counter() - start)


def _fitted(model: Any, split: Split, seconds: float) -> Outcome:
    probabilities = None
    if hasattr(model, "predict_proba"):
        probabilities = np.zeros((len(split.y_test), split.classes))
        probabilities[:, model.classes_] = model.predict_proba(split.x_test)
    return Outcome(model.predict(split.x_test), probabilities, None, seconds)


def _peer(run: Callable[..., peers.Pass], split: Split) -> Outcome:
    found = run(split.x, split.y, split.x_test, split.classes)
    progressive = float(np.mean(found.before.argmax(axis=1) != split.y))
    return Outcome(found.after.argmax(axis=1), found.after, progressive, found.seconds)


_ONCE: dict[str, Any] = {"max_iter": 1, "tol": None, "shuffle": False}

#: The committee, what it is compared with, and what the comparison is relative to.
COMMITTEE, BASE, BATCH = "AutoClassifier", "SCW1", "LogisticRegression"

MODELS: dict[str, Model] = {
    COMMITTEE: Model(COMMITTEE, _default("AutoClassifier")),
    BASE: Model(BASE, _default("SCW1")),
    "AROW": Model("AROW", _default("AROW")),
    "SCW1-tuned": Model("SCW1, tuned", _tuned),
    "SGDClassifier": Model(
        "SGDClassifier(log_loss)", partial(_online, partial(SGDClassifier, loss="log_loss", **_ONCE))
    ),
    "Perceptron": Model("scikit-learn Perceptron", partial(_online, partial(Perceptron, **_ONCE))),
    BATCH: Model("LogisticRegression, batch", partial(_batch, LogisticRegression), slow=True),
    "LinearSVC": Model("LinearSVC, batch", partial(_batch, LinearSVC), slow=True),
    "VW": Model("Vowpal Wabbit", partial(_peer, peers.vowpal_wabbit)),
    "river-LR": Model(
        "River LogisticRegression", partial(_peer, partial(peers.river, "LogisticRegression")), slow=True
    ),
    "river-PA": Model("River PAClassifier", partial(_peer, partial(peers.river, "PAClassifier")), slow=True),
}
