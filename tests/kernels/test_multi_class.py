"""Multi-class kernel learners: beside a textbook in explicit coordinates, and beside binary learners."""

import numpy as np
import pytest

from helpers import split
from kernel_examples import (
    GAMMA,
    RULES,
    SECOND_ORDER,
    assert_alike,
    every_kind,
    features_of,
    new,
    petals,
    rbf,
    rings,
    several_classes,
    taught,
)
from learner_examples import in_order_of_appearance
from multi_class_reference import FullJointTextbook, OneVersusRestTextbook
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn.kernels import KernelLearner
from scwlearn.learning.counters import Counts
from scwlearn.rules import Step, rule

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]

SCHEMES = ["joint", "ovr"]


class RankOneTextbook(FullJointTextbook):
    """The textbook without inverses, which are slow in as many coordinates as there are rows."""

    def move_second_order(self, x, y, rival, margin):
        g = self.S[[y, rival]] @ x
        step = GAUSSIAN_FORM[self.name](margin, (g @ x).sum(), self.t, **self.parameters)
        if step is None:
            return False
        alpha, _, k, grow = step
        for c, sign, gc in ((y, 1, g[0]), (rival, -1, g[1])):
            self.W[c] += sign * alpha * gc
            self.S[c] -= k / (1 + k * (gc @ x)) * np.outer(gc, gc)
        self.S, self.growth = self.S * grow, self.growth * grow
        return True


def textbook(name, features, y, multi_class, a=1.0, n_classes=0, **how):
    """Return the final scores and variances of all rows, and rows, mistakes and updates."""
    z, size = np.sqrt(a) * features, features.shape[1]
    if multi_class == "joint":
        model = RankOneTextbook(name, size, "full", **how)
    else:
        model = OneVersusRestTextbook(name, size, "full", **how)
    for _ in range(n_classes):
        model.add_class()
    happened = [model.learn_one(x, label) for x, label in zip(z, y, strict=True)]
    mistakes, updates = np.sum(happened, axis=0)
    return z @ model.W.T, np.einsum("ni,kij,nj->nk", z, model.variances, z), (len(y), mistakes, updates)


def assert_follows_the_textbook(learner, x, y, features, **how):
    scores, variances, counts = textbook(
        learner.rule.name, features, y, learner.config.multi_class, learner.config.initial_variance, **how
    )
    got = learner.learn(x, y)
    assert (got.seen, got.mistakes, got.updates) == counts
    size = max(1.0, np.abs(scores).max())
    np.testing.assert_allclose(learner.scores(x), scores, rtol=0, atol=1e-7 * size)
    if learner.rule.order == 2:
        np.testing.assert_allclose(learner.margin_variances(x), variances, rtol=1e-6, atol=1e-9)


# The textbook


@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", RULES)
def test_the_linear_kernel_follows_the_textbook(name, multi_class):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 8))
    y = np.argmax(x @ rng.normal(size=(8, 4)) + rng.normal(size=(200, 4)), axis=1)
    y[:50] %= 3
    y[:4] = [0, 1, 0, 2]
    how = defaults_of(name)
    learner = KernelLearner(name, n_classes=0, kernel="linear", multi_class=multi_class, initial_variance=3.0, **how)
    assert_follows_the_textbook(learner, x, y, x, **how)
    assert learner.n_classes == 4
    assert all(span.count <= 12 for span in learner.model.spans)


@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", RULES)
def test_rbf_follows_the_textbook_in_explicit_coordinates(name, multi_class):
    x, y = petals(120, 5)
    how = defaults_of(name)
    learner = KernelLearner(
        name, n_classes=0, kernel_parameters=GAMMA, multi_class=multi_class, initial_variance=0.7, **how
    )
    assert_follows_the_textbook(learner, x, y, features_of(rbf(x, x)), **how)


@pytest.mark.parametrize("name", ["scw1", "iellip", "pa1"])
def test_declared_classes_take_part_from_the_start(name):
    x, y = petals(80, 4)
    how = defaults_of(name)
    for multi_class in SCHEMES:
        learner = KernelLearner(name, n_classes=6, multi_class=multi_class, kernel_parameters=GAMMA, **how)
        assert_follows_the_textbook(learner, x, y, features_of(rbf(x, x)), n_classes=6, **how)
        assert learner.n_classes == 6


@pytest.mark.parametrize("rivals", ["max", "uniform", "proportional"])
def test_rivals_share_the_step_of_the_perceptron_as_in_the_textbook(rivals):
    x, y = petals(120, 5, noise=0.2)
    learner = KernelLearner("perceptron", n_classes=0, rivals=rivals, kernel_parameters=GAMMA)
    assert_follows_the_textbook(learner, x, y, features_of(rbf(x, x)), rivals=rivals)


def test_a_weight_divides_r_of_arow():
    x, y = petals(200, 3)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], 200)
    weights[:20] = 1.0
    kept = np.flatnonzero(weights)
    features = features_of(rbf(x, x))
    model = RankOneTextbook("arow", features.shape[1], "full")
    for i in kept:
        model.parameters = {"r": 1 / weights[i]}
        model.learn_one(features[i], y[i])
    learner = KernelLearner("arow", n_classes=0, kernel_parameters=GAMMA, r=1.0)
    assert learner.learn(x, y, weights=weights).seen == len(kept)
    np.testing.assert_allclose(learner.scores(x), features @ model.W.T, rtol=0, atol=1e-8)


def shrinking(m: float, v: float) -> Step:
    """Forget most of the mean at each step, and part of Sigma."""
    return Step(1 / v, precision=0.05 / v, shrink=0.01, grow=0.7) if m < 1 else Step(0.0)


def shrinking_by_norm(m: float, v: float, norm2: float) -> Step:
    """Take shorter steps for a longer mean."""
    return Step(1 / (v * (1 + norm2)), precision=0.05 / v, shrink=0.01, grow=0.7) if m < 1 else Step(0.0)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("function", [shrinking, shrinking_by_norm])
@pytest.mark.parametrize("order", [1, 2])
def test_shrinking_and_growing_apply_to_all_classes(order, function):
    # Enough updates that the scales are folded into the arrays; norm2 covers all weights.
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(500, 6)), in_order_of_appearance(rng.integers(0, 4, 500))
    how = {"large_margin": True, "non_separable": True, "cite": "Made for this test 2026"}
    own = rule(title="Shrinking", estimator="Shrinking", order=order, **how)(function)
    a, updates = 0.5, 0
    W, S = np.zeros((4, 6)), [a * np.eye(6) for _ in range(4)]
    for i, (f, label) in enumerate(zip(x, y, strict=True)):
        known = max(y[: i + 1]) + 1
        scores = W[:known] @ f
        rival = int(np.argmax(np.where(np.arange(known) == label, -np.inf, scores)))
        v = f @ S[label] @ f + f @ S[rival] @ f
        given = [scores[label] - scores[rival], v, (W**2).sum() / a][: function.__code__.co_argcount]
        step = function(*given)
        if known == 1 or step.alpha == 0:
            continue
        updates += 1
        W *= step.shrink
        W[label] += step.alpha * S[label] @ f
        W[rival] -= step.alpha * S[rival] @ f
        if order == 2:
            for c in (label, rival):
                g = S[c] @ f
                S[c] = S[c] - step.precision * np.outer(g, g) / (1 + step.precision * (g @ f))
            S = [s * step.grow for s in S]
    assert updates > 400  # 0.01^400 and 0.7^400 are less than a scale holds
    learner = KernelLearner(own, n_classes=0, kernel="linear", initial_variance=a)
    assert learner.learn(x, y).updates == updates
    np.testing.assert_allclose(learner.scores(x), x @ W.T, rtol=0, atol=1e-7 * np.abs(W).max())
    if order == 2:
        expected = np.einsum("ni,kij,nj->nk", x, S, x)
        np.testing.assert_allclose(learner.margin_variances(x), expected, rtol=1e-6)


# Binary learners


@pytest.mark.parametrize("name", RULES)
def test_two_classes_one_versus_rest_equal_the_binary_learner(name):
    x, y = rings(300)
    binary = taught(KernelLearner(name, kernel_parameters=GAMMA), x, y)
    both = KernelLearner(name, n_classes=2, multi_class="ovr", kernel_parameters=GAMMA)
    assert both.learn(x, (y + 1) // 2).updates == binary.counts.updates
    size = max(1.0, np.abs(binary.scores(x)).max())
    np.testing.assert_allclose(both.scores(x), np.outer(binary.scores(x), [-1, 1]), rtol=0, atol=1e-9 * size)
    assert both.support.count == binary.support.count


@pytest.mark.parametrize("how", [{}, {"budget": 400, "tolerance": 1e-12}])
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_one_versus_rest_equals_a_binary_learner_per_class(name, how):
    x, y = petals(200, 4)
    same = {"kernel_parameters": GAMMA} | defaults_of(name)
    learner = taught(KernelLearner(name, n_classes=4, multi_class="ovr", **same, **how), x, y)
    binary = [taught(KernelLearner(name, **same), x, np.where(y == c, 1, -1)) for c in range(4)]
    for c, one in enumerate(binary):
        size = max(1.0, np.abs(one.scores(x)).max())
        # One span for all classes projects other rows, which matters up to the root of the tolerance.
        np.testing.assert_allclose(learner.scores(x)[:, c], one.scores(x), rtol=0, atol=(1e-5 if how else 1e-7) * size)
        np.testing.assert_allclose(learner.margin_variances(x)[:, c], one.margin_variances(x), rtol=1e-5, atol=1e-10)
    assert learner.support.count <= sum(one.support.count for one in binary)


@pytest.mark.parametrize("how", [{}, {"budget": 60}])
@pytest.mark.parametrize("name", ["scw1", "iellip", "pa1", "romma"])
@pytest.mark.parametrize("multi_class", SCHEMES)
def test_splitting_a_binary_learner_keeps_its_scores(multi_class, name, how):
    x, y = petals(500, 4)
    two = np.flatnonzero(y < 2)
    binary = KernelLearner(name, kernel_parameters=GAMMA, **how)
    binary.learn(x[two[:100]], np.where(y[two[:100]] == 1, 1, -1))
    learner = split(binary, multi_class=multi_class)
    assert learner.counts == binary.counts
    assert learner.n_classes == 2
    assert learner.n_features == 2
    scores = learner.scores(x)
    expected = binary.scores(x)
    difference = scores[:, 1] - scores[:, 0] if multi_class == "joint" else scores[:, 1]
    np.testing.assert_allclose(difference, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)
    for c in range(2):
        np.testing.assert_allclose(learner.margin_variances(x)[:, c], binary.margin_variances(x), rtol=1e-9)
    before = binary.scores(x)
    learner.learn(x, y)
    learner.learn(x, y)
    assert learner.n_classes == 4
    assert np.mean(learner.scores(x).argmax(axis=1) == y) > 0.6
    assert np.array_equal(binary.scores(x), before)


def test_a_split_learner_learns_on_as_the_binary_one():
    x, y = rings(400)
    binary = taught(KernelLearner("scw1", kernel_parameters=GAMMA), x[:200], y[:200])
    learner = split(binary, multi_class="ovr")
    binary.learn(x[200:], y[200:])
    learner.learn(x[200:], (y[200:] + 1) // 2)
    np.testing.assert_allclose(learner.scores(x)[:, 1], binary.scores(x), rtol=0, atol=1e-9)


def test_an_untrained_binary_learner_can_be_split():
    learner = KernelLearner("scw1", intercept=True, budget=7).split()
    assert (learner.n_classes, learner.config.budget, learner.kernel.constant) == (2, 7, True)
    x, y = petals(100, 3)
    learner.learn(x, y)
    assert learner.n_classes == 3


# New classes


@every_kind
def test_a_single_class_teaches_nothing_jointly(kind):
    x, _ = petals(20, 2)
    learner = new("joint", kind)
    assert learner.learn(x, np.zeros(20, dtype=int)) == Counts(seen=20, mistakes=1, updates=0)
    assert learner.support.count == 0
    assert not learner.scores(x).any()
    assert learner.scores(x).shape == (20, 1)


@every_kind
@several_classes
def test_an_added_class_takes_part_at_once(axis, kind):
    x, y = petals(100, 3)
    one, other = new(axis, kind, n_classes=5), new(axis, kind)
    other.add_classes(5)
    assert one.learn(x, y) == other.learn(x, y)
    assert_alike(one, other, x)
    one.add_classes(2)
    assert one.n_classes == 7
    assert not one.scores(x)[:, 5:].any()
    np.testing.assert_allclose(one.margin_variances(x)[:, 5:], 1.0)
    before = (one.scores(x)[y == 0].argmax(axis=1) == 6).mean()
    one.learn(x, np.where(y == 0, 6, y))
    assert (one.scores(x)[y == 0].argmax(axis=1) == 6).mean() > before + 0.2


@several_classes
def test_a_learner_that_shares_the_model_sees_added_classes(axis):
    x, y = petals(100, 4)
    one = taught(new(axis), x, y)
    other = one._shallow_copy()
    other.add_classes(1)
    assert one.n_classes == other.n_classes == 5
