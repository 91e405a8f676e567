"""Averaged models with many features, whose lags lie beside the weights, learn as those whose lags are apart."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import scwlearn.model.gaussian
from scwlearn import PA1, Learner, StreamClassifier, merge
from scwlearn.files import load, save
from scwlearn.learning.tuning import tune
from scwlearn.model.covariance import is_sound
from scwlearn.rules import all_rules

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("instruction_set")]

RANDOM = np.random.default_rng(0)
X = sparse.csr_array(RANDOM.standard_normal((300, 40)) * (RANDOM.random((300, 40)) < 0.4))
Y = np.where(X @ RANDOM.standard_normal(40) + RANDOM.standard_normal(300) > 0, 1, -1)
FIRST_ORDER = [rule.name for rule in all_rules() if rule.order == 1]


def choose_layout(patch, *, beside):
    patch.setattr(scwlearn.model.gaussian, "CACHED_FEATURES", 0 if beside else 10**9)


def learned(monkeypatch, learn, *, beside):
    """Return what `learn` returns if it starts with models of one layout."""
    with monkeypatch.context() as patch:
        choose_layout(patch, beside=beside)
        learner = learn()
    assert learner.model.memory.flags.c_contiguous != beside
    return learner


def state(learner):
    model = learner.model
    return [array.tobytes() for array in (model.memory, model.scalars, *model.average.arrays)]


def both(monkeypatch, learn):
    return [learned(monkeypatch, learn, beside=beside) for beside in (True, False)]


@pytest.mark.parametrize("rule", FIRST_ORDER)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [sparse.csr_array, lambda x: x.toarray()], ids=["sparse", "dense"])
def test_they_learn_the_same_bits(monkeypatch, rule, intercept, form):
    def learn():
        learner = Learner(rule, average=True, intercept=intercept)
        learner.learn(form(X[:200]), Y[:200], weights=1 + np.arange(200) % 3)
        # Few rows are not staged.
        learner.learn(form(X[200:205]), Y[200:205])
        for row in range(205, 210):
            learner.learn_one(X[[row]].toarray()[0], Y[row])
        learner.learn(form(X[210:].astype(np.float32)), Y[210:], order=np.arange(90)[::-1])
        return learner

    one, other = both(monkeypatch, learn)
    assert state(one) == state(other)
    for x in (X, X.toarray(), X[:1]):
        assert one.scores(x).tobytes() == other.scores(x).tobytes()


@pytest.mark.parametrize("duplicate", [copy.copy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_copies_are_independent_and_learn_on(monkeypatch, duplicate):
    one, other = both(monkeypatch, lambda: fitted(X[:150], Y[:150]))
    before, duplicated = state(one), duplicate(one)
    duplicated.learn(X[150:], Y[150:])
    assert state(one) == before
    other.learn(X[150:], Y[150:])
    assert state(duplicated) == state(other)


def test_a_model_that_was_not_laid_out_so_is_before_it_learns(monkeypatch):
    apart = learned(monkeypatch, lambda: fitted(X[:150], Y[:150]), beside=False)
    choose_layout(monkeypatch, beside=True)
    apart.learn(X[150:], Y[150:])
    assert not apart.model.memory.flags.c_contiguous
    assert state(apart) == state(fitted(X[:150], Y[:150], X[150:], Y[150:]))


def fitted(x, y, *more):
    learner = Learner("pa1", average=True)
    learner.learn(x, y)
    if more:
        learner.learn(*more)
    return learner


def test_an_error_leaves_the_model_as_it_was(monkeypatch):
    learner = learned(monkeypatch, lambda: fitted(X, Y), beside=True)
    before, bad = state(learner), X.toarray()
    bad[-1, -1] = np.nan
    for x in (bad, sparse.csr_array(bad)):
        with pytest.raises(ValueError, match=r"X\[299, 39\]"):
            learner.learn(x, Y)
        assert state(learner) == before


def in_both_layouts(monkeypatch, results):
    """Return what a function returns with either layout."""
    for beside in (True, False):
        with monkeypatch.context() as patch:
            choose_layout(patch, beside=beside)
            yield results()


def test_saving_merging_widening_and_a_third_class_give_the_same_bits(monkeypatch, tmp_path):
    def results():
        model = PA1(shuffle=False).fit(X, Y)
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model").partial_fit(X[:50], Y[:50])
        merged = merge([model, loaded])
        learner = model._classifier.learner
        learner.widen(50)
        wide = sparse.csr_array((X.data, X.indices, X.indptr), shape=(300, 50))
        learner.learn(wide, Y)
        third = PA1(shuffle=False).fit(X[:100], Y[:100])
        third.partial_fit(X[100:], np.where(X[100:, [0]].toarray()[:, 0] > 0, 2, Y[100:]))
        return [
            scores.tobytes()
            for scores in (
                loaded.predict_proba(X),
                merged.predict_proba(X),
                learner.scores(wide),
                third.predict_proba(X),
            )
        ]

    one, other = in_both_layouts(monkeypatch, results)
    assert one == other


def test_streams_of_dicts_give_the_same_bits(monkeypatch):
    def results():
        stream, probabilities = StreamClassifier("pa1"), []
        for number in range(100):
            x = {f"name {k}": float(k - number) for k in range(number, number + 5)}
            probabilities.append(stream.predict_proba_one(x))
            stream.learn_one(x, number % 3 == 0)
        stream.learn_many([{"name 1": 1.0}] * 3, [True, False, True])
        return [*probabilities, stream.predict_proba_one({"name 1": 1.0})]

    one, other = in_both_layouts(monkeypatch, results)
    assert one == other


def test_grids_find_the_same_parameters(monkeypatch):
    one, other = in_both_layouts(monkeypatch, lambda: tune("pa1", X, Y))
    assert one == other


def test_only_pairs_may_begin_inside_a_cache_line():
    room = np.zeros(64 + 2 * 100)
    first = int(-room.ctypes.data % 64 // 8) + 2
    memory = room[first : first + 200].reshape(100, 2)
    assert not is_sound(memory)
    assert is_sound(memory[:, 1:])
