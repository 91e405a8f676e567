"""Weights of any class mean the same in all calls, or are refused by all."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from scalars import DECLARED, objects
from scwlearn import Learner, StreamClassifier
from stream_examples import X, one_by_one

pytestmark = pytest.mark.native

WEIGHTS = [True, 2, 0.5, np.float32(2), np.int64(2), Decimal(2), Fraction(1, 2), np.array(2.0), 0, 1e-99, 1e99]
NO_WEIGHTS = ["2", None, [1.0], np.array([2.0]), 1j, np.complex128(1), np.timedelta64(1, "ns"), b"2", np.array("2")]
BAD_WEIGHTS = [10**400, -1, float("nan"), float("inf"), 1e-101, 1e101, Decimal(-1), Decimal("1e400"), Fraction(10**400)]
BY_ONE = {
    "first": (lambda: StreamClassifier("arow"), "x"),
    "known": (lambda: one_by_one(StreamClassifier("arow"), [{"a": 1.0}, {"b": 1.0}], "xy"), "x"),
    "third": (lambda: one_by_one(StreamClassifier("arow"), [{"a": 1.0}, {"b": 1.0}], "xy"), "z"),
    "balanced": (
        lambda: one_by_one(StreamClassifier("arow", class_weight="balanced"), [{"a": 1.0}, {"b": 1.0}], "yx"),
        "y",
    ),
    "by class": (lambda: StreamClassifier("arow", class_weight={"x": 1.0}), "x"),
    "committee": (lambda: StreamClassifier("auto"), "x"),
    "declared": (lambda: StreamClassifier("arow", features=DECLARED), "x"),
}


def state(model):
    return model.counts, model.classes, model.predict_proba_one({"a": 1.0}), model.predict_proba_one({})


every_model = pytest.mark.parametrize(("new", "label"), BY_ONE.values(), ids=BY_ONE)


@every_model
@pytest.mark.parametrize("w", WEIGHTS, ids=lambda w: type(w).__name__)
def test_any_number_is_a_weight(new, label, w):
    each, many, plain = new(), new(), new()
    each.learn_one({"a": 1.0}, label, w)
    plain.learn_one({"a": 1.0}, label, float(w))
    assert state(each) == state(plain)
    if not isinstance(w, np.ndarray):
        many.learn_many([{"a": 1.0}], [label], [w])
        assert state(many) == state(plain)


@every_model
@pytest.mark.parametrize("w", NO_WEIGHTS + BAD_WEIGHTS, ids=lambda w: type(w).__name__)
@pytest.mark.filterwarnings("error")
def test_the_error_of_a_weight_says_what_is_allowed(new, label, w):
    model = new()
    before = state(model)
    error = ValueError if any(w is bad for bad in BAD_WEIGHTS) else TypeError
    with pytest.raises(error, match=r"^w must be 0 or a number from 1e-100 to 1e\+100, got "):
        model.learn_one({"a": 1.0}, label, w)
    if not isinstance(w, list | np.ndarray):
        for weights in ([w], objects([w])):
            with pytest.raises(error, match=r"^w must be numbers, got |^a weight must be 0 or .*, got w\[0\] = "):
                model.learn_many([{"a": 1.0}], [label], weights)
    assert state(model) == before


@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize("x", [{"a": 1.0}, [1.0, 2.0]], ids=["dict", "vector"])
@pytest.mark.filterwarnings("error")
def test_a_learner_refuses_what_is_no_weight_or_label(taught, x):
    learner = Learner("arow")
    if taught:
        learner.learn_one(x, 1)
    seen = learner.counts
    for w in NO_WEIGHTS + BAD_WEIGHTS:
        with pytest.raises((TypeError, ValueError), match=r"^w must be 0 or a number from 1e-100 to 1e\+100, got "):
            learner.learn_one(x, 1, w)
    for y in ("1", None, [1], 10**400, np.timedelta64(1, "ns")):
        with pytest.raises((TypeError, ValueError), match=r"^y must |label"):
            learner.learn_one(x, y)
    assert learner.counts == seen
    for w in filter(None, WEIGHTS):
        same = [Learner("arow"), Learner("arow")]
        assert same[0].learn_one(x, 1, w) == same[1].learn_one(x, 1, float(w))
        assert same[0].score_one(x) == same[1].score_one(x)


def test_a_weight_is_checked_before_that_of_its_class():
    model = one_by_one(StreamClassifier("arow", class_weight="balanced"), [X, X], "xy")
    before = state(model)
    named = r"the weight of an example times that of its class must be 0 or .*, got 1e-100 \* 0\.75 = 7\.5e-101"
    with pytest.raises(ValueError, match=named):
        model.learn_one(X, "x", 1e-100)
    with pytest.raises(ValueError, match=named):
        model.learn_many([X], ["x"], [1e-100])
    assert state(model) == before
