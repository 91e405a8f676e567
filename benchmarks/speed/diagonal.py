"""SCW-I with a diagonal covariance, compared with one pass of scikit-learn's linear models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scwlearn import Learner
from speed import data, peers
from speed.harness import Race, Scale, Side, comparison, times_faster


def ours(x: Any, y: data.Labels) -> Side:
    """Return one pass of our learner."""

    def learn() -> Learner:
        learner = Learner("scw1", covariance="diagonal", C=1.0, eta=0.9)
        learner.learn(x, y)
        return learner

    return Side("scwlearn", learn, lambda learner: judge(learner, x, y))


def judge(learner: Learner, x: Any, y: data.Labels) -> dict[str, float]:
    """Return the progressive mistakes, and the accuracy on the same rows afterwards, which the peers report too."""
    right = (learner.scores(x) >= 0) == (y > 0)
    return {"mistakes": learner.counts.mistakes, "accuracy": float(right.mean())}


def theirs(name: str, make: Callable[[], Any], x: Any, y: data.Labels) -> Side:
    """Return one pass of a scikit-learn model."""
    return Side(name, lambda: make().fit(x, y), lambda model: peers.accuracy(model, x, y))


SGD = "SGDClassifier(max_iter=1)"
SGD_IN_ORDER = "SGDClassifier(max_iter=1, shuffle=False, fit_intercept=False)"
PERCEPTRON = "Perceptron(max_iter=1, shuffle=False)"


def race(rows: data.Rows, name: str, make: Callable[[], Any]) -> Race:
    """Set up both sides on the same rows."""
    return Race(str(rows), ours(rows.x, rows.y), theirs(name, make, rows.x, rows.y))


@comparison("SCW-I diagonal, CSR, about 30 features per row", against=SGD, target=times_faster(2))
def diagonal_sparse_sgd(scale: Scale) -> Race:
    """Hashed text."""
    return race(data.hashed(scale.of(300_000, 20_000)), SGD, peers.sgd)


@comparison("SCW-I diagonal, CSR, about 30 features per row", against=SGD_IN_ORDER)
def diagonal_sparse_sgd_in_order(scale: Scale) -> Race:
    """Without the shuffle, which takes SGDClassifier as long as learning."""
    return race(data.hashed(scale.of(300_000, 20_000)), SGD_IN_ORDER, peers.sgd_in_order)


@comparison("SCW-I diagonal, CSR, about 30 features per row", against=PERCEPTRON)
def diagonal_sparse_perceptron(scale: Scale) -> Race:
    """The cheapest possible update."""
    return race(data.hashed(scale.of(300_000, 20_000)), PERCEPTRON, peers.perceptron)


@comparison("SCW-I diagonal, dense", against=SGD, target=times_faster(2))
def diagonal_dense_sgd(scale: Scale) -> Race:
    """Float64, the native type of scikit-learn."""
    return race(data.correlated(scale.of(200_000, 20_000), 100), SGD, peers.sgd)


@comparison("SCW-I diagonal, dense", against=SGD_IN_ORDER)
def diagonal_dense_sgd_in_order(scale: Scale) -> Race:
    """Without the shuffle."""
    return race(data.correlated(scale.of(200_000, 20_000), 100), SGD_IN_ORDER, peers.sgd_in_order)
