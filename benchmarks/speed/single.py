"""Single examples: predict, then learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from data_sets import SEED

from scwlearn import Learner, StreamClassifier
from speed import data, peers
from speed.harness import Bar, Group, Race, Scale, Side, comparison, times_faster

NAMED = "dict of 20 string names"
RIVER, STREAM = "scwlearn.river.SCW1, predict_one + learn_one", "StreamClassifier, predict_proba_one + learn_one"
RIVER_PA, RIVER_LOGISTIC = "River PAClassifier", "River LogisticRegression"

#: Examples with boolean labels, as River has them.
Stream = list[tuple[dict[str, float], bool]]


def named_rows(scale: Scale) -> Stream:
    """Generate dicts with 20 of 1000 named features."""
    count = scale.of(10_000, 3000)
    random = np.random.default_rng(SEED)
    meaning = random.standard_normal(1000)
    chosen = [random.choice(1000, 20, replace=False) for _ in range(count)]
    values = random.standard_normal((count, 20))
    return [
        (
            {f"feature-{i}": v for i, v in zip(places.tolist(), row.tolist(), strict=True)},
            bool(row @ meaning[places] >= 0),
        )
        for places, row in zip(chosen, values, strict=True)
    ]


def with_labels(model: Any, rows: Stream) -> int:
    """Predict a label, then learn; return the number of mistakes."""
    mistakes = 0
    for x, label in rows:
        mistakes += model.predict_one(x) != label
        model.learn_one(x, label)
    return mistakes


def with_probabilities(model: Any, rows: Stream) -> int:
    """Predict probabilities, then learn; return the number of mistakes."""
    mistakes = 0
    for x, label in rows:
        mistakes += (model.predict_proba_one(x).get(True, 0.0) >= 0.5) != label
        model.learn_one(x, label)
    return mistakes


def side(name: str, make: Callable[[], Any], go: Callable[[Any, Stream], int], rows: Stream) -> Side:
    """Return a pass of a new model over the stream."""
    return Side(name, lambda: go(make(), rows), lambda mistakes: {"mistakes": float(mistakes)})


def river_race(scale: Scale, peer: str) -> Race:
    """Set up River's face of SCW-I and a class of River's."""
    from scwlearn import river

    theirs = getattr(peers.module("river.linear_model"), peer.split()[1])
    rows = named_rows(scale)
    return Race(
        f"{len(rows)} examples", side("scwlearn", river.SCW1, with_labels, rows), side(peer, theirs, with_labels, rows)
    )


def stream_race(scale: Scale, peer: str, go: Callable[[Any, Stream], int]) -> Race:
    """Set up a StreamClassifier that predicts probabilities, and a class of River's."""
    theirs = getattr(peers.module("river.linear_model"), peer.split()[1])
    rows = named_rows(scale)
    return Race(
        f"{len(rows)} examples",
        side("scwlearn", lambda: StreamClassifier("scw1"), with_probabilities, rows),
        side(peer, theirs, go, rows),
    )


def bar(work: str, peer: str) -> Bar:
    """Return a bar of this group."""
    return Bar(Group.ONE, work, peer)


@comparison(f"{RIVER}, {NAMED}", against=RIVER_PA, target=times_faster(8), chart=bar("river.SCW1, dict", RIVER_PA))
def river_pa(scale: Scale) -> Race:
    """PA-I."""
    return river_race(scale, RIVER_PA)


@comparison(
    f"{RIVER}, {NAMED}", against=RIVER_LOGISTIC, target=times_faster(4), chart=bar("river.SCW1, dict", RIVER_LOGISTIC)
)
def river_logistic(scale: Scale) -> Race:
    """River's standard model."""
    return river_race(scale, RIVER_LOGISTIC)


@comparison(
    f"{STREAM}, {NAMED}",
    against=f"{RIVER_PA}, predict_one + learn_one",
    target=times_faster(5),
    chart=bar("StreamClassifier, dict", RIVER_PA),
)
def stream_pa(scale: Scale) -> Race:
    """The peer has no probabilities."""
    return stream_race(scale, RIVER_PA, with_labels)


@comparison(
    f"{STREAM}, {NAMED}",
    against=f"{RIVER_LOGISTIC}, predict_proba_one + learn_one",
    target=times_faster(3),
    chart=bar("StreamClassifier, dict", RIVER_LOGISTIC),
)
def stream_logistic(scale: Scale) -> Race:
    """Probabilities on both sides."""
    return stream_race(scale, RIVER_LOGISTIC, with_probabilities)


@comparison(
    "Learner, score_one + learn_one, dense row of 100 features",
    against="SGDClassifier predict + partial_fit",
    target=times_faster(100),
    chart=bar("Learner, dense row", "SGDClassifier"),
)
def row_sgd(scale: Scale) -> Race:
    """The cost for a service that handles single requests."""
    count = scale.of(5000, 300)
    rows = data.correlated(count, 100)
    labels = rows.y.tolist()

    def stream() -> int:
        learner = Learner("scw1", covariance="diagonal")
        # An untrained learner has no scores.
        learner.learn_one(rows.x[0], labels[0])
        mistakes = 0
        for x, label in zip(rows.x, labels, strict=True):
            mistakes += (1 if learner.score_one(x) >= 0 else -1) != label
            learner.learn_one(x, label)
        return mistakes

    return Race(
        f"{count} examples",
        Side("scwlearn", stream, lambda mistakes: {"mistakes": mistakes}),
        Side(
            "SGDClassifier predict + partial_fit",
            lambda: peers.sgd_stream(rows.x, labels),
            lambda mistakes: {"mistakes": mistakes},
        ),
    )
