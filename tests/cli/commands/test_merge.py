"""scwlearn merge: equal to merging in Python."""

import json

import numpy as np
import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from use_examples import CSV, arrays, csv_model, failed, libsvm_model, saved, trained, written


def shards(directory, *options, **how):
    return [trained(directory, libsvm_text(200, seed=k, **how), *options, name=f"shard{k}") for k in range(3)]


def merged(directory, paths, *options):
    out = str(directory / "all.model")
    assert run(["merge", *paths, "-m", out, *options]) == 0
    return out


@pytest.mark.parametrize(
    ("options", "how"),
    [([], {}), (["--how", "ev"], {"rule": "ev"}), (["--weights", "1,2,0.5"], {"weights": [1, 2, 0.5]})],
)
def test_the_merged_file_equals_merging_in_python(tmp_path, capsys, options, how):
    paths = shards(tmp_path, "--covariance", "diagonal")
    found = scwlearn.load(merged(tmp_path, paths, *options))
    expected = scwlearn.merge([scwlearn.load(path) for path in paths], **how)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.variance_, expected.variance_)
    assert found.n_seen_ == 600
    assert capsys.readouterr().err.startswith("merged 3 models trained on 600 examples; model: ")


def test_widths_and_classes_are_united(tmp_path):
    narrow = trained(tmp_path, libsvm_text(200, width=8, classes=(1, 2)), name="narrow")
    wide = trained(tmp_path, libsvm_text(200, width=12, classes=(2, 3)), name="wide")
    model = scwlearn.load(merged(tmp_path, [narrow, wide]))
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.n_features_in_ == 12


def test_the_merged_model_keeps_its_schema_and_can_be_resumed(tmp_path, capsys):
    one, other = (
        csv_model(tmp_path),
        trained(tmp_path, "size,kind\n3,yes\n-1,perhaps\n", "--label", "kind", name="other", ending=".csv"),
    )
    out = merged(tmp_path, [one, one])
    capsys.readouterr()
    assert run(["inspect", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["label"] == "kind"
    assert found["made"]["from"] == ["it.model", "it.model"]
    assert "trained" not in found
    assert run(["train", str(tmp_path / "it.csv"), "--resume", out, "-q", "-m", out]) == 0
    assert scwlearn.load(out).counts.seen == 15
    assert scwlearn.load(merged(tmp_path, [one, other])).classes == ["no", "perhaps", "yes"]


def test_models_saved_from_python_are_merged(tmp_path):
    x, y = arrays()
    models = [scwlearn.AROW().partial_fit(x[k::2], y[k::2]) for k in range(2)]
    paths = [saved(model, tmp_path / f"{k}.model") for k, model in enumerate(models)]
    found, expected = scwlearn.load(merged(tmp_path, paths)), scwlearn.merge(models)
    assert type(found) is scwlearn.AROW
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    learners = [scwlearn.Learner("pa") for _ in range(2)]
    for k, learner in enumerate(learners):
        learner.learn(x[k::2], np.where(y[k::2] == "east", 1, -1))
    paths = [saved(learner, tmp_path / f"l{k}.model") for k, learner in enumerate(learners)]
    assert scwlearn.load(merged(tmp_path, paths)).counts.seen == 300


def test_errors_name_the_files(tmp_path, capsys):
    text = libsvm_text(50)
    scw, arow = trained(tmp_path, text, name="scw"), trained(tmp_path, text, "-a", "arow", name="arow")
    zero = trained(tmp_path, text, "--zero-based", name="zero")
    kernel = saved(scwlearn.KernelSCW1().fit(*arrays()), tmp_path / "kernel.model")
    out = tmp_path / "all.model"
    for paths, said in [
        ([scw, arow], f"{scw} and {arow} differ in rule: scw1 and arow; "),
        ([scw, zero], f"{scw} and {zero} read their data in different ways: "),
        ([kernel, kernel], "a KernelSCW1, which cannot be merged"),
    ]:
        assert run(["merge", *paths, "-m", str(out)]) == 1
        assert said in capsys.readouterr().err
        assert not out.exists()


def test_weights_are_checked_before_reading(tmp_path, capsys):
    missing = str(tmp_path / "missing.model")
    out = str(tmp_path / "all.model")
    assert run(["merge", missing, missing, "-m", out, "--weights", "1"]) == 2
    assert "1 weight for 2 models" in capsys.readouterr().err
    assert run(["merge", missing, missing, "-m", out, "--weights", "1,x"]) == 2
    assert "expected numbers separated by commas, got '1,x'" in capsys.readouterr().err
    assert run(["merge", missing, "-m", out]) == 1
    assert capsys.readouterr().err == f"scwlearn: error: {missing}: No such file or directory\n"
    assert run(["merge", written(tmp_path / "x", "1 1:1\n"), "-m", out]) == 1
    assert "not a scwlearn model file" in capsys.readouterr().err


def test_an_output_file_is_required(tmp_path, capsys):
    assert run(["merge", "a", "b"]) == 2
    assert "missing option '-m'" in capsys.readouterr().err


def test_models_that_cannot_be_merged_name_the_difference(tmp_path, capsys):
    numbered, named = libsvm_model(tmp_path), str(tmp_path / "named.model")
    assert run(["train", written(tmp_path / "n.csv", CSV), "--label", "kind", "-q", "-m", named]) == 0
    out = tmp_path / "out"
    said = failed(capsys, "merge", numbered, named, "-m", out)
    assert said.endswith("read their data in different ways: numbered features and named features\n")
    other = str(tmp_path / "other.model")
    assert run(["train", str(tmp_path / "n.csv"), "--label", "color", "-q", "-m", other]) == 0
    said = failed(capsys, "merge", named, other, "-m", out)
    assert said.endswith("read their data in different ways: label kind and color\n")
    assert "weights must be positive" in failed(capsys, "merge", named, named, "--weights", "1,nan", "-m", out, code=2)


@pytest.mark.parametrize("name", ["models[9]", "models[0]", "models[1]", r"\1", "{0}", "prior"])
def test_errors_quote_names_as_they_are(tmp_path, capsys, name):
    paths = []
    for number, kind in enumerate(["text", "categorical"]):
        model = scwlearn.StreamClassifier("arow", features=scwlearn.Features(kinds={name: kind}))
        model.learn_one({name: "x"}, "p")
        paths.append(saved(model, tmp_path / f"{number}.model"))
    said = failed(capsys, "merge", *paths, "-m", tmp_path / "all.model")
    assert f"{paths[0]} and {paths[1]} differ in kind of {name!r}: text and categorical" in said


def test_a_file_that_is_named_twice_is_merged_twice(tmp_path):
    path, other = saved(linear(0), tmp_path / "it.model"), saved(linear(1), tmp_path / "it.model (again)")
    assert scwlearn.load(merged(tmp_path, [path, path, other, path])).n_seen_ == 4 * 50


def linear(seed):
    x, y = arrays(count=50, seed=seed)
    return scwlearn.AROW().partial_fit(x, y)
