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
