"""Committees with many features, whose members share the cache lines of their scale, learn as those that do not."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import scwlearn.learning.committee.models
from scwlearn import AutoClassifier, merge
from scwlearn.files import load, save

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("instruction_set")]

RANDOM = np.random.default_rng(0)
X = sparse.csr_array(RANDOM.standard_normal((300, 40)) * (RANDOM.random((300, 40)) < 0.3) + (np.arange(40) < 3))
Y = (X @ RANDOM.standard_normal(40) > 0).astype(int)


@pytest.fixture(params=[sparse.csr_array, lambda x: x.toarray()], ids=["sparse", "dense"])
def form(request):
    """Return what makes rows of each form."""
    return request.param


def fit(monkeypatch, form, *, shared, **settings):
    """Return a committee after some rows, and the memories of its members."""
    with monkeypatch.context() as patch:
        patch.setattr(scwlearn.learning.committee.models, "CACHED_FEATURES", 0 if shared else 10**9)
        model = AutoClassifier(covariance="diagonal", shuffle=False, **settings).fit(form(X[:150]), Y[:150])
    memories = [gaussian.memory for gaussian in model._classifier.learner.model.gaussians]
    return model, memories


def state(model):
    learner = model._classifier.learner
    arrays = [array for gaussian in learner.model.gaussians for array in (gaussian.memory, gaussian.scalars)]
    return [array.tobytes() for array in (*arrays, *learner.running_scale.arrays, learner.mixture.state)]


def both(monkeypatch, form, **settings):
    shared, memories = fit(monkeypatch, form, shared=True, **settings)
    packed, others = fit(monkeypatch, form, shared=False, **settings)
    apart = [memory.strides[0] == 64 for memory in memories]
    assert apart == [True, True, True]
    assert all(memory.flags.c_contiguous for memory in others)
    return shared, packed


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}])
def test_they_learn_the_same_bits(monkeypatch, form, settings):
    shared, packed = both(monkeypatch, form, **settings)
    assert state(shared) == state(packed)
    for x in (form(X[150:]), X[150:].toarray(), X[150:]):
        assert np.array_equal(shared.predict_proba(x), packed.predict_proba(x))
    for model in (shared, packed):
        model.partial_fit(form(X[150:200]), Y[150:200])
        for row in range(200, 205):
            model.partial_fit(form(X[row : row + 1]), Y[row : row + 1])
        model.partial_fit(X[205:].toarray(), Y[205:])
    assert state(shared) == state(packed)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_independent_and_learn_on(monkeypatch, form, duplicate):
    shared, packed = both(monkeypatch, form)
    before, other = state(shared), duplicate(shared)
    assert state(other) == before
    other.partial_fit(X[150:], Y[150:])
    assert state(shared) == before
    assert state(other) == state(packed.partial_fit(X[150:], Y[150:]))


def test_files_merging_and_a_third_class(monkeypatch, form, tmp_path):
    shared, packed = both(monkeypatch, form)
    save(shared, tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(shared)
    assert state(merge([shared, shared])) == state(merge([packed, packed]))
    for model in (shared, packed):
        model.partial_fit(X[150:], Y[150:] + 1)
    assert state(shared) == state(packed)


def test_a_bad_row_changes_nothing(monkeypatch, form):
    shared, _ = both(monkeypatch, form)
    before, x = state(shared), X[150:].toarray()
    x[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        shared.partial_fit(form(sparse.csr_array(x)), Y[150:])
    assert state(shared) == before
