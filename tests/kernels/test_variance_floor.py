"""The variance floor of kernel learners; with several classes round by round beside plain NumPy."""

import numpy as np
import pytest

from kernel_examples import SECOND_ORDER, features_of, petals, rbf
from learner_examples import draw_examples
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import Learner
from scwlearn.kernels import KernelLearner

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]

SCHEMES = ["joint", "ovr"]
GAMMA, FLOOR = 0.1, 0.3


class Plain:
    """A full Sigma per class in explicit coordinates; no step takes a variance below the floor."""

    def __init__(self, name, size, multi_class, a, floor):
        self.form, self.how, self.joint = GAUSSIAN_FORM[name], defaults_of(name), multi_class == "joint"
        self.size, self.a, self.floor, self.growth, self.limited = size, a, floor, 1.0, 0
        self.W, self.S, self.t = [], [], []

    def learn_one(self, x, y):
        scores, variances = [w @ x for w in self.W], [x @ S @ x for S in self.S]
        recorded = variances[int(np.argmax(scores))] if scores else 0.0
        if y == len(self.W):
            self.W.append(np.zeros(self.size))
            self.S.append(self.a * self.growth * np.eye(self.size))
            self.t.append(self.t[0] if self.joint and self.t else 0)
        self.t = [t + 1 for t in self.t]
        self.learn_jointly(x, y) if self.joint else self.learn_each(x, y)
        return recorded

    def learn_jointly(self, x, y):
        if len(self.W) == 1:
            return
        scores = np.array([w @ x for w in self.W])
        rival = int(np.argmax(np.where(np.arange(len(scores)) == y, -np.inf, scores)))
        v = x @ (self.S[y] + self.S[rival]) @ x
        step = self.form(scores[y] - scores[rival], v, self.t[0], **self.how)
        if step is not None:
            self.move(y, x, 1, step)
            self.move(rival, x, -1, step)
            self.S = [S * step[3] for S in self.S]
            self.growth *= step[3]

    def learn_each(self, x, y):
        for c in range(len(self.W)):
            sign = 1 if c == y else -1
            step = self.form(sign * (self.W[c] @ x), x @ self.S[c] @ x, self.t[c], **self.how)
            if step is not None:
                self.move(c, x, sign, step)
                self.S[c] = self.S[c] * step[3]

    def move(self, c, x, sign, step):
        g = self.S[c] @ x
        most = 1 / (self.floor * self.a * (x @ x)) - 1 / (g @ x) if self.floor else np.inf
        k = min(step[2], max(0.0, most))
        self.limited += k < step[2]
        self.W[c] = self.W[c] + step[0] * sign * g
        self.S[c] = self.S[c] - k / (1 + k * (g @ x)) * np.outer(g, g)


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_scores_and_variances_above_a_floor_equal_numpy(name, multi_class, floor):
    x, y = petals(60, 4)
    features, a = features_of(rbf(x, x)), 2.0
    plain = Plain(name, features.shape[1], multi_class, a, floor)
    expected = [plain.learn_one(f, label) for f, label in zip(features, y, strict=True)]
    # A larger tolerance would change scores by its root.
    how = {"multi_class": multi_class, "initial_variance": a, "variance_floor": floor, "tolerance": 1e-14}
    how |= defaults_of(name)
    learner, recorded = KernelLearner(name, n_classes=0, kernel_parameters={"gamma": 1.0}, **how), np.empty(60)
    learner.learn(x, y, variances_out=recorded)
    scores = features @ np.array(plain.W).T
    np.testing.assert_allclose(learner.scores(x), scores, rtol=0, atol=1e-7 * max(1.0, np.abs(scores).max()))
    variances = np.einsum("ni,kij,nj->nk", features, plain.S, features)
    np.testing.assert_allclose(learner.margin_variances(x), variances, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(recorded, expected, rtol=1e-6, atol=1e-9)
    # IELLIP and NAROW reduce variances too little to reach the floor.
    assert bool(plain.limited) == (floor > 0) or name in ("iellip", "narow")


@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", ["scw1", "arow", "nherd"])
def test_with_a_budget_no_variance_in_the_span_falls_below_the_floor(name, multi_class):
    x, y = petals(60, 3)
    how = {"kernel_parameters": {"gamma": 1.0}, "budget": 6, "multi_class": multi_class, "n_classes": 3}
    learner, free = KernelLearner(name, variance_floor=0.3, **how), KernelLearner(name, **how)

    def inside(one, row):
        """Return the variance of a row's projection for each class, and its lower bound."""
        if not one.support.count:
            return np.ones(3), np.zeros(3)
        t = one.model.spans[0].coordinates(rbf(row, one.support.examples))[0]
        n = len(t)
        return np.array([t @ one.model.gaussian(c).matrix()[:n, :n] @ t for c in range(3)]), np.full(3, 0.3 * t @ t)

    limited = False
    for row, label in zip(x[:, None], y[:, None], strict=True):
        for one in (learner, free):
            support = one.support.count
            before, least = inside(one, row)
            one.learn(row, label)
            if one.support.count > support:
                # Now it lies entirely in the span; before, part of it had the variance of the prior.
                before = np.ones(3)
            after, least = inside(one, row)
            below = (after < np.minimum(before, least) * (1 - 1e-9)).any()
            assert not below or one is free
            limited |= below
    assert learner.support.count == 6
    assert limited


def spans(learner, row, a):
    """Return the variance along a row of length 1 and of its part in the span, and the lower bounds of both."""
    n = learner.support.count
    inside = np.zeros(0)
    if n:
        distances = np.square(row - learner.support.examples).sum(axis=1)
        inside = learner.support.coordinates(np.exp(-GAMMA * distances)[np.newaxis])[0]
    within = inside @ learner.model.gaussian(0).matrix()[:n, :n] @ inside
    return np.array([within + a * (1 - inside @ inside), within]), FLOOR * a * np.array([1.0, inside @ inside])


@pytest.mark.parametrize("budget", [None, 5], ids=["exact", "budget"])
@pytest.mark.parametrize("rule", ["scw1", "scw2", "cw", "arow", "nherd", "second_order_perceptron", "narow"])
def test_a_kernel_learner_respects_the_floor(rule, budget):
    x, y = draw_examples(3, 60, 7, 0.7)
    settings = {"kernel": "rbf", "kernel_parameters": {"gamma": GAMMA}, "budget": budget, "initial_variance": 2.0}
    learner, free = KernelLearner(rule, **settings, variance_floor=FLOOR), KernelLearner(rule, **settings)
    limited = False
    for row, label in zip(x[:, None], y[:, None], strict=True):
        for one in (learner, free):
            support = one.support.count
            before, least = spans(one, row, 2.0)
            one.learn(row, label)
            after, _ = spans(one, row, 2.0)
            # An example that joins the support lies entirely in the span.
            which = 0 if one.support.count > support else 1
            above = after[which] >= min(before[which], least[which]) * (1 - 1e-9)
            assert above or one is free
            limited |= not above
    assert limited or rule == "narow"


@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_a_linear_kernel_equals_the_linear_learner(rule):
    x, y = draw_examples(3, 150, 7, 0.7)
    kernel = KernelLearner(rule, kernel="linear", variance_floor=0.2)
    linear = Learner(rule, covariance="full", variance_floor=0.2)
    kernel.learn(x, y)
    linear.learn(x, y)
    assert kernel.counts == linear.counts
    np.testing.assert_allclose(kernel.scores(x), linear.scores(x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(kernel.margin_variances(x), linear.margin_variances(x), rtol=1e-7)


def test_an_invalid_floor_is_rejected():
    with pytest.raises(ValueError, match=r"must be a number in \[0, 1\), got"):
        KernelLearner(n_classes=0, variance_floor=1.0)
    with pytest.raises(ValueError, match="pa1 is a first-order rule"):
        KernelLearner("pa1", n_classes=0, variance_floor=0.1)
