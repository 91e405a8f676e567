"""Merging stream classifiers: names, classes and scales are united."""

import copy
import pickle

import numpy as np
import pytest

from helpers import several
from merge_examples import reference
from scwlearn import Learner, StreamClassifier, merge
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES
from stream_examples import LABELS, draw_stream, full_state, numbers_of
from stream_examples import learner_state as learned

pytestmark = pytest.mark.native

SETTINGS = {
    "default": {},
    "scale": {"scale": "rms"},
    "standard": {"scale": "standard"},
    "ovr": {"multi_class": "ovr", "scale": "rms"},
    "shared": {"shared_covariance": True, "scale": "unit"},
    "full": {"covariance": "full", "scale": "rms"},
    "full standard": {"covariance": "full", "scale": "standard"},
    "drop": {"max_features": 24, "scale": "rms"},
    "drop standard": {"max_features": 24, "scale": "standard"},
    "hash": {"max_features": 24, "overflow": "hash", "scale": "rms"},
    "hash standard": {"max_features": 24, "overflow": "hash", "scale": "standard"},
    "balanced": {"class_weight": "balanced"},
    "no constant": {"intercept": False, "scale": "rms"},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)

EXAMPLES, TARGETS = draw_stream(120, seed=3)
# The first knows two classes, the second all, and the third one that the others do not know.
PARTS = [range(45), range(20, 120), range(110, 120)]
LABELS_OF_PARTS = [TARGETS, TARGETS, ["zucchini"] * len(TARGETS)]


def taught(rule, part, **settings):
    model = StreamClassifier(rule, **settings)
    model.learn_many([EXAMPLES[i] for i in PARTS[part]], [LABELS_OF_PARTS[part][i] for i in PARTS[part]])
    return model


def shards(rule="arow", parts=(0, 1, 2), **settings):
    return [taught(rule, part, **settings) for part in parts]


def names_of(model):
    return list(model._classifier.learner.names)


@every_setting
@pytest.mark.parametrize("rule", ["arow", "scw1"])
@pytest.mark.parametrize("parts", [(0, 1, 2), (2, 1), (1, 0), (0, 2), (2, 2)], ids=str)
def test_names_and_classes_are_united(settings, rule, parts):
    models = shards(rule, parts, **settings)
    before = [full_state(model) for model in models]
    together = merge(models)
    assert together.classes == sorted({label for model in models for label in model.classes})
    assert together.counts.seen == sum(model.counts.seen for model in models)
    if "max_features" not in settings:
        united = list(dict.fromkeys(name for model in models for name in names_of(model)))
        assert names_of(together) == united
    else:
        assert together.n_features <= settings["max_features"]
    chances = together.predict_proba_many(EXAMPLES)
    assert chances.shape == (len(EXAMPLES), len(together.classes))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    twin = pickle.loads(pickle.dumps(together))
    for model in (together, twin):
        model.learn_one({"a new name": 1.0, "feature 1": 1e6}, "rhubarb")
        model.learn_many(EXAMPLES[::5], TARGETS[::5])
        assert "rhubarb" in model.classes
    assert full_state(together) == full_state(twin)
    assert [full_state(model) for model in models] == before


@pytest.mark.parametrize(
    "settings", [{}, {"scale": "rms"}, {"scale": "standard"}, {"multi_class": "ovr", "scale": "unit"}], ids=str
)
@pytest.mark.parametrize("how", ["bcm", "ev", "kl"])
@pytest.mark.parametrize("rule", ["arow", "pa1"])
def test_streams_are_merged_like_rows_of_a_matrix(settings, how, rule):
    if rule == "pa1" and how != "ev":
        how = "auto"
    models = shards(rule, (0, 1), **settings)
    together = merge(models, how)
    names = {name: i for i, name in enumerate(names_of(together))}
    x = np.array([[numbers_of(example).get(name, 0.0) for name in names] for example in EXAMPLES])
    config = LearnerConfig.create(rule, {"intercept": True, "average": None} | settings)
    rows = []
    for part in PARTS[:2]:
        rows.append(Classifier(config))
        rows[-1].learn(x[[*part]], np.array(TARGETS)[[*part]])
    expected = merge(rows, how)
    known = [*range(len(names)), -1]
    for one, other in (
        (together._classifier.weights()[:, known], expected.weights()),
        (together._classifier.variances()[:, known], expected.variances()),
        (together.predict_proba_many(EXAMPLES), expected.probabilities(x)),
    ):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)
    if settings:
        # The room for more names is not known to the matrix.
        known = expected.learner.running_scale
        found = together._classifier.learner.running_scale.arranged(np.arange(len(names)), len(names))
        np.testing.assert_allclose(found.state, known.state, rtol=1e-12)


@every_setting
def test_merging_with_an_untrained_stream_changes_nothing(settings):
    for part in (0, 1, 2):
        model = taught("scw1", part, **settings)
        for together in (merge([model]), merge([model, StreamClassifier("scw1", **settings)])):
            assert together.classes == model.classes
            assert together.counts == model.counts
            assert names_of(together) == names_of(model)
            np.testing.assert_allclose(
                together.predict_proba_many(EXAMPLES), model.predict_proba_many(EXAMPLES), rtol=1e-9, atol=1e-12
            )
            before = full_state(model)
            together.learn_many(EXAMPLES, TARGETS)
            assert full_state(model) == before


def test_untrained_models_stay_independent():
    for settings in ({}, {"scale": "rms"}, {"class_weight": "balanced", "scale": "rms", "classes": LABELS}):
        models = [StreamClassifier("arow", **settings) for _ in range(2)]
        together, before = merge(models), full_state(models[0])
        assert full_state(together) == before
        together.learn_many(EXAMPLES, TARGETS)
        assert [full_state(model) for model in models] == [before, before]
    for make, labels in ((Learner, [1, -1]), (several, [0, 1])):
        learners = [make("arow", scale="rms") for _ in range(2)]
        before = learned(learners[0])
        merge(learners).learn([[1.0, 2.0], [3.0, -1.0]], labels)
        assert [learned(learner) for learner in learners] == [before, before]


# Scales


def scaled(x, y, scale="rms", **settings):
    learner = Learner("arow", covariance="diagonal", scale=scale, **settings)
    learner.learn(x, y)
    return learner


@pytest.mark.parametrize("how", ["bcm", "ev", "kl"])
def test_weights_are_merged_for_the_scale_of_all_rows(how):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 4)) * [1.0, 10.0, 100.0, 1e-3], rng.choice([-1, 1], 90)
    # The units grow along the stream, so that the scales of the parts differ a lot.
    x *= np.linspace(1.0, 30.0, 90)[:, np.newaxis]
    parts = [scaled(x[:40], y[:40]), scaled(x[40:60], y[40:60]), scaled(x[60:], y[60:])]
    together = merge(parts, how, weights=[1.0, 2.0, 3.0])
    scale = RunningScale()
    scale.learn(x)
    np.testing.assert_allclose(together.running_scale.state, scale.state, rtol=1e-12)
    known = [
        (part.model.weights()[0] * scale.scales / part.running_scale.scales, np.diag(part.model.variances()[0]))
        for part in parts
    ]
    mean, sigma = reference(known, how, [1.0, 2.0, 3.0], (np.zeros(4), np.eye(4)))
    np.testing.assert_allclose(together.model.weights(), [mean], rtol=1e-9)
    np.testing.assert_allclose(together.model.variances(), [np.diag(sigma)], rtol=1e-9)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_intercept_makes_up_for_centres_that_move(covariance):
    rng = np.random.default_rng(0)
    x, y = rng.normal([3.0, -50.0, 0.0], [1.0, 10.0, 2.0], size=(90, 3)), rng.choice([-1, 1], 90)
    learner = Learner("arow", covariance=covariance, scale="standard", intercept=True)
    learner.learn(x[:40], y[:40])
    other = Learner("arow", covariance=covariance, scale="standard", intercept=True)
    other.learn(x[40:] + np.array([2.0, 5.0, -1.0]), y[40:])
    # The other one weighs next to nothing, but its rows count in the scale.
    together = merge([learner, other], "kl", weights=[1.0, 1e-12])
    assert together.running_scale.rows == 90
    assert np.abs(together.running_scale.centres - learner.running_scale.centres).max() > 1
    # Where nothing is clipped, the scores are those of the first model.
    rows = x[:40][(np.abs(learner.running_scale.apply(x[:40]).dense()) < 2.5).all(axis=1)]
    rows = rows[(np.abs(together.running_scale.apply(rows).dense()) < 3).all(axis=1)]
    assert len(rows) > 20
    np.testing.assert_allclose(together.scores(rows), learner.scores(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", SCALE_NAMES)
@pytest.mark.parametrize("how", ["bcm", "ev", "kl"])
@pytest.mark.parametrize("make", [Learner, several])
def test_units_of_features_do_not_matter(how, make, scale):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 5)), rng.choice([-1, 1] if make is Learner else [0, 1, 2], 60)
    y[:3] = y[30:33] = [1, -1, 1] if make is Learner else [0, 1, 2]
    unit = 2.0 ** np.array([-20, -3, 0, 7, 30])
    models = {}
    for name, factor in (("plain", 1.0), ("other", unit)):
        parts = [make("scw1", scale=scale, covariance="diagonal") for _ in range(2)]
        for part, rows in zip(parts, (slice(0, 30), slice(30, 60)), strict=True):
            part.learn(factor * x[rows], y[rows])
        models[name] = merge(parts, how)
    np.testing.assert_allclose(models["other"].scores(unit * x), models["plain"].scores(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "settings", [{"scale": "rms"}, {"scale": "standard"}, {"scale": "rms", "covariance": "full"}], ids=str
)
def test_the_common_prior_counts_once(settings):
    start = taught("arow", 0, **settings)
    went_on = []
    for part in (range(45, 80), range(80, 120)):
        model = copy.copy(start)
        model.learn_many([EXAMPLES[i] for i in part], [TARGETS[i] for i in part])
        went_on.append(model)
    together = merge(went_on, prior=start)
    assert together.counts.seen == len(EXAMPLES)
    # Models that continued from the same one have it in common: on average they count as one.
    names, counts = together._classifier.learner.names, []
    for model in went_on:
        own = model._classifier.learner
        counts.append([own.running_scale.counts[own.names[name]] if name in own.names else 0 for name in names])
    found = together._classifier.learner.running_scale
    np.testing.assert_allclose(found.counts[: len(names)], np.mean(counts, axis=0), rtol=1e-12)
    assert found.rows == np.mean([model._classifier.learner.running_scale.rows for model in went_on])
    same = merge([copy.copy(start), copy.copy(start)], prior=start)
    scores, expected = (model._classifier.learner.score_many(EXAMPLES) for model in (same, start))
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    assert same.counts == start.counts


# Bounds


def test_the_least_certain_features_are_dropped():
    models = [StreamClassifier("arow", max_features=6, scale="rms") for _ in range(2)]
    for k, model in enumerate(models):
        for i in range(30):
            model.learn_one({"common": 1.0, f"often {k}": (-1.0) ** i}, "abc"[i % 3])
        model.learn_many([{f"once {k}{j}": 1.0} for j in range(3)], list("abc"))
    together = merge(models)
    assert together.n_features <= 6
    assert {"common", "often 0", "often 1"} <= set(names_of(together))
    scale = together._classifier.learner.running_scale
    assert together._classifier.learner.names.keys() <= {name for model in models for name in names_of(model)}
    # Each still has the scale of its own feature.
    for name, feature in together._classifier.learner.names.items():
        assert scale.scales[feature] == pytest.approx(1.0, rel=1e-15)
        assert scale.counts[feature] == {"common": 60, "often 0": 30, "often 1": 30}.get(name, 1)


def test_hashed_names_are_merged_by_slot():
    models = shards("arow", (0, 1), max_features=24, overflow="hash", scale="rms")
    together = merge(models)
    assert max(model.n_features for model in models) <= together.n_features <= 24
    counts = [model._classifier.learner.running_scale.counts for model in models]
    assert together._classifier.learner.running_scale.counts.tolist() == np.sum(counts, axis=0).tolist()


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ({}, {"scale": "rms"}, "scale"),
        ({}, {"class_weight": "balanced"}, "class_weight"),
        ({}, {"max_features": 30}, "max_features"),
        ({"max_features": 30}, {"max_features": 30, "overflow": "hash"}, "overflow"),
        ({}, {"multi_class": "ovr"}, "multi_class"),
        ({}, {"r": 2.0}, "parameters"),
        ({}, {"intercept": False}, "intercept"),
        ({}, {"variance_floor": 0.1}, "variance_floor"),
    ],
    ids=str,
)
def test_streams_that_differ_are_refused_and_not_changed(one, other, what):
    models = [taught("arow", 1, **one), taught("arow", 1, **other)]
    before = [full_state(model) for model in models]
    with pytest.raises(ValueError, match=what):
        merge(models)
    assert [full_state(model) for model in models] == before


def test_labels_and_keys_of_another_kind_are_refused():
    named, numbered, other_keys = (StreamClassifier("arow") for _ in range(3))
    named.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    numbered.learn_many([{"a": 1.0}, {"b": 1.0}], [1, 2])
    other_keys.learn_many([{1: 1.0}, {2: 1.0}], ["x", "y"])
    with pytest.raises(ValueError, match="kind of labels"):
        merge([named, numbered])
    with pytest.raises(ValueError, match="type of keys"):
        merge([named, other_keys])
