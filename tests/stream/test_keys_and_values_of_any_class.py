"""Keys of any class mean the same in all calls, or are refused by all."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalars import DECLARED, INTEGERS, STRINGS
from scwlearn import StreamClassifier

pytestmark = pytest.mark.native


# Keys


def of_class(key, kind):
    return (STRINGS if isinstance(key, str) else INTEGERS)[kind](key)


def names_of(x, **declared):
    model = StreamClassifier("arow", **declared)
    try:
        model.learn_one(x, "a")
    except TypeError as error:
        # The key that it names may be of the other class.
        return re.sub(r" the key .*?[,;]", "", str(error))
    return model._classifier.learner.names


def dressed(x, kinds):
    """Return a record with keys of other classes that are equal."""
    kind = kinds.pop()
    return {
        of_class(key, kind): dressed(value, kinds) if isinstance(value, dict) else value for key, value in x.items()
    }


texts = st.text("ab\xe9\u20ac", max_size=3)
plain_keys = st.one_of(texts, st.integers(0, 9))
records = st.dictionaries(
    plain_keys, st.one_of(st.just(1.0), texts, st.dictionaries(plain_keys, st.just(1.0), max_size=2)), max_size=4
)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(x=records, kinds=st.lists(st.sampled_from(["own text", "enum"]), min_size=9, max_size=9))
def test_keys_of_any_class_are_those_of_str_and_int(x, kinds):
    for declared in ({}, {"features": DECLARED}, {"max_features": 64, "overflow": "hash"}):
        assert names_of(dressed(x, [*kinds]), **declared) == names_of(x, **declared)


@pytest.mark.parametrize("of", INTEGERS.values(), ids=INTEGERS)
def test_an_integer_of_any_class_is_a_key_everywhere(of):
    assert names_of({of(7): 1.0}) == {7: 0}
    assert names_of({of(7): "word"}) == {"7=word": 0}
    assert names_of({"user": {of(7): 1.0}}) == {"user.7": 0}
    assert names_of({of(7): 1.0}, features=DECLARED) == {"7": 0}
    assert names_of({"user": {of(7): {of(8): 1.0}}}, features=DECLARED) == {"user.7.8": 0}


@pytest.mark.parametrize("of", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize("features", [None, DECLARED])
def test_a_string_of_any_class_is_a_key_everywhere(of, features):
    x = {of("red"): {of("size"): 1.0, of("kinds"): [of("new")]}, of("blue"): of("word")}
    assert [*names_of(x, features=features)] == ["red.size", "red.kinds=new", "blue=word"]


@pytest.mark.parametrize("key", [True, np.True_])
def test_a_bool_is_no_key(key):
    for x in ({key: 1.0}, {"a": {key: 1.0}}):
        for features in (None, DECLARED):
            with pytest.raises(TypeError, match=f"the key {re.escape(repr(key))}; "):
                StreamClassifier("arow", features=features).learn_one(x, "a")
