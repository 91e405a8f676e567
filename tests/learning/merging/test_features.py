"""Merging learners from dicts: names, bounds and hashes."""

import copy
import pickle

import pytest

from learner_examples import everything
from merge_examples import every_rule
from scwlearn import Learner, merge
from scwlearn._native import Vocabulary


def met(*examples, **settings):
    learner = Learner("arow", **settings)
    learner.learn_many(examples, [1, -1] * (len(examples) // 2) + [1] * (len(examples) % 2))
    return learner


def names(*words):
    return dict.fromkeys(words, 1.0)


@every_rule
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_least_certain_names_beyond_the_bound_are_dropped(how, covariance, intercept):
    settings = {"covariance": covariance, "intercept": intercept}
    rows = [names("a", "b", "rare"), *[names("a"), names("b")] * 4], [*[names("c"), names("a")] * 4, names("c", "once")]
    free = merge([met(*some, **settings) for some in rows], how)
    assert list(free.names) == ["a", "b", "rare", "c", "once"]
    bounded = merge([met(*some, max_features=3, **settings) for some in rows], how)
    assert bounded.names == {"a": 0, "b": 1, "c": 2}
    for name in "abc":
        assert bounded.score_one({name: 1.0}) == pytest.approx(free.score_one({name: 1.0}), rel=1e-9)
    assert bounded.score_one({"rare": 1.0}) == bounded.score_one({})
    bounded.learn_one(names("a", "new"), 1)
    assert "new" in bounded.names
    assert len(bounded.names) <= 3


def test_a_bound_that_is_not_reached_changes_nothing():
    rows = [names("a", "b"), names("b", "c")], [names("c", "d"), names("a")]
    free, bounded = (merge([met(*some, max_features=most) for some in rows]) for most in (None, 4))
    assert bounded.names == free.names
    assert bounded.model.weights()[0, :4] == pytest.approx(free.model.weights()[0, :4])


@every_rule
def test_hashed_names_keep_their_slots_and_the_most_frequent_name(how):
    slots = {"max_features": 1, "overflow": "hash"}
    often, seldom = met(*[names("often")] * 5, **slots), met(*[names("seldom")] * 2, **slots)
    for models in ([often, seldom], [seldom, often]):
        together = merge(models, how)
        assert together.vocabulary.features == {0: ("often", True)}
        assert together.n_features == 1
    wide = {"max_features": 64, "overflow": "hash"}
    one, other = met(names("a", "b"), **wide), met(names("b", "c"), **wide)
    together = merge([one, other], how)
    assert together.names == one.names | other.names
    assert {together.names[name] for name in "ab"} == set(one.names.values())
    for learner, name in ((one, "a"), (other, "c")):
        assert together.score_one({name: 1.0}) * learner.score_one({name: 1.0}) > 0


def test_merging_one_learner_copies_its_names():
    learner = met(names("a"))
    before = everything(learner)
    twin = merge([learner])
    assert everything(twin) == before
    twin.learn_one(names("b"), 1)
    assert everything(learner) == before


def test_keys_of_different_types_are_refused():
    text, numbers, nothing = met({"a": 1.0}), met({1: 1.0}), met({})
    message = r"models\[1\] and models\[2\] differ in type of keys: str and int"
    with pytest.raises(ValueError, match=message):
        merge([nothing, text, numbers])
    together = merge([nothing, text])
    assert together.names == {"a": 0}
    with pytest.raises(TypeError, match="keys of mixed types"):
        together.learn_one({1: 1.0}, 1)


def test_vocabularies_of_different_kinds_are_not_united():
    for other in (Vocabulary(3), Vocabulary(4, True)):
        with pytest.raises(ValueError, match="same max_features and hashing"):
            Vocabulary(4).unite(other)
    with pytest.raises(ValueError, match="keys of different types"):
        met({"a": 1.0}).vocabulary.unite(met({1: 1.0}).vocabulary)


def test_united_names_are_found_and_kept_in_a_file():
    one, other = met(names("a", "b")).vocabulary, met(names("b", "c")).vocabulary
    both = copy.copy(one)
    assert both.unite(other).tolist() == [1, 2]
    for united in (both, pickle.loads(pickle.dumps(both))):
        assert united.names == {"a": 0, "b": 1, "c": 2}
        assert united.read(names("c", "a", "new"))[::2] == ([2, 0, 3], ["new"])
    assert (one.names, other.names) == ({"a": 0, "b": 1}, {"b": 0, "c": 1})
