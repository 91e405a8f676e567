"""Hundreds of features with a full Sigma, where exact sums would take too long: what must hold of every model."""

from __future__ import annotations

from copy import copy
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from stress.hard_streams import draw_hard_rows, draw_mild_parameters, draw_mild_weights, draw_signs
from stress.long_streams import RULES, draw_settings
from stress.trial import Trial

Array = NDArray[np.float64]

_ROUNDING = 2.0**-53


def _case(random: Random) -> int:
    rule = random.choice(RULES)
    parameters, settings = draw_mild_parameters(random, rule), draw_settings(random)
    classes, features = random.choice([None, None, 3]), random.choice([50, 200, random.randint(300, 1000)])
    if classes is not None:
        settings["shared_covariance"] = random.random() < 0.5
    learner = Learner(rule, n_classes=classes, **settings, **parameters)
    told = f"{rule.name} {parameters} {settings}, {features} features, {classes} classes"
    left = total = max(300, 40_000_000 // features**2)
    while left > 0:
        count = min(left, random.choice([1, 40, 1000]))
        left -= count
        x = draw_hard_rows(random, count, features)
        if random.random() < 0.5:
            x[np.random.default_rng(random.getrandbits(64)).random(x.shape) < 0.9] = 0.0
        y = draw_signs(random, x) if classes is None else np.arange(count) % classes
        weights, before = draw_mild_weights(random, count), learner.counts
        given = sparse.csr_array(x) if random.random() < 0.5 else x
        learner.learn(given, y, weights=weights)
        assert (learner.counts - before).seen == count, f"rows that were not counted: {told}"
    _check(learner, x, told)
    return total


def _check(learner: Learner, x: Array, told: str) -> None:
    model = learner.model
    assert model is not None
    assert np.isfinite(model.memory).all(), f"not finite: {told}"
    assert np.isfinite(model.scalars).all(), f"scalars that are not finite: {told}"
    # U is a unit triangle, and D positive.
    model.covariance.check(model.memory, model.size)
    assert (model.variances() > 0).all(), f"variances of {told}"
    dense, sparse_rows = np.ascontiguousarray(x), sparse.csr_array(x)
    terms = np.abs(x) @ np.abs(model.weights()[:, : x.shape[1]]).max(axis=0) + np.abs(model.weights()).max()
    apart = np.abs(learner.scores(dense) - learner.scores(sparse_rows)).reshape(len(x), -1).max(axis=1)
    assert (apart <= 4 * _ROUNDING * model.size * terms).all(), f"dense and sparse scores of {told}"
    variances = learner.margin_variances(dense)
    assert np.array_equal(variances, learner.margin_variances(sparse_rows)), f"dense and sparse variances of {told}"
    assert (variances[np.abs(x).max(axis=1) > 1e-20] > 0).all(), f"variances of rows of {told}"
    # A copy goes on as the learner does.
    one, other = copy(learner), copy(learner)
    for each, rows in ((one, dense), (other, dense)):
        each.learn(rows, np.ones(len(x), int))
    assert np.array_equal(one._fitted().memory, other._fitted().memory), f"copies of {told}"


TRIAL = Trial(
    claim="A full Sigma of up to 1,000 features stays finite and positive definite, and scores dense as sparse rows",
    unit="rows",
    case=_case,
    quick=2,
    long=2000,
)
