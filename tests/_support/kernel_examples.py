"""Data sets, kinds of learners and comparisons for the tests of kernel learners."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from learner_examples import in_order_of_appearance
from scwlearn.kernels import KernelLearner
from scwlearn.rules import all_rules

RULES = [rule.name for rule in all_rules()]
SECOND_ORDER = [rule.name for rule in all_rules() if rule.order == 2]
GAMMA = {"gamma": 1.0}

#: Learners on labels -1 and +1, and on class numbers.
AXES = {"binary": {}, "joint": {"n_classes": 0}, "ovr": {"n_classes": 0, "multi_class": "ovr"}}
#: One of each kind: without a Sigma, with a span for each class, with one span for all.
KINDS = {"first order": {"rule": "pa1"}, "second order": {"rule": "scw1"}, "budget": {"rule": "scw1", "budget": 50}}

every_axis = pytest.mark.parametrize("axis", AXES)
every_kind = pytest.mark.parametrize("kind", KINDS)
several_classes = pytest.mark.parametrize("axis", ["joint", "ovr"])


def new(axis, kind="second order", **settings):
    """Return a new learner, with an rbf kernel unless the settings name another."""
    kernel = {} if "kernel" in settings else {"kernel_parameters": GAMMA}
    return KernelLearner(**(kernel | AXES[axis] | KINDS[kind] | settings))


def draw(axis, rows, noise=0.05):
    """Return rows and labels for a class axis."""
    return rings(rows, noise=noise) if axis == "binary" else petals(rows, 4, noise=noise)


def rings(rows, seed=0, noise=0.05):
    """Two classes that no plane separates, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], rows)
    angle, radius = rng.uniform(0, 2 * np.pi, rows), np.where(y > 0, 1.0, 2.0) + 0.15 * rng.normal(size=rows)
    y[rng.random(rows) < noise] *= -1
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def petals(rows, classes, seed=0, noise=0.05):
    """Several classes, each on two opposite sides of a ring, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    angle = (y + rng.choice([0, classes], rows) + 0.35 * rng.normal(size=rows)) * np.pi / classes
    radius = 1.0 + 0.2 * rng.normal(size=rows)
    wrong = rng.random(rows) < noise
    y[wrong] = rng.integers(0, classes, wrong.sum())
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), in_order_of_appearance(y)


def rbf(x, z, gamma=1.0):
    return pairwise_kernels(x, z, metric="rbf", gamma=gamma)


def features_of(kernels):
    """Return rows whose inner products are the kernels."""
    values, vectors = np.linalg.eigh(kernels)
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def taught(learner, x, y):
    learner.learn(x, y)
    return learner


def memory(learner):
    """Return the bytes of the model."""
    return b"".join(memory.tobytes() for memory in learner.model.memories), learner.counts


def assert_alike(one, other, x, atol=1e-7):
    """Assert equal counts, and scores and variances that differ only in rounding."""
    assert (one.counts, one.n_classes) == (other.counts, other.n_classes)
    size = max(1.0, np.abs(other.scores(x)).max())
    np.testing.assert_allclose(one.scores(x), other.scores(x), rtol=0, atol=atol * size)
    np.testing.assert_allclose(one.margin_variances(x), other.margin_variances(x), rtol=1e-6, atol=atol)
