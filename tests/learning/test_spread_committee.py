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


def fit(monkeypatch, form, *, spread, **settings):
    """Return a committee after some rows, and the memories of its members."""
    with monkeypatch.context() as patch:
        patch.setattr(scwlearn.learning.committee.models, "CACHED_FEATURES", 0 if spread else 10**9)
        model = AutoClassifier(covariance="diagonal", shuffle=False, **settings).fit(form(X[:150]), Y[:150])
    memories = [gaussian.memory for gaussian in model._classifier.learner.model.gaussians]
    return model, memories


def state(model):
    learner = model._classifier.learner
    arrays = [array for gaussian in learner.model.gaussians for array in (gaussian.memory, gaussian.scalars)]
    return [array.tobytes() for array in (*arrays, *learner.running_scale.arrays, learner.mixture.state)]


def both(monkeypatch, form, **settings):
    spread, memories = fit(monkeypatch, form, spread=True, **settings)
    packed, others = fit(monkeypatch, form, spread=False, **settings)
    apart = [memory.strides[0] == 64 for memory in memories]
    assert apart == [True, True, False, True]
    assert all(memory.flags.c_contiguous for memory in others)
    return spread, packed


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}])
def test_they_learn_the_same_bits(monkeypatch, form, settings):
    spread, packed = both(monkeypatch, form, **settings)
    assert state(spread) == state(packed)
    for x in (form(X[150:]), X[150:].toarray(), X[150:]):
        assert np.array_equal(spread.predict_proba(x), packed.predict_proba(x))
    for model in (spread, packed):
        model.partial_fit(form(X[150:200]), Y[150:200])
        for row in range(200, 205):
            model.partial_fit(form(X[row : row + 1]), Y[row : row + 1])
        model.partial_fit(X[205:].toarray(), Y[205:])
    assert state(spread) == state(packed)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_independent_and_learn_on(monkeypatch, form, duplicate):
    spread, packed = both(monkeypatch, form)
    before, other = state(spread), duplicate(spread)
    assert state(other) == before
    other.partial_fit(X[150:], Y[150:])
    assert state(spread) == before
    assert state(other) == state(packed.partial_fit(X[150:], Y[150:]))


def test_files_merging_and_a_third_class(monkeypatch, form, tmp_path):
    spread, packed = both(monkeypatch, form)
    save(spread, tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(spread)
    assert state(merge([spread, spread])) == state(merge([packed, packed]))
    for model in (spread, packed):
        model.partial_fit(X[150:], Y[150:] + 1)
    assert state(spread) == state(packed)


def test_a_bad_row_changes_nothing(monkeypatch, form):
    spread, _ = both(monkeypatch, form)
    before, x = state(spread), X[150:].toarray()
    x[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        spread.partial_fit(form(sparse.csr_array(x)), Y[150:])
    assert state(spread) == before
