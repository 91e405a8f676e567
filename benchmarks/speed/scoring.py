"""Scores of many rows, compared with a matrix-vector product."""

from __future__ import annotations

import numpy as np

from scwlearn import Learner
from speed import data
from speed.harness import Quality, Race, Scale, Side, comparison


def race(rows: data.Rows) -> Race:
    """Set up both sides; their scores are equal."""
    learner = Learner("scw1", covariance="diagonal", C=1.0, eta=0.9)
    learner.learn(rows.x, rows.y)
    assert learner.model is not None
    weights = learner.model.weights()[0]

    def judge(scores: data.Array) -> Quality:
        return {"accuracy": float(np.mean((scores >= 0) == (rows.y > 0)))}

    return Race(
        str(rows),
        Side("scwlearn", lambda: learner.scores(rows.x), judge),
        Side("X @ weights", lambda: rows.x @ weights, judge),
    )


@comparison("scores, dense", against="X @ weights")
def scores_dense(scale: Scale) -> Race:
    """NumPy's product."""
    return race(data.correlated(scale.of(200_000, 20_000), 100))


@comparison("scores, CSR", against="X @ weights")
def scores_sparse(scale: Scale) -> Race:
    """SciPy's product."""
    return race(data.hashed(scale.of(300_000, 20_000)))
