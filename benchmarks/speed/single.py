"""Single examples: predict, then learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from data_sets import SEED

from scwlearn import Learner, StreamClassifier
from speed import data, peers
from speed.harness import Race, Scale, Side, comparison, times_faster

WORK = "one dict of 20 named features, predict then learn"


def ours(rows: list[Any], labels: list[int]) -> Side:
    """Return our learner, called twice per row."""

    def stream() -> int:
        learner = Learner("scw1", covariance="diagonal", C=1.0, eta=0.9)
        # An untrained learner has no scores.
        learner.learn_one(rows[0], labels[0])
        mistakes = 0
        for x, label in zip(rows, labels, strict=True):
            mistakes += (1 if learner.score_one(x) >= 0 else -1) != label
            learner.learn_one(x, label)
        return mistakes

    return Side("scwlearn", stream, lambda mistakes: {"mistakes": mistakes})


def named_rows(scale: Scale) -> tuple[list[dict[str, float]], list[int]]:
    """Generate dicts with 20 of 1000 named features."""
    count = scale.of(10_000, 1000)
    random = np.random.default_rng(SEED)
    meaning = random.standard_normal(1000)
    chosen = [random.choice(1000, 20, replace=False) for _ in range(count)]
    values = random.standard_normal((count, 20))
    labels = [1 if value @ meaning[places] >= 0 else -1 for places, value in zip(chosen, values, strict=True)]
    pairs = zip(chosen, values.tolist(), strict=True)
    return [{f"feature-{i}": v for i, v in zip(places.tolist(), row, strict=True)} for places, row in pairs], labels


def river_race(scale: Scale, name: str, make: Callable[[Any], Any]) -> Race:
    """Set up both sides on the same dicts."""
    linear_model = peers.module("river.linear_model")
    rows, labels = named_rows(scale)
    pairs = list(zip(rows, (label > 0 for label in labels), strict=True))
    peer = Side(
        name, lambda: peers.river_stream(make(linear_model), pairs), lambda mistakes: {"mistakes": float(mistakes)}
    )
    return Race(f"{len(rows)} examples", ours(rows, labels), peer)


@comparison(WORK, against="River PAClassifier", target=times_faster(8))
def dict_river_pa(scale: Scale) -> Race:
    """PA-I."""
    return river_race(scale, "River PAClassifier", lambda linear_model: linear_model.PAClassifier())


@comparison(f"{WORK}, with calibrated probabilities", against="River PAClassifier")
def stream_river_pa(scale: Scale) -> Race:
    """A StreamClassifier: any labels, an intercept, a calibration."""
    linear_model = peers.module("river.linear_model")
    rows, labels = named_rows(scale)
    pairs = list(zip(rows, (label > 0 for label in labels), strict=True))

    def judge(mistakes: int) -> dict[str, float]:
        return {"mistakes": float(mistakes)}

    own = Side("scwlearn", lambda: peers.river_stream(StreamClassifier("scw1"), pairs), judge)
    peer = Side("River PAClassifier", lambda: peers.river_stream(linear_model.PAClassifier(), pairs), judge)
    return Race(f"{len(rows)} examples", own, peer)


@comparison(WORK, against="River LogisticRegression")
def dict_river_logistic(scale: Scale) -> Race:
    """River's standard model."""
    return river_race(scale, "River LogisticRegression", lambda linear_model: linear_model.LogisticRegression())


@comparison(
    "one dense row of 100 features, predict then learn",
    against="SGDClassifier predict + partial_fit",
    target=times_faster(100),
)
def row_sgd(scale: Scale) -> Race:
    """The cost for a service that handles single requests."""
    count = scale.of(5000, 300)
    rows = data.correlated(count, 100)
    labels = rows.y.tolist()
    peer = Side(
        "SGDClassifier predict + partial_fit",
        lambda: peers.sgd_stream(rows.x, labels),
        lambda mistakes: {"mistakes": mistakes},
    )
    return Race(f"{count} examples", ours(list(rows.x), labels), peer)
