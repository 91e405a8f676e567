"""scwlearn convert: data to data, models to weights and back, and what is refused."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.data.reading import read_examples
from use_examples import CSV, arrays, csv_model, libsvm_model, saved, trained, written

TABLE = ["--label", "kind", "--text", "words"]


def converted(*arguments, code=0):
    assert run(["convert", *map(str, arguments)]) == code


def dicts(path, **options):
    _, batches = read_examples([str(path)], **options)
    found = []
    for batch in batches:
        rows = batch.x.dicts() if hasattr(batch.x, "dicts") else map(dict, map(enumerate, batch.x.dense().tolist()))
        found += zip(batch.labels.tolist(), rows, strict=True)
    return found


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow", "vw", "csv.gz", "jsonl.xz"])
def test_a_table_is_the_same_in_every_format(tmp_path, ending):
    data, out = written(tmp_path / "it.csv", CSV), tmp_path / f"out.{ending}"
    converted(data, "-o", out, *TABLE)
    columns = {"words": "text"}
    expected = dicts(data, label="kind", columns=columns)
    told = {} if ending == "vw" else {"label": "kind", "columns": columns}
    assert dicts(out, **told) == expected


@pytest.mark.parametrize("ending", ["svm", "csv", "jsonl", "parquet"])
def test_numbered_features_come_back(tmp_path, ending):
    data, there, back = written(tmp_path / "it.svm", libsvm_text(50)), tmp_path / f"b.{ending}", tmp_path / "c.svm"
    converted(data, "-o", there)
    converted(there, "-o", back)
    assert dicts(back) == dicts(data)


def test_names_are_numbered_if_asked_for(tmp_path, capsys):
    data, out = written(tmp_path / "it.csv", CSV.replace("yes", "1").replace("no\n", "2\n")), tmp_path / "out.svm"
    converted(data, "-o", out, *TABLE, code=1)
    assert "found 'size' (number them, and write their names to a file, with --names)" in capsys.readouterr().err
    assert not out.exists()
    converted(data, "-o", out, *TABLE, "--names", tmp_path / "names.txt")
    assert (tmp_path / "names.txt").read_text().splitlines()[:2] == ["size", "color=red"]
    assert out.read_text().splitlines()[0].startswith("1 1:1.5 2:1 ")


def test_what_comes_from_a_pipe_goes_to_a_pipe(tmp_path):
    command = [sys.executable, "-m", "scwlearn.cli", "convert", "-", "-q", "-o", "-", "--to", "csv"]
    done = subprocess.run(command, input=b"1 1:2\n-1 3:0.5\n", capture_output=True, check=True)
    assert done.stdout == b"1,2,3,label\n2,,,1\n,,0.5,-1\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_ctrl_c_is_quiet_and_leaves_nothing_behind(tmp_path, ending):
    output = tmp_path / f"data.{ending}"
    output.write_bytes(b"before")
    command = [sys.executable, "-m", "scwlearn.cli", "convert", "-", "-f", "csv", "--label", "y", "-o", str(output)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    # As much as is handed on at once, and more; the pipe stays open.
    process.stdin.write(b"a,b,y\n" + b"1,2,x\n3,4,z\n" * 500_000)
    process.stdin.flush()
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob(".*.tmp")):
        assert time.monotonic() < until, "nothing was written"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.decode().split()) == (130, ["scwlearn:", "interrupted"])
    assert [path.name for path in tmp_path.iterdir()] == [output.name]
    assert output.read_bytes() == b"before"


def test_broken_lines_are_skipped_if_asked_for(tmp_path, capsys):
    data, out = written(tmp_path / "it.svm", "1 1:2\nspam\n-1 3:1\n"), tmp_path / "out.svm"
    converted(data, "-o", out, code=1)
    assert not out.exists()
    converted(data, "-o", out, "--on-error", "skip")
    assert out.read_text() == "1 1:2\n-1 3:1\n"
    assert f"wrote 2 examples to {out}\nskipped 1 example that could not be read" in capsys.readouterr().err


MODELS = {
    "two": lambda path: libsvm_model(path, "--covariance", "diagonal"),
    "two full": lambda path: libsvm_model(path, "-a", "arow"),
    "two, first order": lambda path: libsvm_model(path, "-a", "pa1"),
    "two, the other way round": lambda path: trained(path, libsvm_text(200, classes=(5, 2)), "--scale"),
    "three": lambda path: libsvm_model(path, "--covariance", "diagonal", classes=(3, 1, 2)),
    "three, rest": lambda path: libsvm_model(path, "--multi-class", "ovr", "--no-intercept", classes=(3, 1, 2)),
    "three, shared": lambda path: libsvm_model(path, "-a", "arow", "--shared-covariance", classes=(3, 1, 2)),
    "three, dropped": lambda path: libsvm_model(path, "--max-features", "9", classes=(3, 1, 2)),
    "table": csv_model,
}
# The others have a Sigma in full, whose correlations weights do not have, or features that were dropped again.
ALL_THERE = ("two", "two, first order", "three", "table")


def answers(capsys, path, data):
    capsys.readouterr()
    assert run(["predict", str(path), str(data), "--scores", "--probabilities"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    return [line[0] for line in lines], np.array([line[1:] for line in lines], dtype=float)


@pytest.mark.parametrize("form", ["json", "csv", "safetensors"])
@pytest.mark.parametrize("name", MODELS)
def test_weights_make_a_model_that_says_the_same_and_goes_on(tmp_path, capsys, name, form):
    path = MODELS[name](tmp_path)
    data = tmp_path / ("it.csv" if name == "table" else "it.svm")
    weights, again = tmp_path / f"weights.{form}", tmp_path / "again.model"
    converted(path, "-o", weights)
    options = TABLE if name == "table" and form == "csv" else []
    converted(weights, "-m", again)
    labels, numbers = answers(capsys, path, data)
    capsys.readouterr()
    assert run(["predict", str(again), str(data), "--scores", "--probabilities", *options]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == labels
    scores = 1 if len(set(labels)) < 3 else 3
    found = np.array([line[1:] for line in lines], dtype=float)
    np.testing.assert_allclose(found[:, :scores], numbers[:, :scores], rtol=1e-9, atol=1e-12)
    if form != "csv" and name in ALL_THERE:
        np.testing.assert_allclose(found, numbers, rtol=1e-9, atol=1e-12)
    assert run(["train", str(data), "-q", "--resume", str(again), "-m", str(again), *options]) == 0
    assert run(["inspect", str(again), "--json"]) == 0


def test_going_on_is_the_same_as_never_having_been_weights(tmp_path):
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
def test_weights_of_scikit_learn_become_a_model(tmp_path, form, classes):
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


def test_safetensors_of_weights_are_read_by_the_library_of_that_name(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    path = csv_model(tmp_path)
    converted(path, "-o", tmp_path / "w.safetensors")
    with safetensors.safe_open(tmp_path / "w.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["classes"]) == ["no", "yes"]
        names = json.loads(file.metadata()["features"])
        top = scwlearn.load(path).top_features(1)["yes"][0]
        assert file.get_tensor("coef")[0, names.index(top.name)] == top.weight
        assert file.get_tensor("variance")[0, names.index(top.name)] == pytest.approx(top.deviation**2)


def test_csv_has_a_line_for_each_weight(tmp_path):
    path = csv_model(tmp_path)
    converted(path, "-o", tmp_path / "w.csv")
    header, first, *_, last = (tmp_path / "w.csv").read_text().splitlines()
    assert header == "class,feature,weight,deviation,against"
    assert first.startswith("yes,size,")
    assert first.endswith(",no")
    assert last.startswith("yes,(constant),")


def test_whole_numbers_are_names_in_csv_if_the_data_have_names(tmp_path):
    text = "class,feature,weight,against\nyes,1,0.5,no\nyes,7,-1,no\n"
    weights = written(tmp_path / "w.csv", text)
    converted(weights, "-m", tmp_path / "a.model")
    assert scwlearn.load(tmp_path / "a.model").coef_.tolist() == [[0.5, 0, 0, 0, 0, 0, -1.0]]
    converted(weights, "-m", tmp_path / "b.model", "-f", "jsonl")
    assert scwlearn.load(tmp_path / "b.model").predict_many([{"1": 1.0}, {"7": 1.0}]) == ["yes", "no"]
    converted(weights, "-m", tmp_path / "c.model", "--zero-based")
    assert scwlearn.load(tmp_path / "c.model").n_features_in_ == 8


WRONG = [
    ("w.json", "{", "w.json: invalid JSON: "),
    ("w.json", "[1]", "must hold an object with classes and coef, got list"),
    ("w.json", '{"coef": [[1]]}', "has no classes; weights are classes, coef, and perhaps intercept and variance"),
    ("w.json", '{"classes": ["a"], "coef": [[1]]}', "classes must be at least two different labels, got ['a']"),
    ("w.json", '{"classes": [1, "a"], "coef": [[1]]}', "classes: the labels in y are of mixed types"),
    (
        "w.json",
        '{"classes": [1, 2, 3], "coef": [[1]]}',
        "coef must be of shape (3, features) for 3 classes, got (1, 1)",
    ),
    ("w.json", '{"classes": [1, 2], "coef": [[1, "x"]]}', "coef must hold numbers, and as many in each line"),
    ("w.json", '{"classes": [1, 2], "coef": [[1, NaN]]}', "w.json: numbers must be finite, got NaN"),
    ("w.json", '{"classes": [1, 2], "coef": [[1, 1e200]]}', "coef must hold finite numbers of at most 1e+100 in size"),
    ("w.json", '{"classes": ' + "[" * 100_000, "w.json: nested too deeply"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "intercept": [1, 2]}', "intercept must be of shape (1,), got (2,)"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "variance": [[0]]}', "variance must be positive, got 0"),
    ("w.json", '{"classes": [1, 2], "coef": [[1, 2]], "features": ["a", "a"]}', "features must be 2 different names"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "algorithm": "magic"}', "magic"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "counts": [1]}', "counts must be three whole numbers, got [1]"),
    ("w.json", '{"classes": [1, 2], "coef": [[1]], "calibration": [1]}', "calibration must have 154 numbers, got 1"),
    ("w.json", '{"format": "scwlearn weights", "version": 2}', "is of version 2; 1 can be read"),
    ("w.csv", "class,weight\n", "has no column 'feature'; weights have class, feature, weight, deviation"),
    ("w.csv", "class,feature,weight\na,x,1\n", "has weights of 1 classes; two classes have one line for each feature"),
    ("w.csv", "class,feature,weight,against\na,x,z,b\n", "line 2: expected a finite number, found 'z'"),
    ("w.csv", "class,feature,weight,against\na,x,1,b\na,x,1,b\n", "line 3: the feature 'x' of 'a' stands twice"),
    ("w.csv", "class,feature,weight,against\na,0,1,b\n", "the numbers of features go from 1 to 134217728"),
    ("w.csv", "class,feature,weight,deviation\na,x,1,-1\n", "line 2: a deviation is a positive number; found '-1'"),
    ("w.safetensors", "1234", "is no safetensors file: it is too short for its header"),
    ("w.safetensors", b"\x02" + bytes(7) + b"{}", "has no classes; weights are classes, coef"),
    ("w.safetensors", b"\x02" + bytes(7) + b"{x", "is no safetensors file: its header: invalid JSON"),
    ("w.onnx", "", "ONNX can be written, not read; json, csv and safetensors can"),
    ("w.txt", "", "weights are read from a file that ends with one of .json, .csv, .safetensors\n"),
]


@pytest.mark.parametrize(("name", "text", "said"), WRONG)
def test_weights_that_are_none_are_refused(tmp_path, capsys, name, text, said):
    path, out = written(tmp_path / name, text), tmp_path / "out.model"
    converted(path, "-m", out, code=1)
    err = capsys.readouterr().err
    assert err.startswith(f"scwlearn: error: {path}")
    assert said in err
    assert not out.exists()


def test_models_without_weights_of_features_are_refused(tmp_path, capsys):
    x, y = arrays()
    out = tmp_path / "w.json"
    for model, said in [
        (saved(scwlearn.KernelSCW1().fit(x, y), tmp_path / "k.model"), "the model has a kernel, and no weights"),
        (libsvm_model(tmp_path, "--hash-bits", "5"), "the model hashes names of features into its weights"),
        (trained(tmp_path, "1 1:1\n", name="one"), "the model knows less than two classes"),
    ]:
        converted(model, "-o", out, code=1)
        assert said in capsys.readouterr().err
        assert not out.exists()


def test_usage_is_checked_first(tmp_path, capsys):
    data = written(tmp_path / "it.svm", "1 1:1\n-1 2:1\n")
    for arguments, said in [
        ([data], "say where to write: -o for data or a model to others, -m for weights to a model"),
        ([data, "-o", "x.csv", "-m", "y"], "say where to write: "),
        ([data, "-o", tmp_path / "x.dat"], "say what to write with --to; a name may end with .libsvm, "),
        ([data, data, "-m", "y"], "one file of weights at a time; got 2"),
        ([data, "-o", tmp_path / "x.dat", "--to", "onnx"], "data are written as libsvm, vw, csv, "),
    ]:
        converted(*arguments, code=2)
        assert said in capsys.readouterr().err
