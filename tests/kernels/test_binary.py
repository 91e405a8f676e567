"""Binary kernel learners: Lemma 1 as corrected, and the linear kernel beside the explicit learner."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kernel_examples import RULES, SECOND_ORDER, rbf, rings
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import Learner
from scwlearn._util import threads
from scwlearn._util.threads import allowed_threads
from scwlearn.kernels import KernelLearner

pytestmark = pytest.mark.native


def lemma_1(name, kernels, y, a):
    """The recursion of the corrected lemma over a kernel matrix, as it stands in docs/kernels.md."""
    updated, nu, pi = [], np.zeros(0), np.zeros((0, 0))
    scores, variances = [], []
    grown = 1.0
    for i, label in enumerate(y):
        k = kernels[i, updated]
        c = pi @ k
        unseen = a * grown
        f, v = nu @ k, k @ c + unseen * kernels[i, i]
        scores.append(f)
        variances.append(v)
        step = GAUSSIAN_FORM[name](label * f, v, i + 1)
        if step is None:
            continue
        alpha, beta, _, grow = step
        nu = np.append(nu + alpha * label * c, unseen * alpha * label)
        pi = pi - beta * np.outer(c, c)
        edge = -unseen * beta * c
        pi = np.block([[pi, edge[:, None]], [edge[None, :], np.array([[-(unseen**2) * beta]])]]) * grow
        grown *= grow
        updated.append(i)
    return np.array(scores), np.array(variances), updated


@pytest.mark.parametrize("a", [0.5, 3.0])
@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_a_learner_follows_lemma_1(rule, a):
    x, y = rings(200)
    scores, variances, updated = lemma_1(rule, rbf(x, x), y, a)
    learner = KernelLearner(rule, kernel_parameters={"gamma": 1.0}, initial_variance=a, **defaults_of(rule))
    trace = learner.trace(x, y)
    assert np.flatnonzero(trace.alpha).tolist() == updated
    np.testing.assert_allclose(trace.score, scores, rtol=0, atol=1e-7)
    np.testing.assert_allclose(trace.variance, variances, rtol=1e-6, atol=1e-9)
    assert learner.support.count <= len(updated)


def assert_equal_to_explicit(rule, x, y, a, **parameters):
    covariance = "full" if rule in SECOND_ORDER else "identity"
    parameters = defaults_of(rule) | parameters
    explicit = Learner(rule, covariance=covariance, initial_variance=a, **parameters)
    kernel = KernelLearner(rule, kernel="linear", initial_variance=a, **parameters)
    expected, got = explicit.trace(x, y), kernel.trace(x, y)
    assert kernel.counts == explicit.counts
    np.testing.assert_allclose(got.score, expected.score, rtol=0, atol=1e-8)
    np.testing.assert_allclose(kernel.scores(x), explicit.scores(x), rtol=0, atol=1e-8)
    # Because of rounding, some more examples count as independent.
    assert kernel.support.count <= 1.5 * x.shape[1]
    if rule in SECOND_ORDER:
        np.testing.assert_allclose(kernel.margin_variances(x[:50]), explicit.margin_variances(x[:50]), rtol=1e-6)


@pytest.mark.parametrize("a", [0.5, 3.0])
@pytest.mark.parametrize("rule", RULES)
def test_the_linear_kernel_equals_the_explicit_learner(rule, a):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 12))
    y = np.where(x @ rng.normal(size=12) + rng.normal(size=400) > 0, 1, -1)
    assert_equal_to_explicit(rule, x, y, a)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "width", "rule"),
    [*(("svmguide3", 21, rule) for rule in RULES), *(("splice", 60, rule) for rule in ("scw1", "iellip", "pa1"))],
)
def test_the_linear_kernel_equals_the_explicit_learner_on_real_data(name, width, rule, load_data):
    x, y = load_data(name, width)
    order = np.random.default_rng(0).permutation(len(y))
    assert_equal_to_explicit(rule, x[order], y[order], 1.0)


@pytest.mark.threads
def test_concurrent_learners_leave_the_threads_of_blas_as_they_were():
    x, y = rings(300)
    before = allowed_threads()
    with ThreadPoolExecutor(4) as pool:
        counts = set(pool.map(lambda learner: learner.learn(x, y), [KernelLearner("scw1") for _ in range(6)]))
    assert len(counts) == 1
    assert allowed_threads() == before
    assert not threads._limits
