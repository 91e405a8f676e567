"""Several classes with a kernel, round by round beside plain NumPy: what is told of each row, and the floor."""

import numpy as np
import pytest

from kernel_examples import SECOND_ORDER, petals, rbf
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn.kernels import KernelLearner
from scwlearn.learning.counters import Counts

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]

SCHEMES = ["joint", "ovr"]
KINDS = [{"rule": "pa1"}, {"rule": "scw1"}, {"rule": "scw1", "budget": 20}]


class Plain:
    """A whole Sigma for each class in coordinates of all rows, of which no step takes a variance below the floor."""

    def __init__(self, name, size, multi_class, a, floor):
        self.form, self.how, self.joint = GAUSSIAN_FORM[name], defaults_of(name), multi_class == "joint"
        self.size, self.a, self.floor, self.growth, self.felt = size, a, floor, 1.0, 0
        self.W, self.S, self.t = [], [], []

    def learn_one(self, x, y):
        scores, variances = [w @ x for w in self.W], [x @ S @ x for S in self.S]
        told = variances[int(np.argmax(scores))] if scores else 0.0
        if y == len(self.W):
            self.W.append(np.zeros(self.size))
            self.S.append(self.a * self.growth * np.eye(self.size))
            self.t.append(self.t[0] if self.joint and self.t else 0)
        self.t = [t + 1 for t in self.t]
        self.learn_jointly(x, y) if self.joint else self.learn_each(x, y)
        return told

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
        self.felt += k < step[2]
        self.W[c] = self.W[c] + step[0] * sign * g
        self.S[c] = self.S[c] - k / (1 + k * (g @ x)) * np.outer(g, g)


def features_of(kernels):
    values, vectors = np.linalg.eigh(kernels)
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_floor_and_the_variance_of_the_top_class_are_what_numpy_computes(name, multi_class, floor):
    x, y = petals(60, 4)
    features, a = features_of(rbf(x, x)), 2.0
    plain = Plain(name, features.shape[1], multi_class, a, floor)
    expected = [plain.learn_one(f, label) for f, label in zip(features, y, strict=True)]
    # The least part of an example that counts is rounding: else scores differ by the root of it.
    how = {"multi_class": multi_class, "initial_variance": a, "variance_floor": floor, "tolerance": 1e-14}
    how |= defaults_of(name)
    learner, told = KernelLearner(name, n_classes=0, kernel_parameters={"gamma": 1.0}, **how), np.empty(60)
    learner.learn(x, y, variances_out=told)
    scores = features @ np.array(plain.W).T
    np.testing.assert_allclose(learner.scores(x), scores, rtol=0, atol=1e-7 * max(1.0, np.abs(scores).max()))
    variances = np.einsum("ni,kij,nj->nk", features, plain.S, features)
    np.testing.assert_allclose(learner.margin_variances(x), variances, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(told, expected, rtol=1e-6, atol=1e-9)
    # IELLIP takes little of a variance after a few rounds, and NAROW no more than it leaves.
    assert bool(plain.felt) == (floor > 0) or name in ("iellip", "narow")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("multi_class", SCHEMES)
def test_the_variance_told_is_what_margin_variances_would_have_said(multi_class, kind):
    x, y = petals(40, 3)
    one, many = (
        KernelLearner(n_classes=0, multi_class=multi_class, kernel_parameters={"gamma": 1.0}, **kind) for _ in "ab"
    )
    expected = np.zeros(40)
    for i in range(40):
        if i:
            top = one.scores(x[i : i + 1]).argmax()
            expected[i] = one.margin_variances(x[i : i + 1])[0, top]
        one.learn(x[i : i + 1], y[i : i + 1])
    told, scores, weights = np.zeros(40), np.empty((40, 3)), np.ones(40)
    many.learn(x, y, variances_out=told, scores_out=scores)
    np.testing.assert_allclose(told, expected, rtol=1e-8, atol=1e-10)
    weights[[3, 30]] = 0.0
    many.learn(x, y, weights=weights, variances_out=told)
    assert np.isnan(told[[3, 30]]).all()
    assert not np.isnan(np.delete(told, [3, 30])).any()


@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("name", ["scw1", "arow", "nherd"])
def test_with_a_budget_no_step_takes_what_lies_in_the_span_below_the_floor(name, multi_class):
    x, y = petals(60, 3)
    how = {"kernel_parameters": {"gamma": 1.0}, "budget": 6, "multi_class": multi_class, "n_classes": 3}
    learner, free = KernelLearner(name, variance_floor=0.3, **how), KernelLearner(name, **how)

    def inside(one, row):
        """The variance of a row's part in the span for each class, and what no step takes it below."""
        if not one.support.count:
            return np.ones(3), np.zeros(3)
        t = one.model.spans[0].coordinates(rbf(row, one.support.examples))[0]
        n = len(t)
        return np.array([t @ one.model.gaussian(c).matrix()[:n, :n] @ t for c in range(3)]), np.full(3, 0.3 * t @ t)

    felt = False
    for row, label in zip(x[:, None], y[:, None], strict=True):
        for one in (learner, free):
            support = one.support.count
            before, least = inside(one, row)
            one.learn(row, label)
            if one.support.count > support:
                # It lies in the span as a whole now; before, it had the prior's variance outside.
                before = np.ones(3)
            after, least = inside(one, row)
            below = (after < np.minimum(before, least) * (1 - 1e-9)).any()
            assert not below or one is free
            felt |= below
    assert learner.support.count == 6
    assert felt


def test_a_floor_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"must be a number in \[0, 1\), got"):
        KernelLearner(n_classes=0, variance_floor=1.0)
    with pytest.raises(ValueError, match="pa1 is a first-order rule"):
        KernelLearner("pa1", n_classes=0, variance_floor=0.1)


def test_variances_are_told_only_where_there_is_room():
    x, y = petals(20, 3)
    for wrong in (np.empty(19), np.empty((20, 1))):
        learner = KernelLearner(n_classes=0)
        with pytest.raises(ValueError, match="variances_out must have the shape"):
            learner.learn(x, y, variances_out=wrong)
        assert learner.counts == Counts()
    with pytest.raises(TypeError, match="variances_out must be a writable NumPy array"):
        KernelLearner(n_classes=0).learn(x, y, variances_out=[0.0] * 20)
