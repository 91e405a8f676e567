"""The promises of kernel learners, on labels -1 and +1 and on class numbers."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from kernel_examples import (
    assert_alike,
    draw,
    every_axis,
    every_kind,
    memory,
    new,
    rbf,
    taught,
)
from learner_examples import in_order_of_appearance
from scwlearn import _native
from scwlearn.learning.counters import Counts

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]


# Rows


@every_kind
@every_axis
def test_every_row_format_teaches_the_same(axis, kind):
    x, y = draw(axis, 150, noise=0.2)
    x = np.where(np.abs(x) < 0.3, 0.0, x)
    expected = taught(new(axis, kind), x, y)
    for rows in (np.asfortranarray(x), sparse.csr_array(x), sparse.coo_array(x), x.tolist()):
        learner = taught(new(axis, kind), rows, y)
        assert_alike(learner, expected, x)
        assert sparse.issparse(learner.support.examples) == sparse.issparse(rows)
    np.testing.assert_allclose(expected.scores(sparse.csr_array(x)), expected.scores(x), rtol=0, atol=1e-9)
    single = x.astype(np.float32)
    assert_alike(taught(new(axis, kind), single, y), taught(new(axis, kind), single.astype(np.float64), y), x)


@every_axis
def test_dense_and_sparse_batches_can_be_mixed(axis):
    x, y = draw(axis, 200)
    expected = taught(new(axis, kernel="laplacian"), x, y)
    for first, second in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        learner = taught(new(axis, kernel="laplacian"), first(x[:100]), y[:100])
        learner.learn(second(x[100:]), y[100:])
        assert_alike(learner, expected, x)


@every_kind
@every_axis
def test_the_order_of_features_does_not_matter_to_rbf(axis, kind):
    x, y = draw(axis, 150, noise=0.2)
    expected, turned = taught(new(axis, kind), x, y), taught(new(axis, kind), x[:, ::-1], y)
    assert turned.counts == expected.counts
    np.testing.assert_allclose(turned.scores(x[:, ::-1]), expected.scores(x), rtol=0, atol=1e-6)


@every_kind
@every_axis
def test_a_given_order_equals_reordered_rows(axis, kind):
    x, y = draw(axis, 200)
    order = np.random.default_rng(3).permutation(200)
    labels = y.copy()
    if axis != "binary":
        labels[order] = in_order_of_appearance(y[order])
    recorded = [np.empty((200, *([] if axis == "binary" else [4]))) for _ in range(2)]
    ordered, plain = new(axis, kind), new(axis, kind)
    assert ordered.learn(x, labels, order=order, scores_out=recorded[0]) == plain.learn(
        x[order], labels[order], scores_out=recorded[1]
    )
    assert np.array_equal(ordered.scores(x), plain.scores(x))
    assert np.array_equal(recorded[0][order], recorded[1])


@every_kind
@every_axis
def test_empty_batches_change_nothing(axis, kind):
    x, y = draw(axis, 100)
    learner = new(axis, kind)
    assert learner.learn(x[:0], y[:0]) == Counts()
    assert learner.n_features == 2
    learner.learn(x, y)
    before = pickle.dumps(learner)
    assert learner.learn(x[:0], y[:0]) == Counts()
    assert pickle.dumps(learner) == before
    shape = learner.scores(x).shape[1:]
    assert learner.scores(x[:0]).shape == learner.margin_variances(x[:0]).shape == (0, *shape)


@every_axis
def test_rows_of_zeros_change_only_the_counts(axis):
    x, y = draw(axis, 100)
    learner = taught(new(axis, kernel="linear"), x, y)
    before = learner.scores(x)
    assert learner.learn(np.zeros((3, 2)), [1, 1, 1]).seen == 3
    assert np.array_equal(learner.scores(x), before)


@every_axis
@pytest.mark.parametrize(
    "settings",
    [
        {"rule": "scw1"},
        {"rule": "cw"},
        {"rule": "iellip"},
        {"rule": "pa1"},
        {"rule": "aggressive_romma"},
        {"rule": "arow", "budget": 40},
        {"rule": "pa1", "budget": 40},
    ],
    ids=str,
)
def test_batches_of_any_size_teach_the_same(axis, settings):
    x, y = draw(axis, 150)
    whole, parts = taught(new(axis, **settings), x, y), new(axis, **settings)
    for part in np.split(np.arange(150), [*range(1, 40), 42, 70, 110]):
        parts.learn(x[part], y[part])
    assert_alike(parts, whole, x)


# Scores and variances


@every_axis
@pytest.mark.parametrize("settings", [{"rule": "pa1"}, {}, {"budget": 15}, {"tolerance": 0.1}], ids=str)
def test_recorded_scores_and_variances_are_those_before_each_row(axis, settings):
    x, y = draw(axis, 30)
    x, y = x.repeat(2, axis=0), y.repeat(2)
    columns = [] if axis == "binary" else [6]
    one, many = new(axis, **settings), new(axis, **settings)
    scores, variances = np.full((60, *columns), 0.0 if axis == "binary" else -np.inf), np.zeros(60)
    variances[0] = 1.0 if axis == "binary" else 0.0
    one.learn(x[:1], y[:1])
    for i in range(1, 60):
        row, label = x[i : i + 1], y[i : i + 1]
        now, variance = one.scores(row)[0], one.margin_variances(row)[0]
        if axis == "binary":
            scores[i], variances[i] = now, variance
        else:
            scores[i, : len(now)], variances[i] = now, variance[now.argmax()]
        one.learn(row, label)
    recorded = np.empty((60, *columns)), np.empty(60)
    many.learn(x, y, scores_out=recorded[0], variances_out=recorded[1])
    np.testing.assert_allclose(recorded[0], scores, rtol=0, atol=1e-8)
    np.testing.assert_allclose(recorded[1], variances, rtol=1e-7, atol=1e-9)
    predicted = np.where(scores >= 0, 1, -1) if axis == "binary" else scores.argmax(axis=1)
    first_of_class = np.zeros(60, bool) if axis == "binary" else y > np.maximum.accumulate(np.append(-1, y[:-1]))
    assert one.counts == many.counts
    assert many.counts.mistakes == np.count_nonzero((predicted != y) | first_of_class)
    assert many.support.count == 15 or "budget" not in settings


@every_kind
@every_axis
def test_scores_are_kernels_times_dual_coefficients(axis, kind):
    x, y = draw(axis, 150)
    learner = taught(new(axis, kind), x, y)
    dual = learner.dual_coefficients()
    assert dual.shape == (1 if axis == "binary" else 4, learner.support.count)
    scores = rbf(x, learner.support.examples) @ dual.T
    np.testing.assert_allclose(scores[:, 0] if axis == "binary" else scores, learner.scores(x), atol=1e-12)


@every_kind
@every_axis
def test_predicting_changes_nothing(axis, kind):
    x, y = draw(axis, 100)
    learner = taught(new(axis, kind), x, y)
    before = pickle.dumps(learner)
    scores, variances = learner.scores_and_variances(x)
    assert np.array_equal(scores, learner.scores(x))
    assert np.array_equal(variances, learner.margin_variances(x))
    learner.dual_coefficients()
    assert pickle.dumps(learner) == before


# Weights and settings


@every_kind
@every_axis
def test_rows_of_weight_zero_are_ignored(axis, kind):
    x, y = draw(axis, 150)
    weights = np.ones(150)
    weights[40:60] = 0.0
    labels = y.copy()
    if axis != "binary":
        labels[40:60] = 99
    columns = [] if axis == "binary" else [4]
    scores, variances = np.zeros((150, *columns)), np.zeros(150)
    one = new(axis, kind)
    one.learn(x, labels, weights=weights, scores_out=scores, variances_out=variances)
    kept = np.flatnonzero(weights)
    assert_alike(one, taught(new(axis, kind), x[kept], y[kept]), x)
    for recorded in (scores, variances):
        assert np.isnan(recorded[40:60]).all()
        assert not np.isnan(recorded[kept]).any()
    before = pickle.dumps(one)
    assert one.learn(x, y, weights=np.zeros(150)) == Counts()
    assert pickle.dumps(one) == before


@every_axis
def test_weights_of_scw1_multiply_c(axis):
    x, y = draw(axis, 100, noise=0.3)
    plain, same, more = (new(axis, C=0.1) for _ in range(3))
    plain.learn(x, y)
    same.learn(x, y, weights=np.ones(100))
    more.learn(x, y, weights=np.full(100, 10.0))
    assert np.array_equal(same.scores(x), plain.scores(x))
    assert_alike(more, taught(new(axis, C=1.0), x, y), x)


@every_axis
def test_an_intercept_adds_one_to_the_kernel(axis):
    x, y = draw(axis, 150)
    with_intercept = taught(new(axis, intercept=True), x, y)
    assert_alike(with_intercept, taught(new(axis, kernel=lambda a, b: rbf(a, b) + 1.0), x, y), x)


@every_axis
def test_a_rule_may_be_a_function(axis):
    x, y = draw(axis, 150)

    def arow(margin, variance):
        return ((1 - margin) / (variance + 1), 1 / (variance + 1)) if margin < 1 else (0.0, 0.0)

    assert_alike(taught(new(axis, rule=arow), x, y), taught(new(axis, rule="arow", r=1.0), x, y), x)


@every_axis
def test_a_learner_may_share_the_model(axis):
    x, y = draw(axis, 300)
    one = taught(new(axis, C=1.0), x[:100], y[:100])
    other = one._shallow_copy()
    other.learn(x[100:200], y[100:200])
    assert np.array_equal(one.scores(x), other.scores(x))
    one.learn(x[200:], y[200:])
    assert np.array_equal(one.scores(x), other.scores(x))
    for span in one.model.spans:
        examples = one.support.examples if axis == "binary" else one.support.examples[span.examples]
        np.testing.assert_allclose(span.factor @ span.factor.T, rbf(examples, examples), atol=1e-12)


# Copies and memory


@every_kind
@every_axis
def test_copies_and_pickles_are_independent(axis, kind):
    x, y = draw(axis, 300)
    learner = taught(new(axis, kind), x[:150], y[:150])
    others = [copy.copy(learner), pickle.loads(pickle.dumps(learner))]
    before = learner.scores(x)
    for other in others:
        other.learn(x[150:], y[150:])
    assert np.array_equal(learner.scores(x), before)
    learner.learn(x[150:], y[150:])
    for other in others:
        assert memory(other) == memory(learner)
        assert np.array_equal(other.scores(x), learner.scores(x))
        assert np.array_equal(other.margin_variances(x), learner.margin_variances(x))


@every_kind
@every_axis
def test_a_read_only_model_can_learn_on(axis, kind):
    x, y = draw(axis, 150)
    learner, frozen = taught(new(axis, kind), x, y), taught(new(axis, kind), x, y)
    for array in (frozen.model.scalars, frozen.model.tally, *frozen.model.memories):
        array.flags.writeable = False
    learner.learn(x, y)
    frozen.learn(x, y)
    assert memory(frozen) == memory(learner)


@every_kind
@every_axis
def test_the_same_input_gives_the_same_bits_and_is_not_modified(axis, kind):
    x, y = draw(axis, 150, noise=0.2)
    before = x.copy(), y.copy()
    assert memory(taught(new(axis, kind), x, y)) == memory(taught(new(axis, kind), x, y))
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])


# Threads and instruction sets


@pytest.mark.parametrize("budget", [None, 100])
@every_axis
def test_the_number_of_threads_changes_no_bit(axis, budget, monkeypatch):
    x, y = draw(axis, 300)
    models = set()
    monkeypatch.setattr("scwlearn.model.full.AppendableFull.uses_threads", lambda self, size: True)
    for count in (1, 2, 3):
        monkeypatch.setattr("scwlearn.kernels.learner.allowed_threads", lambda count=count: count)
        models.add(memory(taught(new(axis, kernel_parameters={"gamma": 4.0}, budget=budget), x, y)))
    assert len(models) == 1


@every_axis
def test_every_instruction_set_learns_the_same(axis):
    x, y = draw(axis, 200)
    learners = []
    try:
        for name in _native.instruction_sets():
            _native.use_instruction_set(name)
            learners.append(taught(new(axis), x, y))
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])
    for learner in learners[1:]:
        assert_alike(learner, learners[0], x)
