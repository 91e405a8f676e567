"""Multi-class learning from dicts: equality with matrices, bounds, and functions as rules."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

from helpers import several, split
from scwlearn import Learner
from stream_examples import learner_state as knows

pytestmark = pytest.mark.native

FORMS = {
    "joint": {"covariance": "diagonal"},
    "drop": {"covariance": "diagonal-drop"},
    "shared": {"covariance": "diagonal", "shared_covariance": True},
    "ovr": {"covariance": "diagonal", "multi_class": "ovr"},
    "identity": {"covariance": "identity"},
    "full": {"covariance": "full"},
    "full shared": {"covariance": "full", "shared_covariance": True},
    "full ovr": {"covariance": "full", "multi_class": "ovr"},
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
with_and_without_scale = pytest.mark.parametrize("scale", ["none", "rms", "standard", "unit"])

ROWS, FEATURES, CLASSES = 50, 7, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, FEATURES)) * 10.0 ** (np.arange(FEATURES) % 3) * (RNG.random((ROWS, FEATURES)) < 0.6)
Y = np.minimum(RNG.integers(0, CLASSES, ROWS), np.arange(ROWS) // 6)
Y[::6] = np.minimum(np.arange(len(Y[::6])), CLASSES - 1)
DICTS = [{f"feature {j}": x[j] for j in np.flatnonzero(x)} for x in X]
WEIGHTS = np.resize([1.0, 0.5, 0.0, 2.0], ROWS)


def arow(m, v, w=1.0):
    return (max(0.0, 1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0.0, 0.0)


def columns(learner, x=X):
    """The matrix with its columns as the names came."""
    return x[:, [int(name.split()[1]) for name in learner.names]]


@every_form
@with_and_without_scale
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighed"])
def test_dicts_equal_rows_of_a_matrix(form, scale, weights):
    rule = "pa1" if form["covariance"] == "identity" else "scw1"
    named, rows = (Learner(rule, n_classes=0, intercept=True, scale=scale, **form) for _ in range(2))
    scores, variances = named.learn_many(DICTS, Y, weights, variances_out=(out := np.empty(ROWS))), out
    x = columns(named)
    expected, looks = np.empty((ROWS, CLASSES)), np.empty(ROWS)
    rows.learn(x, Y, weights=weights, scores_out=expected, variances_out=looks)
    weighs = np.ones(ROWS, dtype=bool) if weights is None else weights > 0
    np.testing.assert_allclose(scores[weighs], expected[weighs], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(variances[weighs], looks[weighs], rtol=1e-8, atol=1e-9)
    assert named.counts == rows.counts
    known = [*range(len(named.names)), -1]
    np.testing.assert_allclose(named.model.weights()[:, known], rows.model.weights(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(named.model.variances()[:, known], rows.model.variances(), rtol=1e-8)
    np.testing.assert_allclose(named.score_many(DICTS), rows.scores(x), rtol=1e-8, atol=1e-9)
    top = rows.scores(x).argmax(axis=1)
    looked, of_top = named.scores_and_variances_many(DICTS)
    assert looked.tolist() == named.score_many(DICTS).tolist()
    np.testing.assert_allclose(of_top, rows.margin_variances(x)[np.arange(ROWS), top], rtol=1e-8)


@every_form
@with_and_without_scale
@pytest.mark.parametrize("bound", [{}, {"max_features": 5}, {"max_features": 5, "overflow": "hash"}], ids=str)
def test_learn_many_equals_learn_one_in_turn(form, scale, bound):
    dicts = [dict([*x.items()][:4]) for x in DICTS] if bound else DICTS
    rule = "pa1" if form["covariance"] == "identity" else "arow"
    each, at_once, in_parts = (Learner(rule, n_classes=0, scale=scale, **bound, **form) for _ in range(3))
    answers, variances = [], np.zeros(ROWS)
    for i, (x, label, weight) in enumerate(zip(dicts, Y, WEIGHTS, strict=True)):
        before = copy.copy(each)
        answers.append(each.learn_one(x, int(label), weight))
        if weight:
            variances[i] = each.last_variance
        # A new name counts in the variance, and the scale is updated before.
        if weight and i and scale == "none" and set(x) <= set(before.names):
            score, variance = before.score_and_variance_one(x)
            np.testing.assert_allclose(answers[-1][: len(score)], score, rtol=1e-9, atol=1e-12)
            assert each.last_variance == pytest.approx(variance, rel=1e-9)
    out = np.empty(ROWS)
    scores = at_once.learn_many(dicts, Y, WEIGHTS, variances_out=out)
    for line, answer in zip(scores, answers, strict=True):
        assert line[: len(answer)].tolist() == answer.tolist()
        assert (line[len(answer) :] == -np.inf).all()
    assert out.tolist() == variances.tolist()
    for part in np.array_split(np.arange(ROWS), [1, 6, 6, 30]):
        in_parts.learn_many([dicts[i] for i in part], Y[part], WEIGHTS[part])
    assert knows(each) == knows(at_once) == knows(in_parts)
    before = knows(each)
    assert each.score_many(dicts).tolist() == [each.score_one(x).tolist() for x in dicts]
    looked = [each.score_and_variance_one(x) for x in dicts]
    scores, variances = each.scores_and_variances_many(dicts)
    assert scores.tolist() == [score.tolist() for score, _ in looked]
    assert variances.tolist() == [variance for _, variance in looked]
    assert knows(each) == before


def test_rows_of_weight_zero_add_no_class_and_no_name():
    for labels in ([0, 3, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]):
        learner, other = Learner("arow", n_classes=0, scale="rms"), Learner("arow", n_classes=0, scale="rms")
        rows = [{"a": 1.0}, {"b": 1.0}, {"a": 2.0}, {"c": -1.0}]
        scores = learner.learn_many(rows, labels, [1, 0, 1, 1] if labels[2] == 0 else [1, 0, 0, 1])
        kept = [0, 2, 3] if labels[2] == 0 else [0, 3]
        other.learn_many([rows[i] for i in kept], [labels[i] for i in kept])
        assert knows(learner) == knows(other)
        assert scores.shape == (4, 1)
    learner = Learner("arow", n_classes=0)
    assert learner.learn_many([{"a": 1.0}] * 2, [0, 1], [0, 0]).shape == (2, 0)
    assert knows(learner) == knows(Learner("arow", n_classes=0))


def test_rows_of_weight_zero_have_no_recorded_score():
    learner = Learner("arow", n_classes=0)
    scores = learner.learn_many([{"a": 1.0}] * 4, [0, 0, 1, 2], [1, 0, 1, 1])
    assert scores[1].tolist() == [0.0, -np.inf, -np.inf]


@every_form
@with_and_without_scale
@pytest.mark.parametrize("at", [0, 1, 7, 13, 30, ROWS - 1])
def test_a_rule_that_raises_leaves_everything_as_it_was(form, scale, at):
    asked = [0]

    def rule(m, v):
        asked[0] += 1
        if asked[0] == limit[0]:
            raise RuntimeError("enough")
        return arow(m, v) if form["covariance"] != "identity" else (arow(m, v)[0], 0.0)

    limit = [0]
    learner = Learner(rule, n_classes=0, scale=scale, **form)
    learner.learn_many(DICTS[:13], Y[:13])
    before, kept = knows(learner), pickle.dumps(learner.model.memory.tolist())
    asked[0], limit[0] = 0, at + 1
    more = [{f"new {i}": 1.0} | x for i, x in enumerate(DICTS)]
    with pytest.raises(RuntimeError, match="enough"):
        learner.learn_many(more, Y)
    assert knows(learner) == before
    for x, label in zip(more, Y, strict=True):
        asked[0], limit[0] = 0, 1
        if label <= learner.n_classes:
            with pytest.raises(RuntimeError, match="enough"):
                learner.learn_one(x, int(label))
    assert knows(learner) == before
    assert pickle.dumps(learner.model.memory.tolist()) == kept
    limit[0] = 0
    learner.learn_many(DICTS[13:], Y[13:])
    other = Learner(lambda m, v: rule(m, v), n_classes=0, scale=scale, **form)
    other.learn_many(DICTS, Y)
    assert knows(learner) == knows(other)


@pytest.mark.parametrize("scale", ["none", "rms", "standard", "unit"])
@pytest.mark.parametrize("make", [partial(Learner), partial(several, n_classes=2)], ids=["two", "several"])
def test_a_rule_may_score_other_vectors_while_it_runs(make, scale):
    def asks(m, v):
        if asking.model is not None:
            asking.score_one(np.full(FEATURES, 1e6))
        return arow(m, v)

    plain, asking = (make(rule, covariance="diagonal", scale=scale) for rule in (arow, asks))
    labels = np.where(Y % 2 == 0, 1, 0 if make.func is several else -1)
    for x, label in zip(X, labels, strict=True):
        plain.learn_one(x, int(label))
        asking.learn_one(x, int(label))
    assert knows(plain) == knows(asking)


@pytest.mark.parametrize("wrong", [-1, 7, 0.5, "a"])
def test_an_invalid_label_is_refused_and_changes_nothing(wrong):
    learner = Learner("arow", n_classes=0, scale="rms")
    learner.learn_many(DICTS[:20], Y[:20])
    before = knows(learner)
    with pytest.raises((TypeError, ValueError)):
        learner.learn_one({"new": 1.0}, wrong)
    assert knows(learner) == before
    with pytest.raises((TypeError, ValueError)):
        learner.learn_many([{"new": 1.0}, {"newer": 1.0}], [0, wrong])
    assert knows(learner) == before


# From two classes to more


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("bound", [{}, {"max_features": 5}, {"max_features": 8, "overflow": "hash"}], ids=str)
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_binary_learner_keeps_its_names_and_its_scale(multi_class, bound, covariance):
    dicts = [dict([*x.items()][:4]) for x in DICTS]
    binary = Learner("arow", scale="rms", intercept=True, covariance=covariance, **bound)
    binary.learn_many(dicts, np.where(Y % 2 == 0, 1, -1))
    before = knows(binary)
    several = split(binary, multi_class=multi_class)
    assert several.names == binary.names
    assert several.running_scale.state.tobytes() == binary.running_scale.state.tobytes()
    assert several.config.settings == binary.config.settings | {"multi_class": multi_class}
    scores = several.score_many(dicts)
    factor = 1 if multi_class == "joint" else 0.5
    np.testing.assert_allclose(factor * (scores[:, 1] - scores[:, 0]), binary.score_many(dicts), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        several.scores_and_variances_many(dicts)[1], binary.scores_and_variances_many(dicts)[1], rtol=1e-9
    )
    several.learn_many([{"new": 1.0} | x for x in dicts], Y % 3)
    assert several.n_classes == 3
    assert ("new" in several.names) or "overflow" in bound
    assert knows(binary) == before


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
@pytest.mark.parametrize("bound", [{}, {"max_features": 5}, {"max_features": 5, "overflow": "hash"}], ids=str)
def test_a_copy_learns_independently(duplicate, bound):
    dicts = [dict([*x.items()][:4]) for x in DICTS]
    learner = Learner("scw1", n_classes=0, scale="rms", **bound)
    learner.learn_many(dicts[:20], Y[:20])
    before, twin = knows(learner), duplicate(learner)
    for x, label in zip(dicts[20:], Y[20:], strict=True):
        twin.learn_one(x, int(label))
    assert knows(learner) == before
    learner.learn_many(dicts[20:], Y[20:])
    assert knows(learner) == knows(twin)


def test_the_least_certain_features_over_all_classes_are_dropped():
    learner = Learner("arow", n_classes=0, max_features=8)
    often = {"often": 1.0, "too": -1.0}
    for i in range(40):
        learner.learn_one(often | {f"once {i}": 1.0}, i % 3)
        assert len(learner.names) <= 8
        assert {"often", "too", f"once {i}"} <= set(learner.names)


def test_examples_of_the_other_kind_are_refused():
    named, plain = Learner("arow", n_classes=0), Learner("arow", n_classes=0)
    named.learn_one({"a": 1.0}, 0)
    plain.learn_one([1.0, 2.0], 0)
    for learner, x in ((named, [1.0]), (plain, {"a": 1.0})):
        before = knows(learner)
        for call in (learner.score_one, lambda x, learner=learner: learner.learn_one(x, 0)):
            with pytest.raises(ValueError, match="continue with examples of the same kind"):
                call(x)
        assert knows(learner) == before
