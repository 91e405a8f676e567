"""Merging multi-class learners class by class, with classes that only some of them know."""

import copy
import itertools
import pickle
import re

import numpy as np
import pytest

from learner_examples import FORMS, every_form
from merge_examples import COVARIANCE_NAMES, FEATURES, RULES, every_covariance, every_rule, reference, ungated
from scwlearn import Learner, merge
from scwlearn.model.gaussian import GROWTH, NORM2, ROUNDS, SPREAD_SCALE

CLASSES = 4


def examples(seed=3, rows=240, classes=CLASSES):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES)) * (rng.random((rows, FEATURES)) < 0.7)
    return x, (x @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(rows, classes))).argmax(axis=1)


X, Y = examples()


def new(covariance, form, rule=None, n_classes=CLASSES, **settings):
    rule = rule or ("pa1" if covariance == "identity" else "arow")
    how = FORMS[form] | {"initial_variance": 2.0, "n_classes": n_classes} | settings
    return Learner(rule, covariance=covariance, **how)


def taught(learner, x=X, y=Y):
    learner.learn(x, y)
    return learner


def shards(count, covariance, form, rule=None, x=X, y=Y, **settings):
    return [taught(new(covariance, form, rule, **settings), x[k::count], y[k::count]) for k in range(count)]


def state(learner):
    """Everything that a learner knows, bit for bit; the room for more classes is nothing it knows."""
    gaussians = learner.model
    if gaussians is None:
        return learner.n_classes, learner.counts
    scalars = gaussians.scalars[: None if gaussians.joint else gaussians.classes]
    roots = [gaussians.root(number).tobytes() for number in range(gaussians.classes)]
    return gaussians.weights().tobytes(), roots, scalars.tobytes(), learner.counts


def sigmas(learner):
    return np.array([learner.model.matrix(number) for number in range(learner.n_classes)])


def assert_close(one, other, rtol=1e-11):
    assert one.n_classes == other.n_classes
    for a, b in ((one.model.weights(), other.model.weights()), (sigmas(one), sigmas(other))):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())
    scalars = [
        learner.model.scalars[: None if learner.model.joint else learner.n_classes, [GROWTH, ROUNDS]]
        for learner in (one, other)
    ]
    np.testing.assert_allclose(*scalars, rtol=1e-12)


def common_move(model, before):
    """What all classes have moved in common, which joint classes do not notice; a shared Sigma need not know it."""
    if not model.joint or (model.covariance.shared and model.covariance.correlated):
        return 0.0
    precisions = np.broadcast_to(1 / model.variances(), before.shape)
    return (precisions * (model.weights() - before)).sum(axis=0) / precisions.sum(axis=0)


def test_what_all_joint_classes_have_in_common_does_not_matter():
    """Two models that differ in nothing else are merged to one that predicts the same."""
    models = [taught(new("full", "joint", "arow"), X[::2], Y[::2]) for _ in range(2)]
    expected = np.argmax(X @ models[0].model.weights().T, axis=1)
    means = models[1].model.covariance.means(models[1].model.memory)
    means[:CLASSES] += np.linspace(50, -80, FEATURES)
    for rule in RULES:
        merged = merge(models, rule).model.weights()
        assert np.argmax(X @ merged.T, axis=1).tolist() == expected.tolist()


def jointly_counted_mean(models, weights, before, variances, number):
    """The mean of a class by ev: a model counts by the root of its evidence about all classes, less without own."""
    prior = np.broadcast_to(variances, before.shape)
    gains = [np.maximum(np.broadcast_to(1 / model.variances(), before.shape) - 1 / prior, 0) for model in models]
    counted = [
        np.sqrt(weight * gain.sum(axis=0)) * np.where(gain[number] > 1e-12 / prior[number], 1, 0.25)
        for weight, gain in zip(weights, gains, strict=True)
    ]
    moves = [each * (model.weights()[number] - before[number]) for each, model in zip(counted, models, strict=True)]
    return before[number] + sum(moves) / sum(counted)


@every_form
@pytest.mark.parametrize(
    ("how", "covariance"), [pair for pair in itertools.product(RULES, COVARIANCE_NAMES[1:]) if pair != ("ev", "full")]
)
@pytest.mark.parametrize("again", [False, True])
def test_each_class_is_merged_by_the_formulas(form, how, covariance, again):
    start = new(covariance, form, "scw1")
    if again:
        start.learn(X[::5], Y[::5])
    models, weights = [taught(copy.copy(start), X[k::3], Y[k::3]) for k in range(3)], (0.5, 3.0, 1.25)
    merged = merge(models, how, weights, prior=start if again else None)
    before = start.model.weights() if again else np.zeros((CLASSES, FEATURES))
    shifts = [common_move(model.model, before) for model in models]
    for number in range(CLASSES):
        known = [
            (model.model.weights()[number] - shift, model.model.matrix(number))
            for model, shift in zip(models, shifts, strict=True)
        ]
        prior = (
            (start.model.weights()[number], start.model.matrix(number))
            if again
            else (np.zeros(FEATURES), 2.0 * np.eye(FEATURES))
        )
        mean, matrix = reference(known, how, weights, prior)
        if how == "ev" and merged.model.joint:
            variances = start.model.variances() if again else 2.0
            mean = jointly_counted_mean([model.model for model in models], weights, before, variances, number)
        np.testing.assert_allclose(merged.model.weights()[number], mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(merged.model.matrix(number), matrix, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("count", [2, 16])
@pytest.mark.parametrize("intercept", [False, True])
def test_bcm_of_ungated_ovr_arow_equals_the_single_stream(count, intercept):
    single = taught(new("full", "ovr", ungated, intercept=intercept))
    merged = merge(shards(count, "full", "ovr", ungated, intercept=intercept), "bcm")
    assert_close(merged, single, rtol=1e-12)
    assert merged.counts.seen == single.counts.seen


# With joint classes, the rival of a row depends on the model at that time, and no merge can know
# it. With two classes the rival is always the other one. Then the mean equals that of a single stream for the rule that
# is least squares for their difference, which has twice the variance; AROW's Sigma shrinks half as fast.


def least_squares_of_a_difference(m, v):
    return (1 - m) / (v + 1), 2 / (2 * v + 1)


@pytest.mark.parametrize("form", ["joint", "shared"])
@pytest.mark.parametrize("count", [2, 16])
def test_bcm_of_two_joint_classes_equals_the_single_stream_for_least_squares(form, count):
    y = (Y > 1).astype(int)
    how = {"rule": least_squares_of_a_difference, "n_classes": 2}
    merged = merge(shards(count, "full", form, y=y, **how), "bcm")
    assert_close(merged, taught(new("full", form, **how), y=y), rtol=1e-12)


def test_bcm_of_ungated_arow_has_the_shared_sigma_but_not_the_mean_of_the_single_stream():
    single, merged = taught(new("full", "shared", ungated)), merge(shards(4, "full", "shared", ungated), "bcm")
    np.testing.assert_allclose(sigmas(merged), sigmas(single), rtol=1e-12, atol=1e-15)
    assert np.abs(merged.model.weights() - single.model.weights()).max() > 1e-3


@every_rule
@every_covariance
@every_form
def test_the_order_of_the_models_does_not_matter(how, covariance, form):
    models, weights = shards(3, covariance, form), [1.0, 2.0, 0.5]
    together = merge(models, how, weights)
    for order in ((2, 0, 1), (1, 0, 2)):
        assert_close(merge([models[i] for i in order], how, [weights[i] for i in order]), together, rtol=1e-10)


# What joint classes have in common is found by their variances, so not exactly for a full Sigma of each class.
GROUPED = [pair for pair in itertools.product(COVARIANCE_NAMES, FORMS) if pair != ("full", "joint")]


@pytest.mark.parametrize(("covariance", "form"), GROUPED)
def test_bcm_may_be_grouped_and_so_may_weighted_kl(covariance, form):
    models = shards(5, covariance, form)
    assert_close(merge([merge(models[:2], "bcm"), merge(models[2:], "bcm")], "bcm"), merge(models, "bcm"), rtol=1e-10)
    assert_close(merge([merge(models[:2], "kl"), merge(models[2:], "kl")], "kl", [2, 3]), merge(models, "kl"))


@every_rule
@every_covariance
@every_form
def test_the_same_order_gives_the_same_bits_and_the_models_are_not_changed(how, covariance, form):
    models = shards(3, covariance, form)
    before, again = [state(model) for model in models], pickle.loads(pickle.dumps(models))
    merged = merge(models, how)
    assert state(merged) == state(merge(again, how))
    merged.learn(X, Y)
    merged.learn_one(X[0], CLASSES)
    assert [state(model) for model in models] == before


@pytest.mark.parametrize("how", ["bcm", "ev"])
@every_covariance
@every_form
@pytest.mark.parametrize("rule", [None, "iellip"])
def test_merging_with_an_untrained_model_changes_nothing(how, covariance, form, rule):
    model = taught(new(covariance, form, rule))
    idle = taught(new(covariance, form, rule), np.zeros((3, FEATURES)), [1, 0, 1])
    nothing_known = new(covariance, form, rule, n_classes=0)
    for others in ([model, new(covariance, form, rule)], [idle, model], [nothing_known, model, nothing_known]):
        merged = merge(others, how)
        assert state(merged)[:2] == state(model)[:2]
        np.testing.assert_array_equal(
            merged.model.scalars[0, [SPREAD_SCALE, NORM2, GROWTH]],
            model.model.scalars[0, [SPREAD_SCALE, NORM2, GROWTH]],
        )
        assert merged.counts.updates == model.counts.updates


@every_rule
@every_covariance
@every_form
def test_merging_one_model_copies_it(how, covariance, form):
    model = taught(new(covariance, form))
    alone = merge([model], how)
    assert state(alone) == state(model)
    before = state(model)
    alone.learn(X, Y)
    assert state(model) == before


@every_rule
@every_covariance
@every_form
def test_classes_unknown_to_a_model_count_as_untrained(how, covariance, form):
    few, many = Y[:120] % 2, Y[120:]
    rule = "iellip" if covariance != "identity" else None
    partly = taught(new(covariance, form, rule, n_classes=2), X[:120], few)
    fully = taught(new(covariance, form, rule), X[120:], many)
    for models in ([partly, fully], [fully, partly]):
        merged = merge(models, how)
        assert merged.n_classes == CLASSES
        known = copy.copy(partly)
        known.add_classes(2)
        assert_close(merged, merge([known if model is partly else model for model in models], how))
    assert partly.n_classes == 2
    if form == "ovr" and how == "bcm":
        # Only one model knows the others.
        np.testing.assert_allclose(merged.model.weights()[2:], fully.model.weights()[2:], rtol=1e-9, atol=1e-12)


@every_rule
@every_covariance
@every_form
@pytest.mark.parametrize("intercept", [False, True])
def test_models_of_different_widths_are_widened(how, covariance, form, intercept):
    narrow = taught(new(covariance, form, intercept=intercept), X[:80, :4], Y[:80])
    wide = taught(new(covariance, form, intercept=intercept), X[80:], Y[80:])
    filled = np.where(np.arange(FEATURES) < 4, X[:80], 0.0)
    same = merge([taught(new(covariance, form, intercept=intercept), filled, Y[:80]), wide], how)
    merged = merge([narrow, wide], how)
    assert merged.n_features == FEATURES
    assert_close(merged, same)
    assert narrow.n_features == 4


@every_covariance
@every_form
def test_a_merged_model_goes_on_learning_with_new_classes_and_features(covariance, form):
    merged = merge(shards(4, covariance, form, "pa1" if covariance == "identity" else "scw1"))
    updates = merged.counts.updates
    merged.widen(FEATURES + 1)
    x = np.column_stack([X, np.ones(len(X))])
    merged.learn(np.vstack([x, x, x]), np.concatenate([Y, np.full(len(Y), CLASSES), np.full(len(Y), CLASSES + 1)]))
    assert merged.n_classes == CLASSES + 2
    assert merged.counts.updates > updates
    assert np.isfinite(merged.scores(x)).all()
    assert (merged.margin_variances(x) > 0).all()


@every_form
def test_repeated_bcm_counts_the_common_past_once(form):
    single, together = taught(new("full", form, ungated)), new("full", form, ungated)
    for part in np.array_split(np.arange(len(Y)), 4):
        models = [taught(copy.copy(together), X[part[k::3]], Y[part[k::3]]) for k in range(3)]
        together = merge(models, "bcm", prior=together)
    assert together.counts.seen == len(Y)
    assert (together.model.scalars[:1, ROUNDS] == len(Y)).all()
    if form == "ovr":
        assert_close(together, single, rtol=1e-12)


def test_joint_variances_near_the_smallest_keep_their_ratios():
    # The variances of one-versus-rest classes differ so much that they need a scale.
    models = shards(2, "diagonal", "joint")
    for model in models:
        gaussians = model.model
        gaussians.scalars[0, SPREAD_SCALE] = 1e-220
        gaussians.memory[:, gaussians.lanes + 1 :] *= 1e30
    merged = merge(models, "bcm").model
    stored = merged.memory[:, merged.lanes :][:, :CLASSES]
    assert (stored >= 1e-200).all()
    assert merged.scalars.shape == (1, 6)
    expected = 1 / sum(1 / model.model.variances() for model in models)
    np.testing.assert_allclose(merged.variances(), expected, rtol=1e-12)


def test_untrained_learners_merge_to_one_that_knows_all_classes():
    merged = merge([Learner("scw1", n_classes=2), Learner("scw1", n_classes=5)])
    assert (merged.model, merged.n_classes) == (None, 5)
    empty = Learner("scw1", n_classes=0)
    empty.learn(np.empty((0, 3)), [])
    merged = merge([empty, copy.copy(empty)])
    assert (merged.n_features, merged.n_classes) == (3, 0)


AUTO = [("diagonal", False, "bcm"), ("diagonal", True, "ev"), ("full", False, "bcm"), ("identity", False, "ev")]


@pytest.mark.parametrize(("covariance", "again", "expected"), AUTO)
@pytest.mark.parametrize("rule", ["arow", "scw1"])
@every_form
def test_auto_chooses_as_for_two_classes_unless_they_are_joint(covariance, again, expected, form, rule):
    if form != "ovr" and not again and (covariance, rule) != ("full", "arow"):
        expected = "ev"
    start = new(covariance, form, None if covariance == "identity" else rule)
    if again:
        start.learn(X[:20], Y[:20])
    seen = [np.where(np.arange(FEATURES) == k, 0.0, X[20:]) for k in range(2)]
    models = [taught(copy.copy(start), x[k::2], Y[20 + k :: 2]) for k, x in enumerate(seen)]
    prior = start if again else None
    assert state(merge(models, prior=prior)) == state(merge(models, expected, prior=prior))
    assert state(merge(models, prior=prior)) != state(merge(models, "kl", prior=prior))


ALIKE = "; merged models may differ only in what they have learned"
DIFFERENT = {
    "rule": ({"rule": "scw2"}, "rule: scw1 and scw2"),
    "parameters": ({"C": 2.0}, "parameters: {'C': 0.5, 'eta': 0.75} and {'C': 2.0, 'eta': 0.75}"),
    "covariance": ({"covariance": "diagonal"}, "covariance: auto and diagonal"),
    "intercept": ({"intercept": True}, "intercept: False and True"),
    "prior": ({"initial_variance": 2.0}, "initial_variance: 1.0 and 2.0"),
    "form": ({"multi_class": "ovr"}, "multi_class: joint and ovr"),
    "sharing": ({"shared_covariance": True}, "shared_covariance: False and True"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_models_that_differ_are_refused_and_not_changed(what):
    settings, message = DIFFERENT[what]
    models = [taught(Learner("scw1", n_classes=CLASSES)), Learner(**{"rule": "scw1"} | settings, n_classes=0)]
    before = [state(model) for model in models]
    with pytest.raises(ValueError, match=re.escape(f"models[0] and models[1] differ in {message}{ALIKE}")):
        merge(models)
    assert [state(model) for model in models] == before


def test_rivals_that_differ_are_refused():
    models = [Learner("perceptron", n_classes=0), Learner("perceptron", n_classes=0, rivals="uniform")]
    with pytest.raises(ValueError, match="differ in rivals: max and uniform"):
        merge(models)


@pytest.mark.parametrize("how", [{}, {"shared_covariance": True}, {"multi_class": "ovr"}], ids=str)
def test_a_full_covariance_that_auto_chose_becomes_diagonal_for_one_that_is(how):
    few, many = Learner("arow", n_classes=2, **how), Learner("arow", n_classes=2, **how)
    few.learn(np.arange(8.0).reshape(2, 4), [0, 1])
    many.learn(np.ones((2, 501)), [0, 1])
    together = merge([few, many])
    few.model = few.diagonal(few.model)
    assert together.model.covariance == few.model.covariance == many.model.covariance
    assert merge([few, many]).model.memory.tolist() == together.model.memory.tolist()


def test_a_prior_that_has_gone_further_than_a_model_is_refused():
    short, long = taught(new("full", "joint"), X[:30], Y[:30]), taught(new("full", "joint"))
    with pytest.raises(ValueError, match=r"models\[1\] has 30 examples, but prior has 240; prior must be"):
        merge([long, short], prior=long)


def test_merges_too_large_for_memory_are_refused(monkeypatch):
    models = shards(2, "full", "joint")
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 2**10)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    with pytest.raises(ValueError, match=r"merging 2 models with 7 weights for each of 4 classes needs .* at a time"):
        merge(models)
