"""The native loops equal the reference for every rule, covariance and kind of row, and so does a function as rule."""

import functools
import math

import numpy as np
import pytest
from scipy import sparse

from learner_examples import declare_arow
from reference import NAMES, defaults_of, run
from scwlearn import Learner, rules
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import Step, all_rules

pytestmark = pytest.mark.native

ROWS, FEATURES = 300, 13

ROW_KINDS = {
    "float64": lambda x: x.astype(np.float64),
    "float32": lambda x: x,
    "long double": lambda x: x.astype(np.longdouble),
    "Fortran order": lambda x: np.asfortranarray(x, dtype=np.float64),
    "Fortran order, float32": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards in memory": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "csr, int32": lambda x: csr(x, np.float64, np.int32),
    "csr, int64": lambda x: csr(x, np.float64, np.int64),
    "csr, float32, int32": lambda x: csr(x, np.float32, np.int32),
    "csr, float32, int64": lambda x: csr(x, np.float32, np.int64),
    "csc": lambda x: sparse.csc_array(x),
    "lists": lambda x: x.tolist(),
}


def csr(x, values, indices):
    matrix = sparse.csr_matrix(x, dtype=values)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix


@functools.cache
def examples(empty_rows=True):
    """Rows with noise in the labels, half of the values zero, some rows empty; all values are float32 numbers."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(ROWS, FEATURES)) * rng.uniform(0.3, 2, FEATURES) * (rng.random((ROWS, FEATURES)) < 0.5)
    if empty_rows:
        x[rng.integers(0, ROWS, 5)] = 0
    x = x.astype(np.float32)
    y = np.sign(x @ rng.normal(size=FEATURES) + 0.3 + 0.3 * rng.normal(size=ROWS))
    y[rng.random(ROWS) < 0.1] *= -1
    return x, y.astype(int)


@functools.cache
def textbook(name, covariance, intercept, initial_variance):
    x, y = examples(empty_rows=not intercept)
    return run(name, x.astype(np.float64), y, covariance, initial_variance, intercept)


def assert_close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * max(1.0, np.linalg.norm(expected)))


every_rule = pytest.mark.parametrize("name", [r.name for r in all_rules()])
every_textbook_rule = pytest.mark.parametrize("name", NAMES)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_NAMES)


def test_the_reference_has_the_fourteen_algorithms_of_the_paper():
    assert len(NAMES) >= 14
    assert set(NAMES) <= {r.name for r in all_rules()}


@every_textbook_rule
@every_covariance
@pytest.mark.parametrize(("intercept", "initial_variance"), [(False, 3.0), (True, 0.5)])
def test_learning_equals_the_reference(name, covariance, intercept, initial_variance):
    # The score of an empty row is the intercept, which in the Perceptron is a sum of +-a: whether it is
    # exactly 0, and so a tie, depends on rounding.
    x, y = examples(empty_rows=not intercept)
    weights, sigma, mistakes, updates = textbook(name, covariance, intercept, initial_variance)
    assert updates > 30
    for kind, make in ROW_KINDS.items():
        how = {"intercept": intercept, "initial_variance": initial_variance}
        learner = Learner(name, covariance=covariance, **how, **defaults_of(name))
        counts = learner.learn(make(x), y)
        assert (counts.seen, counts.mistakes, counts.updates) == (ROWS, mistakes, updates), kind
        assert_close(learner.model.weights()[0], weights)
        assert_close(learner.model.variances()[0], np.diag(sigma) if covariance == "full" else sigma)
        if covariance == "full":
            assert_close(learner.model.matrix(), sigma)


@every_textbook_rule
@every_covariance
def test_parameters_reach_the_rule(name, covariance):
    values = {"C": 0.3, "eta": 0.6, "r": 4.0, "b": 0.8, "c": 0.4}
    given = {p.name: values[p.name] for p in rules.find_rule(name).parameters}
    x, y = examples()
    weights, _, mistakes, updates = run(name, x.astype(np.float64), y, covariance, **given)
    learner = Learner(name, covariance=covariance, **given)
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.model.weights()[0], weights)


@every_covariance
@pytest.mark.parametrize("name", [r.name for r in all_rules() if r.order == 1])
def test_a_first_order_rule_keeps_sigma_as_it_was(name, covariance):
    learner = Learner(name, covariance=covariance, initial_variance=3.0)
    learner.learn(*examples())
    np.testing.assert_allclose(learner.model.variances(), 3.0, rtol=1e-15)
    if covariance == "full":
        np.testing.assert_allclose(learner.model.matrix(), 3.0 * np.eye(FEATURES), rtol=1e-15)


@every_rule
@every_covariance
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_scores_and_variances_equal_the_gaussian(name, covariance, as_rows):
    x, y = examples()
    learner = Learner(name, covariance=covariance, intercept=True, initial_variance=0.5)
    learner.learn(x, y)
    wide = np.hstack([x.astype(np.float64), np.ones((ROWS, 1))])
    gaussian = learner.model
    sigma = gaussian.matrix() if covariance == "full" else np.diag(gaussian.variances()[0])
    assert_close(learner.scores(as_rows(x)), wide @ gaussian.weights()[0])
    assert_close(learner.margin_variances(as_rows(x)), np.einsum("ij,jk,ik->i", wide, sigma, wide))


@every_covariance
@pytest.mark.parametrize("values", [np.float32, np.float64])
def test_variances_of_sparse_rows_equal_those_of_dense_rows(covariance, values):
    x, y = examples()
    x = x.astype(values)
    learner = Learner("arow", covariance=covariance)
    learner.learn(x, y)
    dense, from_sparse = learner.margin_variances(x), learner.margin_variances(sparse.csr_array(x))
    np.testing.assert_allclose(from_sparse, dense, rtol=1e-12)


def test_variances_of_large_float32_values_do_not_overflow():
    learner = Learner("arow", covariance="diagonal")
    learner.learn(np.array([[1.0, 1.0]]), [1])
    x = np.array([[1e25, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(learner.margin_variances(sparse.csr_array(x)), learner.margin_variances(x), rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_scores_of_more_sparse_rows_than_one_block_holds(intercept):
    rng = np.random.default_rng(23)
    x = sparse.random_array((2500, 1000), density=0.01, format="csr", rng=rng)
    y = rng.choice([-1, 1], 2500)
    learner = Learner("arow", covariance="diagonal", intercept=intercept)
    learner.learn(x, y)
    assert_close(learner.scores(x), learner.scores(x.toarray()))
    assert_close(learner.margin_variances(x), learner.margin_variances(x.toarray()))


@every_rule
@every_covariance
def test_a_trace_holds_scores_variances_and_steps(name, covariance):
    x, y = examples()
    traced, plain = Learner(name, covariance=covariance), Learner(name, covariance=covariance)
    trace, counts = traced.trace(x, y), plain.learn(x, y)
    moved = (trace.alpha != 0) | (trace.precision != 0)
    assert np.array_equal(traced.model.mean, plain.model.mean)
    assert (traced.counts.mistakes, traced.counts.updates) == (counts.mistakes, counts.updates)
    assert counts.mistakes == np.sum((trace.score >= 0) != (y > 0))
    assert counts.updates == moved.sum()
    one_by_one = Learner(name, covariance=covariance)
    for i in range(40):
        if i:
            assert_close(trace.score[i], one_by_one.scores(x[i : i + 1])[0])
            assert_close(trace.variance[i], one_by_one.margin_variances(x[i : i + 1])[0])
        one_by_one.learn(x[i : i + 1], y[i : i + 1])


# Functions as rules


def my_arow(m, v):
    beta = 1 / (v + 2.0)
    return (max(0.0, 1 - m) * beta, beta) if m < 1 else (0.0, 0.0)


@every_covariance
@pytest.mark.parametrize("kind", ["float64", "float32", "csr, int32", "csr, float32, int64"])
def test_a_function_as_rule_equals_the_built_in_rule(covariance, kind):
    x, y = examples()
    own = Learner(my_arow, covariance=covariance, intercept=True)
    built_in = Learner("arow", r=2.0, covariance=covariance, intercept=True)
    rows = ROW_KINDS[kind](x)
    assert own.learn(rows, y) == built_in.learn(rows, y)
    assert_close(own.model.weights(), built_in.model.weights())
    assert_close(own.model.variances(), built_in.model.variances())


def failing(m, v):
    raise ZeroDivisionError("in my own rule")


BAD_ANSWERS = {
    "alpha NaN": (lambda m, v: (math.nan, 0.0), ValueError, "alpha = nan"),
    "alpha infinite": (lambda m, v: (math.inf, 0.0), ValueError, "alpha = inf"),
    "beta NaN": (lambda m, v: (1.0, math.nan), ValueError, "beta = nan"),
    "beta negative": (lambda m, v: (1.0, -0.1), ValueError, "beta = -0.1"),
    "beta 1/v": (lambda m, v: (1.0, 1.0 / v), ValueError, "Sigma would not stay positive definite"),
    "beta above 1/v": (lambda m, v: (1.0, 2.0 / v), ValueError, "Sigma would not stay positive"),
    "an exception": (failing, ZeroDivisionError, "in my own rule"),
    "no answer": (lambda m, v: None, TypeError, None),
    "one number": (lambda m, v: 1.0, TypeError, None),
    "words": (lambda m, v: ("a", "b"), TypeError, None),
}


@every_covariance
@pytest.mark.parametrize("answer", BAD_ANSWERS)
def test_a_bad_answer_of_a_function_raises_and_changes_nothing(covariance, answer):
    x, y = examples()
    bad, error, message = BAD_ANSWERS[answer]
    asked = []

    def turns_bad(m, v):
        asked.append(m)
        return bad(m, v) if len(asked) > 150 else my_arow(m, v)

    learner = Learner(turns_bad, covariance=covariance)
    learner.learn(x[:100], y[:100])
    gaussian, counts = learner.model, (learner.counts.seen, learner.counts.mistakes, learner.counts.updates)
    before = [a.tobytes() for a in (gaussian.memory, gaussian.scalars)]
    with pytest.raises(error, match=message):
        learner.learn(x[100:], y[100:])
    assert len(asked) == 151
    gaussian = learner.model
    assert [a.tobytes() for a in (gaussian.memory, gaussian.scalars)] == before
    assert (learner.counts.seen, learner.counts.mistakes, learner.counts.updates) == counts


def test_a_bad_answer_on_the_first_rows_leaves_the_learner_new():
    learner = Learner(failing)
    with pytest.raises(ZeroDivisionError):
        learner.learn(*examples())
    assert learner.model is None
    assert learner.counts.seen == 0


@pytest.mark.usefixtures("registry")
@every_covariance
def test_a_rule_declared_outside_the_package_runs_through_the_callback(covariance):
    declare_arow()
    x, y = examples()
    learner, built_in = Learner("mine", r=0.7, covariance=covariance), Learner("arow", r=0.7, covariance=covariance)
    assert learner.learn(x, y) == built_in.learn(x, y)
    # The same arithmetic in Python and in C++ gives the same bits.
    assert learner.model.memory.tobytes() == built_in.model.memory.tobytes()
    with pytest.raises(TypeError, match="mine has no parameter 'C'; it has r"):
        Learner("mine", C=1.0)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("step", "message"),
    [(Step(math.nan), "alpha = nan"), (Step(1.0, -1.0), "precision = -1"), (Step(1.0, grow=0.0), "grow = 0")],
)
def test_a_bad_answer_of_a_declared_rule_raises_and_changes_nothing(step, message):
    @rules.rule(title="odd", estimator="Odd", order=2, large_margin=True, non_separable=True, cite="2026")
    def odd(m, v, t):
        return step if t > 50 else Step(0.1)

    x, y = examples()
    learner = Learner(odd)
    learner.learn(x[:20], y[:20])
    before = learner.model.mean.tobytes()
    with pytest.raises(ValueError, match=message):
        learner.learn(x[20:], y[20:])
    assert learner.model.mean.tobytes() == before


@pytest.mark.parametrize("answer", [None, 1.0, (1.0,), (1.0, 0.1, 1.0), ("a", 0.0)])
def test_a_rule_must_return_two_numbers(answer):
    with pytest.raises(TypeError, match="it must return two numbers, alpha and beta"):
        Learner(lambda m, v: answer).learn(*examples())


@pytest.mark.parametrize("order", [[0, 1], [0.0] * 3, [0, 1, 3], [-1, 0, 1], [[0, 1, 2]]])
def test_an_order_that_does_not_name_the_rows_is_refused(order):
    learner = Learner()
    with pytest.raises(ValueError, match="order must"):
        learner.learn(np.eye(3), [1, -1, 1], order=np.array(order))
    assert learner.model is None


@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_a_widened_model_learns_in_place(covariance):
    x, y = examples()
    learner = Learner("pa", covariance=covariance)
    learner.learn(x[:, :5], y)
    learner.widen(FEATURES)
    memory = learner.model.memory
    learner.learn(x, y)
    assert learner.model.memory is memory
