"""Exported models and imported weights: they score the same, and invalid files are refused."""

import json
import re

import numpy as np
import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.export import export_model, import_weights
from scwlearn.export.weights import Weights
from scwlearn.files import SavedModel
from scwlearn.rules import all_rules
from scwlearn.runs.trained_model import TrainedModel
from use_examples import arrays, csv_model, libsvm_model, saved, trained, written


def converted(*arguments, code=0):
    assert run(["convert", *map(str, arguments)]) == code


MODELS = {
    "two": lambda path: libsvm_model(path, "--covariance", "diagonal"),
    "two full": lambda path: libsvm_model(path, "-a", "arow"),
    "two, first order": lambda path: libsvm_model(path, "-a", "pa1"),
    "two, the other way round": lambda path: trained(path, libsvm_text(200, classes=(5, 2)), "--scale", "rms"),
    "three": lambda path: libsvm_model(path, "--covariance", "diagonal", classes=(3, 1, 2)),
    "three, rest": lambda path: libsvm_model(path, "--multi-class", "ovr", "--no-intercept", classes=(3, 1, 2)),
    "three, shared": lambda path: libsvm_model(path, "-a", "arow", "--shared-covariance", classes=(3, 1, 2)),
    "three, dropped": lambda path: libsvm_model(path, "--max-features", "9", classes=(3, 1, 2)),
    "table": lambda path: csv_model(path, "--covariance", "diagonal"),
    "table, full": csv_model,
}
# The other formats lose the correlations of a full covariance, or dropped features.
LOSSLESS = ("two", "two, first order", "three", "table")


def answers(capsys, path, data):
    capsys.readouterr()
    assert run(["predict", str(path), str(data), "--scores", "--probabilities"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    return [line[0] for line in lines], np.array([line[1:] for line in lines], dtype=float)


@pytest.mark.parametrize("form", ["json", "csv", "safetensors"])
@pytest.mark.parametrize("name", MODELS)
def test_imported_weights_score_the_same_and_continue(tmp_path, capsys, name, form):
    path = MODELS[name](tmp_path)
    is_table = name.startswith("table")
    data = tmp_path / ("it.csv" if is_table else "it.svm")
    weights, again = tmp_path / f"weights.{form}", tmp_path / "again.model"
    converted(path, "-o", weights)
    # CSV has no room for what columns mean.
    label, declared = (["--label", "kind"], ["--text", "words"]) if is_table and form == "csv" else ([], [])
    converted(weights, "-m", again, *declared)
    labels, numbers = answers(capsys, path, data)
    capsys.readouterr()
    assert run(["predict", str(again), str(data), "--scores", "--probabilities", *label]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == labels
    scores = 1 if len(set(labels)) < 3 else 3
    found = np.array([line[1:] for line in lines], dtype=float)
    np.testing.assert_allclose(found[:, :scores], numbers[:, :scores], rtol=1e-9, atol=1e-12)
    if form != "csv" and name in LOSSLESS:
        np.testing.assert_allclose(found, numbers, rtol=1e-9, atol=1e-12)
    assert run(["train", str(data), "-q", "--resume", str(again), "-m", str(again), *label]) == 0
    assert run(["inspect", str(again), "--json"]) == 0


def test_weights_that_say_what_columns_mean_take_no_declarations(tmp_path, capsys):
    for name, form, said in (
        ("table", "json", "says what its columns mean; remove the options that declare columns"),
        ("two", "csv", "are numbered, so no columns can be declared"),
    ):
        weights = tmp_path / f"weights.{form}"
        converted(MODELS[name](tmp_path), "-o", weights)
        converted(weights, "-m", tmp_path / "again.model", "--text", "words", code=2)
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_intercept_of_weights_makes_up_for_centring(classes, intercept, tmp_path):
    x, y = arrays(classes)
    x = np.column_stack([x + 5, np.full(len(x), 3.0)])
    model = scwlearn.SCW1(covariance="diagonal", scale="standard", fit_intercept=intercept).fit(x, y)
    converted(saved(model, tmp_path / "it.model"), "-o", tmp_path / "weights.json")
    weights = json.loads((tmp_path / "weights.json").read_text())
    coef, constants = np.array(weights["coef"]), np.array(weights["intercept"])
    np.testing.assert_allclose(coef, model.coef_, rtol=1e-12)
    np.testing.assert_allclose(constants, model.intercept_, rtol=1e-12)
    # A column that is always the same has no weight, and keeps a variance with which it can be learned later.
    assert not coef[:, -1].any()
    assert np.all(np.array(weights["variance"]) > 0)
    scale = model._classifier.learner.running_scale
    rows = np.clip(x, scale.centres - 3 * scale.scales, scale.centres + 3 * scale.scales)
    scores = rows @ coef.T + constants
    np.testing.assert_allclose(
        model.decision_function(x), scores[:, 0] if classes == 2 else scores, rtol=1e-9, atol=1e-9
    )


def test_continuing_from_imported_weights_equals_continuing_the_model(tmp_path):
    path = libsvm_model(tmp_path, "--covariance", "diagonal")
    weights, again = tmp_path / "weights.json", tmp_path / "again.model"
    converted(path, "-o", weights)
    converted(weights, "-m", again)
    data = written(tmp_path / "more.svm", libsvm_text(200, seed=9))
    for model in (path, again):
        assert run(["train", data, "-q", "--resume", str(model), "-m", str(model)]) == 0
    one, other = scwlearn.load(path), scwlearn.load(again)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.variance_, other.variance_, rtol=1e-9)
    assert (one.n_seen_, one.n_mistakes_, one.n_updates_) == (other.n_seen_, other.n_mistakes_, other.n_updates_)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", ["json", "safetensors"])
def test_weights_of_scikit_learn_are_imported(tmp_path, form, classes):
    from sklearn.linear_model import LogisticRegression

    x, y = arrays(classes)
    numbers = np.unique(y, return_inverse=True)[1]
    teacher = LogisticRegression().fit(x, numbers)
    weights = tmp_path / f"w.{form}"
    fields = {"coef_": teacher.coef_, "intercept_": teacher.intercept_, "classes_": teacher.classes_}
    if form == "json":
        weights.write_text(json.dumps({name: value.tolist() for name, value in fields.items()}))
    else:
        pytest.importorskip("safetensors")
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(value) for name, value in fields.items()}, weights)
    converted(weights, "-m", tmp_path / "it.model", "-a", "arow", "--r", "2", "--initial-variance", "0.5")
    model = scwlearn.load(tmp_path / "it.model")
    np.testing.assert_allclose(model.decision_function(x), teacher.decision_function(x))
    np.testing.assert_array_equal(model.predict(x), teacher.predict(x))
    np.testing.assert_allclose(model.variance_, 0.5)
    assert (model.r, model.n_seen_) == (2.0, 0)
    more = model.partial_fit(x, numbers, classes=[0, 1, 2, 3])
    assert more.score(x, numbers) > 0.8


def test_the_safetensors_library_reads_exported_weights(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    path = csv_model(tmp_path)
    converted(path, "-o", tmp_path / "w.safetensors")
    with safetensors.safe_open(tmp_path / "w.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["classes"]) == ["no", "yes"]
        names = json.loads(file.metadata()["features"])
        top = scwlearn.load(path).top_features(1)["yes"][0]
        assert file.get_tensor("coef")[0, names.index(top.name)] == top.weight
        assert file.get_tensor("variance")[0, names.index(top.name)] == pytest.approx(top.deviation**2)


@pytest.mark.parametrize("form", ["json", "csv", "safetensors"])
@pytest.mark.parametrize("scale", ["none", "rms", "standard"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rule", [rule.name for rule in all_rules()])
def test_every_linear_model_is_exported_and_comes_back(rule, intercept, scale, form, tmp_path):
    x, y = arrays(3)
    names = [f"f{number}" for number in range(x.shape[1])]
    model = scwlearn.StreamClassifier(rule, intercept=intercept, scale=scale, covariance="auto")
    model.learn_many([dict(zip(names, row, strict=True)) for row in (x + 1).tolist()], y.tolist())
    trained_model = TrainedModel.from_saved(SavedModel.from_model(model))
    export_model(trained_model, tmp_path / f"w.{form}")
    again, weights = import_weights(tmp_path / f"w.{form}").classifier, Weights.from_model(trained_model)
    np.testing.assert_allclose(again.weights(), weights.table, rtol=1e-12)
    if (variances := weights.variance_table) is not None:
        expected = np.where(np.isnan(variances), again.learner.model.initial_variance, variances)
        np.testing.assert_allclose(again.variances(), expected, rtol=1e-12)


def test_csv_has_one_line_for_each_weight(tmp_path):
    path = csv_model(tmp_path)
    converted(path, "-o", tmp_path / "w.csv")
    header, first, *_, last = (tmp_path / "w.csv").read_text().splitlines()
    assert header == "class,feature,weight,deviation,against"
    assert first.startswith("yes,size,")
    assert first.endswith(",no")
    assert last.startswith("yes,(intercept),")


def test_integers_in_csv_are_names_if_the_data_have_names(tmp_path):
    text = "class,feature,weight,against\nyes,1,0.5,no\nyes,7,-1,no\n"
    weights = written(tmp_path / "w.csv", text)
    converted(weights, "-m", tmp_path / "a.model")
    assert scwlearn.load(tmp_path / "a.model").coef_.tolist() == [[0.5, 0, 0, 0, 0, 0, -1.0]]
    converted(weights, "-m", tmp_path / "b.model", "-f", "jsonl")
    assert scwlearn.load(tmp_path / "b.model").predict_many([{"1": 1.0}, {"7": 1.0}]) == ["yes", "no"]
    converted(weights, "-m", tmp_path / "c.model", "--zero-based")
    assert scwlearn.load(tmp_path / "c.model").n_features_in_ == 8


@pytest.mark.parametrize(
    ("labels", "is_written"),
    [
        ([0, 1], True),
        ([0.5, 1e22, -3.0], True),
        (["a", "1"], True),
        (["nan", "1"], True),
        (["0", "1"], False),
        (["0.5", "1"], False),
        (["01", "1"], False),
        (["", "a"], False),
        ([False, True], False),
    ],
)
def test_csv_is_written_only_if_the_labels_keep_their_types(labels, is_written, tmp_path):
    model = scwlearn.StreamClassifier("arow")
    model.learn_many([{"x": float(i)} for i in range(len(labels))], labels)
    path = tmp_path / "w.csv"
    if not is_written:
        with pytest.raises(ValueError, match="CSV has no types, so that the labels"):
            export_model(TrainedModel(model._classifier), path)
        return
    export_model(TrainedModel(model._classifier), path)
    again = import_weights(path).classifier.classes.values_in_order
    assert [(type(label), label) for label in again] == [(type(label), label) for label in sorted(labels)]


INVALID = [
    ("w.json", "{", "w.json: invalid JSON: "),
    ("w.json", "[1]", "expected an object with classes and coef, got list"),
    ("w.json", '{"coef": [[1]]}', "missing field 'classes'; weights need classes and coef"),
    ("w.json", '{"classes": ["a"], "coef": [[1]]}', "classes must be at least two distinct labels, got ['a']"),
    (
        "w.json",
        f'{{"classes": [1, {2**63 + 1}], "coef": [[1]]}}',
        "classes: an integer must be from -2**63 to 2**63 - 1",
    ),
    ("w.json", '{"classes": [1, "a"], "coef": [[1]]}', "classes: y has labels of mixed types"),
    (
        "w.json",
        '{"classes": [1, 2, 3], "coef": [[1]]}',
        "coef must be of shape (3, features) for 3 classes, got (1, 1)",
    ),
    ("w.json", '{"classes": [1, 2], "coef": [[1, "x"]]}', "coef must be an array of numbers"),
    ("w.json", f'{{"classes": [1, 2], "coef": [[{10**400}]]}}', "coef must be an array of numbers"),
    ("w.json", '{"classes": [1, 2], "coef": [[1, NaN]]}', "w.json: numbers must be finite, got NaN"),
    (
        "w.json",
        '{"classes": [1, 2], "coef": [[1, 1e200]]}',
        "coef must hold finite numbers of magnitude at most 1e+100",
    ),
    ("w.json", '{"classes": ' + "[" * 100_000, "w.json: nested too deeply"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "intercept": [1, 2]}', "intercept must be of shape (1,), got (2,)"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "variance": [[0]]}', "variance must be positive, got 0"),
    ("w.json", '{"classes": [1, 2], "coef": [[1, 2]], "features": ["a", "a"]}', "features must be 2 distinct names"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "algorithm": "magic"}', "magic"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "counts": [1]}', "counts must be a list of 3 values, got [1]"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "calibration": [1]}', "calibration must have 154 numbers, got 1"),
    ("w.json", '{"format": "scwlearn weights", "version": 2}', "weights of version 2; only version 1 can be read"),
    ("w.csv", "class,weight\n", "missing column 'feature'; weights have the columns class, feature, weight, deviation"),
    ("w.csv", "class,feature,weight\na,x,1\n", "found weights of 1 classes; for two classes, give the weights of one"),
    ("w.csv", "class,feature,weight,against\na,x,z,b\n", "line 2: weight must be a finite number, got 'z'"),
    ("w.csv", "class,feature,weight,against\na,x,1,b\na,x,1,b\n", "line 3: duplicate feature 'x' of class 'a'"),
    ("w.csv", "weight,class,feature,against\n1,a,x,b\n1,a\n", "line 3: the line ends before its class and its feature"),
    ("w.csv", "weight,feature,class\n1,x\n", "line 2: the line ends before its class and its feature"),
    ("w.csv", "class,feature,weight,against\na,0,1,b\n", "numbered features must be from 1 to 134217728"),
    ("w.csv", "class,feature,weight,against\na,99999999,1,b\n", "1 weights for features up to number 99999999 would"),
    ("w.csv", "class,feature,weight,deviation\na,x,1,-1\n", "line 2: deviation must be > 0, got '-1'"),
    ("w.safetensors", "1234", "invalid safetensors file: header length of 875770417 bytes, but at most 0 are"),
    ("w.safetensors", b"\x02" + bytes(7) + b"{}", "missing field 'classes'; weights need classes and coef"),
    ("w.safetensors", b"\x02" + bytes(7) + b"{x", "invalid safetensors file: header: invalid JSON"),
    ("w.onnx", "", "ONNX models cannot be imported; use json, csv or safetensors"),
    ("w.txt", "", "unknown format; use a file name that ends in .json, .csv, .safetensors"),
]


@pytest.mark.parametrize(("name", "text", "message"), INVALID)
def test_invalid_weights_are_refused(tmp_path, name, text, message):
    path = written(tmp_path / name, text)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        import_weights(path)
    assert str(error.value).startswith(f"{path}: ")


def test_models_without_weights_are_refused(tmp_path, capsys):
    x, y = arrays()
    out = tmp_path / "w.json"
    for model, said in [
        (saved(scwlearn.KernelSCW1().fit(x, y), tmp_path / "k.model"), "a kernel model has no weights"),
        (libsvm_model(tmp_path, "--hash-bits", "5"), "the model hashes feature names"),
        (
            saved(scwlearn.SCW1(scale="unit").fit(x, y), tmp_path / "u.model"),
            'the model divides each row by its length (scale="unit"), which plain weights cannot express; '
            "export it to ONNX",
        ),
        (
            saved(scwlearn.SCW1(costs={"north": {"east": 5.0}}).fit(x, y), tmp_path / "o.model"),
            "the model decides by costs, which plain weights cannot express; export it to ONNX, or remove its costs",
        ),
        (
            saved(scwlearn.AutoClassifier().fit(x, y), tmp_path / "c.model"),
            "the model is a committee, which plain weights cannot express; export it to ONNX",
        ),
        (trained(tmp_path, "1 1:1\n", name="one"), "the model has seen fewer than two classes"),
    ]:
        converted(model, "-o", out, code=1)
        assert said in capsys.readouterr().err
        assert not out.exists()


def test_small_files_make_no_large_models(tmp_path):
    path = tmp_path / "w.json"
    weights = {"classes": [0, 1], "coef": [[0] * 3000], "settings": {"covariance": "full"}}
    path.write_text(json.dumps(weights))
    with pytest.raises(ValueError, match="of 3000 features would take 9081072 numbers"):
        import_weights(path)
    path.write_text(json.dumps(weights | {"settings": {"covariance": "diagonal"}}))
    assert import_weights(path).classifier.covariance_kind == "diagonal"


@pytest.mark.parametrize("form", ["json", "csv", "safetensors"])
@pytest.mark.parametrize("scale", ["rms", "standard"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("exponent", [-160, -120, -60, -40, 0, 40, 60, 120, 149])
def test_exported_weights_can_be_imported_or_are_refused(tmp_path, form, scale, classes, exponent):
    x, y = arrays(classes)
    x[:, 0] *= 10.0**exponent
    model = TrainedModel(scwlearn.SCW1(covariance="diagonal", scale=scale).fit(x, y)._classifier)
    path = tmp_path / f"w.{form}"
    try:
        export_model(model, path)
    except ValueError as error:
        assert re.match(r"the model cannot become plain weights: .* export it to ONNX$", str(error))  # noqa: PT017
        assert abs(exponent) >= 50
        assert not path.exists()
    else:
        scores, found = model.classifier.scores(x), import_weights(path).classifier.scores(x)
        # "standard" also cuts off what is far from the mean.
        if scale == "rms":
            np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("key", "shown"), [("x", "'1=x'"), ("y" * 300, "'1=yyyyy")])
def test_a_feature_that_is_no_number_among_numbers_is_named(tmp_path, key, shown):
    model = scwlearn.StreamClassifier("arow")
    model.learn_many([{0: 1.0, 1: key}, {0: -1.0}], ["a", "b"])
    message = f"the model has the feature {re.escape(shown)}.*; to become columns, features must be integers from 0 to "
    with pytest.raises(ValueError, match=message):
        export_model(TrainedModel(model._classifier), tmp_path / "w.json")


@pytest.mark.parametrize("form", ["json", "csv", "safetensors"])
@pytest.mark.parametrize("length", [131_072, 131_073])
def test_long_names_and_labels_come_back_or_are_refused(tmp_path, form, length):
    for name, label in (("x" * length, "a"), ("x", "a" * length)):
        model = scwlearn.StreamClassifier("arow")
        model.learn_many([{name: 1.0}, {name: -1.0}], [label, "b"])
        path = tmp_path / f"w.{form}"
        if form == "csv" and length > 131_072:
            with pytest.raises(
                ValueError, match="has 131073 characters; in CSV, it may have at most 131072; use json or"
            ):
                export_model(TrainedModel(model._classifier), path)
        else:
            export_model(TrainedModel(model._classifier), path)
            assert import_weights(path).classifier.classes.values_in_order == [label, "b"]
