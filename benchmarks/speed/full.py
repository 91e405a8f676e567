"""SCW-I with a full covariance, compared with a NumPy loop and with the limit of the machine."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from data_sets import SEED

from scwlearn import Learner
from speed import data, peers, textbook
from speed.harness import Quality, Race, Scale, Side, comparison, share_of_time, times_faster

WORK = "SCW-I full, dense, 10 % label noise"
WORK_WITHOUT_ZEROS = "SCW-I full, dense, 10 % label noise, no zeros"
C, ETA = 1.0, 0.9


def learner() -> Learner:
    """Return a new learner."""
    return Learner("scw1", covariance="full", C=C, eta=ETA)


def ours(x: Any, y: data.Labels, *, threads: int = 1) -> Side:
    """Return one pass of our learner."""
    return Side(
        "scwlearn",
        lambda: learner().learn(x, y),
        lambda counts: {"mistakes": counts.mistakes, "updates": counts.updates},
        threads,
    )


def loop(x: data.Array, y: data.Labels) -> Side:
    """Return one pass of the textbook loop."""
    return Side(
        "textbook NumPy loop",
        lambda: textbook.scw1(x, y, C=C, eta=ETA),
        lambda counts: dict(zip(("mistakes", "updates"), counts, strict=True)),
    )


def product(shape: tuple[int, int], updates: int) -> Side:
    """Return a dgemm of 2 n d^2 + u d^2 operations, the minimum for n scores and u updates of a symmetric Sigma."""
    random = np.random.default_rng(SEED)
    rows, width = shape
    left, right = random.standard_normal((rows + updates // 2, width)), random.standard_normal((width, width))
    out = np.empty_like(left)
    return Side("dgemm with as many operations", lambda: np.matmul(left, right, out=out))


def rows_for(scale: Scale) -> data.Rows:
    """The digits."""
    return data.digits().first(scale.of(14867, 1500))


def rows_without_zeros(scale: Scale) -> data.Rows:
    """Return rows with as many features, none of them zero."""
    return data.correlated(14867, 784, noise=0.1).first(scale.of(5000, 1000))


@comparison(WORK, against="textbook NumPy loop", target=times_faster(25))
def full_textbook(scale: Scale) -> Race:
    """Both sides must make the same mistakes and updates."""
    rows = rows_for(scale)
    return Race(str(rows), ours(rows.x, rows.y), loop(rows.x, rows.y))


@comparison(WORK, against="dgemm with as many operations", target=share_of_time(1.5))
def full_dgemm(scale: Scale) -> Race:
    """The same BLAS as NumPy's."""
    rows = rows_for(scale)
    updates = learner().learn(rows.x, rows.y).updates
    return Race(str(rows), ours(rows.x, rows.y), product(rows.x.shape, updates))


def race_of_threads(rows: data.Rows) -> Race:
    """Set up two threads against one."""
    note = "" if (os.cpu_count() or 1) > 1 else "this machine has one processor"
    one, two = ours(rows.x, rows.y), ours(rows.x, rows.y, threads=2)
    return Race(f"{rows}, 2 threads", two, Side("itself with 1 thread", one.run, one.judge), note=note)


@comparison(WORK, against="itself with 1 thread", target=times_faster(1.5))
def full_threads(scale: Scale) -> Race:
    """The digits."""
    return race_of_threads(rows_for(scale))


@comparison(WORK_WITHOUT_ZEROS, against="textbook NumPy loop")
def full_without_zeros_textbook(scale: Scale) -> Race:
    """Five of six pixels of the digits are zero and skipped; here nothing can be."""
    rows = rows_without_zeros(scale)
    return Race(str(rows), ours(rows.x, rows.y), loop(rows.x, rows.y))


@comparison(WORK_WITHOUT_ZEROS, against="dgemm with as many operations")
def full_without_zeros_dgemm(scale: Scale) -> Race:
    """The same BLAS as NumPy's."""
    rows = rows_without_zeros(scale)
    updates = learner().learn(rows.x, rows.y).updates
    return Race(str(rows), ours(rows.x, rows.y), product(rows.x.shape, updates))


@comparison(WORK_WITHOUT_ZEROS, against="itself with 1 thread")
def full_without_zeros_threads(scale: Scale) -> Race:
    """More work for the threads to share."""
    return race_of_threads(rows_without_zeros(scale))


@comparison(WORK, against="olpy SCW")
def full_olpy(scale: Scale) -> Race:
    """Another library with the same algorithm; it computes variances from the diagonal of Sigma alone."""
    peers.module("olpy.classifiers")
    rows = data.digits().first(scale.of(5000, 300))

    def learn() -> Any:
        model = learner()
        model.learn(rows.x, rows.y)
        return model.scores

    def olpy() -> Any:
        return peers.olpy_scw(rows.x, rows.y, C=C, eta=ETA).decision_function

    def judge(scores: Any) -> Quality:
        return {"accuracy": float(np.mean((scores(rows.x) >= 0) == (rows.y > 0)))}

    note = "olpy computes x'Sigma x from the diagonal of Sigma alone, so its model differs"
    return Race(str(rows), Side("scwlearn", learn, judge), Side("olpy SCW", olpy, judge), note=note)


@comparison("SCW-I full, CSR", against="textbook NumPy loop on dense rows", target=times_faster(20))
def full_sparse_textbook(scale: Scale) -> Race:
    """The NumPy loop gets dense rows, converted in advance."""
    rows = data.web_pages().first(scale.of(24692, 2000))
    # Many rows are equal, and a row just learned lies exactly on the constraint.
    note = "rounding may decide a few updates with an alpha below 1e-14"
    return Race(str(rows), ours(rows.x, rows.y), loop(rows.x.toarray(), rows.y), note=note)
