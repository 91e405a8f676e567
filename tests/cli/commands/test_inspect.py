"""scwlearn inspect: every kind of model."""

import json
import os

import numpy as np
import pytest

import scwlearn
from scwlearn import __version__
from scwlearn.cli.app import run
from use_examples import arrays, csv_model, libsvm_model, saved, trained


def facts(capsys, *arguments):
    assert run(["inspect", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def printed(capsys, *arguments):
    assert run(["inspect", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_trained_model_shows_its_origin(tmp_path, capsys):
    path = libsvm_model(tmp_path, "-a", "arow", "--r", "2", "--holdout", "0.1")
    found, model = facts(capsys, path), scwlearn.load(path)
    expected = {
        "file": path,
        "bytes": os.path.getsize(path),
        "format": 1,
        "library": __version__,
        "kind": "estimator",
        "class": "AROW",
        "algorithm": "arow",
        "title": "AROW",
        "parameters": {"r": 2.0},
        "seen": 270,
        "mistakes": model.n_mistakes_,
        "updates": model.n_updates_,
        "fitted": True,
        "features": 12,
        "named": False,
        "covariance": "full",
        "prior": {"mean": 0.0, "variance": 1.0},
    }
    assert {name: found[name] for name in expected} == expected
    assert [one["label"] for one in found["classes"]] == [-1, 1]
    assert sum(one["examples"] for one in found["classes"]) == 270
    assert found["data"]["format"] == "libsvm"
    assert found["held_out"]["count"] == 30
    assert found["trained"]["sources"] == [str(tmp_path / "it.svm")]


def test_the_largest_weights_are_shown(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    model, found = scwlearn.load(path), facts(capsys, path, "--top", "3")
    largest = np.argsort(-np.abs(model.coef_[0]))[:3]
    assert [one["name"] for one in found["weights"]["1"]] == (largest + 1).tolist()
    assert [one["weight"] for one in found["weights"]["1"]] == model.coef_[0, largest].tolist()
    deviations = np.sqrt(model.variance_[0, largest])
    assert [one["deviation"] for one in found["weights"]["1"]] == pytest.approx(deviations.tolist())
    assert found["constants"]["1"]["weight"] == model.intercept_[0]
    lines = printed(capsys, path, "--top", "3").splitlines()
    assert lines[-5] == "weights of 1"
    assert lines[-1].split()[0] == "(intercept)"


def test_weights_of_named_features_are_shown(tmp_path, capsys):
    path = csv_model(tmp_path)
    found = facts(capsys, path, "--feature", "color=red", "--feature", "size")
    assert {one["name"] for one in found["weights"]["yes"]} == {"color=red", "size"}
    assert run(["inspect", path, "--feature", "colour"]) == 1
    assert capsys.readouterr().err == "scwlearn: error: the model has no feature 'colour'\n"


def test_first_order_algorithms_have_no_deviation(tmp_path, capsys):
    path = libsvm_model(tmp_path, "-a", "pa1")
    assert facts(capsys, path)["weights"]["1"][0]["deviation"] is None
    assert "+-" not in printed(capsys, path)


def test_numbered_features_are_named_as_in_the_file(tmp_path, capsys):
    one = facts(capsys, libsvm_model(tmp_path))["weights"]["1"]
    dropped = facts(capsys, libsvm_model(tmp_path, "--max-features", "12"))["weights"]["1"]
    assert {weight["name"] for weight in one} <= set(range(1, 13))
    assert {weight["name"] for weight in dropped} <= set(range(1, 13))
    assert one[0]["name"] == dropped[0]["name"]


def test_the_columns_of_a_table_are_shown(tmp_path, capsys):
    path = csv_model(tmp_path)
    out = printed(capsys, path)
    assert "kind             stream, StreamClassifier\n" in out
    assert "records          kinds (size numeric, color categorical, words text, kind ignore), others ignore\n" in out
    assert "data             format csv, label kind, label_kind categorical, delimiter ,\n" in out
    assert "classes          2: no (2), yes (3)\n" in out


def test_interactions_are_shown_as_they_are_declared(tmp_path, capsys):
    pairs = ("--interactions", "size:words", "--interactions", "*:*", "--char-ngrams", "3-5")
    out = printed(capsys, csv_model(tmp_path, *pairs))
    assert ", others ignore, char_ngrams 3, 5, interactions size:words, *:*\n" in out


def test_each_of_several_classes_has_weights(tmp_path, capsys):
    path = libsvm_model(tmp_path, classes=(1, 2, 3))
    found = facts(capsys, path, "--top", "2")
    assert {label: len(weights) for label, weights in found["weights"].items()} == {"1": 2, "2": 2, "3": 2}
    assert printed(capsys, path).count("weights of ") == 3


@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_models_show_their_support(tmp_path, capsys, classes):
    x, y = arrays(classes)
    model = scwlearn.KernelSCW1(kernel="poly", degree=2).fit(x, y)
    path = saved(model, tmp_path / "k.model")
    found = facts(capsys, path)
    assert found["support"] == model.n_support_
    assert found["kernel"]["name"] == "poly"
    assert found["kernel"]["degree"] == 2
    assert "weights" not in found
    assert f"support vectors  {model.n_support_}\n" in printed(capsys, path)
    assert run(["inspect", path, "--feature", "1"]) == 1
    assert capsys.readouterr().err == "scwlearn: error: the model has no weights of features\n"


def bare_learners():
    x, y = arrays()
    signs = np.where(y == "north", 1, -1)
    learner, kernel = scwlearn.Learner("arow"), scwlearn.KernelLearner("arow")
    several = scwlearn.Learner("arow", n_classes=3)
    learner.learn(x, signs)
    kernel.learn(x, signs)
    several.learn(x, (signs > 0).astype(int))
    return {"Learner": learner, "KernelLearner": kernel, "three classes": several}


@pytest.mark.parametrize("name", ["Learner", "KernelLearner", "three classes"])
def test_learners_without_labels_are_described(tmp_path, capsys, name):
    path = saved(bare_learners()[name], tmp_path / "l.model")
    found = facts(capsys, path)
    assert (found["kind"], found["class"], found["seen"], found["features"]) == (
        "learner",
        name if "Learner" in name else "Learner",
        300,
        5,
    )
    assert "trained on" in printed(capsys, path)
    assert run(["inspect", path, "--feature", "1"]) == 1
    assert "whose weights belong to no label" in capsys.readouterr().err


@pytest.mark.parametrize(
    "make",
    [scwlearn.SCW1, scwlearn.KernelAROW, lambda: scwlearn.StreamClassifier("arow"), lambda: scwlearn.Learner("pa")],
)
def test_untrained_models_are_described(tmp_path, capsys, make):
    path = saved(make(), tmp_path / "u.model")
    assert facts(capsys, path)["fitted"] is False
    assert printed(capsys, path).splitlines()[-1].split() == ["trained", "on", "no", "examples", "yet"]


def test_a_truncated_file_is_rejected(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 1)
    assert run(["inspect", path]) == 1
    assert f"{path}: truncated model file" in capsys.readouterr().err


def test_labels_with_line_breaks_are_escaped(tmp_path, capsys):
    model = trained(tmp_path, 'y,a\nb,1\n"c\td\ne",2\n', "--label", "y", ending=".csv")
    for command in (["inspect", model], ["evaluate", model, str(tmp_path / "it.csv")]):
        assert run(command) == 0
        out = capsys.readouterr().out
        assert "c\\td\\ne" in out
        assert "\t" not in out
