"""Merging by evidence (ev) with a full Sigma: in directions that the evidence determines, and nothing else."""

import numpy as np
import pytest
import scipy.linalg

from learner_examples import taught
from merge_examples import FEATURES, assert_close, new, shards, sigma
from scwlearn import Learner, merge
from scwlearn.learning.merging import merge_gaussians

QUARTERS = [0.0, 0.25, 0.5, 0.75]


def rotation(size=FEATURES, seed=7):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def textbook(gaussians, weights):
    """mu and Sigma for eigenvalues that are far apart, in the directions of the generalised eigenvectors."""
    L0 = np.eye(FEATURES) / 2.0
    gains = [w * (np.linalg.inv(sigma(g)) - L0) for w, g in zip(weights, gaussians, strict=True)]
    # V'L V = I, for all evidence and as many priors.
    V = scipy.linalg.eigh(L0, sum(gains) + sum(weights) * L0)[1]
    known = np.array([np.einsum("ji,jk,ki->i", V, gain, V) for gain in gains])
    moved = np.array([np.linalg.solve(V, g.weights()[0]) for g in gaussians])
    mean = V @ ((known * moved).sum(axis=0) / known.sum(axis=0))
    p = np.einsum("ji,jk,ki->i", V, L0, V) + (known**2).sum(axis=0) / known.sum(axis=0)
    return mean, V @ np.diag(1 / p) @ V.T


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [0.5, 2.0, 1.0]])
def test_directions_that_are_far_apart_are_averaged_one_by_one(weights):
    gaussians = [learner.model for learner in shards(3, "full", "scw1")]
    mean, matrix = textbook(gaussians, weights)
    merged = merge_gaussians(gaussians, "ev", weights)
    np.testing.assert_allclose(merged.weights()[0], mean, rtol=1e-8)
    np.testing.assert_allclose(sigma(merged), matrix, rtol=1e-8, atol=1e-10)


def orthogonal_shards(count, basis, x, y):
    return [taught(new("full"), (x[k::count] @ basis, y[k::count])) for k in range(count)]


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("is_even", [True, False])
def test_rotated_features_give_the_rotated_model(count, is_even):
    rng = np.random.default_rng(count)
    # If all parts together have seen every feature equally often, any directions would do.
    numbers = np.tile(np.arange(FEATURES), 4) if is_even else rng.integers(0, FEATURES, 4 * FEATURES)
    x, y = np.eye(FEATURES)[numbers], rng.choice([-1, 1], len(numbers))
    straight = merge(orthogonal_shards(count, np.eye(FEATURES), x, y), "ev").model
    turned = merge(orthogonal_shards(count, rotation(), x, y), "ev").model
    np.testing.assert_allclose(turned.weights()[0] @ rotation().T, straight.weights()[0], atol=1e-7)
    np.testing.assert_allclose(rotation() @ sigma(turned) @ rotation().T, sigma(straight), atol=1e-7)


def joint(rows, labels):
    learner = Learner("scw1", n_classes=3, covariance="full")
    learner.learn(rows, labels)
    return learner


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_models_does_not_matter_where_all_evidence_is_equal(seed):
    Q = rotation(6, seed)
    one, other = joint(Q[:3], [0, 1, 2]), joint(Q[3:], [0, 1, 2])
    x = np.random.default_rng(seed).normal(size=(200, 6))
    expected = merge([one, other]).scores(x)
    np.testing.assert_allclose(merge([other, one]).scores(x), expected, atol=1e-7)
    # Each model has learned its own examples, and nothing of the others.
    np.testing.assert_array_equal(merge([one, other]).scores(Q).argmax(axis=1), [0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize("seed", range(5))
def test_a_tiny_change_of_an_example_changes_little_where_all_evidence_is_equal(seed):
    rng = np.random.default_rng(seed)
    # The models share no directions.
    parts = [rotation(4, 10 * seed + k)[:2] for k in range(4)]
    y = rng.choice([-1, 1], (4, 2))
    before, after = (
        merge([taught(new("full"), (part * (1 + rng.normal() * change), y[k])) for k, part in enumerate(parts)], "ev")
        for change in (0.0, 1e-13)
    )
    assert_close(before, after, rtol=1e-4)


def test_evidence_without_common_directions_has_no_order():
    # Three examples in a plane, as far apart as can be: the sum of their evidence is the same in all directions.
    angles = 2 * np.pi * np.arange(3) / 3 + 0.1
    models = [
        taught(new("full"), (np.array([[np.cos(a), np.sin(a)]]), [y])) for a, y in zip(angles, [1, 1, -1], strict=True)
    ]
    expected = merge(models, "ev")
    for order in ([1, 0, 2], [2, 1, 0], [1, 2, 0]):
        assert_close(merge([models[k] for k in order], "ev"), expected, rtol=1e-7)


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-10, 1e-9, 3e-9, 1e-8, 2e-8, 3e-8, 1e-7, 1e-6, 1e-3])
def test_no_distance_of_eigenvalues_is_a_threshold(apart):
    def found(apart):
        rows = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
        rows[1] *= 1 + apart
        return merge([taught(new("full"), (row[np.newaxis], [1])) for row in rows], "ev").model.weights()[0]

    # Here evidence is diagonal in one basis, so that nothing depends on how far the eigenvalues are apart.
    np.testing.assert_allclose(found(apart), found(0.1 * apart), atol=1e-6 + apart)
