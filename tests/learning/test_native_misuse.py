"""Misuse of the native module: an error, never a crash or memory of others."""

import numpy as np
import pytest

from scwlearn import StreamClassifier
from scwlearn._native import (
    SCALARS,
    Calibration,
    ClassifierByOne,
    Coordinates,
    Mixture,
    Model,
    OneByOne,
    Rule,
    Vocabulary,
    learn_coordinates,
)

pytestmark = pytest.mark.native

SIGNS = np.ones(1, dtype=np.int8)


def model(size=3):
    known, tally = np.array([1]), np.zeros(3, dtype=np.int64)
    return Model("identity", True, False, size, 1, np.ones(size), np.ones(SCALARS), known, tally, 1.0)


def rule():
    return Rule("pa1", [1.0])


def handle():
    return OneByOne(Vocabulary(), rule(), model(), False, "none", None)


def vocabulary(key_type, features):
    made = Vocabulary.__new__(Vocabulary)
    made.__setstate__((None, False, key_type, features, []))
    return made


class Meta(type):
    """The type of a class whose name is no string."""

    __name__ = 5


class Key(metaclass=Meta):
    """A key of a dict."""


def test_a_class_of_keys_may_have_any_name():
    stream = StreamClassifier("arow")
    key = Key()
    stream.learn_many([{key: 1.0}, {key: -1.0}], ["a", "b"])
    with pytest.raises(TypeError, match="where all before are of type 5; use one type"):
        stream.learn_one({"x": 1.0}, "a")


def test_a_name_has_a_feature_of_the_vocabulary():
    stream = StreamClassifier("arow")
    stream.learn_many([{"a": 1.0}, {"a": -1.0}], ["a", "b"])
    stream._classifier.learner.vocabulary.names["x"] = 10**9
    for call in (lambda: stream.learn_one({"x": 1.0}, "a"), lambda: stream.predict_one({"x": 1.0})):
        with pytest.raises(ValueError, match="the features of the names must be 0, 1, and so on"):
            call()


@pytest.mark.parametrize("key_type", [5, "str"])
def test_the_type_of_the_keys_is_a_type(key_type):
    with pytest.raises(ValueError, match="the type of the keys must be a type or None"):
        vocabulary(key_type, {})


def test_names_that_share_a_feature_are_not_kept():
    with pytest.raises(ValueError, match="must be distinct"):
        vocabulary(str, {"a": 0, "b": 0}).kept(np.array([1]))


@pytest.mark.parametrize("count", [2**31, 2**60, 2**62, 2**63 - 1])
@pytest.mark.parametrize("make", [lambda count: Calibration(count, 1.0), lambda count: Mixture(16, count, 1.0)])
def test_there_are_at_most_as_many_scores_as_classes(count, make):
    with pytest.raises(ValueError, match="n_scores must be from 1 to 2147483647"):
        make(count)


@pytest.mark.parametrize("row", [5, [("a", 1.0)], None, "a"])
def test_rows_of_a_list_are_dicts(row):
    one, scores = handle(), np.zeros(2)
    signs = np.ones(2, dtype=np.int8)
    with pytest.raises(TypeError, match=r"examples\[1\] must be a dict"):
        one.learn_list(({}, row), signs, None, None, 0, scores, None)
    with pytest.raises(TypeError, match=r"examples\[1\] must be a dict"):
        one.score_list(({}, row), scores, None)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("place", [0, 1])
def test_weights_of_a_list_are_finite(weight, place):
    weights = [None, None]
    weights[place] = np.array([weight])
    one = handle()
    with pytest.raises(ValueError, match="weights must be finite and >= 0"):
        one.learn_list(({"a": 1.0},), SIGNS, *weights, 0, np.zeros(1), None)
    assert one.score_named({"a": 1.0}) == 0.0


@pytest.mark.parametrize("number", [-1, 2, "x", 2**70])
def test_numbers_of_classes_are_those_of_the_labels(number):
    one = ClassifierByOne(handle(), None, ["a", "b"], [0, 1], {"a": number}, True, True, None)
    with pytest.raises(ValueError if number in (-1, 2) else TypeError):
        one.learn({"x": 1.0}, "a", 1.0)


def test_an_object_of_another_type_is_a_type_error():
    made = Vocabulary.__new__(Vocabulary)
    for wrong in (
        lambda: made.__setstate__((1,)),
        lambda: made.__setstate__((4, True, str, {}, [5])),
        lambda: OneByOne("no vocabulary", rule(), model(), False, "none", None),
        lambda: ClassifierByOne(5, None, ["a"], [0], {}, True, True, None),
    ):
        with pytest.raises(TypeError, match="an object does not have the type that is needed here"):
            wrong()


def test_the_support_fits_the_coordinates():
    most = 2**63 - 1
    span = Coordinates(np.ones((2, 2)), np.ones(4), np.ones(2), np.ones(2), np.ones(2), most, most)
    with pytest.raises(ValueError, match="coordinates has too few columns for the support"):
        learn_coordinates(rule(), [model(2)], np.array([1]), True, [span], np.ones(2, dtype=np.int8), None, 1, 1)
