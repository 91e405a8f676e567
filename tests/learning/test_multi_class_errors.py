"""Multi-class learners with functions as rules, and the settings and labels that they refuse."""

import numpy as np
import pytest

from learner_examples import FORMS, declare_arow, every_form, state
from multi_class_examples import CLASSES, assert_close, every_covariance, examples
from scwlearn import Learner

pytestmark = pytest.mark.native


def my_arow(m, v):
    beta = 1 / (v + 2.0)
    return (max(0.0, 1 - m) * beta, beta) if m < 1 else (0.0, 0.0)


@every_covariance
@every_form
def test_a_function_as_rule_equals_the_built_in_rule(covariance, form):
    x, y = examples()
    own = Learner(my_arow, n_classes=0, covariance=covariance, intercept=True, **FORMS[form])
    built_in = Learner("arow", n_classes=0, r=2.0, covariance=covariance, intercept=True, **FORMS[form])
    assert own.learn(x, y) == built_in.learn(x, y)
    assert_close(own.model.weights(), built_in.model.weights())
    assert_close(own.model.variances(), built_in.model.variances())


@pytest.mark.usefixtures("registry")
@every_form
def test_a_rule_declared_outside_the_package_gives_the_same_bits(form):
    declare_arow()
    x, y = examples()
    learner = Learner("mine", n_classes=0, r=0.7, covariance="diagonal", **FORMS[form])
    built_in = Learner("arow", n_classes=0, r=0.7, covariance="diagonal", **FORMS[form])
    assert learner.learn(x, y) == built_in.learn(x, y)
    assert state(learner) == state(built_in)


@every_form
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_a_rule_that_raises_leaves_everything_as_it_was(form, single):
    x, y = examples()
    x = x.astype(np.float64)
    new = int(np.argmax(y == CLASSES - 1))
    asked = 0
    limit = 10**9

    def turns_bad(m, v):
        nonlocal asked
        asked += 1
        if asked > limit:
            raise ZeroDivisionError("in my own rule")
        return my_arow(m, v)

    learner, plain = (Learner(turns_bad, n_classes=0, covariance="diagonal", **FORMS[form]) for _ in range(2))
    learner.learn(x[:new], y[:new])
    before, limit = state(learner), asked + (CLASSES - 1 if form == "ovr" else 0)
    learn = (lambda: learner.learn_one(x[new], y[new])) if single else (lambda: learner.learn(x[new:], y[new:]))
    with pytest.raises(ZeroDivisionError):
        learn()
    assert asked == limit + 1
    assert state(learner) == before
    limit = 10**9
    learner.learn(x[new:], y[new:])
    plain.learn(x, y)
    assert state(learner) == state(plain)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"multi_class": "all"}, "multi_class must be one of joint, ovr"),
        ({"rivals": "min"}, "rivals must be one of max, uniform, proportional"),
        ({"rivals": "uniform"}, "is for the joint Perceptron"),
        ({"rule": "perceptron", "rivals": "uniform", "multi_class": "ovr"}, "is for the joint Perceptron"),
        ({"multi_class": "ovr", "shared_covariance": True}, "shared_covariance=True needs"),
        ({"covariance": "round"}, "covariance must be one of auto, identity"),
        ({"n_classes": -1}, "n_classes must be an integer >= 0"),
        ({"initial_variance": 0.0}, "initial_variance must be"),
    ],
)
def test_invalid_settings_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        Learner(**{"n_classes": 0} | how)


@pytest.mark.parametrize("labels", [[0, 1, 3], [0, 2, 1], [-1, 0, 1], [0.5, 0, 1], [0, np.nan, 1], [0, 1, 2**31 - 1]])
def test_labels_that_are_not_class_numbers_are_refused(labels):
    learner = Learner("arow", n_classes=0, covariance="diagonal")
    with pytest.raises(ValueError, match="label"):
        learner.learn(np.eye(3), labels)
    assert learner.model is None


@pytest.mark.parametrize("labels", [["a", "b", "c"], [True, False, True], [None, 1, 2]])
def test_labels_that_are_not_numbers_are_refused(labels):
    with pytest.raises(TypeError, match="class numbers from 0"):
        Learner("arow", n_classes=0, covariance="diagonal").learn(np.eye(3), labels)


@pytest.mark.parametrize(
    "scores", [np.empty((3, 2)), np.empty((2, 3)), np.empty(9), np.empty((3, 3), dtype=np.float32), [[0.0] * 3] * 3]
)
def test_scores_that_do_not_fit_are_refused(scores):
    learner = Learner("arow", n_classes=0, covariance="diagonal")
    with pytest.raises((ValueError, TypeError), match="scores_out"):
        learner.learn(np.eye(3), [0, 1, 2], scores_out=scores)
    assert learner.model is None


def test_an_untrained_learner_raises_an_error():
    learner = Learner("arow", n_classes=3)
    for call in (learner.scores, learner.margin_variances):
        with pytest.raises(ValueError, match="has not learned"):
            call(np.eye(3))
    with pytest.raises(ValueError, match="has not learned"):
        learner.score_one(np.zeros(3))


def test_more_classes_than_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 10_000)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    learner = Learner("arow", n_classes=0, covariance="diagonal")
    learner.learn(np.eye(3), [0, 1, 2])
    before = state(learner)
    with pytest.raises(ValueError, match=r"for each of 4\d\d classes"):
        learner.learn(np.ones((400, 3)), np.arange(3, 403))
    with pytest.raises(ValueError, match="classes needs"):
        learner.add_classes(1000)
    assert state(learner) == before
