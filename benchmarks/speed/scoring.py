"""Scores and predictions of many rows, compared with one matrix product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from speed import data, fit
from speed.harness import Bar, Group, Quality, Race, Scale, Side, comparison, share_of_time

PRODUCT = "X @ coef"
#: At most this many times as long as the product alone.
LIMIT = share_of_time(1.1)


def race(rows: data.Rows, call: Callable[[Any, Any], Any]) -> Race:
    """Set up a call of a fitted estimator, and the product that it cannot do without."""
    model = fit.scw1_in_order().fit(rows.x, rows.y)
    weights = model.coef_[0]

    def judge(scores: Any) -> Quality:
        return {"accuracy": float(np.mean((scores >= 0) == (rows.y > 0)))}

    return Race(
        str(rows),
        Side("scwlearn", lambda: call(model, rows.x), judge),
        Side(PRODUCT, lambda: rows.x @ weights, judge),
    )


def scores(model: Any, x: Any) -> Any:
    """Return the scores of the rows."""
    return model.decision_function(x)


def labels(model: Any, x: Any) -> Any:
    """Return the labels of the rows, which are -1 and 1."""
    return model.predict(x)


@comparison("SCW1.decision_function, dense", against=PRODUCT, target=LIMIT)
def scores_dense(scale: Scale) -> Race:
    """NumPy's product."""
    return race(fit.dense(scale), scores)


@comparison("SCW1.decision_function, CSR", against=PRODUCT, target=LIMIT)
def scores_sparse(scale: Scale) -> Race:
    """SciPy's product."""
    return race(fit.sparse(scale), scores)


@comparison(
    "SCW1.predict, dense", against=PRODUCT, target=LIMIT, chart=Bar(Group.SCORE, "SCW1.predict, dense", PRODUCT)
)
def predictions_dense(scale: Scale) -> Race:
    """NumPy's product."""
    return race(fit.dense(scale), labels)


@comparison("SCW1.predict, CSR", against=PRODUCT, target=LIMIT, chart=Bar(Group.SCORE, "SCW1.predict, sparse", PRODUCT))
def predictions_sparse(scale: Scale) -> Race:
    """SciPy's product."""
    return race(fit.sparse(scale), labels)
