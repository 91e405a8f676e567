"""Merging on hostile streams, at the smallest variances and beyond the range of floats."""

import copy

import numpy as np
import pytest

from collinear_streams import STREAMS
from learner_examples import taught
from merge_examples import FEATURES, RULES, X, Y, assert_close, every_rule, new, shards
from scwlearn import merge
from scwlearn.learning.merging import full, merge_gaussians
from scwlearn.model.full import factors
from scwlearn.model.gaussian import SPREAD_SCALE
from scwlearn.rules import Step, rule


@pytest.fixture
def least_squares(registry):
    """AROW without the gate, declared: it states its precision, which a function (m, v) cannot on hostile streams."""

    @rule(title="LS", estimator="LS", order=2, large_margin=True, non_separable=True, cite="Nobody 2026")
    def least_squares(m: float, v: float) -> Step:
        return Step(alpha=(1 - m) / (v + 1), precision=1.0)

    return least_squares


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("rows", [8, 40, 20_000])
def test_merged_sigma_equals_the_single_stream_on_hostile_streams(name, rows, least_squares):
    x, y = STREAMS[name].rows(rows)
    models = shards(4, "full", least_squares, x, y)
    single = taught(new("full", least_squares), (x, y))
    # With few rows a single model's Sigma is no better: most directions are still unknown.
    rtol = 1e-3 if rows == 8 else 1e-6
    merged = merge(models, "bcm")
    np.testing.assert_allclose(merged.margin_variances(x), single.margin_variances(x), rtol=rtol)
    own = np.random.default_rng(0).normal(size=(50, x.shape[1]))
    np.testing.assert_allclose(merged.margin_variances(own), single.margin_variances(own), rtol=rtol)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [4, 6, 10])
@every_rule
def test_copies_of_an_ill_conditioned_model_merge_into_it(how, size, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, size))
    # Pairs of features that are nearly equal.
    x[:, 1::2] = x[:, ::2] * (1 + 1e-6 * x[:, 1::2])
    learner = taught(new("full", "cw"), (x, rng.choice([-1, 1], 200)))
    # The evidence of both is averaged by ev, and added up by the others.
    merged = merge([learner, copy.copy(learner)], how, [1.0, 1.0] if how == "ev" else [0.5, 0.5])
    root = learner.model.root()
    sizes = np.linalg.svd(root / np.linalg.norm(root, axis=1, keepdims=True), compute_uv=False)
    lengths = np.linalg.svd(np.linalg.solve(merged.model.root(), root), compute_uv=False)
    assert sizes[0] / sizes[-1] > 1e5
    np.testing.assert_allclose(lengths, 1.0, rtol=10 * 2.0**-53 * size * sizes[0] / sizes[-1])


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("rows", [8, 20_000])
@every_rule
def test_merged_sigma_stays_positive_on_hostile_streams(name, rows, how):
    stream = STREAMS[name]
    (x, y), (more, labels) = stream.rows(rows), stream.rows(2000, seed=1)
    merged = merge(shards(8, "full", stream.rule, x, y, **stream.parameters), how)
    gaussian = merged.model
    assert (factors(gaussian.memory)[1] > 0).all()
    np.testing.assert_array_equal(np.tril(factors(gaussian.memory)[2].T), np.eye(gaussian.size))
    assert (merged.margin_variances(more) > 0).all()
    assert (merged.margin_variances(more) <= np.square(more, dtype=float).sum(axis=1) * 2.0 * (1 + 1e-9)).all()
    counts = merged.learn(more, labels)
    assert counts.updates > 100
    single = taught(new("full", stream.rule, **stream.parameters), (x, y))
    assert counts.mistakes < single.learn(more, labels).mistakes + 100
    assert (merged.margin_variances(more) > 0).all()


@pytest.mark.parametrize("again", [False, True])
def test_a_factor_and_eigenvalues_remove_the_prior_alike(again, monkeypatch):
    start = taught(new("full"), (X[:20], Y[:20])) if again else None
    models = [taught(copy.copy(start or new("full")), (X[k::3], Y[k::3])) for k in range(3)]
    by_factor = merge(models, "bcm", prior=start)
    monkeypatch.setattr(full, "_cholesky", lambda *_: None)
    assert_close(merge(models, "bcm", prior=start), by_factor, rtol=1e-13)


def test_no_direction_becomes_less_certain_than_in_models_that_lost_information():
    models = shards(3, "full", x=X[:6], y=Y[:6])
    for model in models:
        diagonal(model.model)[:] *= 1 + 1e-6
    largest = np.linalg.eigvalsh(merge(models, "bcm").model.matrix()).max()
    np.testing.assert_allclose(largest, 2.0 * (1 + 1e-6), rtol=1e-12)


@pytest.mark.parametrize("again", [False, True])
@every_rule
def test_models_with_features_at_other_places_are_merged_alike(how, again):
    order = np.random.default_rng(0).permutation(FEATURES)
    start = taught(new("full"), (X[:20], Y[:20]))
    models = [taught(copy.copy(start), (X[k::3], Y[k::3])).model for k in range(3)]
    prior = start.model if again else None
    moved = [
        # The same model, learned from features in another order.
        taught(taught(new("full"), (X[:20, order], Y[:20])), (X[k::3, order], Y[k::3])).model.reordered(
            np.argsort(order)
        )
        for k in range(3)
    ]
    assert not np.array_equal(factors(moved[1].memory)[0], factors(models[0].memory)[0])
    assert_close(
        merge_gaussians([models[0], moved[1], models[2]], how, None, prior), merge_gaussians(models, how, None, prior)
    )


def diagonal(gaussian):
    """A view of the variances, or of the D of U D U'."""
    return gaussian.covariance.diagonal_in_place(gaussian.memory)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_smallest_variances_are_merged_without_underflow(covariance):
    models = shards(3, covariance)
    for model in models:
        diagonal(model.model)[:] = 1e-200
        if covariance == "full":
            factors(model.model.memory)[2][:] = np.eye(FEATURES)
    for how in RULES:
        gaussian = merge(models, how).model
        assert (diagonal(gaussian) >= 1e-200).all()
        expected = 1e-200 / 3 if how == "bcm" else 1e-200
        np.testing.assert_allclose(diagonal(gaussian) * gaussian.scalars[0, SPREAD_SCALE], expected, rtol=1e-6)


def test_overflow_is_an_error():
    models = shards(2, "full")
    for model in models:
        diagonal(model.model)[:] = 1e-200
        factors(model.model.memory)[2][np.triu_indices(FEATURES, 1)[::-1]] = 1e80
    for how in RULES:
        with pytest.raises(ValueError, match="cannot be merged: some weights or variances are too large or too small"):
            merge(models, how)


def test_features_beyond_one_slice_are_merged_alike():
    size = 2**16 + 5
    models = [new("diagonal") for _ in range(2)]
    rng = np.random.default_rng(0)
    for model in models:
        model.learn(rng.normal(size=(3, size)) / 256, [1, -1, 1])
    for how in RULES:
        merged = merge(models, how).model
        mean, variances = reference_of_diagonals([model.model for model in models], how)
        np.testing.assert_allclose(merged.weights(), mean, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(merged.variances(), variances, rtol=1e-12)


def reference_of_diagonals(gaussians, how):
    L = 1 / np.array([g.variances() for g in gaussians])
    mean = np.array([g.weights() for g in gaussians])
    dL = L - 0.5
    if how == "ev":
        return (dL * mean).sum(axis=0) / dL.sum(axis=0), 1 / (0.5 + (dL**2).sum(axis=0) / dL.sum(axis=0))
    total = L.mean(axis=0) if how == "kl" else 0.5 + dL.sum(axis=0)
    return (L * mean).sum(axis=0) / total / (2 if how == "kl" else 1), 1 / total
