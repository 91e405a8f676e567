"""Models to be merged, and how to compare them."""

import numpy as np
import pytest

from learner_examples import draw_examples, taught
from scwlearn import Learner
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.gaussian import GROWTH, ROUNDS

RULES = ("bcm", "ev", "kl")
FEATURES = 7
every_rule = pytest.mark.parametrize("how", RULES)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
X, Y = draw_examples(5, 240, FEATURES, 0.6)


def ungated(m, v):
    """AROW that learns from every example: recursive least squares."""
    return (1 - m) / (v + 1), 1 / (v + 1)


def new(covariance, algorithm=None, **settings):
    algorithm = algorithm or ("pa1" if covariance == "identity" else "arow")
    return Learner(algorithm, covariance=covariance, initial_variance=2.0, **settings)


def shards(count, covariance, algorithm=None, x=X, y=Y, **settings):
    return [taught(new(covariance, algorithm, **settings), (x[k::count], y[k::count])) for k in range(count)]


def sigma(gaussian):
    return gaussian.matrix() if gaussian.covariance.correlated else np.diag(gaussian.variances()[0])


def assert_close(one, other, rtol=1e-11):
    """Assert that Gaussians are equal up to rounding, features of learners by name."""
    one, other = (getattr(model, "model", model) for model in (one, other))
    np.testing.assert_allclose(one.weights(), other.weights(), rtol=rtol, atol=rtol * np.abs(other.weights()).max())
    np.testing.assert_allclose(sigma(one), sigma(other), rtol=rtol, atol=rtol * np.abs(sigma(other)).max())
    np.testing.assert_allclose(one.scalars[:, [GROWTH, ROUNDS]], other.scalars[:, [GROWTH, ROUNDS]], rtol=1e-12)


def reference(known, how, weights, prior):
    """mu and Sigma by the textbook, from pairs of them; ev for a diagonal Sigma only."""
    (mean0, L0), *models = ((mean, np.linalg.inv(covariance)) for mean, covariance in (prior, *known))
    if how == "kl":
        share = np.array(weights) / sum(weights)
        L = sum(w * Lk for w, (_, Lk) in zip(share, models, strict=True))
        return np.linalg.solve(L, sum(w * Lk @ mk for w, (mk, Lk) in zip(share, models, strict=True))), np.linalg.inv(L)
    if how == "bcm":
        L = L0 + sum(w * (Lk - L0) for w, (_, Lk) in zip(weights, models, strict=True))
        pull = L0 @ mean0 + sum(w * (Lk @ mk - L0 @ mean0) for w, (mk, Lk) in zip(weights, models, strict=True))
        return np.linalg.solve(L, pull), np.linalg.inv(L)
    mean, variances = mean0.copy(), 1 / np.diag(L0)
    for i in range(len(mean)):
        found = [w * (Lk[i, i] - L0[i, i]) for w, (_, Lk) in zip(weights, models, strict=True)]
        mean[i] += sum(d * (mk[i] - mean0[i]) for d, (mk, _) in zip(found, models, strict=True)) / sum(found)
        variances[i] = 1 / (L0[i, i] + sum(d * d for d in found) / sum(found))
    return mean, np.diag(variances)
