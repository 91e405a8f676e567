"""ONNX models: a runtime computes the labels, scores and probabilities of the model."""

import itertools
import json
import sys

import numpy as np
import pytest

import scwlearn
from scwlearn.cli.app import run
from scwlearn.files import SavedModel
from scwlearn.model.scales import SCALE_NAMES
from scwlearn.rules import all_rules
from scwlearn.runs.trained_model import TrainedModel
from use_examples import arrays, csv_model, libsvm_model, saved

onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")

from scwlearn.export.onnx import to_onnx  # noqa: E402

ESTIMATORS = {
    "full": lambda: scwlearn.SCW1(),
    "diagonal": lambda: scwlearn.SCW1(covariance="diagonal"),
    "full, scaled": lambda: scwlearn.AROW(scale="rms"),
    "diagonal, scaled, no constant": lambda: scwlearn.AROW(covariance="diagonal", scale="rms", fit_intercept=False),
    "full, standard": lambda: scwlearn.AROW(scale="standard"),
    "diagonal, standard": lambda: scwlearn.SCW1(covariance="diagonal", scale="standard"),
    "first order, standard, no constant": lambda: scwlearn.PA1(scale="standard", fit_intercept=False),
    "full, unit": lambda: scwlearn.AROW(scale="unit", initial_variance=10.0),
    "diagonal, unit": lambda: scwlearn.SCW1(covariance="diagonal", scale="unit"),
    "full, no constant": lambda: scwlearn.AROW(fit_intercept=False),
    "first order": lambda: scwlearn.PA1(),
    "one versus rest": lambda: scwlearn.SCW1(multi_class="ovr"),
    "shared": lambda: scwlearn.AROW(shared_covariance=True),
    "committee": lambda: scwlearn.AutoClassifier(),
    "diagonal committee": lambda: scwlearn.AutoClassifier(covariance="diagonal"),
    "class weights": lambda: scwlearn.AROW(class_weight="balanced"),
}


def session(content):
    return onnxruntime.InferenceSession(content)


def test_inputs_outputs_and_metadata():
    x, y = arrays()
    model = onnx.load_from_string(to_onnx(TrainedModel.from_saved(SavedModel.from_model(scwlearn.SCW1().fit(x, y)))))
    assert (model.ir_version, model.opset_import[0].version) == (8, 18)
    assert [value.name for value in model.graph.input] == ["X"]
    assert [value.name for value in model.graph.output] == ["label", "scores", "probabilities"]
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(metadata["classes"]) == ["east", "north"]


def check_agreement(model, x):
    label, scores, chances = session(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model)))).run(None, {"X": x})
    np.testing.assert_array_equal(label, model.predict(x))
    np.testing.assert_allclose(scores, model.decision_function(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(chances, model.predict_proba(x), rtol=1e-9, atol=1e-11)
    return label


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_are_those_of_least_expected_cost(classes):
    x, y = arrays(classes)
    model = scwlearn.AROW().partial_fit(x[:200], y[:200])
    plain = model.predict(x)
    model.set_params(costs={plain[0]: {label: 30.0 for label in model.classes_ if label != plain[0]}})
    assert (check_agreement(model, x) != plain).any()


def test_costs_of_two_of_many_classes_are_no_table_of_all_pairs():
    x = np.random.default_rng(0).normal(size=(3000, 2))
    model = scwlearn.PA1(shuffle=False).fit(x, np.repeat(np.arange(1500), 2))
    plain = len(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model))))
    model.set_params(costs={0: {1: 2.0}, 1: {3: 0.5}})
    assert len(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model)))) < plain + 8 * 4 * 1500
    check_agreement(model, x[:50])


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_runtime_computes_the_outputs_of_the_model(name, classes):
    x, y = arrays(classes)
    # The learner's order of classes, by first appearance, differs from that of the labels.
    model = ESTIMATORS[name]().partial_fit(x[:200], y[:200])
    check_agreement(model, np.vstack([x[200:], np.zeros((1, x.shape[1])), 100 * x[:5]]))


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"])
@pytest.mark.parametrize("costs", [None, {"a": {"b": 5.0}}])
@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_no_optimisation_changes_which_class_is_the_most_probable(rule, costs, level):
    random = np.random.default_rng(0)
    x, tests = random.normal(size=(300, 4)), random.normal(size=(500, 4)) * 2
    y = np.array(["c", "a", "b"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    new = getattr(scwlearn, rule.estimator)
    model = new(random_state=0, scale="rms", fit_intercept=False, costs=costs).fit(x, y)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    exported = to_onnx(TrainedModel.from_saved(SavedModel.from_model(model)))
    labels, _, chances = onnxruntime.InferenceSession(exported, options).run(None, {"X": tests})
    assert labels.tolist() == model.predict(tests).tolist()
    most_probable = model.classes_[model.predict_proba(tests).argmax(axis=1)]
    assert model.classes_[chances.argmax(axis=1)].tolist() == most_probable.tolist()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "unit" not in name])
@pytest.mark.parametrize("magnitude", [3.0, 1e60])
def test_a_single_feature_keeps_its_precision(name, classes, magnitude):
    x = np.random.default_rng(0).normal(size=(300, 1)) * (magnitude if "scale" in str(ESTIMATORS[name]()) else 3.0)
    y = np.digitize(x[:, 0] / x.std(), [-0.4, 0.4][: classes - 1])
    model = ESTIMATORS[name]().partial_fit(x[:200], y[:200])
    check_agreement(model, x[200:])


LINEAR = [*itertools.product(["scw1", "pa1"], SCALE_NAMES, [None, 5])]


@pytest.mark.parametrize(("rule", "scale", "most"), [*LINEAR, ("auto", None, None)])
def test_columns_that_are_no_features_of_the_model_do_not_count(rule, scale, most):
    random = np.random.default_rng(3)
    x = random.normal(size=(200, 12)) * (random.random((200, 12)) < 0.6)
    rows = [{number: value for number, value in enumerate(row.tolist()) if value} for row in x]
    labels = ["abc"[int(number)] for number in np.digitize(x[:, 0] + x[:, 7] / 2, [-0.3, 0.4])]
    how = {"max_features": most} | ({} if scale is None else {"scale": scale})
    model = scwlearn.StreamClassifier(rule, **how)
    model.learn_many([{key: row[key] for key in [*row][:most] if key % 3 != 1} for row in rows[:150]], labels[:150])
    runtime = session(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model))))
    width = runtime.get_inputs()[0].shape[1]
    assert width > model.n_features
    label, _, chances = runtime.run(None, {"X": x[150:, :width]})
    tests = [{key: value for key, value in row.items() if key < width} for row in rows[150:]]
    assert label.tolist() == model.predict_many(tests)
    by_label = model.predict_proba_many(tests)[:, np.argsort(model.classes)]
    np.testing.assert_allclose(chances, by_label, rtol=1e-9, atol=1e-11)


def test_rounding_below_0_does_not_spoil_a_variance():
    random = np.random.default_rng(0)
    x = np.repeat(random.standard_normal((200, 1)), 12, axis=1) * 1e6
    model = scwlearn.AROW(r=1e-8, shuffle=False).fit(x, x[:, 0] > 0)
    outputs = session(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model)))).run(None, {"X": x})
    np.testing.assert_array_equal(outputs[0], model.predict(x))
    assert np.isfinite(outputs[2]).all()


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float64, bool])
def test_labels_keep_their_type(kind):
    x, y = arrays()
    model = scwlearn.SCW1().fit(x, (y == "east").astype(kind))
    assert check_agreement(model, x).dtype == (np.int64 if kind is np.int8 else kind)


def test_the_metadata_names_the_columns(tmp_path):
    path, out = csv_model(tmp_path), tmp_path / "it.onnx"
    assert run(["convert", path, "-o", str(out), "-q"]) == 0
    runtime, model = session(out.read_bytes()), scwlearn.load(path)
    names = json.loads(runtime.get_modelmeta().custom_metadata_map["features"])
    examples = [{"size": 2.0, "color": "red"}, {"words": "a cat"}]
    features = model.features.read_many(examples)
    x = np.array([[example.get(name, 0.0) for name in names] for example in features])
    label, _, chances = runtime.run(None, {"X": x})
    assert label.tolist() == model.predict_many(examples)
    np.testing.assert_allclose(chances, model.predict_proba_many(examples), rtol=1e-9)


def test_dropped_features_have_no_effect(tmp_path, capsys):
    path = libsvm_model(tmp_path, "--max-features", "9", classes=(1, 2, 3))
    runtime = session(to_onnx(TrainedModel.read(path)))
    width = runtime.get_inputs()[0].shape[1]
    x = np.random.default_rng(0).normal(size=(30, width))
    model = scwlearn.load(path)
    expected = model.predict_proba_many([dict(enumerate(row)) for row in x.tolist()])
    np.testing.assert_allclose(runtime.run(None, {"X": x})[2], expected, rtol=1e-9)


def test_kernel_models_are_refused(tmp_path, capsys):
    path = saved(scwlearn.KernelSCW1().fit(*arrays()), tmp_path / "k.model")
    assert run(["convert", path, "-o", str(tmp_path / "k.onnx")]) == 1
    assert capsys.readouterr().err == ("scwlearn: error: a kernel model has no weights of features\n")


def test_a_missing_package_is_named(tmp_path, capsys, monkeypatch):
    path, out = csv_model(tmp_path), tmp_path / "it.onnx"
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert run(["convert", path, "-o", str(out)]) == 1
    assert capsys.readouterr().err.endswith('writing ONNX needs the onnx package: pip install "scwlearn[onnx]"\n')
    assert not out.exists()


def test_labels_that_are_no_unicode_are_refused_with_the_label():
    x, y = arrays()
    model = scwlearn.SCW1().fit(x, np.where(y == y[0], "\ud800 and more", "b"))
    with pytest.raises(ValueError, match=r"a label of an ONNX model must be valid Unicode, got '\\ud800 and more'"):
        to_onnx(TrainedModel(model._classifier))
