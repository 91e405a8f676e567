"""Kernel learners for several classes as people meet them: classes that come, rows, kernels, the budget."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from helpers import kernel_several
from kernel_examples import as_they_come, petals, rbf, taught
from scwlearn.kernels import KernelLearner
from scwlearn.learning.counters import Counts

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]

#: One of each kind: without a Sigma, with a span for each class, with one for all.
KINDS = [{"rule": "pa1"}, {"rule": "scw1"}, {"rule": "scw1", "budget": 50}]
SCHEMES = ["joint", "ovr"]


@pytest.fixture(params=SCHEMES)
def new(request):
    """A maker of new learners."""
    return lambda **how: kernel_several(multi_class=request.param, kernel_parameters={"gamma": 1.0}, **how)


def assert_alike(one, other, x, atol=1e-9):
    assert one.counts == other.counts
    assert one.n_classes == other.n_classes
    np.testing.assert_allclose(one.scores(x), other.scores(x), rtol=0, atol=atol)
    np.testing.assert_allclose(one.margin_variances(x), other.margin_variances(x), rtol=1e-6, atol=atol)


# Classes as they come


@pytest.mark.parametrize("kind", KINDS)
def test_the_scores_before_each_row_are_those_that_a_score_would_have_told(new, kind):
    x, y = petals(60, 4)
    x = x.repeat(2, axis=0)[:100]
    y = as_they_come(y.repeat(2)[:100])
    told = np.empty((100, 6))
    learner = taught(new(**kind), x[:1], y[:1])
    expected = np.full((100, 6), -np.inf)
    for i in range(1, 100):
        expected[i, : learner.n_classes] = learner.scores(x[i : i + 1])
        learner.learn(x[i : i + 1], y[i : i + 1])
    whole = new(**kind)
    whole.learn(x, y, scores_out=told)
    np.testing.assert_allclose(told, expected, rtol=0, atol=1e-9)
    mistakes = (told.argmax(axis=1) != y) | (y > np.maximum.accumulate(np.append(-1, y[:-1])))
    assert whole.counts == learner.counts
    assert whole.counts.mistakes == mistakes.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_its_own_teaches_nothing_jointly(kind):
    x, _ = petals(20, 2)
    learner = KernelLearner(**kind, n_classes=0)
    assert learner.learn(x, np.zeros(20, dtype=int)) == Counts(seen=20, mistakes=1, updates=0)
    assert learner.support.count == 0
    assert not learner.scores(x).any()
    assert learner.scores(x).shape == (20, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_made_known_takes_part_at_once(new, kind):
    x, y = petals(100, 3)
    one, other = new(n_classes=5, **kind), new(**kind)
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_zero_is_not_there(new, kind):
    x, y = petals(150, 3)
    weights = np.ones(150)
    weights[40:60] = 0.0
    labels = y.copy()
    labels[40:60] = 99  # nobody looks at it
    told = np.zeros((150, 3))
    one = new(**kind)
    one.learn(x, labels, weights=weights, scores_out=told)
    kept = np.flatnonzero(weights)
    other = taught(new(**kind), x[kept], y[kept])
    assert_alike(one, other, x)
    assert np.isnan(told[40:60]).all()
    assert not np.isnan(told[kept]).any()
    before = pickle.dumps(one)
    assert one.learn(x, y, weights=np.zeros(150)) == Counts()
    assert pickle.dumps(one) == before


def test_a_weight_is_more_than_none(new):
    x, y = petals(100, 3, noise=0.3)
    same, more = new(rule="scw1", C=0.1), new(rule="scw1", C=0.1)
    plain = taught(new(rule="scw1", C=0.1), x, y)
    same.learn(x, y, weights=np.ones(100))
    more.learn(x, y, weights=np.full(100, 10.0))
    assert np.array_equal(same.scores(x), plain.scores(x))
    np.testing.assert_allclose(more.scores(x), taught(new(rule="scw1", C=1.0), x, y).scores(x), rtol=0, atol=1e-9)


# Rows and kernels


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_a_matrix_and_a_function_are_the_rows(new, kind):
    x, y = petals(200, 4)
    x = np.where(np.abs(x) < 0.3, 0.0, x)
    expected = taught(new(**kind), x, y)
    thin = taught(new(**kind), sparse.csr_array(x[:120]), y[:120])
    thin.learn(x[120:], y[120:])
    assert_alike(thin, expected, x)
    assert sparse.issparse(thin.support.examples)
    how = {name: value for name, value in kind.items() if name != "rule"}
    multi_class = expected.config.multi_class
    own = KernelLearner(kind["rule"], n_classes=0, kernel=rbf, multi_class=multi_class, **how)
    assert_alike(taught(own, x, y), expected, x)
    computed = KernelLearner(kind["rule"], n_classes=0, kernel="precomputed", multi_class=multi_class, **how)
    computed.learn(rbf(x, x), y)
    np.testing.assert_allclose(computed.scores(rbf(x, x)), expected.scores(x), rtol=0, atol=1e-9)
    assert np.array_equal(x[computed.support.examples], expected.support.examples)


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_is_that_of_the_rows(new, kind):
    x, y = petals(300, 4)
    order = np.random.default_rng(3).permutation(300)
    labels = np.empty(300, dtype=int)
    labels[order] = as_they_come(y[order])
    told = [np.empty((300, 4)), np.empty((300, 4))]
    ordered, plain = new(**kind), new(**kind)
    ordered.learn(x, labels, order=order, scores_out=told[0])
    plain.learn(x[order], labels[order], scores_out=told[1])
    assert np.array_equal(ordered.scores(x), plain.scores(x))
    assert np.array_equal(told[0][order], told[1])


def test_an_intercept_adds_one_to_the_kernel(new):
    x, y = petals(150, 3)
    with_constant = taught(new(rule="scw1", intercept=True), x, y)
    by_hand = KernelLearner(
        "scw1", n_classes=0, kernel=lambda a, b: rbf(a, b) + 1.0, multi_class=with_constant.config.multi_class
    )
    assert_alike(with_constant, taught(by_hand, x, y), x)


def test_a_rule_may_be_a_function(new):
    x, y = petals(150, 3)

    def arow(margin, variance):
        return ((1 - margin) / (variance + 1), 1 / (variance + 1)) if margin < 1 else (0.0, 0.0)

    assert_alike(taught(new(rule=arow), x, y), taught(new(rule="arow", r=1.0), x, y), x)


def test_the_mean_is_made_of_the_support(new):
    x, y = petals(200, 4)
    learner = taught(new(rule="scw1"), x, y)
    coefficients = learner.dual_coefficients()
    assert coefficients.shape == (4, learner.support.count)
    np.testing.assert_allclose(rbf(x, learner.support.examples) @ coefficients.T, learner.scores(x), atol=1e-12)
    assert learner.scores(x[:0]).shape == (0, 4)
    assert learner.margin_variances(x[:0]).shape == (0, 4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_example_is_kept_once_however_often_it_comes(new, form):
    x, y = petals(60, 5, noise=0.3)
    learner = new(rule="scw1")
    for _ in range(6):
        learner.learn(form(x), y)
    dense = learner.support.examples if form is np.asarray else learner.support.examples.toarray()
    assert len(np.unique(dense, axis=0)) == learner.support.count
    assert sum(span.count for span in learner.model.spans) > learner.support.count
    apart = np.empty((0, 2))
    for span in learner.model.spans:
        np.testing.assert_allclose(
            span.factor @ span.factor.T, rbf(dense[span.examples], dense[span.examples]), atol=1e-12
        )
        apart = np.vstack([apart, dense[span.examples]])
    assert len(np.unique(apart, axis=0)) == learner.support.count


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_that_only_rounding_adds_to_the_span_again_counts_twice(new, kind):
    x, y = petals(40, 3, noise=0.3)
    learner = new(tolerance=1e-17, **kind)
    for _ in range(4):
        learner.learn(x, y)
    assert any(len(np.unique(span.examples)) < span.count for span in learner.model.spans)
    assert len(np.unique(learner.support.examples, axis=0)) == learner.support.count
    told = np.empty((40, 3))
    copy.copy(learner).learn(x[::-1], y[::-1], scores_out=told)
    np.testing.assert_allclose(told[0], learner.scores(x[-1:])[0], rtol=0, atol=1e-7)


def test_with_many_classes_fewer_rows_at_a_time_teach_the_same(new, monkeypatch):
    x, y = petals(200, 6)
    expected = taught(new(rule="scw1"), x, y)
    monkeypatch.setattr("scwlearn.kernels.learner._ROWS_OF_CLASSES", 6 * 20)
    learner = taught(new(rule="scw1"), x, y)
    assert_alike(learner, expected, x, atol=1e-7)
    # Less room for rows to come.
    assert sum(learner.model.sizes) < sum(expected.model.sizes)


# Copies


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_and_a_pickle_go_on_alone(new, kind):
    x, y = petals(300, 4)
    learner = taught(new(**kind), x[:150], y[:150])
    others = [copy.copy(learner), pickle.loads(pickle.dumps(learner))]
    before = learner.scores(x)
    for other in others:
        other.learn(x[150:], y[150:])
    assert np.array_equal(learner.scores(x), before)
    learner.learn(x[150:], y[150:])
    for other in others:
        assert np.array_equal(other.scores(x), learner.scores(x))
        assert np.array_equal(other.margin_variances(x), learner.margin_variances(x))


@pytest.mark.parametrize("kind", KINDS)
def test_models_in_read_only_memory_go_on_as_if_never_stopped(new, kind):
    x, y = petals(200, 3)
    learner, frozen = taught(new(**kind), x, y), taught(new(**kind), x, y)
    for array in (frozen.model.scalars, frozen.model.tally, *frozen.model.memories):
        array.flags.writeable = False
    learner.learn(x, y)
    frozen.learn(x, y)
    assert_alike(frozen, learner, x)


def test_a_learner_with_other_parameters_is_on_the_same_models(new):
    x, y = petals(300, 4)
    one = taught(new(rule="scw1", C=1.0), x[:100], y[:100])
    other = one.with_parameters({"C": 0.1, "eta": 0.9})
    other.learn(x[100:200], y[100:200])
    other.add_classes(1)
    assert one.n_classes == other.n_classes
    assert np.array_equal(one.scores(x), other.scores(x))
    assert other.parameters["C"] == 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_teach_nothing(new, kind):
    x, y = petals(100, 3)
    learner = new(**kind)
    assert learner.learn(x[:0], y[:0]) == Counts()
    assert (learner.n_classes, learner.n_features) == (0, 2)
    learner.learn(x, y)
    before = learner.scores(x)
    assert learner.learn(x[:0], y[:0]) == Counts()
    assert np.array_equal(learner.scores(x), before)


@pytest.mark.parametrize("kind", KINDS)
def test_predicting_changes_nothing(new, kind):
    x, y = petals(100, 3)
    learner = taught(new(**kind), x, y)
    before = pickle.dumps(learner)
    learner.scores(x)
    learner.margin_variances(x)
    learner.dual_coefficients()
    assert pickle.dumps(learner) == before


# The budget


@pytest.mark.parametrize("rule", ["scw1", "pa1"])
def test_a_budget_is_kept_and_costs_little(new, rule):
    x, y = petals(1500, 4, noise=0.02)
    learner = new(rule=rule, budget=30)
    free = taught(new(rule=rule), x, y)
    for start in range(0, 1500, 100):
        learner.learn(x[start : start + 100], y[start : start + 100])
        assert learner.support.count <= 30
    assert learner.support.count < free.support.count
    errors = [(one.scores(x).argmax(axis=1) != y).mean() for one in (learner, free)]
    assert errors[0] < errors[1] + 0.1
    assert learner.counts.updates > 30


def test_a_class_that_comes_when_the_support_is_full_learns_in_its_span(new):
    x, y = petals(800, 4, noise=0.0)
    learner = new(rule="scw1", budget=20)
    early = y < 3
    learner.learn(x[early], as_they_come(y[early]))
    assert learner.support.count == 20
    late = np.where(early, 0, 3)
    learner.learn(x, late)
    assert learner.support.count == 20
    assert (learner.scores(x).argmax(axis=1) == 3)[~early].mean() > 0.7
