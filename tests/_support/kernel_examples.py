"""What the tests of kernel learners share."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from scwlearn.rules import all_rules

RULES = [rule.name for rule in all_rules()]
SECOND_ORDER = [rule.name for rule in all_rules() if rule.order == 2]
VARIANCES = [0.5, 1.0, 3.0]


def rings(rows, seed=0, noise=0.05):
    """Two classes that no plane separates, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], rows)
    angle, radius = rng.uniform(0, 2 * np.pi, rows), np.where(y > 0, 1.0, 2.0) + 0.15 * rng.normal(size=rows)
    y[rng.random(rows) < noise] *= -1
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def rbf(x, z, gamma=1.0):
    return pairwise_kernels(x, z, metric="rbf", gamma=gamma)


def taught(learner, x, y):
    learner.learn(x, y)
    return learner


def assert_alike(one, other, x):
    assert one.counts == other.counts
    size = max(1.0, np.abs(other.scores(x)).max())
    np.testing.assert_allclose(one.scores(x), other.scores(x), rtol=0, atol=1e-7 * size)


def petals(rows, classes, seed=0, noise=0.05):
    """Several classes, each on two opposite sides of a ring, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    angle = (y + rng.choice([0, classes], rows) + 0.35 * rng.normal(size=rows)) * np.pi / classes
    radius = 1.0 + 0.2 * rng.normal(size=rows)
    wrong = rng.random(rows) < noise
    y[wrong] = rng.integers(0, classes, wrong.sum())
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), as_they_come(y)


def as_they_come(y):
    """The same labels, numbered in the order in which they come."""
    _, first, number = np.unique(y, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
