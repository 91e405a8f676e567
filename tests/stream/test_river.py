"""River's classifiers: River's own checks, pipelines, frames and copies."""

import copy
import functools
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scwlearn import Features, StreamClassifier, merge
from scwlearn.rules import all_rules
from stream_examples import draw_stream, full_state, one_by_one, weights_of

pytest.importorskip("river")
pytestmark = pytest.mark.native

from river import checks, compose, datasets, evaluate, metrics, preprocessing  # noqa: E402

import scwlearn.river  # noqa: E402

NAMES = [rule.estimator for rule in all_rules()]
every_name = pytest.mark.parametrize("name", NAMES)
EXAMPLES, TARGETS = draw_stream()


def new(name, **settings):
    return getattr(scwlearn.river, name)(**settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [("SCW1", {}), ("PA1", {}), ("AROW", {"scale": "rms", "max_features": 64, "multi_class": "ovr"})],
    ids=["second order", "first order", "other settings"],
)
def test_classifiers_pass_rivers_checks(name, settings):
    checks.check_estimator(new(name, **settings))


@every_name
def test_the_class_of_each_rule_passes_rivers_checks_of_classes(name):
    # Checks that learn from a data set are run above: they depend only on the order of a rule.
    model = new(name)
    for check in checks.yield_checks(model):
        if not isinstance(check, functools.partial):
            check(model.clone())


@every_name
def test_each_classifier_equals_the_stream_classifier_of_its_rule(name):
    rule = next(rule for rule in all_rules() if rule.estimator == name)
    model, inside = new(name), StreamClassifier(rule)
    one_by_one(model, EXAMPLES, TARGETS, weights_of(len(TARGETS)))
    one_by_one(inside, EXAMPLES, TARGETS, weights_of(len(TARGETS)))
    assert full_state(model) == full_state(inside)
    for x in EXAMPLES[::9]:
        assert model.predict_one(x) == inside.predict_one(x)
        assert model.predict_proba_one(x) == inside.predict_proba_one(x)
        assert repr(model.explain(x)) == repr(inside.explain(x))
    assert repr(model.top_features(3)) == repr(inside.top_features(3))


def test_every_classifier_is_listed_and_found_by_name():
    assert dir(scwlearn.river) == sorted(["AutoClassifier", *NAMES])
    for name in NAMES:
        assert getattr(scwlearn.river, name).__name__ == name
        assert getattr(scwlearn.river, name) is getattr(scwlearn.river, name)
    with pytest.raises(AttributeError, match="no attribute 'SVM'"):
        scwlearn.river.SVM  # noqa: B018


def test_settings_reach_the_model():
    settings = {"C": 0.5, "scale": "rms", "max_features": 20, "fit_intercept": False, "class_weight": "balanced"}
    model = new("SCW1", **settings)
    inside = StreamClassifier("scw1", C=0.5, scale="rms", max_features=20, intercept=False, class_weight="balanced")
    assert full_state(one_by_one(model, EXAMPLES, TARGETS)) == full_state(one_by_one(inside, EXAMPLES, TARGETS))
    assert {name: getattr(model, name) for name in settings} == settings
    with pytest.raises(TypeError, match="SCW1 has no parameter 'r'"):
        new("SCW1", r=1.0)
    with pytest.raises(ValueError, match="C must be"):
        new("SCW1", C=-1.0)


def test_a_clone_has_learned_nothing_and_takes_new_parameters():
    model = one_by_one(new("SCW1", C=0.5, scale="rms"), EXAMPLES, TARGETS)
    clone, other = model.clone(), model.clone({"C": 2.0})
    assert (clone.C, clone.scale, other.C, other.scale) == (0.5, "rms", 2.0, "rms")
    assert clone.predict_one(EXAMPLES[0]) is None
    assert full_state(one_by_one(clone, EXAMPLES, TARGETS)) == full_state(model)
    assert full_state(one_by_one(other, EXAMPLES, TARGETS)) != full_state(model)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_independent(duplicate):
    model = one_by_one(new("AROW"), EXAMPLES[:30], TARGETS[:30])
    before, twin = full_state(model), duplicate(model)
    assert type(twin) is type(model)
    one_by_one(twin, EXAMPLES[30:], TARGETS[30:])
    assert full_state(model) == before
    assert full_state(one_by_one(model, EXAMPLES[30:], TARGETS[30:])) == full_state(twin)


def frame(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(rows, 4)) * [1, 10, 100, 1000], columns=list("abcd"), index=rng.permutation(rows))
    y = pd.Series(np.array(["low", "middle", "high"])[np.digitize(x["b"] + x["a"], [-3, 3])], index=x.index)
    return x, y


@pytest.mark.parametrize("w", [None, 0.5, 2, "series"])
def test_a_frame_equals_its_rows(w):
    x, y = frame()
    model, each = new("SCW1"), new("SCW1")
    weights = pd.Series(weights_of(len(x)), index=x.index) if w == "series" else w
    model.learn_many(x, y, *([] if w is None else [weights]))
    of_each = weights if w == "series" else [1.0 if w is None else w] * len(x)
    one_by_one(each, x.to_dict(orient="records"), y, of_each)
    assert full_state(model) == full_state(each)
    labels, probabilities = model.predict_many(x), model.predict_proba_many(x)
    assert labels.index.equals(x.index)
    assert probabilities.index.equals(x.index)
    assert list(probabilities.columns) == ["high", "low", "middle"]
    for i, row in enumerate(x.to_dict(orient="records")):
        assert labels.iloc[i] == each.predict_one(row)
        assert probabilities.iloc[i].to_dict() == each.predict_proba_one(row)


def test_a_pipeline_learns_from_examples_and_from_frames():
    x, y = frame(200)
    model = preprocessing.StandardScaler() | new("SCW1")
    for row, label in zip(x.to_dict(orient="records"), y, strict=True):
        model.learn_one(row, label)
    predicted = [model.predict_one(row) for row in x.to_dict(orient="records")]
    assert np.mean(np.array(predicted) == y) > 0.8
    many = compose.Pipeline(preprocessing.StandardScaler(), new("SCW1"))
    for part in np.array_split(np.arange(len(x)), 5):
        many.learn_many(x.iloc[part], y.iloc[part])
    assert np.mean(many.predict_many(x) == y) > 0.8
    np.testing.assert_allclose(many.predict_proba_many(x).sum(axis=1), 1.0)
    assert many["SCW1"]._model.counts.seen == 200


def test_river_can_evaluate_a_pipeline():
    model = preprocessing.StandardScaler() | new("SCW1")
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert metric.get() > 0.85
    segments = evaluate.progressive_val_score(
        datasets.ImageSegments().take(300), preprocessing.StandardScaler() | new("AROW"), metrics.CrossEntropy()
    )
    assert 0 < segments.get() < 2


def test_models_of_shards_can_be_merged():
    shards = [one_by_one(new("AROW", scale="rms"), EXAMPLES[k::2], TARGETS[k::2]) for k in range(2)]
    before = [full_state(model) for model in shards]
    together = merge(shards)
    inside = merge([model._model for model in shards])
    assert type(together) is type(shards[0])
    assert together.scale == "rms"
    assert full_state(together) == full_state(inside)
    together.learn_one(EXAMPLES[0], "zucchini")
    assert [full_state(model) for model in shards] == before
    with pytest.raises(ValueError, match="scale"):
        merge([shards[0], one_by_one(new("AROW"), EXAMPLES, TARGETS)])


def test_a_merged_model_shows_the_features_of_all(tmp_path):
    kinds = ("t", "u")
    models = [new("AROW", features=Features(kinds={kind: "text"})) for kind in kinds]
    for model, kind, label in zip(models, kinds, "pq", strict=True):
        model.learn_one({kind: "x y"}, label)
    together, expected = merge(models), Features(kinds={"t": "text", "u": "text"})
    scwlearn.save(together, tmp_path / "it.model")
    for model in (together, together.clone(), copy.copy(together), scwlearn.load(tmp_path / "it.model")):
        assert (model.features, model._model.features) == (expected, expected)
    assert merge([new("AROW"), new("AROW")]).features is None


def test_the_package_does_not_need_river():
    code = "import sys, scwlearn, scwlearn.stream; scwlearn.StreamClassifier; sys.exit('river' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    blocked = (
        "import sys; sys.modules['river'] = None\n"
        "import scwlearn\n"
        "try: import scwlearn.river\n"
        "except ImportError as error: sys.exit('pip install' not in str(error))\n"
        "sys.exit(1)"
    )
    assert subprocess.run([sys.executable, "-c", blocked], check=False).returncode == 0


def test_tables_without_an_index_are_predicted():
    rows = [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]
    model = scwlearn.river.AROW()
    model.learn_many(pd.DataFrame(rows), pd.Series(["x", "y"]))
    expected = model.predict_proba_many(pd.DataFrame(rows))
    for table in (rows, pl.DataFrame(rows), pa.Table.from_pylist(rows)):
        assert model.predict_many(table).tolist() == ["x", "y"]
        pd.testing.assert_frame_equal(model.predict_proba_many(table), expected)
