"""Joint steps are minima of their problems; a shared Sigma has the coefficients derived for it."""

import numpy as np
import pytest

from multi_class_reference import SHARED_FORM
from oracle import GAUSSIAN, full_objective, least_in_full, least_shared, shared_objective, shortest
from reference import defaults_of
from scwlearn import Learner
from scwlearn.rules import HOLD, find_rule

TOLERANCE = 1e-9
CLASSES = 3


def learner_at(name, W, S=None, **how):
    """A learner whose classes have these weights, and each the variances of its line."""
    learner = Learner(name, n_classes=len(W), covariance="identity" if S is None else "diagonal", **how)
    learner.learn(np.zeros((1, W.shape[1])), [0])
    gaussians = learner.model
    if S is not None and how.get("shared_covariance"):
        gaussians.memory[:, gaussians.lanes] = S
    elif S is not None:
        gaussians.memory[:, gaussians.lanes : gaussians.lanes + len(W)] = S.T
    gaussians.memory[:, : len(W)] = W.T
    gaussians.scalars[0, 2] = gaussians.scalars[0, 3] = np.square(W).sum()
    return learner


def stacked(x, y, rival, classes=CLASSES):
    blocks = np.zeros((classes, len(x)))
    blocks[y], blocks[rival] = x, -x
    return blocks.ravel()


def draw(rng, d=2):
    """Weights, variances, a row, its class and its rival; the class is mostly wrong."""
    W, S, x = rng.normal(size=(CLASSES, d)), rng.uniform(0.2, 3, (CLASSES, d)), 2 * rng.normal(size=d)
    y = int(rng.integers(CLASSES))
    rival = max((r for r in range(CLASSES) if r != y), key=lambda r: W[r] @ x)
    return W, S, x, y, rival


def letters_for(rng, name):
    """Parameters of the rule, and the letters of its formula."""
    drawn = {"C": 10 ** rng.uniform(-1, 1), "eta": rng.uniform(0.55, 0.95), "r": 10 ** rng.uniform(-1, 1)}
    rule = find_rule(name)
    parameters = {p.name: drawn[p.name] for p in rule.parameters}
    return parameters, rule.constants(parameters)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_joint_step_is_the_minimum_over_all_weights(name):
    rng = np.random.default_rng(3)
    moved = 0
    while moved < 4:
        W, S, x, y, rival = draw(rng)
        parameters, c = letters_for(rng, name)
        learner = learner_at(name, W, S, **parameters)
        if not learner.learn(x[None], [y]).updates:
            continue
        moved += 1
        mean = learner.model.weights().ravel()
        variances = learner.model.variances()
        # A diagonal Sigma shows the precision that was added.
        precision = (1 / variances[y, 0] - 1 / S[y, 0]) / x[0] ** 2
        long_x = stacked(x, y, rival)
        sigma = np.linalg.inv(np.diag(1 / S.ravel()) + precision * np.outer(long_x, long_x))
        least = least_in_full(GAUSSIAN[name], W.ravel(), np.diag(S.ravel()), long_x, 1, c)
        reached = full_objective(GAUSSIAN[name], W.ravel(), np.diag(S.ravel()), long_x, 1, c, mean, sigma)
        assert abs(reached - least) <= TOLERANCE * max(1.0, abs(least))
        np.testing.assert_allclose(variances.ravel(), 1 / np.diag(np.linalg.inv(sigma)), rtol=1e-12)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_shared_step_is_the_minimum_when_both_rows_count_sigma(name):
    rng = np.random.default_rng(5)
    moved, better = 0, 0
    while moved < 12:
        d = 2
        root = rng.normal(size=(d, d))
        sigma, rows, x = root @ root.T + 0.1 * np.eye(d), rng.normal(size=(2, d)), 2 * rng.normal(size=d)
        _, c = letters_for(rng, name)
        v = x @ sigma @ x
        step = find_rule(name).step((rows[0] - rows[1]) @ x, 2 * v, 0.0, 1.0, c, n=2.0)
        if step == HOLD:
            continue
        moved += 1
        g = sigma @ x
        after = rows + step.alpha * np.outer([1, -1], g), sigma - step.beta(v) * np.outer(g, g)
        least = least_shared(GAUSSIAN[name], rows, sigma, x, c)
        reached = shared_objective(GAUSSIAN[name], rows, sigma, x, c, *after)
        assert abs(reached - least) <= TOLERANCE * max(1.0, abs(least))
        # If it counted once for both rows, the step would differ.
        once = least_shared(GAUSSIAN[name], rows, sigma, x, c, times=1)
        better += shared_objective(GAUSSIAN[name], rows, sigma, x, c, *after, times=1) > once + 1e-6
    assert better > moved / 2


@pytest.mark.parametrize("name", SHARED_FORM)
def test_two_rows_with_one_sigma_have_the_derived_coefficients(name):
    rng = np.random.default_rng(7)
    rule, moved = find_rule(name), 0
    for m, v, t in zip(2 * rng.normal(size=400), 10 ** rng.uniform(-3, 2, 400), range(1, 401), strict=True):
        parameters = defaults_of(name)
        expected = SHARED_FORM[name](m, v, min(t, 9), **parameters)
        step = rule.step(m, 2 * v, 0.0, min(t, 9), rule.constants(parameters), n=2.0)
        if expected is None or expected[0] == 0:
            assert step == HOLD
            continue
        alpha, beta, k, grow = expected
        moved += 1
        np.testing.assert_allclose((step.alpha, step.beta(v), step.precision, step.grow), (alpha, beta, k, grow), 1e-9)
    assert moved > 50


def test_the_shared_cw_step_ends_on_its_constraint():
    rng = np.random.default_rng(9)
    rule = find_rule("cw")
    for m, v in zip(rng.normal(size=100), 10 ** rng.uniform(-2, 2, 100), strict=True):
        phi = rule.constants({})["phi"]
        step = rule.step(m, 2 * v, 0.0, 1.0, {"phi": phi}, n=2.0)
        if step == HOLD:
            continue
        variance = v / (1 + step.precision * v)
        assert m + 2 * step.alpha * v == pytest.approx(phi * np.sqrt(2 * variance), rel=1e-10)


@pytest.mark.parametrize("name", ["romma", "aggressive_romma"])
def test_joint_romma_is_the_shortest_vector_beyond_both_planes(name):
    rng = np.random.default_rng(11)
    moved = 0
    while moved < 200:
        W, _, x, y, rival = draw(rng, d=3)
        long_x, mu = stacked(x, y, rival), W.ravel()
        if abs(long_x @ mu) > 0.99 * np.linalg.norm(long_x) * np.linalg.norm(mu):
            continue
        learner = learner_at(name, W)
        if not learner.learn(x[None], [y]).updates:
            continue
        moved += 1
        best = shortest(np.array([long_x, mu]), np.array([1.0, mu @ mu]))
        np.testing.assert_allclose(learner.model.weights().ravel(), best, rtol=0, atol=1e-9 * np.linalg.norm(best))


def test_joint_romma_equals_the_published_step():
    rng = np.random.default_rng(13)
    moved = 0
    while moved < 50:
        W, _, x, y, rival = draw(rng, d=3)
        m = (W[y] - W[rival]) @ x
        if m > 0:
            continue
        moved += 1
        learner = learner_at("romma", W)
        learner.learn(x[None], [y])
        n, length2 = 2 * (x @ x) * np.square(W).sum(), np.square(W).sum()
        c, e = (n - m) / (n - m**2), length2 * (1 - m) / (n - m**2)
        expected = c * W
        expected[y] += e * x
        expected[rival] -= e * x
        np.testing.assert_allclose(learner.model.weights(), expected, rtol=1e-9)
    new = Learner("romma", n_classes=3)
    new.learn([[1.0, 2.0]], [2])
    np.testing.assert_allclose(new.model.weights(), np.outer([-1, 0, 1], [0.1, 0.2]), rtol=1e-12)


@pytest.mark.parametrize("name", ["pa", "pa1", "pa2"])
def test_joint_passive_aggressive_steps_equal_the_published_ones(name):
    rng = np.random.default_rng(15)
    moved = 0
    while moved < 50:
        W, _, x, y, rival = draw(rng, d=3)
        loss, length2, C = 1 - (W[y] - W[rival]) @ x, x @ x, 10 ** rng.uniform(-2, 1)
        if loss <= 0:
            continue
        moved += 1
        tau = {
            "pa": loss / (2 * length2),
            "pa1": min(C, loss / (2 * length2)),
            "pa2": loss / (2 * length2 + 1 / (2 * C)),
        }[name]
        learner = learner_at(name, W, **({} if name == "pa" else {"C": C}))
        learner.learn(x[None], [y])
        expected = W.copy()
        expected[y] += tau * x
        expected[rival] -= tau * x
        np.testing.assert_allclose(learner.model.weights(), expected, rtol=1e-9)
