"""Learning with kernels: Lemma 1 as corrected, the linear kernel beside the explicit learner, the budget, bad input."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from reference import FIRST_ORDER, GAUSSIAN_FORM
from scwlearn import Learner, _native, threads
from scwlearn.data.synthetic import make_synthetic
from scwlearn.kernel import Kernel, KernelLearner
from scwlearn.rules import all_rules
from scwlearn.threads import allowed_threads

pytestmark = pytest.mark.native

RULES = [rule.name for rule in all_rules()]
SECOND_ORDER = [rule.name for rule in all_rules() if rule.order == 2]
VARIANCES = [0.5, 1.0, 3.0]


def rings(rows, seed=0, noise=0.05):
    """Two classes that no plane separates, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], rows)
    angle, radius = rng.uniform(0, 2 * np.pi, rows), np.where(y > 0, 1.0, 2.0) + 0.15 * rng.normal(size=rows)
    y[rng.random(rows) < noise] *= -1
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def rbf(x, z, gamma=1.0):
    return pairwise_kernels(x, z, metric="rbf", gamma=gamma)


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


def defaults_of(rule):
    """The parameters that the reference takes unless told."""
    names = ("C", "eta", "r", "b", "c")
    function = GAUSSIAN_FORM.get(rule) or FIRST_ORDER[rule]
    given = function.__defaults__ or ()
    taken = function.__code__.co_varnames[function.__code__.co_argcount - len(given) : function.__code__.co_argcount]
    return {name: value for name, value in zip(taken, given, strict=True) if name in names}


def assert_twins(rule, x, y, a, **parameters):
    covariance = "full" if rule in SECOND_ORDER else "identity"
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
        monkeypatch.setattr("scwlearn.kernel.learner.allowed_threads", lambda count=count: count)
        monkeypatch.setattr("scwlearn.covariance.growing.Growing.shares_work", lambda self, size: True)
        learner = KernelLearner("scw1", kernel_parameters={"gamma": 4.0})
        learner.learn(x, y)
        states.add((learner.gaussian.memory.tobytes(), learner.counts))
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
    held = learner.gaussian.memory.nbytes + learner.support._factor.nbytes
    assert 16 * count**2 <= held <= 4 * 16 * count**2 + 2**18


# Kinds of kernels and rows


def taught(learner, x, y):
    learner.learn(x, y)
    return learner


def assert_alike(one, other, x):
    assert one.counts == other.counts
    size = max(1.0, np.abs(other.scores(x)).max())
    np.testing.assert_allclose(one.scores(x), other.scores(x), rtol=0, atol=1e-7 * size)


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


# The budget


@pytest.mark.parametrize("rule", ["scw1", "cw", "arow", "nherd", "pa"])
@pytest.mark.parametrize("budget", [1, 2, 25])
def test_a_full_support_learns_from_projections_on_its_span(rule, budget):
    x, y = rings(500, noise=0.2)
    learner = KernelLearner(rule, kernel_parameters={"gamma": 1.0}, budget=budget, **defaults_of(rule))
    learner.learn(x[:300], y[:300])
    assert learner.support.count == budget
    mean, sigma = learner.gaussian.weights()[:budget], learner.gaussian.margin_variances(np.eye(learner.gaussian.size))
    sigma = np.diag(sigma[:budget]) if rule == "pa" else learner.gaussian.matrix()[:budget, :budget]
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


# Bad input


def test_what_is_refused_changes_nothing():
    x, y = rings(400)
    learner = KernelLearner("scw1", max_support=80)
    learner.learn(x[:100], y[:100])
    before = pickle.dumps(learner)
    calls = []

    def spoiled(a, b):
        calls.append(a)
        kernels = rbf(a, b)
        if len(calls) > 3:
            kernels[0, 0] = np.nan
        return kernels

    bad = x.copy()
    bad[350, 1] = np.nan
    for rows, labels, message in (
        (x, y, "max_support=80"),
        (bad, y, "NaN"),
        (x[:, :1], y, "1 features"),
        (x, y[:-1], "labels|length|400"),
        (x, np.full(400, 3), "-1"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(rows, labels)
        assert pickle.dumps(learner) == before
    own = KernelLearner("scw1", kernel=spoiled)
    with pytest.raises(ValueError, match=r"nan .*must be finite"):
        own.learn(x, y)
    assert own.counts.seen == 0
    assert own.support.count == 0
    assert own.model.n_features is None


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"kernel": "gauss"}, ValueError, "one of linear"),
        ({"kernel": 3}, TypeError, "name or a function"),
        ({"kernel_parameters": {"degree": 2}}, TypeError, "takes gamma"),
        ({"kernel": "linear", "kernel_parameters": {"gamma": 2}}, TypeError, "no parameters"),
        ({"budget": 0}, ValueError, "at least 1"),
        ({"budget": 2.5}, TypeError, "whole number"),
        ({"tolerance": 2.0}, ValueError, "between 0 and 1"),
        ({"max_support": -1}, ValueError, "at least 1"),
        ({"intercept": 1}, TypeError, "True or False"),
        ({"initial_variance": 0.0}, ValueError, "initial_variance"),
        ({"C": -1.0}, ValueError, "C must"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(how, error, message):
    with pytest.raises(error, match=message):
        KernelLearner("scw1", **how)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: np.zeros(3), r"shape \(3,\)"),
        (lambda a, b: np.random.default_rng(0).normal(size=(len(a), len(b))), "not symmetric"),
        (lambda a, b: 1e-10 * np.random.default_rng(0).normal(size=(len(a), len(b))), "not symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), "inf"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(kernel, message):
    x, y = rings(50)
    with pytest.raises(ValueError, match=message):
        KernelLearner("scw1", kernel=kernel).learn(x, y)


def test_a_precomputed_kernel_is_square():
    x, y = rings(50)
    with pytest.raises(ValueError, match="square"):
        KernelLearner("scw1", kernel="precomputed").learn(rbf(x, x)[:, :40], y)
    x, y = rings(300)
    lopsided = rbf(x, x)
    lopsided[250, 10] = 0.5
    with pytest.raises(ValueError, match="symmetric"):
        KernelLearner("scw1", kernel="precomputed").learn(lopsided, y)
    with pytest.raises(TypeError, match="complex"):
        KernelLearner("scw1", kernel=lambda a, b: rbf(a, b) + 0j).learn(x, y)
    learner = KernelLearner("scw1", kernel="precomputed")
    learner.learn(rbf(x, x), y)
    with pytest.raises(ValueError, match="itself"):
        learner.margin_variances(rbf(x, x))


def test_nothing_is_said_before_anything_is_learned():
    with pytest.raises(ValueError, match="not learned"):
        KernelLearner("scw1").scores([[1.0]])


def test_native_calls_refuse_what_does_not_fit():
    learner = KernelLearner("scw1")
    x, y = rings(20)
    learner.learn(x, y)
    rule = _native.Rule("arow", [1.0])
    model, size = learner.gaussian.native(learner.model.tally), learner.gaussian.size

    def call(rows=2, width=size, residuals=4, support=0, room=9, work=10**6, block=2, threads=1):
        _native.learn_coordinates(
            rule, model, np.zeros((rows, width)), np.zeros(residuals), np.zeros(2), np.zeros(2), np.zeros(2),
            np.ones(2, dtype=np.int8), np.empty(work), None, support, room, block, threads,
        )  # fmt: skip

    for bad in (
        {"rows": 3}, {"width": size - 1}, {"residuals": 3}, {"support": size - 1, "room": size + 1}, {"support": -1},
        {"room": -1}, {"work": 3}, {"block": 0}, {"threads": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            call(**bad)


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
    assert one.gaussian.memory.tobytes() == other.gaussian.memory.tobytes()
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
    for array in (learner.gaussian.memory, learner.gaussian.scalars, learner.model.tally):
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
