"""Kernel learners as people meet them: kinds of kernels and rows, the promises that every learner keeps, the budget."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from kernel_examples import RULES, assert_alike, rbf, rings, taught
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn._util import threads
from scwlearn._util.threads import allowed_threads
from scwlearn.kernels import Kernel, KernelLearner

pytestmark = pytest.mark.native


# Kinds of kernels and rows


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian", "cosine"])
def test_a_kernel_by_name_is_that_function_and_that_matrix(kernel):
    x, y = rings(200)
    parameters = {name: 0.7 for name in ("gamma",) if name in Kernel(kernel).parameters}
    given = Kernel(kernel).parameters | parameters

    def function(a, b):
        return pairwise_kernels(a, b, metric=kernel, **given)

    named = KernelLearner("scw1", kernel=kernel, kernel_parameters=parameters)
    own = KernelLearner("scw1", kernel=function)
    computed = KernelLearner("scw1", kernel="precomputed")
    counts = {named.learn(x, y), own.learn(x, y), computed.learn(function(x, x), y)}
    assert len(counts) == 1
    np.testing.assert_allclose(own.scores(x), named.scores(x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(computed.scores(function(x, x)), named.scores(x), rtol=0, atol=1e-12)
    assert np.array_equal(
        computed.support.examples, [np.flatnonzero((x == s).all(axis=1))[0] for s in named.support.examples]
    )


def test_sparse_rows_are_dense_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 30)) * (rng.random((300, 30)) < 0.2)
    y = np.where(x[:, 0] * x[:, 1] + x[:, 2] > 0, 1, -1)
    dense, thin = KernelLearner("scw1"), KernelLearner("scw1")
    assert dense.learn(x, y) == thin.learn(sparse.csr_array(x), y)
    np.testing.assert_allclose(thin.scores(sparse.csr_array(x)), dense.scores(x), rtol=0, atol=1e-9)
    assert sparse.issparse(thin.support.examples)


def test_dense_and_sparse_rows_may_follow_each_other():
    x, y = rings(300)
    expected = taught(KernelLearner("scw1", kernel="laplacian"), x, y)
    for first, second in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        learner = taught(KernelLearner("scw1", kernel="laplacian"), first(x[:100]), y[:100])
        learner.learn(second(x[100:]), y[100:])
        assert_alike(learner, expected, x)
        np.testing.assert_allclose(learner.scores(sparse.csr_array(x)), learner.scores(x), rtol=0, atol=1e-9)


def test_learners_in_threads_leave_the_threads_of_blas_as_they_were():
    x, y = rings(400)
    before = allowed_threads()
    with ThreadPoolExecutor(4) as pool:
        learners = [KernelLearner("scw1") for _ in range(8)]
        counts = set(pool.map(lambda learner: learner.learn(x, y), learners))
    assert len(counts) == 1
    assert allowed_threads() == before
    assert not threads._limits


def test_a_learner_with_other_parameters_is_on_the_same_model():
    x, y = rings(400)
    one = taught(KernelLearner("scw1", C=1.0), x[:200], y[:200])
    other = one.with_parameters({"C": 0.1, "eta": 0.9})
    other.learn(x[200:300], y[200:300])
    assert np.array_equal(one.scores(x), other.scores(x))
    one.learn(x[300:], y[300:])
    assert np.array_equal(one.scores(x), other.scores(x))
    factor = one.support.factor
    np.testing.assert_allclose(factor @ factor.T, rbf(one.support.examples, one.support.examples), atol=1e-12)


def test_a_function_cannot_write_to_the_rows_of_the_caller():
    x, y = rings(50)

    def writes(a, b):
        a *= 2
        return rbf(a, b)

    with pytest.raises(ValueError, match="read-only"):
        KernelLearner("scw1", kernel=writes).learn(x, y)


def test_an_intercept_adds_one_to_the_kernel():
    x, y = rings(200)
    with_constant = KernelLearner("scw1", intercept=True)
    by_hand = KernelLearner("scw1", kernel=lambda a, b: rbf(a, b) + 1.0)
    assert with_constant.learn(x, y) == by_hand.learn(x, y)
    assert np.array_equal(with_constant.scores(x), by_hand.scores(x))


def test_an_order_is_that_of_the_rows():
    x, y = rings(300)
    order = np.random.default_rng(3).permutation(300)
    ordered, plain = KernelLearner("scw1"), KernelLearner("scw1")
    assert ordered.learn(x, y, order=order) == plain.learn(x[order], y[order])
    assert np.array_equal(ordered.scores(x), plain.scores(x))


def test_a_copy_and_a_pickle_go_on_alone():
    x, y = rings(400)
    learner = KernelLearner("scw1")
    learner.learn(x[:200], y[:200])
    others = [copy.copy(learner), pickle.loads(pickle.dumps(learner))]
    before = learner.scores(x)
    for other in others:
        other.learn(x[200:], y[200:])
    assert np.array_equal(learner.scores(x), before)
    learner.learn(x[200:], y[200:])
    for other in others:
        assert np.array_equal(other.scores(x), learner.scores(x))


# The promises that every learner keeps


@pytest.fixture(params=RULES)
def new(request):
    """A maker of new learners with an rbf kernel, for every rule."""
    return lambda **how: KernelLearner(request.param, kernel_parameters={"gamma": 1.0}, **how)


def test_the_same_rows_in_another_form_teach_the_same(new):
    x, y = rings(150, noise=0.2)
    x = np.where(np.abs(x) < 0.3, 0.0, x)
    expected = taught(new(), x, y)
    for rows in (np.asfortranarray(x), sparse.csr_array(x), sparse.coo_array(x), x.tolist()):
        assert_alike(taught(new(), rows, y), expected, x)
    single = x.astype(np.float32)
    assert_alike(taught(new(), single, y), taught(new(), single.astype(np.float64), y), x)


def test_the_order_of_features_does_not_matter_to_rbf(new):
    x, y = rings(150, noise=0.2)
    expected = taught(new(), x, y)
    turned = taught(new(), x[:, ::-1], y)
    assert turned.counts == expected.counts
    np.testing.assert_allclose(turned.scores(x[:, ::-1]), expected.scores(x), rtol=0, atol=1e-6)


def test_the_same_input_gives_the_same_bits_and_is_left_alone(new):
    x, y = rings(150, noise=0.2)
    before = x.copy(), y.copy()
    one, other = taught(new(), x, y), taught(new(), x, y)
    assert one.model.gaussian(0).memory.tobytes() == other.model.gaussian(0).memory.tobytes()
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])


def test_predicting_changes_nothing(new):
    x, y = rings(150, noise=0.2)
    learner = taught(new(), x, y)
    before = pickle.dumps(learner)
    learner.scores(x)
    learner.margin_variances(x)
    learner.dual_coefficients()
    assert pickle.dumps(learner) == before


def test_a_model_in_read_only_memory_goes_on_as_if_never_stopped(new):
    x, y = rings(150, noise=0.2)
    learner, whole = taught(new(), x[:100], y[:100]), taught(new(), x[:100], y[:100])
    for array in (learner.model.gaussian(0).memory, learner.model.gaussian(0).scalars, learner.model.tally):
        array.flags.writeable = False
    learner.learn(x[100:], y[100:])
    whole.learn(x[100:], y[100:])
    assert np.array_equal(learner.scores(x), whole.scores(x))


def test_empty_rows_and_batches_change_nothing_but_the_counts():
    x, y = rings(100)
    learner = taught(KernelLearner("scw1", kernel="linear"), x, y)
    before = learner.scores(x)
    learner.learn(np.zeros((3, 2)), [1, -1, 1])
    learner.learn(np.zeros((0, 2)), [])
    assert learner.counts.seen == 103
    assert np.array_equal(learner.scores(x), before)
    assert learner.scores(np.zeros((0, 2))).shape == (0,)


# The budget


@pytest.mark.parametrize("rule", ["scw1", "cw", "arow", "nherd", "pa"])
@pytest.mark.parametrize("budget", [1, 2, 25])
def test_a_full_support_learns_from_projections_on_its_span(rule, budget):
    x, y = rings(500, noise=0.2)
    learner = KernelLearner(rule, kernel_parameters={"gamma": 1.0}, budget=budget, **defaults_of(rule))
    learner.learn(x[:300], y[:300])
    assert learner.support.count == budget
    gaussian = learner.model.gaussian(0)
    mean, sigma = gaussian.weights()[0, :budget], gaussian.matrix()[:budget, :budget]
    scores, variances = [], []
    for row, label in zip(x[300:], y[300:], strict=True):
        t = np.linalg.solve(learner.support.factor, rbf(row[None], learner.support.examples)[0])
        inside = t @ sigma @ t
        f, v = mean @ t, inside + 1.0 - t @ t
        scores.append(f)
        variances.append(v)
        if rule == "pa":
            alpha, k = max(0.0, 1 - label * f) / v, 0.0
        else:
            alpha, _, k, _ = GAUSSIAN_FORM[rule](label * f, v, 0, **defaults_of(rule)) or (0.0, 0.0, 0.0, 1.0)
        mean = mean + alpha * label * (sigma @ t)
        sigma = sigma - k / (1 + k * inside) * np.outer(sigma @ t, sigma @ t)
    trace = learner.trace(x[300:], y[300:])
    np.testing.assert_allclose(trace.score, scores, rtol=0, atol=1e-8)
    np.testing.assert_allclose(trace.variance, variances, rtol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_one_example_far_away_does_little_to_a_full_support(rule):
    x, y = rings(600)
    learner = KernelLearner(rule, kernel_parameters={"gamma": 4.0}, budget=40)
    learner.learn(x, y)
    before = learner.scores(x)
    learner.learn([[6.0, 6.0]], [-np.sign(learner.scores([[6.0, 6.0]])[0]) or 1])
    assert np.abs(learner.scores(x) - before).max() <= 1e-3 * np.abs(before).max()


@pytest.mark.parametrize("how", [{}, {"budget": 30}, {"tolerance": 0.1}])
def test_the_variance_of_a_margin_is_that_which_the_rule_is_asked_about(how):
    x, y = rings(500)
    learner = KernelLearner("scw1", kernel_parameters={"gamma": 1.0}, **how)
    learner.learn(x[:400], y[:400])
    for row, label in zip(x[400:410], y[400:410], strict=True):
        expected = learner.margin_variances(row[None])
        np.testing.assert_allclose(learner.trace(row[None], [label]).variance, expected, rtol=1e-7)


def test_a_larger_tolerance_keeps_fewer_examples():
    x, y = rings(600)
    kept = []
    for tolerance in (1e-12, 1e-3, 0.1, 0.5):
        learner = KernelLearner("scw1", tolerance=tolerance)
        learner.learn(x, y)
        kept.append(learner.support.count)
        assert ((learner.scores(x) > 0) == (y > 0)).mean() > 0.85
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 2 * kept[-1]
