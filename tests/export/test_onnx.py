"""Models as ONNX: what a runtime makes of them is what they say themselves."""

import json

import numpy as np
import pytest

import scwlearn
from scwlearn.cli.app import run
from scwlearn.export.onnx import to_onnx
from scwlearn.files import SavedModel
from scwlearn.runs.trained_model import Model
from use_examples import arrays, csv_model, libsvm_model, saved

ESTIMATORS = {
    "full": lambda: scwlearn.SCW1(),
    "diagonal": lambda: scwlearn.SCW1(covariance="diagonal"),
    "full, scaled": lambda: scwlearn.AROW(scale=True),
    "diagonal, scaled, no constant": lambda: scwlearn.AROW(covariance="diagonal", scale=True, fit_intercept=False),
    "full, no constant": lambda: scwlearn.AROW(fit_intercept=False),
    "first order": lambda: scwlearn.PA1(),
    "one versus rest": lambda: scwlearn.SCW1(multi_class="ovr"),
    "shared": lambda: scwlearn.AROW(shared_covariance=True),
    "class weights": lambda: scwlearn.AROW(class_weight="balanced"),
}


def fields(content):
    """The fields of a protobuf message: their numbers, and numbers or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = content[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(content):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7 == 2:
            value, at = content[at : at + value], at + value
        found.append((key >> 3, value))
    return found


def session(content):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    return runtime.InferenceSession(content)


def test_the_messages_say_what_goes_in_and_comes_out():
    x, y = arrays()
    content = to_onnx(Model.of(SavedModel.from_model(scwlearn.SCW1().fit(x, y))))
    message = fields(content)
    assert dict(message)[1] == 8
    assert dict(fields(dict(message)[8]))[2] == 18
    graph = fields(dict(message)[7])
    assert [dict(fields(value))[1] for number, value in graph if number == 11] == [b"X"]
    outputs = [dict(fields(value))[1] for number, value in graph if number == 12]
    assert outputs == [b"label", b"scores", b"probabilities"]
    metadata = {dict(fields(v))[1]: dict(fields(v))[2] for number, v in message if number == 14}
    assert json.loads(metadata[b"classes"]) == ["east", "north"]


def agree(model, x):
    label, scores, chances = session(to_onnx(Model.of(SavedModel.from_model(model)))).run(None, {"X": x})
    np.testing.assert_array_equal(label, model.predict(x))
    np.testing.assert_allclose(scores, model.decision_function(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(chances, model.predict_proba(x), rtol=1e-9, atol=1e-11)
    return label


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_runtime_says_what_the_model_says(name, classes):
    x, y = arrays(classes)
    # Classes are numbered in the order in which they come, which is not that of the labels.
    model = ESTIMATORS[name]().partial_fit(x[:200], y[:200])
    agree(model, np.vstack([x[200:], np.zeros((1, x.shape[1])), 100 * x[:5]]))


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float64, bool])
def test_labels_are_of_the_kind_that_they_were(kind):
    x, y = arrays()
    model = scwlearn.SCW1().fit(x, (y == "east").astype(kind))
    assert agree(model, x).dtype == (np.int64 if kind is np.int8 else kind)


def test_columns_of_named_features_are_named_in_the_metadata(tmp_path):
    path, out = csv_model(tmp_path), tmp_path / "it.onnx"
    assert run(["convert", path, "-o", str(out), "-q"]) == 0
    runtime, model = session(out.read_bytes()), scwlearn.load(path)
    names = json.loads(runtime.get_modelmeta().custom_metadata_map["features"])
    examples = [{"size": 2.0, "color=red": 1.0}, {"words=cat": 1.0}]
    x = np.array([[example.get(name, 0.0) for name in names] for example in examples])
    label, _, chances = runtime.run(None, {"X": x})
    assert label.tolist() == model.predict_many(examples)
    np.testing.assert_allclose(chances, model.predict_proba_many(examples), rtol=1e-9)


def test_features_that_were_dropped_say_nothing(tmp_path, capsys):
    path = libsvm_model(tmp_path, "--max-features", "9", classes=(1, 2, 3))
    runtime = session(to_onnx(Model.read(path)))
    width = runtime.get_inputs()[0].shape[1]
    x = np.random.default_rng(0).normal(size=(30, width))
    model = scwlearn.load(path)
    expected = model.predict_proba_many([dict(enumerate(row)) for row in x.tolist()])
    np.testing.assert_allclose(runtime.run(None, {"X": x})[2], expected, rtol=1e-9)


def test_a_kernel_has_no_place_in_it(tmp_path, capsys):
    path = saved(scwlearn.KernelSCW1().fit(*arrays()), tmp_path / "k.model")
    assert run(["convert", path, "-o", str(tmp_path / "k.onnx")]) == 1
    assert capsys.readouterr().err == ("scwlearn: error: the model has a kernel, and no weights of features\n")
