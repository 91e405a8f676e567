"""Keys and values of any class mean the same in all calls, or are refused by all."""

import datetime
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scwlearn
from scalars import DECLARED, INTEGERS, SCALARS, STRINGS, Counted
from scwlearn import Features, StreamClassifier
from scwlearn.data.io.errors import DataError
from stream_examples import full_state, one_by_one

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


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1, 10**30, -(10**5000), np.uint64(2**63), Counted(2**64)], ids=hex)
@pytest.mark.parametrize("how", [{}, {"max_features": 9}, {"max_features": 9, "overflow": "hash"}])
def test_a_key_beyond_64_bits_is_refused_in_all_calls(key, how):
    refused = pytest.raises(ValueError, match=r"a key that is a whole number must be from -2\*\*63 to 2\*\*63 - 1")
    for known in ([], [{1: 1.0}, {2: 1.0}]):
        model = one_by_one(StreamClassifier("arow", **how), known, ["a", "b"][: len(known)])
        before = full_state(model)
        for x in ({1: 1.0, key: 1.0}, {key: "word"}, {"a": {key: 1.0}}):
            # With known keys that are whole numbers, another key that is a string is refused first.
            allowed = pytest.raises(TypeError) if known and "a" in x else refused
            with allowed:
                model.learn_one(x, "a")
            with allowed:
                model.learn_many([{1: 1.0} if known else {}, x], ["a", "b"])
            if known:
                with allowed:
                    model.predict_one(x)
                with allowed:
                    model.predict_many([x])
            assert full_state(model) == before
    for x in ({key: 1.0}, {"a": {key: "word"}}):
        with refused:
            StreamClassifier("arow", features=DECLARED, **how).learn_one(x, "a")


def test_the_largest_keys_are_learned_and_saved(tmp_path):
    model = StreamClassifier("arow")
    model.learn_many([{2**63 - 1: 1.0}, {-(2**63): 1.0}], ["a", "b"])
    model.save(tmp_path / "model")
    again = scwlearn.load(tmp_path / "model")
    assert again.predict_many([{2**63 - 1: 1.0}, {-(2**63): 1.0}]) == ["a", "b"]


# Values


def code(scalar):
    return f"{type(scalar).__name__} {scalar.dtype.str}"


@pytest.mark.parametrize("scalar", [*SCALARS, np.array(1 + 1j), np.array("1"), np.array(b"1"), np.array(2.0)], ids=code)
@pytest.mark.parametrize("features", [None, DECLARED])
@pytest.mark.filterwarnings("error")
def test_a_scalar_is_a_value_if_it_is_a_number(scalar, features):
    if isinstance(scalar, np.str_):
        assert names_of({"k": scalar}, features=features) == {"k=1": 0}
        return
    model, plain = (StreamClassifier("arow", features=features) for _ in range(2))
    before = full_state(model)
    if scalar.dtype.kind in "biuf":
        model.learn_one({"k": scalar, "one": scalar + 1}, "a")
        plain.learn_one({"k": float(scalar), "one": float(scalar) + 1}, "a")
        assert full_state(model) == full_state(plain)
    else:
        for learn in (
            lambda: model.learn_one({"k": scalar}, "a"),
            lambda: model.learn_many([{"k": scalar}], ["a"]),
        ):
            with pytest.raises((TypeError, DataError), match=r"'k'.* must be a number, a string"):
                learn()
        assert full_state(model) == before


NOT_NUMBERS = [Decimal("sNaN"), datetime.date, datetime.time(1, 2), 1j, Features, np.array(None), object()]
TOO_LARGE = [10**5000, -(10**5000), Fraction(10**400), Decimal("1e400"), np.float32("inf"), np.longdouble("1e400")]


@pytest.mark.parametrize("value", NOT_NUMBERS + TOO_LARGE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("features", [None, DECLARED])
def test_an_error_names_the_key_whatever_the_value(value, features):
    model = StreamClassifier("arow", features=features)
    before = full_state(model)
    for x in ({"k": value}, {"k": {"k": value}}):
        with pytest.raises((TypeError, ValueError), match=r"(x\[|column )'(k\.)?k'.* must be "):
            model.learn_one(x, "a")
    assert full_state(model) == before


def test_a_bag_with_a_long_number_is_refused():
    with pytest.raises(TypeError, match=r"x\['k'\] may hold strings only, got <unprintable int object>"):
        StreamClassifier("arow").learn_one({"k": [10**5000]}, "a")
