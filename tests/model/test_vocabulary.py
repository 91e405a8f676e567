"""The vocabulary: which keys and values dicts may have, and which features they become."""

import pickle
import re
from decimal import Decimal
from enum import IntEnum, StrEnum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer

from learner_examples import everything, state
from scwlearn import Learner
from scwlearn._native import Vocabulary

pytestmark = pytest.mark.native


def by_hand(x):
    """Return the example with numbers only."""
    numbers = {}
    for key, value in x.items():
        words = [value] if isinstance(value, str) else value
        if isinstance(words, set | frozenset):
            words = sorted(words)
        if isinstance(words, list | tuple):
            for word in filter(None, words):
                numbers[f"{key}={word}"] = numbers.get(f"{key}={word}", 0.0) + 1.0
        else:
            numbers[key] = numbers.get(key, 0.0) + float(value)
    return numbers


keys = st.text("ab\xe9\u20ac\U0001d4d0", max_size=3)
words = st.text("ab=\u20ac", max_size=3)
values = st.one_of(
    st.floats(-1e3, 1e3),
    st.integers(-5, 5),
    st.booleans(),
    words,
    st.lists(words, max_size=6),
    st.lists(words, max_size=6).map(tuple),
    st.sets(words, max_size=6),
    st.frozensets(words, max_size=6),
)
examples = st.dictionaries(keys, values, max_size=8)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(stream=st.lists(st.tuples(examples, st.sampled_from([-1, 1])), max_size=12))
def test_strings_and_bags_of_words_equal_their_counts(stream):
    said, spelled = (Learner("scw1", intercept=True) for _ in range(2))
    for x, y in stream:
        numbers = by_hand(x)
        if said.model is not None:
            assert said.score_one(x) == spelled.score_one(numbers)
        assert said.learn_one(x, y) == spelled.learn_one(numbers, y)
    assert list(said.names or ()) == list(spelled.names or ())
    assert state(said) == state(spelled)


def test_missing_values_and_nested_objects_mean_what_they_do_in_json():
    learner, flat = Learner("arow"), Learner("arow")
    x = {"a": {"b": 2, "c": {"d": "x", "e": None}, "f": ["p", None, ""]}, "g": None, "h": "", "a.b": 1}
    learner.learn_one(x, 1)
    flat.learn_one({"a.b": 3, "a.c.d": "x", "a.f": "p"}, 1)
    assert learner.names == flat.names == {"a.b": 0, "a.c.d=x": 1, "a.f=p": 2}
    assert state(learner) == state(flat)
    deep = {}
    for _ in range(40):
        deep = {"k": deep}
    for bad, message in (
        (deep, "x has objects nested more than 32 deep"),
        ({"a": {(1,): 2}}, "a nested object has the key (1,); keys must be strings or whole numbers"),
        ({"a": {True: 2}}, "a nested object has the key True; keys must be strings or whole numbers"),
    ):
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            learner.learn_one(bad, 1)
        assert state(learner) == state(flat)


def test_the_order_of_the_keys_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    one, other = Learner("scw1", scale="rms"), Learner("scw1", scale="rms")
    x = {f"f{i}": float(rng.normal()) for i in range(50)}
    one.learn_one(x, 1)
    other.learn_one(x, 1)
    for _ in range(50):
        x = {f"f{i}": float(rng.normal()) for i in range(50)}
        mixed = {f"f{i}": x[f"f{i}"] for i in rng.permutation(50)}
        assert one.score_one(x) == other.score_one(mixed)
        assert one.learn_one(x, -1) == other.learn_one(mixed, -1)
    assert state(one) == state(other)


def test_words_are_named_as_in_scikit_learn():
    x = [{"city": "Oslo", "tags": ["a", "b"], "size": 2.0}, {"city": "Rome", "tags": ["b"]}]
    learner = Learner("arow")
    learner.learn_many(x, [1, -1])
    assert sorted(learner.names) == DictVectorizer().fit(x).get_feature_names_out().tolist()


def test_a_key_spelled_like_a_word_is_the_same_feature():
    for x in ({"a=b": 2.0, "a": "b"}, {"a": "b", "a=b": 2.0}, {"a": ["b", "b", "b"]}):
        assert Vocabulary().read(x) == ([0], [3.0], ["a=b"])


def test_values_of_one_feature_that_cancel_are_dropped():
    assert Vocabulary().read({"c": 1.0, "a": ["b", "b"], "a=b": -2.0, "d": 1.0})[:2] == ([0, 2], [1.0, 1.0])


def test_the_words_of_a_set_are_read_in_sorted_order():
    many = [f"word {i}" for i in range(200)]
    assert Vocabulary().read({"a": set(many)})[2] == [f"a={word}" for word in sorted(many)]


def test_zero_values_are_dropped():
    learner = Learner("arow")
    learner.learn_one({"a": 0.0, "b": 0, "c": False, "d": [], "e": 1.0}, 1)
    assert learner.names == {"e": 0}


def test_an_empty_dict_is_allowed():
    learner = Learner("arow", intercept=True)
    assert learner.learn_one({}, 1) == 0.0
    assert learner.score_one({}) > 0.0
    assert learner.names == {}


class Color(StrEnum):
    RED = "red"

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other


class Number(IntEnum):
    THREE = 3


def test_subclasses_of_str_and_int_are_plain_keys():
    for key, name in ((np.str_("red"), "red"), (Color.RED, "red"), (np.int64(3), 3), (Number.THREE, 3)):
        learner = Learner("arow")
        learner.learn_one({key: 1.0}, 1)
        assert [(type(known), known) for known in learner.names] == [(type(name), name)]
        assert learner.score_one({name: 1.0}) == learner.score_one({key: 1.0}) > 0
    # A different key, but the same name.
    assert Vocabulary().read({"red": 1.0, Color.RED: 2.0}) == ([0], [3.0], ["red"])


def test_subclasses_of_str_are_plain_words():
    for word in (np.str_("red"), Color.RED):
        assert Vocabulary().read({"a": word, "b": [word]})[2] == ["a=red", "b=red"]


def test_integers_are_keys():
    learner = Learner("arow")
    learner.learn_one({3: 1.0, -1: "x", 2**62: ["y"]}, 1)
    assert learner.names == {3: 0, "-1=x": 1, f"{2**62}=y": 2}
    assert learner.score_one({3: 1.0}) == learner.score_one({-1: "x"}) == learner.score_one({2**62: {"y"}}) > 0
    assert learner.score_one({4: 1.0, -1: "z"}) == 0.0


@pytest.mark.parametrize("key", [lambda i: (i, "a"), lambda i: 0.5 + i, lambda i: frozenset({i}), lambda i: b"%d" % i])
def test_any_hashable_is_a_key(key):
    named, plain = Learner("scw1"), Learner("scw1")
    for x, y in (({0: 1.0, 1: 2.0}, 1), ({1: 1.0, 2: -1.0}, -1), ({0: 2.0, 2: 1.0}, 1)):
        assert named.learn_one({key(i): v for i, v in x.items()}, y) == plain.learn_one(x, y)
    assert list(named.names) == [key(i) for i in plain.names]
    assert state(named) == state(plain)


@pytest.mark.parametrize("value", [True, 2, np.float32(0.5), np.int8(3), np.bool_(True), Decimal("1.5"), np.array(2.0)])
def test_any_number_is_a_value(value):
    assert Vocabulary().read({"a": value}) == ([0], [float(value)], ["a"])


ANYTHING = "..."
ALLOWED = "x['b'] must be a number, a string, None, a dict, or a list, tuple or set of strings, got"
TOO_LARGE = "; every value must be finite and at most 1e+150 in size"
STRINGS_ONLY = "x['b'] may hold strings only, got"
BAD_VALUES = {
    "bytes": (b"b", TypeError, f"{ALLOWED} b'b'"),
    "complex": (1j, TypeError, f"{ALLOWED} 1j"),
    "vector": (np.ones(2), TypeError, f"{ALLOWED} array"),
    "nan": (float("nan"), ValueError, f"x['b'] = nan{TOO_LARGE}"),
    "infinity": (-float("inf"), ValueError, f"x['b'] = -inf{TOO_LARGE}"),
    "too large": (np.float64(2e150), ValueError, f"x['b'] = {ANYTHING}2e+150{ANYTHING}{TOO_LARGE}"),
    "whole and too large": (-(10**400), ValueError, f"x['b'] = -10{ANYTHING}0{TOO_LARGE}"),
    "list of numbers": (["c", 1], TypeError, f"{STRINGS_ONLY} 1"),
    "set of bytes": ({b"c"}, TypeError, f"{STRINGS_ONLY} b'c'"),
    "list of lists": ([["c"]], TypeError, f"{STRINGS_ONLY} ['c']"),
}
MIXED = "keys of mixed types: x has the key"
BAD_KEYS = {
    "int among str": ({3: 1.0}, f"{MIXED} 3, where all before are of type str; use one type"),
    "tuple among str": ({("b",): 1.0}, f"{MIXED} ('b',), where all before are of type str"),
    "bytes among str": ({b"b": 0.0}, f"{MIXED} b'b', where"),
    "none among str": ({None: 1.0}, f"{MIXED} None, where"),
    "bool": ({True: 1.0}, "x has the key True; a key must not be a bool"),
}


HOWS = {
    "any number": {},
    "two": {"max_features": 2},
    "hashed": {"max_features": 100, "overflow": "hash"},
}
CALLS = {
    "learn_one": lambda learner, x: learner.learn_one(x, 1),
    "learn_one of weight 0": lambda learner, x: learner.learn_one(x, 1, 0.0),
    "learn_many": lambda learner, x: learner.learn_many([{"a": 1.0}, x], [1, 1]),
    "score_one": lambda learner, x: learner.score_one(x),
    "score_many": lambda learner, x: learner.score_many([{"a": 1.0}, x]),
}
every_how = pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)


def new_and_taught(how):
    taught = Learner("arow", **how)
    taught.learn_one({"a": 1.0, "c": -1.0}, 1)
    return {"new": Learner("arow", **how), "taught": taught}


def assert_refused(how, x, error, message):
    for kind, learner in new_and_taught(how).items():
        before = everything(learner)
        for name, call in CALLS.items():
            if kind == "new" and name.startswith("score"):
                continue
            # learn_many and score_many get it as their second example.
            pattern = (
                message.replace("x[", "examples[1][").replace("x has", "examples[1] has") if "many" in name else message
            )
            with pytest.raises(error, match=re.escape(pattern).replace(re.escape(ANYTHING), ".*")):
                call(learner, x)
            assert everything(learner) == before


@every_how
@pytest.mark.parametrize(("value", "error", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_an_error_names_the_bad_value_and_changes_nothing(how, value, error, message):
    assert_refused(how, {"a": 1.0, "b": value}, error, message)


@pytest.mark.parametrize("how", [HOWS["any number"], HOWS["two"]], ids=["any number", "two"])
@pytest.mark.parametrize(("x", "message"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_an_error_names_the_bad_key_and_changes_nothing(how, x, message):
    assert_refused(how, {"a": 1.0} | x, TypeError, message)


def test_a_key_to_be_hashed_must_be_a_string_or_an_integer():
    learner = Learner("arow", max_features=9, overflow="hash")
    for x in ({(1,): 1.0}, {None: 1.0}, {1.5: 1.0}):
        with pytest.raises(TypeError, match=r"x has the key .*; a key to be hashed must be a string or a whole number"):
            learner.learn_one(x, 1)
    assert learner.model is None


anything = st.one_of(
    values,
    st.none(),
    st.floats(),
    st.complex_numbers(),
    st.binary(max_size=2),
    st.dictionaries(words, words, max_size=1),
    st.lists(st.one_of(words, st.none(), st.integers()), max_size=3),
)
any_key = st.one_of(keys, keys, st.integers(-3, 3), st.booleans(), st.none(), st.tuples(words))


@settings(max_examples=80, derandomize=True, deadline=None, database=None)
@given(stream=st.lists(st.dictionaries(any_key, anything, max_size=4), max_size=6))
@every_how
def test_any_example_is_either_learned_or_changes_nothing(how, stream):
    learner = Learner("scw1", **how)
    for x in stream:
        before = everything(learner)
        try:
            learner.learn_one(x, 1)
        except (TypeError, ValueError):
            assert everything(learner) == before
        else:
            assert np.isfinite(learner.score_one(x))


def test_all_keys_must_have_one_type():
    learner = Learner("arow")
    learner.learn_one({1: 1.0}, 1)
    before = everything(learner)
    for x in ({"1": 1.0}, {(1,): 1.0}, {1.0: 1.0}):
        for call in (learner.score_one, lambda x: learner.learn_one(x, 1)):
            with pytest.raises(TypeError, match=r"keys of mixed types: .* where all before are of type int"):
                call(x)
    assert everything(learner) == before
    # Also after words, whose names are strings whatever the type of their key.
    learner = pickle.loads(pickle.dumps(taught_words()))
    with pytest.raises(TypeError, match="keys of mixed types"):
        learner.score_one({"1": "x"})
    assert learner.score_one({1: "x"}) > 0


def taught_words():
    learner = Learner("arow")
    learner.learn_one({1: "x"}, 1)
    return learner


def test_words_need_a_string_or_integer_key():
    for value in ("b", ["b"]):
        with pytest.raises(TypeError, match="only a key that is a string or a whole number may have strings"):
            Learner("arow").learn_one({(1, 2): value}, 1)


def test_values_whose_sum_is_too_large_are_rejected():
    with pytest.raises(ValueError, match=r"x has values of one feature that add up to more than 1e\+150 in size"):
        Vocabulary().read({"red": 1e150, Color.RED: 1e150})


@every_how
def test_an_example_of_weight_zero_adds_no_name(how):
    for learner in new_and_taught(how).values():
        before = everything(learner)
        assert np.isfinite(learner.learn_one({"new": 1.0, "words": ["b"]}, 1, 0.0))
        scores = learner.learn_many([{"new": 1.0}, {"other": "word"}], [1, -1], weights=[0.0, 0.0])
        assert np.isfinite(scores).all()
        assert everything(learner) == before


def vocabulary_of(*names, **settings):
    vocabulary = Vocabulary(**settings)
    vocabulary.add([*names])
    return vocabulary


def test_uniting_appends_new_names_and_returns_the_features_of_all():
    one, other = vocabulary_of("a", "b", "c"), vocabulary_of("d", "b", "e", "a")
    np.testing.assert_array_equal(one.unite(other), [3, 1, 4, 0])
    assert one.names == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
    assert other.names == {"d": 0, "b": 1, "e": 2, "a": 3}


def test_uniting_with_itself_or_nothing_changes_nothing():
    one = vocabulary_of("a", "b")
    np.testing.assert_array_equal(one.unite(one), [0, 1])
    assert one.unite(Vocabulary()).size == 0
    assert one.names == {"a": 0, "b": 1}
    empty = Vocabulary()
    np.testing.assert_array_equal(empty.unite(one), [0, 1])
    assert empty.key_type is str


def test_uniting_may_exceed_max_features():
    one = vocabulary_of("a", "b", max_features=2)
    one.unite(vocabulary_of("c", max_features=2))
    assert len(one) == 3
