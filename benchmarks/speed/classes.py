"""Twenty classes, compared with scikit-learn's linear models, which learn one-vs-rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scwlearn import Learner
from speed import data, peers
from speed.diagonal import PERCEPTRON, SGD, theirs
from speed.harness import Race, Scale, Side, comparison, times_faster


def ours(rows: data.Rows, **how: Any) -> Side:
    """Return one pass of our learner."""

    def learn() -> Learner:
        learner = Learner("scw1", n_classes=20, covariance="diagonal", **how)
        learner.learn(rows.x, rows.y)
        return learner

    return Side("scwlearn", learn, lambda learner: judge(learner, rows))


def judge(learner: Learner, rows: data.Rows) -> dict[str, float]:
    """Return the progressive mistakes, and the accuracy on the same rows afterwards, which the peers report too."""
    right = learner.scores(rows.x).argmax(axis=1) == rows.y
    return {"mistakes": learner.counts.mistakes, "accuracy": float(right.mean())}


def race(scale: Scale, name: str, make: Callable[[], Any], **how: Any) -> Race:
    """Set up both sides on the same rows."""
    rows = data.newsgroups().first(scale.of(20_000, 2_000))
    return Race(str(rows), ours(rows, **how), theirs(name, make, rows.x, rows.y))


@comparison("SCW-I diagonal, 20 classes, joint, CSR", against=SGD, target=times_faster(2))
def classes_joint_sgd(scale: Scale) -> Race:
    """Text in unit rows, with a covariance per class."""
    return race(scale, SGD, peers.sgd)


@comparison("SCW-I diagonal, 20 classes, joint, CSR", against=PERCEPTRON)
def classes_joint_perceptron(scale: Scale) -> Race:
    """The cheapest possible update, twenty times."""
    return race(scale, PERCEPTRON, peers.perceptron)


@comparison("SCW-I diagonal, 20 classes, one-vs-rest, CSR", against=SGD, target=times_faster(1))
def classes_one_versus_rest_sgd(scale: Scale) -> Race:
    """One-vs-rest, as the peers do."""
    return race(scale, SGD, peers.sgd, multi_class="ovr")
