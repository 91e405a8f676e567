"""SCW-I with a full covariance, compared with a NumPy loop and with the limit of the machine."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from data_sets import SEED

from scwlearn import SCW1, merge
from speed import data, peers, textbook
from speed.harness import Bar, Group, Quality, Race, Scale, Side, comparison, share_of_time, times_faster

WORK = 'SCW1(covariance="full", shuffle=False).fit'
NOISY, NOISY_WITHOUT_ZEROS = f"{WORK}, dense, 10 % label noise", f"{WORK}, dense, 10 % label noise, no zeros"
TEXTBOOK, DGEMM, ONE_THREAD = "textbook NumPy loop", "dgemm with as many operations", "itself with 1 thread"
C, ETA = 1.0, 0.9
#: Numbers of features at which two threads are compared with one; the products take equally long.
WIDTHS, PRODUCT = (500, 784, 1000, 1500, 2000), 5_000_000_000


def fitted(x: Any, y: data.Labels) -> Any:
    """Return SCW-I after one pass, with what the textbook loop computes: no intercept."""
    return SCW1(covariance="full", C=C, eta=ETA, fit_intercept=False, shuffle=False).fit(x, y)


def updates(rows: data.Rows) -> int:
    """Return the number of updates in one pass."""
    return int(fitted(rows.x, rows.y).n_updates_)


def ours(x: Any, y: data.Labels, *, threads: int = 1) -> Side:
    """Return one pass of our estimator."""
    return Side(
        "scwlearn",
        lambda: fitted(x, y),
        lambda model: {"mistakes": float(model.n_mistakes_), "updates": float(model.n_updates_)},
        threads,
        counted=threads == 1,
    )


def loop(x: data.Array, y: data.Labels) -> Side:
    """Return one pass of the textbook loop."""
    return Side(
        TEXTBOOK,
        lambda: textbook.scw1(x, y, C=C, eta=ETA),
        lambda counts: dict(zip(("mistakes", "updates"), counts, strict=True)),
    )


def product(shape: tuple[int, int], updates: int) -> Side:
    """Return a dgemm of 2 n d^2 + u d^2 operations, the minimum for n scores and u updates of a symmetric Sigma."""
    random = np.random.default_rng(SEED)
    rows, width = shape
    left, right = random.standard_normal((rows + updates // 2, width)), random.standard_normal((width, width))
    out = np.empty_like(left)
    return Side(DGEMM, lambda: np.matmul(left, right, out=out))


def digits(scale: Scale) -> data.Rows:
    """Return the digits, of which five of six pixels are zero and skipped."""
    return data.digits().first(scale.of(14867, 400))


def without_zeros(scale: Scale) -> data.Rows:
    """Return rows with as many features, none of them zero."""
    return data.correlated(scale.of(5000, 200), 784, noise=0.1)


def bar(work: str, peer: str) -> Bar:
    """Return a bar of this group."""
    return Bar(Group.FULL, work, peer)


def race_with_loop(rows: data.Rows) -> Race:
    """Set up the textbook loop as the peer; both sides must make the same mistakes and updates."""
    return Race(str(rows), ours(rows.x, rows.y), loop(rows.x, rows.y))


def race_with_product(rows: data.Rows) -> Race:
    """Set up a product by the same BLAS as NumPy's as the peer."""
    return Race(str(rows), ours(rows.x, rows.y), product(rows.x.shape, updates(rows)))


def race_of_threads(rows: data.Rows) -> Race:
    """Set up two threads against one."""
    note = "" if (os.cpu_count() or 1) > 1 else "this machine has one processor"
    one, two = ours(rows.x, rows.y), ours(rows.x, rows.y, threads=2)
    return Race(f"{rows}, 2 threads", two, replace(one, name=ONE_THREAD, counted=False), note=note)


@comparison(NOISY, against=TEXTBOOK, target=times_faster(25), chart=bar("SCW1, 784 pixels", "NumPy loop"))
def full_textbook(scale: Scale) -> Race:
    """The digits."""
    return race_with_loop(digits(scale))


@comparison(NOISY, against=DGEMM, target=share_of_time(1.5))
def full_dgemm(scale: Scale) -> Race:
    """The digits."""
    return race_with_product(digits(scale))


@comparison(NOISY, against=ONE_THREAD, target=times_faster(1.5))
def full_threads(scale: Scale) -> Race:
    """The digits."""
    return race_of_threads(digits(scale))


@comparison(NOISY_WITHOUT_ZEROS, against=TEXTBOOK)
def full_without_zeros_textbook(scale: Scale) -> Race:
    """Nothing can be skipped."""
    return race_with_loop(without_zeros(scale))


@comparison(NOISY_WITHOUT_ZEROS, against=DGEMM)
def full_without_zeros_dgemm(scale: Scale) -> Race:
    """Nothing can be skipped."""
    return race_with_product(without_zeros(scale))


def register_threads(width: int) -> None:
    """Register the comparison of two threads with one at a number of features."""

    @comparison(
        NOISY_WITHOUT_ZEROS,
        against=ONE_THREAD,
        target=times_faster(1.6),
        chart=bar(f"SCW1, {width} features, 2 threads", "1 thread") if width in (min(WIDTHS), max(WIDTHS)) else None,
        name=f"full-threads-{width}",
    )
    def full_threads_at(scale: Scale) -> Race:
        return race_of_threads(data.correlated(scale.of(PRODUCT // width**2, 300), width, noise=0.1))


for _width in WIDTHS:
    register_threads(_width)


@comparison(NOISY, against="olpy SCW", chart=bar("SCW1, 784 pixels", "olpy"))
def full_olpy(scale: Scale) -> Race:
    """Another library with the same algorithm; it computes variances from the diagonal of Sigma alone."""
    peers.module("olpy.classifiers")
    rows = data.digits().first(scale.of(5000, 60))

    def judge(model: Any) -> Quality:
        return {"accuracy": float(np.mean((model.decision_function(rows.x) >= 0) == (rows.y > 0)))}

    note = "olpy computes x'Sigma x from the diagonal of Sigma alone, so its model differs"
    own = Side("scwlearn", lambda: fitted(rows.x, rows.y), judge)
    peer = Side("olpy SCW", lambda: peers.olpy_scw(rows.x, rows.y, C=C, eta=ETA), judge)
    return Race(str(rows), own, peer, note=note)


@comparison(
    f"{WORK}, CSR",
    against="textbook NumPy loop on dense rows",
    target=times_faster(20),
    chart=bar("SCW1, 300 features, sparse", "NumPy loop"),
)
def full_sparse_textbook(scale: Scale) -> Race:
    """The NumPy loop gets dense rows, converted in advance."""
    rows = data.web_pages().first(scale.of(24692, 2000))
    # Many rows are equal, and a row just learned lies exactly on the constraint.
    note = "rounding may decide a few updates with an alpha below 1e-14"
    return Race(str(rows), ours(rows.x, rows.y), loop(rows.x.toarray(), rows.y), note=note)


@comparison(
    "merge of two models with a full covariance",
    against="numpy.linalg.inv of a matrix of that size",
    target=share_of_time(3),
    chart=bar("merge, 785 features", "numpy.linalg.inv"),
)
def full_merge(scale: Scale) -> Race:
    """784 features and the intercept; each model has learned half of the rows."""
    rows = data.correlated(scale.of(5000, 400), scale.of(784, 200), noise=0.1)
    halves = [SCW1(covariance="full", shuffle=False).fit(rows.x[start::2], rows.y[start::2]) for start in (0, 1)]
    width = rows.x.shape[1] + 1
    root = np.random.default_rng(SEED).standard_normal((width, width))
    # Positive definite, as a precision is.
    matrix = root @ root.T / width + np.eye(width)
    own = Side("scwlearn", lambda: merge(halves), lambda model: peers.accuracy(model, rows.x, rows.y))
    return Race(f"{width} features", own, Side("numpy.linalg.inv", lambda: np.linalg.inv(matrix)))
