"""One pass of `fit` with a diagonal covariance or none, compared with scikit-learn's linear models.

Both sides keep the order of the rows, or both shuffle them: without that, one of them would do more work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scwlearn import PA1, SCW1
from speed import data, peers
from speed.harness import Bar, Group, Quality, Race, Scale, Side, comparison, times_faster

Make = Callable[[], Any]

SGD, SGD_IN_ORDER = "SGDClassifier(max_iter=1, tol=None)", "SGDClassifier(max_iter=1, tol=None, shuffle=False)"
PERCEPTRON_IN_ORDER = "Perceptron(max_iter=1, tol=None, shuffle=False)"
SPARSE, DENSE = "CSR, about 31 non-zeros per row", "dense"
SCW1_DEFAULT, SCW1_IN_ORDER = 'SCW1(covariance="diagonal")', 'SCW1(covariance="diagonal", shuffle=False)'
PA1_IN_ORDER = "PA1(shuffle=False)"


def ours(make: Make, x: Any, y: data.Labels) -> Side:
    """Return one pass of an estimator of ours."""

    def judge(model: Any) -> Quality:
        return {"mistakes": float(model.n_mistakes_), **peers.accuracy(model, x, y)}

    return Side("scwlearn", lambda: make().fit(x, y), judge)


def theirs(name: str, make: Make, x: Any, y: data.Labels) -> Side:
    """Return one pass of a scikit-learn model."""
    return Side(name, lambda: make().fit(x, y), lambda model: peers.accuracy(model, x, y))


def race(rows: data.Rows, make: Make, name: str, peer: Make) -> Race:
    """Set up both sides on the same rows."""
    return Race(str(rows), ours(make, rows.x, rows.y), theirs(name, peer, rows.x, rows.y))


def sparse(scale: Scale) -> data.Rows:
    """Return hashed text."""
    return data.hashed(scale.of(300_000, 50_000))


def dense(scale: Scale) -> data.Rows:
    """Return rows of float64, the native type of scikit-learn."""
    return data.correlated(scale.of(200_000, 20_000), 100)


def bar(work: str, peer: str) -> Bar:
    """Return a bar of this group."""
    return Bar(Group.FIT, work, peer)


def scw1(**settings: Any) -> Any:
    """Return SCW-I with a diagonal covariance."""
    return SCW1(covariance="diagonal", **settings)


def scw1_in_order() -> Any:
    """Return SCW-I with a diagonal covariance that keeps the order of the rows."""
    return scw1(shuffle=False)


def pa1_in_order() -> Any:
    """Return PA-I that keeps the order of the rows."""
    return PA1(shuffle=False)


@comparison(
    f"{SCW1_IN_ORDER}.fit, {SPARSE}",
    against=SGD_IN_ORDER,
    target=times_faster(1.2),
    chart=bar("SCW1, sparse, in order", "SGDClassifier"),
)
def fit_scw1_sparse_sgd(scale: Scale) -> Race:
    """Hashed text."""
    return race(sparse(scale), scw1_in_order, SGD_IN_ORDER, peers.sgd_in_order)


@comparison(
    f"{SCW1_IN_ORDER}.fit, {SPARSE}",
    against=PERCEPTRON_IN_ORDER,
    target=times_faster(1),
    chart=bar("SCW1, sparse, in order", "Perceptron"),
)
def fit_scw1_sparse_perceptron(scale: Scale) -> Race:
    """The cheapest possible update."""
    return race(sparse(scale), scw1_in_order, PERCEPTRON_IN_ORDER, peers.perceptron_in_order)


@comparison(
    f"{PA1_IN_ORDER}.fit, {SPARSE}",
    against=SGD_IN_ORDER,
    target=times_faster(1.2),
    chart=bar("PA1, sparse, in order", "SGDClassifier"),
)
def fit_pa1_sparse_sgd(scale: Scale) -> Race:
    """A model without variances."""
    return race(sparse(scale), pa1_in_order, SGD_IN_ORDER, peers.sgd_in_order)


@comparison(
    f"{PA1_IN_ORDER}.fit, {SPARSE}",
    against=PERCEPTRON_IN_ORDER,
    target=times_faster(1),
    chart=bar("PA1, sparse, in order", "Perceptron"),
)
def fit_pa1_sparse_perceptron(scale: Scale) -> Race:
    """Two models without variances."""
    return race(sparse(scale), pa1_in_order, PERCEPTRON_IN_ORDER, peers.perceptron_in_order)


@comparison(
    f"{SCW1_IN_ORDER}.fit, {DENSE}",
    against=SGD_IN_ORDER,
    target=times_faster(2),
    chart=bar("SCW1, dense, in order", "SGDClassifier"),
)
def fit_scw1_dense_sgd(scale: Scale) -> Race:
    """A hundred correlated features."""
    return race(dense(scale), scw1_in_order, SGD_IN_ORDER, peers.sgd_in_order)


@comparison(
    f"{SCW1_DEFAULT}.fit, {SPARSE}",
    against=SGD,
    target=times_faster(1.2),
    chart=bar("SCW1, sparse, shuffled", "SGDClassifier"),
)
def fit_scw1_shuffled_sparse_sgd(scale: Scale) -> Race:
    """The default of both sides."""
    return race(sparse(scale), scw1, SGD, peers.sgd)


@comparison(
    f"{SCW1_DEFAULT}.fit, {DENSE}",
    against=SGD,
    target=times_faster(2),
    chart=bar("SCW1, dense, shuffled", "SGDClassifier"),
)
def fit_scw1_shuffled_dense_sgd(scale: Scale) -> Race:
    """The default of both sides."""
    return race(dense(scale), scw1, SGD, peers.sgd)
