"""Stream classifiers: one dict at a time, many at once, and beside a model in plain Python."""

import copy
import pickle
import random

import numpy as np
import pandas as pd
import pytest

from scwlearn import StreamClassifier
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.explain import INTERCEPT
from stream_examples import (
    EXAMPLES,
    LABELS,
    SETTINGS,
    TARGETS,
    X,
    draw_stream,
    full_state,
    new,
    numbers_of,
    one_by_one,
    taught,
    weights_of,
)

pytestmark = pytest.mark.native

FIRST_ORDER = ("default", "scale", "drop", "hash", "ovr", "balanced", "without-figs")
KINDS = [
    *((rule, name) for rule in ("arow", "scw1") for name in SETTINGS),
    *((rule, name) for rule in ("pa1", "perceptron") for name in FIRST_ORDER),
    *((rule, name) for rule in ("narow", "iellip", "nherd") for name in ("default", "scale", "full", "ovr")),
]
every_kind = pytest.mark.parametrize(("rule", "settings"), KINDS, ids=map("-".join, KINDS))


# One and many


@every_kind
@pytest.mark.parametrize("weights", [None, weights_of(len(TARGETS))], ids=["alike", "weighed"])
def test_learn_many_equals_learn_one_bit_for_bit(rule, settings, weights):
    each, at_once, in_parts = (new(rule, settings) for _ in range(3))
    one_by_one(each, EXAMPLES, TARGETS, weights)
    at_once.learn_many(EXAMPLES, TARGETS, weights)
    for part in np.array_split(np.arange(len(TARGETS)), [1, 1, 7, 20, 33, 50]):
        some = [EXAMPLES[i] for i in part]
        in_parts.learn_many(iter(some), (TARGETS[i] for i in part), None if weights is None else weights[part])
    assert full_state(at_once) == full_state(each)
    assert full_state(in_parts) == full_state(each)
    assert each.counts.seen > 30


@every_kind
def test_predict_many_equals_predict_one_and_changes_nothing(rule, settings):
    for count in (0, 5, 20, 35, len(TARGETS)):
        model = new(rule, settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before = full_state(model)
        unknown = [{"never": 1.0, "words": ["seen"]}, {}, {"feature 1": 0.5, "new": "name"}]
        rows = [*EXAMPLES[:count:3], *unknown]
        labels, probabilities = model.predict_many(rows), model.predict_proba_many(rows)
        assert labels == [model.predict_one(x) for x in rows]
        each = [model.predict_proba_one(x) for x in rows]
        assert probabilities.tolist() == [list(chance.values()) for chance in each]
        assert all(list(chance) == model.classes for chance in each)
        assert probabilities.shape == (len(rows), len(model.classes))
        if model.classes:
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
            assert (probabilities > 0).all()
            assert set(labels) <= set(model.classes)
            if "class_weight" not in SETTINGS[settings] and model.counts.seen:
                assert labels == [model.classes[i] for i in probabilities.argmax(axis=1)]
        assert full_state(model) == before


@pytest.mark.parametrize("count", [20, 35, 60])
def test_repeated_passes_fit_the_training_examples(count):
    model = StreamClassifier("scw1", scale="rms")
    for _ in range(20):
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
    right = np.mean([model.predict_one(x) == y for x, y in zip(EXAMPLES[:count], TARGETS[:count], strict=True)])
    assert right > 0.9


def test_a_data_frame_equals_its_rows():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(3)
    columns = {f"column {j}": rng.normal(size=40) for j in range(4)} | {
        "flag": rng.random(40) < 0.5,
        "count": rng.integers(0, 5, 40),
        "town": rng.choice(["Ulm", "Bonn"], 40),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    labels = [LABELS[i] for i in rng.integers(0, 3, 40)]
    expected = one_by_one(StreamClassifier("arow"), rows, labels)
    index = rng.permutation(40)
    frames = {
        "pandas": (pd.DataFrame(columns, index=index), pd.Series(labels)),
        "categories": (pd.DataFrame(columns).astype({"town": "category"}), pd.Series(labels, dtype="category")),
        "polars": (polars.DataFrame(columns), polars.Series(labels)),
        "array": (rows, np.array(labels)),
        "objects": (rows, np.array(labels, dtype=object)),
    }
    for frame, y in frames.values():
        model = StreamClassifier("arow")
        model.learn_many(frame, y)
        assert full_state(model) == full_state(expected)
        assert model.predict_many(frame) == expected.predict_many(rows)
        assert np.array_equal(model.predict_proba_many(frame), expected.predict_proba_many(rows))


def test_weights_may_be_a_series():
    model, other = StreamClassifier("arow"), StreamClassifier("arow")
    weights = weights_of(len(TARGETS))
    model.learn_many(EXAMPLES, TARGETS, pd.Series(weights, index=weights.argsort()))
    other.learn_many(EXAMPLES, TARGETS, list(weights))
    assert full_state(model) == full_state(other)


# A model in plain Python


class Plain:
    """Joint AROW (diagonal, r = 1) or PA-I (C = 1) in dicts of weights and variances for each label."""

    def __init__(self, rule):
        self.rule, self.weights, self.variances = rule, {}, {}

    def scores(self, x):
        return {y: sum(w.get(name, 0.0) * value for name, value in x.items()) for y, w in self.weights.items()}

    def learn_one(self, x, y):
        if y not in self.weights:
            self.weights[y], self.variances[y] = {}, {}
        scores = self.scores(x)
        rival = max((label for label in scores if label != y), key=scores.get)
        margin = scores[y] - scores[rival]
        variance = sum(
            self.variances[label].get(name, 1.0) * value**2 for label in (y, rival) for name, value in x.items()
        )
        if margin >= 1:
            return
        if self.rule == "pa1":
            step = min(1.0, (1 - margin) / (2 * sum(value**2 for value in x.values())))
        else:
            step = (1 - margin) / (variance + 1)
        for sign, label in ((1, y), (-1, rival)):
            weights, variances = self.weights[label], self.variances[label]
            for name, value in x.items():
                before = variances.get(name, 1.0)
                weights[name] = weights.get(name, 0.0) + sign * step * before * value
                if self.rule == "arow":
                    variances[name] = 1 / (1 / before + value**2)


@pytest.mark.parametrize("rule", ["arow", "pa1"])
def test_scores_equal_those_of_a_model_in_plain_python(rule):
    # Three classes are declared, since the plain model is multi-class; two more appear.
    examples, labels = draw_stream(120, seed=5)
    covariance = "identity" if rule == "pa1" else "diagonal"
    settings = {"covariance": covariance, "average": False}
    model, plain = StreamClassifier(rule, classes=LABELS[:3], **settings), Plain(rule)
    plain.weights, plain.variances = {y: {} for y in model.classes}, {y: {} for y in model.classes}
    for example, label in zip(examples, labels, strict=True):
        x = numbers_of(example)
        if model.counts.seen:
            expected = [plain.scores(x)[y] for y in model._classifier.classes.values]
            np.testing.assert_allclose(model._classifier.learner.score_one(example), expected, rtol=1e-9, atol=1e-9)
        model.learn_one(example, label)
        plain.learn_one(x, label)
    weights = model._classifier.weights()
    for number, label in enumerate(model.classes):
        for name, feature in model._classifier.learner.names.items():
            assert weights[number, feature] == pytest.approx(plain.weights[label].get(name, 0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rule", ["arow", "scw1", "pa1"])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("scale", ["none", "rms", "standard", "unit"])
def test_dicts_equal_rows_with_one_column_per_name(rule, multi_class, scale):
    model = StreamClassifier(rule, multi_class=multi_class, scale=scale)
    model.learn_many(EXAMPLES, TARGETS)
    names = model._classifier.learner.names
    x = np.zeros((len(TARGETS), len(names)))
    for row, example in zip(x, EXAMPLES, strict=True):
        for name, value in numbers_of(example).items():
            if name != INTERCEPT:
                row[names[name]] = value
    settings = {"intercept": True, "scale": scale, "multi_class": multi_class, "average": None}
    other = Classifier(LearnerConfig.create(rule, settings))
    other.learn(x, np.array(TARGETS))
    known = [*range(len(names)), -1]
    np.testing.assert_allclose(model._classifier.weights()[:, known], other.weights(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model._classifier.variances()[:, known], other.variances(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba_many(EXAMPLES), other.probabilities(x), rtol=1e-7, atol=1e-12)
    assert model.predict_many(EXAMPLES) == other.predict(x).tolist()
    assert model.counts == other.counts


# Before the first example


def test_an_untrained_classifier_predicts_none():
    model = StreamClassifier("scw1")
    assert model.predict_one(X) is None
    assert model.predict_proba_one(X) == {}
    assert model.predict_many([X, {}]) == [None, None]
    assert model.predict_proba_many([X, {}]).shape == (2, 0)
    assert (model.classes, model.n_features, model.counts.seen) == ([], 0, 0)
    for call in (model.top_features, lambda: model.explain(X)):
        with pytest.raises(ValueError, match="not learned from any example yet"):
            call()
    model.learn_many([], [])
    assert full_state(model) == full_state(StreamClassifier("scw1"))


@pytest.mark.parametrize("classes", [["b"], ["b", "a"], ["c", "b", "a"]])
def test_declared_classes_take_part_from_the_start(classes):
    model = StreamClassifier("arow", classes=classes)
    assert model.classes == sorted(classes)
    assert model.predict_proba_one(X) == dict.fromkeys(sorted(classes), 1 / len(classes))
    assert model.predict_proba_many([X]).tolist() == [[1 / len(classes)] * len(classes)]
    assert model.predict_many([X]) == [model.predict_one(X)]
    assert model.predict_one(X) in classes
    model.learn_one(X, "a")
    assert model.classes == sorted({*classes, "a"})
    assert model.predict_one(X) == ("a" if len(classes) > 1 else model.predict_one(X))
    assert sum(model.predict_proba_one(X).values()) == pytest.approx(1)


def test_the_predicted_class_is_the_most_probable_even_in_a_tie():
    model = StreamClassifier("arow", intercept=False, classes=["b", "c", "d"])
    # An example that introduces its class does not affect the calibration: all probabilities are still equal.
    model.learn_one({"x": 1.0}, "a")
    for x in ({}, {"new": 1.0}):
        probabilities = model.predict_proba_one(x)
        assert model.predict_one(x) == "b"
        assert probabilities["b"] > max(probabilities[label] for label in "acd") == pytest.approx(0.25)
        assert sum(probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("rule", ["arow", "second_order_perceptron", "narow"])
def test_the_predicted_class_is_the_most_probable_where_rounding_decides(rule, labels):
    draw = random.Random(0)

    def example():
        return {key: value for key in "xyz" if (value := draw.choice([-1.0, -0.3, 0.0, 0.1, 0.3, 1.0]))}

    for _ in range(100):
        model = StreamClassifier(rule, intercept=False)
        for label in labels * 2:
            model.learn_one(example(), label)
        examples = [example() for _ in range(100)]
        for x, label in zip(examples, model.predict_many(examples), strict=True):
            probabilities = model.predict_proba_one(x)
            assert model.predict_one(x) == label
            assert probabilities[label] == max(probabilities.values())


def test_only_the_intercept_scores_an_empty_dict():
    for intercept in (False, True):
        model = StreamClassifier("arow", intercept=intercept)
        for label in "abcab":
            model.learn_one({}, label)
            assert sum(model.predict_proba_one({}).values()) == pytest.approx(1)
        assert model.counts.seen == 5
        assert model.n_features == 0
        assert all(len(parts) == intercept for parts in model.explain({}).values())
        assert model.top_features() == {label: [] for label in "abc"}


def test_unknown_names_add_nothing_to_the_score():
    model = taught()
    scores = model._classifier.learner
    for x in EXAMPLES[::7]:
        more = x | {"never seen": 7.0, "words": [*x["words"], "unheard"]}
        assert scores.score_one(more).tolist() == scores.score_one(x).tolist()
        assert model.predict_proba_one(more) == model.predict_proba_one(x)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("scale", ["none", "rms", "standard", "unit"])
def test_features_stay_bounded_with_several_classes(multi_class, scale):
    model = StreamClassifier("arow", max_features=10, multi_class=multi_class, scale=scale)
    for example, label in zip(EXAMPLES, TARGETS, strict=True):
        known = list(numbers_of(example))[:10]
        model.learn_one({name: 1.0 for name in known if name != INTERCEPT}, label)
        assert model.n_features <= 10
        assert set(known) - {INTERCEPT} <= set(model._classifier.learner.names)
    assert len(model.classes) == 5
    before = full_state(model)
    with pytest.raises(ValueError, match="max_features"):
        model.learn_one({f"name {i}": 1.0 for i in range(11)}, "pear")
    assert full_state(model) == before


# Copies


DUPLICATES = {
    "copy": copy.copy,
    "method": lambda model: model.copy(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("duplicate", DUPLICATES.values(), ids=DUPLICATES)
@pytest.mark.parametrize("settings", ["default", "scale-drop", "scale-hash", "balanced", "full", "shared"])
def test_a_copy_is_independent(duplicate, settings):
    for count in (0, 5, 20, 35, 55):
        model = new("arow", settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before, twin = full_state(model), duplicate(model)
        assert full_state(twin) == before
        for i in range(count, len(TARGETS)):
            twin.learn_one(EXAMPLES[i], TARGETS[i])
            assert i - count > 3 or full_state(model) == before
        assert full_state(model) == before
        model.learn_many(EXAMPLES[count:], TARGETS[count:])
        assert full_state(model) == full_state(twin)
        assert model.predict_proba_many(EXAMPLES).tolist() == twin.predict_proba_many(EXAMPLES).tolist()
