"""Learning with kernels: Lemma 1 as corrected, the linear kernel beside the explicit learner, blocks and long runs."""

import numpy as np
import pytest

from kernel_examples import RULES, SECOND_ORDER, VARIANCES, rbf, rings
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn import Learner, _native
from scwlearn.datasets import make_synthetic
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


@pytest.mark.parametrize("a", VARIANCES)
@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_a_learner_does_what_the_lemma_says(rule, a):
    x, y = rings(300)
    scores, variances, updated = lemma_1(rule, rbf(x, x), y, a)
    learner = KernelLearner(rule, kernel_parameters={"gamma": 1.0}, initial_variance=a, **defaults_of(rule))
    trace = learner.trace(x, y)
    assert np.flatnonzero(trace.alpha).tolist() == updated
    np.testing.assert_allclose(trace.score, scores, rtol=0, atol=1e-7)
    np.testing.assert_allclose(trace.variance, variances, rtol=1e-6, atol=1e-9)
    assert learner.support.count <= len(updated)


def assert_twins(rule, x, y, a, **parameters):
    covariance = "full" if rule in SECOND_ORDER else "identity"
    parameters = defaults_of(rule) | parameters
    explicit = Learner(rule, covariance=covariance, initial_variance=a, **parameters)
    kernel = KernelLearner(rule, kernel="linear", initial_variance=a, **parameters)
    expected, got = explicit.trace(x, y), kernel.trace(x, y)
    assert kernel.counts == explicit.counts
    np.testing.assert_allclose(got.score, expected.score, rtol=0, atol=1e-8)
    np.testing.assert_allclose(kernel.scores(x), explicit.scores(x), rtol=0, atol=1e-8)
    # Rounding takes some more examples for independent.
    assert kernel.support.count <= 1.5 * x.shape[1]
    if rule in SECOND_ORDER:
        np.testing.assert_allclose(kernel.margin_variances(x[:50]), explicit.margin_variances(x[:50]), rtol=1e-6)


@pytest.mark.parametrize("a", VARIANCES)
@pytest.mark.parametrize("rule", RULES)
def test_the_linear_kernel_is_the_explicit_learner(rule, a):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(700, 12))
    y = np.where(x @ rng.normal(size=12) + rng.normal(size=700) > 0, 1, -1)
    assert_twins(rule, x, y, a)


@pytest.mark.data
@pytest.mark.parametrize("a", VARIANCES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "width"), [("svmguide3", 21), ("splice", 60)])
def test_the_linear_kernel_is_the_explicit_learner_on_real_data(name, width, rule, a, load_data):
    x, y = load_data(name, width)
    order = np.random.default_rng(0).permutation(len(y))
    assert_twins(rule, x[order], y[order], a)


@pytest.mark.parametrize("a", VARIANCES)
@pytest.mark.parametrize("rule", RULES)
def test_the_linear_kernel_is_the_explicit_learner_on_synthetic_data(rule, a):
    x, y = make_synthetic(1000, label_noise=0.1)
    assert_twins(rule, x, y, a)


# Blocks, threads, instruction sets


@pytest.mark.parametrize("rule", ["scw1", "cw", "iellip", "pa1"])
def test_rows_in_any_number_of_batches_teach_the_same(rule):
    x, y = rings(400)
    whole = KernelLearner(rule)
    whole.learn(x, y)
    for size in (1, 7, 100):
        parts = KernelLearner(rule)
        for start in range(0, len(y), size):
            parts.learn(x[start : start + size], y[start : start + size])
        assert parts.counts == whole.counts
        np.testing.assert_allclose(parts.scores(x), whole.scores(x), rtol=0, atol=1e-7)


def test_threads_change_not_a_bit(monkeypatch):
    x, y = rings(500)
    states = set()
    for count in (1, 2, 3):
        monkeypatch.setattr("scwlearn.kernels.learner.allowed_threads", lambda count=count: count)
        monkeypatch.setattr("scwlearn.model.full.AppendableFull.uses_threads", lambda self, size: True)
        learner = KernelLearner("scw1", kernel_parameters={"gamma": 4.0})
        learner.learn(x, y)
        states.add((learner.model.gaussian(0).memory.tobytes(), learner.counts))
    assert len(states) == 1


def test_every_instruction_set_does_the_same():
    x, y = rings(300)
    found = []
    try:
        for name in _native.instruction_sets():
            _native.use_instruction_set(name)
            learner = KernelLearner("scw1")
            learner.learn(x, y)
            found.append((learner.counts, learner.scores(x)))
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])
    for counts, scores in found[1:]:
        assert counts == found[0][0]
        np.testing.assert_allclose(scores, found[0][1], rtol=0, atol=1e-8)


def test_a_support_of_thousands_keeps_its_kernel_matrix_and_its_variances():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4000, 6))
    y = np.where(np.prod(x[:, :2], axis=1) > 0, 1, -1)
    y[rng.random(4000) < 0.2] *= -1
    for rule in ("cw", "arow"):
        learner = KernelLearner(rule, kernel_parameters={"gamma": 0.3})
        trace = learner.trace(x, y)
        assert learner.support.count > 1500
        assert trace.variance.min() > 0
        factor, examples = learner.support.factor, learner.support.examples
        np.testing.assert_allclose(factor @ factor.T, rbf(examples, examples, 0.3), rtol=0, atol=1e-12)
        # Sigma^-1 is that of the prior and the precision of each update along its example.
        coordinates = learner.support.coordinates(rbf(x, examples, 0.3))
        precision = np.eye(len(factor)) + (coordinates * trace.precision[:, None]).T @ coordinates
        tried = coordinates[:20]
        expected = np.einsum("ij,ji->i", tried, np.linalg.solve(precision, tried.T))
        expected += np.maximum(1.0 - np.einsum("ij,ij->i", tried, tried), 0.0)
        np.testing.assert_allclose(learner.margin_variances(x[:20]), expected, rtol=1e-6)


def test_a_model_takes_as_much_memory_as_the_docs_say():
    x, y = rings(3000, noise=0.2)
    learner = KernelLearner("arow", kernel_parameters={"gamma": 20.0})
    learner.learn(x, y)
    count = learner.support.count
    assert count > 500
    held = learner.model.gaussian(0).memory.nbytes + learner.support._factor.nbytes
    assert 16 * count**2 <= held <= 4 * 16 * count**2 + 2**18
