"""The support of a kernel model: which examples it keeps, their coordinates, and the memory it takes."""

import copy

import numpy as np
import pytest
from scipy import sparse

from kernel_examples import assert_alike, every_kind, new, petals, rbf, rings, several_classes, taught
from scwlearn.kernels import KernelLearner

pytestmark = pytest.mark.native


@pytest.mark.parametrize("rule", ["cw", "arow"])
def test_a_large_support_keeps_its_kernel_matrix_and_its_variances(rule):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1300, 6))
    y = np.where(np.prod(x[:, :2], axis=1) > 0, 1, -1)
    y[rng.random(1300) < 0.2] *= -1
    learner = KernelLearner(rule, kernel_parameters={"gamma": 0.3})
    trace = learner.trace(x, y)
    assert learner.support.count > 500
    assert trace.variance.min() > 0
    factor, examples = learner.support.factor, learner.support.examples
    np.testing.assert_allclose(factor @ factor.T, rbf(examples, examples, 0.3), rtol=0, atol=1e-12)
    # Sigma^-1 is that of the prior, plus the precision of each update along its example.
    coordinates = learner.support.coordinates(rbf(x, examples, 0.3))
    precision = np.eye(len(factor)) + (coordinates * trace.precision[:, None]).T @ coordinates
    tried = coordinates[:20]
    expected = np.einsum("ij,ji->i", tried, np.linalg.solve(precision, tried.T))
    expected += np.maximum(1.0 - np.einsum("ij,ij->i", tried, tried), 0.0)
    np.testing.assert_allclose(learner.margin_variances(x[:20]), expected, rtol=1e-6)


def test_a_model_takes_as_much_memory_as_documented():
    x, y = rings(2000, noise=0.2)
    learner = taught(KernelLearner("arow", kernel_parameters={"gamma": 20.0}), x, y)
    count = learner.support.count
    assert count > 400
    held = learner.model.memories[0].nbytes + learner.support._factor.nbytes
    assert 16 * count**2 <= held <= 4 * 16 * count**2 + 2**18


def test_a_larger_tolerance_keeps_fewer_examples():
    x, y = rings(600)
    kept = []
    for tolerance in (1e-12, 1e-3, 0.1, 0.5):
        learner = taught(KernelLearner("scw1", tolerance=tolerance), x, y)
        kept.append(learner.support.count)
        assert ((learner.scores(x) > 0) == (y > 0)).mean() > 0.85
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 2 * kept[-1]


@several_classes
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_classes_share_one_copy_of_each_example(axis, form):
    x, y = petals(60, 5, noise=0.3)
    learner = new(axis)
    for _ in range(6):
        learner.learn(form(x), y)
    dense = learner.support.examples if form is np.asarray else learner.support.examples.toarray()
    assert len(np.unique(dense, axis=0)) == learner.support.count
    assert sum(span.count for span in learner.model.spans) > learner.support.count
    for span in learner.model.spans:
        own = dense[span.examples]
        np.testing.assert_allclose(span.factor @ span.factor.T, rbf(own, own), atol=1e-12)
    used = np.concatenate([span.examples for span in learner.model.spans])
    assert len(np.unique(used)) == learner.support.count


@every_kind
@several_classes
def test_an_example_may_enter_a_span_twice_by_rounding(axis, kind):
    x, y = petals(40, 3, noise=0.3)
    learner = new(axis, kind, tolerance=1e-17)
    for _ in range(4):
        learner.learn(x, y)
    assert any(len(np.unique(span.examples)) < span.count for span in learner.model.spans)
    assert len(np.unique(learner.support.examples, axis=0)) == learner.support.count
    scores = np.empty((40, 3))
    copy.copy(learner).learn(x[::-1], y[::-1], scores_out=scores)
    np.testing.assert_allclose(scores[0], learner.scores(x[-1:])[0], rtol=0, atol=1e-7)


@several_classes
def test_smaller_blocks_for_many_classes_learn_the_same(axis, monkeypatch):
    x, y = petals(200, 6)
    expected = taught(new(axis), x, y)
    monkeypatch.setattr("scwlearn.kernels.learner._ROWS_OF_CLASSES", 6 * 20)
    learner = taught(new(axis), x, y)
    assert_alike(learner, expected, x)
    # They reserve less room for new examples.
    assert sum(learner.model.sizes) < sum(expected.model.sizes)
