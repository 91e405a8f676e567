"""Merging learners: features are united, merged models continue to learn, and bad input is refused."""

import copy

import numpy as np
import pytest

import scwlearn
from learner_examples import assert_alike, state, taught
from merge_examples import (
    FEATURES,
    RULES,
    X,
    Y,
    assert_close,
    every_covariance,
    every_rule,
    new,
    shards,
    ungated,
)
from scwlearn import KernelLearner, Learner, merge
from scwlearn.learning.merging import merge_gaussians
from scwlearn.model import covariances as forms
from scwlearn.model.average import moved_by
from scwlearn.model.gaussian import ROUNDS, Gaussian
from scwlearn.rules import all_rules


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("intercept", [False, True])
@every_rule
def test_names_are_united(covariance, intercept, how):
    rows = [{f"f{i}": value for i, value in enumerate(row) if value} for row in X]
    alike = [(0, 1, 2), (1, 2, 3, 4), (6, 5, 4, 0)]
    learners, by_number = [], []
    for k, known in enumerate(alike):
        learner = new(covariance, "scw1", intercept=intercept)
        for row, label in zip(rows[k::3], Y[k::3], strict=True):
            learner.learn_one({f"f{i}": row.get(f"f{i}", 0.0) for i in known}, label)
        learners.append(learner)
        seen = np.zeros((len(rows[k::3]), FEATURES))
        seen[:, known] = X[k::3][:, known]
        by_number.append(taught(new(covariance, "scw1", intercept=intercept), (seen, Y[k::3])))
    merged = merge(learners, how)
    assert list(merged.names) == list(dict.fromkeys(name for learner in learners for name in learner.names))
    assert list(merged.names.values()) == list(range(FEATURES))
    expected = merge(by_number, how)
    scores = [merged.score_one(row) for row in rows]
    np.testing.assert_allclose(scores, expected.scores(X), rtol=1e-9, atol=1e-10)
    # It continues to learn, also from new names.
    merged.learn_one({"f1": 1.0, **{f"new{i}": 1.0 for i in range(20)}}, 1)
    assert len(merged.names) == FEATURES + 20
    assert merged.score_one({"new3": 1.0}) > 0
    assert [len(learner.names) for learner in learners] == [3, 4, 4]


def test_names_in_another_order_are_the_same_names():
    one, other = Learner("scw1", covariance="full"), Learner("scw1", covariance="full")
    for learner, names in ((one, "abc"), (other, "cab")):
        for x, y in zip(X[:50], Y[:50], strict=True):
            learner.learn_one({name: x["abc".index(name)] for name in names}, y)
    merged = merge([one, other], "kl")
    for name in "abc":
        assert merged.score_one({name: 1.0}) == pytest.approx(one.score_one({name: 1.0}), rel=1e-10)


@every_rule
@every_covariance
@pytest.mark.parametrize("intercept", [False, True])
def test_models_of_different_widths_are_widened(how, covariance, intercept):
    narrow = taught(new(covariance, intercept=intercept), (X[:80, :4], Y[:80]))
    wide = taught(new(covariance, intercept=intercept), (X[80:], Y[80:]))
    filled = np.where(np.arange(FEATURES) < 4, X[:80], 0.0)
    same = merge([taught(new(covariance, intercept=intercept), (filled, Y[:80])), wide], how)
    merged = merge([narrow, wide], how)
    assert merged.n_features == FEATURES
    assert_close(merged, same)
    assert narrow.n_features == 4


def test_counts_and_rounds_are_added_and_the_prior_counts_once():
    start = taught(new("full"), (X[:30], Y[:30]))
    models = [taught(copy.copy(start), (X[30 + k :: 3], Y[30 + k :: 3])) for k in range(3)]
    together = merge(models, prior=start)
    assert together.counts.seen == len(Y)
    assert together.model.scalars[0, ROUNDS] == len(Y)
    later = sum((model.counts - start.counts).updates for model in models)
    assert together.counts.updates == start.counts.updates + later
    assert merge(models).counts.seen == sum(model.counts.seen for model in models)


def test_untrained_learners_merge_to_an_untrained_one():
    merged = merge([new("auto"), new("auto")])
    assert merged.model is None
    merged.learn(X, Y)
    assert_alike(merged, taught(new("auto"), (X, Y)))


@pytest.mark.parametrize("algorithm", [r.name for r in all_rules()])
@every_rule
def test_models_of_every_rule_can_be_merged_and_go_on_learning(algorithm, how):
    for covariance in ("auto", "diagonal"):
        merged = merge(shards(4, covariance, algorithm, intercept=True), how)
        updates = merged.counts.updates
        merged.learn(X, Y)
        assert merged.counts.updates > updates
        assert np.isfinite(merged.scores(X)).all()
        assert (merged.margin_variances(X) > 0).all()


def test_a_merged_model_continues_like_a_single_stream():
    merged = merge(shards(4, "full", ungated, X[:120], Y[:120]))
    merged.learn(X[120:], Y[120:])
    assert_close(merged, taught(new("full", ungated), (X, Y)), rtol=1e-12)
    assert merged.learn_one(X[0], 1) == pytest.approx(taught(new("full", ungated), (X, Y)).score_one(X[0]))


AUTO = [
    ("scw1", "full", False, "bcm"),
    ("arow", "full", True, "bcm"),
    ("scw1", "diagonal", False, "bcm"),
    ("scw1", "diagonal", True, "ev"),
    ("second_order_perceptron", "full", False, "bcm"),
    ("second_order_perceptron", "full", True, "kl"),
    (ungated, "full", True, "kl"),
    ("second_order_perceptron", "diagonal-drop", True, "ev"),
    ("pa1", "identity", False, "ev"),
    ("pa1", "identity", True, "ev"),
]


@pytest.mark.parametrize(("algorithm", "covariance", "again", "expected"), AUTO)
def test_auto_chooses_the_documented_rule(algorithm, covariance, again, expected):
    start = new(covariance, algorithm)
    if again:
        start.learn(X[:20], Y[:20])
    # Each has features that the other lacks: without a Sigma, ev and kl are equal where all models have moved.
    seen = [np.where(np.arange(FEATURES) == k, 0.0, X[20:]) for k in range(2)]
    models = [taught(copy.copy(start), (x[k::2], Y[20 + k :: 2])) for k, x in enumerate(seen)]
    prior = start if again else None
    assert state(merge(models, prior=prior)) == state(merge(models, expected, prior=prior))
    others = [state(merge(models, how, prior=prior)) for how in RULES if how != expected]
    assert state(merge(models, prior=prior)) not in others


@pytest.mark.parametrize(("count", "weight"), [(2, 2**0.25 / 2), (5, 5**0.25 / 5), (40, 2.4 / 40)])
def test_many_models_of_scw_with_a_full_sigma_count_less_when_merged_again(count, weight):
    start = new("full", "scw1")
    start.learn(X[:20], Y[:20])
    models = [taught(copy.copy(start), (X[20 + k :: count], Y[20 + k :: count])) for k in range(count)]
    expected = merge(models, "bcm", [weight] * count, prior=start)
    assert state(merge(models, prior=start)) == state(expected)
    # Those that have learned nothing do not count.
    assert state(merge([*models, copy.copy(start)], prior=start)) == state(expected)


def test_merge_is_exported_by_the_package():
    assert scwlearn.merge is merge


# Bad input.


ALIKE = "; merged models may differ only in what they have learned"
DIFFERENT = {
    "rule": (lambda: Learner("scw2"), "rule: scw1 and scw2"),
    "parameters": (
        lambda: Learner("scw1", C=2.0),
        "parameters: {'C': 0.5, 'eta': 0.75} and {'C': 2.0, 'eta': 0.75}",
    ),
    "covariance": (lambda: Learner("scw1", covariance="diagonal"), "covariance: auto and diagonal"),
    "intercept": (lambda: Learner("scw1", intercept=True), "intercept: False and True"),
    "prior": (lambda: Learner("scw1", initial_variance=2.0), "initial_variance: 1.0 and 2.0"),
    "floor": (lambda: Learner("scw1", variance_floor=0.1), "variance_floor: 0.0 and 0.1"),
    "bound": (lambda: Learner("scw1", max_features=8), "max_features: None and 8"),
    "kind": (lambda: KernelLearner("scw1"), "kind: Learner and KernelLearner"),
}


def refusal(call):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("what", DIFFERENT)
def test_models_that_differ_are_refused(what):
    make, message = DIFFERENT[what]
    models = [taught(Learner("scw1"), (X, Y)), Learner("scw1"), make()]
    assert refusal(lambda: merge(models)) == f"models[0] and models[2] differ in {message}{ALIKE}"
    assert refusal(lambda: merge(models[:2], prior=models[2])) == f"models[0] and prior differ in {message}{ALIKE}"


def test_functions_that_differ_are_refused_by_name():
    def other(m, v):
        return ungated(m, v)

    message = refusal(lambda: merge([Learner(ungated), Learner(other)]))
    assert message == f"models[0] and models[1] differ in rule: ungated and other{ALIKE}"


def test_different_covariances_are_refused_unless_auto_chose_them():
    few, many = Learner("scw1"), Learner("scw1")
    few.learn(np.ones((1, 4)), [1])
    many.learn(np.ones((1, 501)), [1])
    together = merge([few, many])
    assert (few.model.covariance.name, together.model.covariance.name) == ("full", "diagonal")
    few.model = few.diagonal(few.model)
    assert merge([few, many]).model.memory.tolist() == together.model.memory.tolist()
    full, diagonal = Learner("scw1", covariance="full"), Learner("scw1", covariance="diagonal")
    message = "models[0] and models[1] differ in covariance: full and diagonal"
    assert refusal(lambda: merge([full, diagonal])) == message + ALIKE


def test_features_with_and_without_names_are_refused():
    plain, named = taught(Learner("scw1"), (X, Y)), Learner("scw1")
    named.learn_one({"a": 1.0}, 1)
    message = "models[1] and models[2] differ in kind of features: without names and with names"
    assert refusal(lambda: merge([Learner("scw1"), plain, named])) == message + ALIKE


RULE_MESSAGE = "rule must be one of auto, bcm, ev, kl, got "
WEIGHT = "weights[1] must be a number strictly between 0 and 1e+50, got "
BAD = {
    "no models": (([],), {}, "models must hold at least one model, got none"),
    "not a list": ((Learner(),), {}, "models must be a list of models, got a Learner"),
    "unknown rule": (([Learner()], "mean"), {}, f"{RULE_MESSAGE}'mean'"),
    "no rule": (([Learner()], None), {}, f"{RULE_MESSAGE}None"),
    "too few weights": (
        ([Learner(), Learner()], "kl", [1.0]),
        {},
        "weights must hold one number for each of the 2 models, got 1",
    ),
    "too many weights": (
        ([Learner()], "kl", [1.0, 1.0]),
        {},
        "weights must hold one number for each of the 1 models, got 2",
    ),
    "negative weight": (([Learner(), Learner()], "kl", [1, -1]), {}, f"{WEIGHT}-1"),
    "zero weight": (([Learner(), Learner()], "kl", [1, 0.0]), {}, f"{WEIGHT}0.0"),
    "nan": (([Learner(), Learner()], "kl", [1, float("nan")]), {}, f"{WEIGHT}nan"),
    "infinite": (([Learner(), Learner()], "kl", [1, float("inf")]), {}, f"{WEIGHT}inf"),
    "text": (([Learner(), Learner()], "kl", [1, "2"]), {}, f"{WEIGHT}'2'"),
    "kernel": (
        ([KernelLearner("scw1")],),
        {},
        "models[0] is a KernelLearner, which cannot be merged; learners, estimators and streams without a kernel can",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused(what):
    given, named, message = BAD[what]
    assert refusal(lambda: merge(*given, **named)) == message


def test_a_prior_that_has_gone_further_than_a_model_is_refused():
    short, long = taught(new("full"), (X[:30], Y[:30])), taught(new("full"), (X, Y))
    message = "models[1] has 30 examples, but prior has 240; prior must be the model that all models continued from"
    assert refusal(lambda: merge([long, short], prior=long)) == message


def test_merges_too_large_for_memory_are_refused(monkeypatch):
    models = shards(2, "full")
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 2**10)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    message = "merging 2 models with 7 weights needs .* but only .* are available; merge fewer at a time"
    with pytest.raises(ValueError, match=message):
        merge(models)


def test_gaussians_of_different_sizes_are_refused():
    small, large = (Gaussian.prior(forms.covariance("diagonal"), size, 1.0) for size in (3, 4))
    assert refusal(lambda: merge_gaussians([small, large])) == f"models[0] and models[1] differ in size: 3 and 4{ALIKE}"
    assert refusal(lambda: merge_gaussians([small], prior=large)) == (
        f"prior and models[0] differ in size: 4 and 3{ALIKE}"
    )


@pytest.mark.parametrize("multi_class", [None, "ovr", "joint"])
@pytest.mark.parametrize("how", ["ev", "kl"])
def test_an_average_moves_by_the_rounds_of_all_models_whatever_their_shares(how, multi_class):
    settings = {} if multi_class is None else {"multi_class": multi_class, "n_classes": 3}
    labels = [-1, 1, 1] if multi_class is None else [0, 1, 2]
    rows = np.array([[-1.0, -1, -1], [1.0, 1, -1], [-1.0, 1, 1]])
    start = Learner("perceptron", average=True, **settings)
    while start.learn(rows, labels).mistakes:
        pass
    before, latest = start.model.at_average().weights(), start.model.weights()
    assert not np.allclose(before, latest)
    models = []
    for count in (1, 200):
        # No example is misclassified, so the weights stay and only the average moves.
        models.append(copy.copy(start))
        models[-1].learn(np.tile(rows, (count, 1)), np.tile(labels, count))
    share = moved_by(start.counts.seen, 3 * 201)
    for given in (models, models[::-1]):
        merged = merge(given, how, prior=start).model
        np.testing.assert_array_equal(merged.weights(), latest)
        np.testing.assert_allclose(merged.at_average().weights(), before + share * (latest - before), rtol=1e-9)
